/*
 * How it works: trainers around Megatron (slime, miles) take its flags and add
 * their own, from which they make the world and the global batch before
 * Megatron's parser sees a word. Only what Megatron's own flags leave open is
 * filled in; a number that is not known makes its product unknown, with the
 * place of that number.
 */
#include "rollout.h"

#include "base/text.h"

#include <string.h>

/* A flag's number; 0: it is not there, or not known. */
struct rollout_number {
    int64_t n;
    bool given;
    struct args_origin origin;
};

/* The word's value behind '='; NULL: it is another word, "": it is the next. */
static const char *rollout_value(const char *word, const char *name)
{
    for (; *name && (*word == *name || (*word == '_' && *name == '-')); name++)
        word++;
    if (*name || (*word && *word != '='))
        return NULL;
    return *word ? word + 1 : "";
}

/* The last one counts, as for any parser. */
static struct rollout_number rollout_find(const struct dialect_words *w,
                                          const char *name)
{
    struct rollout_number out = {.n = 0};
    for (int i = 0; i < w->argc; i++) {
        const char *value = rollout_value(w->argv[i], name);
        if (!value)
            continue;
        const int at = *value || i + 1 == w->argc ? i : i + 1;
        value = at == i ? value : w->argv[at];
        out = (struct rollout_number){.given = true};
        if (w->origin)
            out.origin = w->origin[at];
        // as many as any cluster or step has
        if (out.origin.unknown || !text_to_int64(value, &out.n) || out.n < 1 ||
            out.n > 1 << 24)
            out.n = 0;
    }
    return out;
}

/* From the place of the number that is not known, or of the flag. */
static enum err rollout_unknown(struct megatron_flags *f, enum flag_id id,
                                const struct rollout_number *at,
                                struct err_msg *msg)
{
    const struct flag_unknown *known = at->origin.unknown;
    const struct flag_unknown why = {
        at->origin.from ? at->origin.from : "",
        "the trainer's own flags give it, and not as a number"};
    return flags_set_unknown(f, id, known ? known : &why, msg);
}

static void rollout_set(struct megatron_flags *f, enum flag_id id, int64_t n,
                        const struct rollout_number *from)
{
    const char *before = f->from;
    f->from = from->origin.from ? from->origin.from : before;
    flags_set_int(f, id, n);
    f->from = before;
}

/* Ranks of the actor: one node and eight GPUs unless said (slime's own). */
static enum err rollout_world(struct megatron_flags *f,
                              const struct dialect_words *w,
                              struct err_msg *msg)
{
    struct rollout_number nodes = rollout_find(w, "--actor-num-nodes");
    struct rollout_number gpus = rollout_find(w, "--actor-num-gpus-per-node");
    if ((!nodes.given && !gpus.given) || !flags_unknown(f, FLAG_WORLD_SIZE))
        return ERR_OK;
    const struct rollout_number *from = nodes.given ? &nodes : &gpus;
    if (nodes.given && !nodes.n)
        return rollout_unknown(f, FLAG_WORLD_SIZE, &nodes, msg);
    if (gpus.given && !gpus.n)
        return rollout_unknown(f, FLAG_WORLD_SIZE, &gpus, msg);
    rollout_set(f, FLAG_WORLD_SIZE,
                (nodes.given ? nodes.n : 1) * (gpus.given ? gpus.n : 8), from);
    return ERR_OK;
}

/* Sequences of a rollout over its steps, where no global batch is stated. */
static enum err rollout_batch(struct megatron_flags *f,
                              const struct dialect_words *w,
                              struct err_msg *msg)
{
    struct rollout_number prompts = rollout_find(w, "--rollout-batch-size");
    struct rollout_number each = rollout_find(w, "--n-samples-per-prompt");
    struct rollout_number steps = rollout_find(w, "--num-steps-per-rollout");
    if (!prompts.given || flags_given(f, FLAG_GLOBAL_BATCH_SIZE))
        return ERR_OK;
    const int64_t n = prompts.n * (each.given ? each.n : 1);
    if (!n || !steps.n || n / steps.n < 1 || n / steps.n > 1 << 30)
        return rollout_unknown(f, FLAG_GLOBAL_BATCH_SIZE,
                               !prompts.n    ? &prompts
                               : steps.given ? &steps
                                             : &each,
                               msg);
    rollout_set(f, FLAG_GLOBAL_BATCH_SIZE, n / steps.n, &steps);
    return ERR_OK;
}

/* Adam's state is always sharded; other optimizers' is not. */
static enum err rollout_optimizer(struct megatron_args *to,
                                  const struct dialect_words *w,
                                  struct err_msg *msg)
{
    struct megatron_flags *f = megatron_args_flags(to);
    if (!rollout_find(w, "--actor-num-nodes").given &&
        !rollout_find(w, "--rollout-batch-size").given)
        return ERR_OK;
    if (flags_given(f, FLAG_DIST_OPT) || !flags_is(f, FLAG_OPTIMIZER, "adam"))
        return ERR_OK;
    return dialect_shards_state(to, "the trainer (slime, miles)", msg);
}

enum err rollout_read(struct megatron_args *to,
                      const struct dialect_words *words, struct err_msg *msg)
{
    struct megatron_flags *f = megatron_args_flags(to);
    enum err e = rollout_world(f, words, msg);
    if (e == ERR_OK)
        e = rollout_batch(f, words, msg);
    return e == ERR_OK ? rollout_optimizer(to, words, msg) : e;
}
