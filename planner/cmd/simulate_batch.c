/*
 * How it works: a line becomes an order of work and its times, the order is
 * checked as Megatron would, and each mode is simulated by itself. Times stay
 * in microseconds: the simulator knows no unit.
 */
#include "base/arena.h"
#include "base/json.h"
#include "sim/overlap.h"
#include "sim/sim.h"
#include "simulate.h"

#include <stdio.h>

struct sim_line {
    cJSON *id;
    struct order order;
    double *fwd, *bwd, *act; // [stage]; act may be NULL
    double x;                // of every transfer
    double lat, bytes, bw;
    const char **layers; // EP overlap: letters [stage], else NULL
    double *head_f, *tail_f, *head_b, *tail_b;
    double *save; // [3]
};

/* ---- reading ---- */

/* An array of a line and how many entries it must have. */
struct wanted {
    const cJSON *tree;
    const char *where, *key;
    int n;
};

static enum err batch_array(const struct wanted *w, const cJSON **out,
                            struct err_msg *msg)
{
    *out = json_get(w->tree, w->key);
    if (cJSON_IsArray(*out) && cJSON_GetArraySize(*out) == w->n)
        return ERR_OK;
    return err_set(msg, ERR_PARSE, "%s: %s: want an array of %d", w->where,
                   w->key, w->n);
}

/* Times, bytes and weights: none is negative. */
static enum err batch_numbers(struct arena *a, const struct wanted *w,
                              double **out, struct err_msg *msg)
{
    const cJSON *item = NULL, *v;
    enum err e = batch_array(w, &item, msg);
    if (e != ERR_OK)
        return e;
    *out = arena_alloc(a, (size_t)w->n, sizeof **out);
    if (!*out)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", w->where);
    int i = 0;
    cJSON_ArrayForEach(v, item)
    {
        if (!cJSON_IsNumber(v) || v->valuedouble < 0 || v->valuedouble > 1e15)
            return err_set(msg, ERR_PARSE,
                           "%s: %s[%d]: want a number from 0 to 1e15", w->where,
                           w->key, i);
        (*out)[i++] = v->valuedouble;
    }
    return ERR_OK;
}

/* Layers of each stage as letters. */
static enum err batch_words(struct arena *a, const struct wanted *w,
                            const char ***out, struct err_msg *msg)
{
    const cJSON *item = NULL, *v;
    enum err e = batch_array(w, &item, msg);
    if (e != ERR_OK)
        return e;
    const char **words = arena_alloc(a, (size_t)w->n, sizeof *words);
    int i = 0;
    cJSON_ArrayForEach(v, item)
    {
        if (!cJSON_IsString(v))
            return err_set(msg, ERR_PARSE, "%s: %s[%d]: want letters d, e or m",
                           w->where, w->key, i);
        const char *copy = words ? arena_strdup(a, v->valuestring) : NULL;
        if (!copy)
            return err_set(msg, ERR_NOMEM, "%s: out of memory", w->where);
        words[i++] = copy;
    }
    *out = words;
    return ERR_OK;
}

/* V is 1 and N is P when they are not given, as in Megatron. */
static enum err batch_sizes(const cJSON *tree, const char *where,
                            struct order *o, struct err_msg *msg)
{
    int64_t pp = 0, vpp = 1, n_mb = 0, group = 0;
    const struct {
        const char *key;
        double hi;
        int64_t *out;
    } sizes[] = {{"P", ORDER_MAX_RANKS, &pp},
                 {"V", ORDER_MAX_CHUNKS, &vpp},
                 {"M", ORDER_MAX_MB, &n_mb},
                 {"N", ORDER_MAX_MB, &group}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        enum err e = json_opt_int(
            (struct json_member){tree, where, sizes[i].key},
            (struct json_range){1, sizes[i].hi}, sizes[i].out, msg);
        if (e != ERR_OK)
            return e;
    }
    if (!pp || !n_mb)
        return err_set(msg, ERR_PARSE, "%s: want P and M", where);
    *o = (struct order){.pp = (int)pp,
                        .vpp = (int)vpp,
                        .n_mb = (int)n_mb,
                        .group = group ? (int)group : (int)pp};
    return ERR_OK;
}

/* Without a bandwidth only the latency counts. */
static enum err batch_transfer(const cJSON *tree, const char *where,
                               struct sim_line *b, struct err_msg *msg)
{
    const struct {
        const char *key;
        double *out;
    } numbers[] = {{"lat", &b->lat}, {"bytes", &b->bytes}, {"bw", &b->bw}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        enum err e =
            json_opt_double((struct json_member){tree, where, numbers[i].key},
                            (struct json_range){0, 1e15}, numbers[i].out, msg);
        if (e != ERR_OK)
            return e;
    }
    b->x = b->lat + (b->bw > 0 ? b->bytes / b->bw : 0);
    return ERR_OK;
}

/* Arrays of a line; all of EP overlap's are wanted when `layers` is there. */
static enum err batch_stages(struct arena *a, const cJSON *tree,
                             const char *where, struct sim_line *b,
                             struct err_msg *msg)
{
    const int n = b->order.pp * b->order.vpp;
    const bool ep = b->order.ep_overlap;
    const struct {
        const char *key;
        bool wanted;
        int n;
        double **out;
    } arrays[] = {{"fwd", true, n, &b->fwd},
                  {"bwd", true, n, &b->bwd},
                  {"act", json_get(tree, "act") != NULL, n, &b->act},
                  {"head_f", ep && json_get(tree, "head_f"), n, &b->head_f},
                  {"tail_f", ep && json_get(tree, "head_f"), n, &b->tail_f},
                  {"head_b", ep && json_get(tree, "head_f"), n, &b->head_b},
                  {"tail_b", ep && json_get(tree, "head_f"), n, &b->tail_b},
                  {"save", ep, 3, &b->save}};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        const struct wanted w = {tree, where, arrays[i].key, arrays[i].n};
        enum err e = arrays[i].wanted ? batch_numbers(a, &w, arrays[i].out, msg)
                                      : ERR_OK;
        if (e != ERR_OK)
            return e;
    }
    const struct wanted w = {tree, where, "layers", n};
    return ep ? batch_words(a, &w, &b->layers, msg) : ERR_OK;
}

static enum err batch_read(struct arena *a, const cJSON *tree,
                           const char *where, struct sim_line *b,
                           struct err_msg *msg)
{
    if (!cJSON_IsObject(tree))
        return err_set(msg, ERR_PARSE, "%s: want a JSON object", where);
    enum err e = batch_sizes(tree, where, &b->order, msg);
    b->order.ep_overlap = json_get(tree, "layers") && json_get(tree, "save");
    if (e == ERR_OK)
        e = batch_transfer(tree, where, b, msg);
    if (e == ERR_OK)
        e = batch_stages(a, tree, where, b, msg);
    if (e != ERR_OK)
        return e;
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(tree, "id");
    b->id = id ? cJSON_Duplicate(id, 1) : cJSON_CreateNull();
    return b->id ? ERR_OK : err_set(msg, ERR_NOMEM, "%s: out of memory", where);
}

/* ---- answering ---- */

/* False when out of memory, as cJSON's own. */
static bool add_number(cJSON *array, double v)
{
    return cJSON_AddItemToArray(array, cJSON_CreateNumber(v));
}

/* max_inflight and peak_act, a number a rank. */
static enum err add_in_flight(struct arena *a, cJSON *out,
                              const struct sim_line *b)
{
    const struct order *o = &b->order;
    cJSON *in_flight = cJSON_AddArrayToObject(out, "max_inflight");
    cJSON *peak = cJSON_AddArrayToObject(out, "peak_act");
    double *weight = arena_alloc(a, (size_t)o->vpp, sizeof *weight);
    bool ok = in_flight && peak && weight;
    for (int r = 0; r < o->pp && ok; r++) {
        for (int v = 0; v < o->vpp; v++)
            weight[v] = b->act ? b->act[v * o->pp + r] : 0;
        ok = add_number(in_flight, order_max_in_flight(o, r)) &&
             add_number(peak, order_peak(o, r, weight));
    }
    return ok ? ERR_OK : ERR_NOMEM;
}

/* One mode's answer; idle is what a rank does not work of the step. */
static enum err add_result(cJSON *item, const struct sim_result *r, int pp)
{
    bool ok = item && cJSON_AddNumberToObject(item, "step_time", r->step_s);
    cJSON *idle = cJSON_AddArrayToObject(item, "idle");
    cJSON *finish = cJSON_AddArrayToObject(item, "finish");
    for (int i = 0; i < pp && ok; i++)
        ok = idle && finish && add_number(idle, r->step_s - r->busy_s[i]) &&
             add_number(finish, r->finish_s[i]);
    return ok ? ERR_OK : ERR_NOMEM;
}

/* Names of the modes as the vectors have them. */
static const char *const keys[N_P2P_MODES] = {
    [P2P_IDEAL] = "ideal",
    [P2P_ASYNC] = "async",
    [P2P_BLOCKING] = "blocking",
    [P2P_OVERLAP] = "overlap",
    [P2P_OVERLAP_FLUSH] = "overlap_flush",
};

/* One mode; null where Megatron does not have it. */
static enum err add_mode(struct arena *a, cJSON *out, struct sim_input in,
                         const struct order *o, struct err_msg *msg)
{
    struct schedule s;
    struct sim_result r;
    struct err_msg why;
    enum err e = schedule_build(a, o, in.mode, &s, &why);
    if (e == ERR_RANGE)
        return cJSON_AddNullToObject(out, keys[in.mode]) ? ERR_OK : ERR_NOMEM;
    in.schedule = &s;
    if (e == ERR_OK)
        e = sim_run(a, &in, &r, msg);
    if (e != ERR_OK)
        return e;
    return add_result(cJSON_AddObjectToObject(out, keys[in.mode]), &r, o->pp);
}

/* What a line's combined operations take. */
static enum err fill_combined(struct arena *a, const struct sim_line *b,
                              struct sim_combined *out)
{
    const struct order *o = &b->order;
    const struct schedule s = {.pp = o->pp, .vpp = o->vpp};
    const size_t n = (size_t)o->pp * (size_t)o->vpp * (size_t)o->vpp;
    double *mid = arena_alloc(a, n, sizeof *mid);
    *out = (struct sim_combined){mid,       b->head_f, b->tail_f,
                                 b->head_b, b->tail_b, NULL};
    const struct overlap_stages stages = {
        .fwd_s = b->fwd,
        .bwd_s = b->bwd,
        .parts = out,
        .layers = b->layers,
        .save = {b->save[0], b->save[1], b->save[2]}};
    if (!mid)
        return ERR_NOMEM;
    overlap_mid(&s, &stages, mid, NULL);
    return ERR_OK;
}

/* All transfers of a line take the same time. */
static enum err add_modes(struct arena *a, cJSON *out, const struct sim_line *b,
                          struct err_msg *msg)
{
    const struct order *o = &b->order;
    const int n = o->pp * o->vpp;
    struct sim_combined combined = {.mid_s = NULL};
    double *x = arena_alloc(a, (size_t)n, sizeof *x);
    enum err e = x ? ERR_OK : ERR_NOMEM;
    for (int s = 0; s < n && x; s++)
        x[s] = b->x;
    if (e == ERR_OK && o->ep_overlap)
        e = fill_combined(a, b, &combined);
    struct sim_input in = {.fwd_s = b->fwd, .bwd_s = b->bwd, .x_s = x};
    in.combined = o->ep_overlap ? &combined : NULL;
    for (int mode = 0; mode < N_P2P_MODES && e == ERR_OK; mode++) {
        in.mode = (enum p2p_mode)mode;
        e = add_mode(a, out, in, o, msg);
    }
    return e;
}

/* Megatron's refusal is told by reason, and nothing else is answered then. */
static enum err batch_answer(struct arena *a, const struct sim_line *b,
                             cJSON *out, struct err_msg *msg)
{
    struct err_msg why = {""};
    const bool feasible = order_check(&b->order, &why) == ERR_OK;
    bool ok = cJSON_AddBoolToObject(out, "feasible", feasible) &&
              cJSON_AddStringToObject(out, "reason", why.text);
    enum err e = ok ? ERR_OK : ERR_NOMEM;
    if (e == ERR_OK && feasible)
        e = add_in_flight(a, out, b);
    if (e == ERR_OK && feasible)
        e = add_modes(a, out, b, msg);
    return e == ERR_NOMEM ? err_set(msg, e, "simulate: out of memory") : e;
}

enum err simulate_batch_line(const char *line, const char *where,
                             struct err_msg *msg)
{
    struct arena a;
    arena_init(&a);
    cJSON *tree = NULL, *out = cJSON_CreateObject();
    struct sim_line b = {0};
    enum err e = out ? json_parse(line, where, &tree, msg)
                     : err_set(msg, ERR_NOMEM, "simulate: out of memory");
    if (e == ERR_OK)
        e = batch_read(&a, tree, where, &b, msg);
    cJSON_Delete(tree);
    if (e == ERR_OK) {
        cJSON_AddItemToObject(out, "id", b.id);
        e = batch_answer(&a, &b, out, msg);
    }
    if (e == ERR_OK)
        e = json_print_and_delete(out, false, stdout, msg);
    else
        cJSON_Delete(out);
    arena_clear(&a);
    return e;
}
