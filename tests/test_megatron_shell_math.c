#include "megatron/shell_math.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *lookup(const void *data, const char *name, size_t len)
{
    (void)data;
    return len == 1 && *name == 'N'   ? "12"
           : len == 1 && *name == 'T' ? "x"
                                      : NULL;
}

static bool evaluate(const char *text, int64_t *out)
{
    const struct shell_math_text math = {text, text + strlen(text), lookup,
                                         NULL};
    return shell_math(&math, out);
}

static const struct {
    const char *text;
    int64_t value;
} right[] = {
    {"1", 1},         {" 2 + 3 * 4 ", 14}, {"(2+3)*4", 20},
    {"7/2", 3},       {"-7 % 4", -3},      {"N*$N", 144},
    {"${N} - 1", 11}, {"-(2-5)", 3},       {"2 - -3", 5},
};

Test(shell_math, follows_precedence)
{
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        int64_t v = 0;
        cr_expect(evaluate(right[i].text, &v), "%s", right[i].text);
        cr_expect_eq(v, right[i].value, "%s: %lld", right[i].text,
                     (long long)v);
    }
}

Test(shell_math, refuses_what_is_no_number)
{
    static const char *const wrong[] = {
        "",
        "1 +",
        "1 2",
        "(1",
        "1/0",
        "1%0",
        "T",
        "Z",
        "${N",
        "1 < 2",
        "99999999999999999999",
        "4611686018427387904*4",
        "((((((((((((((((((((((((((((((((((((((((1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int64_t v = 0;
        cr_expect_not(evaluate(wrong[i], &v), "'%s' gave %lld", wrong[i],
                      (long long)v);
    }
}
