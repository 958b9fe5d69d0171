/*
 * Commands planted in the texts of a manifest: a dry run that somebody pastes
 * into a shell has no effect but its own, and a job carries nothing out of its
 * folder. What a planted command would make lies outside, where the frame
 * looks.
 */
#include "soak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define COMMIT "3bec9aa97dda898d16ff5a89bac0ed2b6682b172"

/* As the texts stand in JSON; CMD is the command. */
static const char *const befores[] = {"",  "x",   "x ", "-x", "A=",    "A=x ",
                                      "#", "/a:", "'",  ".",  "a/b c", COMMIT};
static const char *const cores[] = {"; CMD",
                                    ";CMD;",
                                    "$(CMD)",
                                    "`CMD`",
                                    "\\nCMD\\n",
                                    "\\n#SBATCH --x\\nCMD\\n",
                                    "\\rCMD\\r",
                                    "'; CMD; '",
                                    "'\\nCMD\\n'",
                                    "\\\"; CMD; \\\"",
                                    "| CMD",
                                    " && CMD",
                                    " || CMD ||",
                                    "\\\\'; CMD; \\\\'",
                                    "\\u0085CMD\\u2028CMD",
                                    "${X:-$(CMD)}",
                                    "<(CMD)",
                                    "\\nEOF\\nCMD\\n",
                                    "\\u000bCMD\\u000c",
                                    ":/b; CMD"};
static const char *const behinds[] = {"", "", "#", " ", "\\n", ":ro", ".json"};

/* A manifest in parts; one %s of `part` is planted. */
static const char *const launchers[] = {
    "\"kind\": \"slurm\"", "\"kind\": \"hf-jobs\"",
    "\"kind\": \"hf-jobs\", \"per\": \"experiment\", "
    "\"results\": \"hf://buckets/me/x\"",
    "\"kind\": \"command\", \"command\": [\"printenv\"]"};

enum place { IN_LAUNCHER, IN_TRAINER, IN_MODEL, IN_TOP, IN_GPU, NOWHERE };

static const struct {
    enum place place;
    const char *part;
} slots[] = {
    {NOWHERE, ""},
    {IN_LAUNCHER, "\"partition\": \"%s\""},
    {IN_LAUNCHER, "\"account\": \"%s\""},
    {IN_LAUNCHER, "\"flavor\": \"%s\""},
    {IN_LAUNCHER, "\"namespace\": \"%s\""},
    {IN_LAUNCHER, "\"rendezvous\": \"%s\""},
    {IN_LAUNCHER, "\"platform\": \"%s\""},
    {IN_LAUNCHER, "\"modules\": [\"%s\"]"},
    {IN_LAUNCHER, "\"mounts\": [\"%s\"]"},
    {IN_LAUNCHER, "\"env\": [\"%s\"]"},
    {IN_TRAINER, "\"container\": \"i:t\", \"commit\": \"%s\""},
    {IN_TRAINER, "\"container\": \"%s\", \"commit\": \"" COMMIT "\""},
    {IN_TRAINER, "\"container\": \"i:t\", \"entry\": \"%s\""},
    {IN_TRAINER, "\"container\": \"i:t\", \"args\": [\"--x\", \"%s\"]"},
    {IN_MODEL, "\"tokenizer_model\": \"%s\""},
    {IN_MODEL, "\"data_path\": [\"%s\", \"b\"]"},
    {IN_MODEL, "\"comment\": \"%s\""},
    {IN_TOP, "\"name\": \"%s\""},
    {IN_TOP, "\"name\": \"fake\", \"costs_from\": \"%s\""},
    {IN_TOP, "\"name\": \"fake\", \"comment\": \"%s\""},
    {IN_GPU, "%s"}};

/* CMD of a text is the command. */
static const char *fill(struct soak *s, const char *text, const char *command)
{
    const char *all = "";
    for (const char *at; (at = strstr(text, "CMD")); text = at + 3)
        all = arena_printf(s->a, "%s%.*s%s", all, (int)(at - text), text,
                           command);
    return arena_printf(s->a, "%s%s", all, text);
}

static const char *evil(struct soak *s)
{
    const char *text =
        arena_printf(s->a, "%s%s%s", soak_choose(s, befores, COUNT(befores)),
                     soak_choose(s, cores, COUNT(cores)),
                     soak_choose(s, behinds, COUNT(behinds)));
    return fill(s, text, arena_printf(s->a, "touch %s/PWNED", s->outside));
}

/* The slot's part where it belongs, else what is good there. */
static const char *part(struct soak *s, size_t slot, enum place place,
                        const char *text, const char *good)
{
    if (slots[slot].place != place)
        return good;
    const char *format = slots[slot].part, *at = strstr(format, "%s");
    return arena_printf(s->a, "%.*s%s%s", (int)(at - format), format, text,
                        at + 2);
}

static void write_manifest(struct soak *s, size_t slot, const char *launcher,
                           const char *text)
{
    const char *more = part(s, slot, IN_LAUNCHER, text, "");
    const char *model = part(s, slot, IN_MODEL, text, "\"swiglu\": true");
    const char *train =
        part(s, slot, IN_TRAINER, text,
             "\"container\": \"i:t\", \"commit\": \"" COMMIT "\"");
    const char *json = arena_printf(
        s->a,
        "{\"format\": \"moe-bench/experiment/1\", %s,\n"
        "\"model\": {\"num_layers\": 12, \"hidden_size\": 64, "
        "\"num_attention_heads\": 4, \"vocab_size\": 256, \"num_experts\": 4, "
        "\"mtp_num_layers\": 1, %s},\n"
        "\"parallel\": {\"pp\": 4}, \"batch\": {\"micro_batch\": 1, "
        "\"global_batch\": 8, \"seq_tokens\": 32},\n"
        "\"hardware\": {\"gpu\": \"%s\", \"count\": 4},\n"
        "\"launcher\": {%s%s%s}, \"trainer\": {\"kind\": \"megatron\", %s},\n"
        "\"iterations\": {\"warmup\": 1, \"count\": 5},\n"
        "\"profile\": {\"runs\": [\"Et*5|t*2|t*3|t*2mL\", "
        "\"Et*3|t*3|t*5|tmL\"]},\n"
        "\"measure\": [{\"role\": \"default\"}], \"limits\": {\"run_s\": 60}}",
        part(s, slot, IN_TOP, text, "\"name\": \"fake\""), model,
        part(s, slot, IN_GPU, text, "H100"), launcher, *more ? ", " : "", more,
        train);
    soak_write(s, "m.json", json, strlen(json));
}

/* Programs that a script may start, without effect. */
static void make_programs(struct soak *s)
{
    static const char *const names[] = {"hf",     "sbatch",     "srun",
                                        "git",    "torchrun",   "module",
                                        "mpirun", "nvidia-smi", "scontrol"};
    mkdir("bin", 0777);
    for (size_t i = 0; i < COUNT(names); i++)
        if (symlink("/bin/true", arena_printf(s->a, "bin/%s", names[i])) != 0)
            soak_fail(s, "cannot link bin/%s", names[i]);
}

/* What was printed, by the shell that it is made for. */
static void paste(struct soak *s)
{
    static const char script[] =
        "PATH=$PWD/bin:$PATH\nexport PATH\nmkdir -p here\ncd here\n"
        "timeout 8 bash ../pasted >/dev/null 2>&1\nexit 0\n";
    soak_copy(s, "out", "pasted");
    soak_write(s, "paste.sh", script, strlen(script));
    soak_command(s, &(struct soak_run){.line = "/bin/sh paste.sh"});
}

/* Mostly one that has the key. */
static const char *launcher_of(struct soak *s, const char *part)
{
    static const char *const of_slurm[] = {"partition", "account", "modules",
                                           "rendezvous"};
    static const char *const of_hf[] = {"flavor", "namespace"};
    for (size_t i = 0; i < COUNT(of_slurm); i++)
        if (strstr(part, of_slurm[i]) && soak_pick(s, 4))
            return launchers[0];
    for (size_t i = 0; i < COUNT(of_hf); i++)
        if (strstr(part, of_hf[i]) && soak_pick(s, 4))
            return launchers[1 + soak_pick(s, 2)];
    return soak_choose(s, launchers, COUNT(launchers));
}

static void planted_words(struct soak *s)
{
    size_t slot = soak_pick(s, COUNT(slots));
    const char *launcher = launcher_of(s, slots[slot].part);
    const char *text = evil(s);
    make_programs(s);
    write_manifest(s, slot, launcher, text);
    int code = soak_command(
        s,
        &(struct soak_run){.line = "moe-bench run m.json --dry-run --out r"});
    if (code == 1 || code == 3 || (slots[slot].place == NOWHERE && code != 0))
        soak_fail(s, "a dry run ends with %d: %s", code, soak_text(s, "err"));
    paste(s);
    if (access(arena_printf(s->a, "%s/PWNED", s->outside), F_OK) == 0)
        soak_fail(s, "'%s' of %s, %s is run by a shell", text, slots[slot].part,
                  launcher);
}

/* ---- what a job carries ---- */

/* Paths of a model that lead out of the folder, if only on the way. */
static const char *const outward[] = {
    "../model.json",          "y/../../model.json",    "./../model.json",
    "sub/../../model.json",   "sub/..//../model.json", "../y/model.json",
    "sub/../../y/model.json", "../outside.json",       "sub/../model.json"};

/* A job that carries its files refuses them, before it starts anything. */
static void carried_model(struct soak *s)
{
    const char *path = getenv("PATH"), *old = arena_strdup(s->a, path);
    const char *model = soak_text(
        s, arena_printf(s->a, "%s/../../experiments/models/7b-a1b.json",
                        s->fixtures));
    mkdir("y", 0777);
    mkdir("y/sub", 0777);
    mkdir("hf", 0777);
    soak_write(s, "model.json", model, strlen(model));
    soak_write(s, "outside.json", model, strlen(model));
    soak_write(s, "y/model.json", model, strlen(model));
    soak_write(s, "hf/jobs", "", 0);
    const char *name = soak_choose(s, outward, COUNT(outward));
    const char *json = arena_printf(
        s->a,
        "{\"format\": \"moe-bench/experiment/1\", \"name\": \"fake\",\n"
        "\"model\": \"%s\", \"parallel\": {\"pp\": 4},\n"
        "\"batch\": {\"micro_batch\": 1, \"global_batch\": 8, "
        "\"seq_tokens\": 32},\n\"hardware\": {\"gpu\": \"H100\", \"count\": "
        "4},\n"
        "\"launcher\": {%s, \"poll_s\": 0.1},\n\"trainer\": {\"kind\": "
        "\"megatron\", \"container\": \"i:t\", \"entry\": \"p.py\"},\n"
        "\"iterations\": {\"warmup\": 1, \"count\": 5},\n\"measure\": "
        "[{\"role\": \"default\"}], \"limits\": {\"run_s\": 60}}",
        name, launchers[2]);
    soak_write(s, "y/m.json", json, strlen(json));
    setenv("PATH", arena_printf(s->a, "%s/bin:%s", s->fixtures, old), 1);
    setenv("FAKE_HF", arena_printf(s->a, "%s/hf", s->work), 1);
    setenv("FAKE_ROOT", arena_printf(s->a, "%s/../..", s->fixtures), 1);
    int code = soak_command(
        s, &(struct soak_run){.line = "moe-bench run -q y/m.json --out y/out",
                              .limit_s = 30});
    setenv("PATH", old, 1);
    unsetenv("FAKE_HF");
    unsetenv("FAKE_ROOT");
    if (code != 2 || access("hf/count", F_OK) == 0)
        soak_fail(s, "a job carries the model '%s': exit %d, %s", name, code,
                  soak_text(s, "err"));
}

const struct soak_scene soak_of_words[] = {{"planted-words", planted_words, 12},
                                           {"carried-model", carried_model, 2},
                                           {NULL, NULL, 0}};
