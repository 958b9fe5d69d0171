#include "base/csv.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum err read_text(struct arena *a, const char *text, struct csv *out,
                          struct err_msg *msg)
{
    char path[] = "/tmp/moe-csv-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    enum err e = csv_read_file(a, path, out, msg);
    unlink(path);
    return e;
}

Test(csv, columns_are_found_by_name)
{
    struct arena a;
    struct csv t;
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(
        read_text(&a, "format,x,note\nv1,1.5,\"a,\"\"b\"\"\"\nv1,,z", &t, &msg),
        ERR_OK, "%s", msg.text);
    cr_assert_eq(t.n_rows, 2);
    cr_assert_str_eq(csv_get(&t, 0, "note"), "a,\"b\"");
    cr_assert_str_eq(csv_get(&t, 1, "x"), "");
    cr_assert_null(csv_get(&t, 0, "nope"));
    double d = 0;
    cr_assert(csv_get_double(&t, 0, "x", &d));
    cr_assert_float_eq(d, 1.5, 0);
    cr_assert_not(csv_get_double(&t, 1, "x", &d), "empty is missing");
    arena_clear(&a);
}

Test(csv, missing_rows_and_columns_are_as_empty_fields)
{
    struct arena a;
    struct csv t, none = {.n_columns = 0};
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(read_text(&a, "format,x\nv1,1.5\n", &t, &msg), ERR_OK);
    cr_expect_str_eq(csv_text(&t, 0, "format"), "v1");
    cr_expect_str_eq(csv_text(&t, 0, "nope"), "");
    cr_expect_str_eq(csv_text(&t, 1, "format"), "", "behind the last row");
    cr_expect_str_eq(csv_text(&none, 0, "format"), "");
    cr_expect_null(csv_get(&t, 1, "format"));
    cr_expect_float_eq(csv_double(&t, 0, "x"), 1.5, 0);
    cr_expect(isnan(csv_double(&t, 0, "format")), "not a number");
    cr_expect(isnan(csv_double(&t, 1, "x")));
    cr_expect(csv_is(&t, 0, "format", "v1"));
    cr_expect_not(csv_is(&t, 0, "format", "v"));
    cr_expect(csv_is(&t, 1, "format", ""));
    arena_clear(&a);
}

Test(csv, ragged_rows_and_open_quotes_are_errors)
{
    struct arena a;
    struct csv t;
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(read_text(&a, "a,b\n1\n", &t, &msg), ERR_PARSE);
    cr_assert(strstr(msg.text, "row 2"), "%s", msg.text);
    cr_assert_eq(read_text(&a, "a,b\n\"1,2\n", &t, &msg), ERR_PARSE);
    cr_assert_eq(read_text(&a, "", &t, &msg), ERR_PARSE);
    arena_clear(&a);
}

Test(csv, what_is_written_is_read_back)
{
    struct arena a;
    struct csv t;
    struct err_msg msg;
    arena_init(&a);
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    static const char *const head[] = {"format", "layout", "v"};
    char number[CSV_NUMBER_BYTES];
    const char *row[] = {"f/1", "Et*3,m|\"L\"\n", csv_number(0.1, number)};
    cr_assert(csv_write_row(f, head, 3));
    cr_assert(csv_write_row(f, row, 3));
    fclose(f);
    cr_assert_eq(read_text(&a, text, &t, &msg), ERR_OK, "%s", msg.text);
    cr_assert_str_eq(csv_get(&t, 0, "layout"), row[1]);
    double d = 0;
    cr_assert(csv_get_double(&t, 0, "v", &d));
    cr_assert(d == 0.1, "%%.17g keeps every bit");
    cr_assert_null(csv_number((double)NAN, number));
    free(text);
    arena_clear(&a);
}

/* A field that grows by a few bytes at a time, or a list that grows with it,
 * takes minutes here. */
Test(csv, a_megabyte_of_anything_is_read_at_once, .timeout = 60)
{
    static const struct {
        const char *begin, *part, *end;
        size_t n_rows, n_columns;
    } cases[] = {{"a,b\n1,\"", "xxxxxxxxxx", "\"\n", 1, 2},
                 {"a", ",bbbbbbbbb", "\n", 0, 400001},
                 {"a\n", "1\n2\n3\n4\n5\n", "", 2000000, 1},
                 {"a", ",", "\n1", 0, 0}};
    enum { PARTS = 400000, PART_BYTES = 10 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a;
        struct csv t;
        struct err_msg msg;
        arena_init(&a);
        char *text = arena_alloc(&a, PARTS * PART_BYTES + 64, 1), *p = text;
        p = stpcpy(p, cases[i].begin);
        for (int k = 0; k < PARTS; k++)
            p = stpcpy(p, cases[i].part);
        stpcpy(p, cases[i].end);
        enum err e = read_text(&a, text, &t, &msg);
        if (cases[i].n_columns == 0) {
            cr_expect_eq(e, ERR_PARSE, "rows of different lengths");
        } else {
            cr_assert_eq(e, ERR_OK, "case %zu: %s", i, msg.text);
            cr_expect_eq(t.n_rows, cases[i].n_rows, "case %zu", i);
            cr_expect_eq(t.n_columns, cases[i].n_columns, "case %zu", i);
        }
        arena_clear(&a);
    }
}

Test(csv, replaces_tables_of_ours_alone)
{
    static const char table[] = "format,a\nx/1,2\n";
    static const struct {
        const char *before;
        enum err want;
    } cases[] = {{"", ERR_OK},
                 {"format,b\nx/1,3\n", ERR_OK},
                 {"precious\n", ERR_RANGE},
                 {"a,format\n", ERR_RANGE},
                 {"form", ERR_RANGE}};
    char dir[] = "/tmp/csv-XXXXXX", path[64];
    struct err_msg msg = {""};
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/t.csv", dir);
    cr_assert_eq(csv_replace_file(path, table, strlen(table), &msg), ERR_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *was = cases[i].before;
        cr_assert_eq(text_write_file(path, was, strlen(was), &msg), ERR_OK);
        cr_expect_eq(csv_replace_file(path, table, strlen(table), &msg),
                     cases[i].want, "'%s'", was);
    }
    remove(path);
    remove(dir);
}
