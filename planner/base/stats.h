/*
 * stats: the few statistics of times and memory: medians, quantiles, means,
 * spread, an interval by bootstrap, and the order of layouts in a round.
 * Deterministic: the bootstrap's random numbers come from a seed. Arrays of
 * some thousand values; those that are sorted are the caller's own.
 */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Median of n values, which are reordered; NAN for n = 0. */
double stats_median(double *x, size_t n);

/* Quantile q (0 to 1), linear between ranks: 0.5 is the median. x is sorted;
 * NAN for n = 0. */
double stats_quantile(double *x, size_t n, double q);

/* Mean, NAN for n = 0, and its standard error, 0 for n < 2. */
struct stats_mean {
    double mean, se;
};
struct stats_mean stats_mean(const double *x, size_t n);

/* Median absolute deviation from the median (not scaled); x is reordered. */
double stats_mad(double *x, size_t n);

/* What the middle 95% of x lie between: n/40 values are below and above. x is
 * sorted; NAN for n = 0. */
struct stats_interval {
    double lo, hi;
};
struct stats_interval stats_middle(double *x, size_t n);

/* 95% interval of the median of x by percentile bootstrap, STATS_RESAMPLES
 * resamples from a generator that starts at `seed`. NAN for n < 2: one value
 * tells nothing about its spread. `scratch` holds n + STATS_RESAMPLES. Above
 * STATS_MAX_RESAMPLED values the interval is that of the ranks, which
 * resampling only approaches, in the time of one sort. */
enum { STATS_RESAMPLES = 2000, STATS_MAX_RESAMPLED = 5000 };
struct stats_interval stats_bootstrap(const double *x, size_t n, uint64_t seed,
                                      double *scratch);

/* Index of the layout that is measured at `place` of `round` (both from 0)
 * when there are n: round r starts at layout r mod n. */
int stats_rotated(int round, int place, int n);

#endif
