/*
 * logged: what the list of arguments in the log of a run says of the run beside
 * what a script says. The list is of the very run: how its layers were split is
 * in it, also where no flag says so and Megatron's default holds. A script may
 * have been edited since.
 */
#ifndef JUDGE_LOGGED_H
#define JUDGE_LOGGED_H

#include "base/arena.h"
#include "base/err.h"
#include "layout/core_version.h"
#include "layout/layout.h"
#include "log/facts.h"
#include "megatron/flags.h"

/* True where the list tells the split: it names the flags of splits, given or
 * not, as Megatron's own lists do. Other programs list some of their flags. */
bool logged_tells_split(const struct runlog *log);

/* What `own`, the flags of the log's list, tells and `to` does not state; the
 * split, where the list tells it, in place of what `to` says. */
void logged_join(const struct runlog *log, const struct megatron_flags *own,
                 struct megatron_flags *to);

/* A layout of Megatron's default split, or of flags of a split other than a
 * layout. Not known where the list does not tell it (it has a layout or a
 * pattern, flags of a fork that may split otherwise, or Megatron refuses it).
 */
struct logged_split {
    bool known;
    struct layout layout;
};

/* What the list makes; ERR_NOMEM. */
enum err logged_split(struct arena *a, const struct runlog *log,
                      const struct core_version *core, struct logged_split *out,
                      struct err_msg *msg);

/* The layout that the list says has run, in letters: its own layout or pattern,
 * or what logged_split() makes. NULL where it does not tell. ERR_NOMEM. */
enum err logged_layout(struct arena *a, const struct runlog *log,
                       const struct core_version *core, const char **out,
                       struct err_msg *msg);

#endif
