#include "small_steps.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

enum { N_LAYERS = 8 };

static void set_up(struct steps *s, uint64_t seed)
{
    *s = (struct steps){.m = small_model(), .random = seed};
    arena_init(&s->arena);
    s->m.batch = (struct batch){1, 16, 16, 32};
    s->truth.fwd_s[KIND_T] = 1e-3 * (1 + 9 * uniform(s));
    s->truth.fwd_s[KIND_M] = s->truth.fwd_s[KIND_T] * (0.8 + 1.2 * uniform(s));
    s->truth.fwd_s[KIND_L] = s->truth.fwd_s[KIND_T] * (1 + 4 * uniform(s));
    s->truth.constant_s = s->truth.fwd_s[KIND_T] * 8 * uniform(s);
}

/* Adds the step that the truth gives to a layout, times 1 + error. */
static void add_step(struct steps *s, const char *text, int pp, double error)
{
    struct observed_case from = {
        .model = &s->m, .mode = P2P_BLOCKING, .gpus_per_node = 8};
    s->m.par.pp = pp;
    cr_assert_eq(layout_parse(&s->arena, text, pp, &from.layout, &s->msg),
                 LAYOUT_OK, "%s", s->msg.text);
    add_case(s, &from, error);
}

/* A random layout of the model's eight layers; m alone in a third of them. */
static void add_random(struct steps *s, double error)
{
    static const int sizes[] = {2, 4, 8};
    const int pp = sizes[(int)(uniform(s) * 2.999)];
    int n_t[8] = {0};
    char text[64];
    size_t len = 0;
    for (int i = 0; i < pp; i++)
        n_t[i] = 1;
    for (int left = N_LAYERS - pp; left > 0; left--)
        n_t[(int)(uniform(s) * (pp - 1e-9))]++;
    const bool alone = uniform(s) < 0.33;
    if (uniform(s) < 0.5) {
        n_t[0] += n_t[pp - 1];
        n_t[pp - 1] = 0;
    }
    for (int i = 0; i < pp; i++) {
        if (i == 0)
            text[len++] = 'E';
        for (int k = 0; k < n_t[i]; k++)
            text[len++] = 't';
        if (i == (alone ? pp - 2 : pp - 1))
            text[len++] = 'm';
        text[len++] = i == pp - 1 ? 'L' : '|';
    }
    text[len] = 0;
    add_step(s, text, pp, error);
}

static struct step_fit_options all_free(void)
{
    return (struct step_fit_options){
        .terms = (observed_default_terms() | 1U << OBSERVED_START) &
                 ~(1U << OBSERVED_FREE),
        .free = {[KIND_E] = true, [KIND_M] = true, [KIND_L] = true},
        .prior_rel = STEP_CHOOSE_PRIOR};
}

static enum err make(struct steps *s, const struct step_fit_options *o,
                     struct step_fit *f)
{
    const struct step_rows rows = {s->row, s->n, 1};
    return step_fit_make(&s->arena, &rows, o, f, &s->msg);
}

static const struct step_column *column(const struct step_fit *f,
                                        enum step_column_kind kind,
                                        enum unit_kind unit)
{
    for (int j = 0; j < f->n_columns; j++)
        if (f->column[j].kind == kind && f->column[j].unit == unit)
            return &f->column[j];
    return NULL;
}

Test(step_fit, gives_back_the_prices_of_exact_steps)
{
    static const char *const layouts[] = {"Et*2|t*2|t*2|t*2mL",
                                          "Et*3|t*3|t*2|mL", "Et*2|t*3|t*3m|L",
                                          "Et*5|t|t|tmL", "Et|t|t|t*5mL"};
    struct steps s;
    struct step_fit f;
    struct observed_prices p;
    const struct step_fit_options o = all_free();
    set_up(&s, 1);
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        add_step(&s, layouts[i], 4, 0);
    add_step(&s, "Et*4|t*4mL", 2, 0);
    add_step(&s, "Et*8||m|L", 4, 0); // where the head is no bottleneck
    cr_assert_eq(make(&s, &o, &f), ERR_OK, "%s", s.msg.text);
    step_fit_prices(&f, s.row[0].of, &p, NULL);
    for (int k = 0; k < N_KINDS; k++)
        cr_expect_float_eq(p.fwd_s[k], s.truth.fwd_s[k],
                           1e-6 * s.truth.fwd_s[KIND_T], "%s: %.9g of %.9g",
                           kind_name(k), p.fwd_s[k], s.truth.fwd_s[k]);
    cr_expect_float_eq(p.constant_s, s.truth.constant_s,
                       1e-4 * s.truth.constant_s);
    cr_expect_lt(f.worst_misfit, 1e-6);
    arena_clear(&s.arena);
}

/* Of twenty models as in the issue, and of more, so that chance plays no part:
 * at least 95% of the intervals of what is told hold the truth. */
Test(step_fit, intervals_hold_the_truth)
{
    enum { N_MODELS = 20, N_MORE = 100, N_STEPS = 12 };
    static const enum unit_kind kinds[] = {KIND_T, KIND_M, KIND_L};
    int inside[2] = {0}, told[2] = {0};
    for (int i = 0; i < N_MODELS + N_MORE; i++) {
        struct steps s;
        struct step_fit f;
        struct observed_prices p;
        double se[N_KINDS];
        const struct step_fit_options o = all_free();
        set_up(&s, (uint64_t)i * 1000003);
        while (s.n < N_STEPS)
            add_random(&s, 0.01 * normal(&s));
        cr_assert_eq(make(&s, &o, &f), ERR_OK, "%s", s.msg.text);
        step_fit_prices(&f, s.row[0].of, &p, se);
        for (int k = 0; k < 3; k++) {
            const struct step_column *c =
                column(&f, STEP_COLUMN_FREE, kinds[k]);
            if (c && c->tied)
                continue;
            told[i >= N_MODELS]++;
            inside[i >= N_MODELS] +=
                fabs(p.fwd_s[kinds[k]] - s.truth.fwd_s[kinds[k]]) <=
                1.96 * se[kinds[k]];
        }
        arena_clear(&s.arena);
    }
    cr_expect_geq(told[0], 3 * N_MODELS * 4 / 5, "%d told", told[0]);
    cr_expect_geq(inside[0], 0.95 * told[0], "%d of %d", inside[0], told[0]);
    // two standard deviations of a share of 95% below it
    cr_expect_geq(inside[1], 0.95 * told[1] - 2 * sqrt(0.0475 * told[1]),
                  "%d of %d", inside[1], told[1]);
}

/* m and L in one stage everywhere: only their sum is told, whatever the
 * number of layouts. */
Test(step_fit, ties_what_no_layout_parts)
{
    struct steps s;
    struct step_fit f;
    const struct step_fit_options o = all_free();
    set_up(&s, 2);
    add_step(&s, "Et*2|t*2|t*2|t*2mL", 4, 0);
    add_step(&s, "Et|t|t|t*5mL", 4, 0);
    add_step(&s, "Et|t|t*2|t*4mL", 4, 0);
    cr_assert_eq(make(&s, &o, &f), ERR_OK, "%s", s.msg.text);
    const struct step_column *m = column(&f, STEP_COLUMN_FREE, KIND_M);
    const struct step_column *l = column(&f, STEP_COLUMN_FREE, KIND_L);
    cr_assert(m && l);
    cr_expect(m->tied || l->tied);
    cr_assert_not_null(f.note);
    cr_expect_not_null(strstr(f.note, "tied"), "%s", f.note);
    arena_clear(&s.arena);
}

Test(step_fit, one_layout_tells_one_price)
{
    struct steps s;
    struct step_fit f;
    const struct step_fit_options o = all_free();
    set_up(&s, 3);
    add_step(&s, "Et*2|t*2|t*2|t*2mL", 4, 0.01);
    add_step(&s, "Et*2|t*2|t*2|t*2mL", 4, -0.01);
    cr_assert_eq(make(&s, &o, &f), ERR_OK, "%s", s.msg.text);
    cr_expect_eq(f.rank, 1);
    arena_clear(&s.arena);
}

Test(step_fit, no_row_is_refused)
{
    struct steps s;
    struct step_fit f;
    const struct step_fit_options o = all_free();
    set_up(&s, 4);
    cr_expect_eq(make(&s, &o, &f), ERR_MODEL);
    arena_clear(&s.arena);
}

/* Pipelines of one depth on more and more nodes: what grows is the reduction.
 */
Test(step_fit, tells_the_bandwidth_between_nodes)
{
    struct steps s;
    struct step_fit f;
    const struct step_fit_options o = all_free();
    set_up(&s, 5);
    s.m.par.tp = 8;
    s.truth.dp_s_per_byte = 3e-8;
    s.truth.constant_s = 0;
    static const int dp[] = {1, 2, 4};
    for (int i = 0; i < 3; i++) {
        s.m.par.dp = dp[i];
        add_step(&s, "Et*2|t*2|t*2|t*2mL", 4, 0);
        add_step(&s, "Et*3|t*3|t*2|mL", 4, 0);
        add_step(&s, "Et*2|t*3|t*3m|L", 4, 0);
        add_step(&s, "Et|t|t|t*5mL", 4, 0);
    }
    cr_assert_eq(make(&s, &o, &f), ERR_OK, "%s", s.msg.text);
    const struct step_column *c = column(&f, STEP_COLUMN_DP, KIND_T);
    cr_assert(c && c->used);
    cr_expect_float_eq(c->x, 3e-8, 1e-4 * 3e-8, "%g", c->x);
    arena_clear(&s.arena);
}

/* Timers that say t, m and L leave the steps the constant. */
Test(step_fit, takes_what_timers_say)
{
    struct steps s;
    struct step_fit f;
    struct observed_prices p;
    struct cost timers = {.source = COST_MEASURED};
    struct step_fit_options o = all_free();
    set_up(&s, 6);
    for (int k = 0; k < N_KINDS; k++) {
        const double fwd = s.truth.fwd_s[k];
        timers.unit[k] =
            (struct unit_cost){fwd > 0, fwd, 1e-3 * fwd, 2 * fwd, 0};
    }
    o.timers = &timers;
    add_step(&s, "Et*2|t*2|t*2|t*2mL", 4, 0);
    cr_assert_eq(make(&s, &o, &f), ERR_OK, "%s", s.msg.text);
    step_fit_prices(&f, s.row[0].of, &p, NULL);
    cr_expect_float_eq(p.fwd_s[KIND_L], s.truth.fwd_s[KIND_L],
                       0.02 * s.truth.fwd_s[KIND_L]);
    cr_expect_float_eq(p.constant_s, s.truth.constant_s,
                       0.3 * s.truth.constant_s, "%g of %g", p.constant_s,
                       s.truth.constant_s);
    arena_clear(&s.arena);
}

/* A configuration that the others tell is predicted when it is left out. */
Test(step_leave_out, exact_rows_predict_each_other)
{
    struct steps s;
    struct step_choice c;
    set_up(&s, 7);
    for (int k = 0; k < N_KINDS; k++) // all by FLOPs, and nothing outside
        s.truth.fwd_s[k] = k == KIND_E ? 0 : 1e-12;
    s.truth.constant_s = 0;
    for (int k = 0; k < N_KINDS; k++)
        s.truth.fwd_s[k] *= model_unit_fwd_flops(&s.m, (enum unit_kind)k);
    add_step(&s, "Et*2|t*2|t*2|t*2mL", 4, 0);
    add_step(&s, "Et*3|t*3|t*2|mL", 4, 0);
    add_step(&s, "Et*4|t*4mL", 2, 0);
    const struct step_rows rows = {s.row, s.n, 1};
    cr_assert_eq(
        step_choose(&s.arena, &rows, observed_default_terms(), &c, &s.msg),
        ERR_OK, "%s", s.msg.text);
    cr_expect_eq(c.left_out.n, 3);
    cr_expect_lt(c.left_out.mean, 1e-6);
    cr_expect_not(c.fit.options.free[KIND_L]);
    arena_clear(&s.arena);
}

/* Heads that cost half of their FLOPs: leaving rows out speaks for a rate. */
Test(step_choose, frees_the_output_layer_where_it_pays)
{
    static const char *const layouts[] = {"Et*2|t*2|t*2|t*2L", "Et*3|t*3|t*2|L",
                                          "Et|t|t*2|t*4L", "Et*5|t|t|tL"};
    struct steps s;
    struct step_choice c;
    set_up(&s, 8);
    s.m.n_mtp = 0;
    s.m.vocab = s.m.padded_vocab = 2048; // a head of several layers
    const double rate = 1e-12;
    s.truth = (struct observed_prices){
        .fwd_s = {[KIND_T] = rate * model_unit_fwd_flops(&s.m, KIND_T),
                  [KIND_L] = rate / 2 * model_unit_fwd_flops(&s.m, KIND_L)}};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        add_step(&s, layouts[i], 4, 0);
    const struct step_rows rows = {s.row, s.n, 1};
    cr_assert_eq(
        step_choose(&s.arena, &rows, observed_default_terms(), &c, &s.msg),
        ERR_OK, "%s", s.msg.text);
    cr_expect(c.fit.options.free[KIND_L]);
    cr_expect_lt(c.fit.worst_misfit, 0.01);
    arena_clear(&s.arena);
}
