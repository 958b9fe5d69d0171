/*
 * How it works: configurations of reinforcement learning (NeMo-RL, ROLL) have
 * Megatron's names below a section of their own, which dialect.c reads as it
 * does others'. Here is what stands elsewhere: the file that this one is put
 * over, switches that other keys depend on, batches that are packed by tokens.
 */
#include "dialect_rl.h"

#include <string.h>

/* A value that stands in another place, by its path. */
struct rl_value {
    const char *path, *flag;
};

static enum err rl_take(struct dialect *d, const struct rl_value *values)
{
    for (; values->path; values++) {
        const struct tree *at = tree_find(d->y.top, values->path);
        const char *text = NULL;
        enum err e = yaml_text(&d->y, at, &text, NULL);
        if (e == ERR_OK && text)
            e = dialect_set(d, values->flag, text, at);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* A switch's last word; a file that does not have it leaves it as it was. */
static void rl_switch(struct dialect *d, const char *path, bool *on)
{
    bool yes = false;
    if (tree_bool(tree_find(d->y.top, path), &yes))
        *on = yes;
}

void dialect_tell_packed(struct dialect *d)
{
    if (d->all->packed || d->all->dynamic)
        account_change(megatron_args_account(d->y.args),
                       d->all->packed ? "sequence_packing" : "dynamic_batching",
                       "micro-batches are filled up to a number of tokens: "
                       "give --mbs N and --seq N, as their mean is");
}

/* ---- NeMo-RL ---- */

/* "defaults: ../../grpo.yaml": the file that this one is put over. */
static enum err rl_base(struct dialect *d)
{
    const struct tree *at = tree_get(d->y.top, "defaults");
    const char *name = tree_text(at);
    return name ? dialect_need(d, at, name) : ERR_OK;
}

/* Its own keys for recomputing count where this switch is on. */
static enum err rl_recompute(struct dialect *d)
{
    static const struct rl_value keys[] = {
        {"policy.megatron_cfg.recompute_granularity", "recompute-granularity"},
        {"policy.megatron_cfg.recompute_modules", "recompute-modules"},
        {NULL, NULL}};
    const struct tree *at =
        tree_find(d->y.top, "policy.megatron_cfg.activation_checkpointing");
    const char *how = tree_text(tree_find(d->y.top, keys[0].path));
    bool yes = false;
    if (!tree_bool(at, &yes) || !yes)
        return ERR_OK;
    if (how && strcmp(how, "full") != 0)
        return rl_take(d, keys);
    enum err e = dialect_set(d, "recompute-granularity", "full", at);
    if (e == ERR_OK)
        e = dialect_set(d, "recompute-method", "uniform", at);
    return e == ERR_OK ? dialect_set(d, "recompute-num-layers", "1", at) : e;
}

enum err dialect_nemo_rl(struct dialect *d)
{
    static const struct rl_value batch[] = {
        {"policy.train_global_batch_size", "global-batch-size"},
        {"policy.train_micro_batch_size", "micro-batch-size"},
        {"policy.max_total_sequence_length", "seq-length"},
        {NULL, NULL}};
    enum err e = rl_base(d);
    if (e == ERR_OK)
        e = rl_take(d, batch);
    if (e == ERR_OK)
        e = rl_recompute(d);
    rl_switch(d, "policy.sequence_packing.enabled", &d->all->packed);
    rl_switch(d, "policy.dynamic_batching.enabled", &d->all->dynamic);
    bool shared = !d->all->apart;
    rl_switch(d, "policy.generation.colocated.enabled", &shared);
    d->all->apart = !shared;
    if (tree_get(d->y.top, "teacher"))
        account_change(megatron_args_account(d->y.args), "teacher",
                       "a second model, its teacher, takes memory and time");
    return e;
}

/* ---- ROLL ---- */

enum err dialect_roll(struct dialect *d)
{
    static const struct rl_value batch[] = {
        {"actor_train.training_args.per_device_train_batch_size",
         "micro-batch-size"},
        {NULL, NULL}};
    const struct tree *how =
        tree_find(d->y.top, "actor_train.strategy_args.strategy_name");
    const char *name = tree_text(how);
    if (name && strncmp(name, "megatron", 8) != 0)
        return err_set(
            d->y.msg, ERR_PARSE,
            "%s:%d: strategy_name: got '%.40s', want megatron_train: "
            "other trainers are not read",
            d->y.where, how->line, name);
    rl_switch(d, "actor_train.use_dynamic_batching_in_train", &d->all->dynamic);
    rl_switch(d, "actor_train.use_sequence_packing", &d->all->packed);
    return rl_take(d, batch);
}
