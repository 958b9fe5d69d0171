#include "megatron/account.h"

#include <criterion/criterion.h>
#include <string.h>

/* Flags, and the lists' lines that they make: words that some line of what is
 * assumed (warned of) must hold, or NULL: there is no line. */
static const struct {
    const char *flags, *assumed, *warned;
} cases[] = {
    {"hidden-size=64 ffn-hidden-size=256", NULL, NULL},
    {"hidden-size=64", "256, 4 x --hidden-size", NULL},
    {"hidden-size=96 swiglu=true", "256, 8/3", NULL},
    {"hidden-size=64 num-experts=4 moe-ffn-hidden-size=8 moe-router-topk=1",
     NULL, NULL},
    {"hidden-size=64 num-experts=4 moe-ffn-hidden-size=8 moe-router-topk=1 "
     "moe-layer-freq=[0,1]",
     "256, 4 x --hidden-size", NULL},
    {"num-experts=4 ffn-hidden-size=8 moe-router-topk=1", "experts are as wide",
     NULL},
    {"num-experts=4 moe-ffn-hidden-size=8", "--moe-router-topk is not given",
     NULL},
    {"num-experts=4 moe-ffn-hidden-size=8 moe-router-topk=1 "
     "moe-router-enable-expert-bias=true",
     "not counted among the parameters", NULL},
    {"num-attention-heads=8 num-query-groups=2", NULL, "all 8 heads"},
    {"num-attention-heads=8 num-query-groups=8", NULL, NULL},
    {"num-attention-heads=8 num-query-groups=2 group-query-attention=true",
     NULL, NULL},
    {"num-attention-heads=8 group-query-attention=true",
     "--num-query-groups is not given: 1", NULL},
    {"vocab-size=100 tokenizer-type=NullTokenizer", "adds one token", NULL},
    {"vocab-size=100 tokenizer-type=NullTokenizer padded-vocab-size=128", NULL,
     NULL},
    {"tokenizer-type=GPT2BPETokenizer", "50257", NULL},
    {"multi-latent-attention=true", "--kv-lora-rank is not given: 32", NULL},
};

static void set_all(struct megatron_flags *f, struct arena *a, const char *text)
{
    struct err_msg msg = {""};
    char *rest = arena_strdup(a, text);
    for (char *w; (w = strtok_r(rest, " ", &rest));) {
        char *equals = strchr(w, '=');
        *equals = '\0';
        enum flag_id id = flag_by_name(w, strlen(w));
        cr_assert_neq(id, FLAG_NONE, "%s", w);
        cr_assert_eq(flags_set(f, id, equals + 1, &msg), ERR_OK);
    }
}

static bool holds(const struct account_list *list, const char *word)
{
    for (const struct account_line *l = list->first; l && word; l = l->next)
        if (strstr(l->text, word))
            return true;
    return !word && list->n == 0;
}

Test(account, defaults_that_decide_the_model_are_said)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a;
        struct megatron_flags f;
        struct account account;
        arena_init(&a);
        flags_init(&f, &a);
        account_init(&account, &a);
        set_all(&f, &a, cases[i].flags);
        account_say_defaults(&account, &f);
        cr_expect(holds(&account.assumed, cases[i].assumed), "%s: %s",
                  cases[i].flags,
                  account.assumed.n ? account.assumed.first->text : "nothing");
        cr_expect(holds(&account.warnings, cases[i].warned), "%s",
                  cases[i].flags);
        arena_clear(&a);
    }
}

Test(account, a_dump_lists_what_nobody_gave)
{
    struct arena a;
    struct megatron_flags f;
    struct account account;
    arena_init(&a);
    flags_init(&f, &a);
    account_init(&account, &a);
    account.source = "log";
    set_all(&f, &a, "num-attention-heads=8 num-query-groups=1");
    account_say_defaults(&account, &f);
    cr_expect_eq(account.warnings.n, 0);
    arena_clear(&a);
}

Test(account, a_copy_has_lists_of_its_own)
{
    struct arena a;
    struct account one, two;
    arena_init(&a);
    account_init(&one, &a);
    account_add(&one, &one.warnings, "x");
    cr_assert(account_copy(&a, &one, &two));
    account_add(&two, &two.warnings, "y");
    account_add(&one, &one.warnings, "z");
    cr_expect(one.warnings.n == 2 && two.warnings.n == 2);
    cr_expect(account_has(&two.warnings, "x"));
    cr_expect_not(account_has(&one.warnings, "y"));
    cr_expect_not(account_has(&two.warnings, "z"));
    arena_clear(&a);
}
