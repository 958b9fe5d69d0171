#include "launch/meter.h"

#include <criterion/criterion.h>
#include <float.h>

#define TINY_S 1e-6 // sums of a few decimal numbers
#define SLACK_S 2.0 // between two readings of the wall clock in a test

static struct arena arena;

static void setup(void)
{
    arena_init(&arena);
}

static void teardown(void)
{
    arena_clear(&arena);
}

TestSuite(launch_meter, .init = setup, .fini = teardown);

static void expect_s(double got, double want)
{
    cr_expect_float_eq(got, want, TINY_S, "got %g, want %g", got, want);
}

Test(launch_meter, waiting_costs_nothing)
{
    struct meter m;
    meter_start(&m, 100);
    meter_see_waiting(&m, 5000);
    expect_s(m.sure_s, 0);
    expect_s(meter_ran_s(&m, 5000, 0, 600), 0);
}

Test(launch_meter, a_job_that_is_watched_runs_between_two_sights)
{
    struct meter m;
    meter_start(&m, 100);
    meter_see_waiting(&m, 110);
    meter_see_running(&m, 120, 0);
    expect_s(m.sure_s, 0); // when it began is not known
    meter_see_running(&m, 150, 0);
    expect_s(m.sure_s, 30);
    expect_s(meter_ran_s(&m, 160, 0, 600), 50);  // what it can have run
    expect_s(meter_ran_s(&m, 160, 37, 600), 37); // what the system says
    expect_s(meter_ran_s(&m, 160, 3637, 600), 50);
    expect_s(meter_ran_s(&m, 160, -3600, 600), 50);
    expect_s(meter_ran_s(&m, 160, 3, 600), 30);
}

Test(launch_meter, a_job_never_seen_to_run_may_have_run_since_it_waited)
{
    struct meter m;
    meter_start(&m, 100);
    meter_see_waiting(&m, 110);
    expect_s(meter_ran_s(&m, 3710, 0, 0), 3600);
    expect_s(meter_ran_s(&m, 3710, 0, 600), 600);
    expect_s(meter_ran_s(&m, 3710, 12, 600), 12);
}

/* A record is written at `before_s` and read at `after_s`, with one text in
 * place of another (or NULL). */
static struct meter recorded(const struct meter *m, double before_s,
                             double after_s, const char *boot)
{
    struct writer_doc doc;
    struct reader_doc back;
    struct err_msg msg = {""};
    struct meter out;
    struct writer o = writer_open(&doc);
    meter_write(m, before_s, &arena, o);
    cJSON *tree = writer_close(&doc);
    if (boot)
        cJSON_SetValuestring(cJSON_GetObjectItem(tree, "boot"), boot);
    const char *text = writer_print_tree(&arena, tree);
    meter_read(&out, after_s,
               reader_open_text(&back, &arena, text, "job.json", &msg));
    cr_expect_eq(reader_close(&back), ERR_OK, "%s", msg.text);
    return out;
}

Test(launch_meter, on_the_same_boot_counting_goes_on)
{
    struct meter m;
    meter_start(&m, 100);
    meter_see_running(&m, 100, 0);
    meter_see_running(&m, 150, 0);
    struct meter n = recorded(&m, 150, 1150, NULL);
    meter_see_running(&n, 1150, 0);
    expect_s(n.sure_s, 1050);
    expect_s(meter_ran_s(&n, 1150, 0, 0), 1050);
}

Test(launch_meter, another_boot_ends_nothing_but_is_paid_for)
{
    struct meter m;
    meter_start(&m, 100);
    meter_see_running(&m, 100, 0);
    meter_see_running(&m, 150, 0);
    struct meter n = recorded(&m, 150, 7, "x");
    meter_see_running(&n, 7, 0);
    cr_expect_float_eq(n.sure_s, 50, SLACK_S);
    cr_expect_float_eq(meter_ran_s(&n, 7, 0, 600), 50, SLACK_S);
    meter_see_running(&n, 17, 0);
    cr_expect_float_eq(n.sure_s, 60, SLACK_S);
}

Test(launch_meter, a_record_of_no_sight_is_a_job_never_seen)
{
    struct reader_doc doc;
    struct err_msg msg = {""};
    struct meter m;
    struct reader top = reader_open_text(
        &doc, &arena, "{\"running_since_s\":1.7e9}", "job.json", &msg);
    meter_read(&m, 40, top);
    cr_expect_eq(reader_close(&doc), ERR_OK);
    cr_expect_not(m.running);
    expect_s(m.sure_s, 0);
    expect_s(m.sight_s, 40);
}
