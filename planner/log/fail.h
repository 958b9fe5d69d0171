/*
 * logfail: what a log says of a failed run. Many ranks tell of one failure at
 * once, in any order, so each text has a strength: the strongest wins, the
 * first among equals. Texts are PyTorch's, NCCL's, torchrun's, Slurm's and
 * mpirun's.
 */
#ifndef LOG_FAIL_H
#define LOG_FAIL_H

#include "line.h"

enum log_failure {
    LOG_OK,
    LOG_OOM,
    LOG_HANG,
    LOG_NAN,
    LOG_ASSERT,
    LOG_KILLED,
    LOG_TRUNCATED
};

/* LOGFAIL_ERROR: some exception, which a healthy run may print as well. From
 * LOGFAIL_SURE on, the text belongs to no other kind of file. */
enum {
    LOGFAIL_NONE,
    LOGFAIL_TAIL,
    LOGFAIL_ERROR,
    LOGFAIL_SIGNAL,
    LOGFAIL_SURE,
    LOGFAIL_NAN,
    LOGFAIL_OOM
};

struct logfail {
    enum log_failure kind;
    int strength;
    int rank;       // -1: not stated
    int local_rank; // of torchrun --tee, -1
    int root_rank;  // of torchrun's "Root Cause", -1
    bool in_root_cause;
};

void logfail_init(struct logfail *f);

/* Looks at one line: its body and the prefix it had. */
void logfail_look(struct logfail *f, struct log_text body,
                  const struct log_prefix *prefix);

/* Notes a failure that is not told by a text; rank -1 when not known. */
void logfail_note(struct logfail *f, enum log_failure kind, int strength,
                  int rank);

/* Best known rank of the failure, -1 when none is stated. */
int logfail_rank(const struct logfail *f);

/* "oom", "hang", ... as `parse --json` prints them; NULL for LOG_OK. */
const char *log_failure_name(enum log_failure f);

#endif
