#include "base/file.h"
#include "base/text.h"
#include "published/import.h"
#include "published/score.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char HEAD[] =
    "id,source,group,compare,gpu,n_layers,hidden,seq,vocab,tp,dp,pp,mbs,"
    "microbatches,step_s,use\n";

static void write_file(const char *path, const char *head, const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f, "%s", path);
    fprintf(f, "%s%s", head, text);
    fclose(f);
}

/* A folder for one test. */
static char folder[] = "/tmp/published-XXXXXX";
static char file_path[64];

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(file_path, sizeof file_path, "%s/file", folder);
}

static void remove_folder(void)
{
    file_remove_tree(folder);
}

TestSuite(published, .init = make_folder, .fini = remove_folder);
TestSuite(import, .init = make_folder, .fini = remove_folder);

/* ---- predicting ---- */

static struct published predict(struct arena *a, const char *rows)
{
    const struct step_table_options options = {.terms =
                                                   observed_default_terms()};
    struct step_table t = {NULL, 0, 0};
    struct published p;
    struct err_msg msg;
    write_file(file_path, HEAD, rows);
    cr_assert_eq(step_table_read(a, file_path, &options, &t, &msg), ERR_OK,
                 "%s", msg.text);
    cr_assert_eq(published_predict(a, &t, options.terms, &p, &msg), ERR_OK,
                 "%s", msg.text);
    return p;
}

#define FIT_ROWS                                                               \
    "f1,s,g,,A100,8,512,1024,1000,8,4,4,1,16,1.00,fit\n"                       \
    "f2,s,g,,A100,8,512,1024,1000,8,4,4,1,64,3.70,fit\n"                       \
    "f3,s,g,,A100,8,512,1024,1000,8,2,2,1,32,2.90,fit\n"                       \
    "f4,s,h,,A100,16,512,1024,1000,8,4,4,2,16,3.60,fit\n"                      \
    "f5,s,h,,A100,16,512,1024,1000,8,8,4,2,16,3.64,fit\n"

/* Every number that was fitted, as bytes. */
static struct step_fit fitted(const struct published *p)
{
    cr_assert_eq(p->n_fits, 1);
    cr_assert(p->fit[0].made);
    return p->fit[0].choice.fit;
}

Test(published, predicted_rows_move_no_fitted_bit)
{
    static const char *const others[] = {
        FIT_ROWS "p1,s,g,,A100,8,512,1024,1000,8,4,4,1,32,1.9,predict\n",
        FIT_ROWS "p1,s,g,,A100,8,512,1024,1000,8,4,4,1,32,900,predict\n",
        FIT_ROWS "p1,s,h,,A100,16,512,1024,1000,8,4,2,2,48,1e-3,predict\n",
        "p0,s,z,,A100,16,512,1024,1000,8,4,2,2,48,1e-3,predict\n" FIT_ROWS
        "p1,s,h,,A100,16,512,1024,1000,8,4,2,2,48,,predict\n"};
    struct arena a;
    arena_init(&a);
    const struct published plain = predict(&a, FIT_ROWS);
    const struct step_fit want = fitted(&plain);
    cr_assert_gt(want.column[0].x, 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const struct published p = predict(&a, others[i]);
        const struct step_fit got = fitted(&p);
        cr_assert_eq(got.n_columns, want.n_columns);
        for (int j = 0; j < got.n_columns; j++) {
            cr_expect_arr_eq(&got.column[j].x, &want.column[j].x,
                             sizeof(double), "case %zu column %d", i, j);
            cr_expect_arr_eq(&got.column[j].se, &want.column[j].se,
                             sizeof(double), "case %zu column %d", i, j);
        }
    }
    arena_clear(&a);
}

Test(published, a_group_without_rows_to_fit_is_not_covered)
{
    struct arena a;
    arena_init(&a);
    const struct published p = predict(
        &a, FIT_ROWS "p1,s,z,,A100,8,512,1024,1000,8,4,4,1,32,1.9,predict\n"
                     "p2,s,g,,A100,8,512,1024,1000,8,4,4,1,32,1.9,predict\n");
    cr_assert_eq(p.n, 2);
    cr_expect_not(p.row[0].covered);
    cr_expect(isnan(p.row[0].pred_s));
    cr_expect(*p.row[0].why);
    cr_expect(p.row[1].covered);
    cr_expect_gt(p.row[1].pred_s, 1.0);
    cr_expect_lt(p.row[1].pred_s, 3.7);
    cr_expect_float_eq(p.row[1].pipeline_s + p.row[1].dp_s +
                           p.row[1].constant_s,
                       p.row[1].pred_s, 1e-9);
    arena_clear(&a);
}

/* ---- scores ---- */

static struct published_row scored(struct step_entry *x, double pred)
{
    return (struct published_row){
        .entry = x, .covered = true, .pred_s = pred, .why = ""};
}

Test(score, errors_regret_and_tau_of_a_handful)
{
    struct step_entry e[4] = {{.source = "s", .compare = "c", .meas_s = 10},
                              {.source = "s", .compare = "c", .meas_s = 11},
                              {.source = "s", .compare = "c", .meas_s = 12},
                              {.source = "s", .compare = "", .meas_s = 100}};
    // the second is taken for the fastest; the fitted one is third
    struct published_row rows[3] = {scored(&e[0], 10.5), scored(&e[1], 9.9),
                                    scored(&e[3], 110)};
    struct published_row fit[1] = {scored(&e[2], 12)};
    const struct published p = {
        .row = rows, .n = 3, .fitted = fit, .n_fitted = 1};
    struct published_score s;
    struct arena a;
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(published_score(&a, &p, "s", &s, &msg), ERR_OK);
    cr_expect_eq(s.n, 3);
    cr_expect_float_eq(s.mean, (0.05 + 0.1 + 0.1) / 3, 1e-12);
    cr_expect_float_eq(s.bias, (0.05 - 0.1 + 0.1) / 3, 1e-12);
    cr_expect_float_eq(s.worst, 0.1, 1e-12);
    cr_expect_eq(s.n_choices, 1);
    cr_expect_float_eq(s.regret, 0.1, 1e-12);
    // (1,2) wrong, (1,3) and (2,3) right
    cr_expect_eq(s.n_pairs, 3);
    cr_expect_float_eq(s.tau, 1.0 / 3, 1e-12);
    arena_clear(&a);
}

Test(score, nothing_to_choose_has_no_regret)
{
    struct step_entry e = {.source = "s", .compare = "c", .meas_s = 10};
    struct published_row row = scored(&e, 10);
    const struct published p = {.row = &row, .n = 1};
    struct published_score s;
    struct arena a;
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(published_score(&a, &p, NULL, &s, &msg), ERR_OK);
    cr_expect(isnan(s.regret));
    cr_expect(isnan(s.tau));
    arena_clear(&a);
}

/* ---- import ---- */

#define STAT(seconds)                                                          \
    "0: :::MLLOG {\"namespace\": \"\", \"time_ms\": 1, \"event_type\": "       \
    "\"POINT_IN_TIME\", \"key\": \"tracked_stats\", \"value\": "               \
    "{\"train_step_timing\": " seconds "}, \"metadata\": {\"step\": 1}}\n"

Test(import, an_mlperf_log_gives_the_median_behind_its_warm_up)
{
    struct arena a;
    struct import_times t;
    struct err_msg msg;
    arena_init(&a);
    write_file(
        file_path,
        ":::MLLOG {\"key\": \"global_batch_size\", \"value\": 64}\n"
        "noise :::MLLOG {cut short\n",
        STAT("9") STAT("9") STAT("9") STAT("9") STAT("9") STAT("2.0")
            STAT("2.2")
                STAT("2.1") ":::MLLOG {\"key\": \"tracked_stats\", \"value\": "
                            "{\"validation_step_timing\": 0.5}}\n");
    cr_assert_eq(import_mllog(&a, file_path, &t, &msg), ERR_OK, "%s", msg.text);
    cr_expect_float_eq(t.step_s, 2.1, 1e-12);
    cr_expect_float_eq(t.forward_s, 0.5, 1e-12);
    cr_expect_float_eq(t.global_batch, 64, 1e-12);
    cr_expect_eq(t.n, 3);
    cr_expect_eq(t.n_dropped, 5);
    arena_clear(&a);
}

/* Without step times a block's time over its steps stands for them. */
Test(import, blocks_stand_for_steps)
{
    struct arena a;
    struct import_times t;
    struct err_msg msg;
    arena_init(&a);
    write_file(
        file_path, ":::MLLOG {\"key\": \"global_batch_size\", \"value\": 4}\n",
        ":::MLLOG {\"key\": \"block_start\", \"time_ms\": 1000}\n"
        ":::MLLOG {\"key\": \"block_stop\", \"time_ms\": 9000, \"metadata\": "
        "{\"epoch_count\": 8}}\n"
        ":::MLLOG {\"key\": \"block_start\", \"time_ms\": 10000}\n"
        ":::MLLOG {\"key\": \"block_stop\", \"time_ms\": 16000, \"metadata\": "
        "{\"epoch_count\": 8}}\n");
    cr_assert_eq(import_mllog(&a, file_path, &t, &msg), ERR_OK, "%s", msg.text);
    cr_expect_float_eq(t.step_s, 3, 1e-12);
    cr_expect_eq(t.n, 1);
    write_file(file_path, "", "no log\n");
    cr_expect_eq(import_mllog(&a, file_path, &t, &msg), ERR_PARSE);
    arena_clear(&a);
}

Test(import, golden_values_drop_the_first_fifth)
{
    struct arena a;
    struct import_times t;
    struct err_msg msg;
    arena_init(&a);
    write_file(file_path, "",
               "{\"iteration-time\": {\"start_step\": 1, \"values\": {"
               "\"1\": \"nan\", \"5\": 9, \"10\": 3, \"15\": 3.5, \"20\": 4, "
               "\"25\": 3}}}");
    cr_assert_eq(import_golden(&a, file_path, &t, &msg), ERR_OK, "%s",
                 msg.text);
    cr_expect_float_eq(t.step_s, 3.25, 1e-12);
    cr_expect_eq(t.n_dropped, 1);
    write_file(file_path, "", "{\"lm loss\": {\"values\": {\"1\": 10}}}");
    cr_expect_eq(import_golden(&a, file_path, &t, &msg), ERR_PARSE);
    arena_clear(&a);
}

static struct published_dataset some_dataset(void)
{
    return (struct published_dataset){"some", "t", "a/b", "c", "MIT", "", ""};
}

Test(import, rows_are_added_and_replaced_by_id)
{
    static const char text[] =
        "id,source,step_s,ref\nr1,x,1.5,a/b:1\nr2,x,2.5,c/d:2\n";
    const struct published_dataset d = some_dataset();
    struct arena a;
    struct import_rows rows;
    struct err_msg msg;
    arena_init(&a);
    write_file(file_path, "", text);
    struct import_csv from = {file_path, "some", "a/b"};
    cr_assert_eq(import_csv(&a, &from, &rows, &msg), ERR_OK, "%s", msg.text);
    cr_expect_eq(rows.n, 1);
    cr_assert_eq(import_write(&a, folder, &d, &rows, &msg), ERR_OK, "%s",
                 msg.text);
    from.ref = NULL;
    cr_assert_eq(import_csv(&a, &from, &rows, &msg), ERR_OK);
    cr_assert_eq(import_write(&a, folder, &d, &rows, &msg), ERR_OK);
    const char *path = published_rows_path(&a, folder);
    from.path = path;
    cr_assert_eq(import_csv(&a, &from, &rows, &msg), ERR_OK);
    cr_expect_eq(rows.n, 2);
    struct published_dataset back;
    cr_assert_eq(published_dataset_read(&a, folder, &back, &msg), ERR_OK);
    cr_expect_str_eq(back.licence, "MIT");
    arena_clear(&a);
}

Test(import, figures_without_licence_or_place_are_refused)
{
    struct published_dataset d = some_dataset();
    struct arena a;
    struct import_rows rows;
    struct err_msg msg;
    arena_init(&a);
    write_file(file_path, "", "id,source,step_s,ref\nr1,x,1.5,a/b:1\n");
    const struct import_csv from = {file_path, "some", NULL};
    cr_assert_eq(import_csv(&a, &from, &rows, &msg), ERR_OK);
    d.licence = "proprietary";
    cr_expect_eq(import_write(&a, folder, &d, &rows, &msg), ERR_RANGE);
    d = some_dataset();
    d.source = "../up";
    cr_expect_eq(import_write(&a, folder, &d, &rows, &msg), ERR_RANGE);
    d = some_dataset();
    write_file(file_path, "", "id,source,step_s,ref\nr1,x,1.5,\n");
    cr_assert_eq(import_csv(&a, &from, &rows, &msg), ERR_OK);
    cr_expect_eq(import_write(&a, folder, &d, &rows, &msg), ERR_PARSE);
    write_file(file_path, "", "id,source,step_s,reff\nr1,x,1.5,q\n");
    cr_expect_eq(import_csv(&a, &from, &rows, &msg), ERR_PARSE);
    cr_expect_not_null(strstr(msg.text, "did you mean 'ref'"), "%s", msg.text);
    arena_clear(&a);
}
