#include "stats.h"

#include <math.h>
#include <stdlib.h>

static int stats_compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

double stats_median(double *x, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(x, n, sizeof *x, stats_compare);
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

double stats_mad(double *x, size_t n)
{
    double centre = stats_median(x, n);
    for (size_t i = 0; i < n; i++)
        x[i] = fabs(x[i] - centre);
    return stats_median(x, n);
}

/* splitmix64 (Steele, Lea, Flood 2014): one add and three mixes. */
static uint64_t stats_next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct stats_interval stats_bootstrap(const double *x, size_t n, uint64_t seed,
                                      double *scratch)
{
    struct stats_interval out = {NAN, NAN};
    double *sample = scratch, *medians = scratch + n;
    if (n < 2)
        return out;
    for (int k = 0; k < STATS_RESAMPLES; k++) {
        for (size_t i = 0; i < n; i++)
            sample[i] = x[stats_next_random(&seed) % n];
        medians[k] = stats_median(sample, n);
    }
    qsort(medians, STATS_RESAMPLES, sizeof *medians, stats_compare);
    out.lo = medians[STATS_RESAMPLES / 40];
    out.hi = medians[STATS_RESAMPLES - 1 - STATS_RESAMPLES / 40];
    return out;
}

int stats_rotated(int round, int place, int n)
{
    return (round + place) % n;
}
