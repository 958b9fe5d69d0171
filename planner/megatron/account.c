#include "account.h"

#include "base/join.h"
#include "base/text.h"
#include "hybrid.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void account_init(struct account *to, struct arena *a)
{
    *to = (struct account){.arena = a, .source = "flags"};
}

/* The same lines in nodes of its own. */
static bool account_copy_list(struct arena *a, const struct account_list *from,
                              struct account_list *out)
{
    struct account_list list = {.n = from->n};
    for (const struct account_line *l = from->first; l; l = l->next) {
        struct account_line *line = arena_alloc(a, 1, sizeof *line);
        if (!line)
            return false;
        *line = (struct account_line){l->text, NULL};
        if (list.last)
            list.last->next = line;
        else
            list.first = line;
        list.last = line;
    }
    *out = list;
    return true;
}

/* Lists are linked through memory of their own arena, which may end before the
 * copy does. */
bool account_copy(struct arena *a, const struct account *from,
                  struct account *out)
{
    struct account copy = *from;
    bool ok = account_copy_list(a, &from->launches, &copy.launches) &&
              account_copy_list(a, &from->warnings, &copy.warnings) &&
              account_copy_list(a, &from->assumed, &copy.assumed) &&
              account_copy_list(a, &from->changes, &copy.changes) &&
              account_copy_list(a, &from->reasons, &copy.reasons);
    if (ok)
        *out = copy;
    return ok;
}

bool account_has(const struct account_list *list, const char *text)
{
    for (const struct account_line *l = list->first; l; l = l->next)
        if (strcmp(l->text, text) == 0)
            return true;
    return false;
}

/* Whether or not the list has it. */
static void account_append(struct account *to, struct account_list *list,
                           const char *text)
{
    struct account_line *line = arena_alloc(to->arena, 1, sizeof *line);
    // people read the lists on terminals
    const char *copy = arena_strdup(to->arena, text_one_line(to->arena, text));
    if (!line || !copy)
        return;
    *line = (struct account_line){copy, NULL};
    if (list->last)
        list->last->next = line;
    else
        list->first = line;
    list->last = line;
    list->n++;
}

void account_add(struct account *to, struct account_list *list,
                 const char *text)
{
    if (!account_has(list, text))
        account_append(to, list, text);
}

/* Both lists have as many lines: reasons may be alike. */
void account_change(struct account *to, const char *flag, const char *reason)
{
    if (account_has(&to->changes, flag))
        return;
    account_append(to, &to->changes, flag);
    account_append(to, &to->reasons, reason);
}

/* Lines with a separator between; NULL when out of memory. */
static const char *account_join(const struct account *from,
                                const struct account_list *list,
                                const char *between)
{
    struct join all = join_begin(from->arena);
    for (const struct account_line *l = list->first; l; l = l->next) {
        join_add(&all, all.n ? between : "");
        join_add(&all, l->text);
    }
    return join_end(&all);
}

/* Only where the launches differ is there anything to ask. */
enum err account_ask_launch(const struct account *from, const char *where,
                            struct err_msg *msg)
{
    if (!from->launch.ask)
        return ERR_OK;
    const char *all = account_join(from, &from->launches, "; ");
    if (!all)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    return err_set(msg, ERR_RANGE,
                   "%s: starts %d launches that differ: give --launch K: %s",
                   where, from->launch.of, all);
}

/* A flag that changes the model in a way that is not counted makes every number
 * wrong: it is refused until the user says otherwise, with the reason of the
 * first. */
enum err account_refuse_changes(const struct account *from, const char *where,
                                struct err_msg *msg)
{
    if (!from->changes.n)
        return ERR_OK;
    const char *names = account_join(from, &from->changes, ", ");
    if (!names)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    return err_set(msg, ERR_RANGE,
                   "%s: %s: %s; --ignore-unknown goes on without", where, names,
                   from->reasons.first->text);
}

/* ---- defaults ---- */

static void account_say(struct account *to, struct account_list *list,
                        const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void account_say(struct account *to, struct account_list *list,
                        const char *fmt, ...)
{
    char line[300];
    va_list rest;
    va_start(rest, fmt);
    vsnprintf(line, sizeof line, fmt, rest);
    va_end(rest);
    account_add(to, list, line);
}

/* A dump lists every argument, also those that nobody gave. */
static void account_say_groups(struct account *to,
                               const struct megatron_flags *f)
{
    const int64_t groups = flags_int(f, FLAG_NUM_QUERY_GROUPS, 1);
    const int64_t heads = flags_int(f, FLAG_NUM_ATTENTION_HEADS, 0);
    if (flags_given(f, FLAG_MLA) || strcmp(to->source, "log") == 0 ||
        groups == heads)
        return;
    if (flags_given(f, FLAG_NUM_QUERY_GROUPS) &&
        !flags_given(f, FLAG_GROUP_QUERY_ATTENTION))
        account_say(to, &to->warnings,
                    "--num-query-groups %lld has no effect without "
                    "--group-query-attention: all %lld heads have keys and "
                    "values of their own",
                    (long long)groups, (long long)heads);
    if (!flags_given(f, FLAG_NUM_QUERY_GROUPS) &&
        flags_given(f, FLAG_GROUP_QUERY_ATTENTION))
        account_say(to, &to->assumed,
                    "--num-query-groups is not given: 1, Megatron's default");
}

/* Dense layers have the width, and experts that have none of their own. */
static void account_say_widths(struct account *to,
                               const struct megatron_flags *f)
{
    const bool experts = flags_given(f, FLAG_NUM_EXPERTS);
    const bool own = experts && flags_given(f, FLAG_MOE_FFN_HIDDEN_SIZE);
    const int64_t hidden = flags_int(f, FLAG_HIDDEN_SIZE, 0);
    const char *symbols = hybrid_text_of(f);
    const bool dense = symbols
                           ? strchr(symbols, '-') != NULL
                           : !experts || !flags_is(f, FLAG_MOE_LAYER_FREQ, "1");
    if (experts && !own)
        account_say(to, &to->assumed,
                    "--moe-ffn-hidden-size is not given: experts are as wide "
                    "as --ffn-hidden-size");
    if (flags_given(f, FLAG_FFN_HIDDEN_SIZE) || !hidden || (!dense && own))
        return;
    if (flags_given(f, FLAG_SWIGLU))
        account_say(to, &to->assumed,
                    "--ffn-hidden-size is not given: %lld, 8/3 of "
                    "--hidden-size in steps of 64",
                    (long long)(hidden * 4 * 2 / 3 / 64 * 64));
    else
        account_say(to, &to->assumed,
                    "--ffn-hidden-size is not given: %lld, 4 x --hidden-size",
                    (long long)(hidden * 4));
}

/* Defaults that decide sizes are said, since nobody reads them in the flags. */
static void account_say_experts(struct account *to,
                                const struct megatron_flags *f)
{
    if (!flags_given(f, FLAG_NUM_EXPERTS))
        return;
    if (!flags_given(f, FLAG_MOE_ROUTER_TOPK))
        account_say(to, &to->assumed,
                    "--moe-router-topk is not given: 2, Megatron's default");
    if (flags_given(f, FLAG_MOE_EXPERT_BIAS))
        account_say(to, &to->assumed,
                    "--moe-router-enable-expert-bias: the routers' correction "
                    "biases are buffers in Megatron, %s",
                    flags_given(f, FLAG_COUNT_EXPERT_BIAS)
                        ? "counted among the parameters all the same"
                        : "not counted among the parameters");
}

/* The vocabulary decides the two largest tables, and tokenizers add to it in
 * ways of their own. */
static void account_say_vocab(struct account *to,
                              const struct megatron_flags *f)
{
    if (flags_given(f, FLAG_PADDED_VOCAB_SIZE))
        return;
    if (flags_given(f, FLAG_VOCAB_SIZE) &&
        flags_is(f, FLAG_TOKENIZER_TYPE, "NullTokenizer"))
        account_say(to, &to->assumed,
                    "NullTokenizer adds one token to --vocab-size %lld before "
                    "padding, as in core 0.16; main of 2026 adds none",
                    (long long)flags_int(f, FLAG_VOCAB_SIZE, 0));
    if (!flags_given(f, FLAG_VOCAB_SIZE) &&
        flags_is(f, FLAG_TOKENIZER_TYPE, "GPT2BPETokenizer"))
        account_say(to, &to->assumed,
                    "--vocab-size is not given: GPT2BPETokenizer has 50257 "
                    "tokens");
}

/* Megatron takes latents of DeepSeek's sizes where none are given. */
static void account_say_mla(struct account *to, const struct megatron_flags *f)
{
    static const enum flag_id sizes[] = {FLAG_KV_LORA_RANK, FLAG_QK_HEAD_DIM,
                                         FLAG_QK_POS_EMB_HEAD_DIM,
                                         FLAG_V_HEAD_DIM};
    const char *symbols = hybrid_text_of(f);
    if (!flags_given(f, FLAG_MLA) && !(symbols && strpbrk(symbols, "+D")))
        return;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (!flags_given(f, sizes[i]))
            account_say(
                to, &to->assumed, "--%s is not given: %lld, Megatron's default",
                flag_name(sizes[i]), (long long)flags_int(f, sizes[i], 0));
}

/* Sizes of layers that have flags of their own. */
static void account_say_symbols(struct account *to,
                                const struct megatron_flags *f)
{
    static const struct {
        char symbol;
        enum flag_id flag;
    } sizes[] = {
        {'M', FLAG_MAMBA_STATE_DIM},    {'M', FLAG_MAMBA_HEAD_DIM},
        {'M', FLAG_MAMBA_NUM_GROUPS},   {'G', FLAG_LINEAR_KEY_HEADS},
        {'G', FLAG_LINEAR_VALUE_HEADS}, {'G', FLAG_LINEAR_KEY_DIM},
        {'G', FLAG_LINEAR_VALUE_DIM},
    };
    const char *symbols = hybrid_text_of(f);
    for (size_t i = 0; symbols && i < sizeof sizes / sizeof sizes[0]; i++)
        if (strchr(symbols, sizes[i].symbol) && !flags_given(f, sizes[i].flag))
            account_say(to, &to->assumed,
                        "--%s is not given: %lld, Megatron's default",
                        flag_name(sizes[i].flag),
                        (long long)flags_int(f, sizes[i].flag, 0));
    if (symbols && strchr(symbols, 'M') &&
        !flags_given(f, FLAG_MAMBA_NUM_HEADS))
        account_say(to, &to->assumed,
                    "--mamba-num-heads is not given: as many as twice "
                    "--hidden-size has heads");
    if (symbols && strpbrk(symbols, "+D") && flags_given(f, FLAG_QK_LAYERNORM))
        account_say(to, &to->assumed,
                    "--qk-layernorm: norms of the latents of + and D are "
                    "counted, of which Megatron's hybrid stack of August 2026 "
                    "builds none (hybrid_layer_specs.py)");
}

/* Each part by itself; what a model does not have is not spoken of. */
void account_say_defaults(struct account *to, const struct megatron_flags *f)
{
    account_say_groups(to, f);
    account_say_widths(to, f);
    account_say_experts(to, f);
    account_say_vocab(to, f);
    account_say_mla(to, f);
    account_say_symbols(to, f);
    hybrid_say(to, f);
}
