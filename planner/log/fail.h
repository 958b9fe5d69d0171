/*
 * fail: what a log says of a failed run. Many ranks tell of one failure at
 * once, in any order, so each text has a strength: the strongest wins, the
 * first among equals. Texts are PyTorch's, NCCL's, torchrun's, Slurm's and
 * mpirun's.
 */
#ifndef LOG_FAIL_H
#define LOG_FAIL_H

#include "prefix.h"

enum log_failure {
    LOG_OK,
    LOG_OOM,      // out of memory, of a GPU or of the host
    LOG_HANG,     // a collective timed out
    LOG_NAN,      // the loss is not a number
    LOG_ASSERT,   // an exception or a failed check
    LOG_KILLED,   // by a signal or a time limit
    LOG_TRUNCATED // the log ends before the run
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

/* Nothing told yet: at the start, and where a new run supersedes an old one. */
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
