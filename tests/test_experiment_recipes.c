/*
 * Recipes beside the planner's layouts, on a model so small that every layout
 * can be predicted here: six layers and one MTP layer whose head, with a large
 * vocabulary, weighs several layers. Equal halves are a bad recipe by design.
 */
#include "experiment/recipes.h"
#include "experiment/recipes_csv.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;
static struct manifest manifest;
static char dir[] = "/tmp/moe-recipes-XXXXXX";

#define RECIPE_BAD "Et*3|t*3mL"
#define MANIFEST                                                               \
    "{\"format\":\"moe-bench/experiment/1\",\"name\":\"x\","                   \
    "\"model\":{\"num_layers\":6,\"hidden_size\":64,"                          \
    "\"num_attention_heads\":4,\"padded_vocab_size\":2048,"                    \
    "\"normalization\":\"RMSNorm\",\"swiglu\":true,"                           \
    "\"disable_bias_linear\":true,\"position_embedding_type\":\"rope\","       \
    "\"untie_embeddings_and_output_weights\":true,\"num_experts\":4,"          \
    "\"moe_router_topk\":2,\"moe_ffn_hidden_size\":64,"                        \
    "\"ffn_hidden_size\":128,\"mtp_num_layers\":1},"                           \
    "\"parallel\":{\"world\":4},\"batch\":{\"micro_batch\":1,"                 \
    "\"global_batch\":16,\"seq_tokens\":32},"                                  \
    "\"trainer\":{\"kind\":\"megatron\"},"                                     \
    "\"plan\":{\"ways\":[{\"pp\":2},{\"pp\":2,\"vpp\":2}],"                    \
    "\"save_share\":0.1,\"ratios\":{\"m\":[1,2],\"L\":[1,2,3]},"               \
    "\"time_limit_s\":60,"                                                     \
    "\"recipes\":[{\"pp\":2,\"layout\":\"" RECIPE_BAD "\",\"source\":\"a\"},"  \
    "{\"pp\":2,\"layout\":\"%s\",\"source\":\"b\"}],"                          \
    "\"flags\":[\"--use-distributed-optimizer\"]}}"

static void read_with(const char *second)
{
    const char *path = arena_printf(&arena, "%s/m.json", dir);
    struct err_msg msg = {""};
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fprintf(f, MANIFEST, second);
    fclose(f);
    enum err e = manifest_read(&arena, path, &manifest, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
}

static void setup(void)
{
    arena_init(&arena);
    cr_assert_not_null(mkdtemp(dir));
    read_with("Et*4|t*2mL");
}

static void teardown(void)
{
    unlink(arena_printf(&arena, "%s/m.json", dir));
    unlink(arena_printf(&arena, "%s/" RECIPES_CSV, dir));
    rmdir(dir);
    arena_clear(&arena);
}

TestSuite(recipes, .init = setup, .fini = teardown);

static struct recipe_rows planned(struct recipe_case c)
{
    struct recipe_rows rows = {NULL, 0, 0};
    struct err_msg msg = {""};
    enum err e = recipes_plan(&arena, &manifest, &c, &rows, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_assert_gt(rows.n, 0);
    return rows;
}

static const struct recipe_case BY_FLOPS = {0, false, NAN, NAN};

/* Step of a layout of the first way, costs by FLOPs. */
static double step_ms(const char *layout)
{
    const struct recipe_row row = {
        .way = 1, .pp = 2, .vpp = 1, .layout = layout};
    struct recipe_prediction p;
    struct err_msg msg = {""};
    enum err e = recipes_predict(&arena, &manifest, &row, &p, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    return p.step_ms;
}

Test(recipes, the_planner_finds_the_fastest_of_all_layouts)
{
    const struct recipe_rows rows = planned(BY_FLOPS);
    double best = INFINITY;
    for (int k = 0; k <= 6; k++)
        best = fmin(best, step_ms(arena_printf(&arena, "E%.*s|%.*smL", k,
                                               "tttttt", 6 - k, "tttttt")));
    cr_expect_str_eq(rows.row[0].who, "planner");
    // within a tie the layout with fewer slow stages is taken
    cr_expect_leq(rows.row[0].pred_ms, 1.005 * best);
    cr_expect_float_eq(rows.row[0].bound_ms, best, 1e-9 * best);
    cr_expect_str_eq(rows.row[0].proof, "enumerated");
}

Test(recipes, a_bad_recipe_has_its_gap_and_the_first_is_compared)
{
    const struct recipe_rows rows = planned(BY_FLOPS);
    const struct recipe_row *r = &rows.row[1];
    double bad = step_ms(RECIPE_BAD);
    cr_assert_geq(rows.n, 4);
    cr_expect_str_eq(r->who, "recipe");
    cr_expect_str_eq(r->source, "a");
    cr_expect(r->compared);
    cr_expect_float_eq(r->pred_ms, bad, 1e-9 * bad);
    cr_expect_float_eq(r->gap_pct, 100 * (bad / r->bound_ms - 1), 1e-9);
    cr_expect_gt(r->gap_pct, 10);
    cr_expect_str_eq(rows.row[2].source, "b");
    cr_expect_not(rows.row[2].compared);
    cr_expect_lt(rows.row[2].gap_pct, r->gap_pct);
    for (int i = 0; i < rows.n; i++) {
        cr_expect_gt(rows.row[i].mem_bytes, 0);
        cr_expect_eq(rows.row[i].compared, i == 1, "row %d", i);
    }
}

Test(recipes, the_optimum_as_a_recipe_has_no_gap)
{
    const char *best = planned(BY_FLOPS).row[0].layout;
    read_with(best);
    const struct recipe_rows rows = planned(BY_FLOPS);
    cr_expect_str_eq(rows.row[2].layout, best);
    cr_expect_eq(rows.row[2].pred_ms, rows.row[0].pred_ms);
}

Test(recipes, ep_overlap_without_virtual_stages_is_refused)
{
    const struct recipe_rows rows =
        planned((struct recipe_case){0, true, NAN, NAN});
    cr_assert_eq(rows.n, 1);
    cr_expect_str_eq(rows.row[0].proof, "refused");
    cr_expect_not_null(strstr(rows.row[0].reason, "interleaving"), "%s",
                       rows.row[0].reason);
}

Test(recipes, ep_overlap_saves_and_another_way_has_no_recipe)
{
    const struct recipe_rows without =
        planned((struct recipe_case){1, false, NAN, NAN});
    const struct recipe_rows with =
        planned((struct recipe_case){1, true, NAN, NAN});
    cr_assert_str_eq(with.row[0].proof, "optimal");
    cr_expect_lt(with.row[0].pred_ms, without.row[0].pred_ms);
    cr_assert_geq(with.n, 2);
    // 6 layers do not divide over 4 stages: Megatron's default refuses
    cr_expect_str_eq(with.row[1].who, "count-based");
    cr_expect(with.row[1].compared);
    cr_expect_geq(with.row[1].gap_pct, 0);
}

Test(recipes, ratios_set_the_costs_of_m_and_l)
{
    const struct recipe_rows cheap =
        planned((struct recipe_case){0, false, 1, 1});
    const struct recipe_rows dear =
        planned((struct recipe_case){0, false, 2, 3});
    cr_expect(cheap.row[0].grid);
    cr_expect_eq(dear.row[0].m_over_t, 2, "to the last digit");
    cr_expect_eq(dear.row[0].l_over_t, 3);
    // more layers before the last stage where it is heavier
    cr_expect_str_eq(cheap.row[0].layout, "Et*4|t*2mL");
    cr_expect_gt(strchr(dear.row[0].layout, '*')[1], '4');
    cr_expect_eq(cheap.row[1].mem_bytes, dear.row[1].mem_bytes,
                 "a layout's memory does not depend on costs");
}

/* Step of the first recipe, whose last stage is the slowest. */
static double bad_ms(double m, double l)
{
    return planned((struct recipe_case){0, false, m, l}).row[1].pred_ms;
}

Test(recipes, a_layer_more_in_m_costs_what_it_costs_in_l)
{
    double base = bad_ms(1, 1);
    cr_expect_gt(bad_ms(2, 1), base);
    cr_expect_float_eq(bad_ms(2, 1), bad_ms(1, 2), 1e-9 * base);
}

Test(recipes, cases_are_all_ways_and_then_all_ratios)
{
    struct recipe_cases cases;
    struct err_msg msg;
    cr_assert_eq(recipes_cases(&arena, &manifest, &cases, &msg), ERR_OK);
    cr_assert_eq(cases.n, 4 + 4 * 6);
    for (int i = 0; i < 4; i++)
        cr_expect(isnan(cases.all[i].l_over_t));
    cr_expect_eq(cases.all[4].m_over_t, 1);
    cr_expect_eq(cases.all[9].m_over_t, 2);
    cr_expect_eq(cases.all[9].l_over_t, 3);
}

Test(recipes, a_way_that_does_not_fit_the_world_is_an_error)
{
    struct recipe_rows rows = {NULL, 0, 0};
    struct err_msg msg = {""};
    manifest.overrides.size[OVERRIDE_WORLD] = 3;
    enum err e = recipes_plan(&arena, &manifest, &BY_FLOPS, &rows, &msg);
    cr_expect_eq(e, ERR_RANGE);
    cr_expect_eq(rows.n, 0, "no row says that Megatron refuses the order");
}

Test(recipes, a_recipe_of_another_model_is_refused)
{
    struct recipe_rows rows = {NULL, 0, 0};
    struct err_msg msg = {""};
    read_with("Et*4|t*3mL");
    enum err e = recipes_plan(&arena, &manifest, &BY_FLOPS, &rows, &msg);
    cr_expect_eq(e, ERR_RANGE);
    cr_expect_not_null(strstr(msg.text, "plan: recipes[1]"), "%s", msg.text);
}

Test(recipes, the_file_keeps_every_digit)
{
    struct recipe_rows rows = planned(BY_FLOPS), back;
    struct err_msg msg = {""};
    cr_assert_eq(recipes_csv_write(&manifest, &rows, dir, &msg), ERR_OK, "%s",
                 msg.text);
    const char *path = arena_printf(&arena, "%s/" RECIPES_CSV, dir);
    cr_assert_eq(recipes_csv_read(&arena, path, &back, &msg), ERR_OK, "%s",
                 msg.text);
    cr_assert_eq(back.n, rows.n);
    for (int i = 0; i < rows.n; i++) {
        const struct recipe_row *x = &rows.row[i], *y = &back.row[i];
        cr_expect_str_eq(x->who, y->who);
        cr_expect_str_eq(x->layout, y->layout);
        cr_expect_str_eq(x->source, y->source);
        cr_expect_eq(x->pred_ms, y->pred_ms);
        cr_expect_eq(x->bound_ms, y->bound_ms);
        cr_expect_eq(x->planner_ms, y->planner_ms);
        cr_expect_eq(x->mem_bytes, y->mem_bytes);
        cr_expect_eq(x->compared, y->compared);
        cr_expect_eq(x->n_mb, y->n_mb);
    }
}
