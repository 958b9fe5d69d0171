#include "base/text.h"
#include "memory/fit.h"
#include "small_model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Large enough that activations and head weigh against the workspaces. */
static struct model model(void)
{
    struct model m = small_model();
    m.hidden = 1024;
    m.moe_ffn = 1024;
    m.n_heads = 16;
    m.head_dim = 64;
    m.vocab = m.padded_vocab = 64000;
    m.batch.seq_tokens = 4096;
    return m;
}

static const char *const texts[] = {"Et*2|t*2|t*2|t*2mL", "Et*3|t*2|t*2|tmL",
                                    "Et*2|t*3|t*3|mL", "Et*2|t*3|t*3m|L",
                                    "Et|t*3|t*3|tmL"};
enum { N_TEXTS = 5 };

struct fixture {
    struct arena arena;
    struct model m;
    struct fit_run runs[N_TEXTS];
    struct runlog logs[N_TEXTS];
    struct log_memory lines[N_TEXTS][4];
};

/* Logs of a machine whose units keep as much more as `truth` says, each line
 * off by up to `noise` (relative, from a fixed sequence). */
static void set_up(struct fixture *f, const struct memory_rules *truth,
                   double noise)
{
    struct err_msg msg;
    uint32_t state = 12345;
    arena_init(&f->arena);
    f->m = model();
    for (int i = 0; i < N_TEXTS; i++) {
        struct memory_terms t;
        struct fit_run *run = &f->runs[i];
        *run = (struct fit_run){.layout_text = texts[i], .speed = 1};
        cr_assert_eq(
            layout_read_question(&f->arena,
                                 &(struct layout_question){
                                     texts[i], 4, f->m.n_layers, f->m.n_mtp},
                                 &run->layout, &msg),
            ERR_OK);
        memory_terms(&f->m, truth, PLATFORM_HOPPER, &t);
        for (int s = 0; s < 4; s++) {
            struct memory_rank r;
            memory_rank(&t, &run->layout, s, &r);
            state = state * 1664525 + 1013904223;
            double off = ((double)(state >> 8) / (1 << 23) - 1) * noise;
            f->lines[i][s] = (struct log_memory){
                s, r.allocated_bytes,
                (int64_t)((double)r.peak_bytes * (1 + off))};
        }
        f->logs[i] = (struct runlog){.memory = f->lines[i], .n_memory = 4};
        run->log = &f->logs[i];
    }
}

/* The first two runs. */
static enum err fit_two(struct fixture *f, struct memory_rules *rules,
                        struct memory_fit *out, struct err_msg *msg)
{
    struct memory_fit_input in = {&f->m, f->runs, 2, PLATFORM_HOPPER};
    return memory_fit(&f->arena, &in, rules, out, msg);
}

/* Root mean square error over all layouts, those not fitted included. */
static double error(const struct fixture *f, const struct memory_rules *rules)
{
    double sum = 0;
    for (int i = 0; i < N_TEXTS; i++) {
        struct memory_terms t;
        memory_terms(&f->m, rules, PLATFORM_HOPPER, &t);
        for (int s = 0; s < 4; s++) {
            struct memory_rank r;
            memory_rank(&t, &f->runs[i].layout, s, &r);
            double e = (double)r.peak_bytes /
                           (double)f->lines[i][s].max_allocated_bytes -
                       1;
            sum += e * e;
        }
    }
    return sqrt(sum / (4 * N_TEXTS));
}

Test(memory_fit, two_runs_find_what_units_keep_more)
{
    struct fixture f;
    struct err_msg msg;
    struct memory_rules truth = MEMORY_MEGATRON, rules = MEMORY_MEGATRON;
    struct memory_fit out;
    truth.unit_more[KIND_T] = 0.15;
    truth.head_more = -0.2;
    truth.rank_more_bytes = 3e8;
    set_up(&f, &truth, 0);
    cr_assert_eq(fit_two(&f, &rules, &out, &msg), ERR_OK, "%s", msg.text);
    cr_assert_eq(out.n_rows, 8);
    cr_assert_lt(out.fit_error, out.model_error / 5);
    cr_assert_lt(error(&f, &rules), error(&f, &MEMORY_MEGATRON) / 4,
                 "the other three layouts too");
    arena_clear(&f.arena);
}

/* Also when the model is right and the lines are noise, or wrong in another
 * way: never worse over the runs, and hardly over other layouts. */
Test(memory_fit, corrections_never_make_the_fitted_runs_worse)
{
    static const double HELD_OUT = 0.002; // of a peak, by which noise misleads
    for (int i = 0; i < 12; i++) {
        struct fixture f;
        struct err_msg msg;
        struct memory_rules truth = MEMORY_MEGATRON, rules = MEMORY_MEGATRON;
        struct memory_fit out;
        truth.unit_more[i % N_KINDS] = 0.1 * (i % 4 - 1);
        set_up(&f, &truth, 0.002 * (i % 3));
        fit_two(&f, &rules, &out, &msg);
        cr_assert_leq(out.fit_error, out.model_error, "%d", i);
        cr_assert_leq(error(&f, &rules), error(&f, &MEMORY_MEGATRON) + HELD_OUT,
                      "%d", i);
        arena_clear(&f.arena);
    }
}

Test(memory_fit, without_memory_lines_nothing_is_fitted)
{
    struct fixture f;
    struct err_msg msg;
    struct memory_rules rules = MEMORY_MEGATRON;
    struct memory_fit out;
    set_up(&f, &MEMORY_MEGATRON, 0);
    for (int i = 0; i < 2; i++)
        f.logs[i].n_memory = 0;
    cr_assert_eq(fit_two(&f, &rules, &out, &msg), ERR_OK);
    cr_assert_eq(out.n_rows, 0);
    cr_assert_eq(rules.head_more, 0);
    arena_clear(&f.arena);
}

Test(memory_fit, a_rank_beyond_the_run_is_named)
{
    struct fixture f;
    struct err_msg msg;
    struct memory_rules rules = MEMORY_MEGATRON;
    struct memory_fit out;
    set_up(&f, &MEMORY_MEGATRON, 0);
    f.lines[1][2].rank = 17;
    cr_assert_eq(fit_two(&f, &rules, &out, &msg), ERR_PARSE);
    cr_assert_not_null(strstr(msg.text, "17"), "%s", msg.text);
    arena_clear(&f.arena);
}

Test(memory_fit, moe_train_is_compared_and_left_as_it_is)
{
    struct fixture f;
    struct err_msg msg;
    struct memory_rules rules = MEMORY_MOE_TRAIN;
    struct memory_fit out;
    set_up(&f, &MEMORY_MOE_TRAIN, 0);
    cr_assert_eq(fit_two(&f, &rules, &out, &msg), ERR_OK);
    cr_assert_eq(out.n_rows, 8);
    cr_assert_eq(out.model_error, 0);
    cr_assert_eq(rules.head_more, 0);
    arena_clear(&f.arena);
}

Test(memory_fit, corrections_survive_the_costs_file)
{
    char path[] = "/tmp/memory_fit_XXXXXX";
    struct arena a;
    struct err_msg msg;
    struct model m = model();
    struct cost c, back;
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    arena_init(&a);
    cost_analytic(&m, 1e14, &c);
    c.rules.unit_more[KIND_M] = 0.25;
    c.rules.head_more = -0.125;
    c.rules.rank_more_bytes = 12345;
    cJSON *tree = cost_to_json(&c);
    char *text = cJSON_Print(tree);
    cJSON_Delete(tree);
    cr_assert_eq(text_write_file(path, text, strlen(text), &msg), ERR_OK);
    cJSON_free(text);
    cr_assert_eq(cost_read_file(&a, path, &back, &msg), ERR_OK, "%s", msg.text);
    remove(path);
    cr_assert_eq(back.rules.unit_more[KIND_M], 0.25);
    cr_assert_eq(back.rules.unit_more[KIND_T], 0);
    cr_assert_eq(back.rules.head_more, -0.125);
    cr_assert_eq(back.rules.rank_more_bytes, 12345);
    cr_assert_eq(back.rules.optimizer_bytes, 12);
    arena_clear(&a);
}
