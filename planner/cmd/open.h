/*
 * open: the model of a command line: its source is read, options and flags
 * behind "--" win, and only then is judged what is missing, not known or not
 * understood. cmd.h declares what commands call; this is what those functions
 * share.
 */
#ifndef PLANNER_CMD_OPEN_H
#define PLANNER_CMD_OPEN_H

#include "cmd.h"
#include "megatron/args.h"
#include "megatron/overrides.h"
#include "megatron/values.h"

/* The options that stand for flags and settings, within the bounds of their
 * flags; a split takes the place of its own. ERR_RANGE, ERR_PARSE. */
enum err open_overrides(struct cmd *c, const struct cmd_split *split,
                        struct overrides *out);

/* ---- what is not known (say.c) ---- */

/* Something that the source does not tell. */
struct open_unknown {
    const char *name, *where, *why, *option;
    bool decides; // another model with each value
};

struct open_unknowns {
    struct open_unknown *item;
    int n;
};

/* Values and flags of the source that are not known; texts as in values.h.
 * ERR_NOMEM. */
enum err open_list_unknowns(struct arena *a, const struct megatron_flags *f,
                            const struct value v[N_VALUES],
                            struct open_unknowns *out, struct err_msg *msg);

/* ERR_PARSE that names every unknown that decides, with the option that gives
 * it; `sizes_only`: only those of the model itself. */
enum err open_demand(struct arena *a, const struct open_unknowns *all,
                     const char *where, bool sizes_only, struct err_msg *msg);

/* Switches and texts that are not known and change times or bytes at most:
 * taken as not given, and said in the account. */
void open_assume_unknowns(struct megatron_args *args);

/* Notes flags of other kinds of models among those that change the model. */
void open_note_refused(struct megatron_args *args);

/* One line: model, ranks, micro-batches. Owned by the
 * arena, NULL when out of memory. */
const char *open_summary(struct cmd *c, const struct account *account,
                         const struct cmd_model *m);

#endif
