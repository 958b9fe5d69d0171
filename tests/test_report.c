#include "report/draw.h"
#include "report/fill.h"
#include "report/report.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena arena;
static char dir[] = "/tmp/moe-report-XXXXXX";

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(arena_printf(&arena, "%s/%s", dir, name), "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static const char layouts[] =
    "format,experiment,role,layout,n_rounds,pred_step_ms,pred_lo_ms,pred_hi_ms,"
    "meas_step_ms,meas_lo_ms,meas_hi_ms,step_error_pct,replay_error_pct,"
    "pred_speedup,meas_speedup,worst_stage_pred_mem_bytes,"
    "worst_stage_meas_mem_bytes,source\n"
    "moe-bench/layouts/1,x,pick,Et|t*2L,3,90,88,92,95,94,96,-5.26,0.1,1.2,1.1,"
    ",,emulated\n"
    "moe-bench/layouts/1,x,default,Ett|tL,3,,,,110,,,,,,1,,,emulated\n";

static const char runs[] =
    "format,experiment,status,source,clock,launcher,hardware,commit,"
    "started_utc\n"
    "f,x,valid,emulated,cpu,smpirun,2x CPU,0123456789abcdef,"
    "2026-01-02T03:04:05Z\n"
    "f,x,timeout,emulated,cpu,smpirun,2x CPU,0123456789abcdef,"
    "2026-01-02T03:04:05Z\n";

static const char stages[] =
    "format,experiment,role,layout,stage,units,pred_fwd_ms,meas_fwd_ms,"
    "pred_bwd_ms,meas_bwd_ms,pred_mem_bytes,meas_mem_bytes,mem_error_pct,"
    "in_flight\n"
    "f,x,default,E|L,0,E,1,1.1,2,2.1,1048576,1048576,0,1\n"
    "f,x,default,E|L,1,L,3,,6,,,,,1\n";

static const char studies[] =
    "format,study,id,what,kind,published,computed,measured,source,note\n"
    "f,A,speedup,pick over default,follows,1.54,1.5421,,a paper,n_1\n"
    "f,A,pick,the pick,follows,Et|tL,Et|tL,,a paper,\n";
static const char constants[] =
    "format,constant,fitted,se,told,at_least,in_use,what\n"
    "f,product,1.6,0.1,1,0,1.6,products\nf,bytes,1.25,0,1,1,1.25,bytes\n"
    "f,kernel_s,2.5e-05,1e-06,0,0,2.5e-05,starts\n";
static const char errors[] =
    "format,source,use,n,mean_pct,median_pct,worst_pct,bias_pct\n"
    "f,a_b,fit,12,6.25,5,20,-1.5\n";
static const char plans[] =
    "format,experiment,card,pp,vpp,who,layout,by_flops_pct,by_roofline_pct,"
    "by_measured_pct,proof,m_over_t,l_over_t\n"
    "f,x,H200,4,2,flops,Et|t*2L,0,10.8,,optimal,1.1,7.7\n";

static const char units[] =
    "format,experiment,unit,kind,fwd_ms,fwd_se_ms,bwd_ms,bwd_se_ms,"
    "flops_fwd_ms,flops_bwd_ms\n"
    "f,x,t,t,1,0.1,2,0.1,1,2\nf,x,L,L,3,0.1,5,0.1,4,8\n";

static const char timeline[] =
    "format,experiment,role,layout,iteration,stage,mb,kind,start_ms,end_ms\n"
    "f,x,default,E|L,3,0,0,forward,0,1\nf,x,default,E|L,3,1,0,forward,1,2\n"
    "f,x,default,E|L,3,1,0,backward,2,4\nf,x,pick,E|L,3,0,0,backward,4,6\n";

static void setup(void)
{
    arena_init(&arena);
    cr_assert_not_null(mkdtemp(dir));
    write_file("layouts.csv", layouts);
    write_file("runs.csv", runs);
    write_file("stages.csv", stages);
    write_file("units.csv", units);
    write_file("timeline.csv", timeline);
}

static void teardown(void)
{
    const char *const names[] = {"layouts.csv", "runs.csv", "stages.csv",
                                 "units.csv", "timeline.csv"};
    for (int i = 0; i < 5; i++)
        unlink(arena_printf(&arena, "%s/%s", dir, names[i]));
    rmdir(dir);
    arena_clear(&arena);
}

TestSuite(report, .init = setup, .fini = teardown);

static const char *table(const char *name)
{
    const char *out = NULL;
    struct err_msg msg = {""};
    const struct report_source source = {"x", dir, "figs", NULL};
    enum err e = report_table(&arena, name, &source, &out, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    return out;
}

Test(report, layouts_table_has_a_row_a_layout)
{
    const char *t = table("layouts");
    cr_expect_not_null(
        strstr(t, "| pick | Et\\|t\\*2L | 90.0 [88.0, 92.0] | 95.0 [94.0, "
                  "96.0] | -5.26 | 0.100 | 1.20 | 1.10 | 3 | emulated |\n"),
        "%s", t);
}

Test(report, what_is_missing_is_a_dash)
{
    const char *t = table("layouts");
    cr_expect_not_null(strstr(t, "| default | Ett\\|tL | - | 110.0 | - | - | - "
                                 "| 1.00 | 3 | emulated |\n"),
                       "%s", t);
}

Test(report, runs_line_counts_what_is_left_out)
{
    cr_expect_str_eq(table("runs"),
                     "2 runs, 1 valid, 1 timeout (left out); emulated, cpu "
                     "clock, launcher smpirun, on 2x CPU; commit 0123456789ab, "
                     "2026-01-02.\n");
}

static enum err fill(const char *text, const char **out, struct err_msg *msg)
{
    struct report_source s = {"x", dir, "figs", NULL};
    const struct report_sources from = {&s, 1};
    return report_fill(&arena, text, &from, out, msg);
}

Test(report, fills_between_markers_and_nothing_else)
{
    const char *out = NULL, *again = NULL;
    struct err_msg msg = {""};
    const char text[] = "before\n<!-- begin:runs:x -->\nold\n"
                        "<!-- end:runs:x -->\nafter\n";
    cr_assert_eq(fill(text, &out, &msg), ERR_OK, "%s", msg.text);
    cr_expect_eq(strncmp(out, "before\n<!-- begin:runs:x -->\n2 runs,", 35), 0,
                 "%s", out);
    cr_expect_not_null(strstr(out, ".\n<!-- end:runs:x -->\nafter\n"));
    cr_expect_null(strstr(out, "old"));
    cr_assert_eq(fill(out, &again, &msg), ERR_OK);
    cr_expect_str_eq(out, again, "filling twice changes nothing");
}

Test(report, leaves_tables_of_other_experiments)
{
    const char *out = NULL;
    struct err_msg msg = {""};
    const char text[] = "<!-- begin:runs:y -->\nkept\n<!-- end:runs:y -->\n";
    cr_assert_eq(fill(text, &out, &msg), ERR_OK, "%s", msg.text);
    cr_expect_str_eq(out, text);
}

Test(report, a_marker_without_end_is_an_error)
{
    const char *out = NULL;
    struct err_msg msg = {""};
    cr_assert_eq(fill("<!-- begin:runs:x -->\n", &out, &msg), ERR_PARSE);
    cr_expect_not_null(strstr(msg.text, "<!-- end:runs:x -->"), "%s", msg.text);
}

Test(report, an_unknown_table_names_the_nearest)
{
    const char *out = NULL;
    struct err_msg msg = {""};
    cr_assert_eq(
        fill("<!-- begin:layout:x --><!-- end:layout:x -->", &out, &msg),
        ERR_PARSE);
    cr_expect_not_null(strstr(msg.text, "did you mean 'layouts'"), "%s",
                       msg.text);
}

Test(report, sources_are_the_folders_with_layouts)
{
    struct report_sources s;
    struct err_msg msg = {""};
    const char *root = arena_printf(&arena, "%s/results", dir);
    const char *const make[] = {"", "/b", "/a", "/empty"};
    const struct report_find find = {root, "figs"};
    for (int i = 0; i < 4; i++)
        cr_assert_eq(mkdir(arena_printf(&arena, "%s%s", root, make[i]), 0700),
                     0);
    enum err none = report_find_sources(&arena, &find, &s, &msg);
    write_file("results/a/layouts.csv", layouts);
    write_file("results/b/recipes.csv", layouts);
    enum err e = report_find_sources(&arena, &find, &s, &msg);
    unlink(arena_printf(&arena, "%s/a/layouts.csv", root));
    unlink(arena_printf(&arena, "%s/b/recipes.csv", root));
    for (int i = 3; i >= 0; i--)
        rmdir(arena_printf(&arena, "%s%s", root, make[i]));
    cr_expect_eq(none, ERR_PARSE, "without any");
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_assert_eq(s.n, 2);
    cr_expect_str_eq(s.source[0].experiment, "a");
    cr_expect_str_eq(s.source[1].experiment, "b");
    cr_expect_str_eq(s.source[1].figures, "figs");
}

Test(report, a_page_has_every_table_that_there_is)
{
    const char *page = NULL;
    struct err_msg msg = {""};
    const struct report_source source = {"x", dir, "figs", NULL};
    // without jitter.csv, as older results are
    enum err e = report_page(&arena, &source, &page, &msg);
    cr_expect_eq(e, ERR_PARSE, "runs.csv lacks a column: not left out");
    write_file("runs.csv", "format,experiment,status,round,layout,"
                           "meas_step_corr_ms,source,clock,launcher,hardware,"
                           "commit,started_utc\n"
                           "f,x,valid,1,E|L,2,measured,wall,mpirun,h,c,t\n");
    e = report_page(&arena, &source, &page, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_expect_eq(strncmp(page, "# x\n", 4), 0, "%s", page);
    cr_expect_not_null(strstr(page, "\n## Layouts\n\n| role |"), "%s", page);
    cr_expect_not_null(strstr(page, "](figs/x-step-time.svg)\n"), "%s", page);
    cr_expect_not_null(strstr(page, "\n## Runs\n\n1 runs, 1 valid"), "%s",
                       page);
    cr_expect_null(strstr(page, "## Jitter"), "%s", page);
}

static const char recipes_csv[] =
    "format,experiment,way,pp,vpp,ep_overlap,grid,m_over_t,l_over_t,who,"
    "compared,layout,pred_step_ms,planner_step_ms,bound_ms,proof,gap_pct,"
    "worst_rank_mem_bytes,reason\n"
    "f,y,1,2,1,0,0,1,2,planner,0,Et*2|tL,100,100,100,optimal,0,1073741824,\n"
    "f,y,1,2,1,0,0,1,2,recipe,1,Et|ttL,110,100,100,optimal,10,2147483648,\n"
    "f,y,1,2,1,0,0,1,2,default,0,Et|ttL,110,100,100,optimal,10,2147483648,\n"
    "f,y,1,2,1,1,0,,,planner,0,,,,,refused,,,no: virtual stages\n"
    "f,y,2,2,2,0,0,1,2,planner,0,E|t|t|tL,90,90,80,gap,12.5,1073741824,\n"
    "f,y,2,2,2,0,0,1,2,count-based,1,E|t|t|L,99,90,80,gap,23.75,,\n"
    "f,y,1,2,1,0,1,1.5,1,planner,0,Et*2|tL,50,50,50,optimal,0,1073741824,\n"
    "f,y,1,2,1,0,1,1.5,1,recipe,1,Et|ttL,50,50,50,optimal,0,2147483648,\n"
    "f,y,1,2,1,0,1,1.5,4,planner,0,E|tL,60,60,60,optimal,0,3221225472,\n"
    "f,y,1,2,1,0,1,1.5,4,recipe,1,Et|ttL,63,60,60,optimal,5,2147483648,\n";

/* A table of a folder that holds nothing but recipes.csv, which `make` gets. */
static const char *planned_table(const char *name, enum err *e,
                                 struct err_msg *msg)
{
    const char *out = NULL;
    const char *sub = arena_printf(&arena, "%s/y", dir);
    const struct report_source source = {"y", sub, "figs", NULL};
    cr_assert_eq(mkdir(sub, 0700), 0);
    write_file("y/recipes.csv", recipes_csv);
    *e = name ? report_table(&arena, name, &source, &out, msg)
              : report_page(&arena, &source, &out, msg);
    unlink(arena_printf(&arena, "%s/recipes.csv", sub));
    rmdir(sub);
    return out;
}

Test(report, recipes_stand_beside_the_planners_layout)
{
    enum err e;
    struct err_msg msg = {""};
    const char *t = planned_table("recipes", &e, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_expect_not_null(strstr(t,
                              "| PP2 VPP1 | no | recipe, default | Et\\|ttL | "
                              "110.0 | 10.00 | 2.0 |\n"),
                       "%s", t);
    cr_expect_not_null(strstr(t, "| PP2 VPP1 | yes | - | refused: no: virtual "
                                 "stages | - | - | - |\n"),
                       "%s", t);
    // not proved: from the planner's layout to the bound
    cr_expect_not_null(strstr(t, "| 99.0 | 10.00 to 23.75 |"), "%s", t);
    cr_expect_null(strstr(t, "| 63.0 |"), "other costs are another table");
}

Test(report, ratios_are_columns_of_gaps)
{
    enum err e;
    struct err_msg msg = {""};
    const char *t = planned_table("ratios", &e, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_expect_not_null(strstr(t, "| gap % at L/t 1 | gap % at L/t 4 |"), "%s",
                       t);
    cr_expect_not_null(strstr(t, "| PP2 VPP1 | no | recipe | 1.5 | 0.00 | 5.00 "
                                 "| 2.0 | 1.0 to 3.0 |\n"),
                       "%s", t);
}

Test(report, a_page_of_what_was_only_planned_has_no_other_table)
{
    enum err e;
    struct err_msg msg = {""};
    const char *page = planned_table(NULL, &e, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_expect_not_null(strstr(page, "\n## Recipes\n\n| split |"), "%s", page);
    cr_expect_not_null(strstr(page, "](figs/y-recipes-gap.svg)\n"), "%s", page);
    cr_expect_null(strstr(page, "## Summary"), "%s", page);
    cr_expect_null(strstr(page, "## Layouts"), "%s", page);
}

Test(report, draws_figures_from_csv)
{
    const struct report_source s = {"x", dir, "figs", NULL};
    const struct drawing d = {&s, "plots", dir, NULL};
    struct err_msg msg = {""};
    if (access("plots/style.gp", R_OK) != 0 ||
        access("/usr/bin/gnuplot", X_OK) != 0)
        cr_skip_test("needs gnuplot and the repository root");
    enum err e = draw_figures(&arena, &d, &msg);
    const char *const names[] = {
        "x-step-time.svg",    "x-step-time.pdf", "x-stage-work.svg",
        "x-stage-work.pdf",   "x-speedup.svg",   "x-speedup.pdf",
        "x-stage-memory.svg", "x-timeline.svg",  "x-timeline.pdf",
        "x-stage-memory.pdf", "x-unit-cost.svg", "x-unit-cost.pdf"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct stat st;
        const char *path = arena_printf(&arena, "%s/%s", dir, names[i]);
        cr_expect_eq(stat(path, &st), 0, "no %s", names[i]);
        cr_expect_gt(st.st_size, 2000, "%s is empty", names[i]);
        unlink(path);
    }
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
}

Test(report, a_figure_without_data_is_left_out)
{
    const struct report_source s = {"x", dir, "figs", NULL};
    char *log = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&log, &len);
    const struct drawing d = {&s, "plots", dir, out};
    struct err_msg msg = {""};
    if (access("plots/style.gp", R_OK) != 0 ||
        access("/usr/bin/gnuplot", X_OK) != 0)
        cr_skip_test("needs gnuplot and the repository root");
    static const char *const figures[] = {"step-time", "speedup", "stage-work",
                                          "stage-memory", "unit-cost"};
    write_file("timeline.csv", "format,role,end_ms\n");
    enum err e = draw_figures(&arena, &d, &msg);
    fclose(out);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_expect_not_null(strstr(log, "x-timeline: left out"), "%s", log);
    free(log);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        unlink(arena_printf(&arena, "%s/x-%s.svg", dir, figures[i]));
        unlink(arena_printf(&arena, "%s/x-%s.pdf", dir, figures[i]));
    }
}

static const char *table_of(const char *name, const char *file,
                            const char *text)
{
    const struct report_source source = {"x", dir, "figures", NULL};
    const char *out = NULL;
    struct err_msg msg = {""};
    write_file(file, text);
    cr_assert_eq(report_table(&arena, name, &source, &out, &msg), ERR_OK, "%s",
                 msg.text);
    unlink(arena_printf(&arena, "%s/%s", dir, file));
    return out;
}

/* Published and measured never share a column, and what is absent is no 0. */
Test(report, tables_of_what_others_published)
{
    const char *t = table_of("studies", "studies.csv", studies);
    cr_expect(strstr(t, "| published | computed | measured |"), "%s", t);
    cr_expect(strstr(t, "| follows | 1.54 | 1.54 | - | n\\_1 |"), "%s", t);
    cr_expect(strstr(t, "| Et\\|tL | Et\\|tL | - |"), "%s", t);
    t = table_of("constants", "constants.csv", constants);
    cr_expect(strstr(t, "| product | 1.6 | 0.1 | 62% | fitted |"), "%s", t);
    cr_expect(strstr(t, "| 80% | at its least |"), "%s", t);
    cr_expect(strstr(t, "| 25 us | 1 | - | not told apart |"), "%s", t);
    t = table_of("priced", "errors.csv", errors);
    cr_expect(strstr(t, "| a\\_b | fit | 12 | 6.2 | 5.0 | 20.0 | -1.5 |"), "%s",
              t);
    t = table_of("plans", "plans.csv", plans);
    cr_expect(strstr(t, "| PP4 VPP2 | flops | Et\\|t\\*2L | 0.00 | 10.80 | - "
                        "| 1.10 | 7.70 |"),
              "%s", t);
}
