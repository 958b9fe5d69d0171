/*
 * made: how an experiment was made and how it ended, for its page: the bounds
 * that its manifest sets and whether they hold, and the exact words of each
 * kind of run, as a shell takes them.
 *
 * In: DIR/manifest.json of a dataset, else that of the first run below
 * DIR/runs/; DIR/runs.csv and DIR/runs/<run id>/argv.json, env.json.
 */
#ifndef REPORT_MADE_H
#define REPORT_MADE_H

#include "sources.h"

#include <stdio.h>

/* The experiment's question, "" where no manifest is there. Owned by the
 * arena. ERR_PARSE for a manifest that cannot be read. */
enum err made_question(struct arena *a, const struct report_source *source,
                       const char **out, struct err_msg *msg);

/* A line a bound of `accept`, kept or missed. */
enum err made_verdicts(struct arena *a, const struct report_source *source,
                       FILE *out, struct err_msg *msg);

/* A code block with a command a role and layout; nothing for a dataset, which
 * does not keep the words. */
enum err made_commands(struct arena *a, const struct report_source *source,
                       FILE *out, struct err_msg *msg);

#endif
