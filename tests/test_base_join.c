#include "base/join.h"

#include <criterion/criterion.h>
#include <string.h>

Test(join, parts_stand_behind_one_another)
{
    struct arena a;
    arena_init(&a);
    struct join j = join_begin(&a);
    cr_assert_str_eq(join_end(&j), "");
    join_add(&j, "one");
    join_add_n(&j, ", two", 2);
    join_add(&j, "three");
    cr_assert_str_eq(join_end(&j), "one, three");
    cr_assert_eq(j.n, 10);
    arena_clear(&a);
}

/* One part at a time by printing all anew takes 50 GB of memory. */
Test(join, a_hundred_thousand_parts_take_a_moment, .timeout = 60)
{
    struct arena a;
    arena_init(&a);
    struct join j = join_begin(&a);
    for (int i = 0; i < 100000; i++)
        join_add(&j, "ten bytes ");
    cr_assert_eq(strlen(join_end(&j)), 1000000);
    cr_assert_leq(j.cap, 4000000);
    arena_clear(&a);
}
