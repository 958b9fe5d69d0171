/*
 * tidy: what a harness that was killed left in a folder of results. Removed
 * are only names that the harness makes itself: the temporary ones of its own
 * files, and folders of runs that were not finished. Whatever else looks like
 * a temporary name is the user's and stays.
 */
#ifndef STORE_TIDY_H
#define STORE_TIDY_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

#define TIDY_TEMPORARY ".tmp-" // before the name of a run not finished yet

/* Removes them from DIR and DIR/runs. To be called under the folder's lock:
 * nobody may write to what is removed. */
void tidy_results(struct arena *a, const char *dir);

/* True for a run's temporary folder, as results_begin() names it. */
bool tidy_is_temporary_run(const char *name);

/* True for the temporary name of a file that the harness writes to DIR. */
bool tidy_is_half_written(const char *name);

/* True where the folder tells of a job of a job system, which may outlive the
 * harness: it stays for the run that takes it over. */
bool tidy_holds_job(struct arena *a, const char *folder);

/* ERR_IO where a link or a file stands in the place of a folder of ours: what
 * is written below it would land elsewhere. Absent is fine. */
enum err tidy_check_folder(const char *path, struct err_msg *msg);

#endif
