/*
 * reference: an experiment's results as a dataset that is committed: the CSV
 * files, manifest, model, machine and date, and the raw logs (gzip) of what
 * predictions and replay are made from: all profile runs, and the first valid
 * run of each role and layout.
 *
 *   DIR/ SHA256SUMS dataset.json manifest.json machine.json costs.json
 * plan.json *.csv models/...  (where the manifest names a file) runs/<run id>/
 * status.json provenance.json log.txt.gz ops.csv.gz
 */
#ifndef REPORT_REFERENCE_H
#define REPORT_REFERENCE_H

#include "base/arena.h"
#include "base/err.h"
#include "experiment/experiment.h"
#include "store/temporary.h"

#include <stdbool.h>

/* Writes `dir` (results/reference/<name>) from a finished experiment, in place
 * of a dataset that was there. ERR_MODEL when a planned run is missing or not
 * valid, ERR_RANGE when the model's path leaves the manifest's folder or `dir`
 * may not be replaced (store/place), ERR_IO when a file cannot be written. */
enum err reference_publish(const struct experiment *e, const char *dir,
                           struct err_msg *msg);

/* The same of an experiment that only plans: manifest, model, machine and
 * recipes.csv. Reads e->manifest, workload, machine and dir. ERR_MODEL when
 * `dir` holds no results of this very manifest. */
enum err reference_publish_planned(const struct experiment *e, const char *dir,
                                   struct err_msg *msg);

/* True for a folder that holds a dataset. */
bool reference_is(struct arena *a, const char *dir);

/* ERR_MODEL names the first file of the dataset that is not as it was published
 * (missing, changed, or not listed in its SHA256SUMS); ERR_PARSE where that is
 * a log, or where `dir` is no dataset. To be asked before a dataset is used. */
enum err reference_check(struct arena *a, const char *dir, struct err_msg *msg);

/* Unpacks the runs of a dataset below a new folder under TMPDIR, *out, which
 * results_load() reads and the caller removes. On failure there is none. */
enum err reference_unpack(struct arena *a, const char *dir,
                          struct temporary *out, struct err_msg *msg);

#endif
