/* Costs of a hybrid model's symbols from step times alone: rows with known
 * prices, and steps that the fit has not seen. */
#include "model/as_hybrid.h"
#include "pattern/depth.h"
#include "small_steps.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Mamba, attention and experts, with MTP in every third model; each costs half
 * to twice what its FLOPs say. */
static void set_up(struct steps *s, uint64_t seed)
{
    *s = (struct steps){.m = small_model(), .random = seed};
    arena_init(&s->arena);
    s->m.batch = (struct batch){1, 16, 16, 32};
    s->m.symbols = "MEM*EMEM*EMEM*EMEM*EME";
    s->m.n_layers = (int)strlen(s->m.symbols);
    s->m.layer_moe = NULL;
    s->m.mamba = (struct mamba){16, 16, 2, 8};
    s->m.n_mtp = seed % 3 == 0;
    s->m.mtp_symbols = s->m.n_mtp ? "*E" : NULL;
    const double rate = 1e-9 * (1 + uniform(s));
    for (int k = 0; k < N_KINDS; k++)
        if (k != KIND_E && model_unit_count(&s->m, (enum unit_kind)k))
            s->truth.fwd_s[k] = rate * pow(2, 2 * uniform(s) - 1) *
                                model_unit_fwd_flops(&s->m, (enum unit_kind)k);
    if (s->m.n_mtp) // one unit to the steps of a hybrid model
        s->truth.fwd_s[KIND_L] += s->truth.fwd_s[KIND_M];
    s->truth.fwd_s[KIND_M] = 0;
    s->truth.constant_s = s->truth.fwd_s[KIND_EXPERTS] * 8 * uniform(s);
}

/* Adds the step that the truth gives to a layout, times 1 + error. */
static void add_step(struct steps *s, const char *text, int pp, double error)
{
    struct model m = s->m;
    struct observed_case from = {
        .model = &m, .mode = P2P_BLOCKING, .gpus_per_node = 8};
    m.par.pp = pp;
    cr_assert_eq(depth_read(&s->arena, text, &m, &from.layout, &s->msg), ERR_OK,
                 "%s", s->msg.text);
    add_case(s, &from, error);
}

/* The model's symbols cut at random, no stage empty. */
static void add_random(struct steps *s, double error)
{
    static const int sizes[] = {2, 4, 8};
    const int pp = sizes[(int)(uniform(s) * 2.999)], n = s->m.n_layers;
    bool cut[64] = {false};
    char text[128], *to = text;
    for (int left = pp - 1; left > 0;) {
        const int at = 1 + (int)(uniform(s) * (n - 1 - 1e-9));
        left -= !cut[at];
        cut[at] = true;
    }
    for (int i = 0; i < n; i++) {
        if (cut[i])
            *to++ = '|';
        *to++ = s->m.symbols[i];
    }
    snprintf(to, 8, "%s", s->m.n_mtp ? "/*E" : "");
    add_step(s, text, pp, error);
}

static struct step_fit_options all_free(const struct steps *s)
{
    struct step_fit_options o = {
        .terms = (observed_default_terms() | 1U << OBSERVED_START) &
                 ~(1U << OBSERVED_FREE),
        .prior_rel = STEP_CHOOSE_PRIOR};
    for (int k = 0; k < N_KINDS; k++)
        o.free[k] = model_unit_count(&s->m, (enum unit_kind)k) &&
                    (enum unit_kind)k != model_base_kind(&s->m) && k != KIND_M;
    return o;
}

static enum err make(struct steps *s, int n, struct step_fit *f)
{
    const struct step_rows rows = {s->row, n, 1};
    const struct step_fit_options o = all_free(s);
    return step_fit_make(&s->arena, &rows, &o, f, &s->msg);
}

static const enum unit_kind kinds[] = {KIND_MAMBA, KIND_ATTENTION, KIND_EXPERTS,
                                       KIND_L};
enum { N_TOLD = sizeof kinds / sizeof kinds[0] };

Test(step_hybrid, exact_steps_give_back_the_symbols)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct steps s;
        struct step_fit f;
        struct observed_prices p;
        set_up(&s, seed);
        while (s.n < MAX_ROWS)
            add_random(&s, 0);
        cr_assert_eq(make(&s, s.n, &f), ERR_OK, "%s", s.msg.text);
        step_fit_prices(&f, s.row[0].of, &p, NULL);
        for (int k = 0; k < N_TOLD; k++)
            cr_expect_float_eq(p.fwd_s[kinds[k]], s.truth.fwd_s[kinds[k]],
                               1e-3 * s.truth.fwd_s[kinds[k]],
                               "%s: %.9g of %.9g", kind_name(kinds[k]),
                               p.fwd_s[kinds[k]], s.truth.fwd_s[kinds[k]]);
        arena_clear(&s.arena);
    }
}

static bool is_tied(const struct step_fit *f, enum unit_kind k)
{
    for (int j = 0; j < f->n_columns; j++)
        if (f->column[j].kind == STEP_COLUMN_FREE && f->column[j].unit == k)
            return f->column[j].tied;
    return false;
}

/* Steps that scatter by 1%: intervals hold the truth, and layouts that were
 * left out are predicted. */
Test(step_hybrid, intervals_hold_and_unseen_layouts_are_predicted)
{
    enum { N_MODELS = 30, N_FIT = 14, N_OUT = 6 };
    int inside = 0, told = 0, far = 0;
    double off = 0;
    for (int i = 0; i < N_MODELS; i++) {
        struct steps s;
        struct step_fit f;
        struct observed_prices p;
        double se[N_KINDS], step = 0;
        set_up(&s, (uint64_t)i * 1000003);
        while (s.n < N_FIT)
            add_random(&s, 0.01 * normal(&s));
        while (s.n < N_FIT + N_OUT)
            add_random(&s, 0);
        cr_assert_eq(make(&s, N_FIT, &f), ERR_OK, "%s", s.msg.text);
        step_fit_prices(&f, s.row[0].of, &p, se);
        for (int k = 0; k < N_TOLD; k++) {
            const double miss = p.fwd_s[kinds[k]] - s.truth.fwd_s[kinds[k]];
            told += !is_tied(&f, kinds[k]);
            inside +=
                !is_tied(&f, kinds[k]) && fabs(miss) <= 1.96 * se[kinds[k]];
        }
        for (int j = N_FIT; j < s.n; j++) {
            step_fit_step(&f, s.row[j].of, &step, &s.msg);
            off += fabs(step / s.row[j].meas_s - 1) / (N_MODELS * N_OUT);
            far += fabs(step / s.row[j].meas_s - 1) > 0.05;
        }
        arena_clear(&s.arena);
    }
    cr_expect_geq(told, N_TOLD * N_MODELS * 4 / 5, "%d told", told);
    // two standard deviations of a share of 95% below it
    cr_expect_geq(inside, 0.95 * told - 2 * sqrt(0.0475 * told), "%d of %d",
                  inside, told);
    cr_expect_lt(off, 0.01, "%g off", off);
    cr_expect_leq(far, N_MODELS * N_OUT / 50, "%d far off", far);
}

/* Whole layers in every stage: attention and experts are never apart, and
 * whoever asks is told so, with an interval as wide as the supposition. */
Test(step_hybrid, ties_halves_that_no_cut_parts)
{
    static const struct {
        const char *layout;
        int pp;
    } rows[] = {{"Et*2|t*2|t*2|t*2mL", 4}, {"Et*3|t*3|t|tmL", 4},
                {"Et*2|t*4|t|tmL", 4},     {"Et*4|t*4mL", 2},
                {"Et*7|tmL", 2},           {"Et*8|mL", 2}};
    struct steps s;
    struct step_fit f;
    struct observed_prices p;
    double se[N_KINDS];
    set_up(&s, 1);
    s.m = small_model();
    s.m.batch = (struct batch){1, 16, 16, 32};
    cr_assert_eq(model_as_hybrid(&s.arena, &s.m, &s.m, &s.msg), ERR_OK);
    s.truth.fwd_s[KIND_MAMBA] = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        add_step(&s, rows[i].layout, rows[i].pp, 0);
    cr_assert_eq(make(&s, s.n, &f), ERR_OK, "%s", s.msg.text);
    const enum unit_kind base = model_base_kind(&s.m);
    const enum unit_kind other =
        base == KIND_EXPERTS ? KIND_ATTENTION : KIND_EXPERTS;
    cr_expect(is_tied(&f, other));
    cr_expect_not_null(f.note);
    cr_expect_not_null(strstr(f.note, kind_name(other)), "%s", f.note);
    // of an embedding no FLOPs are known
    cr_expect_null(strstr(f.note, "E is tied"), "%s", f.note);
    step_fit_prices(&f, s.row[0].of, &p, se);
    for (int k = 0; k < 2; k++) {
        const enum unit_kind unit = k ? base : other;
        cr_expect_leq(fabs(p.fwd_s[unit] - s.truth.fwd_s[unit]),
                      1.96 * se[unit], "%s: %g of %g, +- %g", kind_name(unit),
                      p.fwd_s[unit], s.truth.fwd_s[unit], 1.96 * se[unit]);
    }
    const double pair = p.fwd_s[base] + p.fwd_s[other];
    const double truth = s.truth.fwd_s[base] + s.truth.fwd_s[other];
    cr_expect_float_eq(pair, truth, 0.02 * truth, "%g of %g", pair, truth);
    arena_clear(&s.arena);
}
