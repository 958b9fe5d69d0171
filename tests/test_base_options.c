/* options: the one reader of command lines. */
#include "base/options.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { QUIET, OUT, RUN, TOP, RATE, HIDDEN, HELP, N_ROWS };

static const struct option_row rows[N_ROWS] = {
    [QUIET] = {"--quiet", "-q", "", "no progress"},
    [OUT] = {"--out", NULL, "DIR", "where results go (results/<name>)"},
    [RUN] = {"--run", NULL, "LAYOUT=LOG", "a run; give two or more"},
    [TOP] = {"--top", NULL, "K", "how many"},
    [RATE] = {"--rate", NULL, "X", "how fast"},
    [HIDDEN] = {"--hidden", NULL, "", "an option of another command"},
    [HELP] = OPTIONS_HELP_ROW};
static const int takes[] = {QUIET, OUT, RUN, TOP, RATE, HELP, N_ROWS};

static const struct option_spec spec = {.program = "prog",
                                        .command = "go",
                                        .synopsis = "go FILE [--out DIR]",
                                        .rows = rows,
                                        .n_rows = N_ROWS,
                                        .takes = takes,
                                        .max_operands = 2};

static struct arena arena;
static struct options line;
static struct err_msg msg;

enum { MAX_WORDS = 16 };

/* Reads the words, given with blanks between them. */
static enum err read_with(const struct option_spec *s, const char *words)
{
    // the rest of a line points into its words
    char **argv = arena_alloc(&arena, MAX_WORDS, sizeof *argv), *save = NULL;
    int argc = 0;
    char *copy = arena_strdup(&arena, words);
    for (char *w = strtok_r(copy, " ", &save); w;
         w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    return options_read(&arena, s, (struct option_line){argc, argv, 0}, &line,
                        &msg);
}

static enum err read_words(const char *words)
{
    return read_with(&spec, words);
}

static void begin(void)
{
    arena_init(&arena);
}

static void end(void)
{
    arena_clear(&arena);
}

TestSuite(options, .init = begin, .fini = end);

Test(options, values_follow_as_a_word_or_an_equals_sign)
{
    cr_assert_eq(read_words("a --out x -q --top=3"), ERR_OK);
    cr_assert_str_eq(options_text(&line, OUT), "x");
    cr_assert_str_eq(options_text(&line, TOP), "3");
    cr_assert(options_given(&line, QUIET));
    cr_assert(!options_given(&line, RATE));
    cr_assert_eq(line.n_operands, 1);
    cr_assert_eq(read_words("--out=--odd"), ERR_OK);
    cr_assert_str_eq(options_text(&line, OUT), "--odd");
    cr_assert_eq(read_words("--out="), ERR_OK);
    cr_assert_str_eq(options_text(&line, OUT), "");
}

Test(options, a_name_is_matched_whole)
{
    cr_assert_eq(read_words("--ou x"), ERR_PARSE);
    cr_assert_eq(read_words("--outer x"), ERR_PARSE);
    cr_assert_eq(read_words("-h"), ERR_OK);
    cr_assert(options_given(&line, HELP));
}

Test(options, the_last_of_two_wins_and_lists_keep_all)
{
    const char *all[MAX_WORDS];
    cr_assert_eq(read_words("--top 1 --run a=b --top 2 --run c=d"), ERR_OK);
    cr_assert_str_eq(options_text(&line, TOP), "2");
    cr_assert_eq(options_each(&line, RUN, all), 2);
    cr_assert_str_eq(all[0], "a=b");
    cr_assert_str_eq(all[1], "c=d");
}

Test(options, two_dashes_end_the_options)
{
    cr_assert_eq(read_words("-q -- --out -q"), ERR_OK);
    cr_assert_eq(line.n_operands, 2);
    cr_assert_str_eq(line.operands[0], "--out");
    struct option_spec keeps = spec;
    keeps.keeps_rest = true;
    cr_assert_eq(read_with(&keeps, "a -- --out -q c"), ERR_OK);
    cr_assert_eq(line.n_operands, 1);
    cr_assert_eq(line.n_rest, 3);
    cr_assert_str_eq(line.rest[0], "--out");
    cr_assert_eq(read_with(&keeps, "a --"), ERR_OK);
    cr_assert(line.has_rest);
    cr_assert_eq(line.n_rest, 0);
}

Test(options, errors_say_what_is_wrong_and_what_is_near)
{
    const struct {
        const char *words, *text;
    } bad[] = {
        {"--oot x", "unknown option '--oot', did you mean '--out'?"},
        {"--oot=x", "did you mean '--out'?"},
        {"--zzzzzzzzz", "unknown option '--zzzzzzzzz'; see prog go --help"},
        {"--hidden", "unknown option '--hidden'"},
        {"--out", "--out: value missing, want DIR"},
        {"--out --quiet", "--out: value missing before '--quiet', want DIR; if "
                          "that is the value, write --out=--quiet"},
        {"--quiet=1", "--quiet: takes no value"},
        {"a b c", "'c' is one too many; usage: prog go FILE"},
        {"a b -- c", "'c' is one too many"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(read_words(bad[i].words), ERR_PARSE, "%s", bad[i].words);
        cr_assert(strstr(msg.text, bad[i].text), "%s: %s", bad[i].words,
                  msg.text);
    }
}

Test(options, numbers_keep_to_their_bounds)
{
    const struct options_whole w = {1, 10};
    const struct options_number n = {0, 1};
    int64_t top = 7;
    double rate = 0.5;
    cr_assert_eq(read_words(""), ERR_OK);
    cr_assert_eq(options_int(&line, TOP, w, &top, &msg), ERR_OK);
    cr_assert_eq(top, 7);
    cr_assert_eq(read_words("--top 10 --rate -1"), ERR_OK);
    cr_assert_eq(options_int(&line, TOP, w, &top, &msg), ERR_OK);
    cr_assert_eq(top, 10);
    cr_assert_eq(options_double(&line, RATE, n, &rate, &msg), ERR_RANGE);
    cr_assert_str_eq(msg.text, "--rate: got -1, want 0 to 1");
    cr_assert(rate > 0.4);
    cr_assert_eq(read_words("--top 11 --rate x"), ERR_OK);
    cr_assert_eq(options_int(&line, TOP, w, &top, &msg), ERR_RANGE);
    cr_assert_str_eq(msg.text, "--top: got 11, want 1 to 10");
    cr_assert_eq(options_double(&line, RATE, n, &rate, &msg), ERR_PARSE);
    cr_assert_str_eq(msg.text, "--rate: got 'x', want a number");
    cr_assert_eq(read_words("--top 1x"), ERR_OK);
    cr_assert_eq(options_int(&line, TOP, w, &top, &msg), ERR_PARSE);
}

Test(options, help_is_of_the_table_within_80_columns)
{
    static const struct option_row wide[] = {
        {"--a", NULL, "N",
         "words words words words words words words words words words words "
         "words words words"},
        {"--a-name-that-is-too-long", NULL, "VALUE", "below it"}};
    const struct option_spec s = {.rows = wide, .n_rows = 2};
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    options_print(&s, f);
    options_print(&spec, f);
    fclose(f);
    for (char *p = text; *p; p += strcspn(p, "\n") + 1)
        cr_assert_leq(strcspn(p, "\n"), 80);
    cr_assert(strstr(text, "\n                       words"));
    cr_assert(strstr(text, "\n                       below it\n"));
    cr_assert(strstr(text, "  --quiet, -q          no progress\n"));
    cr_assert(strstr(text, "  --out DIR            where"));
    cr_assert(!strstr(text, "--hidden"));
    free(text);
}

Test(options, an_unknown_command_names_the_nearest)
{
    static const char *const names[] = {"plan", "fit"};
    cr_assert_eq(options_unknown_command("prog", "pln", names, 2, &msg),
                 ERR_PARSE);
    cr_assert_str_eq(msg.text, "unknown command 'pln', did you mean 'plan'?; "
                               "see prog --help");
}

Test(options, first_operand_ends_the_options_of_a_runner)
{
    struct option_spec runner = spec;
    runner.keeps_rest = runner.operand_ends = true;
    cr_assert_eq(read_with(&runner, "--top 3 run.sh --top 4 -- --bad"), ERR_OK,
                 "%s", msg.text);
    cr_assert_str_eq(options_text(&line, TOP), "3");
    cr_assert_eq(line.n_rest, 5);
    cr_assert_str_eq(line.rest[0], "run.sh");
    cr_assert_str_eq(line.rest[4], "--bad");
    cr_assert_eq(line.n_operands, 0);
    cr_assert_eq(read_with(&runner, "-- --odd.sh -q"), ERR_OK);
    cr_assert_eq(line.n_rest, 2);
    cr_assert_str_eq(line.rest[0], "--odd.sh");
    cr_assert_eq(read_with(&runner, "--bad run.sh"), ERR_PARSE);
}

static bool begins_with_two(const char *word)
{
    return word[0] == '-' && word[1] == '2';
}

/* What is no option of the command's may be an operand; an option stays one. */
Test(options, words_with_a_dash_that_a_command_takes_as_operands)
{
    struct option_spec s = spec;
    s.max_operands = OPTIONS_ANY;
    cr_expect_neq(read_with(&s, "-2"), ERR_OK);
    s.is_operand = begins_with_two;
    cr_expect_eq(read_with(&s, "-2 --help"), ERR_OK);
    cr_expect_eq(read_with(&s, "-3"), ERR_PARSE);
    cr_expect_eq(read_with(&s, "--quietly"), ERR_PARSE);
}
