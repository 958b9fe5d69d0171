/*
 * step_table: step times from a CSV file. A row is a run: its model's sizes or
 * (of one model for all) nothing of them, how ranks share the work, and the
 * seconds of a step. Sizes go through the flags that Megatron would be given
 * for them, so that they mean the same as everywhere.
 *
 * Columns, by name, in any order; others are ignored:
 *   id, source, group, compare   names: rows of one group share unit costs,
 *                                rows of one source and gpu a network; between
 *                                rows of one `compare` a planner would choose
 *   gpu, gpus_per_node           (8)
 *   n_layers, hidden, heads, query_groups, ffn, experts, topk, moe_ffn, mtp,
 *   seq, vocab                   the model. ffn empty: 4 x hidden; another
 *                                width than that, or experts: gated, with
 *                                RMSNorm and no biases. Tables of embedding
 *                                and output are two, shared only where one
 *                                said so, which no column does. heads empty: as
 * many as TP, which changes neither FLOPs nor parameters tp, cp, ep, dp, pp,
 * vpp      (1) layout, embed_loss_counted   empty: the even split; 1: embedding
 * and loss count as a layer each recompute                    full, selective;
 * none, unknown or empty: none overlap_ep                   1: EP overlap
 *   schedule                     1f1b, interleaved or empty; other schedules
 *                                are not Megatron's: such rows are not covered
 *   mbs, microbatches            of a step; without the second, gbs/(mbs*dp)
 *   step_s                       seconds
 *   use                          fit: costs may come from it; predict: must be
 *                                predicted; empty: neither
 *   exclude                      1: never used
 *
 * Sized for some thousand rows.
 */
#ifndef CALIBRATE_STEP_TABLE_H
#define CALIBRATE_STEP_TABLE_H

#include "step_prices.h"

enum step_use { STEP_USE_NONE, STEP_USE_FIT, STEP_USE_PREDICT };

/* A row of the file. Texts are "" where a field is empty. */
struct step_entry {
    const char *id, *source, *group, *compare, *gpu, *layout;
    enum step_use use;
    bool excluded;
    double meas_s;       // NAN: not stated
    double n_gpus;       // 0: not stated
    struct observed *of; // NULL: not covered
    const char *why;     // why not, or ""
    int cluster;         // rows of one source and gpu: one number, from 0
};

struct step_table {
    struct step_entry *entry;
    int n, n_clusters;
};

struct step_table_options {
    const struct model *model; // of all rows: only n_layers, mbs, dp, pp, vpp,
                               // layout and microbatches are read; or NULL
    unsigned terms;            // OBSERVED_RECOMPUTE counts
    bool fit_all;              // rows without `use` are to be fitted
    // with `model`, as struct observed_case has them; else their defaults
    bool mode_given;
    enum p2p_mode mode;
    int gpus_per_node;
    const struct cost *links, *timers;
};

/* Appends the file's rows to the table (zeroed at first). Rows of one
 * configuration share their simulator. ERR_PARSE for an unreadable file, a
 * missing column or a number that is none; a row that cannot be simulated is
 * there, without `of`. Owned by the arena. */
enum err step_table_read(struct arena *a, const char *path,
                         const struct step_table_options *options,
                         struct step_table *table, struct err_msg *msg);

/* The rows of one cluster to be fitted, whose groups have the first numbers:
 * rows of no other use have an influence on them. ERR_NOMEM. */
enum err step_table_rows(struct arena *a, const struct step_table *table,
                         int cluster, struct step_rows *out,
                         struct err_msg *msg);

#endif
