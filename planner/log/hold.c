/*
 * How it works. An iteration is held until its timer block has ended, a block
 * is held until another line shows that it is whole; then both go to the sink,
 * the iteration first, because its timers count only where it is usable.
 */
#include "hold.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void loghold_init(struct loghold *s, const struct log_sink *sink)
{
    s->sink = sink;
    s->section = -1;
    logtold_init(&s->told);
    logfail_init(&s->fail);
}

/* Only what a terminal shows as it is: a log may hold any bytes. */
void loghold_quote(char *out, struct log_text line)
{
    size_t n = 0;
    line = logline_trim(line);
    for (size_t i = 0; i < line.n && n < LOG_QUOTE - 1; i++)
        out[n++] = line.p[i] >= ' ' && line.p[i] <= '~' ? line.p[i] : '?';
    out[n] = '\0';
}

void loghold_note(struct loghold *s, const char *text)
{
    s->sum.n_notes++;
    if (s->sink->note)
        s->sink->note(s->sink->data, text);
}

/* Why the iteration that is held counts for nothing, NULL when it counts. */
static const char *why_dropped(const struct loghold *s)
{
    const struct log_step *h = &s->held;
    /* From 0.16 on, the second logged interval still holds the first. */
    int n_warmup = h->dialect == LOG_CORE_016 ? 2 : 1;
    if (s->n_logged <= n_warmup)
        return "warm-up";
    if (h->it.skipped)
        return "skipped";
    if (h->it.nan)
        return "NaN";
    if (h->it.unread)
        return "not understood";
    if (s->cut)
        return "cut";
    if (isnan(h->it.step_ms))
        return "no step time";
    if (h->cumulative)
        return "mean since the start";
    return !h->whole && isnan(h->it.loss) ? "cut" : NULL;
}

/* Once, and with what became known of it since: whether its block was whole,
 * which run it is of. */
static void emit_held(struct loghold *s)
{
    if (!s->has_held || s->emitted)
        return;
    s->emitted = true;
    s->held.it.section = s->section;
    s->held.it.dropped = why_dropped(s);
    s->held.it.usable = s->held.it.dropped == NULL;
    if (s->sink->iteration)
        s->sink->iteration(s->sink->data, &s->held.it);
    if (!s->held_bad[0])
        return;
    char text[LOG_QUOTE + 64];
    snprintf(text, sizeof text, "iteration %lld: '%s' is not understood",
             (long long)s->held.it.iteration, s->held_bad);
    loghold_note(s, text);
}

static void emit_timer(struct loghold *s, const struct log_block_timer *t,
                       bool of_step)
{
    const struct log_block *b = &s->block;
    struct log_timer_event e = {
        .iteration = of_step ? s->held.it.iteration : 0,
        .section = s->section < 0 ? 0 : s->section,
        .usable = of_step && s->held.it.usable,
        .name = t->name,
        .per_rank = b->form == BLOCK_ALL,
        .min_ms = t->min_ms,
        .max_ms = t->max_ms,
    };
    if (e.per_rank && t->n_rows == 0)
        return;
    if (e.per_rank) {
        e.rows = b->rows + t->first_row;
        e.n_rows = t->n_rows;
    }
    s->sum.has_timers = true;
    if (s->sink->timer)
        s->sink->timer(s->sink->data, &e);
}

/* The final block is not believed unless another line followed it: more rows
 * may have been to come. The rows of extremes close themselves, and where there
 * are as many as in the block before none is missing. */
static bool is_believed(const struct loghold *s, bool at_end)
{
    const struct log_block *b = &s->block;
    bool closes = b->form != BLOCK_ALL && !s->tail_cut &&
                  b->n_lines >= s->last_block_lines;
    return !at_end || b->followed || closes;
}

/* The first block behind an iteration that has a timer of a step is the
 * iteration's; later ones are of none. */
void loghold_close_block(struct loghold *s, bool at_end)
{
    struct log_block *b = &s->block;
    bool of_step = s->has_held && !s->has_block;
    if (b->form == BLOCK_NONE)
        return;
    if (!is_believed(s, at_end)) {
        s->cut = s->cut || of_step;
    } else {
        of_step = of_step && logblock_is_of_step(b);
        if (of_step) {
            s->has_block = true;
            s->last_block_lines = b->n_lines;
            emit_held(s);
        }
        for (size_t i = 0; i < b->n_timers; i++)
            emit_timer(s, &b->timers[i], of_step);
    }
    b->form = BLOCK_NONE;
}

/* A new run in the same file, appended by a restart. */
static void start_section(struct loghold *s)
{
    s->section++;
    s->n_logged = 0;
    s->told.new_run = s->seen_loss = false;
    s->sum.ended = false;
    if (s->section > 0) // what became of an earlier run is superseded
        logfail_init(&s->fail);
}

/* Dialects that only other lines tell. */
static enum log_dialect refine_dialect(const struct loghold *s,
                                       enum log_dialect d)
{
    if (s->told.is_moe_train)
        return LOG_MOE_TRAIN;
    return s->is_bridge && d == LOG_MEGATRON ? LOG_BRIDGE : d;
}

/* A line of the same iteration in another form says more of it: what it lacks
 * is kept of the one before. */
void loghold_replace(struct loghold *s, const struct log_step *step, bool cut)
{
    double tflops = s->held.it.tflops;
    bool same = s->has_held && !s->emitted && !isnan(tflops) &&
                s->held.it.iteration == step->it.iteration;
    s->held = *step;
    if (same && isnan(step->it.tflops)) // of Bridge's line before it
        s->held.it.tflops = tflops;
    loghold_quote(s->held_bad, step->bad);
    s->held.bad = (struct log_text){NULL, 0};
    s->held.dialect = refine_dialect(s, step->dialect);
    s->sum.dialect = s->held.dialect;
    s->sum.total = step->total;
    s->seen_loss = s->seen_loss || !isnan(step->it.loss);
    s->seen_time = s->seen_time || !isnan(step->it.step_ms) || step->it.unread;
    s->cut = cut && !step->whole;
    s->tail_cut = s->tail_cut || s->cut;
}

static bool is_repeated(const struct loghold *s, const struct log_step *step)
{
    const struct log_iteration *a = &s->held.it, *b = &step->it;
    return s->has_held && !s->told.new_run && a->iteration == b->iteration &&
           (a->step_ms == b->step_ms || isnan(b->step_ms));
}

/* A number that does not go up begins another run in the same file. */
static void on_iteration(struct loghold *s, const struct log_step *step,
                         bool cut)
{
    if (is_repeated(s, step)) // stdout and stderr may both be in the file
        return;
    s->block.followed = true;
    loghold_close_block(s, false);
    emit_held(s);
    bool goes_up = s->has_held && step->it.iteration > s->held.it.iteration &&
                   !s->told.new_run;
    if (!goes_up)
        start_section(s);
    s->n_logged++;
    s->sum.n_iterations++;
    s->has_held = true;
    s->emitted = s->has_block = false;
    s->held.it.tflops = NAN; // of another iteration
    loghold_replace(s, step, cut);
}

/* Bridge's line of a step that no numbered line followed. */
void loghold_flush(struct loghold *s)
{
    if (!s->has_pending || s->numbered)
        return;
    s->has_pending = false;
    if (s->told.new_run)
        s->n_step_times = 0;
    s->pending.it.iteration = ++s->n_step_times;
    on_iteration(s, &s->pending, false);
}

void loghold_step_time(struct loghold *s, const struct log_step *step)
{
    loghold_flush(s);
    s->pending = *step;
    s->has_pending = s->is_bridge = true;
}

/* The line before a numbered one has its throughput. */
void loghold_numbered(struct loghold *s, struct log_step *step, bool cut)
{
    s->numbered = true;
    if (s->has_pending && isnan(step->it.tflops))
        step->it.tflops = s->pending.it.tflops;
    s->has_pending = false;
    on_iteration(s, step, cut);
}

/* An end that was reached or announced wins over error lines before it, which
 * the run outlived. */
static void judge_end(struct loghold *s)
{
    struct log_summary *sum = &s->sum;
    const struct log_iteration *last = &s->held.it;
    bool any = s->has_held;
    bool reached = any && sum->total && last->iteration >= sum->total;
    if ((sum->ended || reached) && s->fail.strength <= LOGFAIL_ERROR)
        logfail_init(&s->fail);
    // never a loss at all, although Megatron prints it when it is a number
    bool told = s->held.nan_told && !s->seen_loss;
    if (any && last->nan && !s->cut &&
        (told || (s->seen_loss && !last->skipped)))
        logfail_note(&s->fail, LOG_NAN, LOGFAIL_NAN, -1);
    bool early = any && sum->total && !reached;
    if (!sum->ended && (early || s->tail_cut))
        logfail_note(&s->fail, LOG_TRUNCATED, LOGFAIL_TAIL, -1);
    sum->failure = s->fail.kind;
    sum->failure_rank = logfail_rank(&s->fail);
    sum->n_sections = s->section + 1;
    sum->padded_vocab = s->told.padded_vocab;
    sum->padded_before = s->told.padded_before;
    sum->p2p_latency_s = s->told.p2p_latency_s;
    sum->p2p_bytes_per_s = s->told.p2p_bytes_per_s;
    memcpy(sum->clock, s->told.clock, sizeof sum->clock);
    if (sum->dialect == LOG_UNKNOWN && s->is_bridge)
        sum->dialect = LOG_BRIDGE;
    else if (sum->dialect == LOG_UNKNOWN &&
             (s->told.has_arguments || s->has_memory))
        sum->dialect = LOG_MEGATRON;
}

/* Our own trainer writes whole blocks, all alike: one that has the rows of
 * the block before, in the last iteration of all, was not cut. */
static bool is_last_of_moe_train(const struct loghold *s)
{
    return s->told.is_moe_train && s->has_held && !s->tail_cut &&
           s->held.it.iteration == s->sum.total &&
           s->block.n_lines == s->last_block_lines;
}

void loghold_end(struct loghold *s)
{
    struct log_block *b = &s->block;
    loghold_flush(s);
    if (b->form != BLOCK_NONE && is_last_of_moe_train(s))
        b->followed = true;
    if (b->form != BLOCK_NONE && !b->followed &&
        b->n_lines < s->last_block_lines)
        s->tail_cut = true;
    loghold_close_block(s, true);
    emit_held(s);
    judge_end(s);
}
