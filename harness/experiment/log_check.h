/*
 * log_check: is a log that of the run it lies with? A log of another layout,
 * model or batch tells of another run, however it came there: its figures
 * would be taken for this one's. Asked of what the log says of itself: its dump
 * of arguments, and the batch of its iteration lines.
 */
#ifndef EXPERIMENT_LOG_CHECK_H
#define EXPERIMENT_LOG_CHECK_H

#include "base/arena.h"
#include "base/err.h"
#include "model/model.h"
#include "store/results.h"

#include <stdint.h>

/* ERR_PARSE says what of the run's log is of another run; a log that says
 * nothing passes. `m` is the model of measured runs; profile runs (round 0)
 * have one chunk a rank. */
enum err log_check(struct arena *a, const struct model *m,
                   const struct run_record *run, struct err_msg *msg);

/* Whether the operations that the run recorded, if it did, can be read as those
 * of its layout: ERR_PARSE stops every table that needs them. Reads
 * run->folder. */
enum err log_check_operations(struct arena *a, const struct model *m,
                              const struct run_record *run,
                              struct err_msg *msg);

/* Makes every valid run of the list whose log is of another run RUN_INVALID,
 * with what differs as its reason. ERR_NOMEM. */
enum err log_check_all(struct arena *a, const struct model *m,
                       struct run_list *runs, struct err_msg *msg);

/* The batch that an iteration line states, samples; 0 when it states none. */
int64_t log_check_batch(const char *line);

#endif
