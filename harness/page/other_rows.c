/*
 * How it works: a function a kind of row fills it from the columns of its
 * table; what else the table says is listed as facts for the detail.
 */
#include "other_rows.h"

#include "fields.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const double GIB = 1024.0 * 1024.0 * 1024.0;

/* ---- plans ---- */

/* Steps of plans have thousands of operations, all of them 10 MB. */
static const char *other_rows_left_out(struct arena *a, const struct csv *t,
                                       size_t i)
{
    const double n = 2 * csv_double(t, i, "pp") * csv_double(t, i, "vpp") *
                     csv_double(t, i, "n_mb");
    if (!isfinite(n) || *csv_text(t, i, "reason"))
        return NULL;
    return arena_printf(a,
                        "left out, for its %.0f operations; 'moe-layout "
                        "simulate' draws it",
                        n);
}

/* A way that Megatron refuses has a row with its reason and no layout. */
static void other_rows_plan(struct sheet *s, const struct csv *t, size_t i)
{
    static const struct fields_fact facts[] = {
        {"pipeline ranks", "pp", FIELDS_AS_IT_IS},
        {"chunks a rank", "vpp", FIELDS_AS_IT_IS},
        {"expert-parallel ranks", "ep", FIELDS_AS_IT_IS},
        {"micro-batches", "n_mb", FIELDS_AS_IT_IS},
        {"EP overlap", "ep_overlap", FIELDS_AS_IT_IS},
        {"an MTP layer costs, in MoE layers", "m_over_t", 3},
        {"the loss head costs, in MoE layers", "l_over_t", 3},
        {"step of the planner's layout, ms", "planner_step_ms", 1},
        {"no layout is faster than, ms", "bound_ms", 1},
        {"proof", "proof", FIELDS_AS_IT_IS},
        {"above the bound, %", "gap_pct", 3},
        {"costs", "costs_source", FIELDS_AS_IT_IS},
        {"source of the layout", "source", FIELDS_AS_IT_IS}};
    const char *reason = csv_text(t, i, "reason");
    const char *kind = csv_text(t, i, "costs_source");
    const struct sheet_row row = {.what = "plan",
                                  .name = csv_text(t, i, "who"),
                                  .layout = csv_text(t, i, "layout"),
                                  .kind = kind,
                                  .status = *reason ? "refused" : "valid",
                                  .reason = reason,
                                  .pred_ms = csv_double(t, i, "pred_step_ms"),
                                  .meas_ms = NAN,
                                  .pred_bytes =
                                      csv_double(t, i, "worst_rank_mem_bytes"),
                                  .meas_bytes = NAN};
    struct sheet_facts f = sheet_facts(s, sheet_add(s, &row));
    fields_facts(&f, t, i, facts, COUNT(facts));
    sheet_fact(&f, "timeline", other_rows_left_out(s->a, t, i));
}

void other_rows_plans(struct sheet *s, const struct csv *recipes)
{
    for (size_t i = 0; i < recipes->n_rows; i++)
        other_rows_plan(s, recipes, i);
}

/* ---- step times ---- */

/* Row of predicted.csv of the id, or n_rows. */
static size_t other_rows_predicted(const struct csv *predicted,
                                   const struct csv *rows, size_t row)
{
    const char *id = csv_text(rows, row, "id");
    size_t i = 0;
    while (i < predicted->n_rows &&
           !(csv_is(predicted, i, "id", id) &&
             csv_is(predicted, i, "source", csv_text(rows, row, "source"))))
        i++;
    return i;
}

/* Rows that are left out by their dataset, and such that no model here covers.
 */
static const char *other_rows_status(const struct csv *rows, size_t row,
                                     const char *why)
{
    if (csv_is(rows, row, "exclude", "1"))
        return "excluded";
    if (csv_is(rows, row, "use", ""))
        return "not used";
    return *why ? "not covered" : "valid";
}

/* The even split is an empty field. */
static const char *other_rows_layout(struct arena *a, const struct csv *t,
                                     size_t i)
{
    const char *layout = csv_text(t, i, "layout");
    const char *text =
        *layout ? layout
                : arena_printf(a, "even split, PP %s, VPP %s",
                               csv_text(t, i, "pp"), csv_text(t, i, "vpp"));
    return text ? text : "";
}

/* Everything that the source states, as it states it. */
static void other_rows_step_detail(struct sheet *s, const struct csv *t,
                                   size_t i, struct writer detail)
{
    static const struct fields_fact facts[] = {
        {"model", "model", FIELDS_AS_IT_IS},
        {"layers", "n_layers", FIELDS_AS_IT_IS},
        {"hidden size", "hidden", FIELDS_AS_IT_IS},
        {"experts", "experts", FIELDS_AS_IT_IS},
        {"MTP layers", "mtp", FIELDS_AS_IT_IS},
        {"GPU", "gpu", FIELDS_AS_IT_IS},
        {"GPUs", "n_gpus", FIELDS_AS_IT_IS},
        {"tensor-parallel ranks", "tp", FIELDS_AS_IT_IS},
        {"context-parallel ranks", "cp", FIELDS_AS_IT_IS},
        {"expert-parallel ranks", "ep", FIELDS_AS_IT_IS},
        {"pipeline ranks", "pp", FIELDS_AS_IT_IS},
        {"chunks a rank", "vpp", FIELDS_AS_IT_IS},
        {"replicas", "dp", FIELDS_AS_IT_IS},
        {"micro-batch", "mbs", FIELDS_AS_IT_IS},
        {"global batch", "gbs", FIELDS_AS_IT_IS},
        {"micro-batches", "microbatches", FIELDS_AS_IT_IS},
        {"tokens a sequence", "seq", FIELDS_AS_IT_IS},
        {"precision", "precision", FIELDS_AS_IT_IS},
        {"recompute", "recompute", FIELDS_AS_IT_IS},
        {"schedule", "schedule", FIELDS_AS_IT_IS},
        {"use (fit: costs come from it)", "use", FIELDS_AS_IT_IS},
        {"step is the", "step_stat", FIELDS_AS_IT_IS},
        {"steps", "n_steps", FIELDS_AS_IT_IS},
        {"spread", "spread", FIELDS_AS_IT_IS},
        {"reference", "ref", FIELDS_AS_IT_IS},
        {"note", "note", FIELDS_AS_IT_IS}};
    struct sheet_facts f = sheet_facts(s, detail);
    fields_facts(&f, t, i, facts, COUNT(facts));
}

/* Of a row that is left out; its note says why it is excluded. */
static const char *other_rows_reason(const struct csv *rows, size_t row,
                                     const char *status, const char *why)
{
    if (strcmp(status, "excluded") == 0)
        return csv_text(rows, row, "note");
    return strcmp(status, "not used") == 0
               ? "kept, neither fitted nor predicted"
               : why;
}

/* Seconds become the milliseconds of every other row; a row without a
 * prediction keeps its measured step. */
static void other_rows_step(struct sheet *s, const struct csv *t, size_t i,
                            const struct csv *predicted)
{
    const size_t p = other_rows_predicted(predicted, t, i);
    const char *why = csv_text(predicted, p, "why");
    const char *status = other_rows_status(t, i, why);
    const struct sheet_row row = {
        .what = "step time",
        .name = csv_text(t, i, "id"),
        .layout = other_rows_layout(s->a, t, i),
        .kind = s->set.kind,
        .status = status,
        .reason = other_rows_reason(t, i, status, why),
        .pred_ms = 1e3 * csv_double(predicted, p, "pred_step_s"),
        .meas_ms = 1e3 * csv_double(t, i, "step_s"),
        .pred_bytes = NAN,
        .meas_bytes = GIB * csv_double(t, i, "memory_gib")};
    other_rows_step_detail(s, t, i, sheet_add(s, &row));
}

void other_rows_steps(struct sheet *s, const struct csv *rows,
                      const struct csv *predicted)
{
    for (size_t i = 0; i < rows->n_rows; i++)
        other_rows_step(s, rows, i, predicted);
}

/* ---- memory ---- */

/* Peak bytes; what is allocated between steps stands in the detail. */
static void other_rows_case(struct sheet *s, const struct csv *t, size_t i)
{
    const char *reason = csv_text(t, i, "reason");
    const struct sheet_row row = {
        .what = "memory",
        .name = csv_text(t, i, "platform"),
        .layout = csv_text(t, i, "case"),
        .kind = s->set.kind,
        .status = csv_is(t, i, "supported", "1") ? "valid" : "not covered",
        .reason = reason,
        .pred_ms = NAN,
        .meas_ms = NAN,
        .pred_bytes = csv_double(t, i, "pred_peak_bytes"),
        .meas_bytes = csv_double(t, i, "meas_peak_bytes")};
    struct sheet_facts f = sheet_facts(s, sheet_add(s, &row));
    sheet_fact(&f, "family", csv_text(t, i, "family"));
    sheet_fact(&f, "allocated between steps, predicted",
               sheet_bytes(s->a, csv_double(t, i, "pred_allocated_bytes")));
    sheet_fact(&f, "allocated between steps, published",
               sheet_bytes(s->a, csv_double(t, i, "meas_allocated_bytes")));
    sheet_fact(&f, "source", csv_text(t, i, "source"));
}

void other_rows_memory(struct sheet *s, const struct csv *memory)
{
    for (size_t i = 0; i < memory->n_rows; i++)
        other_rows_case(s, memory, i);
}
