#include "fail.h"

#include <string.h>

/*
 * Lines are searched in one pass: `anchor` is the place in `text` of a byte
 * that is rare in logs, and is_anchor[] holds all of these bytes. A search for
 * each text in each line would cost as much as all the rest of the reader.
 *
 * Texts are those of PyTorch (allocator, elastic, NCCL watchdog), the kernel
 * and Slurm (OOM killer, time limit, signals), mpirun, and Megatron's own
 * assertions and checks of the loss.
 */
struct mark {
    const char *text;
    size_t anchor;
    enum log_failure kind;
    int strength;
};

static const struct mark marks[] = {
    {"OutOfMemoryError", 0, LOG_OOM, LOGFAIL_OOM},
    {"CUDA out of memory", 0, LOG_OOM, LOGFAIL_OOM},
    {"HIP out of memory", 0, LOG_OOM, LOGFAIL_OOM},
    {"Out of memory: Killed", 0, LOG_OOM, LOGFAIL_OOM},
    {"Out Of Memory", 0, LOG_OOM, LOGFAIL_OOM},
    {"OUT_OF_MEMORY", 0, LOG_OOM, LOGFAIL_OOM},
    {"oom-kill", 3, LOG_OOM, LOGFAIL_OOM},
    {"oom_kill", 3, LOG_OOM, LOGFAIL_OOM},
    {"found NaN in", 6, LOG_NAN, LOGFAIL_NAN},
    {"Unexpected result nan", 0, LOG_NAN, LOGFAIL_NAN},
    {"Watchdog caught collective operation timeout", 0, LOG_HANG, LOGFAIL_SURE},
    {"Some NCCL operations have failed or timed out", 0, LOG_HANG,
     LOGFAIL_SURE},
    {"AssertionError", 0, LOG_ASSERT, LOGFAIL_SURE},
    {"IndexError: list index out of range", 0, LOG_ASSERT, LOGFAIL_SURE},
    {"(SIG", 0, LOG_KILLED, LOGFAIL_SIGNAL},
    {"exitcode  : -", 12, LOG_KILLED, LOGFAIL_SIGNAL},
    {"exitcode: -", 10, LOG_KILLED, LOGFAIL_SIGNAL},
    {"death signal, shutting", 12, LOG_KILLED, LOGFAIL_SIGNAL},
    {"CANCELLED AT", 0, LOG_KILLED, LOGFAIL_SIGNAL},
    {"DUE TO TIME LIMIT", 0, LOG_KILLED, LOGFAIL_SIGNAL},
    {"Segmentation fault", 0, LOG_KILLED, LOGFAIL_SIGNAL},
    {"(Aborted)", 0, LOG_KILLED, LOGFAIL_SIGNAL},
    {"(Terminated)", 0, LOG_KILLED, LOGFAIL_SIGNAL},
    {"Killed", 0, LOG_KILLED, LOGFAIL_SIGNAL},
    {"ChildFailedError", 0, LOG_ASSERT, LOGFAIL_ERROR},
    {"MPI_ABORT was invoked on rank", 0, LOG_ASSERT, LOGFAIL_ERROR},
    {"Error: ", 0, LOG_ASSERT, LOGFAIL_ERROR},
};
enum { N_MARKS = sizeof marks / sizeof marks[0] };

/* Every mark's anchor must be here, and fit may_be_mark(), or the mark is never
 * looked for. */
static const bool is_anchor[256] = {
    ['O'] = true, ['C'] = true, ['H'] = true, ['-'] = true, ['_'] = true,
    ['N'] = true, ['U'] = true, ['W'] = true, ['S'] = true, ['A'] = true,
    ['I'] = true, ['('] = true, [','] = true, ['D'] = true, ['K'] = true,
    ['M'] = true, ['E'] = true,
};

const char *log_failure_name(enum log_failure f)
{
    static const char *const names[] = {
        [LOG_OK] = NULL,
        [LOG_OOM] = "oom",
        [LOG_HANG] = "hang",
        [LOG_NAN] = "nan",
        [LOG_ASSERT] = "assert",
        [LOG_KILLED] = "killed",
        [LOG_TRUNCATED] = "truncated",
    };
    return names[f];
}

void logfail_init(struct logfail *f)
{
    *f = (struct logfail){.rank = -1, .local_rank = -1, .root_rank = -1};
}

/* The first of the strongest stays: ranks that die of another rank's death tell
 * of it later. */
void logfail_note(struct logfail *f, enum log_failure kind, int strength,
                  int rank)
{
    if (strength <= f->strength)
        return;
    f->kind = kind;
    f->strength = strength;
    f->rank = rank;
    f->local_rank = -1;
}

/* A rank that a line states, else torchrun's root cause, else the number on the
 * node, which is the rank where there is one node. */
int logfail_rank(const struct logfail *f)
{
    if (f->kind == LOG_OK)
        return -1;
    if (f->rank >= 0)
        return f->rank;
    return f->root_rank >= 0 ? f->root_rank : f->local_rank;
}

/* The number after the first `word` of the line, -1 when there is none. */
static int number_after(struct log_text t, const char *word)
{
    const char *at = logline_find(t, word);
    if (!at)
        return -1;
    struct log_text rest = logline_from(t, at + strlen(word));
    logline_skip_blanks(&rest);
    int64_t v = -1;
    return logline_take_int(&rest, &v) && v < 10000000 ? (int)v : -1;
}

/* The prefix tells who wrote, which beats what the text mentions. */
static int stated_rank(struct log_text body, const struct log_prefix *prefix)
{
    static const char *const words[] = {"[rank", "[Rank ", "Rank ",
                                        "process rank ", "on rank "};
    if (prefix->rank >= 0)
        return prefix->rank;
    int rank = -1;
    for (size_t i = 0; rank < 0 && i < sizeof words / sizeof words[0]; i++)
        rank = number_after(body, words[i]);
    return rank;
}

/* The text is there but means something else: names in source lines of a
 * traceback, words that only begin like it. */
static bool is_quoted(const struct mark *m, struct log_text body,
                      const char *at)
{
    char before = at > body.p ? at[-1] : ' ';
    struct log_text rest = logline_from(body, at + strlen(m->text));
    char after = rest.n ? *rest.p : ' ';
    if (m->text[0] == 'K') {
        bool starts = before == ' ' || before == ':' || before == '(';
        return !starts || !(after == ' ' || after == ')' || after == '\r');
    }
    if (m->text[0] == 'A' || strcmp(m->text, "ChildFailedError") == 0)
        return after != ':' && after != ' ' && after != '\r';
    if (m->text[0] == 'E')
        return before < 'a' || before > 'z';
    return false;
}

/* Another line of the same failure may know the rank that the first did not. */
static void fail_found(struct logfail *f, const struct mark *m,
                       struct log_text body, const struct log_prefix *prefix)
{
    if (m->strength < f->strength)
        return;
    int rank = stated_rank(body, prefix);
    bool same = m->kind == f->kind && m->strength == f->strength;
    logfail_note(f, m->kind, m->strength, rank);
    if (same && f->rank < 0)
        f->rank = rank;
    if (f->kind == m->kind && f->local_rank < 0)
        f->local_rank = prefix->local_rank;
}

/* All marks whose anchor the byte at `i` is. */
static void try_marks(struct logfail *f, struct log_text body, size_t i,
                      const struct log_prefix *prefix)
{
    for (size_t k = 0; k < N_MARKS; k++) {
        const struct mark *m = &marks[k];
        if (m->text[m->anchor] != body.p[i] || i < m->anchor)
            continue;
        const char *at = body.p + i - m->anchor;
        if (logline_starts(logline_from(body, at), m->text) &&
            !is_quoted(m, body, at))
            fail_found(f, m, body, prefix);
    }
}

/* torchrun's summary behind "Root Cause": "  rank      : 6 (local_rank: 6)" */
static void look_at_root_cause(struct logfail *f, struct log_text body)
{
    logline_skip_blanks(&body);
    if (!logline_starts(body, "rank "))
        return;
    int rank = number_after(body, ":");
    if (rank >= 0) {
        f->root_rank = rank;
        f->in_root_cause = false;
    }
}

/* A letter follows every anchor but the comma, and the dash where it is a minus
 * behind a blank: numbers and dates, of which logs are full, are passed over.
 */
static bool may_be_mark(struct log_text body, size_t i)
{
    unsigned char c = (unsigned char)body.p[i];
    if (!is_anchor[c])
        return false;
    unsigned char next = i + 1 < body.n ? (unsigned char)body.p[i + 1] : ' ';
    bool letter = (next | 0x20) >= 'a' && (next | 0x20) <= 'z';
    return letter || c == ',' || (c == '-' && i > 0 && body.p[i - 1] == ' ');
}

void logfail_look(struct logfail *f, struct log_text body,
                  const struct log_prefix *prefix)
{
    if (f->in_root_cause)
        look_at_root_cause(f, body);
    for (size_t i = 0; i < body.n; i++) {
        if (may_be_mark(body, i))
            try_marks(f, body, i, prefix);
    }
    if (f->strength > 0 && logline_starts(body, "Root Cause"))
        f->in_root_cause = true;
}
