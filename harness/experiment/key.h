/*
 * key: the hash of all that decides a measurement, by which finished runs are
 * used again: the manifest, the model, the programs and scripts that are
 * started, the files that their words name, the platform, the machine, and
 * the variables of the environment that libraries of the trainer obey. What is
 * left out would let a run of yesterday's script stand for today's.
 *
 * Where runs go to another machine, its environment and files are not seen
 * from here, and the manifest tells which machine.
 */
#ifndef EXPERIMENT_KEY_H
#define EXPERIMENT_KEY_H

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "launch/launch.h"
#include "manifest/machine.h"
#include "manifest/manifest.h"
#include "manifest/workload.h"

struct key_parts {
    const struct manifest *manifest;
    const struct workload *workload;
    const struct launch *launch; // of any layout
    const struct machine *machine;
};

/* ERR_NOMEM only: a file that is not there counts as absent. */
enum err key_make(struct arena *a, const struct key_parts *parts,
                  char key[TEXT_SHA256_HEX], struct err_msg *msg);

#endif
