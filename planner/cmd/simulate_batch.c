/*
 * How it works: a line becomes an order of work and its times, the order is
 * checked as Megatron would, and each mode is simulated by itself. Times stay
 * in microseconds: the simulator knows no unit.
 */
#include "base/arena.h"
#include "base/reader.h"
#include "base/writer.h"
#include "sim/overlap.h"
#include "sim/sim.h"
#include "simulate.h"

#include <stdio.h>
#include <string.h>

struct sim_line {
    const cJSON *id; // of the line's document; NULL: none
    struct order order;
    double *fwd, *bwd, *act; // [stage]; act may be NULL
    double x;                // of every transfer
    const char **layers;     // EP overlap: letters [stage], else NULL
    double *head_f, *tail_f, *head_b, *tail_b;
    double *save; // [3]
};

/* ---- reading ---- */

/* Times, bytes and weights: none is negative. */
static const struct json_range TIMES = {0, 1e15};

/* A list that must have one entry a stage, or `n` of them. */
static struct reader batch_list(struct reader top, const char *key, int n)
{
    reader_require(top, key, NULL);
    struct reader list = reader_list(top, key);
    if (reader_is_there(list) && reader_count(list) != n)
        reader_fail(list, ERR_PARSE, "got a list of %d, want one of %d",
                    reader_count(list), n);
    return list;
}

/* What a list is read into; when memory ran out, that is noted. */
static void *batch_room(struct reader list, int n, size_t size)
{
    void *room = arena_alloc(list.doc->a, (size_t)n, size);
    if (!room)
        reader_fail(list, ERR_NOMEM, "out of memory");
    return room;
}

static double *batch_numbers(struct reader top, const char *key, int n)
{
    struct reader list = batch_list(top, key, n);
    double *out = batch_room(list, n, sizeof *out);
    int i = 0;
    for (struct reader v = reader_first(list); out && reader_is_there(v);
         v = reader_next(v))
        reader_double_here(v, TIMES, &out[i++]);
    return out;
}

/* Layers of each stage as letters. */
static const char **batch_words(struct reader top, const char *key, int n)
{
    struct reader list = batch_list(top, key, n);
    const char **out = batch_room(list, n, sizeof *out);
    int i = 0;
    for (struct reader v = reader_first(list); out && reader_is_there(v);
         v = reader_next(v))
        reader_text_here(v, &out[i++]);
    return out;
}

/* V is 1 and N is P when they are not given, as in Megatron. */
static void batch_sizes(struct reader top, struct order *o)
{
    *o = (struct order){.vpp = 1};
    reader_require(top, "P", NULL);
    reader_require(top, "M", NULL);
    reader_int(top, "P", (struct json_range){1, ORDER_MAX_RANKS}, &o->pp);
    reader_int(top, "V", (struct json_range){1, ORDER_MAX_CHUNKS}, &o->vpp);
    reader_int(top, "M", (struct json_range){1, ORDER_MAX_MB}, &o->n_mb);
    o->group = o->pp;
    reader_int(top, "N", (struct json_range){1, ORDER_MAX_MB}, &o->group);
    o->ep_overlap = reader_is_there(reader_get(top, "layers")) &&
                    reader_is_there(reader_get(top, "save"));
}

/* Without a bandwidth only the latency counts. */
static double batch_transfer(struct reader top)
{
    double lat = 0, bytes = 0, bw = 0;
    reader_double(top, "lat", TIMES, &lat);
    reader_double(top, "bytes", TIMES, &bytes);
    reader_double(top, "bw", TIMES, &bw);
    return lat + (bw > 0 ? bytes / bw : 0);
}

/* What EP overlap adds; the parts are all there or none is. */
static void batch_overlap(struct reader top, struct sim_line *b, int n)
{
    b->layers = batch_words(top, "layers", n);
    b->save = batch_numbers(top, "save", 3);
    if (!reader_is_there(reader_get(top, "head_f")))
        return;
    b->head_f = batch_numbers(top, "head_f", n);
    b->tail_f = batch_numbers(top, "tail_f", n);
    b->head_b = batch_numbers(top, "head_b", n);
    b->tail_b = batch_numbers(top, "tail_b", n);
}

static void batch_read(struct reader top, struct sim_line *b)
{
    batch_sizes(top, &b->order);
    b->x = batch_transfer(top);
    if (!reader_is_there(top))
        return; // of sizes that are wrong no list is right
    const int n = b->order.pp * b->order.vpp;
    b->id = reader_get(top, "id").item;
    b->fwd = batch_numbers(top, "fwd", n);
    b->bwd = batch_numbers(top, "bwd", n);
    if (reader_is_there(reader_get(top, "act")))
        b->act = batch_numbers(top, "act", n);
    if (b->order.ep_overlap)
        batch_overlap(top, b, n);
}

/* ---- answering ---- */

/* max_inflight, max_inflight_chunk and peak_act, an entry a rank; with EP
 * overlap also peak_act_layers, where the layers of a chunk come and go one by
 * one. */
static enum err write_in_flight(struct arena *a, struct writer out,
                                const struct sim_line *b)
{
    const struct order *o = &b->order;
    double *weight = arena_alloc(a, (size_t)o->vpp, sizeof *weight);
    int *count = arena_alloc(a, (size_t)o->vpp, sizeof *count);
    if (!weight || !count)
        return ERR_NOMEM;
    struct writer in_flight = writer_list(out, "max_inflight");
    struct writer by_chunk = writer_list(out, "max_inflight_chunk");
    struct writer peak = writer_list(out, "peak_act");
    struct writer layers = {out.doc, NULL};
    if (o->ep_overlap)
        layers = writer_list(out, "peak_act_layers");
    for (int r = 0; r < o->pp; r++) {
        struct writer chunks = writer_list(by_chunk, NULL);
        order_max_in_flight_chunks(o, r, count);
        for (int v = 0; v < o->vpp; v++) {
            writer_number(chunks, NULL, count[v]);
            weight[v] = b->act ? b->act[v * o->pp + r] : 0;
            if (o->ep_overlap)
                count[v] = (int)strlen(b->layers[v * o->pp + r]);
        }
        writer_number(in_flight, NULL, order_max_in_flight(o, r));
        writer_number(peak, NULL, order_peak(o, r, weight));
        if (o->ep_overlap)
            writer_number(layers, NULL, order_peak_layers(o, r, weight, count));
    }
    return ERR_OK;
}

/* One mode's answer; idle is what a rank does not work of the step. */
static void write_result(struct writer to, const struct sim_result *r, int pp)
{
    writer_number(to, "step_time", r->step_s);
    struct writer idle = writer_list(to, "idle");
    struct writer finish = writer_list(to, "finish");
    for (int i = 0; i < pp; i++) {
        writer_number(idle, NULL, r->step_s - r->busy_s[i]);
        writer_number(finish, NULL, r->finish_s[i]);
    }
}

/* Work is the same in every mode: told once, from the ideal one. */
static void write_busy(struct writer out, const struct sim_result *r, int pp)
{
    struct writer busy = writer_list(out, "busy");
    for (int i = 0; i < pp; i++)
        writer_number(busy, NULL, r->busy_s[i]);
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
static enum err write_mode(struct arena *a, struct writer out,
                           struct sim_input in, const struct order *o,
                           struct err_msg *msg)
{
    struct schedule s;
    struct sim_result r;
    struct err_msg why;
    enum err e = schedule_build(a, o, in.mode, &s, &why);
    if (e == ERR_RANGE) {
        writer_null(out, keys[in.mode]);
        return ERR_OK;
    }
    in.schedule = &s;
    if (e == ERR_OK)
        e = sim_run(a, &in, &r, msg);
    if (e != ERR_OK)
        return e;
    if (in.mode == P2P_IDEAL)
        write_busy(out, &r, o->pp);
    write_result(writer_object(out, keys[in.mode]), &r, o->pp);
    return ERR_OK;
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
static enum err write_modes(struct arena *a, struct writer out,
                            const struct sim_line *b, struct err_msg *msg)
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
        e = write_mode(a, out, in, o, msg);
    }
    return e;
}

/* Megatron's refusal is told by reason, and nothing else is answered then. */
static enum err batch_answer(struct arena *a, const struct sim_line *b,
                             struct writer out, struct err_msg *msg)
{
    struct err_msg why = {""};
    const bool feasible = order_check(&b->order, &why) == ERR_OK;
    if (b->id)
        writer_tree(out, "id", cJSON_Duplicate(b->id, 1));
    else
        writer_null(out, "id");
    writer_bool(out, "feasible", feasible);
    writer_text(out, "reason", why.text);
    enum err e = feasible ? write_in_flight(a, out, b) : ERR_OK;
    if (e == ERR_OK && feasible)
        e = write_modes(a, out, b, msg);
    return e == ERR_NOMEM ? err_set(msg, e, "simulate: out of memory") : e;
}

enum err simulate_batch_line(struct cmd *c, const char *line, const char *where)
{
    struct err_msg *msg = &c->msg;
    struct arena a;
    arena_init(&a);
    struct reader_doc in;
    struct writer_doc out;
    struct sim_line b = {0};
    batch_read(reader_open_text(&in, &a, line, where, msg), &b);
    // the id is of the line's tree, which lives until it is answered
    enum err e = in.err;
    if (e == ERR_OK) {
        e = batch_answer(&a, &b, writer_open(&out), msg);
        if (e == ERR_OK)
            e = writer_print(&out, false, stdout, msg);
        else
            cJSON_Delete(writer_close(&out));
    }
    reader_close(&in);
    arena_clear(&a);
    return e;
}
