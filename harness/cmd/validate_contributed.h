/*
 * validate_contributed: moe-bench validate on datasets from other people's
 * hardware (results/contributed): what a reviewer wants to see. Printing.
 */
#ifndef CMD_VALIDATE_CONTRIBUTED_H
#define CMD_VALIDATE_CONTRIBUTED_H

#include "regress/junit.h"
#include "report/validate.h"

/* What a folder, or all of them, added up to. */
struct validate_contributed {
    struct validate_rows rows; // layouts predicted from others, for a baseline
    bool ok;                   // no check answers no
    struct junit_case checks;  // of them all
};

/* True for a contributed dataset. */
bool validate_contributed_is(struct arena *a, const char *dir);

/* Reads and judges one: its checks, the fit from its own rows, each layout
 * predicted from the others; `beside`: the errors of public datasets below.
 * ERR_PARSE, ERR_MODEL for a folder that is damaged, changed or holds what it
 * must not. */
enum err validate_contributed(struct arena *a, const char *dir, bool beside,
                              struct validate_contributed *out,
                              struct err_msg *msg);

/* Contributed datasets below the root, by name; none where it is missing. */
enum err validate_contributed_list(struct arena *a, const char ***dirs, int *n,
                                   struct err_msg *msg);

#endif
