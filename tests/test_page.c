#include "page/page.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

static struct arena arena;
static char root[] = "/tmp/moe-page-XXXXXX";
static struct err_msg msg;

static const char *path(const char *name)
{
    return arena_printf(&arena, "%s/%s", root, name);
}

static void write_file(const char *name, const char *text)
{
    cr_assert_eq(file_make_parents(path(name), &msg), ERR_OK, "%s", msg.text);
    FILE *f = fopen(path(name), "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static void make_root(void)
{
    arena_init(&arena);
    cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
    file_remove_tree(root);
    arena_clear(&arena);
}

TestSuite(page, .init = make_root, .fini = remove_root);

static const char layouts[] =
    "format,experiment,role,layout,pred_step_ms,meas_step_ms,source\n"
    "moe-bench/layouts/1,x,pick,Et|t*2L,90,100,emulated\n"
    "moe-bench/layouts/1,x,default,Ett|tL,110,,\n";

static const char runs[] =
    "format,experiment,run_id,role,layout,pp,vpp,dp,n_microbatches,status,"
    "reason,meas_step_corr_ms,source\n"
    "f,x,r01,pick,Et|t*2L,2,1,1,1,valid,,100,emulated\n"
    "f,x,r02,pick,Et|t*2L,2,1,1,1,nan,loss is nan,,emulated\n";

static const char iterations[] =
    "format,experiment,run_id,iteration,step_ms,usable\n"
    "f,x,r01,1,140,0\n"
    "f,x,r01,2,100,1\n";

/* Two stages, one micro-batch, two steps. */
static const char ops[] = "format,iteration,rank,stage,mb,kind,start_s,end_s\n"
                          "moe-train/ops/1,1,0,0,0,forward,0,0.005\n"
                          "moe-train/ops/1,1,1,1,0,forward,0.005,0.006\n"
                          "moe-train/ops/1,1,1,1,0,backward,0.006,0.007\n"
                          "moe-train/ops/1,1,0,0,0,backward,0.007,0.008\n"
                          "moe-train/ops/1,2,0,0,0,forward,0,0.001\n"
                          "moe-train/ops/1,2,1,1,0,forward,0.001,0.0025\n"
                          "moe-train/ops/1,2,1,1,0,backward,0.0025,0.003\n"
                          "moe-train/ops/1,2,0,0,0,backward,0.003,0.004\n";

/* The page of the folder below the root. */
static const char *page_of(const char *name)
{
    const char *dir = path(name), *text = NULL;
    const struct page_sources from = {&dir, 1};
    const enum err e = page_make(&arena, &from, &text, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    return text;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

static void has(const char *text, const char *part)
{
    cr_assert_not_null(strstr(text, part), "no '%s'", part);
}

Test(page, an_experiment_has_a_row_a_layout_and_a_row_a_run)
{
    write_file("x/layouts.csv", layouts);
    write_file("x/runs.csv", runs);
    const char *text = page_of("x");
    cr_assert_eq(count(text, "<tr data-s="), 4);
    cr_assert_eq(count(text, "<tr data-s=\"valid\">"), 2);
    has(text, "<td class=\"n\" data-v=\"-10\">-10.00%");
    has(text, "<tr data-s=\"not measured\">");
    has(text, "nan: <small>loss is nan</small>");
}

Test(page, the_recorded_step_is_the_used_one_in_whole_microseconds)
{
    write_file("x/layouts.csv", layouts);
    write_file("x/runs.csv", runs);
    write_file("x/iterations.csv", iterations);
    write_file("x/runs/r01/ops.csv", ops);
    const char *text = page_of("x");
    has(text, "\"timelines\":[{\"iteration\":2,\"pp\":2,\"n_mb\":1,"
              "\"fwd\":[0,1000,1000,1500],\"bwd\":[3000,1000,2500,500]}]");
    cr_assert_eq(count(text, "\"timeline\":0"), 2, "of the run, its layout");
}

Test(page, recorded_operations_that_do_not_fit_the_run_are_an_error)
{
    const char *dir = path("x"), *text = NULL;
    const struct page_sources from = {&dir, 1};
    write_file("x/layouts.csv", layouts);
    write_file("x/runs.csv", runs);
    write_file("x/runs/r01/ops.csv", "format,iteration\nmoe-train/ops/1,1\n");
    cr_assert_eq(page_make(&arena, &from, &text, &msg), ERR_PARSE);
    has(msg.text, "r01/ops.csv");
}

Test(page, a_run_id_leads_to_no_other_folder)
{
    write_file("x/layouts.csv", layouts);
    write_file("ops.csv", ops);
    write_file("x/runs/none/x", "");
    write_file("x/runs.csv",
               "format,experiment,run_id,role,layout,pp,vpp,dp,n_microbatches,"
               "status,reason,source\n"
               "f,x,../..,pick,Et|t*2L,2,1,1,1,valid,,emulated\n"
               "f,x,none/../../..,pick,Et|t*2L,2,1,1,1,valid,,emulated\n");
    write_file("x/iterations.csv", "format,experiment,run_id,iteration,"
                                   "step_ms,usable\n"
                                   "f,x,../..,2,100,1\n"
                                   "f,x,none/../../..,2,100,1\n");
    has(page_of("x"), "\"timelines\":[]");
}

/* Older tables have no step without the drift; a run's prediction is its
 * layout's, and counts once. */
Test(page, a_run_has_its_own_step_and_counts_with_its_layout)
{
    write_file("x/layouts.csv", layouts);
    write_file("x/runs.csv",
               "format,experiment,run_id,role,layout,pp,vpp,dp,n_microbatches,"
               "status,reason,meas_step_ms,source\n"
               "f,x,r01,pick,Et|t*2L,2,1,1,1,valid,,120,emulated\n");
    const char *text = page_of("x");
    has(text, "data-v=\"120\"");
    has(text, "data-v=\"-25\"");
    has(text, "<td class=\"n\">3<td class=\"n\">1<td class=\"n\">10.00%");
}

Test(page, folders_are_found_below_and_named_by_their_path)
{
    write_file("results/reference/x/layouts.csv", layouts);
    write_file("results/reference/x/models/layouts.csv", layouts);
    write_file("results/y/layouts.csv", layouts);
    const char *text = page_of("results");
    cr_assert_eq(count(text, "<tr data-s="), 4);
    has(text, "<td class=\"w1\">reference/<wbr>x<");
    has(text, "<td class=\"w1\">y<");
    write_file("my-results/z/layouts.csv", layouts);
    cr_assert_null(strstr(page_of("my-results"), "<td class=\"w1\">z<"));
}

Test(page, step_times_of_others_stand_beside_what_is_predicted)
{
    write_file("p/s/dataset.json",
               "{\"format\": \"moe-bench/published/1\", \"source\": \"s\", "
               "\"url\": \"javascript:x\", \"licence\": \"MIT\"}");
    write_file("p/s/rows.csv",
               "format,id,source,pp,vpp,layout,exclude,use,note,step_s\n"
               "f,a,s,2,1,,0,predict,,2\n"
               "f,b,s,2,1,,1,predict,too hot,3\n"
               "f,c,s,2,1,,0,,,3\n");
    write_file("p/predicted.csv", "format,source,id,pred_step_s,why\n"
                                  "f,s,a,2.5,\n");
    const char *text = page_of("p");
    has(text, "data-k=\"published\"");
    has(text, "<td class=\"n\" data-v=\"25\">+25.00%");
    has(text, "excluded: <small>too hot</small>");
    has(text, "not used: <small>");
    cr_assert_null(strstr(text, "href=\"javascript"));
}

Test(page, a_contribution_says_how_its_times_came_to_be)
{
    write_file("c/manifest.json", "{\"source\": \"measured\"}");
    write_file("c/rows.csv",
               "format,id,source,pp,vpp,layout,exclude,use,note,step_s\n"
               "f,a,s,2,1,Et|tL,0,fit,,2\n");
    has(page_of("c"), "<td class=\"k w1\" data-k=\"measured\">measured<");
}

Test(page, a_folder_without_datasets_is_an_error)
{
    const char *dir = path("none"), *text = NULL;
    const struct page_sources from = {&dir, 1};
    cr_assert_eq(page_make(&arena, &from, &text, &msg), ERR_PARSE);
    has(msg.text, "found no dataset");
}

Test(page, a_damaged_table_is_an_error_that_names_it)
{
    const char *dir = path("x"), *text = NULL;
    const struct page_sources from = {&dir, 1};
    write_file("x/layouts.csv", "format,role\nf,pick,more\n");
    cr_assert_eq(page_make(&arena, &from, &text, &msg), ERR_PARSE);
    has(msg.text, "x/layouts.csv");
}
