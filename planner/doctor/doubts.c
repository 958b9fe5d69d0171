/*
 * How it works: each doubt is a comparison of numbers that other modules made,
 * with the share from which on it is worth a word.
 */
#include "doubts.h"

#include "calibrate/fit_check.h"
#include "log/runlog.h"

#include <math.h>

/* Ranks of one stage that differ by more; a pipeline that idles for more of a
 * step; FLOP/s as printed that are further from ours; work of a rank over the
 * step that holds it. */
static const double DOUBTS_UNEVEN = 0.15, DOUBTS_BUBBLE = 0.25,
                    DOUBTS_COUNTS = 0.2, DOUBTS_BEYOND = 1.02;

/* 1F1B with equal stages idles for (p - 1) of (v m + p - 1) turns. */
void doubts_bubble(struct doctor *d)
{
    const struct model *m = d->model;
    if (d->why || !m || m->par.pp == 1)
        return;
    const double n_mb = (double)m->batch.n_microbatches, pp = m->par.pp;
    const double idle = (pp - 1) / (m->par.vpp * n_mb + pp - 1);
    if (n_mb < pp)
        findings_add(&d->findings, FINDING_WRONG, "few-micro-batches",
                     "%.0f micro-batches for %d stages: ranks idle for %.0f%% "
                     "of a step whatever the layout; a larger global batch, "
                     "smaller micro-batches or fewer replicas make more",
                     n_mb, m->par.pp, 100 * idle);
    else if (idle > DOUBTS_BUBBLE)
        findings_add(&d->findings, FINDING_NOTE, "bubble",
                     "with %.0f micro-batches for %d stages ranks idle for "
                     "%.0f%% of a step even where all stages are equal",
                     n_mb, m->par.pp, 100 * idle);
}

/* ---- timers ---- */

static bool doubts_has_extremes(const struct runlog *log)
{
    size_t at = 0;
    const struct log_timer *t = runlog_next_timer(log, RUNLOG_FORWARD, &at);
    return t && !t->per_rank;
}

/* Why the log has no times of stages, and what gives them. */
static void doubts_no_timers(struct doctor *d)
{
    struct findings *f = &d->findings;
    if (d->stages.source == STAGES_RANKS || d->timers)
        return;
    if (d->layout && fit_check_is_overlapped(&d->run))
        findings_add(f, FINDING_NOTE, "ep-overlap",
                     "made with EP overlap: forward-compute spans a forward "
                     "and a backward, so its timers tell no stage's time");
    else if (doubts_has_extremes(&d->log))
        findings_add(f, FINDING_NOTE, "timers-not-by-rank",
                     "the timers are of one rank, or only of the fastest and "
                     "the slowest, which tells no stage's time: "
                     "--timing-log-option all");
    else
        findings_add(f, FINDING_NOTE, "no-timers",
                     "no per-rank forward-compute and backward-compute timers "
                     "in iterations that count: --timing-log-level 2 "
                     "--timing-log-option all --logging-level 20");
}

/* The worst stage stands for all of them. */
static void doubts_uneven(struct doctor *d)
{
    const struct stages *s = &d->stages;
    int worst = 0, n = 0;
    for (int r = 0; s->spread && r < s->n; r++) {
        n += s->spread[r] > DOUBTS_UNEVEN;
        if (s->spread[r] > s->spread[worst])
            worst = r;
    }
    if (n > 0)
        findings_add(&d->findings, FINDING_WRONG, "uneven-ranks",
                     "ranks of stage %d differ by %.0f%% (%d of %d stages are "
                     "uneven): a slow card, or experts that get uneven loads; "
                     "no layout mends that",
                     worst, 100 * s->spread[worst], n, s->n);
}

/* Work of a rank beyond the step is of other steps. */
static void doubts_beyond(struct doctor *d)
{
    const struct stages *s = &d->stages;
    if (s->source == STAGES_NONE || !d->steps.n_used)
        return;
    // ranks are compared over a whole step, stages over a micro-batch
    const double n =
        s->source == STAGES_RANKS ? 1 : (double)d->model->batch.n_microbatches;
    const double busy_s = s->work_s[s->slowest] * n;
    if (busy_s > DOUBTS_BEYOND * d->steps.mean_s)
        findings_add(&d->findings, FINDING_WRONG, "timers-beyond-step",
                     "a rank's timers add up to %.1f ms, more than the step of "
                     "%.1f: they are not of these steps",
                     busy_s * 1e3, d->steps.mean_s * 1e3);
}

void doubts_timers(struct doctor *d)
{
    doubts_no_timers(d);
    doubts_uneven(d);
    doubts_beyond(d);
}

/* ---- rates ---- */

void doubts_rate(struct doctor *d)
{
    const double ours = d->rate.flops_per_s / 1e12;
    if (d->rate.mfu > 1)
        findings_add(&d->findings, FINDING_WRONG, "implausible-rate",
                     "%.0f TFLOP/s a GPU are above the peak of %.0f: the "
                     "model, the ranks, the batch or the card is another one",
                     ours, d->rate.peak_flops / 1e12);
    if (fabs(d->steps.printed_tflops / ours - 1) > DOUBTS_COUNTS)
        findings_add(&d->findings, FINDING_NOTE, "other-count",
                     "the log prints %.1f TFLOP/s a GPU, our count says %.1f: "
                     "another counting rule, or another model",
                     d->steps.printed_tflops, ours);
}
