#include "cost.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

static const char *const source_names[] = {
    [COST_MEASURED] = "measured",
    [COST_EMULATED] = "emulated",
    [COST_PUBLISHED] = "published",
    [COST_ANALYTIC] = "analytic",
};
enum { N_SOURCES = sizeof source_names / sizeof source_names[0] };

static const char FORMAT[] = "moe-layout/costs/1";
static const char JOINT_KEY[] = "mL"; // m and L that were never apart

const char *cost_source_name(enum cost_source s)
{
    return source_names[s];
}

void cost_analytic(const struct model *m, double flops_per_s, struct cost *out)
{
    *out = (struct cost){.source = COST_ANALYTIC, .rules = MEMORY_MEGATRON};
    for (int k = 0; k < N_KINDS; k++) {
        if (model_unit_count(m, (enum unit_kind)k) == 0)
            continue;
        double fwd = model_unit_fwd_flops(m, (enum unit_kind)k) / flops_per_s;
        out->unit[k] =
            (struct unit_cost){.known = true, .fwd_s = fwd, .bwd_s = 2 * fwd};
    }
}

void cost_stage(const struct cost *c, const struct model *m,
                const struct layout *l, int stage, double *fwd_s, double *bwd_s)
{
    int counts[N_KINDS];
    layout_stage_kinds(l, m, stage, counts);
    *fwd_s = *bwd_s = 0;
    for (int k = 0; k < N_KINDS; k++) {
        *fwd_s += counts[k] * c->unit[k].fwd_s;
        *bwd_s += counts[k] * c->unit[k].bwd_s;
    }
}

double cost_transfer_s(const struct cost *c, double bytes)
{
    return c->latency_s + (c->bytes_per_s > 0 ? bytes / c->bytes_per_s : 0);
}

enum err cost_check_model(const struct cost *c, const struct model *m,
                          const char *where, struct err_msg *msg)
{
    struct model_fact now[MODEL_N_FACTS];
    int n = model_facts(m, now);
    for (int i = 0; i < c->n_facts; i++)
        for (int j = 0; j < n; j++)
            if (strcmp(c->facts[i].key, now[j].key) == 0 &&
                c->facts[i].value != now[j].value)
                return err_set(msg, ERR_PARSE,
                               "%s: costs were made for %s %lld, the model has "
                               "%lld: profile it again",
                               where, now[j].key, (long long)c->facts[i].value,
                               (long long)now[j].value);
    for (int k = 0; k < N_KINDS; k++)
        if (model_unit_count(m, (enum unit_kind)k) > 0 && !c->unit[k].known &&
            !(k == KIND_M && c->joint_ml))
            return err_set(msg, ERR_PARSE,
                           "%s: no cost of unit '%s', which the model has",
                           where, kind_name((enum unit_kind)k));
    return ERR_OK;
}

/* ---- reading ---- */

static const struct json_range TIME = {0, 1e6};
static const struct json_range RATE = {0, 1e18};

static enum err read_unit(const cJSON *item, const char *where,
                          struct unit_cost *out, struct err_msg *msg)
{
    static const char *const keys[] = {"fwd_s", "fwd_se", "bwd_s", "bwd_se"};
    double *const values[] = {&out->fwd_s, &out->fwd_se, &out->bwd_s,
                              &out->bwd_se};
    if (!cJSON_IsObject(item))
        return err_set(msg, ERR_PARSE, "%s: want an object", where);
    enum err e = json_check_keys(item, where, keys, 4, msg);
    if (e == ERR_OK)
        e = json_require(item, where, "fwd_s", msg);
    if (e == ERR_OK)
        e = json_require(item, where, "bwd_s", msg);
    for (int i = 0; i < 4 && e == ERR_OK; i++)
        e = json_opt_double(item, where, keys[i], TIME, values[i], msg);
    out->known = e == ERR_OK;
    return e;
}

static enum err read_units(struct arena *a, const cJSON *tree, const char *path,
                           struct cost *c, struct err_msg *msg)
{
    enum err e = json_require(tree, path, "units", msg);
    if (e != ERR_OK)
        return e;
    const cJSON *units = json_get(tree, "units");
    if (!cJSON_IsObject(units))
        return err_set(msg, ERR_PARSE, "%s: units: want an object", path);
    const char *keys[N_KINDS + 1] = {[N_KINDS] = JOINT_KEY};
    for (int k = 0; k < N_KINDS; k++)
        keys[k] = kind_name((enum unit_kind)k);
    e = json_check_keys(units, path, keys, N_KINDS + 1, msg);
    for (int k = 0; k <= N_KINDS && e == ERR_OK; k++) {
        const cJSON *item = json_get(units, keys[k]);
        char *where = arena_printf(a, "%s: units.%s", path, keys[k]);
        if (!where)
            return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
        if (!item)
            continue;
        if (k == N_KINDS && (c->unit[KIND_L].known || c->unit[KIND_M].known))
            return err_set(msg, ERR_PARSE, "%s: stands beside m or L", where);
        c->joint_ml = k == N_KINDS;
        e = read_unit(item, where, &c->unit[k == N_KINDS ? KIND_L : k], msg);
    }
    return e;
}

static enum err read_p2p(const cJSON *tree, const char *path, struct cost *c,
                         struct err_msg *msg)
{
    static const char *const keys[] = {"latency_s", "bytes_per_s",
                                       "exchange_sync_s"};
    const cJSON *p2p = json_get(tree, "p2p");
    if (!p2p)
        return ERR_OK;
    if (!cJSON_IsObject(p2p))
        return err_set(msg, ERR_PARSE, "%s: p2p: want an object", path);
    enum err e = json_check_keys(p2p, path, keys, 3, msg);
    if (e == ERR_OK)
        e = json_opt_double(p2p, path, keys[0], TIME, &c->latency_s, msg);
    if (e == ERR_OK)
        e = json_opt_double(p2p, path, keys[1], RATE, &c->bytes_per_s, msg);
    if (e == ERR_OK)
        e = json_opt_double(p2p, path, keys[2], TIME, &c->exchange_sync_s, msg);
    return e;
}

static enum err read_memory_fit(const cJSON *memory, const char *path,
                                struct memory_rules *r, struct err_msg *msg)
{
    static const struct json_range relative = {-1, 1e3}, bytes = {-1e15, 1e15};
    const cJSON *units = json_get(memory, "unit_more");
    const char *names[N_KINDS];
    enum err e = json_opt_double(memory, path, "head_more", relative,
                                 &r->head_more, msg);
    if (e == ERR_OK)
        e = json_opt_double(memory, path, "rank_more_bytes", bytes,
                            &r->rank_more_bytes, msg);
    for (int k = 0; k < N_KINDS; k++)
        names[k] = kind_name((enum unit_kind)k);
    if (e == ERR_OK && units)
        e = json_check_keys(units, path, names, N_KINDS, msg);
    for (int k = 0; k < N_KINDS && e == ERR_OK && units; k++)
        e = json_opt_double(units, path, names[k], relative, &r->unit_more[k],
                            msg);
    return e;
}

static void cost_add_memory(cJSON *tree, const struct memory_rules *r)
{
    cJSON *memory = cJSON_AddObjectToObject(tree, "memory");
    cJSON_AddNumberToObject(memory, "param_bytes", r->param_bytes);
    cJSON_AddNumberToObject(memory, "grad_bytes", r->grad_bytes);
    cJSON_AddNumberToObject(memory, "optimizer_bytes", r->optimizer_bytes);
    cJSON_AddNumberToObject(memory, "value_bytes", r->value_bytes);
    cJSON *units = cJSON_AddObjectToObject(memory, "unit_more");
    for (int k = 0; k < N_KINDS; k++)
        cJSON_AddNumberToObject(units, kind_name((enum unit_kind)k),
                                r->unit_more[k]);
    cJSON_AddNumberToObject(memory, "head_more", r->head_more);
    cJSON_AddNumberToObject(memory, "rank_more_bytes", r->rank_more_bytes);
}

static enum err read_memory(const cJSON *tree, const char *path, struct cost *c,
                            struct err_msg *msg)
{
    static const char *const keys[] = {
        "param_bytes", "grad_bytes", "optimizer_bytes", "value_bytes",
        "unit_more",   "head_more",  "rank_more_bytes"};
    int *const values[] = {&c->rules.param_bytes, &c->rules.grad_bytes,
                           &c->rules.optimizer_bytes, &c->rules.value_bytes};
    c->rules = MEMORY_MEGATRON;
    const cJSON *memory = json_get(tree, "memory");
    if (!memory)
        return ERR_OK;
    if (!cJSON_IsObject(memory))
        return err_set(msg, ERR_PARSE, "%s: memory: want an object", path);
    enum err e = json_check_keys(memory, path, keys, 7, msg);
    for (int i = 0; i < 4 && e == ERR_OK; i++) {
        int64_t v = *values[i];
        e = json_opt_int(memory, path, keys[i], (struct json_range){1, 64}, &v,
                         msg);
        *values[i] = (int)v;
    }
    if (e == ERR_OK)
        e = read_memory_fit(memory, path, &c->rules, msg);
    return e;
}

static enum err read_facts(struct arena *a, const cJSON *tree, const char *path,
                           struct cost *c, struct err_msg *msg)
{
    const cJSON *object = json_get(tree, "fingerprint");
    if (!object)
        return ERR_OK;
    int n = cJSON_IsObject(object) ? cJSON_GetArraySize(object) : -1;
    if (n < 0)
        return err_set(msg, ERR_PARSE, "%s: fingerprint: want an object", path);
    struct model_fact *facts = arena_alloc(a, (size_t)n, sizeof *facts);
    if (!facts)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    int i = 0;
    for (const cJSON *item = object->child; item; item = item->next, i++) {
        facts[i].key = arena_strdup(a, item->string);
        if (!facts[i].key)
            return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
        if (!cJSON_IsNumber(item))
            return err_set(msg, ERR_PARSE, "%s: fingerprint.%s: want a number",
                           path, item->string);
        facts[i].value = (int64_t)item->valuedouble;
    }
    c->facts = facts;
    c->n_facts = n;
    return ERR_OK;
}

static enum err cost_read_source(const cJSON *tree, const char *path,
                                 struct cost *c, struct err_msg *msg)
{
    const cJSON *item = json_get(tree, "source");
    for (int i = 0; i < N_SOURCES && cJSON_IsString(item); i++)
        if (strcmp(item->valuestring, source_names[i]) == 0) {
            c->source = (enum cost_source)i;
            return ERR_OK;
        }
    return err_set(msg, ERR_PARSE,
                   "%s: source: want measured, emulated, published or analytic",
                   path);
}

static enum err read_tree(struct arena *a, const cJSON *tree, const char *path,
                          struct cost *c, struct err_msg *msg)
{
    static const char *const keys[] = {
        "format",         "source",      "units",
        "chunk_s",        "overhead_s",  "overhead_s_per_byte",
        "step_noise_rel", "p2p",         "jitter_cv",
        "memory",         "fingerprint", "fitted_from",
        "comment"};
    enum err e =
        json_check_keys(tree, path, keys, sizeof keys / sizeof keys[0], msg);
    if (e == ERR_OK)
        e = cost_read_source(tree, path, c, msg);
    if (e == ERR_OK)
        e = read_units(a, tree, path, c, msg);
    if (e == ERR_OK)
        e = json_opt_double(tree, path, "chunk_s", TIME, &c->chunk_s, msg);
    if (e == ERR_OK)
        e = json_opt_double(tree, path, "overhead_s", TIME, &c->overhead_s,
                            msg);
    if (e == ERR_OK)
        e = json_opt_double(tree, path, "overhead_s_per_byte", TIME,
                            &c->overhead_s_per_byte, msg);
    if (e == ERR_OK)
        e = json_opt_double(tree, path, "step_noise_rel",
                            (struct json_range){0, 1}, &c->step_noise_rel, msg);
    if (e == ERR_OK)
        e = json_opt_double(tree, path, "jitter_cv", (struct json_range){0, 10},
                            &c->jitter_cv, msg);
    if (e == ERR_OK)
        e = read_p2p(tree, path, c, msg);
    if (e == ERR_OK)
        e = read_memory(tree, path, c, msg);
    if (e == ERR_OK)
        e = read_facts(a, tree, path, c, msg);
    return e;
}

enum err cost_read_file(struct arena *a, const char *path, struct cost *out,
                        struct err_msg *msg)
{
    cJSON *tree = NULL;
    enum err e = json_read_file(a, path, FORMAT, &tree, msg);
    if (e != ERR_OK)
        return e;
    struct cost c = {0};
    e = read_tree(a, tree, path, &c, msg);
    cJSON_Delete(tree);
    if (e == ERR_OK)
        *out = c;
    return e;
}

/* ---- writing ---- */

static void add_units(cJSON *tree, const struct cost *c)
{
    cJSON *units = cJSON_AddObjectToObject(tree, "units");
    for (int k = 0; k < N_KINDS; k++) {
        const struct unit_cost *u = &c->unit[k];
        if (!u->known)
            continue;
        bool joint = k == KIND_L && c->joint_ml;
        cJSON *item = cJSON_AddObjectToObject(
            units, joint ? JOINT_KEY : kind_name((enum unit_kind)k));
        cJSON_AddNumberToObject(item, "fwd_s", u->fwd_s);
        cJSON_AddNumberToObject(item, "fwd_se", u->fwd_se);
        cJSON_AddNumberToObject(item, "bwd_s", u->bwd_s);
        cJSON_AddNumberToObject(item, "bwd_se", u->bwd_se);
    }
}

static void add_origin(cJSON *tree, const struct cost *c)
{
    cJSON *facts =
        c->n_facts ? cJSON_AddObjectToObject(tree, "fingerprint") : NULL;
    for (int i = 0; i < c->n_facts; i++)
        cJSON_AddNumberToObject(facts, c->facts[i].key,
                                (double)c->facts[i].value);
    cJSON *from =
        c->n_fitted ? cJSON_AddArrayToObject(tree, "fitted_from") : NULL;
    for (int i = 0; i < c->n_fitted; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "layout", c->fitted_layout[i]);
        cJSON_AddStringToObject(item, "log_sha256", c->fitted_sha256[i]);
        cJSON_AddItemToArray(from, item);
    }
}

cJSON *cost_to_json(const struct cost *c)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "format", FORMAT);
    cJSON_AddStringToObject(tree, "source", source_names[c->source]);
    add_units(tree, c);
    cJSON_AddNumberToObject(tree, "chunk_s", c->chunk_s);
    cJSON_AddNumberToObject(tree, "overhead_s", c->overhead_s);
    cJSON_AddNumberToObject(tree, "overhead_s_per_byte",
                            c->overhead_s_per_byte);
    cJSON_AddNumberToObject(tree, "step_noise_rel", c->step_noise_rel);
    cJSON *p2p = cJSON_AddObjectToObject(tree, "p2p");
    cJSON_AddNumberToObject(p2p, "latency_s", c->latency_s);
    cJSON_AddNumberToObject(p2p, "bytes_per_s", c->bytes_per_s);
    cJSON_AddNumberToObject(p2p, "exchange_sync_s", c->exchange_sync_s);
    cJSON_AddNumberToObject(tree, "jitter_cv", c->jitter_cv);
    cost_add_memory(tree, &c->rules);
    add_origin(tree, c);
    return tree;
}
