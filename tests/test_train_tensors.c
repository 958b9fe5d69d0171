#include "train/tensors.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static struct tensor weight(const char *name, int64_t count, int id, double std)
{
    return (struct tensor){.name = name,
                           .count = count,
                           .elem_bytes = sizeof(real),
                           .id = id,
                           .init_std = std};
}

Test(tensors, bytes_are_the_rounded_sum_of_the_table)
{
    struct tensors t;
    tensors_init(&t, "weights");
    cr_expect_null(tensors_carve_real(&t, "a", 1));
    cr_expect_null(tensors_carve_int(&t, "b", 17));
    cr_expect_null(tensors_carve_real(&t, "c", 0));
    cr_expect_null(tensors_carve_real(&t, "d", 32));
    cr_expect_eq(t.bytes, 64 + 128 + 0 + 128);
    cr_assert_eq(tensors_alloc(&t, NULL), ERR_OK);
    tensors_clear(&t);
}

Test(tensors, places_are_aligned_zeroed_and_apart)
{
    const int64_t count[] = {3, 100, 16, 1};
    struct tensors t;
    real *place[4];
    tensors_init(&t, "activations");
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < 4; i++)
            place[i] = tensors_carve_real(&t, "x", count[i]);
        if (pass == 0)
            cr_assert_eq(tensors_alloc(&t, NULL), ERR_OK);
    }
    for (int i = 0; i < 4; i++) {
        cr_expect_eq((uintptr_t)place[i] % 64, 0);
        cr_expect_eq(place[i], tensors_at(&t, i));
        for (int64_t c = 0; c < count[i]; c++)
            cr_expect_eq(place[i][c], 0);
        if (i)
            cr_expect_geq(place[i], place[i - 1] + count[i - 1]);
    }
    cr_expect_leq((char *)(place[3] + 1), t.base + t.bytes);
    tensors_clear(&t);
}

Test(tensors, too_large_is_an_error_with_the_kind)
{
    struct tensors t;
    struct err_msg msg = {""};
    tensors_init(&t, "gradients");
    tensors_carve_real(&t, "huge", INT64_MAX / 8);
    cr_expect_eq(tensors_alloc(&t, &msg), ERR_NOMEM);
    cr_expect(strstr(msg.text, "gradients: no memory") == msg.text);
    tensors_clear(&t);
    tensors_carve_real(&t, "overflowing", INT64_MAX / 2);
    tensors_carve_real(&t, "overflowing", INT64_MAX / 2);
    cr_expect_eq(tensors_alloc(&t, &msg), ERR_NOMEM);
    tensors_clear(&t);
}

Test(tensors, first_values_depend_on_seed_and_id_not_on_the_place)
{
    struct tensors one, two;
    tensors_init(&one, "weights");
    tensors_init(&two, "weights");
    tensors_carve(&one, weight("a", 50, 7, 0.02));
    tensors_carve(&two, weight("before", 9, 3, 0.02));
    tensors_carve(&two, weight("a", 50, 7, 0.02));
    tensors_carve(&two, weight("norm", 5, 8, -1));
    cr_assert_eq(tensors_alloc(&one, NULL), ERR_OK);
    cr_assert_eq(tensors_alloc(&two, NULL), ERR_OK);
    tensors_randomize(&one, 42);
    tensors_randomize(&two, 42);
    cr_expect_arr_eq(tensors_at(&one, 0), tensors_at(&two, 1),
                     50 * sizeof(real));
    cr_expect_neq(tensors_at(&two, 0)[0], tensors_at(&two, 1)[0]);
    cr_expect_eq(tensors_at(&two, 2)[4], 1);
    real before = tensors_at(&one, 0)[0];
    tensors_randomize(&one, 43);
    cr_expect_neq(tensors_at(&one, 0)[0], before);
    tensors_clear(&one);
    tensors_clear(&two);
}

Test(tensors, normal_has_the_mean_and_deviation_asked_for)
{
    enum { N = 20000 };
    static real x[N];
    double sum = 0, square = 0, quartic = 0;
    tensors_normal(x, N, 0.5, 12345);
    for (int i = 0; i < N; i++) {
        sum += (double)x[i];
        square += (double)x[i] * (double)x[i];
        quartic += pow((double)x[i], 4);
    }
    double var = square / N;
    /* four standard errors of the mean and the variance */
    cr_expect_lt(fabs(sum / N), 4 * 0.5 / sqrt(N));
    cr_expect_lt(fabs(sqrt(var) - 0.5), 4 * 0.5 / sqrt(2.0 * N));
    /* four uniforms: kurtosis 3 - 6/(5*4) = 2.7 */
    cr_expect_lt(fabs(quartic / N / var / var - 2.7), 0.1);
}
