#include "choose.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sum of two decimal numbers: `sum` is longer than both. */
static void choose_add(char sum[PROVE_DIGITS], const char *x)
{
    char out[PROVE_DIGITS] = "";
    int i = (int)strlen(sum), j = (int)strlen(x), carry = 0, n = 0;
    while ((i > 0 || j > 0 || carry) && n < PROVE_DIGITS - 1) {
        carry += i > 0 ? sum[--i] - '0' : 0;
        carry += j > 0 ? x[--j] - '0' : 0;
        out[n++] = (char)('0' + carry % 10);
        carry /= 10;
    }
    for (int k = 0; k < n; k++)
        sum[k] = out[n - 1 - k];
    sum[n] = '\0';
}

/* ---- searching ---- */

/* A way in which nothing fits, or that cannot be searched, is refused with the
 * search's reason; only want of memory ends all. */
static enum err choose_search(struct arena *a, struct choose_way *way,
                              const struct search_options *opt,
                              struct err_msg *msg)
{
    struct err_msg why = {""};
    enum err e = search_layouts(a, &way->ctx, opt, &way->result, &why);
    if (e == ERR_OK)
        return ERR_OK;
    *msg = why;
    if (e == ERR_NOMEM)
        return e;
    way->refusal = arena_strdup(a, why.text);
    return way->refusal ? ERR_OK : ERR_NOMEM;
}

/* What a way leaves of the time goes to those after it, in equal parts. */
static enum err choose_search_all(struct arena *a,
                                  const struct choose_from *from,
                                  const struct search_options *opt,
                                  struct err_msg *msg)
{
    struct choose_way *ways = from->ways;
    const int n = from->n;
    const double end_s = clock_now_s() + opt->time_limit_s;
    int left = 0;
    for (int i = 0; i < n; i++)
        left += !ways[i].refusal;
    for (int i = 0; i < n; i++) {
        if (ways[i].refusal)
            continue;
        struct search_options one = *opt;
        // a search may overrun a little: those after it still get a turn
        if (opt->time_limit_s > 0)
            one.time_limit_s =
                fmax(end_s - clock_now_s(), 0.01 * opt->time_limit_s) / left;
        left--;
        enum err e = choose_search(a, &ways[i], &one, msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* ---- ranking ---- */

/* The expected step, where jitter is known: it is what will be measured. */
static double choose_step(const struct choose_pick *p)
{
    return isfinite(p->plan->exp_step_s) ? p->plan->exp_step_s
                                         : p->plan->pred_step_s;
}

static int choose_by_step(const void *x, const void *y)
{
    double a = choose_step(x), b = choose_step(y);
    return (a > b) - (a < b);
}

static int choose_by_bottleneck(const void *x, const void *y)
{
    const struct choose_pick *a = x, *b = y;
    if (a->plan->near_bottleneck != b->plan->near_bottleneck)
        return a->plan->near_bottleneck - b->plan->near_bottleneck;
    return choose_by_step(x, y);
}

/* The same rule for ties as in candidates_sort(), across ways. */
static void choose_rank(struct choose_pick *all, int n)
{
    qsort(all, (size_t)n, sizeof *all, choose_by_step);
    for (int i = 0; i < n;) {
        int j = i;
        double most = choose_step(&all[i]) * PLAN_TIE;
        while (j < n && choose_step(&all[j]) <= most)
            j++;
        qsort(all + i, (size_t)(j - i), sizeof *all, choose_by_bottleneck);
        i = j;
    }
}

static enum err choose_picks(struct arena *a, const struct choose_way *ways,
                             int n, int top, struct choose_result *out)
{
    int all = 0, k = 0;
    for (int i = 0; i < n; i++)
        all += ways[i].refusal ? 0 : ways[i].result.n_plans;
    struct choose_pick *picks = arena_alloc(a, (size_t)all, sizeof *picks);
    if (!picks)
        return ERR_NOMEM;
    for (int i = 0; i < n; i++)
        for (int j = 0; !ways[i].refusal && j < ways[i].result.n_plans; j++)
            picks[k++] =
                (struct choose_pick){&ways[i], &ways[i].result.plans[j]};
    // one way is in its own order already, jitter and ties included
    if (n > 1)
        choose_rank(picks, k);
    out->picks = picks;
    out->n_picks = k < top ? k : top;
    return ERR_OK;
}

/* The weakest of the ways' proofs; the best step against the least bound. */
static void choose_proof(const struct choose_way *ways, int n,
                         struct choose_result *out)
{
    double best = INFINITY;
    out->bound_s = INFINITY;
    out->proof = SEARCH_ENUMERATED;
    for (int i = 0; i < n; i++) {
        const struct search_result *r = &ways[i].result;
        if (ways[i].refusal)
            continue;
        if (r->bound_s < out->bound_s)
            out->bound_s = r->bound_s;
        best = fmin(best, r->bound_s * (1 + r->gap));
        if (r->proof > out->proof)
            out->proof = r->proof;
        choose_add(out->searched, r->searched);
    }
    out->gap = out->proof == SEARCH_GAP ? fmax(0, best / out->bound_s - 1) : 0;
}

/* The ways' layouts are parts of one space: it is proved as far as the least
 * proved part, and holds as many layouts as all together. */
enum err choose(struct arena *a, const struct choose_from *from,
                const struct search_options *opt, struct choose_result *out,
                struct err_msg *msg)
{
    struct choose_way *ways = from->ways;
    const int n = from->n;
    struct choose_result r = {.searched = ""};
    int accepted = 0;
    enum err e = choose_search_all(a, from, opt, msg);
    if (e != ERR_OK)
        return e;
    for (int i = 0; i < n; i++)
        accepted += !ways[i].refusal;
    if (!accepted)
        return err_set(msg, ERR_MODEL, "%s", n ? ways[0].refusal : "no way");
    choose_proof(ways, n, &r);
    if (choose_picks(a, ways, n, opt->top, &r) != ERR_OK)
        return err_set(msg, ERR_NOMEM, "choose: out of memory");
    *out = r;
    return ERR_OK;
}
