/* lines: a call survives being written and read; what is no call is named. */
#include "record/lines.h"

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

TestSuite(record_lines, .init = setup, .fini = teardown);

static enum err read_text(const char *text, struct record_calls *out)
{
    char *copy = arena_strdup(&arena, text);
    return record_lines_read(&arena, (struct text_span){copy, strlen(copy)},
                             "rec", out, &msg);
}

Test(record_lines, a_call_is_read_as_it_was_written)
{
    const char *argv[] = {"torchrun", "--name", "a 'b'\n\"c\"\\ \x01\xff", ""};
    const char *outer[] = {"srun", "-N2"}, *job[] = {"--nodes=2"};
    const struct record_setting env[] = {{"WORLD_SIZE", "8"}, {"NNODES", ""}};
    const struct record_call call = {.program = "torchrun",
                                     .argv = {argv, 4},
                                     .env = env,
                                     .n_env = 2,
                                     .outer = {outer, 2},
                                     .job = {job, 1},
                                     .piped = true};
    struct record_calls calls;
    const char *line = record_line(&arena, &call);
    cr_assert_eq(strchr(line, '\n'), line + strlen(line) - 1, "one line");
    cr_assert_eq(read_text(arena_printf(&arena, "%s%s", line, line), &calls),
                 ERR_OK, "%s", msg.text);
    cr_assert_eq(calls.n, 2);
    cr_assert_not(calls.cut);
    const struct record_call *c = &calls.call[1];
    cr_assert_str_eq(c->program, "torchrun");
    cr_assert_eq(c->argv.n, 4);
    for (int i = 0; i < 4; i++)
        cr_assert_str_eq(c->argv.word[i], argv[i]);
    cr_assert_eq(c->n_env, 2);
    cr_assert_str_eq(c->env[0].name, "WORLD_SIZE");
    cr_assert_str_eq(c->env[1].value, "");
    cr_assert_str_eq(c->outer.word[1], "-N2");
    cr_assert_str_eq(c->job.word[0], "--nodes=2");
    cr_assert(c->piped && !c->elsewhere);
}

Test(record_lines, words_pass_through_a_variable)
{
    const char *word[] = {"srun", "a b", "\"", "$x"};
    struct record_words back;
    const char *text =
        record_words_text(&arena, (struct record_words){word, 4});
    cr_assert_null(strchr(text, '\n'));
    cr_assert_eq(record_words_read(&arena, text, "OUTER", &back, &msg), ERR_OK);
    cr_assert_eq(back.n, 4);
    for (int i = 0; i < 4; i++)
        cr_assert_str_eq(back.word[i], word[i]);
    cr_assert_eq(record_words_read(&arena, "[\"a\"", "OUTER", &back, &msg),
                 ERR_PARSE);
    cr_assert_eq(record_words_read(&arena, "[1]", "OUTER", &back, &msg),
                 ERR_PARSE);
}

#define GOOD "{\"program\":\"x\",\"argv\":[\"x\"]}\n"

Test(record_lines, a_line_that_is_no_call_is_named)
{
    static const struct {
        const char *line, *says;
    } bad[] = {
        {"nonsense\n", "rec:2"},
        {"\n", "rec:2"},
        {"{}\n", "rec:2"},
        {"[]\n", "rec:2"},
        {"{\"program\":\"x\",\"argv\":[]}\n", "argv"},
        {"{\"program\":\"x\",\"argv\":[1]}\n", "argv"},
        {"{\"program\":\"x\",\"argv\":\"x\"}\n", "argv"},
        {"{\"program\":\"x\",\"argv\":[\"x\"],\"more\":1}\n", "more"},
        {"{\"program\":\"x\",\"argv\":[\"x\"],\"env\":{\"a;b\":\"\"}}\n",
         "a;b"},
        {"{\"program\":\"x\",\"argv\":[\"x\"],\"env\":{\"\":\"\"}}\n",
         "variable"},
        {"{\"program\":\"x\",\"argv\":[\"x\"],\"job\":[\"--a\\nrm\"]}\n",
         "sbatch"},
        {"{\"program\":\"x\",\"argv\":[\"x\"]}", "no end"},
        {GOOD "{\"program\":\"x\",\"argv\":[\"x\"]} x\n", "rec:3"},
    };
    struct record_calls calls;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        enum err e =
            read_text(arena_printf(&arena, GOOD "%s", bad[i].line), &calls);
        cr_assert_eq(e, ERR_PARSE, "%s", bad[i].line);
        cr_assert(strstr(msg.text, bad[i].says), "%s: %s", bad[i].line,
                  msg.text);
    }
}

Test(record_lines, a_zero_byte_is_named)
{
    char text[] = GOOD GOOD;
    struct record_calls calls;
    text[sizeof GOOD + 3] = '\0';
    cr_assert_eq(record_lines_read(&arena,
                                   (struct text_span){text, sizeof text - 1},
                                   "rec", &calls, &msg),
                 ERR_PARSE);
    cr_assert(strstr(msg.text, "rec:2: holds a zero byte"), "%s", msg.text);
}

/* `n` copies of the line. */
static struct text_span many(const char *line, size_t n)
{
    size_t len = strlen(line);
    char *text = arena_alloc(&arena, n * len + 1, 1);
    for (size_t i = 0; i < n; i++)
        memcpy(text + i * len, line, len);
    return (struct text_span){text, n * len};
}

Test(record_lines, calls_behind_the_bounds_are_left_out)
{
    struct record_calls calls;
    cr_assert_eq(record_lines_read(&arena, many(GOOD, RECORD_MAX_CALLS), "rec",
                                   &calls, &msg),
                 ERR_OK);
    cr_assert(calls.n == RECORD_MAX_CALLS && !calls.cut);
    cr_assert_eq(record_lines_read(&arena, many(GOOD, RECORD_MAX_CALLS + 9),
                                   "rec", &calls, &msg),
                 ERR_OK);
    cr_assert(calls.n == RECORD_MAX_CALLS && calls.cut);
}

/* A call of `n` words as a line. */
static const char *long_call(size_t n)
{
    const char **word = arena_alloc(&arena, n, sizeof *word);
    for (size_t i = 0; i < n; i++)
        word[i] = "w";
    return record_line(
        &arena, &(struct record_call){.program = "x", .argv = {word, (int)n}});
}

Test(record_lines, words_are_bounded)
{
    struct record_calls calls;
    cr_assert_eq(read_text(long_call(RECORD_MAX_WORDS), &calls), ERR_OK);
    cr_assert_eq(read_text(long_call(RECORD_MAX_WORDS + 1), &calls), ERR_PARSE);
    size_t n = RECORD_MAX_ALL_WORDS / RECORD_MAX_WORDS;
    struct text_span text = many(long_call(RECORD_MAX_WORDS), n + 5);
    cr_assert_eq(record_lines_read(&arena, text, "rec", &calls, &msg), ERR_OK);
    cr_assert(calls.cut);
    cr_assert_eq((size_t)calls.n, n + 1);
    text = many("w", RECORD_MAX_LINE_BYTES);
    cr_assert_eq(record_lines_read(&arena, text, "rec", &calls, &msg),
                 ERR_PARSE);
    cr_assert(strstr(msg.text, "bytes"), "%s", msg.text);
}
