#include "source/log.h"

#include "log/parse.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char DUMP[] = "tests/fixtures/models/dump.log";

Test(source_log, the_dump_is_the_model_that_ran)
{
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    arena_init(&a);
    struct megatron_args *args = megatron_args_new(&a);
    struct runlog log;
    enum err e = logparse_read(&a, DUMP, &log, &msg);
    if (e == ERR_OK)
        e = source_log_read(&log, DUMP, args, &msg);
    if (e == ERR_OK)
        e = megatron_args_model(&a, args, &m, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_assert_eq(model_total_params(&m), 6858278912);
    cr_assert_not(m.linear_bias, "add_bias_linear False");
    cr_assert_not(m.mla, "kv_lora_rank is there and has no effect");
    cr_assert(m.par.world == 16 && m.par.dp == 4 && m.par.etp == 1);
    cr_assert_eq(m.batch.n_microbatches, 32);
    arena_clear(&a);
}

/* Where a write was lost a file holds zeros: between lines, or in the place of
 * a line's end, they are no part of any. '@' stands for one. */
Test(source_log, zeros_between_lines_change_nothing)
{
    static const char rule[] = "------------------------";
    static const char *const bodies[] = {
        "  num_layers .. 2\n  seq_length .. 64\n",
        "  num_layers .. 2\n@@  seq_length .. 64",
        "  num_layers .. 2@\n  seq_length .. 64@",
        "@  num_layers .. 2@  seq_length .. 64\n"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct arena a;
        struct runlog log;
        struct err_msg msg = {""};
        char text[256];
        arena_init(&a);
        int n = snprintf(text, sizeof text, "%s arguments %s\n%s", rule, rule,
                         bodies[i]);
        for (char *p = text; p < text + n; p++)
            *p = *p == '@' ? '\0' : *p;
        enum err e = logparse_read_memory(&a, text, (size_t)n, &log, &msg);
        cr_expect_eq(e, ERR_OK, "%zu: %s", i, msg.text);
        cr_expect_eq(log.n_arguments, 2, "%zu: %zu", i, log.n_arguments);
        arena_clear(&a);
    }
}

Test(source_log, a_log_without_a_dump_is_refused)
{
    struct runlog log = {0};
    struct arena a;
    struct err_msg msg = {""};
    arena_init(&a);
    struct megatron_args *args = megatron_args_new(&a);
    cr_assert_eq(source_log_read(&log, "x.log", args, &msg), ERR_PARSE);
    cr_assert(strstr(msg.text, "x.log") && strstr(msg.text, "launch script"));
    arena_clear(&a);
}

/* arguments whose sense differs from the flag's */
Test(source_log, switches_that_turn_things_off_are_inverted)
{
    static const struct log_argument arguments[] = {
        {"num_layers", "2"},          {"hidden_size", "64"},
        {"num_attention_heads", "4"}, {"padded_vocab_size", "128"},
        {"add_bias_linear", "True"},  {"add_position_embedding", "False"},
        {"num_experts", "None"},
    };
    struct runlog log = {.arguments = arguments,
                         .n_arguments = sizeof arguments / sizeof arguments[0]};
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    arena_init(&a);
    struct megatron_args *args = megatron_args_new(&a);
    cr_assert_eq(source_log_read(&log, "x.log", args, &msg), ERR_OK);
    cr_assert_eq(megatron_args_model(&a, args, &m, &msg), ERR_OK, "%s",
                 msg.text);
    cr_assert(m.linear_bias && !m.learned_positions && m.n_experts == 0);
    arena_clear(&a);
}

/* overlap_p2p_comm False of a dump with these virtual stages. */
static bool no_overlap(const char *virtual_stages)
{
    const struct log_argument arguments[] = {
        {"num_layers", "8"},
        {"hidden_size", "64"},
        {"num_attention_heads", "4"},
        {"padded_vocab_size", "128"},
        {"pipeline_model_parallel_size", "4"},
        {"overlap_p2p_comm", "False"},
        {"virtual_pipeline_model_parallel_size", virtual_stages},
    };
    struct runlog log = {.arguments = arguments,
                         .n_arguments = sizeof arguments / sizeof arguments[0]};
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    arena_init(&a);
    struct megatron_args *args = megatron_args_new(&a);
    cr_assert_eq(source_log_read(&log, "x.log", args, &msg), ERR_OK);
    cr_assert_eq(megatron_args_model(&a, args, &m, &msg), ERR_OK, "%s",
                 msg.text);
    arena_clear(&a);
    return m.no_overlap_p2p;
}

/* Megatron turns overlap off by itself where there are none. */
Test(source_log, no_overlap_of_transfers_counts_with_virtual_stages)
{
    cr_assert(no_overlap("2"));
    cr_assert_not(no_overlap("None"));
}
