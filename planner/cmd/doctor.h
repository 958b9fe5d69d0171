/*
 * doctor: what the doctor command found of one log, and how it is printed: a
 * page for people, or JSON. Anything that is not known is NAN, NULL or 0, and
 * a reason stands beside it.
 */
#ifndef PLANNER_CMD_DOCTOR_H
#define PLANNER_CMD_DOCTOR_H

#include "cmd.h"
#include "doctor/advice.h"
#include "doctor/rate.h"
#include "doctor/stages.h"
#include "doctor/steps.h"
#include "judge/judge.h"

enum { DOCTOR_N_PROFILES = 2 };

/* Everything of one log. Not to be copied: price points into itself. */
struct doctor {
    struct cmd *cmd;
    const char *path;
    struct runlog log;
    struct steps steps;
    struct findings findings;
    struct plan_settings set;
    const struct card *card; // --gpu, or NULL
    double peak_flops;       // --peak-tflops, or 0
    double hbm_bytes;        // --hbm-gb, or 0
    struct cmd_model m;
    bool has_model;  // of the log's dump, the script or flags
    const char *why; // no layout can be advised; or NULL
    struct judge_verdict verdict;
    struct fit_run run;
    const char *layout; // of the run, or NULL
    bool timers;        // per rank, and usable
    struct stages stages;
    struct rate rate;
    struct price price;
    struct advice advice;
    const char *profile[DOCTOR_N_PROFILES]; // layouts to run, or NULL
    const char *drop; // flags that Megatron refuses beside a layout, or ""
};

/* As --json asks. */
enum err doctor_output(struct doctor *d);

#endif
