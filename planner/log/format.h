/*
 * format: lines of training that are no fields of Megatron's: Bridge's step
 * times, DeepSpeed's engine, MindFormers, NeMo's progress bars; and by name the
 * dialects of other programs, which are recognised and not read.
 */
#ifndef LOG_FORMAT_H
#define LOG_FORMAT_H

#include "line.h"
#include "step.h"

#include <stdbool.h>

/* Takes the next iteration in one of these formats off `rest`; its numbers are
 * as of logstep_next(). False, with `rest` empty, when there is none. */
bool logformat_next(struct log_text *rest, bool cut, struct log_step *out);

/* Takes the next "Step Time : 6.40s GPU utilization: 942.0MODEL_TFLOP/s/GPU"
 * off `rest`: a step without a number (it.iteration is 0). */
bool logformat_next_step_time(struct log_text *rest, struct log_step *out);

/* Name of the program that prints such lines for its iterations and is not read
 * here, "unknown" for a line that looks like an iteration of any; NULL for
 * other lines. */
const char *logformat_unread(struct log_text line);

#endif
