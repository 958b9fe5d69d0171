#include "judge/logged.h"

#include "judge_ask.h"

#define END "decoder_first_pipeline_num_layers"
#define TAIL "decoder_last_pipeline_num_layers"

enum { MOST = 12 };

/* A list of arguments as Megatron prints it: of 8 layers on 2 stages, and what
 * the row adds. */
static const struct {
    struct log_argument more[MOST];
    const char *layout; // NULL: not told
} rows[] = {
    {{{"pipeline_model_parallel_layout", "None"}}, "Et*4|t*4L"},
    {{{END, "None"}}, "Et*4|t*4L"}, // before layouts
    {{{END, "5"}, {TAIL, "3"}}, "Et*5|t*3L"},
    {{{END, "None"}, {TAIL, "2"}}, "Et*6|t*2L"},
    {{{END, "None"}, {"num_layers_per_virtual_pipeline_stage", "2"}},
     "Et*2|t*2|t*2|t*2L"},
    {{{END, "None"}, {"num_virtual_stages_per_pipeline_rank", "4"}},
     "Et|(t|)*6tL"},
    {{{END, "None"}, {"mtp_num_layers", "1"}}, "Et*4|t*4mL"},
    {{{0}}, NULL}, // another program's list: some flags of many
    {{{"pipeline_model_parallel_layout", "Et*3|t*5L"}}, NULL}, // has its own
    {{{END, "7"}, {TAIL, "3"}}, NULL}, // what Megatron refuses never ran
};

static struct runlog list_of(int row, struct log_argument args[MOST + 3])
{
    static const struct log_argument first[] = {
        {"num_layers", "8"},
        {"pipeline_model_parallel_size", "2"},
        {"position_embedding_type", "rope"}};
    size_t n = sizeof first / sizeof first[0];
    memcpy(args, first, sizeof first);
    for (int i = 0; i < MOST && rows[row].more[i].name; i++)
        args[n++] = rows[row].more[i];
    return (struct runlog){.arguments = args, .n_arguments = n};
}

Test(logged, the_split_that_a_list_makes)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a;
        struct log_argument args[MOST + 3];
        const struct runlog log = list_of((int)i, args);
        const struct core_version *core;
        struct logged_split own;
        arena_init(&a);
        cr_assert_eq(core_version_find(NULL, &core, NULL), ERR_OK);
        cr_assert_eq(logged_split(&a, &log, core, &own, NULL), ERR_OK);
        cr_expect_eq(own.known, rows[i].layout != NULL, "row %zu", i);
        if (own.known)
            cr_expect_str_eq(layout_string(&a, &own.layout), rows[i].layout);
        arena_clear(&a);
    }
}

/* The flags of a script joined with those of the log's list. */
static void join(struct arena *a, const char *script, const char *from,
                 const char *listed, struct megatron_flags *to)
{
    static const struct log_argument whole[] = {
        {"num_layers", "8"},
        {"pipeline_model_parallel_size", "2"},
        {END, "None"}};
    const struct runlog log = {.arguments = whole, .n_arguments = 3};
    struct megatron_flags own;
    read_line(a, to, script);
    for (int i = 0; i < N_FLAGS; i++)
        to->slot[i].from = from;
    read_line(a, &own, listed);
    logged_join(&log, &own, to);
}

Test(logged, the_list_wins_where_it_tells_the_split)
{
    struct arena a;
    struct megatron_flags f;
    arena_init(&a);
    join(&a, "--num-layers 8 " PP "2 " FIRST "5 " LAST "3", "run.sh:7",
         "--num-layers 8 " PP "2 " GBS "64", &f);
    cr_expect_not(flags_given(&f, FLAG_FIRST_LAYERS), "an edited script");
    cr_expect_not(flags_given(&f, FLAG_LAST_LAYERS));
    cr_expect_eq(flags_int(&f, FLAG_GLOBAL_BATCH_SIZE, 0), 64, "is filled in");
    join(&a, "--num-layers 8 " PP "2 " LAYOUT "Et*3|t*5L", "run.sh:7",
         "--num-layers 8 " PP "2 " FIRST "5 " LAST "3", &f);
    cr_expect_not(flags_given(&f, FLAG_LAYOUT), "one beside the other is none");
    cr_expect_eq(flags_int(&f, FLAG_FIRST_LAYERS, 0), 5);
    join(&a, "--num-layers 8 " PP "2 " GBS "32", "run.sh:7",
         "--num-layers 8 " PP "2 " GBS "64", &f);
    cr_expect_eq(flags_int(&f, FLAG_GLOBAL_BATCH_SIZE, 0), 32, "stays");
    arena_clear(&a);
}

Test(logged, a_split_that_was_typed_stands)
{
    struct arena a;
    struct megatron_flags f;
    arena_init(&a);
    join(&a, "--num-layers 8 " PP "2 " LAYOUT "Et*3|t*5L", "-- flag",
         "--num-layers 8 " PP "2 " FIRST "5 " LAST "3", &f);
    cr_expect_str_eq(flags_text(&f, FLAG_LAYOUT), "Et*3|t*5L");
    cr_expect_not(flags_given(&f, FLAG_FIRST_LAYERS));
    arena_clear(&a);
}
