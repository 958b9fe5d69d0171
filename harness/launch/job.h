/*
 * job: one job of a job system from its script to its log. The name is
 * recorded before it is handed over and its id as soon as it is known
 * (FOLDER/job.json), so that a job whose harness was killed is found again
 * and watched on instead of being started twice.
 */
#ifndef LAUNCH_JOB_H
#define LAUNCH_JOB_H

#include "launcher.h"
#include "supervise.h"

struct job_request {
    const struct launcher *by;
    struct launch_job job; // .id NULL
    double poll_s;         // between two questions to the job system
    double limit_s;        // of its running, 0: none
    /* As in struct supervise_job. */
    const double *silent_s;
    void (*on_line)(void *data, const char *line);
    void *data;
    void (*say)(void *data, const char *text); // news: started, adopted
};

struct job_result {
    struct supervise_result end;
    const char *id, *word; // the system's last word on the job
    bool lost; // it vanished: node failed, preempted, or cancelled by others
    double silent_s; // the allowance that ended a silent one
};

/* Watches a job to its end, starting it first unless FOLDER/job.json tells of
 * one. On SIGINT, SIGTERM or SIGHUP the job is cancelled. ERR_CHILD when the
 * job system cannot be reached for long: then the job may go on, and the
 * folder must stay. */
enum err job_run(struct arena *a, const struct job_request *req,
                 struct job_result *out, struct err_msg *msg);

/* Whether a folder tells of a job. */
bool job_is_recorded(struct arena *a, const char *folder);

#endif
