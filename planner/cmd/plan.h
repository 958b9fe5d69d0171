/*
 * plan: what the plan command found and how it is printed: a table with the
 * flags to paste, JSON, or one of them alone for a launch script.
 */
#ifndef PLANNER_CMD_PLAN_H
#define PLANNER_CMD_PLAN_H

#include "cmd.h"
#include "plan/choose.h"

/* All of it; `ways` and `found` point into the command's arena. */
struct plan_output {
    struct cmd *cmd;
    const struct choose_way *ways;
    int n_ways;
    const struct choose_result *found;
    // of a hybrid model, for the best way: the search without cuts inside a
    // layer; NULL where there is nothing to compare
    const struct search_result *whole;
    bool whole_none; // it found no layout (that fits)
};

/* ERR_PARSE unless --print names something that there is. */
enum err plan_output_check(struct cmd *c);

/* As --json, --print or neither asks. */
enum err plan_output(const struct plan_output *o);

#endif
