/*
 * ledger: what the jobs and runs of one folder of results have cost, US
 * dollars: a line "USD ID" each, also of those that were interrupted, failed
 * or belong to a manifest that was changed since. A budget is held against all
 * of it. An id is noted once, so that a job whose end is seen twice is paid for
 * once.
 *
 * In: ids without blanks and newlines. Out: sums. Sized for thousands of lines.
 */
#ifndef EXPERIMENT_LEDGER_H
#define EXPERIMENT_LEDGER_H

#include "base/arena.h"
#include "base/err.h"

struct ledger {
    const char *path; // NULL: memory ran out, and reading says so
    const char *text; // of the file, "" where there is none
    double usd;       // all of it
};

/* The file of a folder; one that is not there is an empty ledger. ERR_PARSE for
 * a damaged line: what was spent is then not known, and not nothing. */
enum err ledger_read(struct arena *a, const char *folder, struct ledger *out,
                     struct err_msg *msg);

/* Reads it and adds a line, unless it has one of the id. `usd` of 0 or less is
 * left out. */
enum err ledger_add(struct arena *a, const char *folder, const char *id,
                    double usd, struct err_msg *msg);

#endif
