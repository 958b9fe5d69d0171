#include "calibrate/fit_check.h"

#include "model/as_hybrid.h"
#include "small_model.h"
#include "synthetic_log.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const TWO[] = {"E|t*3|t*4|tmL", "Et*3|t*4|tm|L"};

struct fixture {
    struct arena arena;
    struct model m;
    struct fit_run runs[2];
    struct runlog *log[2]; // of the runs, to be changed
    struct err_msg msg;
};

static void make_runs(struct fixture *f)
{
    struct cost truth = study_costs();
    arena_init(&f->arena);
    f->m = small_model();
    for (int i = 0; i < 2; i++) {
        f->runs[i] = synthetic_run(&f->arena, &f->m, &truth, TWO[i], 0);
        f->log[i] = arena_alloc(&f->arena, 1, sizeof *f->log[i]);
        *f->log[i] = *f->runs[i].log;
        f->runs[i].log = f->log[i];
    }
}

/* The check of both runs must fail with this word in its one line. */
static void refused(struct fixture *f, const char *word)
{
    enum err e = fit_check(&f->arena, &f->m, f->runs, 2, &f->msg);
    cr_expect_eq(err_exit_code(e), 2, "want '%s'", word);
    cr_expect(e != ERR_OK && strstr(f->msg.text, word), "'%s' lacks '%s'",
              f->msg.text, word);
    arena_clear(&f->arena);
}

static void give(struct fixture *f, int run, const struct log_argument *list,
                 size_t n)
{
    f->log[run]->arguments = list;
    f->log[run]->n_arguments = n;
}

#define GIVE(f, run, ...)                                                      \
    do {                                                                       \
        static const struct log_argument list[] = {__VA_ARGS__};               \
        give(f, run, list, sizeof list / sizeof list[0]);                      \
    } while (0)

Test(fit_check, sound_runs_pass)
{
    struct fixture f;
    make_runs(&f);
    cr_assert_eq(fit_check(&f.arena, &f.m, f.runs, 2, &f.msg), ERR_OK, "%s",
                 f.msg.text);
    GIVE(&f, 0, {"num_layers", "8"}, {"moe_router_topk", "2"},
         {"kv_lora_rank", "32"},
         {"pipeline_model_parallel_layout", "E|ttt|tttt|tmL"});
    cr_assert_eq(fit_check(&f.arena, &f.m, f.runs, 2, &f.msg), ERR_OK, "%s",
                 f.msg.text);
    arena_clear(&f.arena);
}

/* The log of a hybrid model states its stages in the pattern. */
Test(fit_check, the_pattern_of_a_hybrid_run_is_its_layout)
{
    struct fixture f;
    make_runs(&f);
    cr_assert_eq(model_as_hybrid(&f.arena, &f.m, &f.m, &f.msg), ERR_OK);
    struct cost truth = {.unit = {[KIND_E] = {true, 1e-3, 0, 1e-3, 0},
                                  [KIND_ATTENTION] = {true, 2e-3, 0, 4e-3, 0},
                                  [KIND_EXPERTS] = {true, 3e-3, 0, 6e-3, 0},
                                  [KIND_M] = {true, 5e-3, 0, 9e-3, 0},
                                  [KIND_L] = {true, 6e-3, 0, 12e-3, 0}}};
    static const char *const patterns[] = {"*E*E*|E*E*E|*E*E*|E/*E",
                                           "*E*|E*E*E*|E*E*E|*E/*E"};
    for (int i = 0; i < 2; i++) {
        f.runs[i] = synthetic_run(&f.arena, &f.m, &truth, patterns[i], 0);
        f.log[i] = arena_alloc(&f.arena, 1, sizeof *f.log[i]);
        *f.log[i] = *f.runs[i].log;
        f.runs[i].log = f.log[i];
    }
    GIVE(&f, 0, {"num_layers", "16"},
         {"hybrid_layer_pattern", "*E*E*|E*E*E|*E*E*|E/*E"},
         {"pipeline_model_parallel_layout", "None"});
    cr_assert_eq(fit_check(&f.arena, &f.m, f.runs, 2, &f.msg), ERR_OK, "%s",
                 f.msg.text);
    GIVE(&f, 0, {"num_layers", "16"},
         {"hybrid_layer_pattern", "*E*E*E|*E*E|*E*E*|E/*E"},
         {"pipeline_model_parallel_layout", "None"});
    refused(&f, "the run was made with '*E*E*E|*E*E|*E*E*|E/*E'");
}

/* Without bars there is one chunk a rank, whatever layout is named. */
Test(fit_check, a_pattern_without_bars_has_no_virtual_stages)
{
    struct fixture f;
    make_runs(&f);
    cr_assert_eq(model_as_hybrid(&f.arena, &f.m, &f.m, &f.msg), ERR_OK);
    f.m.par.pp = 2;
    struct cost truth = {.unit = {[KIND_E] = {true, 1e-3, 0, 1e-3, 0},
                                  [KIND_ATTENTION] = {true, 2e-3, 0, 4e-3, 0},
                                  [KIND_EXPERTS] = {true, 3e-3, 0, 6e-3, 0},
                                  [KIND_M] = {true, 5e-3, 0, 9e-3, 0},
                                  [KIND_L] = {true, 6e-3, 0, 12e-3, 0}}};
    for (int i = 0; i < 2; i++) {
        f.runs[i] =
            synthetic_run(&f.arena, &f.m, &truth, "*E*E|*E*E|*E*E|*E*E/*E", 0);
        f.log[i] = arena_alloc(&f.arena, 1, sizeof *f.log[i]);
        *f.log[i] = *f.runs[i].log;
        f.runs[i].log = f.log[i];
    }
    GIVE(&f, 0, {"num_layers", "16"},
         {"hybrid_layer_pattern", "*E*E*E*E*E*E*E*E/*E"});
    refused(&f, "the run was made with 'Megatron's default split'");
}

Test(fit_check, runs_of_another_model_or_batch)
{
    struct fixture f;
    make_runs(&f);
    GIVE(&f, 1, {"num_layers", "8"}, {"hidden_size", "128"});
    refused(&f, "hidden_size is 128, the model has 64");
    make_runs(&f);
    GIVE(&f, 1, {"micro_batch_size", "2"});
    refused(&f, "give the run's value with --mbs");
    make_runs(&f);
    GIVE(&f, 0, {"global_batch_size", "12"});
    refused(&f, "give --gbs 12");
}

/* A dump of the whole model: the kinds of its layers count, too. */
Test(fit_check, a_whole_dump_is_compared_layer_by_layer)
{
    struct fixture f;
    make_runs(&f);
    GIVE(&f, 0, {"num_layers", "8"}, {"hidden_size", "64"},
         {"ffn_hidden_size", "128"}, {"num_attention_heads", "4"},
         {"group_query_attention", "True"}, {"num_query_groups", "2"},
         {"kv_channels", "16"}, {"padded_vocab_size", "512"},
         {"num_experts", "4"}, {"moe_ffn_hidden_size", "128"},
         {"moe_router_topk", "2"}, {"mtp_num_layers", "1"},
         {"moe_layer_freq", "[0, 1, 1, 1, 1, 1, 1, 1]"}, {"swiglu", "True"},
         {"add_bias_linear", "False"}, {"seq_length", "32"},
         {"pipeline_model_parallel_size", "4"}, {"world_size", "4"},
         {"global_batch_size", "6"});
    refused(&f, "moe_layers is 7, the model has 8");
}

#define WHOLE_DUMP                                                             \
    {"num_layers", "8"}, {"hidden_size", "64"}, {"ffn_hidden_size", "128"},    \
        {"num_attention_heads", "4"}, {"group_query_attention", "True"},       \
        {"num_query_groups", "2"}, {"kv_channels", "16"},                      \
        {"padded_vocab_size", "512"}, {"num_experts", "4"},                    \
        {"moe_ffn_hidden_size", "128"}, {"moe_router_topk", "2"},              \
        {"mtp_num_layers", "1"}, {"swiglu", "True"},                           \
        {"add_bias_linear", "False"}, {"seq_length", "32"},                    \
        {"pipeline_model_parallel_size", "4"}, {"world_size", "4"},            \
    {                                                                          \
        "global_batch_size", "6"                                               \
    }

/* What a layer computes twice is in the timers, so it belongs to the costs. */
Test(fit_check, a_run_with_recompute_is_not_the_model_without)
{
    struct fixture f;
    make_runs(&f);
    GIVE(&f, 0, WHOLE_DUMP, {"recompute_granularity", "selective"},
         {"recompute_modules", "['core_attn', 'moe_act']"});
    f.m.memory.recompute = 1U << RECOMPUTE_CORE_ATTN;
    refused(&f, "recompute_moe_act is 1, the model has 0");
    make_runs(&f);
    GIVE(&f, 0, WHOLE_DUMP, {"fp8", "hybrid"});
    refused(&f, "fp8 is 1, the model has 0");
    // a dump that does not speak of it says nothing against it
    make_runs(&f);
    GIVE(&f, 0, WHOLE_DUMP);
    f.m.memory.recompute = 1U << RECOMPUTE_CORE_ATTN;
    cr_assert_eq(fit_check(&f.arena, &f.m, f.runs, 2, &f.msg), ERR_OK, "%s",
                 f.msg.text);
    arena_clear(&f.arena);
}

Test(fit_check, another_layout_than_the_one_named)
{
    struct fixture f;
    make_runs(&f);
    GIVE(&f, 1, {"num_layers", "8"},
         {"pipeline_model_parallel_layout", "E|t*3|t*4|tmL"});
    refused(&f, "the run was made with 'E|t*3|t*4|tmL'");
    make_runs(&f);
    GIVE(&f, 1, {"num_layers", "8"},
         {"pipeline_model_parallel_layout", "None"});
    refused(&f, "Megatron's default split");
    make_runs(&f); // 8 layers: the split of these flags is none of TWO
    GIVE(&f, 1, {"num_layers", "8"}, {"pipeline_model_parallel_size", "4"},
         {"pipeline_model_parallel_layout", "None"},
         {"decoder_first_pipeline_num_layers", "4"},
         {"decoder_last_pipeline_num_layers", "2"});
    refused(&f, "the run was made with 'Et*4|t|t|t*2");
}

Test(fit_check, warm_up_only)
{
    struct fixture f;
    make_runs(&f);
    struct log_iteration *it = arena_alloc(&f.arena, 1, sizeof *it);
    *it = (struct log_iteration){.iteration = 1, .dropped = "warm-up"};
    f.log[0]->iterations = it;
    f.log[0]->n_iterations = 1;
    refused(&f, "none is usable (warm-up)");
    make_runs(&f);
    f.log[0]->n_iterations = 0;
    refused(&f, "no iteration line");
}

Test(fit_check, timers_that_are_missing)
{
    struct fixture f;
    make_runs(&f);
    f.log[0]->n_timers = 0;
    refused(&f, "--logging-level");
    make_runs(&f);
    f.log[0]->n_timers = SYNTHETIC_ITERATIONS;
    refused(&f, "no 'backward-compute' timer among");
    make_runs(&f);
    f.log[0]->n_timers = SYNTHETIC_ITERATIONS;
    GIVE(&f, 0, {"overlap_moe_expert_parallel_comm", "True"});
    refused(&f, "--overlap-moe-expert-parallel-comm leaves it out");
}

static void only_extremes(struct fixture *f, int run)
{
    struct log_timer *t =
        arena_alloc(&f->arena, f->log[run]->n_timers, sizeof *t);
    for (size_t i = 0; i < f->log[run]->n_timers; i++) {
        t[i] = f->log[run]->timers[i];
        t[i].per_rank = false;
        t[i].min_ms = t[i].max_ms = t[i].rank_ms[0];
    }
    f->log[run]->timers = t;
}

Test(fit_check, extremes_do_not_tell_stages_apart)
{
    struct fixture f;
    make_runs(&f);
    only_extremes(&f, 1);
    refused(&f, "--timing-log-option all");
}

/* One rank: its extremes are its time. */
Test(fit_check, extremes_of_one_rank_are_used)
{
    struct fixture f = {.m = small_model()};
    struct cost truth = study_costs();
    double ms = 0;
    arena_init(&f.arena);
    f.m.par = (struct parallel){1, 1, 1, 1, 1, 1, 1, 1};
    f.runs[0] = synthetic_run(&f.arena, &f.m, &truth, "Et*8mL", 0);
    f.log[0] = arena_alloc(&f.arena, 1, sizeof *f.log[0]);
    *f.log[0] = *f.runs[0].log;
    f.runs[0].log = f.log[0];
    only_extremes(&f, 0);
    cr_assert_eq(fit_check(&f.arena, &f.m, f.runs, 1, &f.msg), ERR_OK, "%s",
                 f.msg.text);
    const struct fit_timer timer = {&f.m, &f.runs[0], RUNLOG_FORWARD};
    cr_assert_eq(fit_stage_times(&f.arena, &timer, &ms, &f.msg), ERR_OK);
    double fwd = cost_stage(&truth, &f.m, &f.runs[0].layout, 0).fwd_s;
    cr_assert_float_eq(ms, fwd * (double)f.m.batch.n_microbatches, 1e-12);
    arena_clear(&f.arena);
}

Test(fit_check, runs_with_different_flags)
{
    struct fixture f;
    make_runs(&f);
    GIVE(&f, 0, {"recompute_granularity", "None"});
    GIVE(&f, 1, {"recompute_granularity", "full"});
    refused(&f, "profile both with the same flags");
    make_runs(&f);
    f.log[1]->clock = "cpu";
    refused(&f, "clock");
}

/* Ranks of one stage: pipeline outermost, or inside replicas. */
Test(fit_check, the_mapping_says_which_ranks_are_a_stage)
{
    struct fixture f;
    make_runs(&f);
    double s[4], ms[8] = {1, 1, 2, 2, 3, 3, 4, 4};
    f.m.par.world = 8;
    f.m.par.dp = 2;
    struct runlog *log = f.log[0];
    log->n_timers = 0;
    synthetic_timer(&f.arena, log, RUNLOG_FORWARD, ms, 8);
    const struct fit_timer timer = {&f.m, &f.runs[0], RUNLOG_FORWARD};
    cr_assert_eq(fit_stage_times(&f.arena, &timer, s, &f.msg), ERR_OK);
    cr_assert(s[0] == 1e-3 && s[3] == 4e-3);
    GIVE(&f, 0, {"use_tp_pp_dp_mapping", "True"});
    cr_assert_eq(fit_stage_times(&f.arena, &timer, s, &f.msg), ERR_OK);
    // stage 0 is ranks 0 and 4, stage 3 is 3 and 7
    cr_assert_float_eq(s[0], 2e-3, 1e-15);
    cr_assert_float_eq(s[3], 3e-3, 1e-15);
    arena_clear(&f.arena);
}

/* ---- EP overlap ---- */

/* Megatron's dump says so, or forward-compute stands alone; moe-train, which
 * has a clock, times both passes under the overlap too. */
Test(fit_check, overlap_is_told_by_the_dump_or_by_a_lone_forward_timer)
{
    struct fixture f;
    make_runs(&f);
    cr_expect_not(fit_check_is_overlapped(&f.runs[0]));
    f.log[0]->clock = NULL;
    GIVE(&f, 0, {"overlap_moe_expert_parallel_comm", "True"});
    cr_expect(fit_check_is_overlapped(&f.runs[0]));
    f.log[0]->clock = "flops";
    cr_expect_not(fit_check_is_overlapped(&f.runs[0]));
    GIVE(&f, 0, {"overlap_moe_expert_parallel_comm", "False"});
    f.log[0]->clock = NULL;
    f.log[0]->n_timers = SYNTHETIC_ITERATIONS;
    cr_expect_not(fit_check_is_overlapped(&f.runs[0]), "the dump says no");
    f.log[0]->n_arguments = 0;
    cr_expect(fit_check_is_overlapped(&f.runs[0]));
    f.log[0]->n_timers = 0;
    cr_expect_not(fit_check_is_overlapped(&f.runs[0]), "no timers at all");
    arena_clear(&f.arena);
}

Test(fit_check, the_overlap_run_needs_no_timers_but_overlap_and_the_model)
{
    struct fixture f;
    make_runs(&f);
    f.log[1]->n_timers = 0;
    GIVE(&f, 1, {"overlap_moe_expert_parallel_comm", "True"});
    cr_expect_eq(
        fit_check_overlap_run(&f.arena, &f.m, &f.runs[1], &f.runs[0], &f.msg),
        ERR_OK, "%s", f.msg.text);
    GIVE(&f, 1, {"overlap_moe_expert_parallel_comm", "False"});
    cr_expect_eq(
        fit_check_overlap_run(&f.arena, &f.m, &f.runs[1], &f.runs[0], &f.msg),
        ERR_PARSE);
    cr_expect(strstr(f.msg.text, "wants a run with it"), "%s", f.msg.text);
    GIVE(&f, 1, {"hidden_size", "128"});
    cr_expect_eq(
        fit_check_overlap_run(&f.arena, &f.m, &f.runs[1], &f.runs[0], &f.msg),
        ERR_PARSE);
    arena_clear(&f.arena);
}
