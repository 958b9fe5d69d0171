/*
 * How it works: rows are taken into the open block as they come, in the order
 * of their writer; when the block closes its timers are kept, as only then is
 * it known whether they are of a step and whether the file ended in it.
 */
#include "plain_blocks.h"

#include "log/format.h"
#include "log/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct plain_timer *plain_add_timer(struct plain_block *b,
                                           struct log_text name)
{
    b->named = b->n_timers < BLOCK_MAX_TIMERS && name.n < BLOCK_NAME;
    if (!b->named)
        return NULL;
    struct plain_timer *t = &b->timer[b->n_timers++];
    *t = (struct plain_timer){.rows = {0}};
    memcpy(t->name, name.p, name.n);
    return t;
}

static void plain_add_row(struct plain_block *b, int64_t rank, double ms)
{
    b->n_lines++;
    if (!b->named || b->n_rows == BLOCK_MAX_ROWS)
        return;
    struct plain_timer *t = &b->timer[b->n_timers - 1];
    struct log_row *row = plain_lines_add(&t->rows, sizeof *row);
    *row = (struct log_row){(int)rank, ms};
    b->n_rows++;
}

static void plain_take_row(struct plain_block *b, const struct log_rowtext *r)
{
    struct plain_timer *t = NULL;
    if (r->kind == LOGROW_NAME)
        plain_add_timer(b, r->name);
    if (r->kind == LOGROW_RANK && r->sound)
        plain_add_row(b, r->rank, r->max_ms);
    if (r->kind != LOGROW_EXTREMES)
        return;
    b->n_lines++;
    if (r->sound)
        t = plain_add_timer(b, r->name);
    if (t) {
        t->min_ms = r->min_ms;
        t->max_ms = r->max_ms;
    }
}

/* A row, or several that lost their newlines. */
bool plain_blocks_rows(struct plain_block *b, struct log_text t)
{
    struct log_rowtext row;
    bool any = false;
    t = logline_trim(t);
    while ((!any || t.n) && logrow_take(&t, b->form == BLOCK_ALL, &row)) {
        plain_take_row(b, &row);
        any = true;
    }
    if (any)
        b->followed = false;
    return any;
}

void plain_blocks_flush_row(struct plain *p)
{
    if (p->wrap.kind != WRAP_ROW)
        return;
    p->wrap.kind = WRAP_NONE;
    plain_blocks_rows(&p->block, logwrap_text(&p->wrap));
}

void plain_blocks_single_line(struct plain_block *b, struct log_text body)
{
    struct log_rowtext row;
    while (logrow_next_of_line(&body, &row))
        plain_take_row(b, &row);
}

static bool plain_is_of_step(const struct plain_block *b)
{
    bool any = false;
    for (size_t i = 0; i < b->n_timers; i++)
        any = any || strcmp(b->timer[i].name, RUNLOG_FORWARD) == 0 ||
              strcmp(b->timer[i].name, RUNLOG_FORWARD_BACKWARD) == 0;
    return any;
}

static void plain_keep_ranks(struct plain *p, const struct plain_timer *t,
                             struct log_timer *out)
{
    const struct log_row *row = (const void *)t->rows.data;
    for (size_t i = 0; i < t->rows.n; i++)
        if (row[i].rank >= out->n_ranks)
            out->n_ranks = row[i].rank + 1;
    double *ms = arena_alloc(p->arena, (size_t)out->n_ranks, sizeof *ms);
    for (int r = 0; r < out->n_ranks; r++)
        ms[r] = NAN;
    for (size_t i = 0; i < t->rows.n; i++)
        ms[row[i].rank] = row[i].ms;
    out->rank_ms = ms;
}

static void plain_keep_timer(struct plain *p, const struct plain_timer *t,
                             int64_t iteration)
{
    bool per_rank = p->block.form == BLOCK_ALL;
    if (per_rank && t->rows.n == 0)
        return;
    struct log_timer *out = plain_lines_add(&p->timers, sizeof *out);
    *out = (struct log_timer){.iteration = iteration,
                              .name = arena_strdup(p->arena, t->name),
                              .per_rank = per_rank,
                              .min_ms = t->min_ms,
                              .max_ms = t->max_ms,
                              .section = p->section < 0 ? 0 : p->section};
    p->has_timers = true;
    if (per_rank)
        plain_keep_ranks(p, t, out);
}

void plain_blocks_close(struct plain *p, bool at_end)
{
    struct plain_block *b = &p->block;
    struct plain_iteration *it = plain_lines_current(p);
    plain_blocks_flush_row(p);
    bool of_step = it && !it->closed;
    if (b->form == BLOCK_NONE)
        return;
    bool complete = b->form != BLOCK_ALL && !p->tail_cut &&
                    b->n_lines >= p->last_block_lines;
    if (at_end && !b->followed && !complete) {
        if (of_step)
            it->cut = true;
    } else {
        of_step = of_step && plain_is_of_step(b);
        for (size_t i = 0; i < b->n_timers; i++)
            plain_keep_timer(p, &b->timer[i],
                             of_step ? it->step.it.iteration : 0);
        if (of_step) {
            it->closed = true;
            p->last_block_lines = b->n_lines;
        }
    }
    for (size_t i = 0; i < b->n_timers; i++)
        free(b->timer[i].rows.data);
    b->form = BLOCK_NONE;
    b->n_timers = 0;
}

void plain_blocks_open(struct plain *p, enum log_block_form form,
                       uint64_t stream)
{
    struct plain_block *b = &p->block;
    plain_blocks_close(p, false);
    b->form = form;
    b->stream = stream;
    b->followed = b->named = false;
    b->n_timers = b->n_rows = b->n_lines = 0;
}

/* What of a line can be a row: writers that share a line begin with a bracket
 * or with an iteration. */
static size_t plain_row_length(struct log_text body)
{
    size_t n = body.n;
    const char *at = NULL;
    if (!logline_find(body, "|"))
        return n;
    if ((at = logline_find(body, "[")) != NULL)
        n = (size_t)(at - body.p);
    if ((at = logline_find(body, " iteration")) != NULL &&
        (size_t)(at - body.p) < n)
        n = (size_t)(at - body.p);
    return n;
}

static bool plain_is_open(const struct plain *p, struct log_text body)
{
    return p->block.form != BLOCK_ALL && logrow_is_open(body);
}

/* True when the line was taken as a piece of a wrapped row. */
static bool plain_wrapped_row(struct plain *p, struct log_text body,
                              uint64_t stream)
{
    struct log_text own = logline_trim(body);
    struct log_rowtext row;
    bool open = plain_is_open(p, body);
    bool waits = p->wrap.kind == WRAP_ROW;
    bool begins = open || logrow_take(&own, false, &row);
    if (waits && (begins || !logwrap_add(&p->wrap, body, stream))) {
        plain_blocks_flush_row(p);
    } else if (waits) {
        if (plain_is_open(p, logwrap_text(&p->wrap)))
            return true;
        p->wrap.kind = WRAP_NONE;
        return plain_blocks_rows(&p->block, logwrap_text(&p->wrap));
    }
    if (open)
        logwrap_start(&p->wrap, WRAP_ROW, body, stream);
    return open;
}

bool plain_blocks_take(struct plain *p, struct log_text body, uint64_t stream,
                       bool cut)
{
    struct plain_block *b = &p->block;
    if (b->form == BLOCK_NONE)
        return false;
    bool same = stream == b->stream;
    if (same && cut && logline_starts(body, " ") && !logline_find(body, "/")) {
        p->tail_cut = true;
        return true;
    }
    struct log_text row = {body.p, plain_row_length(body)};
    bool alone = row.n == body.n;
    if (same && !cut && alone && plain_wrapped_row(p, body, stream))
        return true;
    if (!alone)
        plain_blocks_flush_row(p);
    if (same && !cut && plain_blocks_rows(b, row))
        return alone;
    plain_blocks_flush_row(p);
    b->followed = true;
    b->named = b->named && !same;
    return false;
}
