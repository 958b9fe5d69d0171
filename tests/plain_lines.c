/*
 * How it works: plain_lines_take() asks in turn whether a line is of the open
 * timer block, of the arguments dump, or tells of something new; what nothing
 * knows may be the rest of a wrapped iteration line. Everything is appended to
 * lists, and a block's timers when it closes, as only then is it known whether
 * they are of a step.
 */
#include "plain_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// of arguments, as many and as long as the product keeps
enum { MAX_ARGUMENTS = 4096, MAX_ARGUMENT = 65536 };

static void *plain_add(struct log_list *l, size_t size)
{
    void *item = log_list_add(l, size);
    if (!item)
        abort(); // of tests only
    return item;
}

struct plain_iteration *plain_lines_current(struct plain *p)
{
    struct plain_iteration *it = (void *)p->iterations.data;
    return p->iterations.n ? &it[p->iterations.n - 1] : NULL;
}

/* ---- timer blocks ---- */

static bool plain_value(struct log_text *t, double *out)
{
    logline_skip_blanks(t);
    bool ok = logline_take_number(t, out) && isfinite(*out) && *out >= 0;
    logline_skip_blanks(t);
    return ok;
}

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
    struct log_row *row = plain_add(&t->rows, sizeof *row);
    *row = (struct log_row){(int)rank, ms};
    b->n_rows++;
}

/* "rank  0: 101.10" */
static bool plain_row(struct plain_block *b, struct log_text t)
{
    int64_t rank = 0;
    double ms = 0;
    if (!logline_starts(t, "rank "))
        return false;
    t = logline_from(t, t.p + 5);
    logline_skip_blanks(&t);
    if (!logline_take_int(&t, &rank) || !logline_starts(t, ":"))
        return false;
    t = logline_from(t, t.p + 1);
    if (plain_value(&t, &ms) && t.n == 0 && rank < LOG_MAX_RANKS)
        plain_add_row(b, rank, ms);
    return true;
}

static bool plain_name(struct plain_block *b, struct log_text t)
{
    struct log_text name = logline_take_name(&t);
    if (!name.n || !logline_equals(t, ":"))
        return false;
    plain_add_timer(b, name);
    return true;
}

/* "name .....: 2.00" and "name .....: (1.00, 2.00)" */
static bool plain_extremes(struct plain_block *b, struct log_text t)
{
    struct log_text name = logline_take_name(&t);
    size_t dots = 0;
    while (dots < t.n && (t.p[dots] == ' ' || t.p[dots] == '.'))
        dots++;
    bool padded = dots > 1 && t.p[dots - 1] == '.';
    if (!name.n || dots == t.n || t.p[dots] != ':' || (!padded && name.n < 46))
        return false;
    t = logline_from(t, t.p + dots + 1);
    logline_skip_blanks(&t);
    double lo = NAN, hi = 0;
    bool pair = logline_starts(t, "(");
    if (pair) {
        t = logline_from(t, t.p + 1);
        if (!plain_value(&t, &lo) || !logline_starts(t, ","))
            return true;
        t = logline_from(t, t.p + 1);
    }
    b->n_lines++;
    if (!plain_value(&t, &hi) || (pair ? !logline_starts(t, ")") : t.n > 0))
        return true;
    struct plain_timer *timer = plain_add_timer(b, name);
    if (timer) {
        timer->min_ms = lo;
        timer->max_ms = hi;
    }
    return true;
}

static void plain_single_line(struct plain_block *b, struct log_text body)
{
    struct log_field f;
    while (logline_next_field(&body, &f)) {
        double ms = 0;
        struct log_text rest = f.name;
        struct log_text name = logline_take_name(&rest);
        if (rest.n || !name.n || !plain_value(&f.value, &ms))
            continue;
        struct plain_timer *t = plain_add_timer(b, name);
        if (t)
            t->min_ms = t->max_ms = ms;
        b->n_lines++;
    }
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
    struct log_timer *out = plain_add(&p->timers, sizeof *out);
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

void plain_lines_close_block(struct plain *p, bool at_end)
{
    struct plain_block *b = &p->block;
    struct plain_iteration *it = plain_lines_current(p);
    bool of_step = it && !it->closed;
    if (b->form == BLOCK_NONE)
        return;
    if (at_end && !b->followed) {
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

static void plain_open_block(struct plain *p, enum log_block_form form,
                             uint64_t stream)
{
    struct plain_block *b = &p->block;
    plain_lines_close_block(p, false);
    b->form = form;
    b->stream = stream;
    b->followed = b->named = false;
    b->n_timers = b->n_rows = b->n_lines = 0;
}

static bool plain_in_block(struct plain *p, struct log_text body,
                           uint64_t stream, bool cut)
{
    struct plain_block *b = &p->block;
    if (b->form == BLOCK_NONE)
        return false;
    bool same = stream == b->stream;
    if (same && cut && logline_starts(body, " ") && !logline_find(body, "/")) {
        p->tail_cut = true;
        return true;
    }
    struct log_text t = logline_trim(body);
    bool taken = false;
    if (same && !cut)
        taken = b->form == BLOCK_ALL ? plain_row(b, t) || plain_name(b, t)
                                     : plain_extremes(b, t);
    b->followed = !taken;
    if (taken)
        return true;
    b->named = b->named && !same;
    return false;
}

/* ---- iterations ---- */

static void plain_set(struct plain *p, struct plain_iteration *it,
                      const struct log_step *step, bool cut)
{
    it->step = *step;
    if (p->is_moe_train)
        it->step.dialect = LOG_MOE_TRAIN;
    else if (p->is_bridge && step->dialect == LOG_MEGATRON)
        it->step.dialect = LOG_BRIDGE;
    it->cut = cut && !step->whole;
    p->dialect = it->step.dialect;
    p->total = step->total;
    p->seen_loss = p->seen_loss || !isnan(step->it.loss);
    p->tail_cut = p->tail_cut || it->cut;
}

static void plain_on_step(struct plain *p, const struct log_step *step,
                          bool cut)
{
    const struct plain_iteration *last = plain_lines_current(p);
    int64_t before = last ? last->step.it.iteration : -1;
    bool goes_on = last && !p->new_run;
    if (goes_on && before == step->it.iteration &&
        (last->step.it.step_ms == step->it.step_ms || isnan(step->it.step_ms)))
        return; // printed twice, to stdout and stderr
    p->block.followed = true;
    plain_lines_close_block(p, false);
    if (!goes_on || step->it.iteration <= before) {
        p->section++;
        p->n_logged = 0;
        p->new_run = p->seen_loss = p->ended = false;
        if (p->section > 0)
            logfail_init(&p->fail);
    }
    struct plain_iteration *it = plain_add(&p->iterations, sizeof *it);
    it->nth = ++p->n_logged;
    plain_set(p, it, step, cut);
    it->step.it.section = p->section;
}

static bool plain_iterations(struct plain *p, struct log_text body, bool cut)
{
    struct log_text rest = body;
    struct log_step step;
    bool any = false;
    while (logstep_next(&rest, cut, &step)) {
        plain_on_step(p, &step, cut);
        any = true;
    }
    if (!any)
        return false;
    p->in_arguments = false;
    p->n_wrap = 0;
    if (!plain_lines_current(p)->step.whole && !cut && body.n < PLAIN_WRAPPED) {
        memcpy(p->wrap, body.p, body.n);
        p->n_wrap = body.n;
    }
    return true;
}

static bool plain_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The rest of an iteration line that was wrapped, within a number maybe. */
static void plain_wrapped(struct plain *p, struct log_text body, bool cut)
{
    struct plain_iteration *it = plain_lines_current(p);
    if (!p->n_wrap || it->closed || !logline_find(body, "|") ||
        p->n_wrap + body.n + 1 >= PLAIN_WRAPPED)
        return;
    char before = p->wrap[p->n_wrap - 1], after = *body.p;
    bool number = (plain_is_digit(before) || before == '.') &&
                  (plain_is_digit(after) || after == '.' || after == 'E');
    if (!number)
        p->wrap[p->n_wrap++] = ' ';
    memcpy(p->wrap + p->n_wrap, body.p, body.n);
    p->n_wrap += body.n;
    struct log_text joined = {p->wrap, p->n_wrap};
    struct log_step step;
    int section = it->step.it.section;
    if (logstep_next(&joined, cut, &step) &&
        step.it.iteration == it->step.it.iteration)
        plain_set(p, it, &step, cut);
    it->step.it.section = section;
    if (it->step.whole)
        p->n_wrap = 0;
}

/* ---- other lines ---- */

static bool plain_header(struct plain *p, struct log_text body, uint64_t stream,
                         bool cut)
{
    static const char single[] = "time (ms) |";
    enum log_block_form form = logblock_header(body);
    const char *at = logline_find(body, single);
    if (form != BLOCK_NONE) {
        plain_open_block(p, form, stream);
    } else if (at && cut) {
        p->tail_cut = true;
    } else if (at) {
        plain_open_block(p, BLOCK_MINMAX, stream);
        plain_single_line(&p->block,
                          logline_from(body, at + sizeof single - 1));
        plain_lines_close_block(p, false);
    }
    return form != BLOCK_NONE || at;
}

/* The last line of a rank stands, and a later run replaces an earlier one. */
static bool plain_memory(struct plain *p, struct log_text body, bool cut)
{
    struct log_memory m;
    int section = p->section < 0 ? 0 : p->section;
    if (!logstep_memory(body, cut, &m))
        return false;
    p->is_bridge = p->is_bridge || logline_find(body, "memory (GB)");
    if (section != p->memory_section)
        p->memory.n = 0;
    p->memory_section = section;
    struct log_memory *all = (void *)p->memory.data;
    for (size_t i = 0; i < p->memory.n; i++)
        if (all[i].rank == m.rank) {
            all[i] = m;
            return true;
        }
    struct log_memory *item = plain_add(&p->memory, sizeof *item);
    *item = m;
    return true;
}

static bool plain_arguments(struct plain *p, struct log_text body,
                            uint64_t stream)
{
    struct log_field f;
    if (p->in_arguments && stream == p->arguments_stream) {
        if (logline_find(body, "- end of arguments -")) {
            p->in_arguments = false;
            return true;
        }
        if (!logstep_argument(body, &f))
            return false;
        if (p->arguments.n < MAX_ARGUMENTS && f.value.n <= MAX_ARGUMENT) {
            struct log_argument *arg = plain_add(&p->arguments, sizeof *arg);
            arg->name = arena_strndup(p->arena, f.name.p, f.name.n);
            arg->value = arena_strndup(p->arena, f.value.p, f.value.n);
        }
        return true;
    }
    if (!logline_find(body, "--- arguments ---"))
        return false;
    p->in_arguments = p->has_arguments = p->new_run = true;
    p->arguments_stream = stream;
    p->arguments.n = 0;
    p->padded_vocab = 0;
    return true;
}

static bool plain_padding(struct plain *p, struct log_text body, bool cut)
{
    static const char mark[] = "dummy tokens (new size: ";
    const char *at = cut ? NULL : logline_find(body, mark);
    if (!at)
        return false;
    struct log_text rest = logline_from(body, at + sizeof mark - 1);
    logline_take_int(&rest, &p->padded_vocab);
    return true;
}

static bool plain_banner(struct plain *p, struct log_text body)
{
    static const char clock[] = RUNLOG_BANNER ": clock ";
    const char *at = logline_find(body, clock);
    if (at) {
        struct log_text t = logline_from(body, at + sizeof clock - 1);
        struct log_text name = logline_take_name(&t);
        if (name.n < sizeof p->clock) {
            memset(p->clock, 0, sizeof p->clock);
            memcpy(p->clock, name.p, name.n);
        }
        p->is_moe_train = p->new_run = true;
        p->dialect = LOG_MOE_TRAIN;
        return true;
    }
    double us = 0, mb_per_s = 0;
    if (!logline_number_after(body,
                              RUNLOG_BANNER ": p2p latency (us): ", &us) ||
        !logline_number_after(body, "bandwidth (MB/s): ", &mb_per_s))
        return false;
    p->p2p_latency_s = us * 1e-6;
    p->p2p_bytes_per_s = mb_per_s * 1e6;
    return true;
}

/* Everything that one line may tell; two writers may have shared it. */
static bool plain_events(struct plain *p, struct log_text body, uint64_t stream,
                         bool cut)
{
    bool any = plain_iterations(p, body, cut);
    any = plain_memory(p, body, cut) || any;
    any = plain_header(p, body, stream, cut) || any;
    any = plain_padding(p, body, cut) || any;
    if (logline_find(body, "[after training is done]") ||
        logline_find(body, "[exiting program ")) {
        p->ended = any = true;
        logfail_init(&p->fail);
    }
    if (logline_starts(logline_trim(body), "Step Time :"))
        p->is_bridge = any = true;
    return plain_banner(p, body) || any;
}

void plain_lines_take(struct plain *p, struct log_text line, bool cut)
{
    struct log_prefix prefix;
    struct log_text body = logline_body(line, &prefix);
    if (logline_trim(body).n == 0 ||
        plain_in_block(p, body, prefix.stream, cut))
        return;
    if (plain_arguments(p, body, prefix.stream)) {
        p->tail_cut = p->tail_cut || (cut && p->in_arguments);
        return;
    }
    if (!plain_events(p, body, prefix.stream, cut))
        plain_wrapped(p, body, cut);
    else if (plain_lines_current(p) && plain_lines_current(p)->step.whole)
        p->n_wrap = 0;
    logfail_look(&p->fail, body, &prefix);
}
