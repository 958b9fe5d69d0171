#include "case.h"

#include "layout/default_split.h"

#include <string.h>

/* ---- flags ---- */

/* Text of a value as a command line would carry it. */
static const char *case_value_text(struct arena *a, const cJSON *v)
{
    if (cJSON_IsTrue(v))
        return "true";
    if (cJSON_IsString(v))
        return v->valuestring;
    if (cJSON_IsNumber(v))
        return arena_printf(a, "%.17g", v->valuedouble);
    return NULL;
}

/* false and null are flags not given. */
static enum err take_flags(struct arena *a, struct megatron_args *args,
                           const cJSON *flags, struct err_msg *msg)
{
    if (!cJSON_IsObject(flags))
        return err_set(msg, ERR_PARSE,
                       "flags: want an object {\"--name\": "
                       "value}");
    for (const cJSON *f = flags->child; f; f = f->next) {
        if (cJSON_IsFalse(f) || cJSON_IsNull(f))
            continue;
        const char *text = case_value_text(a, f);
        if (strncmp(f->string, "--", 2) != 0 || !text)
            return err_set(msg, ERR_PARSE,
                           "flags: %s: want \"--name\" with true, a number or "
                           "a string",
                           f->string);
        enum err e = megatron_args_set(args, f->string + 2, text, msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* ---- the layout ---- */

/* Without a layout the flags mean Megatron's own split; with one they must not
 * say anything of it. */
static enum err case_read_layout(struct arena *a,
                                 const struct megatron_args *args,
                                 struct memory_case *c, struct err_msg *msg)
{
    const char *text =
        megatron_args_string(args, "pipeline-model-parallel-layout");
    const struct model *m = &c->model;
    if (!text)
        return default_split_layout(a, m, m->par.pp, &c->layout, msg);
    enum err e = default_split_excludes(m, msg);
    return e == ERR_OK ? layout_read(a, text, m, m->par.pp, &c->layout, msg)
                       : e;
}

/* ---- prediction ---- */

/* A number that the case states beside its flags; 0: it does not. */
static enum err set_number(struct arena *a, struct megatron_args *args,
                           const char *name, int64_t v, struct err_msg *msg)
{
    if (!v)
        return ERR_OK;
    const char *text = arena_printf(a, "%lld", (long long)v);
    return text ? megatron_args_set(args, name, text, msg)
                : err_set(msg, ERR_NOMEM, "case: out of memory");
}

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
    return ERR_OK;
}

static enum err case_read_args(struct arena *a,
                               const struct memory_case_input *in,
                               struct megatron_args **out, struct err_msg *msg)
{
    struct megatron_args *args = megatron_args_new(a);
    if (!args)
        return err_set(msg, ERR_NOMEM, "case: out of memory");
    enum err e = take_flags(a, args, in->flags, msg);
    if (e == ERR_OK)
        e = set_number(a, args, "world-size", in->world_size, msg);
    if (e == ERR_OK)
        e = set_number(a, args, "padded-vocab-size", in->padded_vocab_size,
                       msg);
    *out = args;
    return e;
}

/* The oldest image of the corpus has no deterministic fused attention. */
static void apply_platform(const struct megatron_args *args, const char *name,
                           struct memory_options *o)
{
    if (strncmp(name, "lts_dgxa100", 11) == 0 && o->deterministic &&
        !megatron_args_given(args, "attention-backend"))
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
    if (!platform_from_name(in->platform, &c.platform))
        c.refusal = "the workspaces of this platform are not known";
    e = megatron_args_model(a, args, &c.model, msg);
    if (e == ERR_OK)
        e = case_read_layout(a, args, &c, msg);
    if (e != ERR_OK) {
        e = case_refuse(a, &c, e, msg);
    } else if (!c.refusal) {
        apply_platform(args, in->platform, &c.model.memory);
        c.model.memory.deterministic |= in->workspace_configured;
        c.refusal = memory_refusal(&c.model);
    }
    if (e == ERR_OK && !c.refusal)
        e = predict_ranks(a, &c, msg);
    if (e == ERR_OK)
        *out = c;
    return e;
}
