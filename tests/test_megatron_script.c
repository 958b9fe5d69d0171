#include "megatron/script.h"

#include "base/text.h"

#include <criterion/criterion.h>
#include <string.h>

#define SIZES " --hidden-size 64 --num-attention-heads 8 --vocab-size 100\n"

struct fixture {
    struct arena arena;
    struct megatron_args *args;
    struct model m;
    struct err_msg msg;
    int n_warnings;
};

static void on_warning(void *data, const char *line)
{
    struct fixture *f = data;
    (void)line;
    f->n_warnings++;
}

static enum err read_script(struct fixture *f, const char *text)
{
    arena_init(&f->arena);
    f->args = megatron_args_new(&f->arena);
    megatron_args_on_warning(f->args, on_warning, f);
    enum err e =
        source_script_read(&f->arena, text, "run.sh", f->args, &f->msg);
    return e == ERR_OK ? megatron_args_model(&f->arena, f->args, &f->m, &f->msg)
                       : e;
}

static void read_fixture(struct fixture *f, const char *name)
{
    char path[128];
    struct arena a;
    struct text_span text;
    snprintf(path, sizeof path, "tests/fixtures/scripts/%s.sh", name);
    arena_init(&a);
    cr_assert_eq(text_read_file(&a, path, 1 << 20, &text, &f->msg), ERR_OK,
                 "%s", f->msg.text);
    cr_assert_eq(read_script(f, text.data), ERR_OK, "%s", f->msg.text);
    arena_clear(&a);
}

Test(source_script, a_launch_script_is_the_recipe)
{
    struct fixture f = {0};
    read_fixture(&f, "launch");
    cr_assert_eq(model_total_params(&f.m), 6858278912);
    cr_assert_eq(f.m.n_mtp, 1);
    cr_assert_not(f.m.mtp_repeated);
    cr_assert_eq(f.m.batch.seq_tokens, 4096);
    cr_assert(f.m.par.world == 8 && f.m.par.dp == 2 && f.m.par.ep == 2);
    cr_assert_eq(f.m.batch.n_microbatches, 64);
    cr_assert_str_eq(flags_text(megatron_args_flags(f.args), FLAG_LAYOUT),
                     "Et*5|t*6|t*5|mL");
    cr_assert_eq(f.n_warnings, 0);
    arena_clear(&f.arena);
}

Test(source_script, eval_of_a_string_is_followed)
{
    struct fixture f = {0};
    read_fixture(&f, "eval");
    cr_assert(f.m.n_layers == 24 && f.m.par.tp == 2 && f.m.par.pp == 2);
    cr_assert_eq(f.m.padded_vocab, 50432, "GPT-2's 50257 padded for TP 2");
    arena_clear(&f.arena);
}

Test(source_script, a_command_inside_a_shell_is_followed)
{
    struct fixture f = {0};
    read_fixture(&f, "srun");
    cr_assert(f.m.n_layers == 8 && f.m.batch.global_batch == 64);
    arena_clear(&f.arena);
}

Test(source_script, texts_of_flags_without_a_launch_count)
{
    struct fixture f = {0};
    cr_assert_eq(read_script(&f,
                             "MODEL_ARGS=\" \\\n --num-layers 3 \\\n "
                             "--hidden-size 64 --num-attention-heads 4 \\\n "
                             "--vocab-size 100 \"\n"),
                 ERR_OK, "%s", f.msg.text);
    cr_assert_eq(f.m.n_layers, 3);
    arena_clear(&f.arena);
}

/* One node's ranks in a script whose parallel sizes need more. */
Test(source_script, too_few_ranks_are_told_of)
{
    struct fixture f = {0};
    cr_assert_eq(read_script(&f, "torchrun --nproc_per_node 8 train.py "
                                 "--num-layers 16 --tensor-model-parallel-size "
                                 "8 --pipeline-model-parallel-size 4" SIZES),
                 ERR_OK, "%s", f.msg.text);
    cr_assert_eq(f.m.par.world, 32);
    cr_assert_eq(f.n_warnings, 1);
    arena_clear(&f.arena);
}

Test(source_script, arrays_without_a_launch_count)
{
    struct fixture f = {0};
    read_fixture(&f, "arrays");
    cr_assert_eq(f.m.n_layers, 28);
    cr_assert_eq(model_unit_count(&f.m, KIND_T_DENSE), 1);
    arena_clear(&f.arena);
}

#define RUN "python pretrain_gpt.py --num-layers $N" SIZES

/* script, layers of its model */
static const struct {
    const char *script;
    int layers;
} branches[] = {
    {"N=3\n" RUN, 3},
    {"X=a\nif [ $X = a ]; then N=1; else N=2; fi\n" RUN, 1},
    {"X=b\nif [ $X = a ]; then N=1; else N=2; fi\n" RUN, 2},
    {"X=b\nif [[ $X == a ]]; then\nN=1\nelif [ $X == b ]\nthen\nN=2\n"
     "else\nN=3\nfi\n" RUN,
     2},
    {"X=8\nif [ $X -gt 4 ]; then N=5; fi\n" RUN, 5},
    {"N=1\nif [ -z \"$NONE\" ]; then N=2; fi\n" RUN, 2},
    {"N=1\nif [ ! -z \"$NONE\" ]; then N=2; fi\n" RUN, 1},
    {"N=1\nX=1\n[ $X -eq 2 ] && N=2\n" RUN, 1},
    {"N=1\nX=2\n[ $X -eq 2 ] && N=2\n" RUN, 2},
    {"N=1\nX=2\n[ $X -eq 2 ] || N=3\n" RUN, 1},
    {"X=b1\ncase $X in\na*) N=1 ;;\nb*) N=2 ;;\n*) N=3 ;;\nesac\n" RUN, 2},
    {"X=c\ncase $X in\na) N=1 ;;\n*) N=3 ;;\nesac\n" RUN, 3},
    {"N=1\nfor i in 1 2; do\nN=4\ndone\n" RUN, 4},
    {"f() {\nN=6\n}\nf\n" RUN, 6},
    {"N=3; if false; then\nif true; then N=4; fi\nN=5\nfi\n" RUN, 3},
    {"echo pretrain_gpt.py --num-layers 9\nN=2\n" RUN, 2},
};

Test(source_script, known_conditions_choose_the_branch)
{
    for (size_t i = 0; i < sizeof branches / sizeof branches[0]; i++) {
        struct fixture f = {0};
        cr_expect_eq(read_script(&f, branches[i].script), ERR_OK, "%s: %s",
                     branches[i].script, f.msg.text);
        cr_expect_eq(f.m.n_layers, branches[i].layers, "%s: %d",
                     branches[i].script, f.m.n_layers);
        arena_clear(&f.arena);
    }
}

Test(source_script, the_launcher_tells_the_ranks)
{
    static const struct {
        const char *launcher;
        int world;
    } all[] = {
        {"torchrun --nproc_per_node 8 --nnodes 2", 16},
        {"torchrun --nproc-per-node=4", 4},
        {"python -m torch.distributed.run --nproc_per_node=$NOT_SET", 1},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct fixture f = {0};
        arena_init(&f.arena);
        const char *text = arena_printf(
            &f.arena, "%s train.py --num-layers 2" SIZES, all[i].launcher);
        struct fixture g = {0};
        cr_expect_eq(read_script(&g, text), ERR_OK, "%s", g.msg.text);
        cr_expect_eq(g.m.par.world, all[i].world, "%s", all[i].launcher);
        arena_clear(&f.arena);
        arena_clear(&g.arena);
    }
}

/* script, and a word that the message must hold */
static const struct {
    const char *script, *word;
} bad[] = {
    {"N=$1\n" RUN, "--num-layers: its value '$1' is not known"},
    {"N=$(nproc)\n" RUN, "'$(nproc)'"},
    {RUN, "$N"},
    {"python pretrain_gpt.py --num-layers=$N" SIZES, "--num-layers"},
    {"echo hello", "no command with Megatron's flags"},
    {"N=4\npython pretrain_gpt.py --num-layers $N --hidden-size x", "'x'"},
};

Test(source_script, what_only_running_could_tell_is_refused)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct fixture f = {0};
        cr_expect_eq(err_exit_code(read_script(&f, bad[i].script)), 2, "%s",
                     bad[i].script);
        cr_expect(strstr(f.msg.text, bad[i].word) &&
                      text_starts(f.msg.text, "run.sh"),
                  "'%s' lacks '%s'", f.msg.text, bad[i].word);
        arena_clear(&f.arena);
    }
}

Test(source_script, unknown_values_of_other_flags_do_no_harm)
{
    struct fixture f = {0};
    cr_assert_eq(read_script(&f, "N=2\npython pretrain_gpt.py --num-layers $N "
                                 "--save $1 --load \"$CKPT\" $EXTRA "
                                 "--data-path $(cat paths)" SIZES),
                 ERR_OK, "%s", f.msg.text);
    cr_assert_eq(f.m.hidden, 64);
    cr_assert_eq(f.n_warnings, 0);
    arena_clear(&f.arena);
}
