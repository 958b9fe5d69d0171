/*
 * roofline: `costs --roofline GPU`: costs of a model on a card whose data sheet
 * is known, and what they say beside costs by FLOPs.
 */
#ifndef PLANNER_CMD_ROOFLINE_H
#define PLANNER_CMD_ROOFLINE_H

#include "base/writer.h"
#include "cmd.h"
#include "cost/cost.h"

/* Costs on the card that --roofline names, with its link as transfers inside a
 * node. ERR_PARSE for a card that is not known, ERR_MODEL for a model that
 * cannot be priced. */
enum err roofline_of_option(struct cmd *c, const struct model *m,
                            struct cost *out);

/* The card, units in decoder layers beside what FLOPs say, how the constants
 * were found. */
void roofline_print(const struct cmd *c, const struct model *m,
                    const struct cost *cost);

/* "roofline": the card with its source, the constants. */
void roofline_write(const struct cmd *c, struct writer top);

#endif
