/* small_row: a row of validate for the tests of what is judged. Header of test
 * data only. */
#ifndef SMALL_ROW_H
#define SMALL_ROW_H

#include "report/validate.h"

#include <math.h>

/* A row whose prediction is `error` percent off a step of 100 ms. */
static inline struct validate_row small_row(const char *role, double error,
                                            double replay)
{
    return (struct validate_row){.experiment = "x",
                                 .role = role,
                                 .layout = "Et|tL",
                                 .pred_ms = 100 + error,
                                 .meas_ms = 100,
                                 .step_error_pct = error,
                                 .replay_error_pct = replay,
                                 .memory_error_pct = 0.1,
                                 .memory_over_pct = 0.1,
                                 .memory_under_pct = 0,
                                 .regret_pct = 1,
                                 .base_step_error_pct = NAN,
                                 .base_memory_over_pct = NAN,
                                 .base_memory_under_pct = NAN,
                                 .base_regret_pct = NAN};
}

#endif
