/* values: what is given, Megatron's default, computed, or not known. */
#include "megatron/account.h"
#include "megatron/args.h"
#include "megatron/values.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MAX_WORDS = 64 };

struct fixture {
    struct arena arena;
    struct megatron_args *args;
    struct value v[N_VALUES];
    struct err_msg msg;
};

/* Reads a line of flags; a word "?" is one that is not known. */
static enum err read_line(struct fixture *f, const char *line)
{
    static const struct flag_unknown unknown = {"run.sh:3", "$(hostname)"};
    struct args_origin origin[MAX_WORDS] = {{NULL, NULL}};
    char *words[MAX_WORDS];
    int n = 0;
    arena_init(&f->arena);
    f->args = megatron_args_new(&f->arena);
    char *rest = arena_strdup(&f->arena, line);
    for (char *w; (w = strtok_r(rest, " ", &rest)); n++) {
        words[n] = w;
        origin[n].from = "run.sh:7";
        origin[n].unknown = strcmp(w, "?") == 0 ? &unknown : NULL;
    }
    const struct megatron_args_options opt = {.strict = true, .origin = origin};
    enum err e = megatron_args_read(f->args, words, n, &opt, &f->msg);
    return e == ERR_OK ? values_read(&f->arena, megatron_args_flags(f->args),
                                     f->v, &f->msg)
                       : e;
}

static void expect_whole(const struct fixture *f, enum value_id id,
                         int64_t whole, const char *from)
{
    const struct value *v = &f->v[id];
    cr_expect_eq(v->is, VALUE_WHOLE, "%s", value_key(id));
    cr_expect_eq(v->whole, whole, "%s: %lld", value_key(id),
                 (long long)v->whole);
    cr_expect_str_eq(v->from, from, "%s", value_key(id));
}

#define SIZES                                                                  \
    "--num-layers 8 --hidden-size 512 --num-attention-heads 8 "                \
    "--seq-length 1024 --micro-batch-size 2 --vocab-size 1000 "

Test(values, given_default_and_computed)
{
    struct fixture f;
    cr_assert_eq(read_line(&f, SIZES "--pipeline-model-parallel-size 2 "
                                     "--tensor-model-parallel-size 2 "
                                     "--world-size 8 --global-batch-size 32"),
                 ERR_OK, "%s", f.msg.text);
    expect_whole(&f, VALUE_LAYERS, 8, "run.sh:7");
    expect_whole(&f, VALUE_GROUPS, 8, "default");
    expect_whole(&f, VALUE_KV_CHANNELS, 64, "default");
    expect_whole(&f, VALUE_FFN, 2048, "default");
    expect_whole(&f, VALUE_VOCAB, 1024, "computed");
    expect_whole(&f, VALUE_CP, 1, "default");
    expect_whole(&f, VALUE_DP, 2, "computed");
    expect_whole(&f, VALUE_MICROBATCHES, 8, "computed");
    cr_expect_eq(f.v[VALUE_LAYOUT].is, VALUE_ABSENT);
    cr_expect_eq(f.v[VALUE_EXPERTS].is, VALUE_ABSENT);
    arena_clear(&f.arena);
}

Test(values, groups_count_with_the_switch_alone)
{
    struct fixture f;
    cr_assert_eq(read_line(&f, SIZES "--num-query-groups 2"), ERR_OK);
    expect_whole(&f, VALUE_GROUPS, 8, "default");
    arena_clear(&f.arena);
    cr_assert_eq(read_line(&f, SIZES "--num-query-groups 2 "
                                     "--group-query-attention"),
                 ERR_OK);
    expect_whole(&f, VALUE_GROUPS, 2, "run.sh:7");
    arena_clear(&f.arena);
}

Test(values, experts_and_their_layers)
{
    struct fixture f;
    cr_assert_eq(read_line(&f, SIZES "--num-experts 4 --swiglu "
                                     "--moe-layer-freq [0]*3+[1]*5"),
                 ERR_OK, "%s", f.msg.text);
    expect_whole(&f, VALUE_MOE_LAYERS, 5, "run.sh:7");
    expect_whole(&f, VALUE_TOPK, 2, "default");
    expect_whole(&f, VALUE_MOE_FFN, 1344, "default");
    arena_clear(&f.arena);
    cr_assert_eq(read_line(&f, SIZES "--num-experts 4 --moe-layer-freq [1]*9"),
                 ERR_OK);
    cr_expect(value_decides(VALUE_MOE_LAYERS, &f.v[VALUE_MOE_LAYERS]));
    arena_clear(&f.arena);
}

/* What only another unknown value hides is not asked for twice. */
Test(values, an_unknown_value_hides_those_that_need_it)
{
    struct fixture f;
    cr_assert_eq(read_line(&f, SIZES "--pipeline-model-parallel-size ? "
                                     "--world-size 8"),
                 ERR_OK, "%s", f.msg.text);
    cr_expect_eq(f.v[VALUE_PP].is, VALUE_UNKNOWN);
    cr_expect_str_eq(f.v[VALUE_PP].why, "$(hostname)");
    cr_expect(value_decides(VALUE_PP, &f.v[VALUE_PP]));
    cr_expect_eq(f.v[VALUE_DP].is, VALUE_UNKNOWN);
    cr_expect_eq(f.v[VALUE_MICROBATCHES].is, VALUE_UNKNOWN);
    cr_expect(!value_decides(VALUE_DP, &f.v[VALUE_DP]));
    expect_whole(&f, VALUE_TP, 1, "default");
    arena_clear(&f.arena);
}

Test(values, what_is_needed_and_not_stated_is_demanded)
{
    struct fixture f;
    cr_assert_eq(read_line(&f, "--hidden-size 512 --num-attention-heads 8"),
                 ERR_OK);
    cr_expect(value_decides(VALUE_LAYERS, &f.v[VALUE_LAYERS]));
    cr_expect(value_decides(VALUE_VOCAB, &f.v[VALUE_VOCAB]));
    // neither ranks nor batch nor the length of a sequence
    cr_expect(!value_decides(VALUE_WORLD, &f.v[VALUE_WORLD]));
    cr_expect(!value_decides(VALUE_GLOBAL_BATCH, &f.v[VALUE_GLOBAL_BATCH]));
    cr_expect(!value_decides(VALUE_SEQ, &f.v[VALUE_SEQ]));
    arena_clear(&f.arena);
}

Test(values, a_later_source_gives_what_was_not_known)
{
    struct fixture f;
    cr_assert_eq(read_line(&f, SIZES "--num-layers ?"), ERR_OK);
    cr_expect_eq(f.v[VALUE_LAYERS].is, VALUE_UNKNOWN);
    struct megatron_flags *flags = megatron_args_flags(f.args);
    flags->from = "option";
    flags_set_int(flags, FLAG_NUM_LAYERS, 24);
    cr_assert_eq(values_read(&f.arena, flags, f.v, &f.msg), ERR_OK);
    expect_whole(&f, VALUE_LAYERS, 24, "option");
    arena_clear(&f.arena);
}

Test(values, sizes_out_of_range_are_refused)
{
    struct fixture f;
    cr_expect_eq(read_line(&f, SIZES "--pipeline-model-parallel-size 0"),
                 ERR_RANGE);
    arena_clear(&f.arena);
}

Test(account, lines_are_kept_once_in_order)
{
    struct arena a;
    struct account to;
    struct err_msg msg;
    arena_init(&a);
    account_init(&to, &a);
    account_add(&to, &to.assumed, "one");
    account_add(&to, &to.assumed, "two");
    account_add(&to, &to.assumed, "one");
    cr_expect_eq(to.assumed.n, 2);
    cr_expect_str_eq(to.assumed.first->text, "one");
    cr_expect_eq(account_refuse_changes(&to, "run.sh", &msg), ERR_OK);
    account_change(&to, "--noop-layers", "a fork's");
    account_change(&to, "--noop-layers", "again");
    account_change(&to, "--embed-layernorm", "a fork's");
    cr_expect_eq(to.changes.n, 2);
    cr_expect_eq(account_refuse_changes(&to, "run.sh", &msg), ERR_RANGE);
    cr_expect(strstr(msg.text, "--noop-layers, --embed-layernorm"));
    cr_expect(strstr(msg.text, "--ignore-unknown"));
    arena_clear(&a);
}
