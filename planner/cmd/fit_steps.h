/*
 * fit_steps: moe-layout fit from step times alone (--step, --steps), with or
 * without the timers of profile runs.
 */
#ifndef PLANNER_CMD_FIT_STEPS_H
#define PLANNER_CMD_FIT_STEPS_H

#include "cmd.h"
#include "cost/cost.h"
#include "plan/settings.h"

/* Are there step times on the line? */
bool fit_steps_given(const struct cmd *c);

/* Fits, writes the costs file and prints. `timers` are the costs that profile
 * runs' timers gave, or NULL: step times alone. ERR_PARSE for a step that
 * cannot be read, ERR_RANGE for a layout that is none of the model,
 * ERR_MODEL where the steps do not tell the least. */
enum err fit_steps_run(struct cmd *c, const struct model *m,
                       const struct plan_settings *set,
                       const struct cost *timers);

#endif
