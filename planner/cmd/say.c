/*
 * How it works: what is not known is gathered from two places, the values that
 * people speak of and the remaining flags, into one list, which the command
 * `read` prints and every other command refuses to guess.
 */
#include "megatron/memory.h"
#include "megatron/values.h"
#include "open.h"

#include <stdio.h>
#include <string.h>

/* ---- what is not known ---- */

/* Was the flag's reason told with a value? Values share the slots' texts. */
static bool say_has_reason(const struct open_unknowns *all,
                           const struct flag_unknown *u)
{
    for (int i = 0; i < all->n; i++)
        if (all->item[i].why == u->why && all->item[i].where == u->where)
            return true;
    return false;
}

/* Does another flag's value take the place of this one's? */
static bool say_is_replaced(enum flag_id id, const struct value v[N_VALUES])
{
    static const struct {
        enum flag_id flag;
        enum value_id value;
    } parts[] = {{FLAG_VOCAB_SIZE, VALUE_VOCAB},
                 {FLAG_TOKENIZER_TYPE, VALUE_VOCAB},
                 {FLAG_MAKE_VOCAB_DIVISIBLE, VALUE_VOCAB},
                 {FLAG_NUM_QUERY_GROUPS, VALUE_GROUPS},
                 {FLAG_LAYERS_PER_VPP, VALUE_VPP}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].flag == id)
            return v[parts[i].value].is != VALUE_UNKNOWN;
    return false;
}

/* Values first, then flags that no value stands for; one reason is told once.
 */
enum err open_list_unknowns(struct arena *a, const struct megatron_flags *f,
                            const struct value v[N_VALUES],
                            struct open_unknowns *out, struct err_msg *msg)
{
    *out = (struct open_unknowns){
        arena_alloc(a, N_VALUES + N_FLAGS, sizeof *out->item), 0};
    if (!out->item)
        return err_set(msg, ERR_NOMEM, "unknown values: out of memory");
    for (int i = 0; i < N_VALUES; i++) {
        enum value_id id = (enum value_id)i;
        if (v[i].is == VALUE_UNKNOWN)
            out->item[out->n++] = (struct open_unknown){
                value_key(id), v[i].where, v[i].why, value_option(id),
                value_decides(id, &v[i])};
    }
    const int n_values = out->n;
    for (int i = 0; i < N_FLAGS; i++) {
        enum flag_id id = (enum flag_id)i;
        const struct flag_unknown *u = f->slot[i].unknown;
        const struct open_unknowns values = {out->item, n_values};
        if (!u || flag_effect(id) == FLAG_FX_JUDGED ||
            say_has_reason(&values, u) || say_is_replaced(id, v))
            continue;
        const char *value = flag_type(id) == FLAG_TYPE_BOOL ? "" : " VALUE";
        const char *option = arena_printf(a, "-- --%s%s", flag_name(id), value);
        if (!option)
            return err_set(msg, ERR_NOMEM, "unknown values: out of memory");
        out->item[out->n++] =
            (struct open_unknown){flag_name(id), u->where, u->why, option,
                                  flag_effect(id) <= FLAG_FX_BATCH};
    }
    return ERR_OK;
}

/* Ranks and batch change neither parameters nor operations. */
static bool say_is_of_sizes(const struct open_unknown *u)
{
    for (int i = VALUE_TP; i < N_VALUES; i++)
        if (strcmp(u->name, value_key((enum value_id)i)) == 0)
            return false;
    return true;
}

/* All in one message: who gives one value at a time would run the command as
 * often as values are missing. */
enum err open_demand(struct arena *a, const struct open_unknowns *all,
                     const char *where, bool sizes_only, struct err_msg *msg)
{
    const char *text = "";
    for (int i = 0; i < all->n && text; i++) {
        const struct open_unknown *u = &all->item[i];
        if (!u->decides || (sizes_only && !say_is_of_sizes(u)))
            continue;
        text = arena_printf(a, "%s%s%s: %s%s%s, give '%s'", text,
                            *text ? "; " : "", u->name, u->where,
                            *u->where ? ": " : "", u->why, u->option);
    }
    if (!text)
        return err_set(msg, ERR_NOMEM, "unknown values: out of memory");
    if (!*text)
        return ERR_OK;
    return err_set(msg, ERR_PARSE, "%s: not known: %s", where, text);
}

/* What is not known and decides nothing is taken for not given, and said. */
void open_assume_unknowns(struct megatron_args *args)
{
    struct megatron_flags *f = megatron_args_flags(args);
    struct account *account = megatron_args_account(args);
    for (int i = 0; i < N_FLAGS; i++) {
        enum flag_id id = (enum flag_id)i;
        const struct flag_unknown *u = f->slot[i].unknown;
        if (!u || flag_effect(id) == FLAG_FX_JUDGED)
            continue;
        char line[400];
        snprintf(line, sizeof line,
                 "%s%s--%s: %.200s is not known: taken as not given", u->where,
                 *u->where ? ": " : "", flag_name(id), u->why);
        account_add(account, &account->assumed, line);
        flags_clear(f, id);
    }
}

/* An adapter is as little understood as the flags of a fork. */
void open_note_refused(struct megatron_args *args)
{
    const struct megatron_flags *f = megatron_args_flags(args);
    const char *adapter = megatron_memory_adapter(f);
    if (adapter)
        account_change(megatron_args_account(args), "LoRA", adapter);
}

/* ---- what was read ---- */

/* Where the launch stands, when the source is a script: " (torchrun, line 3)".
 */
static void say_launch(const struct account_launch *l, char *out, size_t size)
{
    out[0] = '\0';
    if (l->program && l->of > 1)
        snprintf(out, size, " (launch %d of %d, %.40s, line %d)", l->number,
                 l->of, l->program, l->line);
    else if (l->program)
        snprintf(out, size, " (%.40s, line %d)", l->program, l->line);
}

const char *open_summary(struct cmd *c, const struct account *account,
                         const struct cmd_model *m)
{
    char launch[120], experts[40] = "", batch[60] = "no global batch";
    if (m->model.n_experts)
        snprintf(experts, sizeof experts, " with %lld experts",
                 (long long)m->model.n_experts);
    if (m->batch_given)
        snprintf(batch, sizeof batch, "%lld micro-batches",
                 (long long)m->model.batch.n_microbatches);
    say_launch(&account->launch, launch, sizeof launch);
    return arena_printf(
        &c->arena, "%s%s: %d layers of width %lld%s, %d rank%s, %s",
        c->source_name, launch, m->model.n_layers, (long long)m->model.hidden,
        experts, m->model.par.world, m->model.par.world == 1 ? "" : "s", batch);
}

/* ---- answers ---- */

static void say_write_lines(struct writer to, const struct account_list *list)
{
    for (const struct account_line *l = list->first; l; l = l->next)
        writer_text(to, NULL, l->text);
}

/* A command may have begun the list with lines of its own. */
static struct writer say_list(struct writer top, const char *key)
{
    cJSON *there = top.item ? cJSON_GetObjectItem(top.item, key) : NULL;
    return there ? (struct writer){top.doc, there} : writer_list(top, key);
}

void cmd_write_lines(const struct account *from, struct writer top)
{
    say_write_lines(say_list(top, "warnings"), &from->warnings);
    say_write_lines(say_list(top, "assumed"), &from->assumed);
}

void cmd_write_account(const struct cmd *c, struct writer top)
{
    static const struct account none = {0};
    cmd_write_lines(c->opened ? megatron_args_account(c->opened) : &none, top);
}
