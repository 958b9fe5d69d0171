/* Ways, unknowns and calls of scripts; what bash itself answers is compared in
 * tests/cli/test_shell_bash.sh. */
#include "shell/bash.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena arena;
static struct bash_result result;
static struct err_msg msg;

static void open_arena(void)
{
    arena_init(&arena);
    memset(&result, 0, sizeof result);
    msg.text[0] = '\0';
}

static void clear_arena(void)
{
    arena_clear(&arena);
}

TestSuite(shell_bash, .init = open_arena, .fini = clear_arena);

static enum err run_in(const char *folder, const char *text)
{
    const struct bash_input in = {
        .text = text, .name = "run.sh", .folder = folder};
    return bash_run(&arena, &in, &result, &msg);
}

static void run(const char *text)
{
    cr_assert_eq(run_in(NULL, text), ERR_OK, "%s", msg.text);
}

/* All calls of a way: words with blanks between, calls with '|'; a word that
 * stood without quotes and holds a mark ends in '?'. */
static const char *words(size_t way)
{
    const char *all = "";
    cr_assert_lt(way, result.n_ways);
    const struct bash_way *w = &result.way[way];
    for (size_t i = 0; i < w->n_calls; i++)
        for (size_t k = 0; k < w->call[i].n; k++)
            all = arena_printf(
                &arena, "%s%s%s%s", all,
                k   ? " "
                : i ? "|"
                    : "",
                bash_show(&arena, &result, w->call[i].word[k].text),
                w->call[i].word[k].unquoted_mark ? "?" : "");
    return all;
}

static const char *list_text(const char *const *list, size_t n)
{
    const char *all = "";
    for (size_t i = 0; i < n; i++)
        all = arena_printf(&arena, "%s%s\n", all, list[i]);
    return all;
}

static bool noted(const char *part)
{
    return strstr(list_text(result.note, result.n_notes), part) != NULL;
}

/* ---- what is not known ---- */

static const struct {
    const char *text;
    const char *way[4];
} ways[] = {
    // nothing hangs on it: one way
    {"if [ $(hostname) = a ]; then A=1; else A=2; fi; torchrun x",
     {"torchrun x"}},
    {"if [ $(hostname) = a ]; then A=1; else A=2; fi; torchrun $A",
     {"torchrun 1", "torchrun 2"}},
    // equal on both sides
    {"if nvidia-smi; then A=1; else A=1; fi; torchrun $A", {"torchrun 1"}},
    // one question, however often it is asked
    {"H=$(hostname); A=1; B=1; [ $H = a ] && A=2; [ $H = a ] && B=2\n"
     "torchrun $A $B",
     {"torchrun 2 2", "torchrun 1 1"}},
    {"if nvidia-smi; then A=1; B=1; else A=2; B=2; fi; torchrun $A$B",
     {"torchrun 11", "torchrun 22"}},
    {"[ $(hostname) != a ] || A=1; torchrun ${A:-0}",
     {"torchrun 1", "torchrun 0"}},
    {"case $(uname -m) in a) A=1;; b) A=2;; esac; torchrun x $A",
     {"torchrun x 1", "torchrun x 2", "torchrun x $A?"}},
    {"case $(uname -m) in a) A=1;; *) A=2;; esac; torchrun $A",
     {"torchrun 1", "torchrun 2"}},
    {"if nvidia-smi; then torchrun a; else torchrun b; fi",
     {"torchrun a", "torchrun b"}},
    // the side that fails before a launch is not taken
    {"nvidia-smi || exit 1; torchrun x", {"torchrun x"}},
    {"if ! nvidia-smi; then echo no; exit 1; fi; torchrun x", {"torchrun x"}},
    {"cd /data || exit; torchrun x", {"torchrun x"}},
    {"f() { nvidia-smi || return 1; A=3; }; f; torchrun $A", {"torchrun 3"}},
    {"if nvidia-smi && true; then A=1; else A=2; fi; torchrun $A",
     {"torchrun 1", "torchrun 2"}},
    {"if nvidia-smi && false; then A=1; else A=2; fi; torchrun $A",
     {"torchrun 2"}},
    {"[[ $(hostname) == a && 1 == 2 ]] && A=1; torchrun ${A:-0}",
     {"torchrun 0"}},
    {"[[ $(hostname) == a || 1 == 1 ]] && A=1; torchrun ${A:-0}",
     {"torchrun 1"}},
    {"if [ -f /data/x ]; then A=1; fi; torchrun ${A:-0}",
     {"torchrun 1", "torchrun 0"}},
    {"mkdir -p x && A=1; torchrun ${A:-0}", {"torchrun 1"}},
    {"torchrun $(hostname) \"$(date +%F)-x\"",
     {"torchrun $(hostname)? $(date +%F)-x"}},
    {"A=$(hostname); torchrun ${A%%.*} ${A:-d} ${#A}",
     {"torchrun $(hostname)? $(hostname)? $(hostname)?"}},
    {"torchrun $((RANDOM % 10)) $HOME/x ~/y $$",
     {"torchrun $RANDOM? $HOME/x? ~/y $$?"}},
    {"A=$((SECONDS)); B=$((A * 2)); torchrun $B", {"torchrun $SECONDS?"}},
    {"[ -z \"$HOME\" ] && A=1; torchrun ${A:-0}", {"torchrun 0"}},
    {"for f in $(ls); do A=1; done; torchrun \"$A\"",
     {"torchrun $(ls)", "torchrun $A"}},
    {"while read x; do N=$((N + 1)); done < /etc/hosts; torchrun \"${N:-0}\"",
     {"torchrun read x", "torchrun 0"}},
    {"until curl x; do sleep 1; done; torchrun x", {"torchrun x"}},
    {"while true; do torchrun x; sleep 1; done; torchrun y",
     {"torchrun x|torchrun y"}},
    {"f() { case $1 in $(hostname)) A=1;; *) A=2;; esac; }; f b\n"
     "torchrun $A",
     {"torchrun 1", "torchrun 2"}},
    {"A=(1); nvidia-smi && A+=(2); A+=(3); torchrun ${A[@]}",
     {"torchrun 1 2 3", "torchrun 1 3"}},
    {"select x in a b; do break; done; torchrun \"$x\"",
     {"torchrun x", "torchrun $x"}},
    {"if [ $(hostname) = a ]; then shift; fi; torchrun x", {"torchrun x"}},
    {"X=$(if nvidia-smi > /dev/null; then echo 1; else echo 2; fi); torchrun "
     "$X",
     {"torchrun 1", "torchrun 2"}},
};

Test(shell_bash, ways_part_where_it_matters)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        size_t n = 0;
        run(ways[i].text);
        while (n < 4 && ways[i].way[n])
            n++;
        cr_expect_eq(result.n_ways, n, "%s: %zu ways", ways[i].text,
                     result.n_ways);
        for (size_t k = 0; k < n && k < result.n_ways; k++)
            cr_expect_str_eq(words(k), ways[i].way[k], "%s: %s", ways[i].text,
                             words(k));
        cr_expect(result.all_ways);
    }
}

Test(shell_bash, decisions_name_their_place)
{
    run("A=1\nif [ \"$(hostname)\" = big ]; then A=2; fi\ntorchrun $A\n");
    cr_assert_eq(result.n_ways, 2);
    const struct bash_decision *d = result.way[0].decision;
    cr_assert_eq(result.way[0].n_decisions, 1);
    cr_expect_str_eq(d->text, "$(hostname) = big");
    cr_expect_eq(d->line, 2);
    cr_expect(d->taken);
    cr_expect_not(result.way[1].decision[0].taken);
}

Test(shell_bash, too_many_ways_are_varied_one_at_a_time)
{
    const char *text = "";
    for (int i = 0; i < 20; i++)
        text = arena_printf(&arena, "%s[ $(hostname) = h%d ] && torchrun %d\n",
                            text, i, i);
    run(text);
    cr_expect_not(result.all_ways);
    cr_expect_eq(result.n_ways, 21);
    cr_expect(noted("varied one at a time"));
}

/* ---- what is not set ---- */

static const struct bash_cause *cause_of(size_t word)
{
    return bash_first_cause(&result, result.way[0].call[0].word[word].text);
}

Test(shell_bash, a_variable_that_is_not_set_leaves_its_mark_in_a_call)
{
    run("torchrun --n $N \"$M\" x$K");
    cr_expect_str_eq(words(0), "torchrun --n $N? $M x$K?");
    cr_assert(cause_of(2));
    cr_expect_eq(cause_of(2)->kind, BASH_UNSET);
    cr_expect_str_eq(cause_of(2)->text, "$N");
    cr_expect(noted("run.sh:1: $N is not set: taken as empty"));
}

Test(shell_bash, marks_go_through_values_lists_and_functions)
{
    run("A=$N; B=(--n $N \"$A\"); C=\"--x $A\"; f() { torchrun \"$@\"; }\n"
        "f $A \"${B[@]}\" $C");
    cr_expect_str_eq(words(0), "torchrun $N? --n $N? $N --x $N?");
    run("B=(a $N b); torchrun ${#B[@]} ${B[1]}; set -- $N c; torchrun $# $1");
    cr_expect_str_eq(words(0), "torchrun 2 b|torchrun 1 c");
}

Test(shell_bash, a_variable_that_is_not_set_is_empty_for_the_script)
{
    run("X=$Y; [ -z \"$X\" ] && A=1; torchrun $A ${X:-d} ${#X} $((X + 2))");
    cr_expect_str_eq(words(0), "torchrun 1 d 0 2");
    cr_expect(noted("$Y is not set"));
}

Test(shell_bash, positionals_that_are_not_given_are_named)
{
    run("torchrun --n $1 \"${2}\"");
    cr_expect_str_eq(words(0), "torchrun --n $1? $2");
    cr_expect_eq(cause_of(2)->kind, BASH_UNSET);
}

Test(shell_bash, a_file_that_is_not_there_may_set_anything)
{
    run(". ./conf/sizes.sh\nA=1\ntorchrun $N $A ${M:-4}");
    cr_expect_str_eq(words(0), "torchrun $N? 1 $M?");
    cr_expect_eq(cause_of(1)->kind, BASH_UNKNOWN);
    cr_expect(strstr(cause_of(1)->why, "conf/sizes.sh"));
    cr_assert_eq(result.n_missing, 1);
    cr_expect(strstr(result.missing[0], "run.sh:1: ./conf/sizes.sh: not "),
              "%s", result.missing[0]);
    run(". ./conf/sizes.sh; [ -z \"$N\" ] && A=1; torchrun ${A:+1}");
    cr_expect_eq(result.n_ways, 2);
    run("source ~/.bashrc; torchrun $N");
    cr_expect_eq(cause_of(1)->kind, BASH_UNSET);
    cr_expect(noted(".bashrc is not read"));
}

Test(shell_bash, settings_that_are_not_known_may_set_anything)
{
    run("export $(grep -v '^#' .env | xargs)\ntorchrun $N");
    cr_expect_eq(cause_of(1)->kind, BASH_UNKNOWN);
    cr_assert_eq(result.n_missing, 1);
    run("eval \"$(scontrol show x)\"\ntorchrun $N");
    cr_expect_str_eq(words(0), "torchrun $N?");
    cr_expect_eq(cause_of(1)->kind, BASH_UNKNOWN);
    run("eval \"$(conda shell.bash hook)\"; conda activate x; torchrun $N");
    cr_expect_eq(cause_of(1)->kind, BASH_UNSET);
    cr_expect(noted("$(conda shell.bash hook) is taken to set nothing"));
}

Test(shell_bash, output_of_programs_that_do_not_train_is_unknown_not_empty)
{
    run("[ -z \"$(git log)\" ] && A=1; torchrun ${A:-2} \"$(mkdir -p x)\"");
    cr_expect_str_eq(words(0), "torchrun 1 ");
    cr_expect_str_eq(words(1), "torchrun 2 ");
    run("set -eo pipefail; A=$(pip list | grep core); torchrun \"$A\"");
    cr_expect_str_eq(words(0), "torchrun $(pip list | grep core)");
}

Test(shell_bash, eval_keeps_what_is_not_set_for_its_words)
{
    run("C=\"torchrun --nnodes $N x.py\"; eval $C; eval \"$Q if true; then "
        "torchrun y; fi\"");
    cr_expect_str_eq(words(0), "torchrun --nnodes $N? x.py|torchrun y");
}

/* ---- calls ---- */

Test(shell_bash, calls_have_their_place_and_environment)
{
    run("export A=1\nB=2\nC=3 torchrun x \\\n    $B y\n");
    const struct bash_call *c = result.way[0].call;
    cr_expect_eq(c->line, 3);
    cr_expect_eq(c->word[2].line, 2, "where B was set");
    cr_expect_eq(c->word[3].line, 4);
    cr_assert_eq(c->n_env, 2);
    cr_expect_str_eq(c->env[0].name, "A");
    cr_expect_str_eq(c->env[1].name, "C");
    cr_expect_str_eq(c->env[1].value, "3");
}

static const struct {
    const char *text, *words, *outer;
} wrapped[] = {
    {"srun -N 2 --gpus 8 bash -c 'torchrun $0 $1' a b", "torchrun a b", "srun"},
    {"nohup bash -c \"python x.py --a 'b c'\" > log 2>&1 &",
     "python x.py --a b c", "nohup"},
    {"env A=1 bash -c 'torchrun $A'", "torchrun 1", "env"},
    {"export A=1; B=2; bash -c 'torchrun $A$B'", "torchrun 1$B?", NULL},
    {"bash <<'EOF'\ntorchrun x\nEOF", "torchrun x", NULL},
    {"A=3; sbatch --nodes 2 <<EOF\ntorchrun $A \\$SLURM_NNODES\nEOF",
     "torchrun 3 2", "sbatch"},
    {"sbatch -N2 --wrap='torchrun $SLURM_NNODES'", "torchrun 2", "sbatch"},
    {"ssh -p 22 $HOST \"cd /x && torchrun a\"", "torchrun a", "ssh"},
    {"cat > job.sh <<EOF\ntorchrun \\$1\nEOF\nbash job.sh 7", "torchrun 7",
     NULL},
    {"docker run --rm -e A=1 -v a:b img bash -c 'torchrun x'", "torchrun x",
     "docker"},
    {"timeout 10 mpirun -np 8 -x A python x.py | tee log",
     "timeout 10 mpirun -np 8 -x A python x.py", NULL},
    {"srun torchrun x", "srun torchrun x", NULL},
    {"exec torchrun x; torchrun y", "torchrun x", NULL},
    {"eval \"torchrun 'a b' $((1+1))\"", "torchrun a b 2", NULL},
    {"echo torchrun a; printf 'torchrun b'; grep torchrun x; pip install y\n"
     "torchrun c",
     "torchrun c", NULL},
    {"torchrun a & wait; (torchrun b); { torchrun c; } > log",
     "torchrun a|torchrun b|torchrun c", NULL},
};

Test(shell_bash, programs_that_start_others_are_followed)
{
    for (size_t i = 0; i < sizeof wrapped / sizeof wrapped[0]; i++) {
        run(wrapped[i].text);
        cr_expect_str_eq(words(0), wrapped[i].words, "%s: %s", wrapped[i].text,
                         words(0));
        const struct bash_call *outer =
            result.way[0].n_calls ? result.way[0].call[0].outer : NULL;
        cr_expect_eq(outer != NULL, wrapped[i].outer != NULL, "%s",
                     wrapped[i].text);
        if (outer && wrapped[i].outer)
            cr_expect_str_eq(outer->word[0].text, wrapped[i].outer);
    }
}

Test(shell_bash, slurm_jobs_know_their_sizes)
{
    run("#!/bin/bash\n#SBATCH --nodes=4 # four\n#SBATCH --gres=gpu:a100:8\n"
        "#SBATCH --ntasks-per-node 2\n\nA=1\n#SBATCH -N 9\n"
        "srun torchrun $SLURM_NNODES $SLURM_NTASKS $SLURM_GPUS_ON_NODE "
        "$SLURM_JOB_ID $SLURM_GPUS_PER_NODE");
    cr_expect_str_eq(words(0), "srun torchrun 4 8 8 $SLURM_JOB_ID? "
                               "$SLURM_GPUS_PER_NODE?");
    cr_expect(result.slurm.is_job);
    cr_expect_eq(result.slurm.nodes, 4);
    cr_expect_eq(result.slurm.tasks_per_node, 2);
    cr_expect_eq(result.slurm.gpus_per_node, 8);
    cr_expect_eq(result.way[0].call[0].slurm.tasks, 8);
    run("torchrun $SLURM_NNODES");
    cr_expect_not(result.slurm.is_job);
    cr_expect_eq(cause_of(1)->kind, BASH_UNSET);
}

Test(shell_bash, a_job_that_submits_itself_is_read_as_the_job)
{
    run("#SBATCH -N 2\nif [ -z $SLURM_JOB_ID ]; then sbatch $0; exit; fi\n"
        "srun python x.py");
    cr_expect_str_eq(words(0), "srun python x.py");
    cr_expect_eq(result.n_ways, 1);
}

Test(shell_bash, a_placeholder_is_not_known)
{
    run("DATA=<Specify path and name>/x\nN=3 # <not> one\n"
        "torchrun $DATA $N --a <in >out");
    cr_expect_str_eq(words(0), "torchrun <Specify path and name>/x? 3 --a");
    cr_expect(noted("run.sh:1: <Specify path and name> is to be filled in"));
}

Test(shell_bash, what_the_user_sets_is_known)
{
    static const struct bash_setting set[] = {{"N", "3"}, {"HOME", "/h"}};
    static const char *const args[] = {"a", "b c"};
    const struct bash_input in = {.text = "torchrun $N ~ \"$2\" $# $0",
                                  .name = "dir/run.sh",
                                  .set = set,
                                  .n_set = 2,
                                  .args = args,
                                  .n_args = 2};
    cr_assert_eq(bash_run(&arena, &in, &result, &msg), ERR_OK);
    cr_expect_str_eq(words(0), "torchrun 3 /h b c 2 run.sh");
}

Test(shell_bash, what_the_user_sets_stands_for_what_is_not_known)
{
    static const struct bash_setting set[] = {{"N", "3"}};
    const struct bash_input in = {
        .text = "N=$(nproc); M=$(nproc); torchrun $N $M; N=4; torchrun $N",
        .name = "run.sh",
        .set = set,
        .n_set = 1};
    cr_assert_eq(bash_run(&arena, &in, &result, &msg), ERR_OK);
    cr_expect_str_eq(words(0), "torchrun 3 $(nproc)?|torchrun 4");
    cr_expect(noted("run.sh:1: N: $(nproc) is not known"));
}

Test(shell_bash, a_cause_says_how_its_value_is_given)
{
    static const struct {
        struct bash_cause cause;
        const char *text;
    } causes[] = {
        {{.text = "$TP", .why = "never set"},
         "$TP: never set (--set TP=VALUE)"},
        {{.text = "${12}", .why = "never set"},
         "${12}: never set (--arg, the script's argument 12)"},
        {{.text = "${TP}", .why = "x"}, "${TP}: x (--set TP=VALUE)"},
        {{.text = "$(nproc)", .why = "only running it could tell"}, "$(nproc)"},
        {{.text = "${A[1]}", .why = "never set"}, "${A[1]}: never set"},
    };
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        cr_expect_str_eq(bash_cause_text(&arena, &causes[i].cause),
                         causes[i].text);
}

/* ---- files ---- */

static char folder[] = "/tmp/shell_bash.XXXXXX";

static void put_file(const char *name, const char *text)
{
    FILE *f = fopen(arena_printf(&arena, "%s/%s", folder, name), "w");
    cr_assert(f);
    fputs(text, f);
    fclose(f);
}

Test(shell_bash, files_beside_the_script_are_read)
{
    cr_assert(mkdtemp(folder));
    put_file("sizes.sh", "N=5\r\nARGS=(--a \"b c\")\r\nreturn\r\nN=6\r\n");
    put_file("inner.sh", "#!/bin/bash\ntorchrun ${W:-0} \"$@\" $N\n");
    put_file("list", "x\ny\n");
    cr_assert_eq(
        symlink("/etc/passwd", arena_printf(&arena, "%s/link", folder)), 0);
    const char *text =
        "D=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\n"
        ". $D/sizes.sh\n[ -f list ] && L=$(cat list)\n[ -f none ] && L=no\n"
        "W=2 bash inner.sh \"${ARGS[@]}\"\n./inner.sh $N\n"
        "torchrun $L $(< list) \"$(cat link)\"\nbash none.sh --x\n";
    cr_expect_eq(run_in(folder, text), ERR_OK, "%s", msg.text);
    cr_expect_str_eq(words(0),
                     "torchrun 2 --a b c $N?|torchrun 0 5 $N?|"
                     "torchrun x y x y $(cat link)|"
                     "bash none.sh --x",
                     "%s", words(0));
    cr_expect(noted("[ -f none ] is taken as false"));
    cr_assert_eq(result.n_missing, 1);
    cr_expect(strstr(result.missing[0], "none.sh --x"));
    cr_expect_str_eq(result.way[0].call[0].file, "inner.sh");
}

/* ---- lists of unknown length ---- */

Test(shell_bash, an_index_behind_a_piece_of_unknown_length_is_unknown)
{
    run("A=(a $(yq x) b); B=(a $(hostname) b)\n"
        "torchrun ${A[0]} ${A[1]} ${A[2]} ${A[2]:-d} ${B[2]}");
    cr_expect_str_eq(words(0), "torchrun a $(yq x)? $(yq x)? $(yq x)? b");
    run("set -- $(yq x) b; torchrun $# $2; shift; torchrun $1");
    cr_expect_str_eq(words(0), "torchrun $(yq x)? $(yq x)?|torchrun $(yq x)?");
    run("A=(1 2); A[$(yq x)]=3; ((B[$(yq x)] = 4)); torchrun ${A[1]} ${B[0]}");
    cr_expect_str_eq(words(0), "torchrun $(yq x)? $(yq x)?");
    run("A=(1 $(yq x) 3); torchrun \"${A[@]:0:1}\" \"${A[@]:2}\"");
    cr_expect_str_eq(words(0), "torchrun 1 $(yq x)?");
}

Test(shell_bash, names_behind_an_unknown_piece_of_a_line_are_unknown)
{
    run("read a b c <<< \"1 $(yq x)\"; torchrun $a $b ${c:-d}");
    cr_expect_str_eq(words(0), "torchrun 1 $(yq x)? $(yq x)?");
    run("read a b <<< \"$(hostname) 2\"; torchrun $a $b");
    cr_expect_str_eq(words(0), "torchrun $(hostname)? 2");
}

Test(shell_bash, an_ifs_that_is_not_known_breaks_no_mark)
{
    run("IFS=$U+; set -- a b; torchrun \"$*\"; IFS=$(cmd); read x y <<< "
        "'0 1'; torchrun \"$*\" \"$x\"");
    cr_expect_str_eq(words(0), "torchrun a+b|cmd|torchrun ab 0 1");
}

/* ---- set -u, coproc ---- */

Test(shell_bash, under_set_u_a_variable_that_is_not_set_is_not_empty)
{
    run("set -u; torchrun $N ${M:-1} \"${K-}\" $((J + 1)); [ -z \"$N\" ] && "
        "A=1; torchrun ${A:-2}");
    cr_expect_str_eq(words(0), "torchrun $N? 1  $J?|torchrun 1");
    cr_expect_str_eq(words(1), "torchrun $N? 1  $J?|torchrun 2");
    cr_expect_str_eq(cause_of(1)->why, "never set, and set -u is on");
    run("set -u; set +u; A=$N; torchrun x$A");
    cr_expect_str_eq(words(0), "torchrun x$N?");
    cr_expect_eq(cause_of(1)->kind, BASH_UNSET);
}

Test(shell_bash, a_command_that_fails_is_named_with_its_file)
{
    run("set -e\nf() { return 2; }\nf x\ntorchrun x\n");
    cr_expect_eq(result.way[0].n_calls, 0);
    cr_expect_str_eq(result.way[0].ended, "'f x' fails, and set -e is on");
    cr_expect_eq(result.way[0].ended_line, 3);
    run("echo usage: x\nexit 1\n");
    cr_expect_str_eq(result.way[0].ended, "exit 1, after saying 'usage: x'");
    run("echo done\nexit 0\n");
    cr_expect_str_eq(result.way[0].ended, "exit 0");
    run("false || { echo usage: x; exit 1; }\n");
    cr_expect_str_eq(result.way[0].ended, "exit 1, after saying 'usage: x'");
}

/* ---- what programs print ---- */

// results are those of Python 3.11 and of envsubst (gettext 0.21)
static const struct {
    const char *program, *prints;
} printed[] = {
    {"python3 -c \"print(4*1024//3, 7/2, 8/2, 2**10, -7//2, -7%3)\"",
     "1365 3.5 4.0 1024 -4 2"},
    {"python -c 'print(10/3, 0.1+0.2, 1e3)'", NULL},
    {"python -c 'print(10/3, 0.1+0.2)'",
     "3.3333333333333335 0.30000000000000004"},
    {"python -c \"print('[' + ','.join(['1']*3) + ']')\"", "[1,1,1]"},
    {"python -c 'print([0]*2+[1]*3)'", "[0, 0, 1, 1, 1]"},
    {"python -c \"print('Et|' + '|'.join(['t'*4]*2) + '|L')\"",
     "Et|tttt|tttt|L"},
    {"python -c 'import math; x = 5; print(math.ceil(x/2), int(7/2), "
     "round(2.5), max(1, 5))'",
     "3 3 2 5"},
    {"python -c 'print(2**63)'", NULL},
    {"python -c 'print(1 if True else 2)'", NULL},
    {"python -c 'print(math.ceil(1))'", NULL},
    {"python -c ' print(1)'", NULL},
    {"python -c 'import os; print(1)'", NULL},
    {"python -c 'print(\"a\\n\")'", NULL},
    {"python -c 'print([1]*9000000)'", NULL},
    {"python -c 'print(\"x\"*9000000)'", NULL},
    {"awk 'BEGIN{print 2^3}'", NULL},
    {"awk 'BEGIN{print 3000000000}'", NULL},
    {"awk 'BEGIN{print 1/0}'", NULL},
    {"echo a | awk '{print $1 \"x\"}'", NULL},
    {"echo a | awk '{print $1+1}'", NULL},
    {"echo a | awk '{print toupper($1)}'", NULL},
    {"echo a.b | awk -F. '{print $1}'", NULL},
    {"E=1; export F=2; echo '$E ${F}3 $1 $' | envsubst", " 23 $1 $"},
    {"grep x /etc/hosts", NULL},
    {"grep -i A <<< a", NULL},
    {"head -n 1 not_here", NULL},
};

Test(shell_bash, output_is_exact_or_unknown)
{
    for (size_t i = 0; i < sizeof printed / sizeof printed[0]; i++) {
        const char *want = printed[i].prints;
        run(arena_printf(&arena, "torchrun \"$(%s)\"", printed[i].program));
        cr_assert_geq(result.way[0].call[0].n, 2, "%s", printed[i].program);
        const char *text = result.way[0].call[0].word[1].text;
        if (want)
            cr_expect_str_eq(text, want, "%s: %s", printed[i].program, text);
        else
            cr_expect_eq(*text, BASH_MARK, "%s: %s", printed[i].program, text);
    }
}

/* ---- errors and limits ---- */

static const struct {
    const char *text;
    enum err err;
    const char *part;
} refused[] = {
    {"if true; then\n", ERR_PARSE, "run.sh:2: syntax error"},
    {"A=1\necho \"x\n", ERR_PARSE, "run.sh:2: syntax error"},
    {"A=(1 2\n", ERR_PARSE, "syntax error"},
    {"f() { f; }\nf", ERR_RANGE, "run.sh:1: functions call each other"},
    {":(){ :|:& };:", ERR_RANGE, "functions call each other"},
    {"X=aaaaaaaa\nwhile true; do X=$X$X; done", ERR_RANGE, "run.sh:2: "},
    {"torchrun {1..100000000}", ERR_RANGE, "run.sh:1: "},
    {"i=0; while true; do i=$((i+1)); done", ERR_RANGE, "run.sh:1: "},
    {"for ((;;)); do torchrun x; done", ERR_RANGE, "more than 4096 commands"},
    {"echo $(printf '%999999999d' 1)", ERR_RANGE, "width"},
    {"\ncoproc C { cat; }\n", ERR_PARSE, "run.sh:2: coproc"},
};

Test(shell_bash, errors_name_the_line)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        cr_expect_eq(run_in(NULL, refused[i].text), refused[i].err, "%s",
                     refused[i].text);
        cr_expect(strstr(msg.text, refused[i].part), "%s: %s", refused[i].text,
                  msg.text);
    }
}

Test(shell_bash, calls_before_a_syntax_error_are_kept)
{
    run("torchrun x\nfi\ntorchrun y\n");
    cr_expect_str_eq(words(0), "torchrun x");
    cr_assert(result.way[0].ended);
    cr_expect(strstr(result.way[0].ended, "syntax error"));
    run("torchrun x\nexit 0\n%%% ((( no bash\n");
    cr_expect_str_eq(words(0), "torchrun x");
    cr_expect_str_eq(result.way[0].ended, "exit 0");
    cr_expect_eq(result.way[0].ended_line, 2);
}
