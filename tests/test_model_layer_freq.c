#include "model/layer_freq.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct {
    const char *text;
    int n;
    const char *flags;
} good[] = {
    {"1", 4, "1111"},
    {"2", 5, "10101"},
    {"([0]*3+[1]*5)", 8, "00011111"},
    {"[0, 1] * 2", 4, "0101"},
    {"([0,1])*2+[1]", 5, "01011"},
    {"[1]*3*2", 6, "111111"},
    {"[0]*0+[1]*2", 2, "11"},
};

Test(layer_freq, reads_integers_and_lists)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint8_t flags[16];
        struct err_msg msg = {""};
        cr_assert_eq(layer_freq_expand(good[i].text, good[i].n, flags, &msg),
                     ERR_OK, "%s: %s", good[i].text, msg.text);
        for (int k = 0; k < good[i].n; k++)
            cr_assert_eq(flags[k], good[i].flags[k] - '0', "%s at %d",
                         good[i].text, k);
    }
}

Test(layer_freq, refuses_everything_else)
{
    static const char *const bad[] = {
        "0",
        "-1",
        "",
        "[2]*4",
        "[1]*4)",
        "([1]*4",
        "[1]*",
        "__import__('os')",
        "[1]*99999999999",
        "[1 1]*2",
        "[1]*3",
    };
    uint8_t flags[16];
    struct err_msg msg;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_assert_neq(layer_freq_expand(bad[i], 4, flags, &msg), ERR_OK, "%s",
                      bad[i]);
    cr_assert_eq(layer_freq_expand("[1]*3", 4, flags, &msg), ERR_RANGE);
    cr_assert(strstr(msg.text, "has 3 entries"), "%s", msg.text);
}

Test(layer_freq, deep_nesting_is_refused_not_followed)
{
    char text[4000];
    memset(text, '(', sizeof text);
    text[sizeof text - 1] = '\0';
    uint8_t flags[4];
    struct err_msg msg;
    cr_assert_eq(layer_freq_expand(text, 4, flags, &msg), ERR_PARSE);
}
