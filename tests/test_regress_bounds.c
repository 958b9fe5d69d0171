#include "regress/bounds.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD "format,dataset,mean_pct,memory_under_pct,note\n"
#define ROW "moe-bench/bounds/1,"

static struct arena arena;
static struct err_msg msg;

static void setup(void)
{
    arena_init(&arena);
    msg = (struct err_msg){""};
}

static void teardown(void)
{
    arena_clear(&arena);
}

TestSuite(bounds, .init = setup, .fini = teardown);

static enum err read_text(const char *text, struct bounds *out)
{
    char path[] = "/tmp/bounds-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    const enum err e = bounds_read(&arena, path, out, &msg);
    unlink(path);
    return e;
}

Test(bounds, empty_fields_are_those_of_all_and_then_the_marks_own)
{
    struct bounds b;
    cr_assert_eq(read_text(HEAD ROW "x,2,,\n" ROW "*,,1,why\n", &b), ERR_OK,
                 "%s", msg.text);
    const struct bound *x = bounds_of(&b, "x"), *y = bounds_of(&b, "y");
    cr_expect_eq(x->pct[MARK_MEAN], 2);
    cr_expect_eq(x->pct[MARK_MEMORY_UNDER], 1);
    cr_expect_eq(x->pct[MARK_REPLAY], mark_default_bound(MARK_REPLAY));
    cr_expect_eq(y->pct[MARK_MEAN], mark_default_bound(MARK_MEAN));
    cr_expect_eq(y->pct[MARK_MEMORY_UNDER], 1);
}

Test(bounds, errors_are_one_line_that_names_the_place)
{
    static const struct {
        const char *text, *part;
        enum err err;
    } cases[] = {
        {HEAD ROW "x,-1,,\n", "line 2: mean_pct: got -1", ERR_RANGE},
        {HEAD ROW "x,-0.001,,\n", "line 2: mean_pct", ERR_RANGE},
        {HEAD ROW "x,nan,,\n", "mean_pct: got 'nan'", ERR_PARSE},
        {HEAD ROW "x,inf,,\n", "mean_pct: got 'inf'", ERR_PARSE},
        {HEAD ROW "x,1e9,,\n", "mean_pct: got 1e9", ERR_RANGE},
        {HEAD ROW "x,1 %,,\n", "mean_pct: got '1 %'", ERR_PARSE},
        {HEAD ROW "x,1,,\n" ROW "y,,,\n" ROW "x,2,,\n",
         "line 4: dataset 'x' has bounds in line 2", ERR_PARSE},
        {HEAD ROW "*,1,,\n" ROW "*,1,,\n", "dataset '*'", ERR_PARSE},
        {HEAD ROW ",1,,\n", "line 2: dataset: got nothing", ERR_PARSE},
        {HEAD "moe-bench/bounds/2,x,1,,\n", "format", ERR_PARSE},
        {"format,dataset,mean\n" ROW "x,1\n", "column 'mean'", ERR_PARSE},
        {HEAD ROW "x,1\n", "", ERR_PARSE},
        {"", "", ERR_PARSE},
    };
    struct bounds b;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(read_text(cases[i].text, &b), cases[i].err, "case %zu: %s",
                     i, msg.text);
        cr_expect(strstr(msg.text, cases[i].part), "case %zu: %s", i, msg.text);
        cr_expect_not(strchr(msg.text, '\n'));
    }
}

static bool is_x(const void *data, const char *dataset)
{
    return strcmp(dataset, data) == 0;
}

Test(bounds, a_dataset_that_is_not_known_is_named_with_the_nearest)
{
    struct bounds b;
    const char *const names[] = {"local-exact"};
    const struct bounds_known known = {is_x, "local-exact", names, 1};
    cr_assert_eq(read_text(HEAD ROW "*,1,,\n" ROW "local-exact,1,,\n", &b),
                 ERR_OK, "%s", msg.text);
    cr_expect_eq(bounds_check(&b, &known, &msg), ERR_OK);
    cr_assert_eq(read_text(HEAD ROW "local-exakt,1,,\n", &b), ERR_OK);
    cr_expect_eq(bounds_check(&b, &known, &msg), ERR_PARSE);
    cr_expect(strstr(msg.text, "line 2: dataset 'local-exakt'"), "%s",
              msg.text);
    cr_expect(strstr(msg.text, "nearest is 'local-exact'"), "%s", msg.text);
}
