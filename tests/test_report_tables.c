#include "base/file.h"
#include "report/cells.h"
#include "report/fill.h"
#include "report/reference_tables.h"
#include "report/report.h"
#include "report/stale.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena arena;
static char dir[] = "/tmp/moe-tables-XXXXXX";

static const char *in_dir(const char *name)
{
    return arena_printf(&arena, "%s/%s", dir, name);
}

/* Below `dir`, with the folders above it. */
static void write_file(const char *name, const char *text)
{
    char *path = arena_strdup(&arena, in_dir(name));
    for (char *at = strchr(path + strlen(dir) + 1, '/'); at;
         at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f, "%s", path);
    fputs(text, f);
    fclose(f);
}

/* Two rounds of a default, a count-based layout and a pick, which is second. */
static void write_experiment(const char *name)
{
    write_file(
        arena_printf(&arena, "%s/layouts.csv", name),
        "format,experiment,role,layout,n_rounds,pred_step_ms,pred_lo_ms,"
        "pred_hi_ms,meas_step_ms,meas_lo_ms,meas_hi_ms,step_error_pct,"
        "replay_error_pct,pred_speedup,meas_speedup,source\n"
        "f,x,pick,Et|tL,2,99,98,100,100,99,101,-1,0.1,2,2,emulated\n"
        "f,x,default,E|ttL,2,206,,,200,,,3,0.2,1,1,emulated\n"
        "f,x,count-based,Ett|L,2,80,,,80,79,81,0,0.3,2.5,2.5,emulated\n");
    write_file(
        arena_printf(&arena, "%s/runs.csv", name),
        "format,run_id,round,role,layout,n_ranks,launcher,clock,hardware,"
        "status,reason,meas_step_corr_ms,cost_usd,source,commit,"
        "started_utc\n"
        "f,r0,0,profile,Et|tL,4,smpirun,cpu,2x CPU,valid,,,,emulated,c,"
        "2026-02-28T23:59:00Z\n"
        "f,r1,1,pick,Et|tL,4,smpirun,cpu,2x CPU,valid,,100,0.5,emulated,"
        "c,2026-03-01T00:01:30Z\n"
        "f,r2,1,default,E|ttL,4,smpirun,cpu,2x CPU,oom,out of | memory,,"
        "0.25,emulated,c,2026-03-01T00:02:00Z\n");
    write_file(arena_printf(&arena, "%s/stages.csv", name),
               "format,role,stage,mem_error_pct,meas_mem_bytes\n"
               "f,pick,0,-0.5,1\nf,neighbour,0,0.25,1\n");
    write_file(arena_printf(&arena, "%s/runs/r0/status.json", name),
               "{\"wall_s\": 10}");
    write_file(arena_printf(&arena, "%s/runs/r1/status.json", name),
               "{\"wall_s\": 20.5}");
}

static void setup(void)
{
    arena_init(&arena);
    cr_assert_not_null(mkdtemp(dir));
}

static void teardown(void)
{
    file_remove_tree(dir);
    arena_clear(&arena);
}

TestSuite(report_tables, .init = setup, .fini = teardown);

/* The table of `dir`, or of one experiment in it. */
static const char *table(const char *name, const char *experiment)
{
    const char *out = NULL;
    struct err_msg msg = {""};
    const struct report_source source = {experiment ? experiment : "reference",
                                         experiment ? in_dir(experiment) : dir,
                                         "figs", "results/reference"};
    cr_assert_eq(report_table(&arena, name, &source, &out, &msg), ERR_OK, "%s",
                 msg.text);
    return out;
}

Test(report_tables, overview_has_a_row_an_experiment_that_ran)
{
    write_experiment("b");
    write_experiment("a_1");
    write_file("planned/recipes.csv", "format,gap_pct\n");
    const char *t = table("overview", NULL);
    // mean of 1, 3 and 0; the pick 100 against 200, 80 and 80
    cr_expect(strstr(t, "| a\\_1 | emulated, cpu clock | 3 | 2 of 3 | 1.33 | "
                        "3.00 | - | 0.300 | 0.500 | 2.00 | 0.80 | 25.00 |\n"
                        "| b | emulated"),
              "%s", t);
    cr_expect_null(strstr(t, "planned"), "%s", t);
}

Test(report_tables, costs_are_of_all_launches)
{
    write_experiment("a");
    const char *t = table("costs", NULL);
    // over the end of a month; the median of two kept launches
    cr_expect(strstr(t, "| a | 3 | 4 | 2x CPU | 3.0 | 15.2 | 20.5 | $0.75 |\n"),
              "%s", t);
}

Test(report_tables, overview_csv_keeps_every_role)
{
    const char *csv = NULL;
    struct err_msg msg = {""};
    write_experiment("a");
    cr_assert_eq(reference_tables_csv(&arena, dir, &csv, &msg), ERR_OK, "%s",
                 msg.text);
    cr_expect(strstr(csv, "\nmoe-bench/overview/1,a,emulated,cpu,default,"
                          "E|ttL,2,3,0.2\n"),
              "%s", csv);
}

Test(report_tables, dropped_runs_have_their_reasons)
{
    write_experiment("a");
    const char *t = table("dropped", "a");
    cr_expect(strstr(t,
                     "| r2 | 1 | default | E\\|ttL | oom | out of \\| memory "
                     "|\n"),
              "%s", t);
    cr_expect_null(strstr(t, "r1"), "%s", t);
}

/* Symbols of a hybrid model begin emphasis; older files lack columns. */
Test(report_tables, stages_keep_symbols_and_lack_nothing_but_what_is_missing)
{
    write_experiment("a");
    write_file(
        "a/stages.csv",
        "format,experiment,role,units\nmoe-bench/stages/1,a,pick,*E*E\n");
    write_file("a/layouts.csv",
               "format,role,meas_step_ms\nmoe-bench/layouts/1,pick,7\n");
    const char *t = table("stages", "a"), *l = table("layouts", "a");
    cr_expect(strstr(t, "| pick |  | \\*E\\*E | - |"), "%s", t);
    cr_expect_null(strstr(l, "null"), "%s", l);
}

Test(report_tables, verdicts_come_from_a_runs_manifest)
{
    write_experiment("a");
    cr_expect(strstr(table("verdicts", "a"), "nothing is judged"));
    write_file("a/runs/r0/manifest.json",
               "{\"format\": \"moe-bench/experiment/1\", \"name\": \"a\", "
               "\"question\": \"Why?\", \"model\": \"m.json\", "
               "\"parallel\": {\"pp\": 2}, \"batch\": {\"micro_batch\": 1, "
               "\"global_batch\": 4, \"seq_tokens\": 8}, \"launcher\": "
               "{\"kind\": \"auto\"}, \"iterations\": {\"count\": 3}, "
               "\"measure\": [{\"role\": \"default\"}], \"accept\": "
               "{\"max_step_error_pct\": 2, \"max_replay_error_pct\": 0.5}}");
    const char *t = table("verdicts", "a");
    cr_expect(strstr(t, "A bound of the manifest is missed"), "%s", t);
    cr_expect(strstr(t, "3.000, want at most 2: missed\n"), "%s", t);
    cr_expect(strstr(t, "0.300, want at most 0.5: ok\n"), "%s", t);
}

Test(report_tables, commands_name_the_final_folder_and_are_quoted)
{
    write_experiment("a");
    cr_expect_str_eq(table("commands", "a"), "", "a dataset keeps no words");
    write_file("a/runs/r1/argv.json",
               "[\"train\", \"--layout\", \"Et|tL\", \"x/.tmp-r1/ops.csv\"]");
    write_file("a/runs/r1/env.json", "[\"OMP_NUM_THREADS=1\"]");
    cr_expect_str_eq(table("commands", "a"),
                     "```sh\n# pick, round 1\nOMP_NUM_THREADS=1 train --layout "
                     "'Et|tL' x/r1/ops.csv\n```\n");
}

Test(report_tables, memory_errors_are_by_kind_and_age)
{
    write_file("memory.csv",
               "format,case,moe,primary,supported,allocated_error_pct,"
               "peak_error_pct\n"
               "f,c1,1,1,1,-1,2\nf,c1,1,1,1,3,-4\nf,c2,1,0,1,9,\n"
               "f,c3,1,1,0,,\nf,c4,0,1,1,0.5,1\n");
    const char *t = table("memory", NULL);
    cr_expect(strstr(t, "| MoE, current images | 2 | 2.00 | 2.80 | 3.00 | 3.00 "
                        "| 3.80 | 4.00 |\n"),
              "%s", t);
    cr_expect(strstr(t, "| MoE, all images | 3 | 3.00 |"), "%s", t);
    cr_expect(strstr(t, "2 of 3 cases with experts, 1 of 1 dense"), "%s", t);
}

Test(report_tables, searches_say_how_they_ended)
{
    write_file("search.csv",
               "format,case,kind,pp,vpp,n_mb,n_layers,space,proof,best,bound,"
               "wall_s,cpu_s\n"
               "f,a,,8,2,64,61,3527929709749632,optimal,100,100,0.5,0.25\n"
               "f,b,memory limit,8,1,64,61,100,gap,103,100,1,1\n"
               "f,c,disturbed costs,8,1,64,61,100,optimal,7,7,2,1\n"
               "f,d,disturbed costs,8,1,64,61,100,gap,7,6,1,3\n");
    const char *t = table("search", NULL);
    cr_expect(strstr(t, "| PP8 VPP2, 61 layers, 64 micro-batches | 3.5e+15 | "
                        "100 | optimal | 0.50 | 0.25 |\n"),
              "%s", t);
    cr_expect(strstr(t, ", memory limit | 100 | 103 | gap of 3.00% |"), "%s",
              t);
    cr_expect(strstr(t, "| 1 of 2 proved | 2.00 | 3.00 |\n"), "%s", t);
}

Test(report_tables, a_caption_has_n_kind_and_source)
{
    write_experiment("a");
    cr_expect_str_eq(
        table("step-time", "a"),
        "![predicted and measured step time](figs/a-step-time.svg)\n\n"
        "*a: predicted and measured step time; n = 3 roles and layouts; "
        "emulated, cpu clock, 2x CPU; from `results/reference/layouts.csv` "
        "([PDF](figs/a-step-time.pdf)).*\n");
    // only what is drawn is counted: no neighbour
    cr_expect(strstr(table("stage-memory", "a"), "; n = 1 stages of the"));
    cr_expect_str_eq(table("timeline", "a"), "", "no data, no figure");
}

Test(report_tables, a_cell_keeps_a_layout_on_its_line)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    cell_text(out, "Et*2|t_m\nL");
    cell_number(out, 0.0 / 0.0, 2);
    fclose(out);
    cr_expect_str_eq(text, "Et\\*2\\|t\\_m L-");
    free(text);
}

/* Searches that prove the same best step differ in the last digit. */
Test(report_tables, gains_of_halves_are_given_with_what_is_proved)
{
    write_file("a-one/recipes.csv",
               "format,experiment,who,pp,vpp,n_mb,pred_step_ms,bound_ms,proof,"
               "gap_pct\n"
               "f,a-one,planner,4,1,8,100,100,optimal,0\n"
               "f,a-one,whole-layers,4,1,8,100,99.9999,optimal,0\n"
               "f,a-one,planner,4,2,8,90,90,optimal,0\n"
               "f,a-one,whole-layers,4,2,8,99,99,optimal,0\n"
               "f,a-one,planner,4,3,8,90,80,gap,12.5\n"
               "f,a-one,whole-layers,4,3,8,99,99,optimal,0\n");
    const char *t = table("halves", NULL);
    cr_expect(strstr(t, "| PP4 VPP1 | 8 | 100.0 | optimal | 100.0 | optimal | "
                        "0.00 |\n"),
              "%s", t);
    cr_expect(strstr(t, "| 10.00 |\n"), "%s", t);
    cr_expect(strstr(t, "gap 12.5% | 99.0 | optimal | 10.00 to 23.75 |\n"),
              "%s", t);
}

/* What report_compare() prints of a text. */
static const char *compared(const char *text, int *n)
{
    struct report_source s = {"a", in_dir("a"), "figs", NULL};
    const struct report_sources from = {&s, 1};
    const struct report_text of = {"R.md", text};
    char *lines = NULL;
    size_t len = 0;
    struct err_msg msg = {""};
    struct stale stale = {open_memstream(&lines, &len), 0};
    cr_assert_eq(report_compare(&arena, &of, &from, &stale, &msg), ERR_OK, "%s",
                 msg.text);
    fclose(stale.out);
    const char *copy = arena_strdup(&arena, lines);
    free(lines);
    *n = stale.n;
    return copy;
}

Test(report_tables, what_is_stale_is_named_with_its_section)
{
    int n = 0;
    const char *filled = NULL;
    struct report_source s = {"a", in_dir("a"), "figs", NULL};
    const struct report_sources from = {&s, 1};
    struct err_msg msg = {""};
    write_experiment("a");
    cr_assert_eq(report_fill(&arena,
                             "# One\n## Two\n<!-- begin:runs:a -->\n"
                             "<!-- end:runs:a -->\n",
                             &from, &filled, &msg),
                 ERR_OK, "%s", msg.text);
    cr_expect_str_eq(compared(filled, &n), "");
    cr_expect_eq(n, 0);
    char *bad = arena_strdup(&arena, filled);
    *strstr(bad, "3 runs") = '4';
    cr_expect_str_eq(compared(bad, &n),
                     "R.md:3: section 'Two', table 'runs:a': "
                     "it is not what the data give\n");
    cr_expect_eq(n, 1);
    cr_expect(strstr(compared("no table", &n), "no table of 'a'"));
    cr_expect_eq(n, 1);
    cr_expect(strstr(compared("<!-- begin:runs:b -->\n<!-- end:runs:b -->\n"
                              "<!-- begin:runs:a -->\nx<!-- end:runs:a -->\n",
                              &n),
                     "R.md:1: section 'the beginning', table 'runs:b': there "
                     "are no data for it"));
    cr_expect_eq(n, 2);
}

/* What stale_figures() prints of the folders kept and made. */
static const char *figures_compared(int *n)
{
    char *lines = NULL;
    size_t len = 0;
    struct err_msg msg = {""};
    const struct stale_pair p = {in_dir("kept"), in_dir("made")};
    struct stale stale = {open_memstream(&lines, &len), 0};
    cr_assert_eq(stale_figures(&arena, &p, &stale, &msg), ERR_OK, "%s",
                 msg.text);
    fclose(stale.out);
    const char *copy = arena_strdup(&arena, lines);
    free(lines);
    *n = stale.n;
    return copy;
}

Test(report_tables, figures_are_compared_byte_by_byte)
{
    int n = 0;
    static const char *const names[] = {"a.svg", "a.pdf", "b.svg", "b.pdf"};
    for (int i = 0; i < 4; i++) {
        write_file(arena_printf(&arena, "kept/%s", names[i]), "same");
        write_file(arena_printf(&arena, "made/%s", names[i]), "same");
    }
    cr_expect_str_eq(figures_compared(&n), "");
    write_file("made/a.pdf", "one");
    cr_expect(strstr(figures_compared(&n), "/a.pdf: it is not what the data"));
    cr_expect_eq(n, 1, "one PDF is stale where another is equal");
    unlink(in_dir("kept/b.pdf"));
    unlink(in_dir("made/b.pdf"));
    cr_expect(strstr(figures_compared(&n), "/a.pdf: it is not what the data"));
    cr_expect_eq(n, 1, "one alone tells nothing of the library");
    write_file("kept/b.pdf", "same");
    write_file("made/b.pdf", "another");
    cr_expect(strstr(figures_compared(&n), "another drawing library or font"));
    cr_expect_eq(n, 0, "where none is equal it is the library");
    write_file("made/a.svg", "new");
    write_file("made/c.svg", "new");
    write_file("kept/old.png", "");
    const char *lines = figures_compared(&n);
    cr_expect(strstr(lines, "/a.svg: it is not what the data give\n"), "%s",
              lines);
    cr_expect(strstr(lines, "/c.svg: it is missing\n"), "%s", lines);
    cr_expect(strstr(lines, "/old.png: no figure of the report, remove it\n"),
              "%s", lines);
    cr_expect_eq(n, 3);
}
