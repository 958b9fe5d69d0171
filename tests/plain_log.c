/*
 * How it works: plain_read_text() cuts the text into lines and parts of lines,
 * which plain_lines_take() adds to the lists of a struct plain; whether an
 * iteration is usable is worked out when all is read.
 */
#include "plain_log.h"

#include "plain_blocks.h"
#include "plain_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

/* A progress bar ends its parts with CR, what was lost are zeros; only the last
 * may be cut. */
static void plain_line(struct plain *p, struct log_text line, bool cut)
{
    char *text = malloc(line.n + 1);
    if (!text)
        abort();
    struct log_text t = {text, logline_strip_ansi(line, text)};
    while (t.n) {
        size_t n = 0;
        while (n < t.n && t.p[n] != '\r' && t.p[n] != '\0')
            n++;
        bool is_last = n == t.n;
        plain_lines_take(p, (struct log_text){t.p, n}, cut && is_last);
        t = logline_from(t, t.p + n + (!is_last && t.p[n] == '\r'));
        while (t.n && !*t.p)
            t = logline_from(t, t.p + 1);
    }
    free(text);
}

static void plain_read_text(struct plain *p, struct log_text text)
{
    while (text.n) {
        size_t n = 0;
        while (n < text.n && text.p[n] != '\n')
            n++;
        bool ended = n < text.n, too_long = n >= p->max_line;
        struct log_text line = {text.p, too_long ? p->max_line : n};
        plain_line(p, line, too_long || !ended);
        text = logline_from(text, text.p + n + ended);
    }
}

/* ---- the end ---- */

static void plain_last_block(struct plain *p)
{
    struct plain_block *b = &p->block;
    plain_lines_flush(p);
    const struct plain_iteration *it = plain_lines_current(p);
    if (b->form == BLOCK_NONE)
        return;
    // our own trainer writes blocks that are all alike, whole ones
    if (p->told.is_moe_train && it && !p->tail_cut &&
        it->step.it.iteration == p->total && b->n_lines == p->last_block_lines)
        b->followed = true;
    if (!b->followed && b->n_lines < p->last_block_lines)
        p->tail_cut = true;
    plain_blocks_close(p, true);
}

static void plain_judge(struct plain *p)
{
    const struct plain_iteration *it = plain_lines_current(p);
    bool reached = it && p->total && it->step.it.iteration >= p->total;
    if ((p->ended || reached) && p->fail.strength <= LOGFAIL_ERROR)
        logfail_init(&p->fail);
    bool never = it && it->step.nan_told && !p->seen_loss;
    bool now = it && p->seen_loss && !it->step.it.skipped;
    if (it && it->step.it.nan && !it->cut && (never || now))
        logfail_note(&p->fail, LOG_NAN, LOGFAIL_NAN, -1);
    if (!p->ended && ((it && p->total && !reached) || p->tail_cut))
        logfail_note(&p->fail, LOG_TRUNCATED, LOGFAIL_TAIL, -1);
    if (p->dialect == LOG_UNKNOWN && p->is_bridge)
        p->dialect = LOG_BRIDGE;
    if (p->dialect == LOG_UNKNOWN && (p->told.has_arguments || p->has_memory))
        p->dialect = LOG_MEGATRON;
}

static const char *plain_why_dropped(const struct plain_iteration *it)
{
    const struct log_step *s = &it->step;
    if (it->nth <= (s->dialect == LOG_CORE_016 ? 2 : 1))
        return "warm-up";
    if (s->it.skipped)
        return "skipped";
    if (s->it.nan)
        return "NaN";
    if (s->it.unread)
        return "not understood";
    if (it->cut)
        return "cut";
    if (isnan(s->it.step_ms))
        return "no step time";
    if (s->cumulative)
        return "mean since the start";
    return !s->whole && isnan(s->it.loss) ? "cut" : NULL;
}

static int plain_by_rank(const void *x, const void *y)
{
    const struct log_memory *a = x, *b = y;
    return a->rank - b->rank;
}

/* What is not understood: of iterations, and a dialect in place of them. */
static void plain_fill_notes(struct plain *p, struct runlog *out)
{
    const struct plain_iteration *it = (const void *)p->iterations.data;
    const char **notes = arena_alloc(p->arena, LOG_MAX_NOTES, sizeof *notes);
    out->notes = notes;
    for (size_t i = 0; i < p->iterations.n; i++) {
        if (it[i].bad[0] && out->n_all_notes++ < LOG_MAX_NOTES)
            notes[out->n_notes++] =
                arena_printf(p->arena, "iteration %lld: '%s' is not understood",
                             (long long)it[i].step.it.iteration, it[i].bad);
    }
    const char *last = NULL;
    if (p->iterations.n && !p->seen_time)
        last = arena_printf(p->arena,
                            "no iteration has a step time that is known here, "
                            "the first line: %s",
                            p->step_line);
    if (!p->iterations.n && p->unread_name)
        last = arena_printf(
            p->arena,
            "iterations in the form of '%s' are not read, the first line: %s",
            p->unread_name, p->unread_line);
    if (last && out->n_all_notes++ < LOG_MAX_NOTES)
        notes[out->n_notes++] = last;
}

/* Those of the dump before the run that counts, else the last. */
static void plain_fill_arguments(struct plain *p, struct runlog *out)
{
    const struct plain_iteration *it = (const void *)p->iterations.data;
    const struct plain_argument *all = (const void *)p->arguments.data;
    struct log_argument *to =
        arena_alloc(p->arena, p->arguments.n + 1, sizeof *to);
    int dump = 0;
    for (size_t i = p->iterations.n; i-- > 0;)
        if (it[i].step.it.section == out->used_section)
            dump = it[i].dump; // ends with the first of the section
    dump = dump ? dump : p->dump;
    if (dump != p->dump)
        out->padded_vocab = p->told.padded_before;
    out->arguments = to;
    for (size_t i = 0; i < p->arguments.n; i++)
        if (all[i].dump == dump)
            to[out->n_arguments++] = all[i].arg;
}

/* Those of the run that counts where it has some, else the last. */
static void plain_fill_memory(struct plain *p, struct runlog *out)
{
    const struct plain_rank_memory *all = (const void *)p->memory.data;
    struct log_memory *to = arena_alloc(p->arena, p->memory.n + 1, sizeof *to);
    int section = p->memory_section;
    for (size_t i = 0; i < p->memory.n; i++)
        if (all[i].section == out->used_section)
            section = out->used_section;
    out->memory = to;
    for (size_t i = 0; i < p->memory.n; i++)
        if (all[i].section == section)
            to[out->n_memory++] = all[i].memory;
    if (out->n_memory)
        qsort(to, out->n_memory, sizeof *to, plain_by_rank);
}

static void plain_fill(struct plain *p, struct runlog *out)
{
    struct arena *a = p->arena;
    const struct plain_iteration *from = (const void *)p->iterations.data;
    size_t n = p->iterations.n;
    struct log_iteration *it = arena_alloc(a, n, sizeof *it);
    *out = (struct runlog){
        .dialect = log_dialect_name(p->dialect),
        .clock = *p->told.clock ? arena_strdup(a, p->told.clock) : NULL,
        .iterations = it,
        .n_iterations = n,
        .timers = log_list_to_arena(a, &p->timers, sizeof *out->timers),
        .n_timers = p->timers.n,
        .padded_vocab = p->told.padded_vocab,
        .p2p_latency_s = p->told.p2p_latency_s,
        .p2p_bytes_per_s = p->told.p2p_bytes_per_s,
        .failure = p->fail.kind,
        .failure_rank = logfail_rank(&p->fail),
        .n_sections = p->section + 1,
        .used_section = -1};
    for (size_t i = 0; i < n; i++) {
        it[i] = from[i].step.it;
        it[i].dropped = plain_why_dropped(&from[i]);
        it[i].usable = it[i].dropped == NULL;
        if (it[i].usable)
            out->used_section = it[i].section;
    }
    plain_fill_notes(p, out);
    plain_fill_arguments(p, out);
    plain_fill_memory(p, out);
}

enum err plain_log_read(struct arena *a, const char *data, size_t len,
                        size_t max_line, struct runlog *out)
{
    struct plain *p = calloc(1, sizeof *p);
    if (!p)
        return ERR_NOMEM;
    p->arena = a;
    p->max_line = max_line;
    p->section = -1;
    logtold_init(&p->told);
    logfail_init(&p->fail);
    plain_read_text(p, (struct log_text){data, len});
    plain_last_block(p);
    plain_judge(p);
    bool any = p->iterations.n || p->told.has_arguments ||
               p->told.is_moe_train || p->has_memory || p->has_timers ||
               p->fail.strength >= LOGFAIL_SURE;
    if (any)
        plain_fill(p, out);
    free(p->iterations.data);
    free(p->timers.data);
    free(p->memory.data);
    free(p->arguments.data);
    free(p);
    return any ? ERR_OK : ERR_PARSE;
}

/* ---- comparing ---- */

static bool plain_same(double x, double y)
{
    return (isnan(x) && isnan(y)) || (x <= y && x >= y);
}

static bool plain_same_text(const char *x, const char *y)
{
    return x && y ? strcmp(x, y) == 0 : x == y;
}

static bool plain_same_iteration(const struct log_iteration *x,
                                 const struct log_iteration *y)
{
    for (int d = 0; d < LOG_MAX_MTP; d++)
        if (!plain_same(x->mtp_loss[d], y->mtp_loss[d]))
            return false;
    if (x->n_mtp != y->n_mtp || !plain_same(x->tflops, y->tflops) ||
        !plain_same(x->tokens_per_s, y->tokens_per_s) ||
        !plain_same(x->all_tokens_per_s, y->all_tokens_per_s) ||
        x->samples != y->samples || x->tokens != y->tokens ||
        x->global_batch != y->global_batch || x->unread != y->unread)
        return false;
    return x->iteration == y->iteration && plain_same(x->step_ms, y->step_ms) &&
           plain_same(x->loss, y->loss) &&
           plain_same(x->reference_ms, y->reference_ms) &&
           x->skipped == y->skipped && x->nan == y->nan &&
           x->section == y->section && plain_same_text(x->dropped, y->dropped);
}

static bool plain_same_timer(const struct log_timer *x,
                             const struct log_timer *y)
{
    bool same = x->iteration == y->iteration && x->section == y->section &&
                plain_same_text(x->name, y->name) &&
                x->per_rank == y->per_rank && x->n_ranks == y->n_ranks;
    if (!same || !x->per_rank)
        return same && plain_same(x->min_ms, y->min_ms) &&
               plain_same(x->max_ms, y->max_ms);
    for (int r = 0; r < x->n_ranks; r++)
        same = same && plain_same(x->rank_ms[r], y->rank_ms[r]);
    return same;
}

static const char *plain_lists_differ(const struct runlog *x,
                                      const struct runlog *y)
{
    if (x->n_iterations != y->n_iterations)
        return "number of iterations";
    for (size_t i = 0; i < x->n_iterations; i++)
        if (!plain_same_iteration(&x->iterations[i], &y->iterations[i]))
            return "an iteration";
    if (x->n_timers != y->n_timers)
        return "number of timers";
    for (size_t i = 0; i < x->n_timers; i++)
        if (!plain_same_timer(&x->timers[i], &y->timers[i]))
            return "a timer";
    if (x->n_memory != y->n_memory || x->n_arguments != y->n_arguments)
        return "number of memory lines or arguments";
    for (size_t i = 0; i < x->n_memory; i++)
        if (x->memory[i].rank != y->memory[i].rank ||
            x->memory[i].allocated_bytes != y->memory[i].allocated_bytes ||
            x->memory[i].max_allocated_bytes !=
                y->memory[i].max_allocated_bytes)
            return "a memory line";
    for (size_t i = 0; i < x->n_arguments; i++)
        if (!plain_same_text(x->arguments[i].name, y->arguments[i].name) ||
            !plain_same_text(x->arguments[i].value, y->arguments[i].value))
            return "an argument";
    return NULL;
}

const char *plain_log_difference(const struct runlog *x, const struct runlog *y)
{
    if (!plain_same_text(x->dialect, y->dialect) ||
        !plain_same_text(x->clock, y->clock))
        return "dialect or clock";
    if (!plain_same(x->p2p_latency_s, y->p2p_latency_s) ||
        !plain_same(x->p2p_bytes_per_s, y->p2p_bytes_per_s))
        return "the link";
    if (x->failure != y->failure || x->failure_rank != y->failure_rank)
        return "failure";
    if (x->n_sections != y->n_sections || x->used_section != y->used_section)
        return "sections";
    if (x->n_notes != y->n_notes || x->n_all_notes != y->n_all_notes)
        return "number of notes";
    for (size_t i = 0; i < x->n_notes; i++)
        if (!plain_same_text(x->notes[i], y->notes[i]))
            return "a note";
    if (x->padded_vocab != y->padded_vocab)
        return "padded vocabulary";
    return plain_lists_differ(x, y);
}
