/*
 * experiment_folder: a contribution from the folder of an experiment
 * (results/NAME, or --out of its run). All runs are taken, of all rounds: the
 * ones that failed, and those that the manifest plans and that are not there,
 * are told. Runs whose files were changed since are refused.
 */
#ifndef CONTRIBUTE_EXPERIMENT_FOLDER_H
#define CONTRIBUTE_EXPERIMENT_FOLDER_H

#include "contribution.h"

/* ERR_PARSE where the folder holds no runs, ERR_MODEL where one was changed. */
enum err experiment_folder_read(struct contribution *c, const char *dir,
                                bool keep_logs, struct err_msg *msg);

#endif
