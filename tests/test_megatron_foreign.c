#include "megatron/foreign.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct foreign_flag *find(const char *name)
{
    return foreign_find(name, strlen(name));
}

Test(foreign, rows_say_what_the_flag_is)
{
    cr_assert_eq(find("num-key-value-heads")->flag, FLAG_NUM_QUERY_GROUPS);
    cr_assert_eq(find("noop-layers")->kind, FOREIGN_CHANGE);
    cr_assert_eq(find("reuse-grad-buf-for-mxfp8-param-ag")->kind, FOREIGN_WARN);
    cr_assert_null(find("noop"));
    cr_assert_null(find("noop-layers-x"));
    cr_assert_null(find(""));
}

/* What the project was asked to stop at, by name. */
Test(foreign, flags_that_change_the_model_are_there)
{
    static const char *const names[] = {"noop-layers",
                                        "first-k-dense-replace",
                                        "n-shared-experts",
                                        "attention-head-type",
                                        "embed-layernorm",
                                        "enable-mhc-connections",
                                        "external-cuda-graph",
                                        "fp4-format",
                                        "moe-paged-stash",
                                        "lora-r",
                                        "lora-rank",
                                        "fp32-residual-connection",
                                        "no-pad-vocab-size",
                                        "checkpoint-activations",
                                        "yaml-cfg"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct foreign_flag *row = find(names[i]);
        cr_expect(flag_by_name(names[i], strlen(names[i])) != FLAG_NONE ||
                      (row && row->kind == FOREIGN_CHANGE && *row->text),
                  "%s", names[i]);
        cr_expect_eq(megatron_known(names[i], strlen(names[i])), KNOWN_NOT,
                     "%s passes silently", names[i]);
    }
}

/* A row that is also ours would never be reached, one that passes silently
 * would not be told of, and one of another type would be read wrongly. */
Test(foreign, rows_fit_the_flags_they_stand_for)
{
    size_t n;
    const struct foreign_flag *row = foreign_rows(&n);
    cr_assert(n > 100);
    for (size_t i = 0; i < n; i++, row++) {
        const size_t len = strlen(row->name);
        cr_expect_eq(flag_by_name(row->name, len), FLAG_NONE, "%s", row->name);
        cr_expect_eq(megatron_known(row->name, len), KNOWN_NOT, "%s",
                     row->name);
        cr_expect_eq(foreign_find(row->name, len), row, "%s is there twice",
                     row->name);
        cr_expect_eq(*row->text == '\0', row->kind == FOREIGN_SAME, "%s",
                     row->name);
        if (row->kind == FOREIGN_SAME)
            cr_expect_eq(row->values == KNOWN_SWITCH,
                         flag_type(row->flag) == FLAG_TYPE_BOOL, "%s",
                         row->name);
    }
}

Test(foreign, some_values_change_nothing)
{
    cr_expect(foreign_is_harmless(find("n-shared-experts"), "0"));
    cr_expect(foreign_is_harmless(find("export-num-mtp"), "0.0"));
    cr_expect(foreign_is_harmless(find("enable-mhc"), "false"));
    cr_expect(foreign_is_harmless(find("noop-layers"), "None"));
    cr_expect_not(foreign_is_harmless(find("n-shared-experts"), "1"));
    cr_expect_not(foreign_is_harmless(find("n-shared-experts"), NULL));
    cr_expect_not(foreign_is_harmless(find("enable-mhc"), NULL));
}

/* name, and whether it speaks of the model */
static const struct {
    const char *name;
    bool speaks;
} names[] = {
    {"n-dense-heads", true},
    {"attn-bias-type", true},
    {"my-expert-count", true},
    {"layer-types", true},
    {"kv-dim", true},
    {"log-moe-stats", false},
    {"save-expert-map", false},
    {"moe-aux-loss-coef", false},
    {"norm-eps", false},
    {"tokenizer-vocab-x", false},
    {"use-fused-moe-gate", false},
    {"log-timers-often", false},
    {"my-flag", false},
    {"overheads", false},
    {"embedding-path", false},
    {"wandb-mode", false},
    {"", false},
};

Test(foreign, words_tell_what_a_name_speaks_of)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        cr_expect_eq(
            foreign_speaks_of_model(names[i].name, strlen(names[i].name)),
            names[i].speaks, "%s", names[i].name);
}

Test(foreign, an_answer_takes_the_change_away)
{
    struct arena a;
    struct megatron_flags f;
    struct account account;
    struct err_msg msg;
    arena_init(&a);
    flags_init(&f, &a);
    account_init(&account, &a);
    account_change(&account, "--noop_layers", "x");
    account_change(&account, "--embed-layernorm", "y");
    f.from = "run.sh:3";
    flags_set_int(&f, FLAG_NUM_LAYERS, 8);
    foreign_settle(&account, &f);
    cr_assert_eq(account.changes.n, 2, "the source's own flag is no answer");
    f.from = "-- flag";
    flags_set_int(&f, FLAG_NUM_LAYERS, 6);
    foreign_settle(&account, &f);
    cr_assert_eq(account.changes.n, 1);
    cr_assert_str_eq(account.changes.first->text, "--embed-layernorm");
    cr_assert_str_eq(account.reasons.first->text, "y");
    cr_assert_eq(account.warnings.n, 1);
    cr_assert_eq(account_refuse_changes(&account, "f", &msg), ERR_RANGE);
    arena_clear(&a);
}
