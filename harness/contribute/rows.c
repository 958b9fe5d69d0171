/*
 * How it works: a row is filled column by column, by name, so that the table of
 * published/import may grow. Texts are numbers, words of ours, or a layout that
 * was judged: nothing of a log's or a path's own text comes into a row.
 */
#include "rows.h"

#include "base/csv.h"

#include <math.h>
#include <string.h>

/* A row being filled; a column that is missing in the table is our mistake. */
struct row {
    struct arena *a;
    const char **field;
    bool failed;
};

/* A column that the table does not have would be lost: it fails. */
static void put_text(struct row *r, const char *column, const char *text)
{
    size_t at = 0;
    r->failed =
        r->failed || !text || import_column(column, &at, NULL) != ERR_OK;
    if (!r->failed)
        r->field[at] = text;
}

static void put_number(struct row *r, const char *column, double x)
{
    char buf[CSV_NUMBER_BYTES];
    const char *text = csv_number(x, buf);
    if (text)
        put_text(r, column, arena_strdup(r->a, text));
}

/* 0 is none. */
static void put_size(struct row *r, const char *column, int64_t n)
{
    if (n > 0)
        put_text(r, column, arena_printf(r->a, "%lld", (long long)n));
}

/* `compare`: between rows of one batch a planner would choose. */
static void put_names(struct row *r, const struct contribution *c,
                      const struct contribution_run *run, const char *name)
{
    put_text(r, "id", arena_printf(r->a, "%s/%s", name, run->id));
    put_text(r, "source", name);
    put_text(r, "group", "model");
    put_text(r, "compare",
             arena_printf(r->a, "gbs%lld",
                          (long long)run->model.batch.global_batch));
    put_text(r, "model", "model.json");
    put_text(r, "gpu", c->gpu);
    put_size(r, "gpus_per_node", c->gpus_per_node);
    put_size(r, "n_gpus", c->n_gpus);
}

/* As megatron/model has them, defaults filled in: a reader of rows has no
 * flags. */
static void put_model(struct row *r, const struct model *m)
{
    put_size(r, "n_layers", m->n_layers);
    put_size(r, "hidden", m->hidden);
    put_size(r, "heads", m->n_heads);
    put_size(r, "query_groups", m->n_kv_heads);
    put_size(r, "ffn", m->ffn);
    put_size(r, "experts", m->n_experts);
    put_size(r, "topk", m->n_experts ? m->topk : 0);
    put_size(r, "moe_ffn", m->n_experts ? m->moe_ffn : 0);
    put_size(r, "mtp", m->n_mtp);
    put_size(r, "seq", m->batch.seq_tokens);
    put_size(r, "vocab", m->padded_vocab);
}

/* The layout is always written, also where it is the default split. */
static void put_split(struct row *r, const struct contribution_run *run)
{
    const struct model *m = &run->model;
    put_size(r, "tp", m->par.tp);
    put_size(r, "cp", m->par.cp);
    put_size(r, "ep", m->par.ep);
    put_size(r, "dp", m->par.dp);
    put_size(r, "pp", m->par.pp);
    put_size(r, "vpp", run->parsed.vpp);
    put_text(r, "layout", run->layout);
    put_size(r, "overlap_ep", m->overlap_moe_comm);
    put_text(r, "schedule", run->parsed.vpp > 1 ? "interleaved" : "1f1b");
    put_size(r, "mbs", m->batch.micro_batch);
    put_size(r, "gbs", m->batch.global_batch);
    put_size(r, "microbatches", m->batch.n_microbatches);
}

/* What changes the time of a unit beside its sizes. */
static void put_flags(struct row *r, struct megatron_args *args)
{
    const struct megatron_flags *f = megatron_args_flags(args);
    const char *full = flags_text(f, FLAG_RECOMPUTE_GRANULARITY);
    put_text(
        r, "recompute",
        full && (strcmp(full, "full") == 0 || strcmp(full, "selective") == 0)
            ? full
        : flags_given(f, FLAG_RECOMPUTE_ACTIVATIONS) ? "selective"
                                                     : "none");
    put_text(r, "precision", contribution_precision(f));
}

/* Profile runs are of no use to a fit of steps: timers lengthen them. */
static void put_figures(struct row *r, const struct contribution_run *run)
{
    put_number(r, "step_s", run->step_s);
    put_text(r, "step_stat", run->stat ? run->stat : "");
    put_size(r, "n_steps", (int64_t)run->n_used * run->span);
    if (isfinite(run->q25))
        put_text(r, "spread",
                 arena_printf(r->a, "q25 %.17g q75 %.17g", run->q25, run->q75));
    if (run->peak_bytes > 0)
        put_number(r, "memory_gib",
                   (double)run->peak_bytes / (1024.0 * 1024 * 1024));
    put_text(r, "measured", "1");
    put_text(r, "exclude", "0");
    put_text(r, "use", run->profile ? "" : "fit");
}

/* A log by its hash: the same run is known again, whoever gives it. */
static void put_origin(struct row *r, const struct contribution_run *run)
{
    put_text(r, "ref",
             *run->log_sha256
                 ? arena_printf(r->a, "log sha256 %s", run->log_sha256)
                 : "typed in");
    if (run->role)
        put_text(r, "note",
                 arena_printf(r->a, "%s, round %d", run->role, run->round));
}

/* All fields of all rows in one array, as import_write() takes them. */
enum err rows_make(const struct contribution *c, struct import_rows *out,
                   struct err_msg *msg)
{
    const char *name = contribution_name(c);
    const char **field = arena_alloc(
        c->arena, (size_t)c->n * PUBLISHED_N_COLUMNS + 1, sizeof *field);
    bool failed = !name || !field;
    for (int i = 0; i < c->n && !failed; i++) {
        struct row r = {c->arena, field + (size_t)i * PUBLISHED_N_COLUMNS,
                        false};
        put_names(&r, c, &c->run[i], name);
        put_model(&r, &c->run[i].model);
        put_split(&r, &c->run[i]);
        put_flags(&r, c->args);
        put_figures(&r, &c->run[i]);
        put_origin(&r, &c->run[i]);
        failed = r.failed;
    }
    *out = (struct import_rows){field, (size_t)c->n};
    return failed ? err_set(msg, ERR_NOMEM, "contribute: out of memory")
                  : ERR_OK;
}
