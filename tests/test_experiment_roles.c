/*
 * Layouts of all roles for the article's ratios (decoder layer 1, MTP 1.4,
 * loss 3.8; backward twice the forward), 16 layers on 4 stages.
 */
#include "experiment/roles.h"
#include "model/as_hybrid.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { PP = 4, N_MB = 64, N_LAYERS = 16 };

static struct arena arena;
static struct model model;
static struct cost cost;
static struct schedule schedule;
static struct plan_context ctx;
static struct manifest manifest;
static int n_warnings;

static void count_warning(void *data, const char *line)
{
    (void)data;
    (void)line;
    n_warnings++;
}

static void setup(void)
{
    static const uint8_t moe[N_LAYERS] = {1, 1, 1, 1, 1, 1, 1, 1,
                                          1, 1, 1, 1, 1, 1, 1, 1};
    static const double units[N_KINDS] = {
        [KIND_E] = 0.05, [KIND_T] = 1, [KIND_M] = 1.4, [KIND_L] = 3.8};
    struct err_msg msg;
    arena_init(&arena);
    model = (struct model){.n_layers = N_LAYERS,
                           .n_mtp = 1,
                           .hidden = 64,
                           .ffn = 64,
                           .n_heads = 4,
                           .n_kv_heads = 4,
                           .head_dim = 16,
                           .vocab = 128,
                           .padded_vocab = 128,
                           .n_experts = 4,
                           .moe_ffn = 64,
                           .topk = 2,
                           .gated = true,
                           .layer_moe = moe,
                           .par = {1, PP, 1, 1, 1, 1, PP, 1},
                           .batch = {1, N_MB, N_MB, 32}};
    cost = (struct cost){.source = COST_MEASURED};
    for (int k = 0; k < N_KINDS; k++)
        cost.unit[k] = (struct unit_cost){units[k] > 0, units[k] * 1e-3, 0,
                                          units[k] * 2e-3, 0};
    cr_assert_eq(schedule_1f1b(&arena, PP, N_MB, &schedule, &msg), ERR_OK);
    ctx = (struct plan_context){.model = &model,
                                .cost = &cost,
                                .mode = P2P_BLOCKING,
                                .n_mb = N_MB,
                                .schedule = &schedule};
    manifest = (struct manifest){.path = "x.json"};
    n_warnings = 0;
}

static void teardown(void)
{
    arena_clear(&arena);
}

TestSuite(roles, .init = setup, .fini = teardown);

static struct targets resolve(const struct manifest_measure *m, int n,
                              bool keep_unknown)
{
    struct targets t;
    struct err_msg msg = {""};
    manifest.measure = m;
    manifest.n_measure = n;
    const struct roles_request req = {.manifest = &manifest,
                                      .ctx = &ctx,
                                      .only = N_ROLES,
                                      .keep_unknown = keep_unknown,
                                      .warn = count_warning};
    enum err e = roles_resolve(&arena, &req, &t, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    return t;
}

Test(roles, finds_the_articles_layouts)
{
    const struct manifest_measure m[] = {{ROLE_DEFAULT, NULL, false},
                                         {ROLE_COUNT_BASED, NULL, false},
                                         {ROLE_PICK, NULL, false}};
    struct targets t = resolve(m, 3, false);
    cr_assert_eq(t.n, 3);
    cr_expect_str_eq(t.target[0].layout, "Et*4|t*4|t*4|t*4mL");
    cr_expect_str_eq(t.target[1].layout, "Et*4|t*5|t*5|t*2mL");
    // the last stage holds m and L only; the rest is a near tie
    cr_expect(text_ends(t.target[2].layout, "|mL"), "%s", t.target[2].layout);
    double speedup =
        t.target[0].pred.pred_step_s / t.target[2].pred.pred_step_s;
    cr_expect_gt(speedup, 1.4);
    cr_expect_lt(speedup, 1.7);
}

/* Rules split over all stages; a layout must have as many chunks as said. */
Test(roles, layouts_of_two_chunks_a_rank)
{
    const struct manifest_measure good[] = {
        {ROLE_DEFAULT, NULL, false},
        {ROLE_COUNT_BASED, NULL, false},
        {ROLE_LAYOUT, "Et*3|t*3|(t*2|)*5mL", false}};
    const struct manifest_measure bad[] = {
        {ROLE_LAYOUT, "Et*4|t*4|t*4|t*4mL", false}};
    const struct order order = {PP, 2, N_MB, PP, false};
    struct err_msg msg = {""};
    struct targets t;
    model.par.vpp = 2;
    cr_assert_eq(schedule_outline(&order, P2P_OVERLAP, &schedule, &msg),
                 ERR_OK);
    ctx.mode = P2P_OVERLAP;
    t = resolve(good, 3, false);
    cr_assert_eq(t.n, 3);
    cr_expect_str_eq(t.target[0].layout, "Et*2|(t*2|)*6t*2mL");
    cr_expect_str_eq(t.target[1].layout, "Et*2|t*3|t*3|(t*2|)*4mL");
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(t.target[i].parsed.pp, PP);
        cr_expect_eq(t.target[i].parsed.vpp, 2);
        cr_expect_gt(t.target[i].pred.pred_step_s, 0);
    }
    manifest.measure = bad;
    manifest.n_measure = 1;
    const struct roles_request req = {
        .manifest = &manifest, .ctx = &ctx, .only = N_ROLES};
    cr_expect_eq(roles_resolve(&arena, &req, &t, &msg), ERR_RANGE);
    cr_expect_not_null(strstr(msg.text, "parallel.vpp says 2"), "%s", msg.text);
}

/* A unit that moves over one cut is missed on one side and found on the other.
 */
static void expect_one_move(const struct target *x, const struct target *y)
{
    int moved = 0;
    for (int s = 0; s < PP; s++)
        moved += abs((int)strlen(x->parsed.units[s]) -
                     (int)strlen(y->parsed.units[s]));
    cr_expect_eq(moved, 2, "%s and %s", x->layout, y->layout);
}

Test(roles, a_neighbour_is_one_move_away)
{
    const struct manifest_measure m[] = {{ROLE_PICK, NULL, false},
                                         {ROLE_NEIGHBOUR, NULL, false}};
    struct targets t = resolve(m, 2, false);
    cr_assert_eq(t.n, 2);
    expect_one_move(&t.target[0], &t.target[1]);
}

Test(roles, a_neighbour_is_of_the_pick_that_is_measured)
{
    // also where the neighbour's entry comes first
    const struct manifest_measure m[] = {{ROLE_NEIGHBOUR, NULL, false},
                                         {ROLE_PICK, NULL, true}};
    // m and L together take 8 of 24 layers' time: a stage has 6
    cost.unit[KIND_M] = (struct unit_cost){true, 3e-3, 0, 6e-3, 0};
    cost.unit[KIND_L] = (struct unit_cost){true, 5e-3, 0, 10e-3, 0};
    struct targets t = resolve(m, 2, false);
    cr_assert_eq(t.n, 2);
    cr_assert(layout_mtp_standalone(&t.target[1].parsed), "%s",
              t.target[1].layout);
    expect_one_move(&t.target[0], &t.target[1]);
}

Test(roles, a_second_neighbour_is_the_next_fastest)
{
    const struct manifest_measure m[] = {{ROLE_PICK, NULL, false},
                                         {ROLE_NEIGHBOUR, NULL, false},
                                         {ROLE_NEIGHBOUR, NULL, false}};
    struct targets t = resolve(m, 3, false);
    cr_assert_eq(t.n, 3);
    cr_expect_str_neq(t.target[1].layout, t.target[2].layout);
    cr_expect_leq(t.target[1].pred.pred_step_s, t.target[2].pred.pred_step_s);
}

Test(roles, standalone_mtp_is_not_on_the_last_rank)
{
    const struct manifest_measure m[] = {{ROLE_STANDALONE_MTP, NULL, false}};
    struct targets t = resolve(m, 1, false);
    cr_assert_eq(t.n, 1);
    cr_expect(layout_mtp_standalone(&t.target[0].parsed), "%s",
              t.target[0].layout);
}

Test(roles, two_bottlenecks_has_two_slow_stages)
{
    const struct manifest_measure m[] = {{ROLE_TWO_BOTTLENECKS, NULL, false}};
    struct targets t = resolve(m, 1, false);
    cr_assert_eq(t.n, 1);
    cr_expect_geq(t.target[0].pred.near_bottleneck, 2, "%s",
                  t.target[0].layout);
}

Test(roles, equal_layouts_share_runs_but_a_repeat_does_not)
{
    const struct manifest_measure m[] = {
        {ROLE_DEFAULT, NULL, false},
        {ROLE_LAYOUT, "Etttt|t*4|t*4|t*4mL", false},
        {ROLE_REPEAT, NULL, false}};
    struct targets t = resolve(m, 3, false);
    cr_assert_eq(t.n, 3);
    cr_expect_eq(t.target[1].runs_of, 0);
    cr_expect_eq(t.target[2].runs_of, 2);
    cr_expect_str_eq(t.target[2].layout, t.target[0].layout);
}

Test(roles, without_costs_some_roles_are_unknown)
{
    const struct manifest_measure m[] = {{ROLE_PICK, NULL, false},
                                         {ROLE_DEFAULT, NULL, false}};
    ctx.cost = NULL;
    struct targets t = resolve(m, 2, true);
    cr_assert_eq(t.n, 2);
    cr_expect_null(t.target[0].layout);
    cr_expect_not_null(t.target[1].layout);
    cr_expect(isnan(t.target[1].pred.pred_step_s));
    cr_expect_eq(n_warnings, 0);
    t = resolve(m, 2, false);
    cr_expect_eq(t.n, 1);
    cr_expect_eq(n_warnings, 1);
}

Test(roles, a_role_without_a_layout_is_left_out)
{
    const struct manifest_measure m[] = {{ROLE_DEFAULT, NULL, false},
                                         {ROLE_COUNT_BASED, NULL, false}};
    model.n_layers = 15; // Megatron wants layers that divide by PP
    struct targets t = resolve(m, 2, false);
    cr_assert_eq(t.n, 1);
    cr_expect_eq(t.target[0].role, ROLE_COUNT_BASED);
    cr_expect_eq(n_warnings, 1);
}

/* The article's layers as two symbols each, of which attention takes 0.3. */
static void as_hybrid(void)
{
    struct err_msg msg = {""};
    struct model gpt = model;
    cr_assert_eq(model_as_hybrid(&arena, &gpt, &model, &msg), ERR_OK);
    cost.unit[KIND_T].known = false;
    cost.unit[KIND_ATTENTION] = (struct unit_cost){true, 0.3e-3, 0, 0.6e-3, 0};
    cost.unit[KIND_EXPERTS] = (struct unit_cost){true, 0.7e-3, 0, 1.4e-3, 0};
}

/* Does each stage but the last begin with a layer's attention? */
static bool begins_with_attention(const char *pattern)
{
    for (const char *p = strchr(pattern, '|'); p; p = strchr(p + 1, '|'))
        if (p[1] == 'E' || p[1] == '-')
            return false;
    return true;
}

Test(roles, layouts_of_a_hybrid_model_are_patterns)
{
    const struct manifest_measure m[] = {{ROLE_DEFAULT, NULL, false},
                                         {ROLE_COUNT_BASED, NULL, false},
                                         {ROLE_PICK, NULL, false},
                                         {ROLE_NEIGHBOUR, NULL, false},
                                         {ROLE_LAYOUT,
                                          "*E*E*E*E*|E*E*E*E|*E*E*E*|"
                                          "E*E*E*E*E/*E",
                                          false}};
    as_hybrid();
    struct targets t = resolve(m, 5, false);
    cr_assert_eq(t.n, 5);
    cr_expect_str_eq(t.target[0].layout,
                     "*E*E*E*E|*E*E*E*E|*E*E*E*E|*E*E*E*E/*E");
    cr_expect_str_eq(t.target[4].layout, m[4].layout);
    for (int i = 0; i < t.n; i++)
        cr_expect_eq(strspn(t.target[i].layout, "*E|/"),
                     strlen(t.target[i].layout), "%s", t.target[i].layout);
    cr_expect_gt(t.target[3].pred.pred_step_s, t.target[2].pred.pred_step_s);
}

/* 16.25 + 5.2 units of time over four stages: whole layers cannot part them as
 * evenly as halves can. */
Test(roles, whole_layers_is_the_fastest_without_cuts_inside_layers)
{
    const struct manifest_measure m[] = {{ROLE_PICK, NULL, false},
                                         {ROLE_WHOLE_LAYERS, NULL, false}};
    struct model gpt = model;
    struct cost of_gpt = cost;
    struct targets whole = resolve(m, 1, false); // of the GPT model
    double gpt_step_s = whole.target[0].pred.pred_step_s;
    as_hybrid();
    struct targets t = resolve(m, 2, false);
    cr_expect_not(begins_with_attention(t.target[0].layout), "%s",
                  t.target[0].layout);
    cr_expect(begins_with_attention(t.target[1].layout), "%s",
              t.target[1].layout);
    cr_expect_lt(t.target[0].pred.pred_step_s, gpt_step_s);
    cr_expect_float_eq(t.target[1].pred.pred_step_s, gpt_step_s,
                       1e-9 * gpt_step_s, "as of the GPT model");
    model = gpt;
    cost = of_gpt;
    t = resolve(m, 2, false);
    cr_expect_eq(t.n, 1, "a GPT model has no such cuts");
    cr_expect_eq(n_warnings, 1);
}

Test(roles, a_wrong_layout_is_an_error_that_quotes_it)
{
    const struct manifest_measure m[] = {{ROLE_LAYOUT, "Et|t|t|mL", false}};
    struct targets t;
    struct err_msg msg = {""};
    manifest.measure = m;
    manifest.n_measure = 1;
    const struct roles_request req = {
        .manifest = &manifest, .ctx = &ctx, .only = N_ROLES};
    cr_assert_neq(roles_resolve(&arena, &req, &t, &msg), ERR_OK);
    cr_expect_not_null(strstr(msg.text, "Et|t|t|mL"), "%s", msg.text);
    cr_expect_not_null(strstr(msg.text, "x.json: measure[0]"), "%s", msg.text);
}
