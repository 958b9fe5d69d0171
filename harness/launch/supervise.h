/*
 * supervise: starts one program, writes everything it prints to a log file and
 * makes sure that nothing of it is left when it ends, is too slow, or when
 * this process is interrupted or killed.
 *
 * Between this process and the program stands a guard process, parent of last
 * resort of all the program's descendants (whatever process groups they are
 * in): it kills them all as soon as its pipe to this process closes, which
 * also happens after kill -9.
 */
#ifndef LAUNCH_SUPERVISE_H
#define LAUNCH_SUPERVISE_H

#include "base/err.h"

#include <stdbool.h>

struct supervise_job {
    char *const *argv;      // NULL-terminated; argv[0] is looked up in PATH
    char *const *envp;      // NULL: this process' own
    const char *log_path;   // created; standard output and error
    double limit_s;         // wall-clock limit, 0: none
    const double *silent_s; // output may pause so long, 0: as long as it likes;
                            // read anew each time, NULL: no such limit
    bool keep_signals;      // leave the signals named below for a later job
    /* Called for each line of output without its newline, also for a last
     * one that had none; of a line over 8 KiB only its beginning. May be
     * NULL. */
    void (*on_line)(void *data, const char *line);
    void *data;
};

/* More than any log of a measured run: its timers for thousands of ranks. A
 * program that prints more is killed, and only the beginning is kept. */
#define SUPERVISE_MAX_LOG_BYTES ((long long)256 << 20)
#define SUPERVISE_KEPT_LOG_BYTES ((long long)1 << 20)

enum supervise_end {
    SUPERVISE_EXITED,      // code: exit status
    SUPERVISE_SIGNALED,    // code: signal
    SUPERVISE_TIMEOUT,     // over limit_s, killed
    SUPERVISE_SILENT,      // no output for longer than *silent_s, killed
    SUPERVISE_FLOOD,       // printed more than SUPERVISE_MAX_LOG_BYTES, killed
    SUPERVISE_INTERRUPTED, // this process got SIGINT, SIGTERM or SIGHUP: code
};

struct supervise_result {
    enum supervise_end end;
    int code;
    double wall_s;
};

/* Runs the job to its end. ERR_CHILD when the program cannot be started,
 * ERR_IO when the log cannot be written (disk full: the job is killed). While
 * it runs, and from supervise_hold_signals() on, the signals named above do
 * not end this process; they are reported. */
enum err supervise_run(const struct supervise_job *job,
                       struct supervise_result *out, struct err_msg *msg);

/* Blocks the signals, so that one that comes between two jobs is not lost. */
void supervise_hold_signals(void);

/* The number of a signal that is waiting, and takes it; 0 when none is. */
int supervise_pending_signal(void);

#endif
