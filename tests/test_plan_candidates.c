#include "plan/candidates.h"

#include <criterion/criterion.h>

Test(candidates, steps_of_centuries_are_sorted_as_short_ones)
{
    static const double scales[] = {1e-3, 1, 9e9, 1e10, 1e15, 1e200};
    for (size_t k = 0; k < sizeof scales / sizeof scales[0]; k++) {
        struct candidate all[4] = {{.step_s = 4 * scales[k]},
                                   {.step_s = 1 * scales[k]},
                                   {.step_s = 3 * scales[k]},
                                   {.step_s = 2 * scales[k]}};
        struct candidates c = {.all = all, .n = 4};
        candidates_sort(&c);
        for (int i = 0; i < 4; i++)
            cr_expect_float_eq(all[i].step_s / scales[k], i + 1, 1e-9,
                               "at %g s: place %d", scales[k], i);
    }
}
