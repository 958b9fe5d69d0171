/*
 * experiment_folder: a contribution from the folder of an experiment
 * (results/NAME, or --out of its run). All runs are taken, of all rounds: the
 * ones that failed, and those that the manifest plans and that are not there,
 * are told. Runs whose files were changed since are refused.
 */
#ifndef CONTRIBUTE_EXPERIMENT_FOLDER_H
#define CONTRIBUTE_EXPERIMENT_FOLDER_H

#include "contribution.h"

/* Models are of the logs' own lists of arguments, else of the trainers' command
 * lines, unless `config` (or NULL) states one. ERR_PARSE where the folder holds
 * no runs, ERR_MODEL where one was changed. */
struct experiment_folder {
    const char *dir;
    const struct megatron_args *config;
    bool keep_logs;
};
enum err experiment_folder_read(struct contribution *c,
                                const struct experiment_folder *from,
                                struct err_msg *msg);

#endif
