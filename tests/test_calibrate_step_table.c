#include "calibrate/step_table.h"
#include "small_model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char HEAD[] =
    "id,source,group,compare,gpu,n_layers,hidden,ffn,seq,vocab,tp,dp,pp,vpp,"
    "layout,recompute,schedule,mbs,microbatches,step_s,use,exclude\n";

struct tables {
    struct arena arena;
    struct step_table t;
    struct err_msg msg;
    enum err err;
};

static struct tables read_rows(const char *rows,
                               const struct step_table_options *options)
{
    struct tables x = {.err = ERR_OK};
    char path[] = "/tmp/step-table-XXXXXX";
    const int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    cr_assert_not_null(f);
    fprintf(f, "%s%s", HEAD, rows);
    fclose(f);
    arena_init(&x.arena);
    x.err = step_table_read(&x.arena, path, options, &x.t, &x.msg);
    remove(path);
    return x;
}

static struct tables read_plain(const char *rows)
{
    const struct step_table_options options = {.terms =
                                                   observed_default_terms()};
    return read_rows(rows, &options);
}

Test(step_table, a_row_becomes_a_model_with_its_split)
{
    struct tables x = read_plain(
        "a,s,g,,A100,8,512,,1024,1000,2,4,4,1,,full,1f1b,2,16,1.5,fit,0\n");
    cr_assert_eq(x.err, ERR_OK, "%s", x.msg.text);
    cr_assert_eq(x.t.n, 1);
    const struct observed *o = x.t.entry[0].of;
    cr_assert_not_null(o, "%s", x.t.entry[0].why);
    cr_expect_eq(o->model.ffn, 2048);
    cr_expect_not(o->model.gated);
    cr_expect_eq(o->model.padded_vocab, 1024);
    cr_expect_eq(o->model.batch.n_microbatches, 16);
    cr_expect_eq(o->model.par.dp, 4);
    cr_expect_eq(o->layout.n_stages, 4);
    cr_expect_str_eq(o->layout.units[0], "Ett");
    cr_expect_str_eq(o->layout.units[3], "ttL");
    cr_expect_float_eq(o->bwd_ratio[KIND_T], 3, 1e-12);
    cr_expect_float_eq(o->bwd_ratio[KIND_L], 2, 1e-12);
    arena_clear(&x.arena);
}

/* Scores and values: 2 x tokens x keys/2 x 2 x hidden of a layer's FLOPs. */
Test(step_table, selective_recompute_runs_scores_again)
{
    struct tables x = read_plain("a,s,g,,A100,8,512,,1024,1000,1,1,4,1,,"
                                 "selective,1f1b,1,16,1.5,fit,0\n");
    const struct observed *o = x.t.entry[0].of;
    cr_assert_not_null(o, "%s", x.t.entry[0].why);
    const double scores = 2.0 * 1024 * 512 * 2 * 512;
    cr_expect_float_eq(o->bwd_ratio[KIND_T] - 2,
                       scores / model_unit_fwd_flops(&o->model, KIND_T), 1e-9);
    arena_clear(&x.arena);
}

Test(step_table, what_megatron_lacks_is_not_covered)
{
    struct tables x = read_plain(
        "a,s,g,,A100,8,512,,1024,1000,1,1,4,1,,,zb,1,16,1.5,predict,0\n"
        "b,s,g,,A100,7,512,,1024,1000,1,1,4,1,,,1f1b,1,16,1.5,predict,0\n"
        "c,s,g,,A100,,512,,1024,1000,1,1,4,1,,,1f1b,1,16,1.5,predict,0\n"
        "d,s,g,,A100,8,512,,1024,1000,1,1,4,1,Et*9|t|t|L,,1f1b,1,16,1.5,"
        "predict,0\n");
    static const char *const words[] = {"zb", "divisible", "n_layers",
                                        "t_count"};
    cr_assert_eq(x.err, ERR_OK, "%s", x.msg.text);
    for (int i = 0; i < 4; i++) {
        cr_expect_null(x.t.entry[i].of);
        cr_expect(*x.t.entry[i].why);
    }
    cr_expect_not_null(strstr(x.t.entry[0].why, words[0]));
    cr_expect_not_null(strstr(x.t.entry[2].why, words[2]));
    arena_clear(&x.arena);
}

Test(step_table, runs_of_one_configuration_share_a_simulator)
{
    struct tables x = read_plain(
        "a,s,g,,A100,8,512,,1024,1000,1,1,4,1,,,1f1b,1,16,1.5,fit,0\n"
        "b,s,g,,A100,8,512,,1024,1000,1,1,4,1,,,1f1b,1,16,1.6,fit,0\n"
        "c,s,h,,A100,8,512,,1024,1000,1,1,4,1,,,1f1b,1,32,1.6,fit,0\n"
        "d,s,h,,H100,8,512,,1024,1000,1,1,4,1,,,1f1b,1,32,1.6,fit,0\n");
    struct step_rows rows;
    cr_assert_eq(x.err, ERR_OK, "%s", x.msg.text);
    cr_expect_eq(x.t.entry[0].of, x.t.entry[1].of);
    cr_expect_neq(x.t.entry[1].of, x.t.entry[2].of);
    cr_expect_eq(x.t.n_clusters, 2);
    cr_assert_eq(step_table_rows(&x.arena, &x.t, 0, &rows, &x.msg), ERR_OK);
    cr_expect_eq(rows.n, 3);
    cr_expect_eq(rows.n_groups, 2);
    arena_clear(&x.arena);
}

Test(step_table, rows_of_another_micro_batch_share_no_unit_cost)
{
    struct tables x = read_plain(
        "a,s,g,,A100,8,512,,1024,1000,1,1,4,1,,,1f1b,1,16,1.5,fit,0\n"
        "b,s,g,,A100,8,512,,1024,1000,1,1,2,1,,,1f1b,1,16,2.5,fit,0\n"
        "c,s,g,,A100,8,512,,1024,1000,1,1,4,1,,,1f1b,2,8,1.6,fit,0\n");
    cr_assert_eq(x.err, ERR_OK, "%s", x.msg.text);
    const struct step_entry *e = x.t.entry;
    cr_assert(e[0].of && e[1].of && e[2].of, "%s%s%s", e[0].why, e[1].why,
              e[2].why);
    cr_expect_eq(e[0].of->group, e[1].of->group);
    cr_expect_neq(e[0].of->group, e[2].of->group);
    arena_clear(&x.arena);
}

Test(step_table, excluded_and_predicted_rows_are_never_fitted)
{
    struct tables x = read_plain(
        "a,s,g,,A100,8,512,,1024,1000,1,1,4,1,,,1f1b,1,16,1.5,predict,0\n"
        "b,s,g,,A100,8,512,,1024,1000,1,1,4,1,,,1f1b,1,16,1.6,fit,1\n"
        "c,s,g,,A100,8,512,,1024,1000,1,1,4,1,,,1f1b,1,16,1.6,,0\n"
        "d,s,g,,A100,8,512,,1024,1000,1,1,4,1,,,1f1b,1,16,,fit,0\n");
    struct step_rows rows;
    cr_assert_eq(x.err, ERR_OK, "%s", x.msg.text);
    cr_assert_eq(step_table_rows(&x.arena, &x.t, 0, &rows, &x.msg), ERR_OK);
    cr_expect_eq(rows.n, 0);
    arena_clear(&x.arena);
}

Test(step_table, numbers_that_are_none_are_errors_with_their_place)
{
    struct tables x = read_plain(
        "a,s,g,,A100,8,512,,1024,1000,1,1,4,1,,,1f1b,1,16,fast,fit,0\n");
    cr_expect_eq(x.err, ERR_PARSE);
    cr_expect_not_null(strstr(x.msg.text, "step_s"), "%s", x.msg.text);
    arena_clear(&x.arena);
    x = read_plain(
        "a,s,g,,A100,8,5x2,,1024,1000,1,1,4,1,,,1f1b,1,16,1,fit,0\n");
    cr_expect_eq(x.err, ERR_PARSE);
    cr_expect_not_null(strstr(x.msg.text, "hidden"), "%s", x.msg.text);
    arena_clear(&x.arena);
}

/* Two chunks a rank overlap their transfers, whether a column counts them or
 * the stages do; one that says otherwise is no row. */
Test(step_table, stages_say_how_many_chunks_a_rank_has)
{
    struct tables x = read_plain(
        "b,s,g,,A100,8,512,,1024,1000,1,1,4,,Et|(t|)*6tL,,,1,16,1.5,fit,0\n"
        "c,s,g,,A100,8,512,,1024,1000,1,1,4,2,Et|(t|)*6tL,,,1,16,1.5,fit,0\n"
        "d,s,g,,A100,8,512,,1024,1000,1,1,4,1,Et|(t|)*6tL,,,1,16,1.5,fit,0\n");
    cr_assert_eq(x.err, ERR_OK, "%s", x.msg.text);
    for (int i = 0; i < 2; i++) {
        cr_assert_not_null(x.t.entry[i].of, "%s", x.t.entry[i].why);
        cr_expect_eq(x.t.entry[i].of->layout.vpp, 2);
        cr_expect_eq(x.t.entry[i].of->schedule.mode, P2P_OVERLAP);
    }
    cr_expect_null(x.t.entry[2].of);
    cr_expect_not_null(strstr(x.t.entry[2].why, "vpp: got 1"), "%s",
                       x.t.entry[2].why);
    arena_clear(&x.arena);
}

/* The model's own flags decide how transfers are made, as for a plan of it. */
Test(step_table, transfers_are_those_of_the_models_flags)
{
    struct model m = small_model();
    m.no_overlap_p2p = true;
    const struct step_table_options options = {
        .terms = observed_default_terms(), .model = &m, .fit_all = true};
    struct tables x =
        read_rows("a,s,g,,,,,,,,,,4,,Et|(t|)*6tmL,,,1,16,1.5,,\n", &options);
    cr_assert_eq(x.err, ERR_OK, "%s", x.msg.text);
    cr_assert_not_null(x.t.entry[0].of, "%s", x.t.entry[0].why);
    cr_expect_eq(x.t.entry[0].of->schedule.mode, P2P_BLOCKING);
    arena_clear(&x.arena);
}
