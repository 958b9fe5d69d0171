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

#include "format.h"
#include "row.h"
#include "runlog.h"
#include "told.h"
#include "wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATE_QUOTE = 160 }; // bytes of a line that a message quotes

struct logstate {
    const struct log_sink *sink;
    struct log_summary sum;
    struct logfail fail;
    struct log_told told;
    struct log_block block;
    size_t last_block_lines; // rows of the last block of a step

    struct log_step held;       // the iteration whose block may still come
    char held_bad[STATE_QUOTE]; // of it: what is not understood, or ""
    bool has_held, emitted, has_block, cut;
    int section;  // -1 before the first iteration
    int n_logged; // iterations of this section
    bool seen_loss, is_bridge, has_memory;

    struct log_step pending;    // Bridge's line, whose iteration may still come
    bool has_pending, numbered; // some line had an iteration's number
    int64_t n_step_times;

    bool tail_cut; // the file ends within a line that matters
    struct log_wrap wrap;
    const char *unread_name; // of a dialect that is not read; NULL: none met
    char unread_line[STATE_QUOTE], first_line[STATE_QUOTE];
};

struct logstate *logstate_new(const struct log_sink *sink)
{
    struct logstate *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->sink = sink;
    s->section = -1;
    logtold_init(&s->told);
    logfail_init(&s->fail);
    return s;
}

void logstate_free(struct logstate *s)
{
    if (s)
        logblock_clear(&s->block);
    free(s);
}

static bool has_byte(struct log_text t, char c)
{
    return memchr(t.p, c, t.n) != NULL;
}

/* ---- lines that are quoted ---- */

/* Only what a terminal shows as it is: a log may hold any bytes. */
static void state_quote(char *out, struct log_text line)
{
    size_t n = 0;
    line = logline_trim(line);
    for (size_t i = 0; i < line.n && n < STATE_QUOTE - 1; i++)
        out[n++] = line.p[i] >= ' ' && line.p[i] <= '~' ? line.p[i] : '?';
    out[n] = '\0';
}

static void emit_note(struct logstate *s, const char *text)
{
    s->sum.n_notes++;
    if (s->sink->note)
        s->sink->note(s->sink->data, text);
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
    if (!s->held_bad[0])
        return;
    char text[STATE_QUOTE + 64];
    snprintf(text, sizeof text, "iteration %lld: '%s' is not understood",
             (long long)s->held.it.iteration, s->held_bad);
    emit_note(s, text);
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

/* A row that looked as if it went on in the next line, and did not. */
static void flush_row(struct logstate *s)
{
    if (s->wrap.kind != WRAP_ROW)
        return;
    const struct log_prefix prefix = {.fixed = false};
    struct log_text row = logwrap_text(&s->wrap);
    s->wrap.kind = WRAP_NONE;
    logblock_take(&s->block, row, row, &prefix);
}

/* The final block is not believed unless another line followed it: more rows
 * may have been to come. The rows of extremes close themselves, and where there
 * are as many as in the block before none is missing. */
static bool is_believed(const struct logstate *s, bool at_end)
{
    const struct log_block *b = &s->block;
    bool closes = b->form != BLOCK_ALL && !s->tail_cut &&
                  b->n_lines >= s->last_block_lines;
    return !at_end || b->followed || closes;
}

static void close_block(struct logstate *s, bool at_end)
{
    struct log_block *b = &s->block;
    flush_row(s);
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
static void start_section(struct logstate *s)
{
    s->section++;
    s->n_logged = 0;
    s->told.new_run = s->seen_loss = false;
    s->sum.ended = false;
    if (s->section > 0) // what became of an earlier run is superseded
        logfail_init(&s->fail);
}

/* Dialects that only other lines tell. */
static enum log_dialect refine_dialect(const struct logstate *s,
                                       enum log_dialect d)
{
    if (s->told.is_moe_train)
        return LOG_MOE_TRAIN;
    return s->is_bridge && d == LOG_MEGATRON ? LOG_BRIDGE : d;
}

static void state_hold(struct logstate *s, const struct log_step *step,
                       bool cut)
{
    double tflops = s->held.it.tflops;
    bool same = s->has_held && !s->emitted && !isnan(tflops) &&
                s->held.it.iteration == step->it.iteration;
    s->held = *step;
    if (same && isnan(step->it.tflops)) // of Bridge's line before it
        s->held.it.tflops = tflops;
    state_quote(s->held_bad, step->bad);
    s->held.bad = (struct log_text){NULL, 0};
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
    return s->has_held && !s->told.new_run && a->iteration == b->iteration &&
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
    bool goes_up = s->has_held && step->it.iteration > s->held.it.iteration &&
                   !s->told.new_run;
    if (!goes_up)
        start_section(s);
    s->n_logged++;
    s->sum.n_iterations++;
    s->has_held = true;
    s->emitted = s->has_block = false;
    s->held.it.tflops = NAN; // of another iteration
    state_hold(s, step, cut);
}

/* Bridge's line of a step that no numbered line followed. */
static void flush_pending(struct logstate *s)
{
    if (!s->has_pending || s->numbered)
        return;
    s->has_pending = false;
    if (s->told.new_run)
        s->n_step_times = 0;
    s->pending.it.iteration = ++s->n_step_times;
    on_iteration(s, &s->pending, false);
}

static bool look_for_step_times(struct logstate *s, struct log_text body)
{
    bool any = false;
    struct log_step step;
    while (logformat_next_step_time(&body, &step)) {
        flush_pending(s);
        s->pending = step;
        s->has_pending = s->is_bridge = any = true;
    }
    return any;
}

/* The line before a numbered one has its throughput. */
static void on_numbered(struct logstate *s, struct log_step *step, bool cut)
{
    s->numbered = true;
    if (s->has_pending && isnan(step->it.tflops))
        step->it.tflops = s->pending.it.tflops;
    s->has_pending = false;
    on_iteration(s, step, cut);
}

static bool look_for_iterations(struct logstate *s, struct log_text body,
                                const struct log_prefix *prefix, bool cut)
{
    bool any = false;
    struct log_text rest = body;
    struct log_step step;
    while (logstep_next(&rest, cut, &step)) {
        any = true;
        on_numbered(s, &step, cut);
    }
    if (!any)
        return false;
    s->told.in_arguments = false;
    s->wrap.kind = WRAP_NONE;
    if (!step.closed && !cut && !s->emitted)
        logwrap_start(&s->wrap, WRAP_STEP, body, prefix->stream);
    return true;
}

/* True when what was joined tells more than what was read of fewer pieces; a
 * text that spoils a value is not of this line. */
static bool is_better(const struct logstate *s, const struct log_step *joined,
                      struct log_text piece)
{
    const struct log_step *held = &s->held;
    return !s->emitted && joined->it.iteration == held->it.iteration &&
           joined->n_bad - joined->bad_end <= held->n_bad &&
           (joined->n_known > held->n_known || joined->whole ||
            memchr(piece.p, '|', piece.n) || s->wrap.number);
}

/* The pieces of an iteration line so far. */
static void join_step(struct logstate *s, struct log_text piece, bool cut)
{
    struct log_text joined = logwrap_text(&s->wrap);
    struct log_step step;
    if (!logstep_next(&joined, cut, &step))
        return;
    if (s->wrap.kind == WRAP_OPEN) {
        s->wrap.kind = WRAP_STEP;
        on_numbered(s, &step, cut);
        logwrap_accept(&s->wrap);
    } else if (is_better(s, &step, piece)) {
        state_hold(s, &step, cut);
        logwrap_accept(&s->wrap);
    }
    if (s->held.closed || s->emitted)
        s->wrap.kind = WRAP_NONE;
}

/* A line with bars came behind an iteration's that had no last bar, and did not
 * go on with it: the last number may be half of one and is not believed. */
static void doubt_end(struct logstate *s)
{
    struct log_text text = {s->wrap.text, s->wrap.n_sure};
    struct log_text whole = text;
    struct log_step step;
    s->wrap.kind = WRAP_NONE;
    bool ends = text.n && logline_trim(text).p[logline_trim(text).n - 1] == '|';
    if (ends || s->emitted || !logstep_next(&text, true, &step) ||
        step.n_known == s->held.n_known)
        return;
    size_t tail = whole.n > 60 ? 60 : whole.n;
    if (step.n_bad == 0)
        step.bad = (struct log_text){whole.p + whole.n - tail, tail};
    step.it.unread = true;
    state_hold(s, &step, false);
}

static void on_memory(struct logstate *s, const struct log_memory *m)
{
    s->has_memory = true;
    if (s->sink->memory)
        s->sink->memory(s->sink->data, s->section < 0 ? 0 : s->section, m);
}

/* Copies from a terminal wrap long lines, within numbers and words too: what is
 * nothing else after an incomplete line goes on with it. */
static void look_for_wrapped(struct logstate *s, struct log_text body,
                             const struct log_prefix *prefix, bool cut)
{
    struct log_memory m;
    enum log_wrap_kind kind = s->wrap.kind;
    bool more = logwrap_add(&s->wrap, body, prefix->stream);
    if (more && (kind == WRAP_STEP || kind == WRAP_OPEN))
        join_step(s, body, cut);
    if (kind == WRAP_STEP && s->wrap.kind != WRAP_NONE &&
        (!more || s->wrap.n_sure < s->wrap.n) && has_byte(body, '|'))
        doubt_end(s);
    if (more && kind == WRAP_MEMORY) {
        struct log_text joined = logwrap_text(&s->wrap);
        if (logmemory_read(joined, cut, &m))
            on_memory(s, &m);
        if (!logmemory_is_open(joined))
            s->wrap.kind = WRAP_NONE;
    }
    if (s->wrap.kind == WRAP_OPEN && kind == WRAP_OPEN && more &&
        s->wrap.n_pieces > 8)
        s->wrap.kind = WRAP_NONE;
    if (s->wrap.kind == WRAP_NONE && logstep_is_open(body))
        logwrap_start(&s->wrap, WRAP_OPEN, body, prefix->stream);
}

/* ---- other lines ---- */

/* What is behind a header on its line are rows of a log without newlines. */
static void open_block(struct logstate *s, enum log_block_form form,
                       struct log_text body, const struct log_prefix *prefix)
{
    static const char tail[] = "across ranks (ms):";
    const struct log_prefix none = {.fixed = false};
    struct log_text rest =
        logline_from(body, logline_find(body, tail) + sizeof tail - 1);
    flush_pending(s);
    close_block(s, false);
    logblock_open(&s->block, form, prefix->stream);
    if (logline_trim(rest).n)
        logblock_take(&s->block, rest, rest, &none);
}

static bool look_for_header(struct logstate *s, struct log_text body,
                            const struct log_prefix *prefix, bool cut)
{
    enum log_block_form form = logblock_header(body);
    if (form != BLOCK_NONE) {
        open_block(s, form, body, prefix);
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
    flush_pending(s);
    close_block(s, false);
    logblock_open(&s->block, BLOCK_MINMAX, prefix->stream);
    logblock_take_single_line(&s->block,
                              logline_from(body, at + sizeof word - 1));
    close_block(s, false);
    return true;
}

static bool look_for_memory(struct logstate *s, struct log_text body,
                            const struct log_prefix *prefix, bool cut)
{
    struct log_memory m;
    if (!logline_find(body, "[Rank "))
        return false;
    bool any = logmemory_read(body, cut, &m);
    bool open = !cut && logmemory_is_open(body);
    if (logline_find(body, "memory (GB)"))
        s->is_bridge = true;
    if (any)
        on_memory(s, &m);
    if (open)
        logwrap_start(&s->wrap, WRAP_MEMORY, body, prefix->stream);
    return any || open;
}

static bool look_for_arguments(struct logstate *s, struct log_text body,
                               const struct log_prefix *prefix)
{
    struct log_field f;
    enum log_told_kind kind = logtold_argument(&s->told, body, prefix, &f);
    if (kind == TOLD_DUMP && s->sink->arguments)
        s->sink->arguments(s->sink->data);
    if (kind == TOLD_ARGUMENT && s->sink->argument)
        s->sink->argument(s->sink->data, &f);
    return kind != TOLD_NOTHING;
}

static bool look_for_end(struct logstate *s, struct log_text body)
{
    if (!logtold_is_end(body))
        return false;
    s->sum.ended = true;
    logfail_init(&s->fail);
    return true;
}

/* The first line of a dialect that is not read; a better name than "unknown"
 * is taken also later. */
static void look_for_unread(struct logstate *s, struct log_text body)
{
    if (s->has_held || (s->unread_name && s->unread_name[0] != 'u'))
        return;
    const char *name = logformat_unread(body);
    if (!name || (s->unread_name && name[0] == 'u'))
        return;
    s->unread_name = name;
    state_quote(s->unread_line, body);
}

/* Each reader's lines have a byte that few other lines have. A line of Bridge
 * may be glued before a numbered one or behind it. */
static bool look_for_events(struct logstate *s, struct log_text body,
                            const struct log_prefix *prefix, bool cut)
{
    bool any = false;
    const char *bar = memchr(body.p, '|', body.n);
    const char *time = logline_find(body, "Step Time");
    if (time && (!bar || time < bar))
        any = look_for_step_times(s, body);
    if (bar || has_byte(body, '/') || has_byte(body, '{') ||
        has_byte(body, '='))
        any = look_for_iterations(s, body, prefix, cut) || any;
    if (time && bar && time > bar)
        any = look_for_step_times(s, body) || any;
    if (has_byte(body, '(')) {
        any = look_for_memory(s, body, prefix, cut) || any;
        any = look_for_header(s, body, prefix, cut) || any;
        any = logtold_padding(&s->told, body, cut) || any;
    }
    if (has_byte(body, '['))
        any = look_for_end(s, body) || any;
    if (logline_find(body, RUNLOG_BANNER ": ") &&
        logtold_banner(&s->told, body)) {
        any = true;
        if (s->told.is_moe_train)
            s->sum.dialect = LOG_MOE_TRAIN;
    }
    return any;
}

/* The row of a line that two writers shared; all of it where one did. */
static struct log_text row_part(struct log_text body)
{
    const char *end = body.p + body.n;
    if (!memchr(body.p, '|', body.n))
        return body;
    const char *bracket = memchr(body.p, '[', body.n);
    const char *word = logline_find(body, " iteration");
    end = bracket ? bracket : end;
    end = word && word < end ? word : end;
    return (struct log_text){body.p, (size_t)(end - body.p)};
}

/* A row that a terminal has wrapped: the first piece waits for the next line,
 * which goes on with it unless it begins a row itself. */
static bool look_for_wrapped_row(struct logstate *s, struct log_text body,
                                 const struct log_prefix *prefix)
{
    const struct log_prefix none = {.fixed = false};
    struct log_text own = logline_trim(body);
    struct log_rowtext row;
    bool open = logblock_is_open_row(&s->block, body);
    if (s->wrap.kind == WRAP_ROW) {
        bool begins = open || logrow_take(&own, false, &row);
        if (begins || !logwrap_add(&s->wrap, body, prefix->stream)) {
            flush_row(s);
        } else {
            struct log_text joined = logwrap_text(&s->wrap);
            if (logblock_is_open_row(&s->block, joined))
                return true;
            s->wrap.kind = WRAP_NONE;
            return logblock_take(&s->block, joined, joined, &none);
        }
    }
    if (open)
        logwrap_start(&s->wrap, WRAP_ROW, body, prefix->stream);
    return open;
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
    struct log_text row = row_part(body);
    struct log_prefix own = *prefix;
    own.fixed = own.fixed && row.n == body.n;
    if (same && !cut && row.n == body.n &&
        look_for_wrapped_row(s, body, prefix))
        return true;
    if (same && !cut && logblock_take(b, line, row, &own))
        return row.n == body.n;
    flush_row(s);
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

static void take_part(struct logstate *s, struct log_text line,
                      struct log_text body, const struct log_prefix *prefix,
                      bool cut)
{
    if (look_in_block(s, line, body, prefix, cut))
        return;
    if (look_for_arguments(s, body, prefix)) {
        s->tail_cut = s->tail_cut || (cut && s->told.in_arguments);
        return;
    }
    s->wrap.fresh = false;
    if (!look_for_events(s, body, prefix, cut)) {
        look_for_wrapped(s, body, prefix, cut);
        look_for_unread(s, body);
    } else if (!s->wrap.fresh) {
        s->wrap.kind = WRAP_NONE;
    }
    logfail_look(&s->fail, body, prefix);
}

/* Bytes of `body` before the iteration that is not its first: what is glued
 * behind it starts there; 0 when there is none. Text before the first one is
 * apart where it may be the rest of a wrapped line. */
static size_t glued_at(const struct logstate *s, struct log_text body)
{
    const char *first = memchr(body.p, '|', body.n) ? logstep_find(body) : NULL;
    if (!first)
        return 0;
    size_t before = (size_t)(first - body.p);
    if (s->wrap.kind != WRAP_NONE && memchr(body.p, '|', before))
        return before;
    const char *word = logline_find(logline_from(body, first), "iteration");
    const char *second = logstep_find(logline_from(body, word + 1));
    return second ? (size_t)(second - body.p) : 0;
}

void logstate_take(struct logstate *s, struct log_text line, bool cut)
{
    struct log_prefix prefix;
    struct log_text body = logprefix_body(line, &prefix);
    if (logline_trim(body).n == 0)
        return;
    if (!s->first_line[0])
        state_quote(s->first_line, body);
    struct log_prefix own = prefix;
    for (size_t n; (n = glued_at(s, body)) > 0;) {
        struct log_text part = {body.p, n};
        own.fixed = false;
        take_part(s, part, part, &own, false);
        body = logline_from(body, body.p + n);
        line = body;
    }
    take_part(s, line, body, &own, cut);
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
static bool is_last_of_moe_train(const struct logstate *s)
{
    return s->told.is_moe_train && s->has_held && !s->tail_cut &&
           s->held.it.iteration == s->sum.total &&
           s->block.n_lines == s->last_block_lines;
}

static void state_end(struct logstate *s)
{
    struct log_block *b = &s->block;
    flush_pending(s);
    flush_row(s);
    if (b->form != BLOCK_NONE && is_last_of_moe_train(s))
        b->followed = true;
    if (b->form != BLOCK_NONE && !b->followed &&
        b->n_lines < s->last_block_lines)
        s->tail_cut = true;
    close_block(s, true);
    emit_held(s);
    judge_end(s);
    if (s->has_held || !s->unread_name)
        return;
    char text[STATE_QUOTE + 96];
    snprintf(text, sizeof text,
             "iterations in the form of '%s' are not read, the first line: %s",
             s->unread_name, s->unread_line);
    emit_note(s, text);
}

/* Any line that no other kind of file has. */
static bool is_of_training(const struct logstate *s)
{
    return s->has_held || s->told.has_arguments || s->told.is_moe_train ||
           s->has_memory || s->sum.has_timers ||
           s->fail.strength >= LOGFAIL_SURE;
}

static enum err state_judge(const struct logstate *s, const char *where,
                            struct err_msg *msg)
{
    if (s->block.out_of_memory)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    if (is_of_training(s))
        return ERR_OK;
    bool named = s->unread_name && s->unread_name[0] != 'u';
    return err_set(
        msg, ERR_PARSE,
        "%s: no line of a training log that is read here; %s%s%s, '%s'; want "
        "iteration lines, timers, memory or an arguments dump of Megatron-LM "
        "or of a relative; give the output of the training run",
        where, named ? "iterations are in the form of " : "the dialect is ",
        named ? s->unread_name : "not known",
        s->unread_name ? ", its first line" : ", the first line",
        s->unread_name ? s->unread_line : s->first_line);
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
