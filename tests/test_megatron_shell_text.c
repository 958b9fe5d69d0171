#include "megatron/shell_text.h"

#include <criterion/criterion.h>
#include <string.h>

/* Words of the last command of a script, joined by bars; '?' stands for what
 * only running could tell. */
static const char *last_command(struct arena *a, const char *script)
{
    struct shell s = {.arena = a};
    const char *out = "", *p = script;
    while (*p && !s.failed) {
        struct shell_words w = {0};
        shell_command(&s, &p, true, &w);
        if (w.n == 0)
            continue;
        out = "";
        for (size_t i = 0; i < w.n; i++) {
            char *word = arena_strdup(a, w.word[i]);
            for (char *q = word; *q; q++)
                *q = *q == SHELL_UNKNOWN ? '?' : *q;
            out = arena_printf(a, "%s%s%s", out, i ? "|" : "", word);
        }
    }
    return s.failed ? "failed" : out;
}

/* script, words of its last command as bash gives them */
static const struct {
    const char *script, *words;
} cases[] = {
    {"a b  c", "a|b|c"},
    {"a 'b c' \"d e\"", "a|b c|d e"},
    {"a b\\\n  c", "a|b|c"},
    {"a \\\r\n  b", "a|b"},
    {"a b # c\n", "a|b"},
    {"a#b", "a#b"},
    {"a b\\ c", "a|b c"},
    {"X=1\na $X ${X}2 '$X' \"$X\"", "a|1|12|$X|1"},
    {"X='1 2'\na $X \"$X\"", "a|1|2|1 2"},
    {"X=(1 '2 3')\na ${X[@]} \"${X[@]}\" \"${X[*]}\"", "a|1|2|3|1|2 3|1 2 3"},
    {"X=(1 2)\nX+=(3)\na ${X[@]}", "a|1|2|3"},
    {"X=a\nX+=b\na $X", "a|ab"},
    {"X=(\n  --n 4 # four\n  --m 5\n)\na \"${X[@]}\"", "a|--n|4|--m|5"},
    {"a ${X:-7} ${X:-\"8 9\"}", "a|7|8|9"},
    {"X=\na ${X:-7}b${X-8}", "a|7b"},
    {"X=3\na ${X:+y} ${Y:+z}", "a|y"},
    {"N=3\na $((2 * N + (7 - 1) / 2)) $(($N%2)) $((-1))", "a|9|1|-1"},
    {"a $((1 / 0))", "a|?$((1_/_0))"},
    {"a $(hostname) `date`", "a|?$(hostname)|?`date`"},
    {"a $1 $NONE \"$@\"", "a|?$1|?$NONE|"},
    {"export X=5 Y=6\na $X$Y", "a|56"},
    {"X=5 a $X", "a|5"},
    {"a b > c 2>&1", "a|b"},
    {"cat <<EOF\na b\nEOF\nc d", "c|d"},
    {"cat <<-'E'\n\ta b\n\tE\nc d", "c|d"},
    {"a; b && c d", "c|d"},
    {"a | b c", "b|c"},
    {"X=\"a b\"; Y=\"$X c\"; d \"$Y\"", "d|a b c"},
    {"a ${X[@]} b", "a|b"},
    {"a \"unended", "a|unended"},
    {"a ${unended", "a|?${unended"},
};

Test(shell_text, words_are_those_of_bash)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a;
        arena_init(&a);
        cr_expect_str_eq(last_command(&a, cases[i].script), cases[i].words,
                         "%s: %s", cases[i].script,
                         last_command(&a, cases[i].script));
        arena_clear(&a);
    }
}

Test(shell_text, doubling_and_nesting_are_refused)
{
    struct arena a;
    arena_init(&a);
    const char *text = "X=aaaaaaaaaaaaaaaa\n";
    for (int i = 0; i < 24; i++)
        text = arena_printf(&a, "%sX=$X$X\n", text);
    cr_assert_str_eq(last_command(&a, text), "failed");
    text = "b";
    for (int i = 0; i < 100; i++)
        text = arena_printf(&a, "${X:-%s}", text);
    cr_assert_str_eq(last_command(&a, arena_printf(&a, "a %s", text)),
                     "failed");
    struct shell s = {.failed = true};
    struct err_msg msg;
    cr_assert_eq(shell_status(&s, "run.sh", &msg), ERR_RANGE);
    cr_assert(strstr(msg.text, "run.sh: variables expand"), "%s", msg.text);
    arena_clear(&a);
}

Test(shell_text, assignments_that_are_passed_over_leave_no_value)
{
    struct arena a;
    arena_init(&a);
    struct shell s = {.arena = &a};
    struct shell_words w = {0};
    const char *p = "X=1";
    cr_assert_eq(shell_command(&s, &p, false, &w), SHELL_EOF);
    cr_assert_null(shell_get(&s, "X", 1));
    arena_clear(&a);
}
