#include "base/json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static enum err parse(const char *text, struct err_msg *msg)
{
    cJSON *tree = NULL;
    enum err e = json_parse(text, "f.json", &tree, msg);
    cJSON_Delete(tree);
    return e;
}

Test(json, is_strict_where_cjson_is_not)
{
    struct err_msg msg;
    cr_assert_eq(parse("{\"a\": 1}", &msg), ERR_OK);
    cr_assert_eq(parse("{\"a\": 1} x", &msg), ERR_PARSE);
    cr_assert_eq(parse("{\"a\": 1, \"a\": 2}", &msg), ERR_PARSE);
    cr_assert(strstr(msg.text, "'a' occurs twice"), "%s", msg.text);
    cr_assert_eq(parse("{\"x\": {\"b\": 1, \"c\": 3, \"b\": 2}}", &msg),
                 ERR_PARSE);
    cr_assert_eq(parse("[9007199254740993]", &msg), ERR_PARSE);
    cr_assert_eq(parse("[-9007199254740993]", &msg), ERR_PARSE);
    cr_assert_eq(parse("[9007199254740991]", &msg), ERR_OK);
    cr_assert_eq(parse("[1e999]", &msg), ERR_PARSE);
}

/* cJSON ends a string there: "64" would be read as "6". */
Test(json, escaped_zero_bytes_cut_no_string)
{
    struct err_msg msg;
    cr_assert_eq(parse("{\"a\": \"6\\u00004\"}", &msg), ERR_PARSE);
    cr_assert(strstr(msg.text, "f.json:1:9: holds a zero byte"), "%s",
              msg.text);
    cr_assert_eq(parse("{\"a\\u0000b\": 1}", &msg), ERR_PARSE);
    cr_assert_eq(parse("[\"\\\\\\u0000\"]", &msg), ERR_PARSE);
    cr_assert_eq(parse("[\"\\\\u0000\", \"\\u0001\", \"\\n\"]", &msg), ERR_OK,
                 "a backslash and digits: %s", msg.text);
}

Test(json, no_integer_is_too_large_to_be_refused)
{
    static const char *const large[] = {"[10000000000000000000]", "[1e19]",
                                        "[-1e19]", "[18446744073709551616]",
                                        "{\"a\": {\"b\": [1e300]}}"};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        struct err_msg msg;
        cr_expect_eq(parse(large[i], &msg), ERR_PARSE, "%s", large[i]);
        cr_expect(strstr(msg.text, "beyond 2^53"), "%s", msg.text);
    }
}

/* Configs of Mamba models have "time_step_limit": [0.0, Infinity]. */
Test(json, python_numbers_hinder_nobody_who_does_not_ask)
{
    struct arena a;
    struct err_msg msg;
    int64_t n = 7;
    cJSON *tree = NULL;
    const struct json_range any = {-1e18, 1e18};
    arena_init(&a);
    enum err e = json_parse_python(
        &a,
        "{\"l\": [0.0, Infinity, -Infinity,NaN], \"n\": NaN, \"big\": 1e308, "
        "\"s\": \"NaN \\\"Infinity\", \"m\": 5}",
        "c.json", &tree, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_expect_str_eq(json_get(tree, "s")->valuestring, "NaN \"Infinity");
    cr_expect_eq(cJSON_GetArraySize(json_get(tree, "l")), 4);
    cr_expect_eq(
        json_opt_int((struct json_member){tree, "c.json", "m"}, any, &n, &msg),
        ERR_OK);
    cr_expect_eq(n, 5);
    cr_expect_eq(
        json_opt_int((struct json_member){tree, "c.json", "n"}, any, &n, &msg),
        ERR_PARSE, "no number, and no default");
    cr_expect_eq(json_opt_int((struct json_member){tree, "c.json", "big"}, any,
                              &n, &msg),
                 ERR_RANGE);
    cJSON_Delete(tree);
    e = json_parse_python(&a, "{\"a\": Infinity,\n \"b\" 2}", "c.json", &tree,
                          &msg);
    cr_expect_eq(e, ERR_PARSE);
    cr_expect(strncmp(msg.text, "c.json:2:6:", 11) == 0, "%s", msg.text);
    cr_expect_eq(parse("[Infinity]", &msg), ERR_PARSE, "strict elsewhere");
    arena_clear(&a);
}

Test(json, says_where_the_text_breaks)
{
    struct err_msg msg;
    cr_assert_eq(parse("{\"a\": 1,\n \"b\" 2}", &msg), ERR_PARSE);
    cr_assert(strncmp(msg.text, "f.json:2:", 9) == 0, "%s", msg.text);
}

Test(json, keys_are_case_sensitive)
{
    struct err_msg msg;
    cJSON *tree = NULL;
    cr_assert_eq(json_parse("{\"Role\": 1}", "m.json", &tree, &msg), ERR_OK);
    cr_assert_null(json_get(tree, "role"));
    cJSON_Delete(tree);
}

Test(json, typed_members_check_type_and_range)
{
    struct err_msg msg;
    struct arena a;
    arena_init(&a);
    cJSON *t = NULL;
    cr_assert_eq(json_parse("{\"i\": 2.5, \"n\": 7, \"s\": \"x\", \"z\": null}",
                            "f", &t, &msg),
                 ERR_OK);
    int64_t i = 1;
    double d = 1;
    const struct json_range r = {0, 5};
    cr_assert_eq(json_opt_int((struct json_member){t, "f", "i"}, r, &i, &msg),
                 ERR_PARSE);
    cr_assert_eq(json_opt_int((struct json_member){t, "f", "n"}, r, &i, &msg),
                 ERR_RANGE);
    cr_assert_eq(
        json_opt_int((struct json_member){t, "f", "absent"}, r, &i, &msg),
        ERR_OK);
    cr_assert_eq(json_opt_int((struct json_member){t, "f", "z"}, r, &i, &msg),
                 ERR_OK);
    cr_assert_eq(i, 1);
    cr_assert_eq(
        json_opt_double((struct json_member){t, "f", "s"}, r, &d, &msg),
        ERR_PARSE);
    cr_assert_eq(json_require((struct json_member){t, "f", "z"}, &msg),
                 ERR_PARSE);
    cJSON_Delete(t);
    arena_clear(&a);
}

/* What is printed is UTF-8 whatever files held; what is so stays as it is. */
Test(json, prints_utf8_of_any_bytes)
{
    static const char *const texts[][2] = {
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
         "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xff\xfe", "??"},
        {"\xc3", "?"},
        {"\xc0\xaf \xe0\x80\xaf", "?? ???"},
        {"\xed\xa0\x80", "???"},
        {"\xf4\x90\x80\x80", "????"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *out = NULL, want[64];
        size_t n = 0;
        struct err_msg msg;
        FILE *f = open_memstream(&out, &n);
        cJSON *tree = cJSON_CreateString(texts[i][0]);
        cr_assert_eq(json_print_and_delete(tree, false, f, &msg), ERR_OK);
        fclose(f);
        snprintf(want, sizeof want, "\"%s\"\n", texts[i][1]);
        cr_expect_str_eq(out, want);
        free(out);
    }
}
