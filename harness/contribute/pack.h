/*
 * pack: a contribution becomes a folder:
 *
 *   <gpu>-<n>x-<date>/  dataset.json  as published/dataset has it
 *                       rows.csv      as published/import has it
 *                       model.json    the model's flags, as moe-layout reads
 *                       manifest.json CONTRIBUTED_FORMAT: hardware, consent,
 *                                     checks, what is missing, what was removed
 *                       logs/run-01.txt.gz  without names and secrets
 *                       SHA256SUMS
 *
 * It is made beside its place, flushed, looked through for secrets and renamed:
 * a kill or a full disk leaves nothing with the folder's name.
 */
#ifndef CONTRIBUTE_PACK_H
#define CONTRIBUTE_PACK_H

#include "checks.h"
#include "contribution.h"
#include "missing.h"

#include "published/dataset.h"

#define CONTRIBUTED_ROOT "results/contributed"
#define CONTRIBUTED_FORMAT "moe-bench/contributed/1"

/* Under which the data is given: that of the repository. */
#define CONTRIBUTED_LICENCE "Apache-2.0"
#define CONTRIBUTED_CONSENT                                                    \
    "I may give these step times away, I have read what is written, and I "    \
    "give it under " CONTRIBUTED_LICENCE "."

/* What marks one that shows the form and measured no GPU. */
#define CONTRIBUTED_EXAMPLE                                                    \
    "an example of a contribution, from a run of moe-train on the cores of a " \
    "CPU: no GPU was measured"

/* dataset.json of these runs; texts are owned by the contribution's arena.
 * ERR_NOMEM. */
enum err pack_dataset(const struct contribution *c,
                      struct published_dataset *out);

struct pack {
    struct contribution *of; // gets its name
    const struct checks *checks;
    const struct missing *missing;
    const char *root; // CONTRIBUTED_ROOT, or another folder
};

/* Writes the folder; its path, which was free, goes to *out ("-2" and so on
 * where the name is taken). ERR_IO; ERR_RANGE where a secret was found in what
 * would be given away, which is a mistake of this program. */
enum err pack_write(const struct pack *p, const char **out,
                    struct err_msg *msg);

#endif
