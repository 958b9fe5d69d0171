#include "calibrate/roofline_fit.h"
#include "layout/default_split.h"
#include "small_model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 36 };

/* Constants that are not the fitted ones and not where the fit begins. */
static const struct roofline TRUTH = {{
    [ROOFLINE_PRODUCT] = 1.4,
    [ROOFLINE_FP8] = 1.9,
    [ROOFLINE_EXPERTS] = 2.3,
    [ROOFLINE_ODD] = 1.2,
    [ROOFLINE_BYTES] = 1.6,
    [ROOFLINE_KERNEL] = 9e-6,
    [ROOFLINE_NETWORK] = 0.7,
}};

static struct arena arena;
static struct roofline_row row[N];
static struct roofline_rows rows = {row, N};
static struct roofline_bench *bench;
static uint8_t moe[8] = {1, 1, 1, 1, 1, 1, 1, 1};

/* Sizes that make different classes of kernels count: wide and narrow, with
 * experts and without, odd widths, replicas on several nodes. */
static struct model model_of(int i)
{
    struct model m = small_model();
    m.layer_moe = moe;
    m.hidden = 1024 << (i % 3);
    m.n_heads = m.n_kv_heads = m.hidden / 128;
    m.head_dim = 128;
    m.ffn = 4 * m.hidden + (i % 5 == 0 ? 8 : 0);
    m.n_experts = i % 2 ? 8 : 0;
    m.moe_ffn = m.hidden;
    m.padded_vocab = m.vocab = i % 4 ? 32768 : 65536;
    m.batch.seq_tokens = i % 7 ? 2048 : 512;
    m.batch.micro_batch = 1 + i % 3;
    m.batch.n_microbatches = 4 + i % 9;
    m.memory.fp8 = i % 3 == 1;
    m.memory.grad_bytes = 4;
    m.par.dp = i % 4 == 3 ? 32 : 1;
    m.par.world = 4 * m.par.dp;
    return m;
}

static void set_up(void)
{
    struct err_msg msg = {""};
    arena_init(&arena);
    for (int i = 0; i < N; i++) {
        row[i] = (struct roofline_row){.id = "a row",
                                       .source = "test",
                                       .config = arena_printf(&arena, "c%d", i),
                                       .model = model_of(i),
                                       .card = &CARDS[i % 2],
                                       .meas_forward_s = NAN,
                                       .fit = i < N - 6};
        cr_assert_eq(default_split_layout(&arena, &row[i].model, 4,
                                          &row[i].layout, &msg),
                     ERR_OK, "%s", msg.text);
    }
    cr_assert_eq(roofline_bench_new(&arena, &rows, &bench, &msg), ERR_OK, "%s",
                 msg.text);
    for (int i = 0; i < N; i++)
        cr_assert_eq(roofline_step(bench, i, &TRUTH, &row[i].meas_step_s, &msg),
                     ERR_OK);
}

static void tear_down(void)
{
    arena_clear(&arena);
}

TestSuite(roofline_fit, .init = set_up, .fini = tear_down);

static struct roofline_fit fitted(void)
{
    struct roofline_fit f;
    struct err_msg msg = {""};
    cr_assert_eq(roofline_fit(&arena, bench, &f, &msg), ERR_OK, "%s", msg.text);
    return f;
}

/* Steps are exact, so what is left is where a product turns from FLOPs to
 * bytes between two rounds. */
Test(roofline_fit, gives_constants_back)
{
    const struct roofline_fit f = fitted();
    cr_assert_eq(f.n_rows, N - 6);
    for (int p = 0; p < N_ROOFLINE; p++) {
        cr_expect_float_eq(f.constants.price[p] / TRUTH.price[p], 1, 0.01, "%s",
                           roofline_name((enum roofline_price)p));
        cr_expect(f.told[p] && !f.at_least[p]);
    }
}

/* Rows that are to be predicted have no say: not one bit moves. */
Test(roofline_fit, other_rows_do_not_move_a_bit)
{
    const struct roofline_fit before = fitted();
    for (int i = N - 6; i < N; i++)
        row[i].meas_step_s *= 3 + i;
    const struct roofline_fit after = fitted();
    cr_assert_eq(
        memcmp(&before.constants, &after.constants, sizeof before.constants),
        0);
    row[0].meas_step_s *= 1.1; // and one that has a say does
    const struct roofline_fit moved = fitted();
    cr_assert_neq(
        memcmp(&before.constants, &moved.constants, sizeof before.constants),
        0);
}

/* Twenty runs of one configuration weigh as one: the fit stays. */
Test(roofline_fit, runs_of_one_configuration_weigh_as_one)
{
    row[0].meas_step_s *= 1.2;
    const struct roofline_fit before = fitted();
    for (int i = N - 6; i < N; i++) {
        row[i] = row[0];
        row[i].fit = true;
    }
    struct err_msg msg = {""};
    cr_assert_eq(roofline_bench_new(&arena, &rows, &bench, &msg), ERR_OK);
    const struct roofline_fit after = fitted();
    cr_assert_eq(after.n_rows, N);
    cr_assert_eq(after.n_configs, before.n_configs);
    for (int p = 0; p < N_ROOFLINE; p++)
        cr_expect_float_eq(after.constants.price[p] / before.constants.price[p],
                           1, 1e-6);
}

/* Without a model with experts nothing says what theirs cost. */
Test(roofline_fit, says_what_the_rows_do_not_tell_apart)
{
    for (int i = 0; i < N; i++)
        row[i].fit = row[i].model.n_experts == 0;
    const struct roofline_fit f = fitted();
    cr_assert_not(f.told[ROOFLINE_EXPERTS]);
    cr_assert(f.told[ROOFLINE_PRODUCT]);
}

Test(roofline_fit, fewer_configurations_than_constants_are_refused)
{
    struct roofline_fit f;
    struct err_msg msg = {""};
    for (int i = 0; i < N; i++)
        row[i].fit = i < N_ROOFLINE;
    cr_assert_eq(roofline_fit(&arena, bench, &f, &msg), ERR_MODEL);
    cr_assert(strstr(msg.text, "want more"), "%s", msg.text);
}

/* Replicas on one node send nothing out of it; a forward alone is shorter. */
Test(roofline_fit, gradients_that_leave_a_node_are_part_of_a_step)
{
    struct roofline free_net = TRUTH;
    struct err_msg msg = {""};
    free_net.price[ROOFLINE_NETWORK] = 0;
    for (int i = 0; i < N; i++) {
        double with, without, forward;
        roofline_step(bench, i, &TRUTH, &with, &msg);
        roofline_step(bench, i, &free_net, &without, &msg);
        roofline_forward(bench, i, &TRUTH, &forward, &msg);
        cr_expect_eq(with > without, row[i].model.par.dp > 8, "%d", i);
        cr_expect(forward > 0 && forward < without / 2, "%d", i);
    }
}
