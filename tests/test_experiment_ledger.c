#include "experiment/ledger.h"

#include "base/file.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define CENT 1e-9 // sums of a few numbers of six digits

static struct arena arena;
static char folder[] = "/tmp/moe-ledger-XXXXXX";

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

TestSuite(experiment_ledger, .init = setup, .fini = teardown);

static void put(const char *text, size_t len)
{
    struct err_msg msg;
    const char *path = arena_printf(&arena, "%s/spent.txt", folder);
    cr_assert_eq(text_write_file(path, text, len, &msg), ERR_OK);
}

static double total(void)
{
    struct ledger l = {0};
    struct err_msg msg = {""};
    cr_assert_eq(ledger_read(&arena, folder, &l, &msg), ERR_OK, "%s", msg.text);
    return l.usd;
}

Test(experiment_ledger, sums_and_counts_an_id_once)
{
    struct err_msg msg = {""};
    cr_expect_float_eq(total(), 0, CENT);
    cr_expect_eq(ledger_add(&arena, folder, "12", 1.5, &msg), ERR_OK);
    cr_expect_eq(ledger_add(&arena, folder, "1", 0.25, &msg), ERR_OK);
    cr_expect_eq(ledger_add(&arena, folder, "12", 1.5, &msg), ERR_OK);
    cr_expect_eq(ledger_add(&arena, folder, "13", -1, &msg), ERR_OK);
    cr_expect_float_eq(total(), 1.75, CENT);
}

Test(experiment_ledger, reads_the_number_of_older_programs)
{
    put("3.600000\n", 9);
    cr_expect_float_eq(total(), 3.6, CENT);
}

Test(experiment_ledger, a_damaged_one_is_not_an_empty_one)
{
    static const char *const bad[] = {"x",       "1.0",   "-3.6 7\n",
                                      "nan 7\n", "inf\n", "1.0 7\nx\n",
                                      "1.0x\n",  "\n",    "1.0 7\n2.0 8"};
    struct ledger l;
    struct err_msg msg = {""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put(bad[i], strlen(bad[i]));
        cr_expect_eq(ledger_read(&arena, folder, &l, &msg), ERR_PARSE, "'%s'",
                     bad[i]);
        cr_expect_eq(ledger_add(&arena, folder, "9", 1, &msg), ERR_PARSE);
    }
    put("\0"
        "9.0 1\n",
        7);
    cr_expect_eq(ledger_read(&arena, folder, &l, &msg), ERR_PARSE);
}
