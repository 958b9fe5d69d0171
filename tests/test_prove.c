#include "prove/proof.h"
#include "prove_instance.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a plain enumeration, to compare with ---- */

enum { MAX_FOUND = 20000 };

static bool obeys_rules(const struct instance *in, const int *cuts)
{
    const struct prove_problem *p = &in->problem;
    int n = p->order.pp * p->order.vpp, first = p->n_units - 1 - p->n_mtp;
    if (cuts[1] < 1 || cuts[n - 1] > p->n_units - 1)
        return false;
    for (int s = 0; s < n; s++) {
        int here = 0;
        for (int u = cuts[s]; u < cuts[s + 1]; u++)
            here += u >= first && u < first + p->n_mtp;
        if (!p->empty_stages && cuts[s] == cuts[s + 1])
            return false;
        if (here && (here < p->n_mtp || s < n - p->order.pp ||
                     (!p->standalone_mtp && s < n - 1)))
            return false;
    }
    return true;
}

struct found {
    int64_t step[MAX_FOUND];
    int n, in_space;
};

static void enumerate(struct instance *in, int *cuts, int s, struct found *out)
{
    int n = in->problem.order.pp * in->problem.order.vpp;
    if (s == n) {
        if (cuts[n - 1] > in->problem.n_units || !obeys_rules(in, cuts))
            return;
        out->in_space++;
        if (in->problem.memory && !rank_fits(in, cuts))
            return;
        cr_assert_lt(out->n, MAX_FOUND);
        out->step[out->n++] = simulate(in, cuts);
        return;
    }
    int last = s == n - 1;
    int from = last ? in->problem.n_units : cuts[s];
    for (int to = from; to <= in->problem.n_units; to++) {
        cuts[s + 1] = to;
        enumerate(in, cuts, s + 1, out);
    }
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void check_layouts(struct instance *in, int number,
                          const struct prove_result *r, const struct found *all)
{
    int want = all->n < in->problem.top ? all->n : in->problem.top;
    char space[PROVE_DIGITS];
    snprintf(space, sizeof space, "%d", all->in_space);
    cr_assert_str_eq(r->space, space, "instance %d: %s layouts, want %s",
                     number, r->space, space);
    cr_assert_eq(r->n_layouts, want, "instance %d: %d layouts listed, want %d",
                 number, r->n_layouts, want);
    cr_assert_neq(r->state, PROVE_GAP, "instance %d: not settled", number);
    for (int i = 0; i < want; i++) {
        const struct prove_layout *l = &r->layouts[i];
        cr_assert_eq(l->step_ns, all->step[i],
                     "instance %d, place %d: %lld ns, want %lld", number, i,
                     (long long)l->step_ns, (long long)all->step[i]);
        cr_assert(obeys_rules(in, l->cuts));
        cr_assert_eq(simulate(in, l->cuts), l->step_ns);
        cr_assert_eq(sim_step(in, l->cuts), l->step_ns,
                     "instance %d: as plan predicts it", number);
        cr_assert(!in->problem.memory || rank_fits(in, l->cuts));
        for (int j = 0; j < i; j++)
            cr_assert(memcmp(l->cuts, r->layouts[j].cuts,
                             sizeof(int) * (size_t)(in->problem.order.pp *
                                                    in->problem.order.vpp)),
                      "instance %d: a layout twice", number);
    }
}

/* The proof alone, without layouts from local search to start from: it has to
 * come across the best ones itself. */
static void check_unaided(struct instance *in, int number,
                          const struct found *all)
{
    struct arena a;
    struct err_msg msg;
    struct space sp;
    struct lanes *lanes;
    struct proof p;
    struct live l;
    int stages = in->problem.order.pp * in->problem.order.vpp;
    arena_init(&a);
    cr_assert_eq(space_init(&a, &in->problem, &sp, &msg), ERR_OK);
    cr_assert_eq(lanes_new(&a, &sp, &lanes, &msg), ERR_OK);
    cr_assert_eq(proof_init(&a, &sp, lanes, &p, &msg), ERR_OK);
    cr_assert(live_new(&a, &sp, &l));
    if (stages > 1 && live_fill(&l, &sp) && proof_prune_memory(&p, &l)) {
        int want = all->n < in->problem.top ? all->n : in->problem.top;
        cr_assert(proof_settle(&p, &l));
        cr_assert_eq(p.best.n, want, "instance %d, unaided: %d listed, want %d",
                     number, p.best.n, want);
        for (int i = 0; i < want; i++)
            cr_assert_eq(p.best.step_ns[i], all->step[i],
                         "instance %d, unaided, place %d: %lld ns, want %lld",
                         number, i, (long long)p.best.step_ns[i],
                         (long long)all->step[i]);
    }
    arena_clear(&a);
}

Test(prove, equals_brute_force_on_random_instances)
{
    enum { N_INSTANCES = 300 };
    static struct found all;
    int infeasible = 0, searched = 0, overlapped = 0;
    for (int number = 0; number < N_INSTANCES; number++) {
        struct instance in;
        struct prove_result r;
        struct err_msg msg;
        struct arena a;
        int cuts[MAX_STAGES + 1] = {0};
        draw_instance(&in, number);
        all.n = all.in_space = 0;
        enumerate(&in, cuts, 0, &all);
        qsort(all.step, (size_t)all.n, sizeof *all.step, by_size);
        arena_init(&a);
        enum err e = prove_layouts(&a, &in.problem, &r, &msg);
        if (all.in_space == 0) {
            cr_assert_eq(e, ERR_RANGE);
        } else {
            cr_assert_eq(e, ERR_OK, "instance %d: %s", number, msg.text);
            check_layouts(&in, number, &r, &all);
            check_unaided(&in, number, &all);
            searched += r.state == PROVE_OPTIMAL;
        }
        infeasible += all.in_space > 0 && all.n == 0;
        overlapped += in.problem.saving != NULL;
        arena_clear(&a);
    }
    cr_assert_gt(searched, 150);
    cr_assert_gt(infeasible, 3);
    cr_assert_gt(overlapped, 40);
}
