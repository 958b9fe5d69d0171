#include "study/compare.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;
static char path[] = "/tmp/moe-compare-XXXXXX";

/* A head that weighs several layers by FLOPs, less by the roofline. */
#define MANIFEST                                                               \
    "{\"format\":\"moe-bench/experiment/1\",\"name\":\"x\","                   \
    "\"model\":{\"num_layers\":8,\"hidden_size\":1024,"                        \
    "\"num_attention_heads\":8,\"padded_vocab_size\":131072,"                  \
    "\"normalization\":\"RMSNorm\",\"swiglu\":true,"                           \
    "\"disable_bias_linear\":true,\"position_embedding_type\":\"rope\","       \
    "\"num_experts\":32,\"moe_router_topk\":4,"                                \
    "\"moe_ffn_hidden_size\":512,\"ffn_hidden_size\":512,"                     \
    "\"mtp_num_layers\":1},\"parallel\":{\"world\":4},"                        \
    "\"batch\":{\"micro_batch\":1,\"global_batch\":32,\"seq_tokens\":1024},"   \
    "\"hardware\":{\"gpu\":\"%s\"},\"trainer\":{\"kind\":\"megatron\"},"       \
    "\"plan\":{\"ways\":[{\"pp\":4},{\"pp\":2,\"vpp\":2}],\"save_share\":0.1," \
    "\"recipes\":[{\"pp\":4,"                                                  \
    "\"layout\":\"Et*2|t*2|t*2|t*2mL\",\"source\":\"a\"}]}}"

static void set_up(void)
{
    arena_init(&arena);
    cr_assert_geq(mkstemp(path), 0);
}

static void tear_down(void)
{
    unlink(path);
    arena_clear(&arena);
}

TestSuite(compare, .init = set_up, .fini = tear_down);

static struct manifest *manifest_of(const char *gpu)
{
    struct manifest *mf = arena_alloc(&arena, 1, sizeof *mf);
    struct err_msg msg = {""};
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fprintf(f, MANIFEST, gpu);
    fclose(f);
    cr_assert_eq(manifest_read(&arena, path, mf, &msg), ERR_OK, "%s", msg.text);
    return mf;
}

/* Spaces so small are searched to the end: nobody's layout is faster than a
 * pick by the costs that picked it. */
Test(compare, every_pick_is_the_best_by_its_own_costs)
{
    struct compare_rows rows = {NULL, 0};
    struct err_msg msg = {""};
    cr_assert_eq(compare_manifest(&arena, manifest_of("h200"), 60, &rows, &msg),
                 ERR_OK, "%s", msg.text);
    int n_picks = 0, n_recipes = 0;
    for (int i = 0; i < rows.n; i++) {
        const struct compare_row *r = &rows.row[i];
        cr_expect(!isfinite(r->slower_pct[COMPARE_MEASURED]),
                  "there are no measured costs");
        for (int by = 0; by < COMPARE_MEASURED; by++) {
            cr_expect_geq(r->slower_pct[by], 0);
            if (strcmp(r->who, compare_name((enum compare_by)by)) != 0)
                continue;
            n_picks++;
            // the planner's own tie
            cr_expect_leq(r->slower_pct[by], 0.5, "%s", r->layout);
        }
        n_recipes += strcmp(r->who, "recipe") == 0;
    }
    cr_assert_eq(n_picks, 4);
    cr_assert_eq(n_recipes, 1);
}

/* Costs differ, and so do what the head weighs by them and what is lost. */
Test(compare, costs_disagree_where_the_head_is_heavy)
{
    struct compare_rows rows = {NULL, 0};
    struct err_msg msg = {""};
    double flops = NAN, roofline = NAN;
    cr_assert_eq(compare_manifest(&arena, manifest_of("H200"), 60, &rows, &msg),
                 ERR_OK);
    for (int i = 0; i < rows.n; i++) {
        if (strcmp(rows.row[i].who, "flops") == 0)
            flops = rows.row[i].l_over_t;
        if (strcmp(rows.row[i].who, "roofline") == 0)
            roofline = rows.row[i].l_over_t;
    }
    cr_assert(flops > 1.3 * roofline, "%g %g", flops, roofline);
}

Test(compare, the_articles_study_has_measured_costs)
{
    struct manifest mf;
    struct compare_rows rows = {NULL, 0};
    struct err_msg msg = {""};
    cr_assert_eq(manifest_read(&arena, "experiments/stage-c.json", &mf, &msg),
                 ERR_OK, "%s", msg.text);
    cr_assert_eq(compare_manifest(&arena, &mf, 60, &rows, &msg), ERR_OK, "%s",
                 msg.text);
    cr_assert_eq(rows.n, 4);
    for (int i = 0; i < rows.n; i++)
        cr_expect(isfinite(rows.row[i].slower_pct[COMPARE_MEASURED]));
    cr_assert_str_eq(rows.row[3].who, "default");
    cr_assert_gt(rows.row[3].slower_pct[COMPARE_MEASURED], 30);
}

Test(compare, a_card_that_is_not_known_is_refused)
{
    struct compare_rows rows = {NULL, 0};
    struct err_msg msg = {""};
    cr_assert_eq(
        compare_manifest(&arena, manifest_of("abacus"), 60, &rows, &msg),
        ERR_PARSE);
    cr_assert(strstr(msg.text, "hardware.gpu") && strstr(msg.text, "abacus"),
              "%s", msg.text);
}
