/*
 * How it works. An iteration line is found by the word "iteration" with a
 * number and a slash behind it; what follows are fields between bars, of which
 * a table says which ones we know and in which unit, whoever prints them.
 * Fields by other names are passed over, never an error. What stands before the
 * word, and which fields there are, tells the dialect. ms-swift prints a Python
 * dict instead.
 */
#include "step.h"

#include "runlog.h"

#include <math.h>
#include <string.h>

const char *log_dialect_name(enum log_dialect d)
{
    static const char *const names[] = {
        [LOG_UNKNOWN] = "unknown",
        [LOG_MOE_TRAIN] = RUNLOG_BANNER,
        [LOG_MEGATRON_UNDATED] = "megatron-undated",
        [LOG_MEGATRON] = "megatron",
        [LOG_CORE_016] = "megatron-core-0.16",
        [LOG_DEEPSPEED] = "megatron-deepspeed",
        [LOG_PRIMUS] = "primus",
        [LOG_BRIDGE] = "megatron-bridge",
        [LOG_NEMO] = "nemo",
        [LOG_SWIFT] = "ms-swift",
    };
    return names[d];
}

/* ---- fields of an iteration line ---- */

enum fact {
    FACT_STEP, // ms
    FACT_LOSS,
    FACT_SKIPPED, // iterations skipped, of this interval
    FACT_NAN,     // iterations with NaN
    FACT_REFERENCE,
    N_FACTS
};

struct known_field {
    const char *name;
    enum fact fact;
    double scale;
    enum log_dialect dialect; // LOG_UNKNOWN: says nothing of it
};

/* The same fact by the names of Megatron-LM, Megatron-DeepSpeed and NeMo;
 * `scale` makes milliseconds of it. */
static const struct known_field known_fields[] = {
    {RUNLOG_F_STEP, FACT_STEP, 1, LOG_UNKNOWN},
    {"elapsed time per iteration (s)", FACT_STEP, 1e3, LOG_DEEPSPEED},
    {"train_step_timing in s", FACT_STEP, 1e3, LOG_NEMO},
    {RUNLOG_F_LOSS, FACT_LOSS, 1, LOG_UNKNOWN},
    {"reduced_train_loss", FACT_LOSS, 1, LOG_NEMO},
    {RUNLOG_F_SKIPPED, FACT_SKIPPED, 1, LOG_UNKNOWN},
    {RUNLOG_F_NAN, FACT_NAN, 1, LOG_UNKNOWN},
    {RUNLOG_F_REFERENCE, FACT_REFERENCE, 1, LOG_UNKNOWN},
};

struct facts {
    double value[N_FACTS];
    bool given[N_FACTS];
    double other_loss; // of a field we do not know, NAN
    enum log_dialect dialect;
};

/* A loss by another name, as forks print it; terms added to the loss and
 * those of MTP depths are not the loss. */
static bool is_other_loss(struct log_text name)
{
    static const char tail[] = " loss";
    const size_t n = sizeof tail - 1;
    if (logline_equals(name, "loss"))
        return true;
    return name.n > n && memcmp(name.p + name.n - n, tail, n) == 0 &&
           !logline_starts(name, "mtp");
}

/* The first of two fields for one fact stands, and the first number of a value:
 * Primus prints instant/mean. */
static void add_field(struct facts *f, const struct log_field *field)
{
    struct log_text value = field->value;
    double v = 0;
    if (!logline_take_number(&value, &v))
        return;
    for (size_t i = 0; i < sizeof known_fields / sizeof known_fields[0]; i++) {
        const struct known_field *k = &known_fields[i];
        if (!logline_equals(field->name, k->name))
            continue;
        if (f->given[k->fact])
            return;
        f->value[k->fact] = v * k->scale;
        f->given[k->fact] = true;
        if (k->dialect != LOG_UNKNOWN)
            f->dialect = k->dialect;
        return;
    }
    if (isnan(f->other_loss) && is_other_loss(field->name))
        f->other_loss = v;
}

/* A field without a bar behind it may be half a number where the line is cut.
 */
static struct facts read_fields(struct log_text rest, bool cut)
{
    struct facts f = {.other_loss = NAN};
    struct log_field field;
    while (logline_next_field(&rest, &field)) {
        if (field.ended || !cut)
            add_field(&f, &field);
    }
    return f;
}

static double finite_or_nan(double v)
{
    return isfinite(v) ? v : (double)NAN;
}

/* Megatron leaves the loss out when it is NaN and when the iteration was
 * skipped: without a loss and not skipped means NaN. */
static void set_iteration(struct log_iteration *it, const struct facts *f,
                          bool whole)
{
    bool has_loss = f->given[FACT_LOSS] || !isnan(f->other_loss);
    double loss = f->given[FACT_LOSS] ? f->value[FACT_LOSS] : f->other_loss;
    it->step_ms = f->given[FACT_STEP] && f->value[FACT_STEP] >= 0
                      ? finite_or_nan(f->value[FACT_STEP])
                      : (double)NAN;
    it->reference_ms = f->given[FACT_REFERENCE]
                           ? finite_or_nan(f->value[FACT_REFERENCE])
                           : (double)NAN;
    it->skipped = f->value[FACT_SKIPPED] > 0;
    it->nan = f->value[FACT_NAN] > 0 || (has_loss && !isfinite(loss)) ||
              (!has_loss && !it->skipped && whole);
    it->loss = it->skipped || it->nan || !has_loss ? (double)NAN : loss;
}

/* ---- where an iteration starts ---- */

struct place {
    const char *word;      // "iteration"
    struct log_text after; // text after "iteration N/M"
    int64_t number, total;
    bool is_dict; // ms-swift: 'iteration': '1/10'
};

static void skip_quotes(struct log_text *t)
{
    while (t->n && strchr("'\": ", *t->p) && *t->p)
        *t = (struct log_text){t->p + 1, t->n - 1};
}

/* "  3/  10 |" or "': '3/10'". */
static bool read_place(struct log_text t, struct place *out)
{
    out->is_dict = t.n && (*t.p == '\'' || *t.p == '"');
    if (out->is_dict)
        skip_quotes(&t);
    logline_skip_blanks(&t);
    if (!logline_take_int(&t, &out->number))
        return false;
    logline_skip_blanks(&t);
    if (!t.n || *t.p != '/')
        return false;
    t = (struct log_text){t.p + 1, t.n - 1};
    logline_skip_blanks(&t);
    if (!logline_take_int(&t, &out->total))
        return false;
    logline_skip_blanks(&t);
    out->after = t;
    return t.n && (out->is_dict ? strchr("'\"", *t.p) && *t.p : *t.p == '|');
}

/* The word also stands in other texts ("elapsed time per iteration"): it counts
 * where the numbers follow. */
static bool find_place(struct log_text t, struct place *out)
{
    static const char word[] = "iteration";
    const char *at;
    while ((at = logline_find(t, word)) != NULL) {
        t = logline_from(t, at + sizeof word - 1);
        out->word = at;
        if (read_place(t, out))
            return true;
    }
    return false;
}

/* What stands right before the word: "[2026-01-02 03:04:05.678901] ". */
static enum log_dialect dialect_before(struct log_text line, const char *word)
{
    struct log_text before = {line.p, (size_t)(word - line.p)};
    if (logline_find(before, "[rank-"))
        return LOG_PRIMUS;
    size_t n = before.n;
    while (n && before.p[n - 1] == ' ')
        n--;
    if (n < 9 || before.p[n - 1] != ']')
        return LOG_MEGATRON_UNDATED;
    return before.p[n - 8] == '.' ? LOG_CORE_016 : LOG_MEGATRON;
}

/* ---- ms-swift's dict ---- */

/* The number of a key of a Python dict, quoted or not. */
static bool dict_number(struct log_text dict, const char *key, double *out)
{
    const char *at = logline_find(dict, key);
    if (!at)
        return false;
    struct log_text t = logline_from(dict, at + strlen(key));
    if (!t.n || (*t.p != '\'' && *t.p != '"'))
        return false;
    skip_quotes(&t);
    return logline_take_number(&t, out);
}

/* ms-swift: {'loss': 1.2, 'iteration': '10/100', 'train_speed(s/it)': 1.5}. Its
 * speed is the mean since the start, which is no step's time. */
static bool read_dict(struct log_text line, const struct place *at,
                      struct log_step *out)
{
    const char *start = at->word;
    while (start > line.p && *start != '{')
        start--;
    struct log_text dict = logline_from(line, start);
    const char *end = memchr(dict.p, '}', dict.n);
    if (end)
        dict.n = (size_t)(end - dict.p);
    struct facts f = {.other_loss = NAN};
    if (!end || !dict_number(dict, "train_speed(s/it)", &f.value[FACT_STEP]))
        return false;
    f.given[FACT_STEP] = true;
    f.value[FACT_STEP] *= 1e3;
    f.given[FACT_LOSS] = dict_number(dict, "loss", &f.value[FACT_LOSS]);
    set_iteration(&out->it, &f, true);
    out->dialect = LOG_SWIFT;
    out->whole = out->cumulative = true;
    return true;
}

/* ---- public ---- */

/* `whole`: up to the last field that its dialect prints, so that no field is
 * missing only because the writer was stopped. */
static bool step_read_line(struct log_text line, const struct place *at,
                           bool cut, struct log_step *out)
{
    struct facts f = read_fields(at->after, cut);
    bool any =
        f.given[FACT_STEP] || f.given[FACT_LOSS] || f.given[FACT_SKIPPED];
    if (!any && !cut)
        return false;
    out->dialect = f.dialect ? f.dialect : dialect_before(line, at->word);
    struct log_text tail = logline_trim(at->after);
    bool closed = tail.n && tail.p[tail.n - 1] == '|';
    bool has_end = f.given[FACT_LOSS] || f.given[FACT_SKIPPED];
    bool ended = closed || f.dialect == LOG_NEMO || f.dialect == LOG_DEEPSPEED;
    out->whole =
        f.given[FACT_NAN] || (ended && f.given[FACT_STEP] && has_end && !cut);
    set_iteration(&out->it, &f, out->whole);
    return true;
}

bool logstep_next(struct log_text *rest, bool cut, struct log_step *out)
{
    struct place at = {0};
    while (find_place(*rest, &at)) {
        struct log_text line = *rest;
        *rest = at.after;
        *out = (struct log_step){.total = at.total};
        out->it.iteration = at.number;
        bool ok = at.is_dict ? read_dict(line, &at, out)
                             : step_read_line(line, &at, cut, out);
        if (ok)
            return true;
    }
    rest->n = 0;
    return false;
}

/* Of several prefixes on a line that two writers shared the last one counts. */
static bool memory_rank(struct log_text before, int *out)
{
    static const char word[] = "[Rank ";
    const char *last = NULL;
    struct log_text t = before;
    for (const char *at; (at = logline_find(t, word)) != NULL;) {
        last = at;
        t = logline_from(t, at + sizeof word - 1);
    }
    if (!last)
        return false;
    t = logline_from(before, last + sizeof word - 1);
    int64_t rank = 0;
    if (!logline_take_int(&t, &rank) || rank >= LOG_MAX_RANKS)
        return false;
    *out = (int)rank;
    return t.n && *t.p == ']';
}

/* 9e15 is below 2^53, up to which doubles hold every integer. */
static bool memory_bytes(const struct log_field *f, double unit, int64_t *out)
{
    struct log_text value = f->value;
    double v = 0;
    if (!logline_take_number(&value, &v) || !(v >= 0 && v * unit < 9e15))
        return false;
    *out = llround(v * unit);
    return true;
}

bool logstep_memory(struct log_text line, bool cut, struct log_memory *out)
{
    const char *at = logline_find(line, " memory (");
    if (!at)
        return false;
    struct log_text before = {line.p, (size_t)(at - line.p)};
    struct log_text rest = logline_from(line, at + strlen(" memory ("));
    bool is_gb = logline_starts(rest, "GB)");
    if ((!is_gb && !logline_starts(rest, "MB)")) ||
        !memory_rank(before, &out->rank))
        return false;
    const double unit = is_gb ? 1e9 : 1024.0 * 1024.0;
    const char *now = is_gb ? "mem-allocated-gigabytes" : "allocated";
    const char *max = is_gb ? "mem-max-allocated-gigabytes" : "max allocated";
    bool has_now = false, has_max = false;
    struct log_field f;
    while (logline_next_field(&rest, &f) && !(has_now && has_max)) {
        if (cut && !f.ended)
            continue;
        if (logline_equals(f.name, now))
            has_now = memory_bytes(&f, unit, &out->allocated_bytes);
        else if (logline_equals(f.name, max))
            has_max = memory_bytes(&f, unit, &out->max_allocated_bytes);
    }
    return has_now && has_max;
}

bool logstep_argument(struct log_text line, struct log_field *out)
{
    struct log_text t = line;
    logline_skip_blanks(&t);
    out->name = logline_take_name(&t);
    if (!out->name.n || !logline_starts(t, " ."))
        return false;
    logline_skip_blanks(&t);
    while (t.n && *t.p == '.')
        t = (struct log_text){t.p + 1, t.n - 1};
    if (t.n && *t.p != ' ')
        return false;
    logline_skip_blanks(&t);
    while (t.n && strchr(" \t\r", t.p[t.n - 1]))
        t.n--;
    out->value = t;
    out->ended = true;
    return true;
}
