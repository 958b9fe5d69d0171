/*
 * prefix: what stands before the text that the program itself wrote: prefixes
 * of launchers, schedulers, containers and loggers, in any order. Works on
 * bytes of any encoding; nothing is allocated.
 */
#ifndef LOG_PREFIX_H
#define LOG_PREFIX_H

#include "line.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_prefix {
    uint64_t stream; // equal for lines of one writer; time stamps left out
    size_t length;   // bytes of the line before its body
    bool fixed;      // no time stamp: the next line starts with the same bytes
    int rank;        // -1: not told
    int local_rank;  // of torchrun --tee, whose number is of the node; -1
};

/* Body of `line` after the prefixes of torchrun, srun -l, mpirun, Ray,
 * Kubernetes, pdsh, docker compose, nemo-run, grep -n and of loggers. Blanks of
 * the body are kept. */
struct log_text logprefix_body(struct log_text line, struct log_prefix *out);

#endif
