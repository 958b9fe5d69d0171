/*
 * How it works. A sink of logscan puts all events into arrays that double in
 * the heap and are copied to the arena at the end.
 */
#include "parse.h"

#include "base/input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- keeping everything ---- */

struct keeper {
    struct log_facts facts;
    struct log_list iterations, timers, names;
    size_t n_cells; // of all rank_ms together
    bool too_large;
};

/* 1 GB of doubles: a log of 512 ranks, 20 timers and 10 000 iterations has some
 * 0.8 GB. Longer ones are averaged while they are read (logmeans). */
enum { PARSE_MAX_CELLS = 1 << 27 };

static void keep_iteration(void *data, const struct log_iteration *it)
{
    struct keeper *k = data;
    logfacts_iteration(&k->facts, it);
    struct log_iteration *item = log_list_add(&k->iterations, sizeof *item);
    if (item)
        *item = *it;
    else
        k->facts.failed = true;
}

/* One copy of a name; a log has few of them, in the same order each block. */
static const char *keep_name(struct keeper *k, const char *name)
{
    const char **names = (void *)k->names.data;
    for (size_t i = k->names.n; i-- > 0;) {
        if (strcmp(names[i], name) == 0)
            return names[i];
    }
    const char **item = log_list_add(&k->names, sizeof *item);
    if (item)
        *item = arena_strdup(k->facts.arena, name);
    return item ? *item : NULL;
}

/* From rows as listed to an array by rank, with NAN where none is listed; the
 * last row of a rank stands. */
static bool keep_ranks(struct keeper *k, const struct log_timer_event *e,
                       struct log_timer *t)
{
    int n_ranks = 0;
    for (size_t i = 0; i < e->n_rows; i++) {
        if (e->rows[i].rank >= n_ranks)
            n_ranks = e->rows[i].rank + 1;
    }
    k->n_cells += (size_t)n_ranks;
    k->too_large = k->too_large || k->n_cells > PARSE_MAX_CELLS;
    if (k->too_large)
        return false;
    double *ms = arena_alloc(k->facts.arena, (size_t)n_ranks, sizeof *ms);
    if (!ms)
        return false;
    for (int r = 0; r < n_ranks; r++)
        ms[r] = NAN;
    for (size_t i = 0; i < e->n_rows; i++)
        ms[e->rows[i].rank] = e->rows[i].ms;
    t->n_ranks = n_ranks;
    t->rank_ms = ms;
    return true;
}

/* Once the limit is passed nothing more is kept: the answer is an error. */
static void keep_timer(void *data, const struct log_timer_event *e)
{
    struct keeper *k = data;
    if (k->too_large || k->facts.failed)
        return;
    struct log_timer t = {
        .iteration = e->iteration,
        .name = keep_name(k, e->name),
        .per_rank = e->per_rank,
        .min_ms = e->min_ms,
        .max_ms = e->max_ms,
        .section = e->section,
    };
    bool ok = t.name && (!e->per_rank || keep_ranks(k, e, &t));
    struct log_timer *item = ok ? log_list_add(&k->timers, sizeof *item) : NULL;
    if (item)
        *item = t;
    else
        k->facts.failed = true;
}

static void keep_memory(void *data, int section, const struct log_memory *m)
{
    struct keeper *k = data;
    logfacts_memory(&k->facts, section, m);
}

static void keep_arguments(void *data)
{
    struct keeper *k = data;
    logfacts_arguments(&k->facts);
}

static void keep_argument(void *data, const struct log_field *f)
{
    struct keeper *k = data;
    logfacts_argument(&k->facts, f);
}

static void keep_note(void *data, const char *text)
{
    struct keeper *k = data;
    logfacts_note(&k->facts, text);
}

/* Moves everything to the arena, and finds the section that counts: the last
 * one with a usable iteration. */
static enum err keeper_finish(struct keeper *k, const char *where,
                              const struct log_summary *sum, struct runlog *out,
                              struct err_msg *msg)
{
    struct arena *a = k->facts.arena;
    struct runlog log;
    if (k->too_large)
        return err_set(msg, ERR_RANGE,
                       "%s: timers of all iterations take more than 1 GB, "
                       "want a shorter log; means of timers can be had of it",
                       where);
    if (!logfacts_finish(&k->facts, sum, &log))
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    log.iterations =
        log_list_to_arena(a, &k->iterations, sizeof *log.iterations);
    log.n_iterations = k->iterations.n;
    log.timers = log_list_to_arena(a, &k->timers, sizeof *log.timers);
    log.n_timers = k->timers.n;
    if (!log.iterations || !log.timers)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    for (size_t i = 0; i < log.n_iterations; i++) {
        if (log.iterations[i].usable)
            log.used_section = log.iterations[i].section;
    }
    *out = log;
    return ERR_OK;
}

enum err logparse_read_input(struct arena *a, const struct log_input *in,
                             struct runlog *out, struct err_msg *msg)
{
    struct keeper k = {.facts = {.arena = a}};
    struct log_sink sink = {&k,          keep_iteration, keep_timer,
                            keep_memory, keep_arguments, keep_argument,
                            keep_note};
    struct log_summary sum;
    enum err e = logscan(in, &sink, &sum, msg);
    if (e == ERR_OK)
        e = keeper_finish(&k, in->where, &sum, out, msg);
    logfacts_clear(&k.facts);
    free(k.iterations.data);
    free(k.timers.data);
    free(k.names.data);
    return e;
}

enum err logparse_read(struct arena *a, const char *path, struct runlog *out,
                       struct err_msg *msg)
{
    FILE *f = input_stream(path, msg);
    if (!f)
        return ERR_PARSE;
    const struct log_input in = {.file = f, .where = path};
    enum err e = logparse_read_input(a, &in, out, msg);
    fclose(f);
    return e;
}

enum err logparse_read_memory(struct arena *a, const void *data, size_t len,
                              struct runlog *out, struct err_msg *msg)
{
    const struct log_input in = {.data = data, .len = len, .where = "log"};
    return logparse_read_input(a, &in, out, msg);
}

/* ---- questions to a runlog ---- */

const char *runlog_argument(const struct runlog *log, const char *name)
{
    for (size_t i = 0; i < log->n_arguments; i++) {
        if (strcmp(log->arguments[i].name, name) == 0)
            return log->arguments[i].value;
    }
    return NULL;
}

const struct log_iteration *runlog_next_used(const struct runlog *log,
                                             size_t *at)
{
    while (*at < log->n_iterations) {
        const struct log_iteration *it = &log->iterations[(*at)++];
        // a step of 0 ms is a clock that stands, not a fast step
        if (it->usable && it->section == log->used_section &&
            isfinite(it->step_ms) && it->step_ms > 0)
            return it;
    }
    return NULL;
}

/* By section, then by number: the order that iterations have in a log. */
static int parse_by_place(const void *x, const void *y)
{
    const struct log_iteration *a = x, *b = y;
    if (a->section != b->section)
        return a->section < b->section ? -1 : 1;
    return (a->iteration > b->iteration) - (a->iteration < b->iteration);
}

const struct log_iteration *runlog_find_used(const struct runlog *log,
                                             int64_t iteration)
{
    const struct log_iteration key = {.iteration = iteration,
                                      .section = log->used_section};
    if (log->n_iterations == 0)
        return NULL;
    const struct log_iteration *it = bsearch(
        &key, log->iterations, log->n_iterations, sizeof key, parse_by_place);
    return it && it->usable ? it : NULL;
}

/* Blocks of no iteration, such as those of start-up, have number 0. */
const struct log_timer *runlog_next_timer(const struct runlog *log,
                                          const char *name, size_t *at)
{
    while (*at < log->n_timers) {
        const struct log_timer *t = &log->timers[(*at)++];
        if (t->section == log->used_section && t->iteration != 0 &&
            strcmp(t->name, name) == 0 && runlog_find_used(log, t->iteration))
            return t;
    }
    return NULL;
}

/* One pass with a running sum a rank, since blocks lie apart by the other
 * timers of their iteration. */
size_t runlog_timer_mean(const struct runlog *log, const char *name, double *ms,
                         double *se_ms, int n_ranks)
{
    size_t at = 0, used = 0;
    for (int r = 0; r < n_ranks; r++)
        ms[r] = se_ms[r] = NAN;
    struct log_running *sums =
        n_ranks > 0 ? calloc((size_t)n_ranks, sizeof *sums) : NULL;
    if (!sums)
        return 0;
    const struct log_timer *t;
    while ((t = runlog_next_timer(log, name, &at)) != NULL) {
        if (!t->per_rank)
            continue;
        used++;
        for (int r = 0; r < t->n_ranks && r < n_ranks; r++) {
            if (!isnan(t->rank_ms[r]))
                log_running_add(&sums[r], t->rank_ms[r]);
        }
    }
    for (int r = 0; r < n_ranks; r++) {
        ms[r] = log_running_mean(&sums[r]);
        se_ms[r] = log_running_se(&sums[r]);
    }
    free(sums);
    return used;
}
