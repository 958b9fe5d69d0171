#include "experiment/context.h"

#include <criterion/criterion.h>

static const uint8_t moe[] = {1, 1, 1, 1, 1, 1, 1, 1};

static struct workload work(int vpp)
{
    return (struct workload){
        .model = {.n_layers = 8,
                  .overlap_moe_comm = vpp > 1,
                  .memory = {.mb_group = vpp > 1 ? 6 : 0},
                  .layer_moe = moe,
                  .par = {.tp = 1, .pp = 4, .vpp = vpp, .world = 4, .dp = 1},
                  .batch = {.n_microbatches = 12}}};
}

static enum p2p_mode mode_with(const char *flag, int vpp)
{
    const char *words[] = {flag};
    struct manifest mf = {.path = "x.json"};
    struct workload w = work(vpp);
    struct schedule s;
    struct plan_context ctx = {0};
    struct err_msg msg = {""};
    mf.trainer.args = (struct words){words, flag ? 1 : 0};
    enum err e = context_make(&mf, &w, &s, &ctx, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    return ctx.mode;
}

Test(experiment_context, transfers_are_what_the_trainer_is_told)
{
    cr_expect_eq(mode_with(NULL, 1), P2P_BLOCKING);
    cr_expect_eq(mode_with(NULL, 2), P2P_OVERLAP);
    cr_expect_eq(mode_with("--no-overlap-p2p-communication", 2), P2P_BLOCKING);
    cr_expect_eq(mode_with("--overlap-p2p-communication-warmup-flush", 2),
                 P2P_OVERLAP_FLUSH);
    cr_expect_eq(mode_with("--overlap-p2p-communication-warmup-flush", 1),
                 P2P_BLOCKING);
}

Test(experiment_context, profile_runs_have_one_chunk_and_no_overlap)
{
    struct manifest mf = {.path = "x.json"};
    struct workload w = work(2);
    struct schedule s, of_profile;
    struct plan_context ctx = {0}, profile;
    struct model m;
    struct err_msg msg = {""};
    cr_assert_eq(context_make(&mf, &w, &s, &ctx, &msg), ERR_OK);
    cr_expect_eq(ctx.schedule->vpp, 2);
    cr_expect_eq(ctx.schedule->order.group, 6);
    cr_expect(ctx.schedule->order.ep_overlap);
    cr_assert_eq(context_of_profile(&ctx, &m, &of_profile, &profile, &msg),
                 ERR_OK);
    cr_expect_eq(profile.schedule->vpp, 1);
    cr_expect_eq(profile.model->par.vpp, 1);
    cr_expect_not(profile.model->overlap_moe_comm);
    cr_expect_eq(profile.mode, P2P_BLOCKING);
    cr_expect_eq(profile.n_mb, 12);
}

Test(experiment_context, what_megatron_refuses_is_refused)
{
    struct manifest mf = {.path = "x.json"};
    struct workload w = work(2);
    struct schedule s;
    struct plan_context ctx = {0};
    struct err_msg msg = {""};
    w.model.memory.mb_group = 11; // leaves one for four ranks
    cr_expect_eq(context_make(&mf, &w, &s, &ctx, &msg), ERR_RANGE);
    w.model = work(1).model;
    w.model.overlap_moe_comm = true;
    cr_expect_eq(context_make(&mf, &w, &s, &ctx, &msg), ERR_RANGE,
                 "EP overlap without virtual stages");
}
