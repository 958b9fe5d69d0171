/*
 * How it works: what is there is looked for once; each sentence stands beside
 * the condition under which it is true. Sentences say what follows for whoever
 * computes with the data, not only what is absent.
 */
#include "missing.h"

#include <string.h>

const char MISSING_HYBRID_STEPS[] =
    "step times alone do not tell the costs of a hybrid model's symbols";

/* Adds the sentence where it is true. */
static void lacks(struct missing *m, bool is, const char *text)
{
    if (is && m->n_lacks < MISSING_MOST)
        m->lacks[m->n_lacks++] = text;
}

static void gives(struct missing *m, bool is, const char *text)
{
    if (is && m->n_gives < MISSING_MOST)
        m->gives[m->n_gives++] = text;
}

/* What the runs have together. */
struct present {
    bool timers, memory, logs, iterations, layouts, depths, hybrid;
    const struct contribution_run *step; // the first whose step can be fitted
};

/* Of a hybrid model the first run tells: all are of one model. */
static struct present look(const struct contribution *c)
{
    struct present p = {.logs = c->n > 0};
    p.hybrid = c->n > 0 && model_is_hybrid(&c->run[0].model);
    for (int i = 0; i < c->n; i++) {
        const struct contribution_run *r = &c->run[i];
        p.timers = p.timers || (r->has_timers && r->redacted.data);
        p.memory = p.memory || r->peak_bytes > 0;
        p.logs = p.logs && r->redacted.data;
        p.iterations = p.iterations || (r->n_used > 0 && r->span == 1);
        if (r->profile)
            continue;
        p.step = p.step ? p.step : r;
        p.layouts = p.layouts || strcmp(r->layout, p.step->layout) != 0;
        p.depths = p.depths || r->model.par.pp != p.step->model.par.pp;
    }
    return p;
}

/* In the order in which a contributor can do something about it. */
void missing_look(const struct contribution *c, struct missing *out)
{
    const struct present p = look(c);
    *out = (struct missing){.n_lacks = 0};
    lacks(out, p.hybrid && !p.timers,
          "times of every rank (--timing-log-level 2 --timing-log-option "
          "all)");
    lacks(out, p.hybrid && !p.timers, MISSING_HYBRID_STEPS);
    lacks(out, !p.hybrid && !p.timers,
          "times of every rank (--timing-log-level 2 --timing-log-option "
          "all): a backward is taken as twice its forward");
    lacks(out, !p.memory,
          "memory lines (--log-memory-interval, or the first report): the "
          "memory model is not tested");
    lacks(out, !p.logs, "some or all logs: their figures cannot be made again");
    lacks(out, !p.iterations,
          "single iterations: the scatter of a step is not known");
    lacks(out, !p.step, "a run without timers: what a step takes without them");
    lacks(out, p.step && !p.layouts,
          "a second layout: units are not told apart, their ratios are those "
          "of FLOPs");
    lacks(out, !p.depths,
          "another pipeline size: what lies outside the pipeline is told only "
          "by layouts");
    lacks(out, c->gpus_per_node == 0,
          "the GPUs of a node (--gpus-per-node): taken as 8");
    lacks(out, !c->is_planned && c->n_series == 0,
          "how many runs were made in all");
    lacks(out, true, "clocks, power cap, driver and network");
    gives(out, true, "tokens/s, FLOP/s and MFU of each run");
    gives(out, p.layouts && !p.hybrid,
          "unit costs from step times, and from them the step of any other "
          "layout of this model on this hardware");
    gives(out, p.layouts && !p.hybrid,
          "the error of each layout, predicted from the others");
    gives(out, p.timers, "forward and backward seconds of every unit");
    gives(out, p.memory, "predicted against measured peak memory");
}
