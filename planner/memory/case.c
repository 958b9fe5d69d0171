#include "case.h"

#include <stdio.h>
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

/* ---- the split ---- */

static int64_t case_number(const struct megatron_args *args, const char *name,
                           int64_t other)
{
    const char *text = megatron_args_string(args, name);
    long long v = other;
    return text && sscanf(text, "%lld", &v) == 1 ? v : other;
}

/* Layers of each stage; -1: does not divide. */
struct split {
    int64_t first, last, middle;
};

static struct split even_split(const struct model *m,
                               const struct megatron_args *args)
{
    int64_t stages = (int64_t)m->par.pp * m->par.vpp;
    int64_t e =
        megatron_args_given(args, "account-for-embedding-in-pipeline-split");
    int64_t l = megatron_args_given(args, "account-for-loss-in-pipeline-split");
    int64_t n = m->n_layers + e + l, each = n / stages;
    if (n % stages)
        return (struct split){-1, -1, -1};
    if (stages == 1)
        return (struct split){m->n_layers, m->n_layers, 0};
    return (struct split){each - e, each - l, each};
}

static struct split fixed_ends(const struct model *m, int64_t first,
                               int64_t last)
{
    int64_t vpp = m->par.vpp, free_ranks = m->par.pp;
    int64_t rest = m->n_layers;
    if (first) {
        rest -= first;
        free_ranks--;
    }
    if (last) {
        rest -= last;
        free_ranks--;
    }
    if (rest < 0 || (free_ranks ? rest % (free_ranks * vpp) : rest) ||
        first % vpp || last % vpp)
        return (struct split){-1, -1, -1};
    int64_t each = free_ranks ? rest / (free_ranks * vpp) : 0;
    return (struct split){first ? first / vpp : each, last ? last / vpp : each,
                          each};
}

/* Layers of stage s; with fixed ends all chunks of the end ranks are alike. */
static int64_t layers_of(const struct model *m, const struct split *s,
                         bool fixed, int stage)
{
    int stages = m->par.pp * m->par.vpp;
    int at = fixed ? stage % m->par.pp : stage;
    int end = fixed ? m->par.pp - 1 : stages - 1;
    return at == 0 ? s->first : at == end ? s->last : s->middle;
}

static const char *stage_units(struct arena *a, const struct model *m,
                               int64_t n_layers, int stage)
{
    int last = m->par.pp * m->par.vpp - 1;
    char *text = arena_alloc(a, (size_t)n_layers + (size_t)m->n_mtp + 3, 1);
    if (!text)
        return NULL;
    char *p = text;
    if (stage == 0)
        *p++ = 'E';
    memset(p, 't', (size_t)n_layers);
    p += n_layers;
    if (stage == last) {
        memset(p, 'm', (size_t)m->n_mtp);
        p[m->n_mtp] = 'L';
    }
    return text;
}

enum err memory_case_split(struct arena *a, const struct model *m,
                           const struct megatron_args *args, struct layout *out,
                           struct err_msg *msg)
{
    int64_t first = case_number(args, "decoder-first-pipeline-num-layers", 0);
    int64_t last = case_number(args, "decoder-last-pipeline-num-layers", 0);
    bool fixed = first || last;
    struct split s = fixed ? fixed_ends(m, first, last) : even_split(m, args);
    struct layout l = {
        .pp = m->par.pp, .vpp = m->par.vpp, .n_stages = m->par.pp * m->par.vpp};
    if (s.first < 0 || s.last < 0 || s.middle < 0)
        return err_set(msg, ERR_MODEL,
                       "Megatron refuses its default split of %d layers over "
                       "%d stages",
                       m->n_layers, l.n_stages);
    l.units = arena_alloc(a, (size_t)l.n_stages, sizeof *l.units);
    for (int i = 0; l.units && i < l.n_stages; i++) {
        l.units[i] = stage_units(a, m, layers_of(m, &s, fixed, i), i);
        if (!l.units[i])
            l.units = NULL;
    }
    if (!l.units)
        return err_set(msg, ERR_NOMEM, "layout: out of memory");
    *out = l;
    return ERR_OK;
}

static enum err case_read_layout(struct arena *a,
                                 const struct megatron_args *args,
                                 struct memory_case *c, struct err_msg *msg)
{
    const char *text =
        megatron_args_string(args, "pipeline-model-parallel-layout");
    if (text)
        return layout_read(a, text, &c->model, c->model.par.pp, &c->layout,
                           msg);
    return memory_case_split(a, &c->model, args, &c->layout, msg);
}

/* ---- prediction ---- */

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
