#include "source/launch.h"

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
    const struct source_request req = {.path = "run.sh"};
    enum err e = launch_read(&f->arena, text, &req, f->args, &f->msg);
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

Test(launch, a_launch_script_is_the_recipe)
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

Test(launch, eval_of_a_string_is_followed)
{
    struct fixture f = {0};
    read_fixture(&f, "eval");
    cr_assert(f.m.n_layers == 24 && f.m.par.tp == 2 && f.m.par.pp == 2);
    cr_assert_eq(f.m.padded_vocab, 50432, "GPT-2's 50257 padded for TP 2");
    arena_clear(&f.arena);
}

Test(launch, a_command_inside_a_shell_is_followed)
{
    struct fixture f = {0};
    read_fixture(&f, "srun");
    cr_assert(f.m.n_layers == 8 && f.m.batch.global_batch == 64);
    arena_clear(&f.arena);
}

Test(launch, texts_of_flags_without_a_launch_count)
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

/* One node's ranks in a script whose parallel sizes need more: what the
 * launcher says stays, and judging it says what is wrong. */
Test(launch, too_few_ranks_stay_what_the_launcher_says)
{
    struct fixture f = {0};
    cr_assert_eq(read_script(&f, "torchrun --nproc_per_node 8 train.py "
                                 "--num-layers 16 --tensor-model-parallel-size "
                                 "8 --pipeline-model-parallel-size 4" SIZES),
                 ERR_RANGE);
    cr_assert(strstr(f.msg.text, "--world-size: got 8"), "%s", f.msg.text);
    arena_clear(&f.arena);
}

Test(launch, arrays_without_a_launch_count)
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
    {"N=1\nfor i in 1 2; do\nN=$((N + 2))\ndone\n" RUN, 5},
    {"f() {\nN=6\n}\nf\n" RUN, 6},
    {"N=3; if false; then\nif true; then N=4; fi\nN=5\nfi\n" RUN, 3},
    {"echo pretrain_gpt.py --num-layers 9\nN=2\n" RUN, 2},
};

Test(launch, known_conditions_choose_the_branch)
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

Test(launch, the_launcher_tells_the_ranks)
{
    static const struct {
        const char *launcher;
        int world;
    } all[] = {
        {"torchrun --nproc_per_node 8 --nnodes 2", 16},
        {"torchrun --nproc-per-node=4", 4},
        {"python -m torch.distributed.run --nproc_per_node=$NOT_SET", 1},
        {"srun -N 2 --ntasks-per-node=8 python", 16},
        {"srun -n4 python", 4},
        {"srun --nodes=2 torchrun --nproc_per_node 8 --nnodes 2", 16},
        {"mpirun -np 12 -x A=1 python", 12},
        {"deepspeed --num_nodes 2 --num_gpus 4", 8},
        {"accelerate launch --num_processes 16", 16},
        {"nohup env A=1 torchrun --nproc_per_node 2", 2},
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

/* script, and what its reason must hold */
static const struct {
    const char *script, *word;
} unknown[] = {
    {"N=$1\n" RUN, "$1: never set"},
    {"N=$(nproc)\n" RUN, "$(nproc)"},
    {RUN, "$N: never set"},
    {"python pretrain_gpt.py --num-layers=$N" SIZES, "$N: never set"},
    {"if [ $(hostname) = a ]; then N=1; else N=2; fi\n" RUN, "hostname"},
    {"case $(uname) in Linux) N=1 ;; *) N=2 ;; esac\n" RUN, "uname"},
    {"N=1\nhostname | grep -q a && N=2\n" RUN, "grep -q a"},
};

Test(launch, what_only_running_could_tell_is_unknown_with_its_reason)
{
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        struct fixture f = {0};
        const struct source_request req = {.path = "run.sh"};
        arena_init(&f.arena);
        f.args = megatron_args_new(&f.arena);
        cr_expect_eq(
            launch_read(&f.arena, unknown[i].script, &req, f.args, &f.msg),
            ERR_OK, "%s", f.msg.text);
        const struct megatron_flags *flags = megatron_args_flags(f.args);
        const struct flag_unknown *u = flags->slot[FLAG_NUM_LAYERS].unknown;
        cr_expect(u && strstr(u->why, unknown[i].word), "%s: %s",
                  unknown[i].script, u ? u->why : "known");
        cr_expect(u && text_starts(u->where, "run.sh:"), "%s", u->where);
        cr_expect_eq(flags_int(flags, FLAG_HIDDEN_SIZE, 0), 64);
        arena_clear(&f.arena);
    }
}

/* What is the same on every way is known. */
Test(launch, a_condition_that_decides_nothing_does_no_harm)
{
    struct fixture f = {0};
    cr_assert_eq(read_script(&f, "N=2\nif [ $(whoami) = root ]; then OUT=/a; "
                                 "else OUT=/b; fi\n"
                                 "python pretrain_gpt.py --num-layers $N "
                                 "--save $OUT" SIZES),
                 ERR_OK, "%s", f.msg.text);
    cr_assert_eq(f.m.n_layers, 2);
    arena_clear(&f.arena);
}

static enum err read_launch(struct fixture *f, const char *text, int number)
{
    const struct source_request req = {.path = "run.sh", .launch = number};
    arena_init(&f->arena);
    f->args = megatron_args_new(&f->arena);
    return launch_read(&f->arena, text, &req, f->args, &f->msg);
}

static const char two[] =
    "torchrun a.py --num-layers 2" SIZES
    "for n in 4 6; do torchrun a.py --num-layers $n" SIZES "done\n";

/* One job of several programs has more ranks than the first one's. */
Test(launch, ranks_of_several_programs_are_not_known)
{
    struct fixture f = {0};
    cr_assert_eq(
        read_launch(&f, "srun -n 8 python a.py --num-layers 2" SIZES, 0),
        ERR_OK);
    cr_expect_eq(flags_int(megatron_args_flags(f.args), FLAG_WORLD_SIZE, 0), 8);
    arena_clear(&f.arena);
    cr_assert_eq(read_launch(&f,
                             "srun -n 8 python a.py --num-layers 2 "
                             "--hidden-size 64 : -n 16 python b.py\n",
                             0),
                 ERR_OK);
    cr_expect(flags_unknown(megatron_args_flags(f.args), FLAG_WORLD_SIZE));
    arena_clear(&f.arena);
}

Test(launch, of_several_one_is_asked_for)
{
    static const int layers[] = {2, 4, 6};
    for (int k = 0; k <= 4; k++) {
        struct fixture f = {0};
        enum err e = read_launch(&f, two, k);
        const struct account *account = megatron_args_account(f.args);
        cr_expect_eq(e, k > 3 ? ERR_RANGE : ERR_OK, "%d: %s", k, f.msg.text);
        if (e == ERR_OK) {
            cr_expect_eq(account->launch.of, 3);
            cr_expect_eq(account->launch.ask, k == 0);
            cr_expect_eq(account->launches.n, 3);
            cr_expect_eq(
                flags_int(megatron_args_flags(f.args), FLAG_NUM_LAYERS, 0),
                layers[k ? k - 1 : 0]);
        }
        arena_clear(&f.arena);
    }
}

Test(launch, launches_that_say_the_same_need_no_choice)
{
    struct fixture f = {0};
    cr_assert_eq(read_launch(&f,
                             "for r in 0 1; do torchrun --node_rank $r a.py "
                             "--num-layers 2" SIZES "done\n",
                             0),
                 ERR_OK, "%s", f.msg.text);
    cr_expect_eq(megatron_args_account(f.args)->launch.of, 2);
    cr_expect(!megatron_args_account(f.args)->launch.ask);
    arena_clear(&f.arena);
}

Test(launch, a_script_that_starts_nothing_of_ours_says_what_it_starts)
{
    struct fixture f = {0};
    cr_assert_eq(read_launch(&f, "python3 prepare.py --seed 1\n", 0),
                 ERR_PARSE);
    cr_expect(strstr(f.msg.text, "prepare.py (line 1)"), "%s", f.msg.text);
    arena_clear(&f.arena);
    cr_assert_eq(read_launch(&f, "echo hello\n", 0), ERR_PARSE);
    cr_expect(strstr(f.msg.text, "not a model"), "%s", f.msg.text);
    arena_clear(&f.arena);
}

Test(launch, a_line_behind_a_lost_backslash_is_no_launch)
{
    struct fixture f = {0};
    cr_assert_eq(read_launch(&f,
                             "torchrun a.py --num-layers 2" SIZES
                             "--num-layers 4" SIZES
                             "model.num_layers=8 model.hidden_size=2 x=1\n"
                             "srun -N 2\n",
                             0),
                 ERR_OK, "%s", f.msg.text);
    cr_expect_eq(megatron_args_account(f.args)->launch.of, 1);
    arena_clear(&f.arena);
}

Test(launch, a_script_that_ends_before_its_launch_says_why)
{
    struct fixture f = {0};
    cr_assert_eq(read_launch(&f,
                             "#!/bin/bash\nset -e\n[ -n \"$MODEL\" ] || "
                             "{ echo 'set MODEL first'; exit 1; }\n"
                             "N=$(date +%s)\nA=$(yq .a x.yaml)\n"
                             "# $(jq x)\nB=$(yq .b x)\n" RUN,
                             0),
                 ERR_PARSE);
    cr_expect(strstr(f.msg.text, "line 3: exit 1, after saying 'set MODEL "
                                 "first'"),
              "%s", f.msg.text);
    cr_expect(strstr(f.msg.text, "from the output of yq (line 5): "), "%s",
              f.msg.text);
    arena_clear(&f.arena);
}

/* A script of the kind `bash run.sh ENV SIZE BATCH ...`. */
static const char positional[] =
    "ENV=$1\nMODEL_SIZE=$2\nBATCH_SIZE=$3\nSEQ=${4:-2048}\nPR=${5}\n"
    "if [ $ENV = dsw ]; then GPUS=8; elif [ $ENV = dlc ]; then GPUS=16; fi\n"
    "if [ $MODEL_SIZE = 7B ]; then L=32; H=4096\n"
    "elif [ $MODEL_SIZE = 13B ]; then L=40; H=5120; fi\n"
    "if [ $PR = bf16 ]; then pr=\"--bf16\"; fi\n"
    "torchrun --nproc_per_node $GPUS a.py --num-layers $L --hidden-size $H "
    "--num-attention-heads 32 --seq-length $SEQ $pr "
    "--micro-batch-size $BATCH_SIZE --vocab-size 100\n";

Test(launch, arguments_of_a_positional_script_are_given)
{
    struct fixture f = {0};
    const char *words[] = {"dsw", "13B", "2", "4096", "bf16"};
    const struct source_request req = {
        .path = "run.sh", .words = words, .n_words = 5};
    arena_init(&f.arena);
    f.args = megatron_args_new(&f.arena);
    cr_assert_eq(launch_read(&f.arena, positional, &req, f.args, &f.msg),
                 ERR_OK, "%s", f.msg.text);
    const struct megatron_flags *flags = megatron_args_flags(f.args);
    cr_expect_eq(flags_int(flags, FLAG_NUM_LAYERS, 0), 40);
    cr_expect_eq(flags_int(flags, FLAG_HIDDEN_SIZE, 0), 5120);
    cr_expect_eq(flags_int(flags, FLAG_WORLD_SIZE, 0), 8);
    arena_clear(&f.arena);
}

Test(launch, arguments_that_are_not_given_are_asked_for_by_place)
{
    struct fixture f = {0};
    const struct source_request req = {.path = "run.sh"};
    arena_init(&f.arena);
    f.args = megatron_args_new(&f.arena);
    cr_assert_eq(launch_read(&f.arena, positional, &req, f.args, &f.msg),
                 ERR_OK, "%s", f.msg.text);
    const struct flag_unknown *u =
        megatron_args_flags(f.args)->slot[FLAG_MICRO_BATCH_SIZE].unknown;
    cr_assert(u);
    cr_expect_str_eq(u->why, "$3: never set (--arg, the script's argument 3)");
    cr_expect_str_eq(u->where, "run.sh:3");
    arena_clear(&f.arena);
}

Test(launch, unknown_values_of_other_flags_do_no_harm)
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
