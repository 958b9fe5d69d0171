/*
 * take: what every source takes from the log of a run: timers, memory, and the
 * log itself without what must not be given away.
 */
#ifndef CONTRIBUTE_TAKE_H
#define CONTRIBUTE_TAKE_H

#include "contribution.h"

/* Whether it has per-rank timers, and its largest peak of memory. */
void take_facts(const struct runlog *log, struct contribution_run *r);

/* Hashes the log, and makes of it what may be given away where `keep` says so;
 * one that would not say the same any more is left out, with the reason in
 * r->why_no_log. ERR_NOMEM. */
enum err take_log(struct contribution *c, const struct text_span *text,
                  bool keep, struct contribution_run *r, struct err_msg *msg);

/* ERR_MODEL where the log's own list of arguments has another layout, pattern
 * or split than the run is said to have; a list that tells none says nothing.
 */
enum err take_layout_check(struct contribution *c, const struct runlog *log,
                           const struct contribution_run *r,
                           struct err_msg *msg);

#endif
