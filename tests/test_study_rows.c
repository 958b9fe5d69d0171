#include "study/errors.h"
#include "study/rows.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;
static char path[] = "/tmp/moe-rows-XXXXXX";

#define HEADER                                                                 \
    "id,source,group,model,gpu,n_layers,hidden,heads,ffn,experts,seq,vocab,"   \
    "tp,cp,ep,dp,pp,vpp,layout,recompute,overlap_ep,schedule,mbs,"             \
    "microbatches,precision,step_s,forward_s,exclude,use\n"

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

TestSuite(rows, .init = set_up, .fini = tear_down);

static enum err read_text(const char *text, struct roofline_rows *rows,
                          struct rows_left *left, struct err_msg *msg)
{
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    *rows = (struct roofline_rows){NULL, 0};
    *left = (struct rows_left){0, NULL};
    const struct rows_file file = {path, "experiments/models"};
    return rows_read(&arena, &file, rows, left, msg);
}

Test(rows, a_row_becomes_model_layout_and_card)
{
    struct roofline_rows rows;
    struct rows_left left;
    struct err_msg msg = {""};
    cr_assert_eq(
        read_text(HEADER
                  "a,s,g,gpt,A100-80GB,24,2048,16,8192,,2048,50257,2,1,1,4,3,"
                  "2,,full,0,interleaved,2,7,fp16,1.5,,0,fit\n"
                  "b,s,g,deepseekv3-671b,GB300,61,7168,128,18432,256,4096,"
                  "129280,1,1,32,64,4,4,Et*4|(t*4|)*14tmL,none,1,interleaved,"
                  "1,240,mxfp8,38.9,,0,predict\n",
                  &rows, &left, &msg),
        ERR_OK, "%s", msg.text);
    cr_assert_eq(rows.n, 2);
    cr_assert_eq(left.n, 0, "%s", left.why ? left.why : "");
    const struct roofline_row *a = &rows.row[0], *b = &rows.row[1];
    cr_expect_str_eq(a->card->name, "A100");
    cr_expect(a->fit && !b->fit);
    cr_expect_eq(a->layout.n_stages, 6);
    cr_expect_eq(a->model.batch.n_microbatches, 7);
    cr_expect_eq(a->model.memory.full_recompute, RECOMPUTE_UNIFORM);
    cr_expect(a->model.memory.unfused_attention);
    cr_expect_not(a->model.memory.fp8);
    cr_expect_eq(b->model.n_mtp, 1);
    cr_expect_eq(model_unit_count(&b->model, KIND_T_DENSE), 3);
    cr_expect(b->model.memory.fp8 && b->model.overlap_moe_comm);
    cr_expect_eq(b->model.par.dp, 64);
    cr_expect_float_eq(b->meas_step_s, 38.9, 0);
    cr_expect_not(isfinite(b->meas_forward_s));
}

/* Left out with a reason, not guessed at; doubtful ones do not even count. */
Test(rows, what_cannot_be_priced_is_left_out_and_counted)
{
    struct roofline_rows rows;
    struct rows_left left;
    struct err_msg msg = {""};
    cr_assert_eq(
        read_text(HEADER
                  "a,s,g,gpt,MI300,24,2048,16,,,2048,50257,1,1,1,1,1,1,,,0,"
                  "1f1b,1,4,,1,,0,fit\n"
                  "b,s,g,gpt,H100,24,2048,16,,,2048,50257,1,1,1,1,2,1,,,0,"
                  "zb1p,1,4,,1,,0,fit\n"
                  "c,s,g,gpt,H100,24,2048,16,,,2048,50257,1,1,1,1,2,1,,,0,"
                  "1f1b,1,4,nvfp4,1,,0,fit\n"
                  "d,s,g,gpt,H100,24,,16,,,2048,50257,1,1,1,1,2,1,,,0,"
                  "1f1b,1,4,,1,,0,fit\n"
                  "e,s,g,gpt,H100,25,2048,16,,,2048,50257,1,1,1,1,2,1,,,0,"
                  "1f1b,1,4,,1,,0,fit\n"
                  "f,s,g,gpt,H100,24,2048,16,,,2048,50257,1,1,1,1,2,1,,,0,"
                  "1f1b,1,4,,1,,1,fit\n",
                  &rows, &left, &msg),
        ERR_OK, "%s", msg.text);
    cr_assert_eq(rows.n, 0);
    cr_assert_eq(left.n, 5);
    cr_assert(strstr(left.why, "MI300X"), "%s", left.why);
}

Test(rows, a_file_that_is_none_is_refused)
{
    struct roofline_rows rows;
    struct rows_left left;
    struct err_msg msg = {""};
    cr_assert_eq(read_text("id,source\na,b\n", &rows, &left, &msg), ERR_PARSE);
    cr_assert(strstr(msg.text, "no column"), "%s", msg.text);
    const struct rows_file none = {"/nowhere.csv", "experiments/models"};
    cr_assert_eq(rows_read(&arena, &none, &rows, &left, &msg), ERR_PARSE);
}

/* ---- the public rows themselves, where they are ---- */

static int find_rows(glob_t *found)
{
    static const char *const sources[] = {"vtrain_multi", "bigscience",
                                          "mlperf_gpt3",  "mlperf_405b",
                                          "mlperf_dsv3",  "sel_recompute"};
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        const int more = i > 0 ? GLOB_APPEND : 0;
        // results/published lacks those that may not be kept
        const char *shared = arena_printf(
            &arena, "../shared/corpora/step-times/%s.csv", sources[i]);
        if (glob(shared, more, NULL, found) != 0)
            return 0;
    }
    return 1;
}

/* The constants in use are those that the public rows give, to a percent; mean
 * errors of predicted rows are bounded by what was reached, rounded up. */
Test(rows, constants_in_use_are_those_of_the_public_rows)
{
    glob_t found;
    struct roofline_rows rows = {NULL, 0};
    struct rows_left left = {0, NULL};
    struct roofline_bench *bench;
    struct roofline_fit fit;
    struct errors errors;
    struct err_msg msg = {""};
    if (!find_rows(&found))
        cr_skip_test("no public step times: ../shared/corpora/step-times is "
                     "absent");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const struct rows_file file = {found.gl_pathv[i], "experiments/models"};
        cr_assert_eq(rows_read(&arena, &file, &rows, &left, &msg), ERR_OK, "%s",
                     msg.text);
    }
    globfree(&found);
    cr_assert_eq(roofline_bench_new(&arena, &rows, &bench, &msg), ERR_OK);
    cr_assert_eq(roofline_fit(&arena, bench, &fit, &msg), ERR_OK, "%s",
                 msg.text);
    for (int p = 0; p < N_ROOFLINE; p++)
        cr_expect_float_eq(fit.constants.price[p] / ROOFLINE_FITTED.price[p], 1,
                           0.01, "%s", roofline_name((enum roofline_price)p));
    cr_assert_eq(errors_of(&arena, bench, &ROOFLINE_FITTED, &errors, &msg),
                 ERR_OK);
    cr_assert_gt(errors.n, 10);
    for (int i = 0; i < errors.n; i++)
        cr_expect_lt(errors.row[i].mean_pct, 15, "%s %s: %g%%",
                     errors.row[i].source, errors_use_name(errors.row[i].use),
                     errors.row[i].mean_pct);
}
