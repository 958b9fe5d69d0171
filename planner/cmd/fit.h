/*
 * fit: what the commands that make costs files share: how costs are printed
 * and written, and what options say of transfers.
 */
#ifndef PLANNER_CMD_FIT_H
#define PLANNER_CMD_FIT_H

#include "cmd.h"
#include "cost/cost.h"

/* The units' table, and what is known of transfers and EP overlap's savings,
 * to standard output. */
void fit_print_costs(const struct cost *c);
void fit_print_links(const struct cost *c);

/* Links that the options state, into *cost. ERR_PARSE, ERR_RANGE name the
 * option. */
enum err fit_read_links(struct cmd *c, struct cost *cost);

/* Writes the costs file that -o names; without it nothing. */
enum err fit_write_costs(struct cmd *c, const struct cost *cost);

#endif
