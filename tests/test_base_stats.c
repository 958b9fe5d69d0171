#include "base/stats.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

Test(stats, median_of_odd_even_and_none)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, none[1] = {0};
    cr_expect_float_eq(stats_median(odd, 3), 2, 0);
    cr_expect_float_eq(stats_median(even, 4), 2.5, 0);
    cr_expect(isnan(stats_median(none, 0)));
}

Test(stats, mad_ignores_one_outlier)
{
    double x[] = {1, 2, 3, 4, 1000};
    cr_expect_float_eq(stats_mad(x, 5), 1, 0);
}

Test(stats, bootstrap_repeats_itself_with_one_seed)
{
    const double x[] = {10, 11, 9, 12, 10.5};
    double scratch[5 + STATS_RESAMPLES];
    struct stats_interval a = stats_bootstrap(x, 5, 7, scratch);
    struct stats_interval b = stats_bootstrap(x, 5, 7, scratch);
    cr_expect_float_eq(a.lo, b.lo, 0);
    cr_expect_float_eq(a.hi, b.hi, 0);
    cr_expect_leq(a.lo, 10.5);
    cr_expect_geq(a.hi, 10.5);
    cr_expect_geq(a.lo, 9);
    cr_expect_leq(a.hi, 12);
    cr_expect_lt(a.lo, a.hi);
}

/* The median of n equal draws covers its true value in about 95% of samples;
 * 200 samples give +-3%, so 88% would be a defect. */
Test(stats, bootstrap_interval_covers_the_truth)
{
    enum { SAMPLES = 200, N = 25 };
    double x[N], scratch[N + STATS_RESAMPLES];
    unsigned state = 1;
    int covered = 0;
    for (int s = 0; s < SAMPLES; s++) {
        for (int i = 0; i < N; i++) {
            state = state * 1664525u + 1013904223u;
            x[i] = (double)(state >> 8) / (1 << 24); // uniform, median 0.5
        }
        struct stats_interval ci = stats_bootstrap(x, N, 3, scratch);
        covered += ci.lo <= 0.5 && ci.hi >= 0.5;
    }
    cr_expect_geq(covered, SAMPLES * 88 / 100, "%d of %d", covered, SAMPLES);
    cr_expect_lt(covered, SAMPLES,
                 "an interval that always covers is too wide");
}

/* Where resampling ends and ranks begin both must say the same. */
Test(stats, the_interval_of_many_values_is_that_of_ranks)
{
    enum { N = STATS_MAX_RESAMPLED, MANY = 2000000 };
    double *x = malloc(MANY * sizeof *x);
    double *scratch = malloc((MANY + STATS_RESAMPLES) * sizeof *scratch);
    unsigned state = 1;
    cr_assert(x && scratch);
    for (int i = 0; i < MANY; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (double)(state >> 8) / (1 << 24);
    }
    struct stats_interval few = stats_bootstrap(x, N, 3, scratch);
    struct stats_interval more = stats_bootstrap(x, N + 1, 3, scratch);
    // a standard deviation of the median of 5000 is 0.007
    cr_expect_float_eq(few.lo, more.lo, 0.002);
    cr_expect_float_eq(few.hi, more.hi, 0.002);
    struct stats_interval all = stats_bootstrap(x, MANY, 3, scratch);
    cr_expect_float_eq(all.hi - all.lo, 1.96 / sqrt(MANY), 1e-4);
    cr_expect(all.lo < 0.5 && all.hi > 0.5);
    free(x);
    free(scratch);
}

Test(stats, one_value_has_no_interval)
{
    double x[] = {5}, scratch[1 + STATS_RESAMPLES];
    cr_expect(isnan(stats_bootstrap(x, 1, 1, scratch).lo));
}

Test(stats, rounds_start_at_the_next_layout)
{
    const int want[4][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 1, 2}};
    for (int round = 0; round < 4; round++)
        for (int place = 0; place < 3; place++)
            cr_expect_eq(stats_rotated(round, place, 3), want[round][place]);
}

Test(stats, quantiles_are_linear_between_ranks)
{
    double x[] = {30, 10, 20, 40, 0}, one[] = {7}, none[1] = {0};
    cr_expect_float_eq(stats_quantile(x, 5, 0), 0, 0);
    cr_expect_float_eq(stats_quantile(x, 5, 0.5), 20, 0);
    cr_expect_float_eq(stats_quantile(x, 5, 0.9), 36, 1e-12);
    cr_expect_float_eq(stats_quantile(x, 5, 1), 40, 0);
    cr_expect_float_eq(stats_quantile(one, 1, 0.9), 7, 0);
    cr_expect(isnan(stats_quantile(none, 0, 0.5)));
}

Test(stats, means_have_their_standard_error)
{
    const double x[] = {1, 2, 3, 4}; // variance 5/3, over 4 values
    struct stats_mean m = stats_mean(x, 4);
    cr_expect_float_eq(m.mean, 2.5, 0);
    cr_expect_float_eq(m.se, sqrt(5.0 / 12), 1e-15);
    cr_expect_float_eq(stats_mean(x, 1).se, 0, 0);
    cr_expect(isnan(stats_mean(x, 0).mean));
}

Test(stats, the_middle_leaves_a_fortieth_out_on_either_side)
{
    double x[80], few[] = {3, 1, 2};
    for (int i = 0; i < 80; i++)
        x[i] = 79 - i;
    struct stats_interval m = stats_middle(x, 80);
    cr_expect_float_eq(m.lo, 2, 0);
    cr_expect_float_eq(m.hi, 77, 0);
    m = stats_middle(few, 3);
    cr_expect_float_eq(m.lo, 1, 0);
    cr_expect_float_eq(m.hi, 3, 0);
}
