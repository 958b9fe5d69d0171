#include "report/leaks.h"

#include "base/file.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;
static char folder[] = "/tmp/moe-leaks-XXXXXX";

static void setup(void)
{
    arena_init(&arena);
    cr_assert_not_null(mkdtemp(folder));
}

static void teardown(void)
{
    file_remove_tree(folder);
    arena_clear(&arena);
}

TestSuite(report_leaks, .init = setup, .fini = teardown);

#define TOKEN "hf_Ab0Cd1Ef2Gh3Ij4KAb0Cd1Ef2Gh3Ij4K"

static enum err check(const char *text, size_t len, struct err_msg *msg)
{
    const char *path = arena_printf(&arena, "%s/log.txt", folder);
    cr_assert_eq(text_write_file(path, text, len, msg), ERR_OK);
    return leaks_check_file(path, msg);
}

Test(report_leaks, a_log_with_a_secret_is_named_with_its_line)
{
    static const char log[] = "first\nsecond " TOKEN " rest\n";
    struct err_msg msg = {""};
    cr_expect_eq(check(log, sizeof log - 1, &msg), ERR_PARSE);
    cr_expect_not_null(strstr(msg.text, "log.txt:2: a token of Hugging Face"),
                       "%s", msg.text);
    cr_expect_null(strstr(msg.text, TOKEN), "%s", msg.text);
}

Test(report_leaks, a_zero_byte_hides_nothing)
{
    static const char log[] = "first\n\0second " TOKEN "\n";
    struct err_msg msg = {""};
    cr_expect_eq(check(log, sizeof log - 1, &msg), ERR_PARSE);
}

Test(report_leaks, a_list_of_arguments_tells_names)
{
    static const char log[] =
        "  tokenizer_type .................. NullTokenizer\n"
        "  moe_token_dispatcher_type ....... alltoall\n"
        "  tiktoken_special_tokens ......... None\n"
        "  wandb_api_key ................... abcdef\n";
    struct err_msg msg = {""};
    cr_expect_eq(check(log, sizeof log - 1, &msg), ERR_PARSE);
    cr_expect_not_null(strstr(msg.text, "log.txt:4: "), "%s", msg.text);
    cr_expect_not_null(strstr(msg.text, "wandb_api_key"), "%s", msg.text);
    cr_expect_null(strstr(msg.text, "abcdef"), "%s", msg.text);
}

Test(report_leaks, usual_logs_pass)
{
    static const char log[] =
        "  tokenizer_type .................. NullTokenizer\n"
        "  moe_token_drop_policy ........... probs\n"
        "  wandb_api_key ................... None\n"
        "  eod_mask_loss ................... False\n"
        " iteration 1/ 10 | elapsed time per iteration (ms): 12.5 |\n"
        "Bearer of bad news, Basic usage: https://example.org/x\n";
    struct err_msg msg = {""};
    cr_expect_eq(check(log, sizeof log - 1, &msg), ERR_OK, "%s", msg.text);
    cr_expect_eq(leaks_check_file("/no/such/file", &msg), ERR_OK);
}
