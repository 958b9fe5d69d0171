/*
 * sources: the three things that step times are contributed from. Logs and
 * configurations are read as the planner reads them; nothing is run and nothing
 * is written.
 *
 * A log is read twice, before and after redaction, and is left out where it
 * does not say the same any more: its step time stays.
 */
#ifndef CONTRIBUTE_SOURCES_H
#define CONTRIBUTE_SOURCES_H

#include "contribution.h"

/* What a command line says. Paths and texts are not copied. */
struct sources_request {
    const char *const *operands; // LOG or LAYOUT=LOG; or one folder
    int n_operands;
    const char *const *steps; // LAYOUT=MS
    int n_steps;
    const char *table;  // of typed times: columns layout, step_s; or NULL
    const char *config; // model file, YAML, launch script, log; or NULL
    int launch;         // of a script with several, from 1; 0: the only one
    char *const *flags; // Megatron's, which win
    int n_flags;
    bool no_logs; // only their step times
};

/* Fills the contribution from a folder where the operand is one, from logs, or
 * from typed steps. ERR_PARSE for what cannot be read or is missing, with what
 * to add; ERR_MODEL for what Megatron refuses, or results that were changed. */
enum err sources_read(struct contribution *c, const struct sources_request *q,
                      struct err_msg *msg);

#endif
