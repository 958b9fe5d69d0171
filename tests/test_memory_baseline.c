#include "layout/baseline.h"
#include "memory/memory.h"

#include <criterion/criterion.h>
#include <string.h>

static uint8_t all_moe[64];

static struct model model_of(int n_layers, int n_mtp)
{
    memset(all_moe, 1, sizeof all_moe);
    return (struct model){.n_layers = n_layers,
                          .n_mtp = n_mtp,
                          .hidden = 8,
                          .n_heads = 1,
                          .n_kv_heads = 1,
                          .head_dim = 8,
                          .padded_vocab = 128,
                          .n_experts = 2,
                          .moe_ffn = 16,
                          .topk = 1,
                          .tied = true,
                          .layer_moe = all_moe,
                          .par = {1, 1, 1, 1, 1, 1, 1, 1},
                          .batch = {1, 1, 1, 8}};
}

static const struct {
    int n_layers, n_mtp, pp;
    const char *count_based;
} known[] = {
    {16, 1, 4, "Et*4|t*5|t*5|t*2mL"},
    {61, 1, 8, "Et*7|(t*8|)*6t*6mL"},
    {61, 1, 16, "Et*3|(t*4|)*14t*2mL"},
    {8, 0, 1, "Et*8L"},
    {3, 2, 3, "Et*2|tm|mL"},
};

Test(baseline, rules_give_the_known_layouts)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct arena a;
        struct layout l;
        struct err_msg msg = {""};
        struct model m = model_of(known[i].n_layers, known[i].n_mtp);
        arena_init(&a);
        enum err e = baseline_count_based(&a, &m, known[i].pp, &l, &msg);
        if (e == ERR_OK)
            cr_assert_str_eq(layout_string(&a, &l), known[i].count_based);
        else // two m on two stages: Megatron refuses what the rule gives
            cr_assert(strstr(msg.text, "all m must be in one stage"), "%s",
                      msg.text);
        arena_clear(&a);
    }
}

/* The largest stage of the balanced layout against all others of the model. */
static int64_t heaviest(const struct model *m, const struct layout *l)
{
    int64_t most = 0;
    for (int s = 0; s < l->n_stages; s++) {
        int64_t n = memory_stage_params(m, l, s);
        most = n > most ? n : most;
    }
    return most;
}

Test(baseline, parameter_balanced_has_the_lightest_heaviest_stage)
{
    struct arena a;
    struct layout l, other;
    struct err_msg msg;
    struct model m = model_of(9, 1);
    arena_init(&a);
    cr_assert_eq(baseline_parameter_balanced(&a, &m, 3, &l, &msg), ERR_OK);
    int64_t best = heaviest(&m, &l);
    for (int x = 0; x <= 8; x++)
        for (int y = 1; x + y <= 9; y++) {
            const char *text =
                arena_printf(&a, "Et*%d|t*%d|t*%dmL", x, y, 9 - x - y);
            cr_assert_eq(
                layout_read_question(
                    &a, &(struct layout_question){text, 3, m.n_layers, m.n_mtp},
                    &other, &msg),
                ERR_OK);
            cr_assert_leq(best, heaviest(&m, &other), "%s", text);
        }
    arena_clear(&a);
}
