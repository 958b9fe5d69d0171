/*
 * rows: the runs of a contribution as rows in the columns of published/import,
 * so that whatever reads public step times reads these, too. Seconds, written
 * as %.17g; what is not known is empty. Profile runs are there without a use:
 * their timers make a step longer.
 */
#ifndef CONTRIBUTE_ROWS_H
#define CONTRIBUTE_ROWS_H

#include "contribution.h"
#include "published/import.h"

/* A row a run; texts are owned by the contribution's arena. ERR_NOMEM. */
enum err rows_make(const struct contribution *c, struct import_rows *out,
                   struct err_msg *msg);

#endif
