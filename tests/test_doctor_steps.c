#include "doctor/steps.h"

#include <criterion/criterion.h>
#include <math.h>

enum { N = 12 };

struct fixture {
    struct arena arena;
    struct log_iteration it[N];
    struct runlog log;
    struct findings f;
    struct steps s;
};

/* Steps of 100 ms give or take one, the first of them start-up. */
static void set_up(struct fixture *x)
{
    *x = (struct fixture){.f = {.n = 0}};
    arena_init(&x->arena);
    x->f.arena = &x->arena;
    for (int i = 0; i < N; i++)
        x->it[i] = (struct log_iteration){.iteration = i + 1,
                                          .step_ms = i % 2 ? 101 : 99,
                                          .loss = 1,
                                          .tflops = (double)NAN,
                                          .tokens_per_s = (double)NAN,
                                          .global_batch = 8,
                                          .usable = i > 0};
    x->it[0].step_ms = 900;
    x->it[0].dropped = "warm-up";
    x->log = (struct runlog){
        .iterations = x->it, .n_iterations = N, .n_sections = 1};
}

static void look(struct fixture *x)
{
    steps_read(&x->arena, &x->log, &x->s, &x->f);
    cr_assert(!x->f.failed);
}

Test(doctor_steps, means_are_of_the_iterations_that_count)
{
    struct fixture x;
    set_up(&x);
    look(&x);
    cr_assert_eq(x.s.n_used, N - 1);
    cr_assert_float_eq(x.s.mean_s, (6 * 101 + 5 * 99) / 11.0 * 1e-3, 1e-12);
    cr_assert_float_eq(x.s.all_mean_s, (900 + 6 * 101 + 5 * 99) / 12.0 * 1e-3,
                       1e-12);
    cr_assert_eq(x.s.global_batch, 8);
    cr_assert(findings_has(&x.f, "warm-up"));
    cr_assert(!findings_has(&x.f, "warm-up-counted"));
    cr_assert_eq(x.f.n, 1);
    arena_clear(&x.arena);
}

/* Lines of a log with --log-interval 5: at 1, which Megatron always logs and
 * which is in the next one, too, then at 5, 10, ... */
static void every_fifth(struct fixture *x)
{
    set_up(x);
    x->log.dialect = "megatron-core-0.16";
    for (int i = 0; i < N; i++)
        x->it[i].iteration = i ? 5 * i : 1;
    x->it[1].step_ms = 300;
    x->it[1].usable = false;
}

Test(doctor_steps, a_line_is_the_mean_since_the_one_before)
{
    struct fixture x;
    set_up(&x);
    x.log.dialect = "megatron";
    look(&x);
    cr_assert_eq(x.s.span, 1);
    arena_clear(&x.arena);
    every_fifth(&x);
    look(&x);
    cr_assert_eq(x.s.span, 5);
    cr_assert_eq(x.s.n_used, N - 2);
    cr_assert_eq(x.s.n_all, 55);
    cr_assert_float_eq(x.s.all_mean_s, (300 + 10 * 100) / 11.0 * 1e-3, 1e-12);
    arena_clear(&x.arena);
    every_fifth(&x);
    x.log.n_iterations = 6; // and behind a line that is lost
    for (int i = 3; i < 6; i++)
        x.it[i].iteration += 5;
    look(&x);
    cr_assert_eq(x.s.span, 5);
    arena_clear(&x.arena);
}

Test(doctor_steps, lines_apart_are_no_means_where_the_log_says_so)
{
    static const struct log_argument each[] = {{"log_interval", "1"}};
    struct fixture x;
    every_fifth(&x);
    x.log.arguments = each; // somebody took lines out
    x.log.n_arguments = 1;
    look(&x);
    cr_assert_eq(x.s.span, 1);
    arena_clear(&x.arena);
    every_fifth(&x);
    x.log.dialect = "nemo"; // prints the time of the last step
    look(&x);
    cr_assert_eq(x.s.span, 1);
    arena_clear(&x.arena);
}

Test(doctor_steps, start_up_behind_the_first_does_not_count)
{
    struct fixture x;
    set_up(&x);
    x.it[1].step_ms = 700;
    x.it[2].step_ms = 160;
    look(&x);
    cr_assert_eq(x.s.n_used, N - 3);
    cr_assert(findings_has(&x.f, "warm-up-counted"));
    // the caller's log, too, so that timers of those steps are left out
    cr_assert(!x.log.iterations[1].usable && !x.log.iterations[2].usable);
    cr_assert(x.it[1].usable);
    arena_clear(&x.arena);
}

Test(doctor_steps, a_slow_step_in_the_middle_is_scatter)
{
    struct fixture x;
    set_up(&x);
    x.it[6].step_ms = 400;
    look(&x);
    cr_assert_eq(x.s.n_used, N - 1);
    cr_assert(findings_has(&x.f, "scatter"));
    cr_assert(!findings_has(&x.f, "warm-up-counted"));
    arena_clear(&x.arena);
}

Test(doctor_steps, tells_a_run_that_is_not_steady)
{
    struct fixture x;
    set_up(&x);
    for (int i = N / 2; i < N; i++)
        x.it[i].step_ms *= 1.2;
    look(&x);
    cr_assert(findings_has(&x.f, "drift"));
    arena_clear(&x.arena);
}

/* Single steps that scatter this far move a mean by as much. */
Test(doctor_steps, noise_between_two_halves_is_no_drift)
{
    struct fixture x;
    set_up(&x);
    for (int i = N / 2; i < N; i++)
        x.it[i].step_ms = i % 2 ? 160 : 70;
    look(&x);
    cr_assert(!findings_has(&x.f, "drift"));
    cr_assert(findings_has(&x.f, "scatter"));
    arena_clear(&x.arena);
}

Test(doctor_steps, skipped_at_the_start_is_a_note_later_it_is_wrong)
{
    for (int late = 0; late < 2; late++) {
        struct fixture x;
        set_up(&x);
        const int i = late ? 5 : 1;
        x.it[i].skipped = true;
        x.it[i].usable = false;
        look(&x);
        cr_assert(findings_has(&x.f, "skipped"));
        for (int k = 0; k < x.f.n; k++)
            if (strcmp(x.f.item[k].name, "skipped") == 0)
                cr_assert_eq(x.f.item[k].weight,
                             late ? FINDING_WRONG : FINDING_NOTE);
        arena_clear(&x.arena);
    }
}

Test(doctor_steps, tells_nan_failure_and_a_changing_batch)
{
    struct fixture x;
    set_up(&x);
    x.it[8].nan = true;
    x.it[8].usable = false;
    x.it[9].global_batch = 16;
    x.log.failure = LOG_OOM;
    x.log.failure_rank = 3;
    look(&x);
    cr_assert(findings_has(&x.f, "nan-loss"));
    cr_assert(findings_has(&x.f, "oom"));
    cr_assert(findings_has(&x.f, "batch-changes"));
    cr_assert_eq(x.s.global_batch, 0);
    arena_clear(&x.arena);
}

/* A loss scale that is too large makes both of one step. */
Test(doctor_steps, a_skipped_steps_loss_is_not_told_twice)
{
    struct fixture x;
    set_up(&x);
    x.it[1].skipped = x.it[1].nan = true;
    x.it[1].usable = false;
    look(&x);
    cr_assert(findings_has(&x.f, "skipped"));
    cr_assert(!findings_has(&x.f, "nan-loss"));
    arena_clear(&x.arena);
}

Test(doctor_steps, nothing_usable_is_said_with_its_reason)
{
    struct fixture x;
    set_up(&x);
    for (int i = 0; i < N; i++) {
        x.it[i].usable = false;
        x.it[i].dropped = "warm-up";
    }
    x.log.used_section = -1;
    look(&x);
    cr_assert_eq(x.s.n_used, 0);
    cr_assert(findings_has(&x.f, "no-usable-iteration"));
    cr_assert(strstr(x.f.item[x.f.n - 1].text, "warm-up") != NULL);
    arena_clear(&x.arena);
}

Test(doctor_steps, what_a_log_says_stays_on_one_line)
{
    struct fixture x;
    set_up(&x);
    findings_add(&x.f, FINDING_NOTE, "quoted", "a\nb\033[1m");
    cr_assert_str_eq(x.f.item[0].text, "a?b?[1m");
    arena_clear(&x.arena);
}
