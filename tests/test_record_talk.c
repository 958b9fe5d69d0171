/* talk: lines that tell of what was not there are kept, whatever their length.
 */
#include "record/talk.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct talk talk;

static void hear(const char *text)
{
    talk_hear(&talk, text, (int)strlen(text));
}

Test(record_talk, keeps_lines_of_what_was_not_there)
{
    hear("hello\nrun.sh: line 2: ./env");
    cr_assert_eq(talk.n_missing, 0);
    hear(".sh: No such file or directory\nx: y: comm");
    hear("and not found\nnot found\nrun.sh: 3: nvcc: not found\n");
    cr_assert_eq(talk.n_missing, 3);
    cr_assert_str_eq(talk.kept[0],
                     "run.sh: line 2: ./env.sh: No such file or directory");
    cr_assert_str_eq(talk.kept[2], "run.sh: 3: nvcc: not found");
    hear("a: command not found\n");
    cr_assert_eq(talk.n_missing, 4);
    cr_assert_eq(talk.n_kept, TALK_MAX_KEPT);
}

Test(record_talk, long_lines_are_cut)
{
    hear("x: command not found");
    for (int i = 0; i < 3 * TALK_LINE_BYTES; i++)
        hear("\x01");
    hear("\nshort\n");
    cr_assert_eq(talk.n_kept, 1);
    cr_assert_eq(strlen(talk.kept[0]), TALK_LINE_BYTES - 1);
    cr_assert_eq(talk.kept[0][100], ' ', "no control characters");
}

Test(record_talk, passes_on_until_nobody_can_say_more)
{
    cr_assert(talk_open(&talk));
    cr_assert_not(talk_pass(&talk), "nothing was said");
    cr_assert_geq(talk.in, 0);
    cr_assert_eq(write(talk.out, "a: command not found\n", 21), 21);
    cr_assert(talk_pass(&talk));
    cr_assert_eq(talk.n_kept, 1);
    close(talk.out);
    talk.out = -1;
    cr_assert_not(talk_pass(&talk));
    cr_assert_eq(talk.in, -1);
    talk_close(&talk);
}
