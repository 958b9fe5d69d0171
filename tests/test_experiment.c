/*
 * An experiment that plans for a GPU's memory with the costs of another one
 * (costs_from): nothing is run. The model is the article's in small, trained
 * by Megatron.
 */
#include "base/json.h"
#include "base/text.h"
#include "experiment/experiment.h"
#include "memory/memory.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GIB 1073741824.0

static struct arena arena;
static char dir[] = "/tmp/moe-experiment-XXXXXX";

static const char *in_dir(const char *name)
{
    return arena_printf(&arena, "%s/%s", dir, name);
}

static void setup(void)
{
    arena_init(&arena);
    cr_assert_not_null(mkdtemp(dir));
    mkdir(in_dir("x"), 0700);
    mkdir(in_dir("other"), 0700);
}

static void teardown(void)
{
    unlink(in_dir("other/costs.json"));
    unlink(in_dir("m.json"));
    rmdir(in_dir("x"));
    rmdir(in_dir("other"));
    rmdir(dir);
    arena_clear(&arena);
}

TestSuite(experiment, .init = setup, .fini = teardown);

/* Opens a manifest with this limit (GiB, 0: none) and optimiser. */
static enum err open_with(double hbm_gb, const char *optimizer,
                          struct experiment *e, struct err_msg *msg)
{
    const char *text = arena_printf(
        &arena,
        "{\"format\":\"moe-bench/experiment/1\",\"name\":\"x\","
        "\"costs_from\":\"other\",\"iterations\":{\"count\":5},"
        "\"launcher\":{\"kind\":\"torchrun\"},"
        "\"trainer\":{\"kind\":\"megatron\"},"
        "\"hardware\":{\"gpu\":\"H100\",\"count\":4,\"hbm_gb\":%.17g},"
        "\"model\":{\"num_layers\":16,\"hidden_size\":1024,"
        "\"num_attention_heads\":8,\"ffn_hidden_size\":4096,"
        "\"vocab_size\":32000,\"seq_length\":2048,\"micro_batch_size\":1,"
        "\"global_batch_size\":16,\"pipeline_model_parallel_size\":4,"
        "\"optimizer\":\"%s\",\"bf16\":true},"
        "\"measure\":[{\"role\":\"pick\"}]}",
        hbm_gb, optimizer);
    enum err err = text_write_file(in_dir("m.json"), text, strlen(text), msg);
    cr_assert_eq(err, ERR_OK, "%s", msg->text);
    const struct experiment_options opt = {
        .manifest = in_dir("m.json"), .out = in_dir("x"), .only = N_ROLES};
    return experiment_open(&arena, &opt, e, msg);
}

/* Costs in proportion to FLOPs, as the experiment `other` had measured. */
static void write_costs(const struct model *m)
{
    struct cost cost;
    struct err_msg msg;
    cost_analytic(m, 1e14, &cost);
    cJSON *tree = cost_to_json(&cost);
    char *text = cJSON_Print(tree);
    enum err e =
        text_write_file(in_dir("other/costs.json"), text, strlen(text), &msg);
    cJSON_free(text);
    cJSON_Delete(tree);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
}

/* The largest predicted peak of the pick under a limit. */
static double pick_bytes(double hbm_gb, struct err_msg *msg)
{
    struct experiment e;
    double most = 0;
    cr_assert_eq(open_with(hbm_gb, "adam", &e, msg), ERR_OK, "%s", msg->text);
    write_costs(&e.workload.model);
    cr_assert_eq(experiment_fit(&e, msg), ERR_OK, "%s", msg->text);
    cr_assert_eq(experiment_resolve(&e, N_ROLES, false, msg), ERR_OK, "%s",
                 msg->text);
    cr_assert_eq(e.targets.n, 1);
    const struct plan *p = &e.targets.target[0].pred;
    for (int s = 0; s < p->n_stages; s++)
        most = fmax(most, (double)p->stages[s].mem_bytes);
    return most;
}

Test(experiment, a_pick_leaves_the_margin_free)
{
    struct err_msg msg = {""};
    double free = pick_bytes(0, &msg);
    // it fits into this limit, but not with the margin
    double limit = free * (1 + MEMORY_MARGIN / 2);
    double most = pick_bytes(limit / GIB, &msg);
    cr_expect_gt(most, 0);
    cr_expect_leq(most * (1 + MEMORY_MARGIN), limit, "%.0f of %.0f", most,
                  limit);
}

Test(experiment, a_limit_needs_predicted_memory)
{
    struct experiment e;
    struct err_msg msg = {""};
    cr_expect_eq(open_with(80, "sgd", &e, &msg), ERR_MODEL);
    cr_expect_not_null(strstr(msg.text, "hardware: hbm_gb: memory is not "
                                        "predicted: only the optimisers"),
                       "%s", msg.text);
    cr_expect_eq(open_with(0, "sgd", &e, &msg), ERR_OK, "%s", msg.text);
}
