/*
 * How it works: a case is a command line in JSON, read by the same table of
 * flags as any other; what its image adds (platform, padded vocabulary, world
 * size) is put into the slots before the model is built.
 */
#include "case.h"

#include "layout/default_split.h"
#include "megatron/hybrid.h"
#include "megatron/memory.h"

#include <string.h>

/* Without a layout the flags mean Megatron's own split; with one they must not
 * say anything of it. */
static enum err case_read_layout(struct arena *a,
                                 const struct megatron_flags *f,
                                 struct memory_case *c, struct err_msg *msg)
{
    const char *text = flags_text(f, FLAG_LAYOUT);
    const struct model *m = &c->model;
    if (model_is_hybrid(m))
        return hybrid_layout(a, f, m->par.pp, &c->layout, msg);
    if (!text)
        return default_split_layout(a, m, m->par.pp, &c->layout, msg);
    enum err e = default_split_excludes(m, msg);
    return e == ERR_OK ? layout_read(a, text, m, &c->layout, msg) : e;
}

/* ---- prediction ---- */

/* A model that cannot be built is a refusal with the message as reason. */
static enum err case_refuse(struct arena *a, struct memory_case *c, enum err e,
                            struct err_msg *msg)
{
    if (e == ERR_NOMEM)
        return e;
    c->refusal = arena_strdup(a, msg->text);
    return c->refusal ? ERR_OK : ERR_NOMEM;
}

static enum err predict_ranks(struct arena *a, struct memory_case *c,
                              struct err_msg *msg)
{
    struct memory_terms terms;
    struct memory_rank *ranks =
        arena_alloc(a, (size_t)c->layout.pp, sizeof *ranks);
    if (!ranks)
        return err_set(msg, ERR_NOMEM, "case: out of memory");
    memory_terms(&c->model, &MEMORY_MEGATRON, c->platform, &terms);
    terms.last_replica = true; // the rank that was measured
    for (int r = 0; r < c->layout.pp; r++)
        memory_rank(&terms, &c->layout, r, &ranks[r]);
    c->ranks = ranks;
    return memory_assumed(
        a, &terms,
        (struct memory_stated){.platform = true, .batch = c->batch_stated},
        &c->assumed, msg);
}

/* What reading the flags warned of, and the reason to refuse: a flag that
 * changes the model and is not understood; NULL: there is none. */
static const char *case_account(struct arena *a, struct megatron_args *args,
                                struct memory_case *c)
{
    struct account *account = megatron_args_account(args);
    account_say_defaults(account, megatron_args_flags(args));
    c->account = account;
    // an adapter is refused with more of a reason, by memory_refusal()
    if (!account->changes.n ||
        megatron_memory_adapter(megatron_args_flags(args)))
        return NULL;
    const char *why = arena_printf(a, "%s: %s", account->changes.first->text,
                                   account->reasons.first->text);
    return why ? why : "out of memory";
}

static enum err case_read_args(struct arena *a,
                               const struct memory_case_input *in,
                               struct megatron_args **out, struct err_msg *msg)
{
    struct megatron_args *args = megatron_args_new(a);
    if (!args)
        return err_set(msg, ERR_NOMEM, "case: out of memory");
    struct megatron_flags *f = megatron_args_flags(args);
    enum err e = megatron_args_read_case(args, in->flags, msg);
    if (in->world_size)
        flags_set_int(f, FLAG_WORLD_SIZE, in->world_size);
    if (in->padded_vocab_size)
        flags_set_int(f, FLAG_PADDED_VOCAB_SIZE, in->padded_vocab_size);
    *out = args;
    return e;
}

/* The oldest image of the corpus has no deterministic fused attention, and so
 * falls back on the unfused one. */
static void apply_platform(const struct megatron_flags *f, const char *name,
                           struct memory_options *o)
{
    if (strncmp(name, "lts_dgxa100", 11) == 0 && o->deterministic &&
        !flags_given(f, FLAG_ATTENTION_BACKEND))
        o->unfused_attention = true;
}

enum err memory_case_predict(struct arena *a,
                             const struct memory_case_input *in,
                             struct memory_case *out, struct err_msg *msg)
{
    struct memory_case c = {.refusal = NULL};
    struct megatron_args *args = NULL;
    enum err e = case_read_args(a, in, &args, msg);
    if (e != ERR_OK)
        return e;
    struct megatron_flags *f = megatron_args_flags(args);
    const char *unknown = case_account(a, args, &c);
    c.batch_stated = flags_given(f, FLAG_GLOBAL_BATCH_SIZE);
    if (!platform_from_name(in->platform, &c.platform))
        c.refusal = "the workspaces of this platform are not known";
    e = megatron_args_model(a, args, &c.model, msg);
    if (e == ERR_OK)
        e = case_read_layout(a, f, &c, msg);
    if (e != ERR_OK) {
        e = case_refuse(a, &c, e, msg);
    } else if (!c.refusal) {
        apply_platform(f, in->platform, &c.model.memory);
        // cases are measured on main
        c.model.memory.mtp_logits_freed = true;
        if (c.model.memory.precision_unknown) // a case has all flags
            megatron_memory_fp32(&c.model.memory);
        // both lead to cuBLAS's configured workspace
        c.model.memory.deterministic |= in->workspace_configured;
        c.refusal = memory_refusal(&c.model);
        if (!c.refusal) // what is known of a case says more
            c.refusal = unknown;
    }
    if (e == ERR_OK && !c.refusal)
        e = predict_ranks(a, &c, msg);
    if (e == ERR_OK)
        *out = c;
    return e;
}
