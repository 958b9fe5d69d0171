/*
 * How it works. A sink of logscan holds one running mean a timer and rank; at
 * a new section it sets the sums aside as the answer in case the new section
 * has nothing usable.
 */
#include "means.h"

#include "base/input.h"
#include "block.h"

#include <stdlib.h>
#include <string.h>

/* Megatron has some forty timers; a damaged log may have any number. */
enum { MEANS_MAX_TIMERS = 256 };

struct sums {
    char name[BLOCK_NAME];
    size_t n_iterations;
    struct log_running *ranks; // heap
    int n_ranks;
};

struct averager {
    struct log_facts facts;
    const struct log_sink *also;
    struct log_list now, before; // struct sums of this section and an older one
    int section, before_section;
    bool any_usable;
    size_t next; // blocks name the timers in the same order: where to look
};

static void sums_clear(struct log_list *l)
{
    struct sums *s = (void *)l->data;
    for (size_t i = 0; i < l->n; i++)
        free(s[i].ranks);
    free(l->data);
    *l = (struct log_list){0};
}

/* A new section: what was summed is kept as long as the new one has nothing
 * that is usable, since the last section that has counts. */
static void average_iteration(void *data, const struct log_iteration *it)
{
    struct averager *v = data;
    logfacts_iteration(&v->facts, it);
    if (it->section != v->section) {
        if (v->any_usable) {
            sums_clear(&v->before);
            v->before = v->now;
            v->before_section = v->section;
            v->now = (struct log_list){0};
        }
        sums_clear(&v->now);
        v->section = it->section;
        v->any_usable = false;
        v->next = 0;
    }
    v->any_usable = v->any_usable || it->usable;
    if (v->also && v->also->iteration)
        v->also->iteration(v->also->data, it);
}

/* The sums of that name, added where there are none; NULL for one too many. */
static struct sums *find_sums(struct averager *v, const char *name)
{
    struct sums *s = (void *)v->now.data;
    size_t n = v->now.n;
    for (size_t i = 0; i < n; i++) {
        size_t k = (v->next + i) % n;
        if (strcmp(s[k].name, name) == 0) {
            v->next = k + 1;
            return &s[k];
        }
    }
    if (n >= MEANS_MAX_TIMERS || strlen(name) >= sizeof s->name)
        return NULL;
    s = log_list_add(&v->now, sizeof *s);
    if (s)
        memcpy(s->name, name, strlen(name));
    return s;
}

/* Makes room for a rank. The number of ranks is not told by a log: the largest
 * rank that is listed decides. */
static bool sums_reach(struct sums *s, int rank)
{
    if (rank < s->n_ranks)
        return true;
    int n = rank + 1 > 2 * s->n_ranks ? rank + 1 : 2 * s->n_ranks;
    if (rank >= LOG_MAX_RANKS)
        return false;
    struct log_running *bigger = realloc(s->ranks, (size_t)n * sizeof *bigger);
    if (!bigger)
        return false;
    memset(bigger + s->n_ranks, 0, (size_t)(n - s->n_ranks) * sizeof *bigger);
    s->ranks = bigger;
    s->n_ranks = n;
    return true;
}

/* Blocks of extremes have no ranks to average over. */
static void average_timer(void *data, const struct log_timer_event *e)
{
    struct averager *v = data;
    struct sums *s = e->usable && e->per_rank ? find_sums(v, e->name) : NULL;
    if (s) {
        s->n_iterations++;
        for (size_t i = 0; i < e->n_rows; i++) {
            if (sums_reach(s, e->rows[i].rank))
                log_running_add(&s->ranks[e->rows[i].rank], e->rows[i].ms);
        }
    }
    if (v->also && v->also->timer)
        v->also->timer(v->also->data, e);
}

static void average_memory(void *data, int section, const struct log_memory *m)
{
    struct averager *v = data;
    logfacts_memory(&v->facts, section, m);
    if (v->also && v->also->memory)
        v->also->memory(v->also->data, section, m);
}

static void average_arguments(void *data)
{
    struct averager *v = data;
    logfacts_arguments(&v->facts);
    if (v->also && v->also->arguments)
        v->also->arguments(v->also->data);
}

static void average_argument(void *data, const struct log_field *f)
{
    struct averager *v = data;
    logfacts_argument(&v->facts, f);
    if (v->also && v->also->argument)
        v->also->argument(v->also->data, f);
}

static void average_note(void *data, const char *text)
{
    struct averager *v = data;
    logfacts_note(&v->facts, text);
    if (v->also && v->also->note)
        v->also->note(v->also->data, text);
}

static bool means_mean_of(struct arena *a, const struct sums *s,
                          struct log_mean *out)
{
    int n = 0; // up to the last rank that was listed
    for (int r = 0; r < s->n_ranks; r++)
        n = s->ranks[r].n ? r + 1 : n;
    double *ms = arena_alloc(a, (size_t)n, sizeof *ms);
    double *se_ms = arena_alloc(a, (size_t)n, sizeof *se_ms);
    const char *name = arena_strdup(a, s->name);
    if (!ms || !se_ms || !name)
        return false;
    for (int r = 0; r < n; r++) {
        ms[r] = log_running_mean(&s->ranks[r]);
        se_ms[r] = log_running_se(&s->ranks[r]);
    }
    *out = (struct log_mean){name, s->n_iterations, n, ms, se_ms};
    return true;
}

/* From the sums of the section that counts to what the caller keeps. */
static enum err averager_finish(struct averager *v,
                                const struct log_summary *sum,
                                struct logmeans *out, struct err_msg *msg)
{
    struct arena *a = v->facts.arena;
    const struct log_list *l = v->any_usable ? &v->now : &v->before;
    const struct sums *sums = (const void *)l->data;
    struct logmeans m;
    bool ok = logfacts_finish(&v->facts, sum, &m.log);
    m.log.used_section = v->any_usable ? v->section : v->before_section;
    struct log_mean *means = arena_alloc(a, l->n, sizeof *means);
    ok = ok && means;
    for (size_t i = 0; ok && i < l->n; i++)
        ok = means_mean_of(a, &sums[i], &means[i]);
    if (!ok)
        return err_set(msg, ERR_NOMEM, "out of memory for the log's means");
    m.means = means;
    m.n_means = l->n;
    *out = m;
    return ERR_OK;
}

enum err logmeans_read_input(struct arena *a, const struct log_input *in,
                             const struct log_sink *sink, struct logmeans *out,
                             struct err_msg *msg)
{
    struct averager v = {
        .facts = {.arena = a}, .also = sink, .before_section = -1};
    struct log_sink own = {&v,
                           average_iteration,
                           average_timer,
                           average_memory,
                           average_arguments,
                           average_argument,
                           average_note};
    struct log_summary sum;
    enum err e = logscan(in, &own, &sum, msg);
    if (e == ERR_OK)
        e = averager_finish(&v, &sum, out, msg);
    logfacts_clear(&v.facts);
    sums_clear(&v.now);
    sums_clear(&v.before);
    return e;
}

enum err logmeans_read(struct arena *a, const char *path, struct logmeans *out,
                       struct err_msg *msg)
{
    FILE *f = input_stream(path, msg);
    if (!f)
        return ERR_PARSE;
    const struct log_input in = {.file = f, .where = path};
    enum err e = logmeans_read_input(a, &in, NULL, out, msg);
    fclose(f);
    return e;
}

const struct log_mean *logmeans_find(const struct logmeans *m, const char *name)
{
    for (size_t i = 0; i < m->n_means; i++) {
        if (strcmp(m->means[i].name, name) == 0)
            return &m->means[i];
    }
    return NULL;
}
