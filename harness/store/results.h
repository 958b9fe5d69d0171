/*
 * results: the folders of an experiment's runs. A run is written under a
 * temporary name and renamed when whole, so what has a final name is complete,
 * and a kill at any moment loses at most the run in progress. Finished runs
 * are never changed. All CSV files can be made again from the folders.
 *
 *   DIR/runs/<run id>/  manifest.json argv.json env.json machine.json log.txt
 *                       provenance.json status.json, and ops.csv where the
 *                       trainer wrote one
 *
 * Sized for some hundred runs of an experiment.
 */
#ifndef STORE_RESULTS_H
#define STORE_RESULTS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/text.h"
#include "log/parse.h"

#include <stdbool.h>
#include <stddef.h>

/* id, name in CSV, whether starting it again may help */
#define RUN_STATUS_TABLE(X)                                                    \
    X(RUN_VALID, "valid", false)                                               \
    X(RUN_INVALID, "invalid", true)                                            \
    X(RUN_FAILED, "failed", true)                                              \
    X(RUN_OOM, "oom", false)                                                   \
    X(RUN_NAN, "nan", false)                                                   \
    X(RUN_TIMEOUT, "timeout", true)

enum run_status {
#define RUN_STATUS_ENUM(id, name, again) id,
    RUN_STATUS_TABLE(RUN_STATUS_ENUM)
#undef RUN_STATUS_ENUM
        N_RUN_STATUS
};

#define ROLE_PROFILE_NAME "profile" // role of the profile runs; round 0

struct recorded; // of figures

/* One launch, as status.json holds it. */
struct run_record {
    const char *run_id, *folder;
    const char *experiment;
    int round; // from 1; 0: profile
    const char *role, *layout;
    const char *hardware, *launcher, *clock, *source, *commit;
    const char *key;         // of manifest, model, binaries and machine
    const char *started_utc; // 2026-01-31T12:34:56Z
    double started_s;        // the same to the microsecond, for the order
    const char *log_sha256;
    const char *ops_sha256; // "none": the run wrote no ops.csv; "": made before
                            // this was recorded
    const char *changed;    // what is not as the run left it, else NULL: then
                            // the run is RUN_INVALID and has no log
    const char *reason;     // "" for RUN_VALID
    enum run_status status;
    int n_ranks, timers;
    int64_t exit_code; // -1: killed
    double wall_s;
    double cost_usd;   // NAN: no price given
    struct runlog log; // .n_iterations is 0 when nothing could be read
    const struct recorded *recorded; // what ops.csv says; NULL: not read yet
};

struct run_list {
    struct run_record *run; // by round, then in order of start
    size_t n;
    const char *stray; // the first thing among the runs that is none, or NULL
};

struct results {
    const char *dir;
    int lock; // descriptor, -1: not held
};

const char *run_status_name(enum run_status s);
bool run_status_try_again(enum run_status s);

/* Opens DIR for writing: makes it, locks it and removes what unfinished runs
 * left. ERR_CHILD says which process holds it. Where that process has died, its
 * guard may hold the lock some seconds more, which are waited for: what it
 * guards may write until then. */
enum err results_lock(struct arena *a, const char *dir, struct results *out,
                      struct err_msg *msg);
void results_unlock(struct results *r);

/* Finished runs of one key with their logs (key NULL: all keys). A missing
 * folder has none. Logs and recorded operations are hashed before they are
 * read: a run whose files were changed since is RUN_INVALID, with the file in
 * its reason. What is no run's folder is left aside. ERR_PARSE for a
 * status.json that cannot be read. */
enum err results_load(struct arena *a, const char *dir, const char *key,
                      struct run_list *out, struct err_msg *msg);

/* Names the run (sets run_id and folder, the temporary one) and makes its
 * folder. */
enum err results_begin(struct arena *a, const struct results *r,
                       struct run_record *run, struct err_msg *msg);

/* Writes a file into the run's folder; results_put_json deletes the tree. */
enum err results_put(struct arena *a, const struct run_record *run,
                     const char *name, struct text_span text,
                     struct err_msg *msg);
enum err results_put_json(struct arena *a, const struct run_record *run,
                          const char *name, cJSON *tree, struct err_msg *msg);

/* Hashes what the trainer wrote, writes status.json and gives the folder its
 * final name, all of it flushed to the disk before. */
enum err results_finish(struct arena *a, const struct results *r,
                        struct run_record *run, struct err_msg *msg);

/* Removes the folder of a run that did not end by itself. */
void results_discard(const struct run_record *run);

/* Prints a tree to a file DIR/NAME atomically; deletes the tree. */
enum err results_write_json(struct arena *a, const char *dir, const char *name,
                            cJSON *tree, struct err_msg *msg);

#endif
