/* reader: typed values with their place, and the first error of many. */
#include "base/reader.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <string.h>

static struct arena arena;
static struct err_msg msg;
static struct reader_doc doc;

static void begin(void)
{
    arena_init(&arena);
}

static void end(void)
{
    arena_clear(&arena);
}

TestSuite(reader, .init = begin, .fini = end);

static struct reader open(const char *text)
{
    return reader_open_text(&doc, &arena, text, "f.json", &msg);
}

/* Closes the document, which must have failed with this text. */
static void expect(enum err e, const char *text)
{
    enum err got = reader_close(&doc);
    cr_expect_eq(got, e, "%s", msg.text);
    cr_expect_str_eq(msg.text, text);
}

static const struct json_range RANGE = {0, 10};

Test(reader, reads_what_is_there_and_leaves_the_rest)
{
    int i = 7, absent = 8;
    int64_t big = 0;
    double d = 0;
    bool b = false;
    const char *s = NULL;
    struct reader top = open("{\"a\": {\"i\": 3, \"d\": 2.5, \"b\": true, "
                             "\"s\": \"x\", \"z\": null}, \"n\": 4e3}");
    struct reader a = reader_object(top, "a");
    reader_int(a, "i", RANGE, &i);
    reader_int(a, "none", RANGE, &absent);
    reader_int(a, "z", RANGE, &absent);
    reader_int(reader_object(top, "nowhere"), "i", RANGE, &absent);
    reader_double(a, "d", RANGE, &d);
    reader_bool(a, "b", &b);
    reader_text(a, "s", &s);
    reader_int64(top, "n", (struct json_range){0, 1e6}, &big);
    cr_assert_eq(reader_close(&doc), ERR_OK);
    cr_assert_eq(i, 3);
    cr_assert_eq(absent, 8);
    cr_assert_eq(big, 4000);
    cr_assert(d > 2.4 && d < 2.6 && b);
    cr_assert_str_eq(s, "x"); // outlives the tree
}

Test(reader, messages_have_the_whole_path)
{
    int i = 0;
    struct reader list = reader_list(
        reader_object(
            open("{\"a\": {\"b\": [1, {\"c\": \"x\"}, {\"c\": 11}]}}"), "a"),
        "b");
    cr_assert_eq(reader_count(list), 3);
    struct reader second = reader_next(reader_first(list));
    reader_int(second, "c", RANGE, &i);
    expect(ERR_PARSE, "f.json: a.b[1].c: got a string, want a number");

    list = reader_list(open("{\"b\": [[1, 2], [3, 40]]}"), "b");
    struct reader inner = reader_first(reader_next(reader_first(list)));
    double d = 0;
    reader_double_here(reader_next(inner), RANGE, &d);
    expect(ERR_RANGE, "f.json: b[1][1]: got 40, want 0 to 10");
}

Test(reader, members_can_be_walked_with_their_keys)
{
    double sum = 0;
    struct reader o = reader_object(open("{\"m\": {\"x.y\": 1, \"z[2]\": 2, "
                                         "\"u\": 3}}"),
                                    "m");
    char keys[32] = "";
    for (struct reader c = reader_first(o); c.item; c = reader_next(c)) {
        double v = 0;
        reader_double_here(c, RANGE, &v);
        sum += v;
        strncat(keys, reader_key(c), sizeof keys - strlen(keys) - 1);
        if (strcmp(reader_key(c), "u") == 0)
            reader_fail(c, ERR_PARSE, "stop");
    }
    cr_assert(sum > 5.9 && sum < 6.1);
    cr_assert_str_eq(keys, "x.yz[2]u");
    expect(ERR_PARSE, "f.json: m.u: stop");
}

Test(reader, the_first_error_stays)
{
    int i = 5;
    struct reader top = open("{\"a\": \"x\", \"b\": 99, \"c\": 3}");
    reader_int(top, "a", RANGE, &i);
    reader_int(top, "b", RANGE, &i);
    reader_int(top, "c", RANGE, &i);
    reader_require(top, "d", NULL);
    cr_assert(!reader_is_ok(top));
    cr_assert_eq(reader_count(top), 0);
    cr_assert_null(reader_first(top).item);
    cr_assert_eq(i, 5);
    expect(ERR_PARSE, "f.json: a: got a string, want a number");
}

Test(reader, each_kind_of_mistake_is_told)
{
    static const char *const keys[] = {"layout", "role"};
    static const char *const colours[] = {"red", "green", "blue"};
    const char *s = NULL;
    bool b = false;
    int i = 0;
    reader_keys(open("{\"roel\": 1}"), keys, 2);
    expect(ERR_PARSE, "f.json: unknown key 'roel'");
    reader_keys(reader_object(open("{\"a\": {\"layuot\": 1}}"), "a"), keys, 2);
    expect(ERR_PARSE, "f.json: a: unknown key 'layuot', did you mean "
                      "'layout'?");
    reader_require(open("{}"), "role", "a name");
    expect(ERR_PARSE, "f.json: role: missing, want a name");
    reader_text(open("{\"s\": [1]}"), "s", &s);
    expect(ERR_PARSE, "f.json: s: got a list, want a string");
    reader_bool(open("{\"b\": 0}"), "b", &b);
    expect(ERR_PARSE, "f.json: b: got a number, want true or false");
    reader_int(open("{\"i\": 2.5}"), "i", RANGE, &i);
    expect(ERR_PARSE, "f.json: i: got 2.5, want an integer");
    reader_int(open("{\"i\": 1e12}"), "i", (struct json_range){0, 1e15}, &i);
    expect(ERR_RANGE, "f.json: i: got 1e+12, want 0 to 2147483647");
    reader_object(open("{\"o\": 1}"), "o");
    expect(ERR_PARSE, "f.json: o: got a number, want an object {...}");
    reader_list(open("{\"l\": {}}"), "l");
    expect(ERR_PARSE, "f.json: l: got an object, want a list [...]");
    reader_choice(open("{\"c\": \"rde\"}"), "c", colours, 3, &i);
    expect(ERR_PARSE, "f.json: c: got 'rde', want red, green or blue");
    open("[1]");
    expect(ERR_PARSE, "f.json: want a JSON object");
    open("{\"a\": 1, \"a\": 2}");
    expect(ERR_PARSE, "f.json: key 'a' occurs twice");
    open("{\"a\": 1");
    expect(ERR_PARSE, "f.json:1:8: not valid JSON");
}

Test(reader, a_choice_gives_its_index)
{
    static const char *const colours[] = {"red", "green", "blue"};
    int i = 0;
    reader_choice(open("{\"c\": \"blue\"}"), "c", colours, 3, &i);
    cr_assert_eq(reader_close(&doc), ERR_OK);
    cr_assert_eq(i, 2);
}

Test(reader, lists_of_strings_are_copied)
{
    const char *const *texts = NULL;
    struct reader top = open("{\"l\": [\"a\", \"b\"]}");
    cr_assert_eq(reader_texts(top, "l", 2, &texts), 2);
    cr_assert_eq(reader_texts(top, "none", 2, &texts), 0);
    cr_assert_eq(reader_close(&doc), ERR_OK);
    cr_assert_str_eq(texts[1], "b");
    cr_assert_eq(reader_texts(open("{\"l\": [\"a\", 1]}"), "l", 2, &texts), 0);
    expect(ERR_PARSE, "f.json: l[1]: got a number, want a string");
    reader_texts(open("{\"l\": [\"a\", \"b\"]}"), "l", 1, &texts);
    expect(ERR_PARSE, "f.json: l: got 2, want at most 1");
}
