/*
 * Much of anything: near a layer a stage, a megabyte of one thing, tables of
 * many rows or one long field, and signals while a large space is searched. The
 * answer may be any, but soon and in little memory.
 */
#include "soak.h"

#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A megabyte is answered within two seconds and 200 MB; twice the time, for a
 * machine that others use, too. */
#define SIZES_CPU_S 4.0
enum { SIZES_MAX_KB = 200 * 1024, SIZES_MB = 1 << 20, SIZES_WORD = 100000 };

static int small(struct soak *s, const char *line)
{
    return soak_command(s, &(struct soak_run){.line = line,
                                              .cpu_s = SIZES_CPU_S,
                                              .max_kb = SIZES_MAX_KB});
}

/* ---- near a layer a stage ---- */

/* Layers and stages that differ by a few; a list of plans has at least one
 * where every stage can have a unit. */
static void near_layers(struct soak *s)
{
    int layers = 4 + (int)soak_pick(s, 60), mtp = (int)soak_pick(s, 2);
    int pp = layers - 3 + (int)soak_pick(s, 7);
    const char *apart = mtp && soak_pick(s, 2) ? " --standalone-mtp" : "";
    const char *model = arena_printf(
        s->a,
        "{\"format\": \"moe-layout/model/1\", \"num_layers\": %d, "
        "\"hidden_size\": 64, \"num_attention_heads\": 4, \"vocab_size\": 256, "
        "\"num_experts\": 4%s}",
        layers, mtp ? ", \"mtp_num_layers\": 1" : "");
    soak_write(s, "m.json", model, strlen(model));
    small(s, "moe-layout costs m.json --analytic --seq 32 -o c.json");
    struct soak_run run = {.cpu_s = 20, .limit_s = 30};
    run.line = arena_printf(
        s->a,
        "moe-layout plan m.json --pp %d --gbs %d --seq 32 --costs c.json%s", pp,
        2 * pp, apart);
    int code = soak_command(s, &run);
    if (pp <= layers + 2 && code != 0)
        soak_fail(s, "no plan of %d layers on %d stages: %s", layers, pp,
                  soak_text(s, "err"));
    if (pp > layers + 3 && code == 0)
        soak_fail(s, "a plan of %d layers on %d stages", layers, pp);
    run.line =
        arena_printf(s->a, "moe-layout profile-layouts m.json --pp %d", pp);
    soak_command(s, &run);
}

/* ---- signals ---- */

/* Computing ends within seconds of a signal, also with one thread of BLAS. */
static void signal_in_search(struct soak *s)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    static const int sizes[] = {8, 16, 16};
    const char *model = arena_printf(
        s->a, "%s/../../experiments/models/deepseek-v3.json", s->fixtures);
    mkdir("results", 0777);
    mkdir("results/other", 0777);
    soak_copy(s, model, "model.json");
    small(s, "moe-layout costs model.json --analytic -o "
             "results/other/costs.json");
    const char *json = arena_printf(
        s->a,
        "{\"format\": \"moe-bench/experiment/1\", \"name\": \"long\", "
        "\"model\": \"model.json\", \"parallel\": {\"pp\": %d, \"vpp\": 2}, "
        "\"batch\": {\"micro_batch\": 1, \"global_batch\": 512, "
        "\"seq_tokens\": 4096}, \"launcher\": {\"kind\": \"command\", "
        "\"command\": [\"sh\"]}, \"trainer\": {\"kind\": \"moe-train\", "
        "\"entry\": \"/bin/false\"}, \"iterations\": {\"warmup\": 1, "
        "\"count\": 2}, \"costs_from\": \"other\", \"measure\": [{\"role\": "
        "\"pick\"}], \"limits\": {\"run_s\": 60}}",
        sizes[soak_pick(s, COUNT(sizes))]);
    soak_write(s, "long.json", json, strlen(json));
    struct soak_run run = {.line = "moe-bench run -q long.json --out "
                                   "results/long",
                           .signal = signals[soak_pick(s, COUNT(signals))],
                           .kill_after_s =
                               0.3 + 0.1 * (double)soak_pick(s, 20)};
    run.limit_s = run.kill_after_s + 4;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    soak_command(s, &run);
    unsetenv("OPENBLAS_NUM_THREADS");
}

/* ---- a megabyte of one thing ---- */

static const char *const units[] = {
    "[",
    "{\"a\":",
    "(",
    "t|",
    "\n",
    "\"",
    "'",
    "$A",
    "${A}",
    "$(",
    "`",
    "1,",
    "1 ",
    "x",
    "--x 1 ",
    " ",
    "\t",
    "- ",
    "a: ",
    "\\",
    "&a ",
    "*a ",
    "|",
    "#",
    "=",
    "9",
    "((",
    "[[ ",
    "if ",
    "A=1;",
    "mlp ",
    "<<A ",
    "{a,b}",
    "t*2",
    "]",
    "'\"'",
    "\r",
    "\xff",
    "%s",
    "${A:-",
    "A=$A$A\n",
    "~/",
    "for i in 1 2; do ",
    "case x in ",
    "f() { ",
    "set -- $A $A\n",
    "\"a\": 1, ",
    "--num-layers 2 ",
    "[0]*1+",
    "-\n",
    "  - a\n",
    "iteration 1/ 9 | ",
    " iteration        1/      20 | elapsed time per iteration (ms): 1.0 |\n",
    "(1F1B)",
    "rank 0: ",
    "A+=x\n",
    "declare -A a\n",
    "a[9]=1\n",
    "$((1+",
    "K%d=1\n",
    "k%d: 1\n",
    "--k%d 1 ",
    "\"k%d\": 1, ",
    "$K%d",
    "  k%d: *a\n",
    "&a%d [*a] ",
    "? ",
    "!!x ",
    ">\n ",
    "|\n",
    "source a\n",
    "while :; do ",
    "until x; do :; done\n",
    "x && ",
    "cat <<E\n",
    "exec ",
    "bash -c '",
    "eval ",
    "| x ",
    "python x.py --a ",
    "{1..9}",
    "*",
    "a,"};

/* What stands before and behind, what is mostly repeated there, and the first
 * and last of the readers below that know the form. */
static const struct {
    const char *before, *behind, *unit;
    size_t first, last;
} frames[] = {
    {"", "", "[", 0, 13},
    {"{\"format\": \"moe-layout/model/1\", \"num_layers\": [", "1]}", "1,", 0,
     3},
    {"{\"format\": \"moe-layout/model/1\", \"comment\": \"", "\"}", "x", 0, 3},
    {"{\"format\": \"moe-layout/model/1\", \"moe_layer_freq\": [", "1]}", "1,",
     0, 3},
    {"{\"format\": \"moe-layout/model/1\", ", "\"z\": 1}", "\"k%d\": 1, ", 0,
     3},
    {"{\"model_type\": \"mixtral\", ", "\"z\": 1}", "\"k%d\": 1, ", 0, 3},
    {"{\"format\": \"moe-bench/experiment/1\", \"measure\": [", "1]}",
     "{\"a\":", 12, 13},
    {"{\"format\": \"moe-bench/experiment/1\", \"name\": \"", "\"}", "x", 12,
     13},
    {"{\"format\": \"moe-layout/costs/1\", ", "\"z\": 1}", "\"k%d\": 1, ", 9,
     9},
    {"python pretrain_gpt.py --num-layers 2 --recompute-modules ", "\n", "mlp ",
     0, 3},
    {"python pretrain_gpt.py --num-layers 2 --moe-layer-freq \"", "\"\n", "[",
     0, 3},
    {"python pretrain_gpt.py --num-layers 2 ", "\n", "--k%d 1 ", 0, 3},
    {"A=\nB=\"", "\"\npython pretrain_gpt.py --num-layers 2 $B\n", "$A", 0, 3},
    {"A=abc\n", "\npython pretrain_gpt.py --num-layers 2 $A\n", "A+=x\n", 0, 3},
    {"A=(", ")\npython pretrain_gpt.py --num-layers 2 ${A[@]}\n", "x ", 0, 3},
    {"MODEL_ARGS:\n  --num-layers: 2\n  --recompute-modules: [", "]\n", "mlp, ",
     0, 3},
    {"MODEL_ARGS:\n  --num-layers: ", "\n", "[", 0, 3},
    {"a: &a [1]\nMODEL_ARGS:\n", "\n", "  k%d: *a\n", 0, 3},
    {"num_layers: 2\nhidden_size: 64\n", "\n", "k%d: 1\n", 0, 3},
    {" iteration        1/      20 | consumed samples: 8 | ", "\n", "x: 1 | ",
     10, 11}};

static const char *const readers[] = {
    "moe-layout size z",
    "moe-layout read z --json",
    "moe-layout check z",
    "moe-layout memory z --pp 4",
    "moe-layout doctor z",
    "moe-layout costs z",
    "moe-layout check --batch z",
    "moe-layout memory --batch z",
    "moe-layout simulate --batch z",
    "moe-layout plan z --pp 4 --gbs 8 --costs c.json",
    "moe-bench parse z",
    "moe-bench parse z --json",
    "moe-bench run z --dry-run",
    "moe-bench status z"};

/* A number in it counts up. */
static size_t repeat(char *to, size_t room, const char *unit)
{
    const char *number = strstr(unit, "%d");
    size_t n = 0, before = number ? (size_t)(number - unit) : strlen(unit);
    for (int k = 0; n + strlen(unit) + 12 < room; k++) {
        memcpy(to + n, unit, before);
        n += before;
        if (number)
            n += (size_t)snprintf(to + n, room - n, "%d%s", k, number + 2);
    }
    return n;
}

static void megabyte(struct soak *s)
{
    size_t f = soak_pick(s, COUNT(frames));
    const char *before = frames[f].before, *behind = frames[f].behind;
    const char *unit =
        soak_pick(s, 2) ? frames[f].unit : soak_choose(s, units, COUNT(units));
    size_t among = frames[f].last - frames[f].first + 1;
    const char *line = soak_pick(s, 8)
                           ? readers[frames[f].first + soak_pick(s, among)]
                           : soak_choose(s, readers, COUNT(readers));
    size_t room = soak_pick(s, 2) ? SIZES_MB : 1000 + soak_pick(s, SIZES_MB);
    char *text = arena_alloc(s->a, 1, room + 4096);
    size_t n = strlen(before), all;
    memcpy(text, before, n);
    n += repeat(text + n, room, unit);
    all = soak_pick(s, 4) ? strlen(behind) : 0;
    memcpy(text + n, behind, all);
    soak_write(s, "z", text, n + all);
    small(s, line);
    if (s->failed)
        s->failed =
            arena_printf(s->a, "%s: of '%s' in '%s'", s->failed, unit, before);
}

/* The same as a word of the command line. */
static void long_word(struct soak *s)
{
    static const char *const lines[] = {
        "moe-layout check %s/../../experiments/models/7b-a1b.json %s --pp 4",
        "moe-layout size %s/../../experiments/models/7b-a1b.json "
        "--set A=%s",
        "moe-layout size %s/../../experiments/models/7b-a1b.json -- "
        "--moe-layer-freq %s",
        "moe-layout simulate %s/../../experiments/models/7b-a1b.json %s --pp 4 "
        "--gbs 8 --costs c.json"};
    char *text = arena_alloc(s->a, 1, SIZES_WORD + 64);
    const char *line = soak_choose(s, lines, COUNT(lines));
    const char *unit = soak_choose(s, units, COUNT(units));
    const char *at = strstr(line, "%s"), *word = strstr(at + 2, "%s");
    size_t n = repeat(text, SIZES_WORD, unit);
    for (size_t i = 0; i < n; i++)
        if (text[i] == ' ')
            text[i] = '|';
    small(s, arena_printf(s->a, "%.*s%s%.*s%.*s%s", (int)(at - line), line,
                          s->fixtures, (int)(word - at - 2), at + 2, (int)n,
                          text, word + 2));
    if (s->failed)
        s->failed = arena_printf(s->a, "'%s' of '%s': %s", line, unit,
                                 strrchr(s->failed, ' '));
}

/* ---- tables ---- */

/* As if the dataset had been published with this file. */
static void sign(struct soak *s, const char *name, const char *text, size_t n)
{
    char hex[TEXT_SHA256_HEX];
    text_sha256(text, n, hex);
    char *sums = arena_strdup(s->a, soak_text(s, "r/SHA256SUMS"));
    char *at = strstr(sums, arena_printf(s->a, "  %s\n", name));
    if (!at)
        return;
    memcpy(at - (TEXT_SHA256_HEX - 1), hex, TEXT_SHA256_HEX - 1);
    soak_write(s, "r/SHA256SUMS", sums, strlen(sums));
}

/* Behind the first two lines or within the second: rows or a field. */
static void large_table(struct soak *s)
{
    static const char *const names[] = {"layouts.csv",  "runs.csv",
                                        "stages.csv",   "units.csv",
                                        "timeline.csv", "iterations.csv"};
    static const char *const lines[] = {
        "moe-bench report r", "moe-bench validate r --baseline ../base/"
                              "baseline.csv"};
    const char *name = soak_choose(s, names, COUNT(names));
    const char *line = soak_choose(s, lines, COUNT(lines));
    const char *path = arena_printf(s->a, "r/%s", name);
    soak_copy(s, arena_printf(s->a, "%s/set", s->base), "r");
    const char *text = soak_text(s, path), *row = strchr(text, '\n');
    const char *end = row ? strchr(row + 1, '\n') : NULL;
    if (!end)
        return;
    bool rows = soak_pick(s, 2);
    const char *unit = rows ? arena_strndup(s->a, row + 1, (size_t)(end - row))
                            : soak_choose(s, units, COUNT(units));
    size_t len = strlen(text), n = (size_t)(end - text) + rows;
    char *all = arena_alloc(s->a, 1, len + SIZES_MB + 64);
    memcpy(all, text, n);
    n += repeat(all + n, SIZES_MB, unit);
    const char *rest = rows ? end + 1 : end;
    memcpy(all + n, rest, strlen(rest));
    n += strlen(rest);
    soak_write(s, path, all, n);
    sign(s, name, all, n);
    // gnuplot's time counts, too
    soak_command(s, &(struct soak_run){
                        .line = line, .cpu_s = 10, .max_kb = SIZES_MAX_KB});
    if (s->failed)
        s->failed = arena_printf(s->a, "%s: %s of '%s'", s->failed, name, unit);
}

const struct soak_scene soak_of_sizes[] = {
    {"near-layers", near_layers, 2}, {"signal-in-search", signal_in_search, 1},
    {"megabyte", megabyte, 8},       {"long-word", long_word, 2},
    {"large-table", large_table, 1}, {NULL, NULL, 0}};
