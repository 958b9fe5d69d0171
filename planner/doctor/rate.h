/*
 * rate: a step time as tokens a second, FLOP/s and MFU, a GPU. FLOPs are the
 * model's, by the rule that RATE_RULE states; what kernels do beside it
 * (recompute, padding) counts as time lost. The peak is a card's dense rate of
 * 16 bits, or of FP8 where linear layers run in it.
 */
#ifndef DOCTOR_RATE_H
#define DOCTOR_RATE_H

#include "cost/card.h"
#include "model/model.h"

/* The counting rule, in words. */
extern const char *const RATE_RULE;

struct rate_question {
    const struct model *model;     // NULL: not known
    double step_s;                 // mean
    int64_t sequences, seq_tokens; // of a step, of a sequence; 0: not known
    int64_t world;                 // ranks; 0: not known
    double peak_flops;             // stated; 0: not
    const struct card *card;       // NULL: not named
};

/* NAN for what is not known. */
struct rate {
    double tokens_per_s, flops_per_s, mfu; // of a GPU
    double peak_flops;
    const char *peak_source; // NULL: no peak
};

void rate_work_out(const struct rate_question *q, struct rate *out);

/* FLOPs of one step over all ranks, of `sequences`. */
double rate_step_flops(const struct model *m, int64_t sequences);

#endif
