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

/* --window-attn-skip-freq: 1 where the layer attends to a window */
static const struct {
    const char *text;
    int n;
    const char *flags;
} windows[] = {
    {NULL, 3, "111"},
    {"2", 5, "10101"},
    {"4", 8, "11101110"},
    {"1", 3, "000"},
    {"9", 3, "111"},
    {"[1,0,0]", 3, "100"},
    {"([1]*3+[0])*2", 8, "11101110"},
};

Test(layer_freq, windows_skip_every_nth_layer_or_as_listed)
{
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        uint8_t flags[16];
        struct err_msg msg = {""};
        const char *text = windows[i].text;
        cr_assert_eq(layer_freq_windows(text, windows[i].n, flags, &msg),
                     ERR_OK, "%s", msg.text);
        for (int k = 0; k < windows[i].n; k++)
            cr_expect_eq(flags[k], windows[i].flags[k] - '0', "%s at %d",
                         text ? text : "-", k);
    }
}

Test(layer_freq, messages_name_the_flag_of_windows)
{
    static const char *const bad[] = {"0", "[1,0]", "[2]*3", "half"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint8_t flags[16];
        struct err_msg msg = {""};
        enum err e = layer_freq_windows(bad[i], 3, flags, &msg);
        cr_expect_eq(err_exit_code(e), 2, "%s", bad[i]);
        cr_expect(strstr(msg.text, "--window-attn-skip-freq"), "%s", msg.text);
    }
}
