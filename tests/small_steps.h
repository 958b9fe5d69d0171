/* small_steps: rows of step times of one model with known prices, for the tests
 * of what is fitted to them. Header of test data only. */
#ifndef SMALL_STEPS_H
#define SMALL_STEPS_H

#include "base/random.h"
#include "calibrate/step_choose.h"
#include "small_model.h"

enum { MAX_ROWS = 24 };

struct steps {
    struct arena arena;
    struct model m;
    struct observed_prices truth;
    struct step_row row[MAX_ROWS];
    struct observed of[MAX_ROWS];
    int n;
    uint64_t random;
    struct err_msg msg;
};

static inline double uniform(struct steps *s)
{
    return random_uniform(random_next(&s->random));
}

/* Twelve uniforms less six: near enough to a normal distribution. */
static inline double normal(struct steps *s)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += uniform(s);
    return sum;
}

#endif
