/*
 * steps: the step time of a log and how far it can be believed: which of the
 * iterations count, what averaging all of them would have said, whether they
 * still change, scatter, were skipped or had a loss that is no number, and how
 * the run ended. Seconds. Sized for logs of some 10^6 iterations.
 */
#ifndef DOCTOR_STEPS_H
#define DOCTOR_STEPS_H

#include "findings.h"
#include "log/parse.h"

/* Of the section that counts (the last one where none does). NAN, or 0 of a
 * count, for what the log does not tell. */
struct steps {
    size_t n_logged, n_used, n_skipped, n_nan; // lines
    int span;            // iterations that a line is the mean of, 1 and more
    size_t n_all;        // iterations of all_mean_s
    double mean_s, se_s; // of the iterations that count
    double half_s;       // of the mean's 95% interval; 0 with fewer than two
    double all_mean_s;   // of all of them
    double printed_tflops, printed_tokens_per_s; // a GPU, as the log has them
    int64_t global_batch; // sequences; 0 also where it changes
    int n_ranks;          // at least so many, by the timers
};

/* What is wrong with the iterations goes to `f`. Iterations of the log that
 * still start up are marked as not usable. */
void steps_read(struct arena *a, struct runlog *log, struct steps *out,
                struct findings *f);

#endif
