#include "cost/lsq.h"

#include <criterion/criterion.h>
#include <math.h>

static const double ROUNDING = 1e-10;

Test(lsq, consistent_rows_are_solved_exactly)
{
    struct arena a;
    struct lsq_solution s;
    struct err_msg msg;
    const double rows[] = {1, 2, 3, 1, 0, 1, 2, 5}, b[] = {8, 9, 3, 19};
    const struct lsq_problem p = {4, 2, rows, b};
    arena_init(&a);
    cr_assert_eq(lsq_nnls(&a, &p, &s, &msg), ERR_OK, "%s", msg.text);
    cr_assert_float_eq(s.x[0], 2, ROUNDING);
    cr_assert_float_eq(s.x[1], 3, ROUNDING);
    cr_assert_eq(s.degrees_of_freedom, 2);
    cr_assert_float_eq(s.variance, 0, ROUNDING);
    arena_clear(&a);
}

/* Straight line through noisy points: the textbook standard errors. */
Test(lsq, standard_errors_are_the_textbook_ones)
{
    struct arena a;
    struct lsq_solution s;
    struct err_msg msg;
    const double rows[] = {1, 0, 1, 1, 1, 2, 1, 3}, b[] = {1.1, 1.9, 3.2, 3.8};
    const struct lsq_problem p = {4, 2, rows, b};
    arena_init(&a);
    cr_assert_eq(lsq_nnls(&a, &p, &s, &msg), ERR_OK);
    cr_assert_float_eq(s.x[0], 1.09, ROUNDING);
    cr_assert_float_eq(s.x[1], 0.94, ROUNDING);
    double rss = pow(1.1 - 1.09, 2) + pow(1.9 - 2.03, 2) + pow(3.2 - 2.97, 2) +
                 pow(3.8 - 3.91, 2);
    cr_assert_float_eq(s.variance, rss / 2, ROUNDING);
    cr_assert_float_eq(s.se[1], sqrt(rss / 2 / 5), ROUNDING);
    arena_clear(&a);
}

Test(lsq, negative_solutions_stop_at_zero)
{
    struct arena a;
    struct lsq_solution s;
    struct err_msg msg;
    const double rows[] = {1, 0, 0, 1, 1, 1}, b[] = {1, -2, 0};
    const struct lsq_problem p = {3, 2, rows, b};
    arena_init(&a);
    cr_assert_eq(lsq_nnls(&a, &p, &s, &msg), ERR_OK);
    cr_assert_float_eq(s.x[0], 0.5, ROUNDING); // of x ~ 1 and x ~ 0
    cr_assert_float_eq(s.x[1], 0, 0);
    cr_assert_float_eq(s.se[1], 0, 0);
    cr_assert_eq(s.degrees_of_freedom, 2);
    arena_clear(&a);
}

/* The optimum satisfies Karush, Kuhn and Tucker: x >= 0, gradient >= 0 where
 * x = 0, gradient = 0 elsewhere. */
Test(lsq, nnls_meets_the_optimality_conditions)
{
    unsigned seed = 12345;
    for (int trial = 0; trial < 300; trial++) {
        struct arena a;
        struct lsq_solution s;
        struct err_msg msg;
        enum { M = 12, N = 6 };
        double rows[M * N], b[M];
        arena_init(&a);
        for (int i = 0; i < M * N; i++) {
            seed = seed * 1103515245 + 12345;
            rows[i] = (double)(seed >> 16 & 0x7fff) / 0x4000 - 1;
        }
        for (int i = 0; i < M; i++) {
            seed = seed * 1103515245 + 12345;
            b[i] = (double)(seed >> 16 & 0x7fff) / 0x4000 - 1;
        }
        const struct lsq_problem p = {M, N, rows, b};
        cr_assert_eq(lsq_nnls(&a, &p, &s, &msg), ERR_OK);
        for (int j = 0; j < N; j++) {
            double gradient = 0;
            for (int i = 0; i < M; i++) {
                double r = -b[i];
                for (int k = 0; k < N; k++)
                    r += rows[i * N + k] * s.x[k];
                gradient += rows[i * N + j] * r;
            }
            cr_assert_geq(s.x[j], 0);
            if (s.x[j] > 0)
                cr_assert_float_eq(gradient, 0, 1e-8, "trial %d", trial);
            else
                cr_assert_geq(gradient, -1e-8, "trial %d", trial);
        }
        arena_clear(&a);
    }
}

Test(lsq, rank_names_what_is_not_determined)
{
    struct arena a;
    struct lsq_rank r;
    struct err_msg msg;
    const double rows[] = {1, 1, 0, 2, 2, 0, 0, 0, 3, 1, 1, 5}, b[4] = {0};
    const struct lsq_problem p = {4, 3, rows, b};
    arena_init(&a);
    cr_assert_eq(lsq_rank(&a, &p, &r, &msg), ERR_OK);
    cr_assert_eq(r.rank, 2);
    cr_assert(!r.determined[0] && !r.determined[1] && r.determined[2]);
    arena_clear(&a);
}

Test(lsq, t_quantiles_fall_to_the_normal_one)
{
    cr_assert_float_eq(lsq_t95(1), 12.706, 1e-9);
    cr_assert_float_eq(lsq_t95(10), 2.228, 1e-9);
    cr_assert_float_eq(lsq_t95(100), 1.984, 2e-3);
    for (int dof = 1; dof < 200; dof++)
        cr_assert_geq(lsq_t95(dof), lsq_t95(dof + 1));
}
