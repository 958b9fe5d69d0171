/* replay: recorded calls as a script that any shell reads as the same words. */
#include "record/replay.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;
static struct err_msg msg;

static void setup(void)
{
    arena_init(&arena);
}

static void teardown(void)
{
    arena_clear(&arena);
}

TestSuite(record_replay, .init = setup, .fini = teardown);

Test(record_replay, words_are_quoted_where_a_shell_needs_it)
{
    static const char *const words[][2] = {{"--num-layers=4", "--num-layers=4"},
                                           {"", "''"},
                                           {"a b", "'a b'"},
                                           {"it's", "'it'\\''s'"},
                                           {"$(touch x)", "'$(touch x)'"},
                                           {"a\nb", "'a\nb'"},
                                           {"Et*5|t", "'Et*5|t'"},
                                           {"~", "'~'"},
                                           {"#x", "'#x'"},
                                           {"'", "''\\'''"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        cr_assert_str_eq(replay_quote(&arena, words[i][0]), words[i][1]);
}

Test(record_replay, a_launch_has_a_flag_or_a_dotted_key)
{
    static const struct {
        const char *word;
        bool launch;
    } cases[] = {{"--seq-length", true},
                 {"--a=b", true},
                 {"model.layers=4", true},
                 {"+trainer.x.y=1", true},
                 {"x.py", false},
                 {"-c", false},
                 {"--", false},
                 {"a=b", false},
                 {"./x.y=z", false},
                 {"conf/a.yaml", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *argv[] = {"python", cases[i].word};
        struct record_call call = {.program = "python", .argv = {argv, 2}};
        cr_assert_eq(replay_is_launch(&call), cases[i].launch, "%s",
                     cases[i].word);
        call.elsewhere = true;
        cr_assert_not(replay_is_launch(&call));
    }
    const char *only[] = {"--flag"};
    const struct record_call call = {.program = "x", .argv = {only, 1}};
    cr_assert_not(replay_is_launch(&call), "a program is no flag");
}

static const char *printed(const struct record_calls *calls)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    cr_assert_eq(replay_print(&arena, calls, f, &msg), ERR_OK);
    fclose(f);
    const char *copy = arena_strdup(&arena, text);
    free(text);
    return copy;
}

Test(record_replay, prints_launches_once_with_all_that_stands_in_front)
{
    const char *a[] = {"torchrun", "x.py", "--list", "1 2"};
    const char *b[] = {"python", "tool.py"};
    const char *outer[] = {"srun", "-N", "2"}, *job[] = {"--nodes=2"};
    const struct record_setting env[] = {{"WORLD_SIZE", "8"}, {"X", "a b"}};
    struct record_call call[] = {{.program = "torchrun",
                                  .argv = {a, 4},
                                  .env = env,
                                  .n_env = 2,
                                  .outer = {outer, 3},
                                  .job = {job, 1}},
                                 {.program = "python", .argv = {b, 2}},
                                 {0}};
    call[2] = call[0];
    const struct record_calls calls = {.call = call, .n = 3};
    cr_assert_str_eq(printed(&calls),
                     "#!/bin/bash\n#SBATCH --nodes=2\n"
                     "WORLD_SIZE=8 X='a b' srun -N 2 torchrun x.py --list "
                     "'1 2'\n");
    call[2].job.n = 0;
    call[2].outer.n = 0;
    cr_assert_str_eq(printed(&calls),
                     "#!/bin/bash\n"
                     "WORLD_SIZE=8 X='a b' srun -N 2 torchrun x.py --list "
                     "'1 2'\n"
                     "WORLD_SIZE=8 X='a b' torchrun x.py --list '1 2'\n",
                     "jobs differ: no line is right for both");
}

Test(record_replay, a_program_with_an_equals_sign_sets_nothing)
{
    const char *argv[] = {"LD_PRELOAD=x", "--a"};
    struct record_call call = {.program = "x", .argv = {argv, 2}};
    const struct record_calls calls = {.call = &call, .n = 1};
    cr_assert_str_eq(printed(&calls), "#!/bin/bash\n'LD_PRELOAD=x' --a\n");
}
