/*
 * How it works: a costs file is read and written by one function a section, in
 * the order of the file; what is absent keeps its default. The fingerprint is
 * the model's own list of facts, compared name by name.
 */
#include "cost.h"

#include "base/reader.h"
#include "base/writer.h"

#include <math.h>
#include <string.h>

static const char *const source_names[] = {
    [COST_MEASURED] = "measured",
    [COST_EMULATED] = "emulated",
    [COST_PUBLISHED] = "published",
    [COST_ANALYTIC] = "analytic",
};
enum { COST_N_SOURCES = sizeof source_names / sizeof source_names[0] };

static const char FORMAT[] = "moe-layout/costs/1";
static const char JOINT_KEY[] = "mL"; // m and L that were never apart

const char *cost_source_name(enum cost_source s)
{
    return source_names[s];
}

/* Forwards that a backward runs once more: under full uniform recompute that of
 * the layer, an MTP layer's included; embedding and loss keep what they made.
 * Block recompute takes some layers of a stage, which no cost of a kind says.
 */
static int again_of(const struct model *m, enum unit_kind k)
{
    return m->memory.full_recompute == RECOMPUTE_UNIFORM && k != KIND_E &&
                   k != KIND_L
               ? 1
               : 0;
}

/* Forward FLOPs at one rate for all units; a backward pass multiplies twice
 * where a forward does once: by the weights for the input's gradient, by the
 * input for the weights'. */
void cost_analytic(const struct model *m, double flops_per_s, struct cost *out)
{
    *out = (struct cost){.source = COST_ANALYTIC, .rules = MEMORY_MEGATRON};
    for (int k = 0; k < N_KINDS; k++) {
        if (model_unit_count(m, (enum unit_kind)k) == 0)
            continue;
        double fwd = model_unit_fwd_flops(m, (enum unit_kind)k) / flops_per_s;
        double again = again_of(m, (enum unit_kind)k) * fwd;
        out->unit[k] = (struct unit_cost){
            .known = true, .fwd_s = fwd, .bwd_s = 2 * fwd + again};
    }
}

/* Units add up: what a boundary of a stage costs is in its transfers. */
struct cost_times cost_stage(const struct cost *c, const struct model *m,
                             const struct layout *l, int stage)
{
    struct cost_times sum = {0, 0};
    int counts[N_KINDS];
    layout_stage_kinds(l, m, stage, counts);
    for (int k = 0; k < N_KINDS; k++) {
        sum.fwd_s += counts[k] * c->unit[k].fwd_s;
        sum.bwd_s += counts[k] * c->unit[k].bwd_s;
    }
    return sum;
}

double cost_transfer_s(const struct cost *c, double bytes, bool between_nodes)
{
    const struct cost_link inside = {c->latency_s, c->bytes_per_s};
    const struct cost_link link =
        between_nodes && c->parted ? c->between : inside;
    return link.latency_s +
           (link.bytes_per_s > 0 ? bytes / link.bytes_per_s : 0);
}

int64_t cost_fact(const struct cost *c, const char *key, int64_t other)
{
    for (int i = 0; i < c->n_facts; i++)
        if (strcmp(c->facts[i].key, key) == 0)
            return c->facts[i].value;
    return other;
}

/* m has no cost of its own where the profile never parted it from L: the cost
 * of L then is that of both. */
enum err cost_check_model(const struct cost *c, const struct model *m,
                          const char *where, struct err_msg *msg)
{
    struct model_fact now[MODEL_N_FACTS];
    int n = model_facts(m, now);
    for (int i = 0; i < c->n_facts; i++)
        for (int j = 0; j < n; j++)
            if (strcmp(c->facts[i].key, now[j].key) == 0 &&
                c->facts[i].value != now[j].value)
                return err_set(
                    msg, ERR_PARSE,
                    "%s: costs were made for %s %lld, the model has "
                    "%lld: %s",
                    where, now[j].key, (long long)c->facts[i].value,
                    (long long)now[j].value,
                    c->source == COST_ANALYTIC
                        ? "make them again, with this command's options"
                        : "profile it again (moe-layout profile-layouts, "
                          "then fit)");
    for (int k = 0; k < N_KINDS; k++)
        if (model_unit_count(m, (enum unit_kind)k) > 0 && !c->unit[k].known &&
            !(k == KIND_M && c->joint_ml))
            return err_set(msg, ERR_PARSE,
                           "%s: no cost of unit '%s', which the model has",
                           where, kind_name((enum unit_kind)k));
    return ERR_OK;
}

/* ---- reading ---- */

// eleven days a unit and micro-batch, and more than any link: a wrong unit
static const struct json_range TIME = {0, 1e6};
static const struct json_range RATE = {0, 1e18};

/* A unit without its two times is no cost; standard errors may be absent. */
static void cost_read_unit(struct reader at, struct unit_cost *out)
{
    static const char *const keys[] = {"fwd_s", "fwd_se", "bwd_s", "bwd_se"};
    double *const values[] = {&out->fwd_s, &out->fwd_se, &out->bwd_s,
                              &out->bwd_se};
    reader_keys(at, keys, 4);
    reader_require(at, "fwd_s", NULL);
    reader_require(at, "bwd_s", NULL);
    for (int i = 0; i < 4; i++)
        reader_double(at, keys[i], TIME, values[i]);
    out->known = reader_is_there(at);
}

/* "mL" is stored as L with joint_ml set. A file that has it beside m or L would
 * count a unit twice. */
static void cost_read_units(struct reader top, struct cost *c)
{
    const char *keys[N_KINDS + 1] = {[N_KINDS] = JOINT_KEY};
    for (int k = 0; k < N_KINDS; k++)
        keys[k] = kind_name((enum unit_kind)k);
    reader_require(top, "units", "an object");
    struct reader units = reader_object(top, "units");
    reader_keys(units, keys, N_KINDS + 1);
    for (int k = 0; k <= N_KINDS; k++) {
        struct reader item = reader_object(units, keys[k]);
        if (!item.item)
            continue;
        if (k == N_KINDS && (c->unit[KIND_L].known || c->unit[KIND_M].known))
            reader_fail(item, ERR_PARSE, "stands beside m or L");
        c->joint_ml = k == N_KINDS;
        cost_read_unit(item, &c->unit[k == N_KINDS ? KIND_L : k]);
    }
}

/* "between" absent: one link stands for transfers inside a node and between
 * nodes. */
/* 0 is no limit; bytes over a rate next to nothing would not be finite. */
static void cost_read_rate(struct reader link, const char *key, double *out)
{
    reader_double(link, key, RATE, out);
    if (*out > 0 && *out < 1)
        reader_fail(reader_get(link, key), ERR_RANGE,
                    "got %g, want 0 for no limit, or 1 byte a second and more",
                    *out);
}

static void cost_read_p2p(struct reader top, struct cost *c)
{
    static const char *const keys[] = {"latency_s", "bytes_per_s",
                                       "exchange_sync_s", "between"};
    struct reader p2p = reader_object(top, "p2p");
    reader_keys(p2p, keys, 4);
    reader_double(p2p, keys[0], TIME, &c->latency_s);
    cost_read_rate(p2p, keys[1], &c->bytes_per_s);
    reader_double(p2p, keys[2], TIME, &c->exchange_sync_s);
    struct reader between = reader_object(p2p, keys[3]);
    reader_keys(between, keys, 2);
    reader_double(between, keys[0], TIME, &c->between.latency_s);
    cost_read_rate(between, keys[1], &c->between.bytes_per_s);
    c->parted = reader_is_there(between);
}

/* Absent: what EP overlap saves is not known. */
static void cost_read_ep_save(struct reader top, struct cost *c)
{
    static const char *const keys[] = {"save_both_s", "save_forward_s",
                                       "save_backward_s", "save_se_s"};
    struct cost_ep_save *to = &c->ep_save;
    double *const values[] = {&to->both_s, &to->forward_s, &to->backward_s,
                              &to->se_s};
    struct reader save = reader_object(top, "ep_overlap");
    reader_keys(save, keys, 4);
    for (int i = 0; i < 4; i++) {
        if (i < 3)
            reader_require(save, keys[i], NULL);
        reader_double(save, keys[i], TIME, values[i]);
    }
    to->known = reader_is_there(save);
}

/* Absent: the reduction is part of the overhead, or not known. */
static void cost_read_dp(struct reader top, struct cost *c)
{
    static const char *const keys[] = {"s_per_byte", "s_per_byte_se",
                                       "gpus_per_node"};
    // nothing is slower than a byte in a millisecond
    static const struct json_range rate = {0, 1e-3}, node = {1, 1 << 20};
    struct reader dp = reader_object(top, "data_parallel");
    reader_keys(dp, keys, 3);
    reader_require(dp, keys[0], NULL);
    reader_require(dp, keys[2], NULL);
    reader_double(dp, keys[0], rate, &c->dp.s_per_byte);
    reader_double(dp, keys[1], rate, &c->dp.se);
    reader_int(dp, keys[2], node, &c->dp.gpus_per_node);
}

/* Corrections that a fit found against measured memory. Shares may be negative,
 * down to -1: nothing left of the unit. */
static void cost_read_memory_fit(struct reader memory, struct memory_rules *r)
{
    static const struct json_range relative = {-1, 1e3}, bytes = {-1e15, 1e15};
    const char *names[N_KINDS];
    for (int k = 0; k < N_KINDS; k++)
        names[k] = kind_name((enum unit_kind)k);
    struct reader units = reader_object(memory, "unit_more");
    reader_double(memory, "head_more", relative, &r->head_more);
    reader_double(memory, "rank_more_bytes", bytes, &r->rank_more_bytes);
    reader_keys(units, names, N_KINDS);
    for (int k = 0; k < N_KINDS; k++)
        reader_double(units, names[k], relative, &r->unit_more[k]);
}

/* Files that do not name the trainer are told apart by the bytes of a value:
 * moe-train computes in fp32, Megatron in 16 bits. */
static void cost_read_trainer(struct reader memory, struct memory_rules *r)
{
    const char *const names[] = {
        [TRAINER_MEGATRON] = trainer_name(TRAINER_MEGATRON),
        [TRAINER_MOE_TRAIN] = trainer_name(TRAINER_MOE_TRAIN)};
    int trainer = r->value_bytes == MEMORY_MOE_TRAIN.value_bytes
                      ? TRAINER_MOE_TRAIN
                      : TRAINER_MEGATRON;
    reader_choice(memory, "trainer", names, sizeof names / sizeof names[0],
                  &trainer);
    r->trainer = (enum trainer_kind)trainer;
}

static void cost_read_memory(struct reader top, struct cost *c)
{
    static const char *const keys[] = {
        "param_bytes", "grad_bytes", "optimizer_bytes", "value_bytes",
        "unit_more",   "head_more",  "rank_more_bytes", "trainer"};
    int *const values[] = {&c->rules.param_bytes, &c->rules.grad_bytes,
                           &c->rules.optimizer_bytes, &c->rules.value_bytes};
    c->rules = MEMORY_MEGATRON;
    struct reader memory = reader_object(top, "memory");
    reader_keys(memory, keys, sizeof keys / sizeof keys[0]);
    for (int i = 0; i < 4; i++)
        reader_int(memory, keys[i], (struct json_range){1, 64}, values[i]);
    cost_read_trainer(memory, &c->rules);
    cost_read_memory_fit(memory, &c->rules);
}

/* Facts are data: any key is taken, and compared with the model's later. */
static void cost_read_facts(struct reader top, struct cost *c)
{
    static const struct json_range any = {-JSON_MAX_INT, JSON_MAX_INT};
    struct reader object = reader_object(top, "fingerprint");
    int n = reader_count(object), i = 0;
    struct model_fact *facts =
        n ? arena_alloc(top.doc->a, (size_t)n, sizeof *facts) : NULL;
    if (n && !facts)
        reader_fail(object, ERR_NOMEM, "out of memory");
    for (struct reader f = reader_first(object); f.item; f = reader_next(f)) {
        double value = 0;
        reader_double_here(f, any, &value);
        facts[i].key = arena_strdup(top.doc->a, reader_key(f));
        facts[i].value = (int64_t)value;
        if (!facts[i++].key)
            reader_fail(f, ERR_NOMEM, "out of memory");
    }
    c->facts = facts;
    c->n_facts = i;
}

static void cost_read_top(struct reader top, struct cost *c)
{
    static const char *const keys[] = {
        "format",         "source",      "units",
        "chunk_s",        "overhead_s",  "overhead_s_per_byte",
        "step_noise_rel", "p2p",         "jitter_cv",
        "memory",         "fingerprint", "fitted_from",
        "ep_overlap",     "comment",     "data_parallel",
        "warnings",       "assumed"};
    int source = COST_MEASURED;
    reader_keys(top, keys, sizeof keys / sizeof keys[0]);
    reader_require(top, "source", "measured, emulated, published or analytic");
    reader_choice(top, "source", source_names, COST_N_SOURCES, &source);
    c->source = (enum cost_source)source;
    cost_read_units(top, c);
    reader_double(top, "chunk_s", TIME, &c->chunk_s);
    reader_double(top, "overhead_s", TIME, &c->overhead_s);
    reader_double(top, "overhead_s_per_byte", TIME, &c->overhead_s_per_byte);
    reader_double(top, "step_noise_rel", (struct json_range){0, 1},
                  &c->step_noise_rel);
    reader_double(top, "jitter_cv", (struct json_range){0, 10}, &c->jitter_cv);
    cost_read_p2p(top, c);
    cost_read_ep_save(top, c);
    cost_read_dp(top, c);
    cost_read_memory(top, c);
    cost_read_facts(top, c);
}

/* Every layout would take the same time, and nothing could be told. */
static bool cost_is_nothing(const struct cost *c)
{
    double sum_s = 0;
    for (int k = 0; k < N_KINDS; k++)
        sum_s += c->unit[k].fwd_s + c->unit[k].bwd_s;
    return !(sum_s > 0);
}

enum err cost_read_file(struct arena *a, const char *path, struct cost *out,
                        struct err_msg *msg)
{
    struct reader_doc doc;
    struct cost c = {0};
    cost_read_top(reader_open_file(&doc, a, path, FORMAT, msg), &c);
    enum err e = reader_close(&doc);
    if (e == ERR_OK && cost_is_nothing(&c))
        e = err_set(msg, ERR_RANGE,
                    "%s: units: all are 0 s, want a cost above 0 of one at "
                    "least",
                    path);
    if (e == ERR_OK)
        *out = c;
    return e;
}

/* ---- writing ---- */

static void cost_write_memory(struct writer to, const struct memory_rules *r)
{
    struct writer memory = writer_object(to, "memory");
    writer_text(memory, "trainer", trainer_name(r->trainer));
    writer_number(memory, "param_bytes", r->param_bytes);
    writer_number(memory, "grad_bytes", r->grad_bytes);
    writer_number(memory, "optimizer_bytes", r->optimizer_bytes);
    writer_number(memory, "value_bytes", r->value_bytes);
    struct writer units = writer_object(memory, "unit_more");
    for (int k = 0; k < N_KINDS; k++)
        writer_number(units, kind_name((enum unit_kind)k), r->unit_more[k]);
    writer_number(memory, "head_more", r->head_more);
    writer_number(memory, "rank_more_bytes", r->rank_more_bytes);
}

static void cost_write_units(struct writer to, const struct cost *c)
{
    struct writer units = writer_object(to, "units");
    for (int k = 0; k < N_KINDS; k++) {
        const struct unit_cost *u = &c->unit[k];
        if (!u->known)
            continue;
        bool joint = k == KIND_L && c->joint_ml;
        struct writer item = writer_object(
            units, joint ? JOINT_KEY : kind_name((enum unit_kind)k));
        writer_number(item, "fwd_s", u->fwd_s);
        writer_number(item, "fwd_se", u->fwd_se);
        writer_number(item, "bwd_s", u->bwd_s);
        writer_number(item, "bwd_se", u->bwd_se);
    }
}

static void cost_write_facts(struct writer to, const struct cost *c)
{
    struct writer facts = writer_object(to, "fingerprint");
    for (int i = 0; i < c->n_facts; i++)
        writer_number(facts, c->facts[i].key, (double)c->facts[i].value);
}

/* By hashes of the logs a reader can tell whether the costs belong to the runs
 * that lie beside them. */
static void cost_write_fitted(struct writer to, const struct cost *c)
{
    struct writer from = writer_list(to, "fitted_from");
    for (int i = 0; i < c->n_fitted; i++) {
        struct writer item = writer_object(from, NULL);
        writer_text(item, "layout", c->fitted_layout[i]);
        writer_text(item, "log_sha256", c->fitted_sha256[i]);
    }
}

static void cost_write_p2p(struct writer to, const struct cost *c)
{
    struct writer p2p = writer_object(to, "p2p");
    writer_number(p2p, "latency_s", c->latency_s);
    writer_number(p2p, "bytes_per_s", c->bytes_per_s);
    writer_number(p2p, "exchange_sync_s", c->exchange_sync_s);
    if (!c->parted)
        return;
    struct writer between = writer_object(p2p, "between");
    writer_number(between, "latency_s", c->between.latency_s);
    writer_number(between, "bytes_per_s", c->between.bytes_per_s);
}

static void cost_write_ep_save(struct writer to, const struct cost_ep_save *s)
{
    if (!s->known)
        return;
    struct writer save = writer_object(to, "ep_overlap");
    writer_number(save, "save_both_s", s->both_s);
    writer_number(save, "save_forward_s", s->forward_s);
    writer_number(save, "save_backward_s", s->backward_s);
    writer_number(save, "save_se_s", s->se_s);
}

static void cost_write_dp(struct writer to, const struct cost_dp *d)
{
    if (d->s_per_byte <= 0)
        return;
    struct writer dp = writer_object(to, "data_parallel");
    writer_number(dp, "s_per_byte", d->s_per_byte);
    writer_number(dp, "s_per_byte_se", d->se);
    writer_number(dp, "gpus_per_node", d->gpus_per_node);
}

cJSON *cost_to_json(const struct cost *c)
{
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    writer_text(top, "format", FORMAT);
    writer_text(top, "source", source_names[c->source]);
    cost_write_units(top, c);
    writer_number(top, "chunk_s", c->chunk_s);
    writer_number(top, "overhead_s", c->overhead_s);
    writer_number(top, "overhead_s_per_byte", c->overhead_s_per_byte);
    writer_number(top, "step_noise_rel", c->step_noise_rel);
    cost_write_p2p(top, c);
    cost_write_ep_save(top, &c->ep_save);
    cost_write_dp(top, &c->dp);
    writer_number(top, "jitter_cv", c->jitter_cv);
    cost_write_memory(top, &c->rules);
    if (c->n_facts)
        cost_write_facts(top, c);
    if (c->n_fitted)
        cost_write_fitted(top, c);
    return writer_close(&doc);
}
