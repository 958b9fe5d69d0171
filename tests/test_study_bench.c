/*
 * The article's studies, from the manifests of experiments/ and from copies of
 * one with other figures: what is computed must follow the figures.
 */
#include "base/csv.h"
#include "study/bench.h"
#include "study/study.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena arena;
static char dir[] = "/tmp/moe-study-XXXXXX";

/* Layouts of one study on four stages; FIGURES are its published ones. */
#define MANIFEST                                                               \
    "{\"format\":\"moe-bench/experiment/1\",\"name\":\"%s\","                  \
    "\"model\":{\"num_layers\":16,\"hidden_size\":2048,"                       \
    "\"num_attention_heads\":16,\"padded_vocab_size\":128256,"                 \
    "\"normalization\":\"RMSNorm\",\"swiglu\":true,"                           \
    "\"disable_bias_linear\":true,\"position_embedding_type\":\"rope\","       \
    "\"num_experts\":32,\"moe_router_topk\":8,"                                \
    "\"moe_ffn_hidden_size\":1024,\"ffn_hidden_size\":1024,"                   \
    "\"mtp_num_layers\":1},\"parallel\":{\"pp\":4},"                           \
    "\"batch\":{\"micro_batch\":1,\"global_batch\":64,\"seq_tokens\":4096},"   \
    "\"hardware\":{\"gpu\":\"%s\",\"count\":4},"                               \
    "\"launcher\":{\"kind\":\"torchrun\"},"                                    \
    "\"trainer\":{\"kind\":\"megatron\",\"core\":\"0.16\"},"                   \
    "\"iterations\":{\"warmup\":1,\"count\":2},"                               \
    "\"measure\":[{\"role\":\"pick\"}],\"published\":{%s}}"
#define FIGURES                                                                \
    "\"study\":\"X\",\"source\":\"a paper\",\"unit_cost_m\":1.4,"              \
    "\"unit_cost_L_min\":3,\"unit_cost_L_max\":4,"                             \
    "\"pick_layout\":\"Et*5|t*6|t*5|mL\","

static struct manifest manifest_of(const char *name, const char *gpu,
                                   const char *published)
{
    struct manifest mf;
    struct err_msg msg = {""};
    const char *path = arena_printf(&arena, "%s/%s.json", dir, name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fprintf(f, MANIFEST, name, gpu, published);
    fclose(f);
    cr_assert_eq(manifest_read(&arena, path, &mf, &msg), ERR_OK, "%s",
                 msg.text);
    return mf;
}

static void set_up(void)
{
    arena_init(&arena);
    cr_assert_not_null(mkdtemp(dir));
}

static void tear_down(void)
{
    const char *command = arena_printf(&arena, "%s/x.json", dir);
    unlink(command);
    unlink(arena_printf(&arena, "%s/y.json", dir));
    unlink(arena_printf(&arena, "%s/x/layouts.csv", dir));
    unlink(arena_printf(&arena, "%s/studies.csv", dir));
    rmdir(arena_printf(&arena, "%s/x", dir));
    rmdir(dir);
    arena_clear(&arena);
}

TestSuite(study, .init = set_up, .fini = tear_down);

static struct studies studies_of(const struct manifest *m, int n)
{
    struct studies s;
    struct err_msg msg = {""};
    const struct study_request r = {m, n, dir};
    cr_assert_eq(studies_make(&arena, &r, &s, &msg), ERR_OK, "%s", msg.text);
    return s;
}

static const struct study_row *row_of(const struct study *s, const char *id)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->row[i].id, id) == 0)
            return &s->row[i];
    return NULL;
}

static struct studies articles(void)
{
    static const char *const paths[] = {"experiments/stage-a.json",
                                        "experiments/stage-b.json",
                                        "experiments/stage-c.json"};
    struct manifest *m = arena_alloc(&arena, 3, sizeof *m);
    struct err_msg msg = {""};
    for (int i = 0; i < 3; i++)
        cr_assert_eq(manifest_read(&arena, paths[i], &m[i], &msg), ERR_OK, "%s",
                     msg.text);
    return studies_of(m, 3);
}

/* The bound is the issue's: 3%. */
Test(study, all_four_speedups_are_within_three_percent)
{
    static const char *const ids[] = {"speedup_vs_default",
                                      "speedup_vs_count_based"};
    const struct studies s = articles();
    cr_assert_eq(s.n, 2);
    cr_assert_eq(s.study[0].bench.n_manifests, 2);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            const struct study_row *r = row_of(&s.study[i], ids[k]);
            cr_expect_float_eq(r->computed.number / r->published.number, 1,
                               0.03, "%s %s: %g", s.study[i].name, ids[k],
                               r->computed.number);
        }
}

Test(study, layouts_and_their_numbers_are_the_articles)
{
    static const char *const texts[] = {"pick_layout", "default_layout",
                                        "count_based_layout"};
    static const char *const counts[] = {
        "layouts_searched", "layouts_mtp_with_loss", "layouts_loss_alone"};
    const struct studies s = articles();
    for (int i = 0; i < s.n; i++)
        for (int k = 0; k < 3; k++) {
            const struct study_row *t = row_of(&s.study[i], texts[k]);
            const struct study_row *n = row_of(&s.study[i], counts[k]);
            cr_expect_str_eq(t->computed.text, t->published.text);
            cr_expect_float_eq(n->computed.number, n->published.number, 0);
        }
}

/* What may be fitted: L in its range, one overhead, micro-batches. */
Test(study, no_more_is_fitted_than_said)
{
    const struct studies s = articles();
    for (int i = 0; i < s.n; i++) {
        int n = 0;
        for (int k = 0; k < s.study[i].n; k++)
            n += s.study[i].row[k].kind == STUDY_FITTED;
        cr_expect_eq(n, 3);
        const double l = row_of(&s.study[i], "unit_cost_L")->computed.number;
        cr_expect(l >= 3.6 && l <= 4.0, "%g", l);
        cr_expect_geq(row_of(&s.study[i], "overhead")->computed.number, 0);
        const double m = row_of(&s.study[i], "microbatches")->computed.number;
        cr_expect(m >= 4 && m <= 64 && fmod(64, m) == 0, "%g", m);
    }
}

/* (4 + 1.4 + L) over four layers, the first stage's with E. */
Test(study, the_last_stage_of_the_default_follows_from_the_costs)
{
    const struct studies s = articles();
    const struct study *a = &s.study[0];
    const double l = row_of(a, "unit_cost_L")->computed.number;
    const double e = row_of(a, "unit_cost_E")->computed.number;
    const struct study_row *r = row_of(a, "default_last_stage_work_ratio");
    cr_assert_float_eq(r->computed.number, (5.4 + l) / (4 + e / 3), 1e-9);
    cr_assert_float_eq(r->computed.number / r->published.number, 1, 0.05);
}

/* Losses by FLOPs span a range that holds the published 10%; misses that the
 * simulator lacks have the published sign and no more than their size. */
Test(study, what_the_article_missed_is_not_explained_away)
{
    const struct studies s = articles();
    const struct study *a = &s.study[0];
    const struct study_row *flops = row_of(a, "flops_pick_slower_pct");
    cr_expect(flops->computed.number > 5 && flops->computed.number < 17);
    static const char *const ids[] = {"standalone_mtp_error_pct",
                                      "two_bottlenecks_error_pct"};
    for (int k = 0; k < 2; k++) {
        const struct study_row *r = row_of(a, ids[k]);
        cr_expect(r->computed.number < 0 &&
                      r->computed.number > r->published.number,
                  "%s: %g", ids[k], r->computed.number);
        cr_expect_gt(strlen(r->note), 20);
    }
}

/* Nobody's runs are here: nothing stands in the column of measurements. */
Test(study, published_figures_are_not_measurements)
{
    const struct studies s = articles();
    for (int i = 0; i < s.n; i++)
        for (int k = 0; k < s.study[i].n; k++) {
            const struct study_row *r = &s.study[i].row[k];
            cr_expect(!isfinite(r->measured.number) && !r->measured.text);
        }
}

/* Figures made by the simulator from known numbers are met exactly. */
Test(study, other_figures_give_other_numbers)
{
    const struct manifest first = manifest_of(
        "x", "A100",
        FIGURES "\"speedup_vs_default\":1.54,\"speedup_vs_count_based\":1.26");
    struct study_bench b;
    struct plan_context ctx;
    struct err_msg msg = {""};
    double pick, base, count;
    cr_assert_eq(study_open(&arena, &first, 1, &b, &msg), ERR_OK, "%s",
                 msg.text);
    const struct study_costs truth = {b.costs.e, 1.4, 3.3, 20, 32};
    cr_assert_eq(study_context(&arena, &b, &truth, &ctx, &msg), ERR_OK);
    study_step(&arena, &ctx, &b.pick, &pick, &msg);
    study_step(&arena, &ctx, &b.base, &base, &msg);
    study_step(&arena, &ctx, &b.count_based, &count, &msg);
    const struct manifest second =
        manifest_of("y", "A100",
                    arena_printf(&arena,
                                 FIGURES "\"speedup_vs_default\":%.6f,"
                                         "\"speedup_vs_count_based\":%.6f",
                                 base / pick, count / pick));
    cr_assert_eq(study_open(&arena, &second, 1, &b, &msg), ERR_OK);
    cr_assert_eq(study_fit(&arena, &b, &msg), ERR_OK);
    double least = INFINITY;
    for (int i = 0; i < b.n_tries; i++) {
        least = fmin(least, b.tries[i].miss);
        if (b.tries[i].costs.n_mb == 32) {
            cr_expect_float_eq(b.tries[i].costs.l, 3.3, 0.03);
            cr_expect_float_eq(b.tries[i].costs.overhead, 20, 2);
        }
    }
    cr_assert_lt(least, 1e-3);
}

/* An earlier number of the same kind must not be typed in: costs of m change
 * all that follows. */
Test(study, the_pick_follows_the_costs)
{
    struct manifest m = manifest_of(
        "x", "H200",
        "\"study\":\"X\",\"unit_cost_m\":3,\"unit_cost_L_min\":9,"
        "\"unit_cost_L_max\":9,\"pick_layout\":\"Et*5|t*6|t*5|mL\","
        "\"speedup_vs_default\":1.3,\"speedup_vs_count_based\":1.1");
    const struct studies s = studies_of(&m, 1);
    const struct study_row *r = row_of(&s.study[0], "pick_layout");
    cr_assert_str_eq(r->published.text, "Et*5|t*6|t*5|mL");
    cr_assert(
        isfinite(row_of(&s.study[0], "speedup_vs_default")->computed.number));
    cr_assert_float_eq(row_of(&s.study[0], "unit_cost_L")->computed.number, 9,
                       1e-12);
}

Test(study, a_manifest_without_its_figures_is_refused)
{
    static const char *const bad[][2] = {
        {"\"speedup_vs_default\":1.5", "study"},
        {"\"study\":\"X\",\"speedup_vs_default\":1.5",
         "speedup_vs_count_based"},
        {"\"study\":\"X\",\"speedup_vs_default\":1.5,"
         "\"speedup_vs_count_based\":1.2,\"unit_cost_m\":1,"
         "\"unit_cost_L_min\":4,\"unit_cost_L_max\":3",
         "unit_cost_L_max"},
        {"\"study\":\"X\",\"speedup_vs_default\":1.5,"
         "\"speedup_vs_count_based\":1.2,\"unit_cost_m\":1,"
         "\"unit_cost_L_min\":3,\"unit_cost_L_max\":3",
         "pick_layout"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct manifest m = manifest_of("x", "A100", bad[i][0]);
        struct study_bench b;
        struct err_msg msg = {""};
        cr_expect_neq(study_open(&arena, &m, 1, &b, &msg), ERR_OK);
        cr_expect(strstr(msg.text, bad[i][1]), "%s", msg.text);
    }
    const struct manifest m = manifest_of(
        "x", "GTX 1080",
        FIGURES "\"speedup_vs_default\":1.5,\"speedup_vs_count_based\":1.2");
    struct study_bench b;
    struct err_msg msg = {""};
    cr_assert_eq(study_open(&arena, &m, 1, &b, &msg), ERR_PARSE);
    cr_assert(strstr(msg.text, "hardware.gpu"), "%s", msg.text);
}

static void write_layouts(const char *source)
{
    mkdir(arena_printf(&arena, "%s/x", dir), 0777);
    FILE *f = fopen(arena_printf(&arena, "%s/x/layouts.csv", dir), "w");
    cr_assert_not_null(f);
    fprintf(f,
            "format,experiment,role,layout,meas_step_ms,step_error_pct,source\n"
            "f,x,pick,Et*5|t*6|t*5|mL,100,-3,%s\n"
            "f,x,default,Et*4|t*4|t*4|t*4mL,150,1,%s\n"
            "f,x,count-based,Et*4|t*5|t*5|t*2mL,120,,%s\n",
            source, source, source);
    fclose(f);
}

/* Real runs fill the column; emulated ones are no measurement of a GPU. */
Test(study, runs_on_real_hardware_are_shown_and_no_others)
{
    const struct manifest m = manifest_of(
        "x", "A100",
        FIGURES "\"speedup_vs_default\":1.54,\"speedup_vs_count_based\":1.26,"
                "\"step_error_pct\":2.7");
    write_layouts("measured");
    struct studies s = studies_of(&m, 1);
    cr_expect_float_eq(
        row_of(&s.study[0], "speedup_vs_default")->measured.number, 1.5, 1e-9);
    cr_expect_float_eq(
        row_of(&s.study[0], "speedup_vs_count_based")->measured.number, 1.2,
        1e-9);
    cr_expect_float_eq(row_of(&s.study[0], "step_error_pct")->measured.number,
                       3, 1e-9);
    cr_expect_str_eq(row_of(&s.study[0], "pick_layout")->measured.text,
                     "Et*5|t*6|t*5|mL");
    write_layouts("emulated");
    s = studies_of(&m, 1);
    cr_expect_not(
        isfinite(row_of(&s.study[0], "speedup_vs_default")->measured.number));
    cr_expect_null(row_of(&s.study[0], "pick_layout")->measured.text);
}

Test(study, the_table_has_every_row)
{
    const struct studies s = articles();
    struct csv t;
    struct err_msg msg = {""};
    cr_assert_eq(studies_write(&s, dir, &msg), ERR_OK, "%s", msg.text);
    cr_assert_eq(csv_read_file(&arena,
                               arena_printf(&arena, "%s/studies.csv", dir), &t,
                               &msg),
                 ERR_OK);
    cr_assert_eq(t.n_rows, (size_t)(s.study[0].n + s.study[1].n));
    cr_assert_str_eq(csv_get(&t, 0, "study"), "A100");
    cr_assert_str_eq(csv_get(&t, 0, "measured"), "");
}
