#include "base/text.h"
#include "cost/cost.h"
#include "small_model.h"

#include "failing_json.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum err read_text(struct arena *a, const char *text, struct cost *out,
                          struct err_msg *msg)
{
    char path[] = "/tmp/moe-cost-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    enum err e = cost_read_file(a, path, out, msg);
    unlink(path);
    return e;
}

Test(cost, only_format_source_and_units_are_required)
{
    struct arena a;
    struct cost c;
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(read_text(&a,
                           "{\"format\": \"moe-layout/costs/1\", \"source\": "
                           "\"published\", \"units\": {\"t\": {\"fwd_s\": 1, "
                           "\"bwd_s\": 2}}}",
                           &c, &msg),
                 ERR_OK, "%s", msg.text);
    cr_assert(c.unit[KIND_T].known && !c.unit[KIND_L].known);
    cr_assert_float_eq(c.overhead_s, 0, 0);
    cr_assert_not(c.parted || c.ep_save.known);
    cr_assert_eq(c.n_facts, 0);
    cr_assert_eq(c.source, COST_PUBLISHED);
    arena_clear(&a);
}

/* The layer's forward is run once more; embedding and loss are not. */
Test(cost, full_recompute_adds_a_forward_to_every_layers_backward)
{
    struct cost c;
    struct model m = small_model();
    m.memory.full_recompute = RECOMPUTE_UNIFORM;
    cost_analytic(&m, 1e12, &c);
    const double ratio[N_KINDS] = {
        [KIND_T] = 3, [KIND_T_DENSE] = 3, [KIND_M] = 3, [KIND_L] = 2};
    for (int k = 0; k < N_KINDS; k++)
        if (c.unit[k].known)
            cr_expect_float_eq(c.unit[k].bwd_s, ratio[k] * c.unit[k].fwd_s,
                               1e-12 * c.unit[k].fwd_s, "%d", k);
    cr_assert(c.unit[KIND_T].known && c.unit[KIND_L].known);
}

Test(cost, what_is_written_is_read_back)
{
    struct arena a;
    struct err_msg msg;
    struct cost c, again;
    struct model m = small_model();
    struct model_fact facts[MODEL_N_FACTS];
    arena_init(&a);
    cost_analytic(&m, 1e12, &c);
    c.unit[KIND_T].fwd_se = 1e-5;
    c.chunk_s = 2e-6;
    c.overhead_s = 0.125;
    c.overhead_s_per_byte = 3e-12;
    c.step_noise_rel = 0.01;
    c.latency_s = 5e-6;
    c.bytes_per_s = 1e9;
    c.exchange_sync_s = 7e-6;
    c.parted = true;
    c.between = (struct cost_link){4e-5, 5e9};
    c.ep_save = (struct cost_ep_save){true, 4e-4, 2e-4, 1e-4, 3e-5};
    c.rules = MEMORY_MOE_TRAIN;
    c.n_facts = model_facts(&m, facts);
    c.facts = facts;
    cJSON *tree = cost_to_json(&c);
    char *text = cJSON_Print(tree);
    cr_assert_eq(read_text(&a, text, &again, &msg), ERR_OK, "%s", msg.text);
    for (int k = 0; k < N_KINDS; k++) {
        cr_assert_eq(again.unit[k].known, c.unit[k].known);
        cr_assert(again.unit[k].fwd_s == c.unit[k].fwd_s);
        cr_assert(again.unit[k].bwd_s == c.unit[k].bwd_s);
    }
    cr_assert(again.unit[KIND_T].fwd_se == 1e-5 && again.chunk_s == 2e-6);
    cr_assert(again.overhead_s == 0.125 && again.overhead_s_per_byte == 3e-12);
    cr_assert(again.latency_s == 5e-6 && again.exchange_sync_s == 7e-6);
    cr_assert(again.parted && again.between.latency_s == 4e-5 &&
              again.between.bytes_per_s == 5e9);
    cr_assert(again.ep_save.known && again.ep_save.both_s == 4e-4 &&
              again.ep_save.forward_s == 2e-4 &&
              again.ep_save.backward_s == 1e-4 && again.ep_save.se_s == 3e-5);
    cr_assert_eq(again.rules.optimizer_bytes, 8);
    cr_assert_eq(again.rules.trainer, TRAINER_MOE_TRAIN);
    cr_assert_eq(cost_check_model(&again, &m, "f", &msg), ERR_OK);
    free(text);
    cJSON_Delete(tree);
    arena_clear(&a);
}

Test(cost, another_model_is_refused_by_name)
{
    struct err_msg msg;
    struct cost c;
    struct model m = small_model(), other = small_model();
    struct model_fact facts[MODEL_N_FACTS];
    cost_analytic(&m, 1e12, &c);
    c.n_facts = model_facts(&m, facts);
    c.facts = facts;
    other.batch.seq_tokens = 64;
    cr_assert_eq(cost_check_model(&c, &other, "c.json", &msg), ERR_PARSE);
    cr_assert(strstr(msg.text, "seq_length 32, the model has 64"), "%s",
              msg.text);
    c.n_facts = 0;
    c.unit[KIND_M].known = false;
    cr_assert_eq(cost_check_model(&c, &m, "c.json", &msg), ERR_PARSE);
    cr_assert(strstr(msg.text, "'m'"), "%s", msg.text);
}

/* A change of setting, and the words that the refusal must have. */
static void other_etp(struct model *m)
{
    m->par.etp = 2;
}

static void other_modules(struct model *m)
{
    m->memory.recompute = 1U << RECOMPUTE_MOE_ACT;
}

static void other_method(struct model *m)
{
    m->memory.full_recompute = RECOMPUTE_BLOCK;
    m->memory.recompute_layers = 3;
}

static void other_grads(struct model *m)
{
    m->memory.grad_bytes = 2;
}

static void other_format(struct model *m)
{
    m->memory.fp8 = true;
}

static const struct {
    void (*change)(struct model *);
    const char *want;
} settings[] = {
    {other_etp, "expert_tensor_parallel_size 1, the model has 2"},
    {other_modules, "recompute_moe_act 0, the model has 1"},
    {other_method, "recompute_full 0, the model has 1"},
    {other_grads, "grad_bytes 4, the model has 2"},
    {other_format, "fp8 0, the model has 1"},
};

Test(cost, another_setting_is_refused_by_name)
{
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        struct err_msg msg = {""};
        struct cost c;
        struct model m = small_model();
        struct model_fact facts[MODEL_N_FACTS];
        m.memory.param_bytes = 2;
        m.memory.grad_bytes = 4;
        cost_analytic(&m, 1e12, &c);
        c.n_facts = model_facts(&m, facts);
        cr_assert_leq(c.n_facts, MODEL_N_FACTS);
        c.facts = facts;
        settings[i].change(&m);
        cr_expect_eq(cost_check_model(&c, &m, "c.json", &msg), ERR_PARSE, "%s",
                     settings[i].want);
        cr_expect_not_null(strstr(msg.text, settings[i].want), "%s", msg.text);
    }
}

Test(cost, files_that_state_fewer_facts_are_still_taken)
{
    struct err_msg msg = {""};
    struct cost c;
    struct model m = small_model();
    const struct model_fact old[] = {{"num_layers", 8}, {"hidden_size", 64}};
    cost_analytic(&m, 1e12, &c);
    c.facts = old;
    c.n_facts = 2;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        settings[i].change(&m);
    cr_assert_eq(cost_check_model(&c, &m, "c.json", &msg), ERR_OK, "%s",
                 msg.text);
}

#define COSTS_HEAD                                                             \
    "{\"format\": \"moe-layout/costs/1\", \"source\": \"measured\", "          \
    "\"units\": {\"t\": {\"fwd_s\": 1, \"bwd_s\": 2}}"

Test(cost, the_trainer_is_named_or_told_by_the_bytes_of_a_value)
{
    static const struct {
        const char *memory;
        enum trainer_kind trainer;
    } rows[] = {
        {"}", TRAINER_MEGATRON},
        {", \"memory\": {\"value_bytes\": 2}}", TRAINER_MEGATRON},
        {", \"memory\": {\"value_bytes\": 4}}", TRAINER_MOE_TRAIN},
        {", \"memory\": {\"value_bytes\": 4, \"trainer\": \"megatron\"}}",
         TRAINER_MEGATRON},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a;
        struct cost c;
        struct err_msg msg = {""};
        arena_init(&a);
        const char *text = arena_printf(&a, COSTS_HEAD "%s", rows[i].memory);
        cr_assert_eq(read_text(&a, text, &c, &msg), ERR_OK, "%s", msg.text);
        cr_expect_eq(c.rules.trainer, rows[i].trainer, "%s", rows[i].memory);
        arena_clear(&a);
    }
}

static const char *const bad[] = {
    COSTS_HEAD ", \"p2p\": {\"bytes_per_s\": 1e-320}}",
    COSTS_HEAD ", \"p2p\": {\"between\": {\"bytes_per_s\": 0.5}}}",
    COSTS_HEAD ", \"memory\": {\"trainer\": \"torch\"}}",
    "{\"format\": \"moe-layout/costs/1\", \"units\": {}}",
    "{\"format\": \"moe-layout/costs/1\", \"source\": \"guess\", \"units\": "
    "{}}",
    "{\"format\": \"moe-layout/costs/1\", \"source\": \"measured\"}",
    "{\"format\": \"moe-layout/costs/1\", \"source\": \"measured\", \"units\": "
    "{\"q\": {\"fwd_s\": 1, \"bwd_s\": 2}}}",
    "{\"format\": \"moe-layout/costs/1\", \"source\": \"measured\", \"units\": "
    "{\"t\": {\"fwd_s\": -1, \"bwd_s\": 2}}}",
    "{\"format\": \"moe-layout/costs/1\", \"source\": \"measured\", \"units\": "
    "{\"t\": {\"fwd_s\": 1}}}",
    "{\"format\": \"moe-layout/costs/1\", \"source\": \"measured\", \"units\": "
    "{\"mL\": {\"fwd_s\": 1, \"bwd_s\": 1}, \"L\": {\"fwd_s\": 1, \"bwd_s\": "
    "1}}}",
    "{\"format\": \"moe-layout/costs/2\", \"source\": \"measured\", \"units\": "
    "{}}",
};

Test(cost, bad_files_are_bad_input)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct arena a;
        struct cost c;
        struct err_msg msg = {""};
        arena_init(&a);
        cr_assert_eq(err_exit_code(read_text(&a, bad[i], &c, &msg)), 2, "%s",
                     bad[i]);
        cr_assert_neq(msg.text[0], '\0');
        arena_clear(&a);
    }
}

Test(cost, a_stage_is_the_sum_of_its_units)
{
    struct arena a;
    struct layout l;
    struct err_msg msg;
    struct cost c = {0};
    struct model m = small_model();
    for (int k = 0; k < N_KINDS; k++)
        c.unit[k] = (struct unit_cost){true, k + 1, 0, 10 * (k + 1), 0};
    arena_init(&a);
    cr_assert_eq(
        layout_read_question(&a,
                             &(struct layout_question){"Et*2|t*3|t*3|mL", 4,
                                                       m.n_layers, m.n_mtp},
                             &l, &msg),
        ERR_OK);
    cr_assert_float_eq(cost_stage(&c, &m, &l, 0).fwd_s, 1 + 2 * 2, 0);
    cr_assert_float_eq(cost_stage(&c, &m, &l, 3).bwd_s,
                       10 * (KIND_M + 1 + KIND_L + 1), 0);
    arena_clear(&a);
}

Test(cost, a_transfer_is_latency_plus_bytes_over_bandwidth)
{
    struct cost c = {.latency_s = 2e-6, .bytes_per_s = 1e9};
    cr_assert_float_eq(cost_transfer_s(&c, 1e6, false), 2e-6 + 1e-3, 1e-15);
    c.bytes_per_s = 0;
    cr_assert_float_eq(cost_transfer_s(&c, 1e6, false), 2e-6, 1e-18);
    cr_assert_float_eq(cost_transfer_s(&c, 1e6, true), 2e-6, 1e-18,
                       "one link for both");
    c.parted = true;
    c.between = (struct cost_link){1e-5, 1e8};
    cr_assert_float_eq(cost_transfer_s(&c, 1e6, true), 1e-5 + 1e-2, 1e-15);
    cr_assert_float_eq(cost_transfer_s(&c, 1e6, false), 2e-6, 1e-18);
}

static cJSON *make_json(void *cost)
{
    return cost_to_json(cost);
}

Test(cost, a_costs_file_is_whole_or_not_written)
{
    struct model_fact facts[] = {{"num_layers", 4}, {"seq_length", 64}};
    const char *layout = "Et|tL", *sha = "00ff";
    struct cost c = {.unit[KIND_T] = {true, 1, 0.1, 2, 0.2},
                     .unit[KIND_L] = {true, 1, 0.1, 2, 0.2},
                     .joint_ml = true,
                     .parted = true,
                     .ep_save = {.known = true},
                     .rules = MEMORY_MEGATRON,
                     .facts = facts,
                     .n_facts = 2,
                     .fitted_layout = &layout,
                     .fitted_sha256 = &sha,
                     .n_fitted = 1};
    cr_assert(failing_json_try(make_json, &c));
}
