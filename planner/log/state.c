/*
 * How it works. logstate_take() asks each reader of lines in turn, since two
 * writers may have put two things on one line: is it of the open timer block,
 * of the arguments dump, does it tell of an iteration, of memory, of the
 * program's end? What it told goes to loghold. A line that is none of these may
 * be the rest of one that was wrapped.
 */
#include "state.h"

#include "format.h"
#include "hold.h"
#include "row.h"
#include "runlog.h"
#include "told.h"
#include "wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct logstate {
    struct loghold hold;
    struct log_wrap wrap;
    const char *unread_name; // of a dialect that is not read; NULL: none met
    char unread_line[LOG_QUOTE], first_line[LOG_QUOTE];
    char step_line[LOG_QUOTE]; // the first with an iteration
};

struct logstate *logstate_new(const struct log_sink *sink)
{
    struct logstate *s = calloc(1, sizeof *s);
    if (s)
        loghold_init(&s->hold, sink);
    return s;
}

void logstate_free(struct logstate *s)
{
    if (s)
        logblock_clear(&s->hold.block);
    free(s);
}

static bool has_byte(struct log_text t, char c)
{
    return memchr(t.p, c, t.n) != NULL;
}

/* ---- iterations ---- */

/* A row that looked as if it went on in the next line, and did not. */
static void flush_row(struct logstate *s)
{
    if (s->wrap.kind != WRAP_ROW)
        return;
    const struct log_prefix prefix = {.fixed = false};
    struct log_text row = logwrap_text(&s->wrap);
    s->wrap.kind = WRAP_NONE;
    logblock_take(&s->hold.block, row, row, &prefix);
}

static bool look_for_step_times(struct logstate *s, struct log_text body)
{
    bool any = false;
    struct log_step step;
    while (logformat_next_step_time(&body, &step)) {
        loghold_step_time(&s->hold, &step);
        any = true;
    }
    return any;
}

static bool look_for_iterations(struct logstate *s, struct log_text body,
                                const struct log_prefix *prefix, bool cut)
{
    bool any = false;
    struct log_text rest = body;
    struct log_step step;
    while (logstep_next(&rest, cut, &step)) {
        any = true;
        loghold_numbered(&s->hold, &step, cut);
    }
    if (!any)
        return false;
    if (!s->step_line[0])
        loghold_quote(s->step_line, body);
    s->hold.told.in_arguments = false;
    s->wrap.kind = WRAP_NONE;
    if (!step.closed && !cut && !s->hold.emitted)
        logwrap_start(&s->wrap, WRAP_STEP, body, prefix->stream);
    return true;
}

/* True when what was joined tells more than what was read of fewer pieces; a
 * text that spoils a value is not of this line. */
static bool is_better(const struct logstate *s, const struct log_step *joined,
                      struct log_text piece)
{
    const struct log_step *held = &s->hold.held;
    return !s->hold.emitted && joined->it.iteration == held->it.iteration &&
           joined->n_bad - joined->bad_end <= held->n_bad &&
           (joined->n_known > held->n_known || joined->whole ||
            memchr(piece.p, '|', piece.n) || s->wrap.number);
}

/* The pieces of an iteration line so far. */
static void join_step(struct logstate *s, struct log_text piece, bool cut)
{
    const char *next = logstep_find_next(logwrap_text(&s->wrap));
    if (next)
        logwrap_restart(&s->wrap, next);
    struct log_text joined = logwrap_text(&s->wrap);
    struct log_step step;
    if (!logstep_next(&joined, cut, &step))
        return;
    if (s->wrap.kind == WRAP_OPEN) {
        s->wrap.kind = WRAP_STEP;
        if (!s->step_line[0])
            loghold_quote(s->step_line, logwrap_text(&s->wrap));
        loghold_numbered(&s->hold, &step, cut);
        logwrap_accept(&s->wrap);
    } else if (is_better(s, &step, piece)) {
        loghold_replace(&s->hold, &step, cut);
        logwrap_accept(&s->wrap);
    }
    if (s->hold.held.closed || s->hold.emitted)
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
    if (ends || s->hold.emitted || !logstep_next(&text, true, &step) ||
        step.it.iteration != s->hold.held.it.iteration ||
        step.n_known == s->hold.held.n_known)
        return;
    size_t tail = whole.n > 60 ? 60 : whole.n;
    if (step.n_bad == 0)
        step.bad = (struct log_text){whole.p + whole.n - tail, tail};
    step.it.unread = true;
    loghold_replace(&s->hold, &step, false);
}

static void on_memory(struct logstate *s, const struct log_memory *m)
{
    s->hold.has_memory = true;
    if (s->hold.sink->memory)
        s->hold.sink->memory(s->hold.sink->data,
                             s->hold.section < 0 ? 0 : s->hold.section, m);
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
    loghold_flush(&s->hold);
    loghold_close_block(&s->hold, false);
    logblock_open(&s->hold.block, form, prefix->stream);
    if (logline_trim(rest).n)
        logblock_take(&s->hold.block, rest, rest, &none);
}

/* Timers of one line are a block that ends with it. */
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
        s->hold.tail_cut = true;
        return true;
    }
    loghold_flush(&s->hold);
    loghold_close_block(&s->hold, false);
    logblock_open(&s->hold.block, BLOCK_MINMAX, prefix->stream);
    logblock_take_single_line(&s->hold.block,
                              logline_from(body, at + sizeof word - 1));
    loghold_close_block(&s->hold, false);
    return true;
}

static bool look_for_memory(struct logstate *s, struct log_text body,
                            const struct log_prefix *prefix, bool cut)
{
    struct log_memory m;
    bool any = false;
    if (!logline_find(body, "[Rank "))
        return false;
    if (logline_find(body, "memory (GB)"))
        s->hold.is_bridge = true;
    struct log_text rest = body, one;
    do {
        one = logmemory_first(rest, &rest);
        if (!logmemory_read(one, cut && !rest.n, &m))
            continue;
        any = true;
        on_memory(s, &m);
    } while (rest.n);
    bool open = !cut && logmemory_is_open(one);
    if (open)
        logwrap_start(&s->wrap, WRAP_MEMORY, one, prefix->stream);
    return any || open;
}

static bool look_for_arguments(struct logstate *s, struct log_text body,
                               const struct log_prefix *prefix)
{
    struct log_field f;
    enum log_told_kind kind = logtold_argument(&s->hold.told, body, prefix, &f);
    if (kind == TOLD_DUMP && s->hold.sink->arguments)
        s->hold.sink->arguments(s->hold.sink->data);
    if (kind == TOLD_ARGUMENT && s->hold.sink->argument)
        s->hold.sink->argument(s->hold.sink->data, &f);
    return kind != TOLD_NOTHING;
}

static bool look_for_end(struct logstate *s, struct log_text body)
{
    if (!logtold_is_end(body))
        return false;
    s->hold.sum.ended = true;
    logfail_init(&s->hold.fail);
    return true;
}

/* The first line of a dialect that is not read; a better name than "unknown"
 * is taken also later. */
static void look_for_unread(struct logstate *s, struct log_text body)
{
    if (s->hold.has_held || (s->unread_name && s->unread_name[0] != 'u'))
        return;
    const char *name = logformat_unread(body);
    if (!name || (s->unread_name && name[0] == 'u'))
        return;
    s->unread_name = name;
    loghold_quote(s->unread_line, body);
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
        any = logtold_padding(&s->hold.told, body, cut) || any;
    }
    if (has_byte(body, '['))
        any = look_for_end(s, body) || any;
    if (logline_find(body, RUNLOG_BANNER ": ") &&
        logtold_banner(&s->hold.told, body)) {
        any = true;
        if (s->hold.told.is_moe_train)
            s->hold.sum.dialect = LOG_MOE_TRAIN;
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
    bool open = logblock_is_open_row(&s->hold.block, body);
    if (s->wrap.kind == WRAP_ROW) {
        bool begins = open || logrow_take(&own, false, &row);
        if (begins || !logwrap_add(&s->wrap, body, prefix->stream)) {
            flush_row(s);
        } else {
            struct log_text joined = logwrap_text(&s->wrap);
            if (logblock_is_open_row(&s->hold.block, joined))
                return true;
            s->wrap.kind = WRAP_NONE;
            return logblock_take(&s->hold.block, joined, joined, &none);
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
    struct log_block *b = &s->hold.block;
    if (b->form == BLOCK_NONE)
        return false;
    bool same = prefix->stream == b->stream;
    if (same && cut && body.n && *body.p == ' ' && !has_byte(body, '/')) {
        s->hold.tail_cut = true;
        return true;
    }
    struct log_text row = row_part(body);
    struct log_prefix own = *prefix;
    own.fixed = own.fixed && row.n == body.n;
    if (same && !cut && row.n == body.n &&
        look_for_wrapped_row(s, body, prefix))
        return true;
    if (row.n < body.n)
        flush_row(s);
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
    s->hold.block.ahead = ahead;
    p = logblock_take_rows(&s->hold.block, p, end);
    s->hold.block.ahead = NULL;
    return p;
}

/* A block first, for its rows look like other things; then arguments, whose
 * lines are plain; then all else. */
static void take_part(struct logstate *s, struct log_text line,
                      struct log_text body, const struct log_prefix *prefix,
                      bool cut)
{
    if (look_in_block(s, line, body, prefix, cut))
        return;
    if (look_for_arguments(s, body, prefix)) {
        s->hold.tail_cut =
            s->hold.tail_cut || (cut && s->hold.told.in_arguments);
        return;
    }
    s->wrap.fresh = false;
    if (!look_for_events(s, body, prefix, cut)) {
        look_for_wrapped(s, body, prefix, cut);
        look_for_unread(s, body);
    } else if (!s->wrap.fresh) {
        s->wrap.kind = WRAP_NONE;
    }
    logfail_look(&s->hold.fail, body, prefix);
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
    const char *second = logstep_find_next(body);
    return second ? (size_t)(second - body.p) : 0;
}

/* Where several processes wrote into one line its parts are taken one by one.
 */
void logstate_take(struct logstate *s, struct log_text line, bool cut)
{
    struct log_prefix prefix;
    struct log_text body = logprefix_body(line, &prefix);
    if (logline_trim(body).n == 0)
        return;
    if (!s->first_line[0])
        loghold_quote(s->first_line, body);
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

static void state_end(struct logstate *s)
{
    char text[LOG_QUOTE + 96];
    flush_row(s);
    loghold_end(&s->hold);
    bool timeless = s->hold.has_held && !s->hold.seen_time;
    if (timeless)
        snprintf(text, sizeof text,
                 "no iteration has a step time that is known here, the first "
                 "line: %s",
                 s->step_line);
    else if (!s->hold.has_held && s->unread_name)
        snprintf(
            text, sizeof text,
            "iterations in the form of '%s' are not read, the first line: %s",
            s->unread_name, s->unread_line);
    else
        return;
    loghold_note(&s->hold, text);
}

/* Any line that no other kind of file has. */
bool logstate_is_of_training(const struct logstate *s)
{
    return s->hold.has_held || s->hold.told.has_arguments ||
           s->hold.told.is_moe_train || s->hold.has_memory ||
           s->hold.sum.has_timers || s->hold.fail.strength >= LOGFAIL_SURE;
}

/* A file without a line of training is no log: more likely the wrong file was
 * named. */
static enum err state_judge(const struct logstate *s, const char *where,
                            struct err_msg *msg)
{
    if (s->hold.block.out_of_memory)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    if (logstate_is_of_training(s))
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
        *out = s->hold.sum;
    return e;
}
