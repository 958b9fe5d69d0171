/* random: the published sequence, and what a uniform number may be. */
#include "base/random.h"

#include <criterion/criterion.h>

/* The first values of splitmix64 from state 1234567, as other implementations
 * publish them for a check. */
Test(random, is_splitmix64)
{
    static const uint64_t want[] = {6457827717110365317u, 3203168211198807973u,
                                    9817491932198370423u, 4593380528125082431u,
                                    16408922859458223821u};
    uint64_t state = 1234567;
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        cr_expect_eq(random_next(&state), want[i], "value %zu", i);
}

Test(random, a_mix_is_the_value_of_its_key_alone)
{
    uint64_t state = 42;
    random_next(&state);
    cr_expect_eq(random_mix(42 + RANDOM_STEP), random_next(&state));
}

Test(random, uniform_numbers_stay_inside)
{
    cr_expect_gt(random_uniform(0), 0);
    cr_expect_leq(random_uniform(UINT64_MAX), 1);
    double sum = 0;
    uint64_t state = 1;
    for (int i = 0; i < 10000; i++)
        sum += random_uniform(random_next(&state));
    // standard error 0.29 / 100: seventeen of them
    cr_expect_float_eq(sum / 10000, 0.5, 0.05);
}
