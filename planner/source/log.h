/*
 * log: the model of a run from its log: the arguments that Megatron
 * dumps at the start, one `name ... value` a line. logparse finds the lines.
 */
#ifndef MEGATRON_LOG_H
#define MEGATRON_LOG_H

#include "base/err.h"
#include "log/facts.h"
#include "megatron/args.h"

#include <stdbool.h>

/* Gives `args` the flags of the log's arguments, and the size of the padded
 * vocabulary that Megatron prints behind them. ERR_PARSE when the log holds no
 * arguments. */
enum err source_log_read(const struct runlog *log, const char *where,
                         struct megatron_args *args, struct err_msg *msg);

#endif
