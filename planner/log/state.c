/*
 * How it works. logstate_take() asks each reader of lines in turn, since two
 * writers may have put two things on one line: is it of the open timer block,
 * of the arguments dump, does it tell of an iteration, of memory, of the
 * program's end?
 *
 * An iteration is held until its timer block has ended, a block is held until
 * another line shows that it is whole; then both go to the sink, the iteration
 * first, because its timers count only where it is usable.
 */
#include "state.h"

#include "runlog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of an iteration line that is joined of several; Megatron's longest,
 * with all losses of eight MTP layers, have some 1200. */
enum { STATE_MAX_WRAP = 8192 };

struct logstate {
    const struct log_sink *sink;
    struct log_summary sum;
    struct logfail fail;
    struct log_block block;
    size_t last_block_lines; // rows of the last block of a step

    struct log_step held; // the iteration whose block may still come
    bool has_held, emitted, has_block, cut;
    bool new_run; // an arguments dump or a banner since
    int section;  // -1 before the first iteration
    int n_logged; // iterations of this section
    bool seen_loss;
    bool is_moe_train, is_bridge;

    bool in_arguments, has_arguments;
    uint64_t arguments_stream;
    bool tail_cut; // the file ends within a line that matters
    char wrap[STATE_MAX_WRAP];
    size_t n_wrap;
};

struct logstate *logstate_new(const struct log_sink *sink)
{
    struct logstate *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->sink = sink;
    s->section = -1;
    s->sum.p2p_latency_s = s->sum.p2p_bytes_per_s = NAN;
    logfail_init(&s->fail);
    return s;
}

void logstate_free(struct logstate *s)
{
    if (s)
        logblock_clear(&s->block);
    free(s);
}

/* ---- iterations ---- */

/* Why the iteration that is held counts for nothing, NULL when it counts. */
static const char *why_dropped(const struct logstate *s)
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
    if (s->cut)
        return "cut";
    if (isnan(h->it.step_ms))
        return "no step time";
    if (h->cumulative)
        return "mean since the start";
    return !h->whole && isnan(h->it.loss) ? "cut" : NULL;
}

static void emit_held(struct logstate *s)
{
    if (!s->has_held || s->emitted)
        return;
    s->emitted = true;
    s->held.it.section = s->section;
    s->held.it.dropped = why_dropped(s);
    s->held.it.usable = s->held.it.dropped == NULL;
    if (s->sink->iteration)
        s->sink->iteration(s->sink->data, &s->held.it);
}

static void emit_timer(struct logstate *s, const struct log_block_timer *t,
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

/* The final block is not believed unless another line followed it. */
static void close_block(struct logstate *s, bool at_end)
{
    struct log_block *b = &s->block;
    bool of_step = s->has_held && !s->has_block;
    if (b->form == BLOCK_NONE)
        return;
    if (at_end && !b->followed) {
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
static void start_section(struct logstate *s)
{
    s->section++;
    s->n_logged = 0;
    s->new_run = s->seen_loss = false;
    s->sum.ended = false;
    if (s->section > 0) // what became of an earlier run is superseded
        logfail_init(&s->fail);
}

/* Dialects that only other lines tell. */
static enum log_dialect refine_dialect(const struct logstate *s,
                                       enum log_dialect d)
{
    if (s->is_moe_train)
        return LOG_MOE_TRAIN;
    return s->is_bridge && d == LOG_MEGATRON ? LOG_BRIDGE : d;
}

static void state_hold(struct logstate *s, const struct log_step *step,
                       bool cut)
{
    s->held = *step;
    s->held.dialect = refine_dialect(s, step->dialect);
    s->sum.dialect = s->held.dialect;
    s->sum.total = step->total;
    s->seen_loss = s->seen_loss || !isnan(step->it.loss);
    s->cut = cut && !step->whole;
    s->tail_cut = s->tail_cut || s->cut;
}

static bool is_repeated(const struct logstate *s, const struct log_step *step)
{
    const struct log_iteration *a = &s->held.it, *b = &step->it;
    return s->has_held && !s->new_run && a->iteration == b->iteration &&
           (a->step_ms == b->step_ms || isnan(b->step_ms));
}

static void on_iteration(struct logstate *s, const struct log_step *step,
                         bool cut)
{
    if (is_repeated(s, step)) // stdout and stderr may both be in the file
        return;
    s->block.followed = true;
    close_block(s, false);
    emit_held(s);
    bool goes_up =
        s->has_held && step->it.iteration > s->held.it.iteration && !s->new_run;
    if (!goes_up)
        start_section(s);
    s->n_logged++;
    s->sum.n_iterations++;
    s->has_held = true;
    s->emitted = s->has_block = false;
    state_hold(s, step, cut);
}

static bool look_for_iterations(struct logstate *s, struct log_text body,
                                bool cut)
{
    bool any = false;
    struct log_text rest = body;
    struct log_step step;
    while (logstep_next(&rest, cut, &step)) {
        any = true;
        on_iteration(s, &step, cut);
    }
    if (!any)
        return false;
    s->in_arguments = false;
    s->n_wrap = 0;
    if (!s->held.whole && !cut && body.n < STATE_MAX_WRAP) {
        memcpy(s->wrap, body.p, body.n);
        s->n_wrap = body.n;
    }
    return true;
}

static bool goes_on_number(char before, char after)
{
    bool number = (before >= '0' && before <= '9') || before == '.';
    return number &&
           ((after >= '0' && after <= '9') || after == '.' || after == 'E');
}

/* Markdown copies wrap long lines, within numbers too: when nothing else is
 * on the line after an incomplete iteration line, the two are one. */
static void look_for_wrapped(struct logstate *s, struct log_text body, bool cut)
{
    size_t room = STATE_MAX_WRAP - s->n_wrap;
    if (!s->n_wrap || s->emitted || body.n + 1 >= room ||
        !memchr(body.p, '|', body.n))
        return;
    if (!goes_on_number(s->wrap[s->n_wrap - 1], *body.p))
        s->wrap[s->n_wrap++] = ' ';
    memcpy(s->wrap + s->n_wrap, body.p, body.n);
    s->n_wrap += body.n;
    struct log_text joined = {s->wrap, s->n_wrap};
    struct log_step step;
    if (logstep_next(&joined, cut, &step) &&
        step.it.iteration == s->held.it.iteration)
        state_hold(s, &step, cut);
    if (s->held.whole)
        s->n_wrap = 0;
}

/* ---- other lines ---- */

static bool look_for_header(struct logstate *s, struct log_text body,
                            const struct log_prefix *prefix, bool cut)
{
    enum log_block_form form = logblock_header(body);
    if (form != BLOCK_NONE) {
        close_block(s, false);
        logblock_open(&s->block, form, prefix->stream);
        return true;
    }
    static const char word[] = "time (ms) |";
    const char *at = logline_find(body, word);
    if (!at)
        return false;
    if (cut) {
        s->tail_cut = true;
        return true;
    }
    close_block(s, false);
    logblock_open(&s->block, BLOCK_MINMAX, prefix->stream);
    logblock_take_single_line(&s->block,
                              logline_from(body, at + sizeof word - 1));
    close_block(s, false);
    return true;
}

static bool look_for_memory(struct logstate *s, struct log_text body, bool cut)
{
    struct log_memory m;
    if (!logline_find(body, " memory (") || !logstep_memory(body, cut, &m))
        return false;
    if (logline_find(body, "memory (GB)"))
        s->is_bridge = true;
    if (s->sink->memory)
        s->sink->memory(s->sink->data, s->section < 0 ? 0 : s->section, &m);
    return true;
}

static bool look_for_arguments(struct logstate *s, struct log_text body,
                               const struct log_prefix *prefix)
{
    if (s->in_arguments && prefix->stream == s->arguments_stream) {
        struct log_field f;
        if (logline_find(body, "- end of arguments -"))
            s->in_arguments = false;
        else if (logstep_argument(body, &f) && s->sink->argument)
            s->sink->argument(s->sink->data, &f);
        else
            return false;
        return true;
    }
    if (!logline_find(body, "--- arguments ---"))
        return false;
    s->in_arguments = s->has_arguments = s->new_run = true;
    s->arguments_stream = prefix->stream;
    s->sum.padded_vocab = 0;
    if (s->sink->arguments)
        s->sink->arguments(s->sink->data);
    return true;
}

/* "moe-train: clock wall | ranks 4 | ..." and "moe-train: p2p ..." */
static bool look_for_banner(struct logstate *s, struct log_text body)
{
    static const char clock[] = RUNLOG_BANNER ": clock ";
    const char *at = logline_find(body, clock);
    if (at) {
        struct log_text t = logline_from(body, at + sizeof clock - 1);
        struct log_text name = logline_take_name(&t);
        if (name.n < sizeof s->sum.clock) {
            memcpy(s->sum.clock, name.p, name.n);
            s->sum.clock[name.n] = '\0';
        }
        s->is_moe_train = s->new_run = true;
        s->sum.dialect = LOG_MOE_TRAIN;
        return true;
    }
    double us = 0, mb_per_s = 0;
    if (!logline_number_after(body,
                              RUNLOG_BANNER ": p2p latency (us): ", &us) ||
        !logline_number_after(body, "bandwidth (MB/s): ", &mb_per_s))
        return false;
    s->sum.p2p_latency_s = us * 1e-6;
    s->sum.p2p_bytes_per_s = mb_per_s * 1e6;
    return true;
}

/* " > padded vocab (size: 128000) with 256 dummy tokens (new size: 128256)":
 * Megatron dumps its arguments before it builds the tokenizer, so that the size
 * of the embedding is in no argument, only in this line. */
static bool look_for_padding(struct logstate *s, struct log_text body, bool cut)
{
    static const char mark[] = "dummy tokens (new size: ";
    const char *at = logline_find(body, mark);
    int64_t size = 0;
    if (!at || cut)
        return false;
    struct log_text rest = logline_from(body, at + sizeof mark - 1);
    if (logline_take_int(&rest, &size))
        s->sum.padded_vocab = size;
    return true;
}

static bool look_for_end(struct logstate *s, struct log_text body)
{
    if (!logline_find(body, "[after training is done]") &&
        !logline_find(body, "[exiting program "))
        return false;
    s->sum.ended = true;
    logfail_init(&s->fail);
    return true;
}

static bool has_byte(struct log_text t, char c)
{
    return memchr(t.p, c, t.n) != NULL;
}

/* Each reader's lines have a byte that few other lines have. */
static bool look_for_events(struct logstate *s, struct log_text body,
                            const struct log_prefix *prefix, bool cut)
{
    bool any = false;
    if (has_byte(body, '/'))
        any = look_for_iterations(s, body, cut);
    if (has_byte(body, '(')) {
        any = look_for_memory(s, body, cut) || any;
        any = look_for_header(s, body, prefix, cut) || any;
        any = look_for_padding(s, body, cut) || any;
    }
    if (has_byte(body, '['))
        any = look_for_end(s, body) || any;
    if (logline_starts(logline_trim(body), "Step Time :"))
        s->is_bridge = any = true;
    if (logline_find(body, RUNLOG_BANNER ": "))
        any = look_for_banner(s, body) || any;
    return any;
}

/* True when the line was of the open block. A line of another kind ends the
 * timer, so that rows which lost their header are nobody's. */
static bool look_in_block(struct logstate *s, struct log_text line,
                          struct log_text body, const struct log_prefix *prefix,
                          bool cut)
{
    struct log_block *b = &s->block;
    if (b->form == BLOCK_NONE)
        return false;
    bool same = prefix->stream == b->stream;
    if (same && cut && body.n && *body.p == ' ' && !has_byte(body, '/')) {
        s->tail_cut = true;
        return true;
    }
    if (same && !cut && logblock_take(b, line, body, prefix))
        return true;
    b->followed = true;
    if (same)
        b->has_timer = false;
    return false;
}

const char *logstate_take_rows(struct logstate *s, struct log_runs *ahead,
                               const char *p, const char *end)
{
    s->block.ahead = ahead;
    p = logblock_take_rows(&s->block, p, end);
    s->block.ahead = NULL;
    return p;
}

void logstate_take(struct logstate *s, struct log_text line, bool cut)
{
    struct log_prefix prefix;
    struct log_text body = logline_body(line, &prefix);
    if (logline_trim(body).n == 0)
        return;
    if (look_in_block(s, line, body, &prefix, cut))
        return;
    if (look_for_arguments(s, body, &prefix)) {
        s->tail_cut = s->tail_cut || (cut && s->in_arguments);
        return;
    }
    if (!look_for_events(s, body, &prefix, cut))
        look_for_wrapped(s, body, cut);
    else if (s->held.whole)
        s->n_wrap = 0;
    logfail_look(&s->fail, body, &prefix);
}

/* ---- the end ---- */

static void judge_end(struct logstate *s)
{
    struct log_summary *sum = &s->sum;
    const struct log_iteration *last = &s->held.it;
    bool any = s->has_held;
    bool reached = any && sum->total && last->iteration >= sum->total;
    if ((sum->ended || reached) && s->fail.strength <= LOGFAIL_ERROR)
        logfail_init(&s->fail);
    if (any && last->nan && !last->skipped && !s->cut && s->seen_loss)
        logfail_note(&s->fail, LOG_NAN, LOGFAIL_NAN, -1);
    bool early = any && sum->total && !reached;
    if (!sum->ended && (early || s->tail_cut))
        logfail_note(&s->fail, LOG_TRUNCATED, LOGFAIL_TAIL, -1);
    sum->failure = s->fail.kind;
    sum->failure_rank = logfail_rank(&s->fail);
    sum->n_sections = s->section + 1;
    if (sum->dialect == LOG_UNKNOWN && s->has_arguments)
        sum->dialect = LOG_MEGATRON;
}

/* Our own trainer writes whole blocks, all alike: one that has the rows of
 * the block before, in the last iteration of all, was not cut. */
static bool is_last_of_moe_train(const struct logstate *s)
{
    return s->is_moe_train && s->has_held && !s->tail_cut &&
           s->held.it.iteration == s->sum.total &&
           s->block.n_lines == s->last_block_lines;
}

static void state_end(struct logstate *s)
{
    struct log_block *b = &s->block;
    if (b->form != BLOCK_NONE && is_last_of_moe_train(s))
        b->followed = true;
    if (b->form != BLOCK_NONE && !b->followed &&
        b->n_lines < s->last_block_lines)
        s->tail_cut = true;
    close_block(s, true);
    emit_held(s);
    judge_end(s);
}

/* Any line that no other kind of file has. */
static bool is_of_training(const struct logstate *s)
{
    return s->has_held || s->has_arguments || s->is_moe_train ||
           s->sum.has_timers || s->fail.strength >= LOGFAIL_SURE;
}

static enum err state_judge(const struct logstate *s, const char *where,
                            struct err_msg *msg)
{
    if (s->block.out_of_memory)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    if (!is_of_training(s))
        return err_set(msg, ERR_PARSE,
                       "%s: no line of a training log found, want iteration "
                       "lines, timers or an arguments dump; give the output "
                       "of the training run",
                       where);
    return ERR_OK;
}

enum err logstate_finish(struct logstate *s, const char *where,
                         struct log_summary *out, struct err_msg *msg)
{
    state_end(s);
    enum err e = state_judge(s, where, msg);
    if (e == ERR_OK)
        *out = s->sum;
    return e;
}
