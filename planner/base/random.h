/*
 * random: numbers that look random and are the same everywhere. Each is a
 * function of a key, so that any of them can be made alone and in any order:
 * weights and data of the trainer, jitter of the planner, resamples.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

#define RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15) // 2^64 / golden ratio, odd

/* splitmix64 (Steele, Lea, Flood 2014): a bijection that mixes every bit. */
static inline uint64_t random_mix(uint64_t key)
{
    key += RANDOM_STEP;
    key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
    return key ^ key >> 31;
}

/* The generator of that paper: mixes of keys a step apart. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t x = random_mix(*state);
    *state += RANDOM_STEP;
    return x;
}

/* A number in (0, 1] from 53 of the 64 bits of `x`; never 0, whose logarithm
 * is taken. */
static inline double random_uniform(uint64_t x)
{
    return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

#endif
