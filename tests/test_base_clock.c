#include "base/clock.h"

#include <criterion/criterion.h>
#include <time.h>

Test(clock, counts_in_seconds_and_never_goes_back)
{
    const struct timespec nap = {0, 20000000};
    const double before = clock_now_s();
    cr_assert_eq(nanosleep(&nap, NULL), 0);
    const double after = clock_now_s();
    cr_expect_geq(after - before, 0.02, "at least the nap");
    for (int i = 0; i < 1000; i++)
        cr_assert_geq(clock_now_s(), after);
}
