#include "store/results.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena arena;
static char dir[] = "/tmp/moe-results-XXXXXX";

static void setup(void)
{
    arena_init(&arena);
    cr_assert_not_null(mkdtemp(dir));
}

/* The test's own folder, two levels deep. */
static void teardown(void)
{
    struct run_list all;
    struct err_msg msg;
    const char *const files[] = {"log.txt", "status.json"};
    if (results_load(&arena, dir, NULL, &all, &msg) == ERR_OK)
        for (size_t i = 0; i < all.n; i++) {
            for (int f = 0; f < 2; f++)
                unlink(
                    arena_printf(&arena, "%s/%s", all.run[i].folder, files[f]));
            rmdir(all.run[i].folder);
        }
    rmdir(arena_printf(&arena, "%s/runs", dir));
    unlink(arena_printf(&arena, "%s/.lock", dir));
    rmdir(dir);
    arena_clear(&arena);
}

TestSuite(results, .init = setup, .fini = teardown);

static struct run_record record(int round, const char *role, const char *key)
{
    return (struct run_record){.experiment = "x",
                               .round = round,
                               .role = role,
                               .layout = "Et|tL",
                               .hardware = "h",
                               .launcher = "command",
                               .clock = "wall",
                               .source = "measured",
                               .commit = "c",
                               .key = key,
                               .reason = "",
                               .n_ranks = 2,
                               .wall_s = 1.5,
                               .cost_usd = NAN};
}

static const char log_text[] =
    "moe-train: clock wall | ranks 2 | blas none\n"
    " [2026-01-01 00:00:01] iteration        1/       2 | consumed samples:  "
    "8 | elapsed time per iteration (ms): 12.5 | lm loss: 5.0E+00 |\n"
    " [2026-01-01 00:00:02] iteration        2/       2 | consumed samples: "
    "16 | elapsed time per iteration (ms): 11.5 | lm loss: 4.0E+00 |\n";

static enum err write_run(const struct results *r, struct run_record *run)
{
    struct err_msg msg = {""};
    char log[] = "log.txt";
    struct text_span text = {NULL, sizeof log_text - 1};
    text.data = arena_strdup(&arena, log_text);
    enum err e = results_begin(&arena, r, run, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_assert_eq(results_put(&arena, run, log, text, &msg), ERR_OK);
    e = results_finish(&arena, r, run, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    return e;
}

static struct results lock(void)
{
    struct results r;
    struct err_msg msg = {""};
    enum err e = results_lock(&arena, dir, &r, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    return r;
}

static struct run_list load(const char *key)
{
    struct run_list l;
    struct err_msg msg = {""};
    enum err e = results_load(&arena, dir, key, &l, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    return l;
}

Test(results, a_run_comes_back_as_it_was)
{
    struct results r = lock();
    struct run_record run = record(2, "pick", "k");
    run.status = RUN_TIMEOUT;
    run.reason = "slow";
    run.cost_usd = 0.25;
    run.exit_code = -1;
    run.timers = 2;
    write_run(&r, &run);
    results_unlock(&r);
    struct run_list l = load("k");
    cr_assert_eq(l.n, 1);
    const struct run_record *x = &l.run[0];
    cr_expect_str_eq(x->role, "pick");
    cr_expect_str_eq(x->layout, "Et|tL");
    cr_expect_eq(x->round, 2);
    cr_expect_eq(x->status, RUN_TIMEOUT);
    cr_expect_str_eq(x->reason, "slow");
    cr_expect_float_eq(x->cost_usd, 0.25, 0);
    cr_expect_eq(x->exit_code, -1);
    cr_expect_eq(x->timers, 2);
    cr_expect_eq(strlen(x->log_sha256), TEXT_SHA256_HEX - 1);
    cr_assert_eq(x->log.n_iterations, 2);
    cr_expect_float_eq(x->log.iterations[1].step_ms, 11.5, 0);
}

Test(results, no_price_stays_unknown)
{
    struct results r = lock();
    struct run_record run = record(1, "pick", "k");
    write_run(&r, &run);
    results_unlock(&r);
    struct run_list l = load("k");
    cr_assert_eq(l.n, 1);
    cr_expect(isnan(l.run[0].cost_usd));
}

Test(results, runs_of_another_key_are_not_seen)
{
    struct results r = lock();
    struct run_record a = record(1, "pick", "aaaaaaaaaa");
    struct run_record b = record(1, "pick", "bbbbbbbbbb");
    write_run(&r, &a);
    write_run(&r, &b);
    results_unlock(&r);
    cr_expect_eq(load("aaaaaaaaaa").n, 1);
    cr_expect_eq(load("cccccccccc").n, 0);
    cr_expect_eq(load(NULL).n, 2);
}

Test(results, a_second_try_keeps_the_first)
{
    struct results r = lock();
    struct run_record a = record(1, "pick", "k");
    a.status = RUN_FAILED;
    struct run_record b = record(1, "pick", "k");
    write_run(&r, &a);
    write_run(&r, &b);
    results_unlock(&r);
    struct run_list l = load("k");
    cr_assert_eq(l.n, 2);
    cr_expect_eq(l.run[0].status, RUN_FAILED, "in order of start");
    cr_expect_eq(l.run[1].status, RUN_VALID);
    cr_expect(text_ends(l.run[1].run_id, "-a2"));
}

Test(results, rounds_come_in_order)
{
    struct results r = lock();
    struct run_record a = record(2, "a", "k"), b = record(0, "b", "k"),
                      c = record(1, "c", "k");
    write_run(&r, &a);
    write_run(&r, &b);
    write_run(&r, &c);
    results_unlock(&r);
    struct run_list l = load("k");
    cr_assert_eq(l.n, 3);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(l.run[i].round, i);
}

Test(results, an_unfinished_run_is_not_seen_and_removed)
{
    struct results r = lock();
    struct err_msg msg = {""};
    struct run_record run = record(1, "pick", "k");
    cr_assert_eq(results_begin(&arena, &r, &run, &msg), ERR_OK);
    cr_expect_eq(access(run.folder, F_OK), 0);
    results_unlock(&r); // as if the process had died here
    cr_expect_eq(load(NULL).n, 0);
    r = lock();
    cr_expect_neq(access(run.folder, F_OK), 0, "the next lock removes it");
    results_unlock(&r);
}

Test(results, the_second_lock_names_the_holder)
{
    struct results r = lock(), second;
    struct err_msg msg = {""};
    cr_assert_eq(results_lock(&arena, dir, &second, &msg), ERR_CHILD);
    const char *me = arena_printf(&arena, "process %ld", (long)getpid());
    cr_expect_not_null(strstr(msg.text, me), "%s", msg.text);
    cr_expect_not_null(strstr(msg.text, "--out"), "%s", msg.text);
    results_unlock(&r);
    r = lock();
    results_unlock(&r);
}

Test(results, a_damaged_status_names_its_file)
{
    struct results r = lock();
    struct run_record run = record(1, "pick", "k");
    struct run_list l;
    struct err_msg msg = {""};
    write_run(&r, &run);
    results_unlock(&r);
    const char *path = arena_printf(&arena, "%s/status.json", run.folder);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs("{", f);
    fclose(f);
    enum err e = results_load(&arena, dir, NULL, &l, &msg);
    unlink(path);
    unlink(arena_printf(&arena, "%s/log.txt", run.folder));
    rmdir(run.folder);
    cr_assert_eq(e, ERR_PARSE);
    cr_expect_not_null(strstr(msg.text, path), "%s", msg.text);
}

Test(results, no_folder_means_no_runs)
{
    struct run_list l;
    struct err_msg msg;
    cr_assert_eq(results_load(&arena, "/nowhere/at/all", NULL, &l, &msg),
                 ERR_OK);
    cr_expect_eq(l.n, 0);
}
