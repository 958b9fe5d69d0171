/*
 * How it works: whole microseconds are a third of the text that seconds with
 * all their digits would be, and finer than a pixel of any screen.
 */
#include "steps.h"

#include <math.h>

static void steps_times(struct writer to, const double *start_s,
                        const double *took_s, int n)
{
    // what is not finite is written as null
    for (int i = 0; i < n; i++) {
        writer_number(to, NULL, round(1e6 * start_s[i]));
        writer_number(to, NULL, round(1e6 * took_s[i]));
    }
}

/* Simulated steps have no number of an iteration. */
int steps_add(struct sheet *s, const struct steps_step *step)
{
    const struct writer t = writer_object(s->timelines, NULL);
    const int n = step->n_stages * step->n_mb;
    if (isfinite(step->iteration))
        writer_number(t, "iteration", step->iteration);
    writer_number(t, "pp", step->pp);
    writer_number(t, "n_mb", step->n_mb);
    steps_times(writer_list(t, "fwd"), step->fwd_start_s, step->fwd_s, n);
    steps_times(writer_list(t, "bwd"), step->bwd_start_s, step->bwd_s, n);
    return s->n_timelines++;
}
