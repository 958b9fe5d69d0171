/*
 * session: one run of a user's script with stand-ins for its launchers. The
 * script starts in an empty scratch folder of its own (or a folder that the
 * user names), in a process group of its own, with no input and its output on
 * our standard error; nothing of it is left when the session ends, also after
 * a time limit or a signal. Two sessions at once share nothing.
 *
 * Only Linux: descendants are found by making this process their subreaper.
 */
#ifndef RECORD_SESSION_H
#define RECORD_SESSION_H

#include "base/arena.h"
#include "base/err.h"
#include "lines.h"
#include "talk.h"

#include <stdbool.h>

struct session_spec {
    const char *script; // path of the shell script
    char *const *args;  // its words
    int n_args;
    double limit_s;     // of the whole run, > 0
    const char *folder; // where it runs; NULL: the empty scratch folder
    void (*before)(const char *script); // told when all is ready; or NULL
};

struct session_result {
    struct record_calls calls;
    int signal;        // that this process was sent; the caller ends by it
    bool timed_out;    // the script was ended
    bool left_running; // it ended, and what it left in the background was ended
    bool cut;          // not every call could be noted
    struct talk talk;  // what was not there; its ends are closed
    const char *ended; // "it ended with status 1", of the script itself
};

/* Runs the script. ERR_PARSE: it is not there, cannot be read, or is no script
 * of a shell; ERR_IO: no scratch folder; ERR_CHILD: it could not be started.
 * Owned by the arena. */
enum err session_run(struct arena *a, const struct session_spec *spec,
                     struct session_result *out, struct err_msg *msg);

#endif
