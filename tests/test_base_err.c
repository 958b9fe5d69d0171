#include "base/err.h"

#include <criterion/criterion.h>
#include <string.h>

Test(err, message_is_built_where_the_fact_is_known)
{
    struct err_msg msg = {""};
    cr_assert_eq(err_set(&msg, ERR_RANGE, "stages[%d]: got %d", 3, 0),
                 ERR_RANGE);
    cr_assert_str_eq(msg.text, "stages[3]: got 0");
    cr_assert_eq(err_prefix(&msg, ERR_RANGE, "%s", "e02.json"), ERR_RANGE);
    cr_assert_str_eq(msg.text, "e02.json: stages[3]: got 0");
}

Test(err, long_messages_are_cut_not_overrun)
{
    struct err_msg msg;
    char text[3000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    err_set(&msg, ERR_IO, "%s", text);
    cr_assert_eq(strlen(msg.text), sizeof msg.text - 1);
    err_prefix(&msg, ERR_IO, "here");
    cr_assert_eq(strlen(msg.text), sizeof msg.text - 1);
    cr_assert(strncmp(msg.text, "here: xxx", 9) == 0);
}

Test(err, exit_codes_are_the_documented_ones)
{
    cr_assert_eq(err_exit_code(ERR_OK), 0);
    cr_assert_eq(err_exit_code(ERR_MODEL), 1);
    cr_assert_eq(err_exit_code(ERR_PARSE), 2);
    cr_assert_eq(err_exit_code(ERR_RANGE), 2);
    cr_assert_eq(err_exit_code(ERR_IO), 3);
    cr_assert_eq(err_exit_code(ERR_NOMEM), 3);
    cr_assert_eq(err_exit_code(ERR_CHILD), 3);
    cr_assert_str_eq(err_name(ERR_PARSE), "ERR_PARSE");
}

Test(err, null_message_is_allowed)
{
    cr_assert_eq(err_set(NULL, ERR_IO, "x"), ERR_IO);
    cr_assert_eq(err_prefix(NULL, ERR_IO, "x"), ERR_IO);
}
