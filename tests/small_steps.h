/* small_steps: rows of step times of one model with known prices, for the tests
 * of what is fitted to them. Header of test data only. */
#ifndef SMALL_STEPS_H
#define SMALL_STEPS_H

#include "base/random.h"
#include "calibrate/step_choose.h"
#include "small_model.h"

#include <criterion/criterion.h>

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

/* Adds the step that the truth gives to a case, times 1 + error. */
static inline void add_case(struct steps *s, const struct observed_case *from,
                            double error)
{
    struct observed *o = &s->of[s->n];
    double step = 0;
    o->id = "step";
    cr_assert_eq(observed_open(&s->arena, from, o, &s->msg), ERR_OK, "%s",
                 s->msg.text);
    cr_assert_eq(observed_step(o, &s->truth, &step, &s->msg), ERR_OK);
    s->row[s->n++] = (struct step_row){"step", o, step * (1 + error)};
}

#endif
