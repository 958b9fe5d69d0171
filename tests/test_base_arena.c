#include "base/arena.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

Test(arena, memory_is_zeroed_and_aligned)
{
    struct arena a;
    arena_init(&a);
    for (int i = 1; i < 200; i++) {
        char *p = arena_alloc(&a, (size_t)i, 3);
        cr_assert_eq((uintptr_t)p % _Alignof(max_align_t), 0);
        for (int k = 0; k < 3 * i; k++)
            cr_assert_eq(p[k], 0);
        memset(p, 0x5a, 3 * (size_t)i);
    }
    arena_clear(&a);
}

Test(arena, large_and_empty_requests_work)
{
    struct arena a;
    arena_init(&a);
    char *big = arena_alloc(&a, 1 << 20, 4);
    cr_assert_not_null(big);
    big[(4 << 20) - 1] = 1;
    cr_assert_not_null(arena_alloc(&a, 0, 8));
    arena_clear(&a);
    cr_assert_not_null(arena_alloc(&a, 1, 1), "usable after a clear");
    arena_clear(&a);
}

Test(arena, size_overflow_is_refused)
{
    struct arena a;
    arena_init(&a);
    cr_assert_null(arena_alloc(&a, SIZE_MAX / 2, 4));
    cr_assert_null(arena_alloc(&a, SIZE_MAX, 1));
    arena_clear(&a);
}

Test(arena, printf_formats_any_length)
{
    struct arena a;
    arena_init(&a);
    char *text = arena_printf(&a, "%0*d|%s", 5000, 7, "end");
    cr_assert_eq(strlen(text), 5004);
    cr_assert_str_eq(text + 4999, "7|end");
    cr_assert_str_eq(arena_strndup(&a, "layout", 3), "lay");
    arena_clear(&a);
}
