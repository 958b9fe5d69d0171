#include "manifest/manifest.h"
#include "manifest/settings.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;
static char path[] = "/tmp/moe-manifest-XXXXXX";

static void setup(void)
{
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    arena_init(&arena);
}

static void teardown(void)
{
    arena_clear(&arena);
    unlink(path);
}

TestSuite(manifest, .init = setup, .fini = teardown);

static enum err read_text(const char *text, struct manifest *mf,
                          struct err_msg *msg)
{
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    return manifest_read(&arena, path, mf, msg);
}

#define HEAD                                                                   \
    "{\"format\":\"moe-bench/experiment/1\",\"name\":\"x\","                   \
    "\"launcher\":{\"kind\":\"auto\"},"
#define ITERATIONS "\"iterations\":{\"count\":5},"
#define MODEL "\"model\":\"m.json\","
#define MEASURE "\"measure\":[{\"role\":\"pick\"}]"
#define PLAN_HEAD "{\"format\":\"moe-bench/experiment/1\",\"name\":\"x\"," MODEL

Test(manifest, fills_defaults)
{
    struct manifest mf;
    struct err_msg msg = {""};
    enum err e = read_text(HEAD MODEL ITERATIONS MEASURE "}", &mf, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_assert_str_eq(mf.name, "x");
    cr_assert_str_eq(mf.model_path, "m.json");
    cr_assert_eq(mf.warmup, 2);
    cr_assert_eq(mf.count, 5);
    cr_assert_eq(mf.rounds, 1);
    cr_assert_eq(mf.profile_runs, 2);
    cr_assert_eq(mf.profile_timers, 2);
    cr_assert_eq(mf.trainer.kind, TRAINER_MOE_TRAIN);
    // that of moe-layout plan
    cr_assert_float_eq(mf.hardware.memory_margin_pct, 5.8, 1e-9);
    cr_assert(isnan(mf.accept.bound[ACCEPT_STEP]));
    cr_assert_eq(mf.n_measure, 1);
    cr_assert(manifest_has_role(&mf, ROLE_PICK));
    cr_assert_not(manifest_has_role(&mf, ROLE_DEFAULT));
}

Test(manifest, reads_all_sections)
{
    struct manifest mf;
    struct err_msg msg = {""};
    enum err e = read_text(
        HEAD "\"model\":{\"num_layers\":4}," ITERATIONS
             "\"parallel\":{\"pp\":4,\"vpp\":2,\"ep\":2,\"world\":8,"
             "\"group\":6,\"ep_overlap\":true},"
             "\"batch\":{\"global_batch\":128},\"rounds\":3,"
             "\"hardware\":{\"gpu\":\"H200\",\"count\":8,\"hbm_gb\":141,"
             "\"memory_margin_pct\":8},"
             "\"trainer\":{\"kind\":\"megatron\",\"args\":[\"--bf16\"]},"
             "\"profile\":{\"runs\":[\"Et|tL\",\"Ettt|L\"],\"count\":40},"
             "\"measure\":[{\"role\":\"layout\",\"layout\":\"Et|tL\"},"
             "{\"role\":\"layout\",\"layout\":\"E|ttL\"}],"
             "\"costs_from\":\"other\",\"limits\":{\"run_s\":60},"
             "\"accept\":{\"step_error_pct\":5,\"max_memory_error_pct\":1},"
             "\"published\":{\"speedup_vs_default\":1.39},"
             "\"assumed\":{\"batch.seq_tokens\":\"why\"}}",
        &mf, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_assert_not_null(strstr(mf.model_json, "num_layers"));
    cr_assert_float_eq(mf.hardware.memory_margin_pct, 8, 0);
    cr_assert_float_eq(mf.accept.bound[ACCEPT_STEP], 5, 0);
    cr_assert_float_eq(mf.accept.bound[ACCEPT_MAX_MEMORY], 1, 0);
    cr_assert(isnan(mf.accept.bound[ACCEPT_MAX_STEP]));
    cr_assert_eq(manifest_n_iterations(&mf, true), mf.warmup + 40);
    cr_assert_eq(manifest_n_iterations(&mf, false), mf.warmup + mf.count);
    cr_assert_eq(mf.overrides.size[OVERRIDE_WORLD], 8);
    cr_assert_eq(mf.overrides.size[OVERRIDE_VPP], 2);
    cr_assert_eq(mf.overrides.size[OVERRIDE_GROUP], 6);
    cr_assert(mf.ep_overlap);
    cr_assert_eq(mf.overrides.size[OVERRIDE_GBS], 128);
    cr_assert_eq(mf.trainer.kind, TRAINER_MEGATRON);
    cr_assert_eq(mf.profile_layouts.n, 2);
    cr_assert_str_eq(mf.profile_layouts.word[1], "Ettt|L");
    cr_assert_str_eq(mf.measure[1].layout, "E|ttL");
    cr_assert_str_eq(mf.costs_from, "other");
    cr_assert_float_eq(mf.run_limit_s, 60, 0);
    cr_assert_str_eq(mf.published[0].value, "1.39");
    cr_assert_str_eq(mf.assumed[0].key, "batch.seq_tokens");
}

Test(manifest, reads_a_plan_that_needs_no_runs)
{
    struct manifest mf;
    struct err_msg msg = {""};
    enum err e = read_text(
        PLAN_HEAD "\"plan\":{\"ways\":[{\"pp\":4,\"vpp\":2,\"ep\":8},"
                  "{\"pp\":2,\"standalone_mtp\":true}],"
                  "\"ep_overlap\":[true],\"save_share\":0.2,\"tflops\":400,"
                  "\"time_limit_s\":3,\"flags\":[\"--bf16\"],"
                  "\"ratios\":{\"L\":[1,2.5],\"time_limit_s\":1},"
                  "\"recipes\":[{\"pp\":2,\"layout\":\"Et|tL\","
                  "\"source\":\"page\"}]}}",
        &mf, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    const struct planning *p = &mf.planning;
    cr_expect(manifest_plans_only(&mf));
    cr_assert_eq(p->n_ways, 2);
    cr_expect_eq(p->way[0].vpp, 2);
    cr_expect_eq(p->way[0].ep, 8);
    cr_expect_eq(p->way[1].vpp, 1);
    cr_expect(p->way[1].standalone_mtp);
    cr_expect(p->with_overlap);
    cr_expect_not(p->without_overlap);
    cr_expect_float_eq(p->save_share, 0.2, 0);
    cr_expect_float_eq(p->tflops, 400, 0);
    cr_expect_float_eq(p->time_limit_s, 3, 0);
    cr_expect_float_eq(p->ratio_limit_s, 1, 0);
    cr_expect_eq(p->m.n, 0);
    cr_assert_eq(p->l.n, 2);
    cr_expect_float_eq(p->l.x[1], 2.5, 0);
    cr_assert_eq(p->n_recipes, 1);
    cr_expect_str_eq(p->recipe[0].layout, "Et|tL");
    cr_expect_str_eq(p->recipe[0].source, "page");
    cr_assert_eq(p->n_flags, 1);
    cr_expect_str_eq(p->flags[0], "--bf16");
}

Test(manifest, an_experiment_that_measures_has_no_plan)
{
    struct manifest mf;
    struct err_msg msg = {""};
    enum err e = read_text(HEAD MODEL ITERATIONS MEASURE "}", &mf, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_expect_not(manifest_plans_only(&mf));
}

struct bad {
    char text[600], wanted[120]; // part of the message
    enum err err;
};

ParameterizedTestParameters(manifest, tells_what_is_wrong)
{
    static struct bad cases[] = {
        {HEAD MODEL ITERATIONS "\"limits\":{\"budget_usd\":5}," MEASURE "}",
         "limits.budget_usd: a budget needs hardware.price_usd_per_hour",
         ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"hardware\":{\"price_usd_per_hour\":0},"
                               "\"limits\":{\"budget_usd\":5}," MEASURE "}",
         "limits.budget_usd: a budget needs hardware.price_usd_per_hour",
         ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"hardware\":{\"price_usd_per_hour\":2},"
                               "\"limits\":{\"budget_usd\":0}," MEASURE "}",
         "limits.budget_usd: got 0, want above 0", ERR_RANGE},
        {HEAD MODEL ITERATIONS
         "\"trainer\":{\"commit\":\"main; touch x\"}," MEASURE "}",
         "trainer.commit: got 'main; touch x', want a commit", ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"mesure\":[]," MEASURE "}",
         "unknown key 'mesure', did you mean 'measure'", ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"batch\":{\"globl_batch\":1}," MEASURE "}",
         "batch: unknown key 'globl_batch', did you mean 'global_batch'",
         ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"rounds\":1,\"rounds\":2," MEASURE "}",
         "key 'rounds' occurs twice", ERR_PARSE},
        {HEAD ITERATIONS MEASURE "}", "model: missing, want", ERR_PARSE},
        {HEAD MODEL MEASURE "}", "iterations: missing, want", ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"rounds\":1}", "measure: missing, want",
         ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"measure\":[]}", "measure:", ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"rounds\":\"3\"," MEASURE "}",
         "rounds: got a string, want a number", ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"rounds\":1.5," MEASURE "}",
         "rounds: got 1.5, want an integer", ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"rounds\":0," MEASURE "}",
         "rounds: got 0, want 1 to 1000", ERR_RANGE},
        {HEAD MODEL "\"iterations\":{\"count\":0}," MEASURE "}",
         "iterations.count: got 0, want 1 to", ERR_RANGE},
        {HEAD MODEL ITERATIONS "\"parallel\":[4]," MEASURE "}",
         "parallel: got a list, want an object", ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"measure\":[{\"role\":\"defalt\"}]}",
         "did you mean 'default'", ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"measure\":[{\"role\":\"layout\"}]}",
         "measure[0]: role 'layout' needs the key 'layout'", ERR_PARSE},
        {HEAD MODEL ITERATIONS
         "\"measure\":[{\"role\":\"pick\",\"layout\":\"E|L\"}]}",
         "role 'pick' takes no key 'layout'", ERR_PARSE},
        {HEAD MODEL ITERATIONS
         "\"measure\":[{\"role\":\"default\",\"standalone_mtp\":true}]}",
         "only 'pick' does", ERR_PARSE},
        {HEAD MODEL ITERATIONS
         "\"measure\":[{\"role\":\"pick\"},{\"role\":\"pick\"}]}",
         "measure[1]: role 'pick' is given twice", ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"trainer\":{\"kind\":\"megatrn\"}," MEASURE
                               "}",
         "trainer.kind: got 'megatrn', want megatron or moe-train", ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"trainer\":{\"args\":[1]}," MEASURE "}",
         "trainer.args[0]: got a number, want a string", ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"profile\":{\"runs\":1}," MEASURE "}",
         "profile.runs: got 1, want 2 to 32", ERR_RANGE},
        {HEAD MODEL ITERATIONS "\"costs_from\":\"../up\"," MEASURE "}",
         "costs_from: got '../up', want", ERR_PARSE},
        {HEAD MODEL ITERATIONS "\"published\":{\"speedup\":1}," MEASURE "}",
         "published: unknown key 'speedup'", ERR_PARSE},
        {"{\"format\":\"moe-bench/experiment/2\"}",
         "format: got 'moe-bench/experiment/2', want", ERR_PARSE},
        {PLAN_HEAD "\"plan\":{}}", "plan.ways: got 0 entries, want 1 to",
         ERR_RANGE},
        {PLAN_HEAD "\"plan\":{\"ways\":[{\"vpp\":2}]}}",
         "plan.ways[0].pp: missing", ERR_PARSE},
        {PLAN_HEAD "\"plan\":{\"ways\":[{\"pp\":2},{\"pp\":2}]}}",
         "plan.ways[1]: pp 2 with vpp 1 is given twice", ERR_PARSE},
        {PLAN_HEAD "\"plan\":{\"ways\":[{\"pp\":2}],\"recipes\":[{\"pp\":4,"
                   "\"layout\":\"E|L\",\"source\":\"s\"}]}}",
         "plan.recipes[0]: got pp 4 with vpp 1, want a pair of 'ways'",
         ERR_RANGE},
        {PLAN_HEAD "\"plan\":{\"ways\":[{\"pp\":2}],\"recipes\":[{\"pp\":2,"
                   "\"layout\":\"E|L\"}]}}",
         "plan.recipes[0].source: missing", ERR_PARSE},
        {PLAN_HEAD "\"plan\":{\"ways\":[{\"pp\":2}],\"save_shar\":1}}",
         "plan: unknown key 'save_shar', did you mean 'save_share'", ERR_PARSE},
        {PLAN_HEAD "\"plan\":{\"ways\":[{\"pp\":2}],\"ep_overlap\":[1]}}",
         "plan.ep_overlap[0]: want true or false", ERR_PARSE},
        {PLAN_HEAD "\"plan\":{\"ways\":[{\"pp\":2}],"
                   "\"ratios\":{\"L\":[0]}}}",
         "plan.ratios.L[0]: got 0, want 0.01 to 100", ERR_RANGE},
        {PLAN_HEAD "\"plan\":{\"ways\":[{\"pp\":2}]}," MEASURE "}",
         "takes no key 'measure'", ERR_PARSE},
        {"{\"format\":", "not valid JSON", ERR_PARSE},
        {"[]", "want a JSON object", ERR_PARSE},
    };
    return cr_make_param_array(struct bad, cases,
                               sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct bad *c, manifest, tells_what_is_wrong)
{
    char file[] = "/tmp/moe-manifest-bad-XXXXXX";
    struct manifest mf;
    struct err_msg msg = {""};
    struct arena a;
    int fd = mkstemp(file);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, c->text, strlen(c->text)), (ssize_t)strlen(c->text));
    close(fd);
    arena_init(&a);
    enum err e = manifest_read(&a, file, &mf, &msg);
    arena_clear(&a);
    unlink(file);
    cr_expect_eq(e, c->err, "%s", msg.text);
    cr_expect_not_null(strstr(msg.text, c->wanted), "got: %s\nwant: %s",
                       msg.text, c->wanted);
    cr_expect_not_null(strstr(msg.text, file), "no file name: %s", msg.text);
    cr_expect_null(strchr(msg.text, '\n'));
}

Test(manifest, a_missing_file_is_bad_input)
{
    struct manifest mf;
    struct err_msg msg = {""};
    cr_assert_eq(manifest_read(&arena, "/nowhere/x.json", &mf, &msg),
                 ERR_PARSE);
    cr_assert_not_null(strstr(msg.text, "/nowhere/x.json"));
}

Test(manifest, every_role_is_found_by_its_name)
{
    for (int i = 0; i < N_ROLES; i++) {
        enum role r;
        struct err_msg msg;
        cr_assert_eq(role_from_name("x", role_name((enum role)i), &r, &msg),
                     ERR_OK);
        cr_assert_eq((int)r, i);
        cr_assert_gt(strlen(role_help(r)), 5);
    }
}

/* Ranks are spread evenly over the nodes; one node is all there is else. */
Test(manifest, nodes_and_ranks_give_the_ranks_of_a_node)
{
    static const struct {
        int64_t count, nodes;
        int want;
    } cases[] = {{16, 2, 8}, {16, 1, 0}, {16, 0, 0}, {0, 0, 0}, {4, 4, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a;
        struct plan_settings set;
        struct err_msg msg;
        const char *note = NULL;
        const struct manifest mf = {
            .path = "m.json",
            .hardware = {.count = cases[i].count, .nodes = cases[i].nodes}};
        arena_init(&a);
        cr_assert_eq(manifest_settings(&a, &mf, &set, &note, &msg), ERR_OK,
                     "%s", msg.text);
        cr_expect_eq(set.gpus_per_node, cases[i].want, "case %zu", i);
        arena_clear(&a);
    }
}
