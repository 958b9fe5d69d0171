/*
 * How it works: what is read off ranks sorts the caller's array in place, so
 * that nothing here takes memory or can fail.
 */
#include "stats.h"

#include "random.h"

#include <math.h>
#include <stdlib.h>

/* Without a difference: it overflows to no sign for large values. */
static int stats_compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void stats_sort(double *x, size_t n)
{
    if (n > 1)
        qsort(x, n, sizeof *x, stats_compare);
}

double stats_median(double *x, size_t n)
{
    if (n == 0)
        return (double)NAN;
    stats_sort(x, n);
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

double stats_quantile(double *x, size_t n, double q)
{
    if (n == 0)
        return (double)NAN;
    stats_sort(x, n);
    // type 7 of Hyndman and Fan (1996), which most programs take
    // place between ranks, from 0
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    double next = i + 1 < n ? x[i + 1] : x[i];
    return x[i] + (next - x[i]) * (at - (double)i);
}

double stats_mad(double *x, size_t n)
{
    double centre = stats_median(x, n);
    for (size_t i = 0; i < n; i++)
        x[i] = fabs(x[i] - centre);
    return stats_median(x, n);
}

struct stats_mean stats_mean(const double *x, size_t n)
{
    double sum = 0, squares = 0, count = (double)n;
    if (n == 0)
        return (struct stats_mean){(double)NAN, 0};
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    // a second pass: the sum of squares of times cancels to nothing
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - sum / count) * (x[i] - sum / count);
    return (struct stats_mean){sum / count,
                               n > 1 ? sqrt(squares / (count - 1) / count) : 0};
}

/* n/40 is 2.5 of 100: the percentile interval without interpolation, whose
 * error for 2,000 resamples is far below that of the resampling itself. */
struct stats_interval stats_middle(double *x, size_t n)
{
    if (n == 0)
        return (struct stats_interval){(double)NAN, (double)NAN};
    stats_sort(x, n);
    return (struct stats_interval){x[n / 40], x[n - 1 - n / 40]};
}

/* Of many values the resampled medians lie where the binomial distribution of
 * ranks puts them (David and Nagaraja, 2003, section 7.1): 1.96 standard
 * deviations, sqrt(n)/2, around the middle. x is sorted. */
static struct stats_interval stats_of_ranks(double *x, size_t n)
{
    double half = 0.5 * 1.96 * sqrt((double)n);
    size_t off = (size_t)(half + 0.5);
    stats_sort(x, n);
    return (struct stats_interval){x[(n - 1) / 2 - off], x[n / 2 + off]};
}

struct stats_interval stats_bootstrap(const double *x, size_t n, uint64_t seed,
                                      double *scratch)
{
    // Efron's percentile method; one value has no spread to resample
    double *sample = scratch, *medians = scratch + n;
    if (n < 2)
        return (struct stats_interval){(double)NAN, (double)NAN};
    if (n > STATS_MAX_RESAMPLED) {
        for (size_t i = 0; i < n; i++)
            sample[i] = x[i];
        return stats_of_ranks(sample, n);
    }
    for (int k = 0; k < STATS_RESAMPLES; k++) {
        for (size_t i = 0; i < n; i++)
            sample[i] = x[random_next(&seed) % n];
        medians[k] = stats_median(sample, n);
    }
    return stats_middle(medians, STATS_RESAMPLES);
}

/* Every layout comes at every place equally often when rounds are a multiple of
 * layouts, so that a machine that warms up favours none. */
int stats_rotated(int round, int place, int n)
{
    return (round + place) % n;
}
