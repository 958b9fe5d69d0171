/* The shared vectors: logs and what must be read of them, judged as their
 * README says. */
#include "base/json.h"
#include "log/parse.h"
#include "log_files.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VECTORS "../shared/vectors/logs"

/* What the vectors' README allows. */
static const double tol_ms = 0.01, tol_loss = 1e-6, tol_bytes = 2;

struct judge {
    const char *name;
    const cJSON *expect;
    const cJSON *must; // one entry
    const char *check; // its name
    const struct runlog *log;
};

static const cJSON *with_iteration(const cJSON *array, int64_t n)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, array)
    {
        if ((int64_t)json_get(item, "iteration")->valuedouble == n)
            return item;
    }
    return NULL;
}

static bool is_listed(const cJSON *array, int64_t n)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, array)
    {
        if ((int64_t)item->valuedouble == n)
            return true;
    }
    return false;
}

static void judge_numbers(const struct judge *j)
{
    const cJSON *numbers = json_get(j->must, "numbers");
    const cJSON *optional = json_get(j->must, "optional");
    size_t at = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, numbers)
    {
        int64_t n = (int64_t)item->valuedouble;
        bool here =
            at < j->log->n_iterations && j->log->iterations[at].iteration == n;
        cr_expect(here || is_listed(optional, n), "%s: iteration %lld", j->name,
                  (long long)n);
        at += here;
    }
    cr_expect_eq(at, j->log->n_iterations, "%s: extra iterations", j->name);
}

static void judge_iteration(const struct judge *j, int64_t n)
{
    const struct log_iteration *got = find_iteration(j->log, n);
    const cJSON *want = with_iteration(json_get(j->expect, "iterations"), n);
    cr_assert(got && want, "%s: iteration %lld", j->name, (long long)n);
    const cJSON *v = json_get(want, j->check);
    bool ok = true;
    if (strcmp(j->check, "step_ms") == 0)
        ok = fabs(got->step_ms - v->valuedouble) <= tol_ms;
    else if (strcmp(j->check, "loss") == 0)
        ok = fabs(got->loss - v->valuedouble) <= tol_loss;
    else if (strcmp(j->check, "loss_missing") == 0)
        ok = isnan(got->loss);
    else if (strcmp(j->check, "usable") == 0)
        ok = got->usable == (cJSON_IsTrue(v) != 0);
    else if (strcmp(j->check, "skipped") == 0)
        ok = got->skipped == (cJSON_IsTrue(v) != 0);
    else if (strcmp(j->check, "nan") == 0)
        ok = got->nan == (cJSON_IsTrue(v) != 0);
    else if (strcmp(j->check, "block_unused") == 0)
        ok = !got->usable || !find_timer(j->log, n, "forward-compute");
    cr_expect(ok, "%s: %s of iteration %lld", j->name, j->check, (long long)n);
}

static bool same_ranks(const struct log_timer *got, const cJSON *ranks)
{
    int n = 0;
    for (int r = 0; r < got->n_ranks; r++)
        n += !isnan(got->rank_ms[r]);
    bool ok = n == cJSON_GetArraySize(ranks);
    const cJSON *v;
    cJSON_ArrayForEach(v, ranks)
    {
        int r = (int)strtol(v->string, NULL, 10);
        ok = ok && r < got->n_ranks &&
             fabs(got->rank_ms[r] - v->valuedouble) <= tol_ms;
    }
    return ok;
}

static void judge_timer(const struct judge *j, const cJSON *want, int64_t n)
{
    const char *name = json_get(want, "name")->valuestring;
    const struct log_timer *got = find_timer(j->log, n, name);
    cr_assert(got, "%s: no %s at %lld", j->name, name, (long long)n);
    const cJSON *ranks = json_get(want, "ranks");
    bool ok =
        ranks ? same_ranks(got, ranks)
              : fabs(got->min_ms - json_get(want, "min_ms")->valuedouble) <=
                        tol_ms &&
                    fabs(got->max_ms - json_get(want, "max_ms")->valuedouble) <=
                        tol_ms;
    cr_expect(ok, "%s: %s at %lld", j->name, name, (long long)n);
}

static void judge_timers(const struct judge *j, int64_t n)
{
    int n_want = 0, n_got = 0;
    const cJSON *want;
    cJSON_ArrayForEach(want, json_get(j->expect, "timers"))
    {
        if ((int64_t)json_get(want, "iteration")->valuedouble != n)
            continue;
        n_want++;
        judge_timer(j, want, n);
    }
    for (size_t i = 0; i < j->log->n_timers; i++)
        n_got += j->log->timers[i].iteration == n;
    cr_expect_eq(n_got, n_want, "%s: timers at %lld", j->name, (long long)n);
}

static void judge_unattached(const struct judge *j)
{
    const cJSON *name;
    cJSON_ArrayForEach(name, json_get(j->must, "names"))
    {
        for (size_t i = 0; i < j->log->n_timers; i++)
            cr_expect(j->log->timers[i].iteration == 0 ||
                          strcmp(j->log->timers[i].name, name->valuestring),
                      "%s: %s is attached", j->name, name->valuestring);
    }
}

static void judge_memory(const struct judge *j)
{
    const cJSON *want = json_get(j->expect, "memory");
    cr_expect_eq((int)j->log->n_memory, cJSON_GetArraySize(want), "%s",
                 j->name);
    for (size_t i = 0; i < j->log->n_memory; i++) {
        const struct log_memory *m = &j->log->memory[i];
        const cJSON *w = cJSON_GetArrayItem(want, (int)i);
        cr_assert(w);
        bool ok = m->rank == (int)json_get(w, "rank")->valuedouble;
        double now = json_get(w, "allocated_bytes")->valuedouble;
        double max = json_get(w, "max_allocated_bytes")->valuedouble;
        ok = ok && fabs((double)m->allocated_bytes - now) <= tol_bytes &&
             fabs((double)m->max_allocated_bytes - max) <= tol_bytes;
        cr_expect(ok, "%s: memory of rank %d", j->name, m->rank);
    }
}

static void judge_failure(const struct judge *j)
{
    const cJSON *want = json_get(j->expect, "failure");
    const char *kind = log_failure_name(j->log->failure);
    if (!want) {
        cr_expect_null(kind, "%s: failure %s", j->name, kind);
        return;
    }
    cr_expect_str_eq(kind ? kind : "", json_get(want, "kind")->valuestring,
                     "%s", j->name);
    const cJSON *rank = json_get(want, "rank");
    if (rank)
        cr_expect_eq(j->log->failure_rank, (int)rank->valuedouble, "%s",
                     j->name);
}

static void judge_must(struct judge *j)
{
    j->check = json_get(j->must, "check")->valuestring;
    if (strcmp(j->check, "iteration_numbers") == 0)
        judge_numbers(j);
    else if (strcmp(j->check, "not_attached") == 0)
        judge_unattached(j);
    else if (strncmp(j->check, "memory", 6) == 0)
        judge_memory(j);
    else if (strncmp(j->check, "failure", 7) == 0)
        judge_failure(j);
    const cJSON *n;
    cJSON_ArrayForEach(n, json_get(j->must, "iterations"))
    {
        if (strncmp(j->check, "timer", 5) == 0)
            judge_timers(j, (int64_t)n->valuedouble);
        else
            judge_iteration(j, (int64_t)n->valuedouble);
    }
}

static void judge_vector(struct arena *a, const char *name)
{
    cJSON *tree = NULL;
    struct runlog log;
    struct err_msg msg = {""};
    const char *json = arena_printf(a, VECTORS "/%s.expect.json", name);
    enum err e = json_read_file(a, json, NULL, &tree, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    e = logparse_read(a, arena_printf(a, VECTORS "/%s.log", name), &log, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    struct judge j = {
        .name = name, .expect = json_get(tree, "expect"), .log = &log};
    cJSON_ArrayForEach(j.must, json_get(tree, "must"))
    {
        judge_must(&j);
    }
    cJSON_Delete(tree);
}

Test(log_vectors, agrees_with_the_shared_vectors)
{
    if (access(VECTORS, R_OK) != 0)
        cr_skip_test("shared vectors are not here: " VECTORS);
    struct arena a;
    struct names names;
    arena_init(&a);
    list_files(&a, VECTORS, ".log", &names);
    cr_assert_geq(names.n, 10);
    for (size_t i = 0; i < names.n; i++)
        judge_vector(&a, names.name[i]);
    arena_clear(&a);
}
