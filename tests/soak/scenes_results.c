/*
 * Results and datasets that were damaged, links and strange files among them,
 * and places to publish to that are somebody's. The answer is known: the table
 * of the whole results, or a refusal.
 */
#include "soak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RUN "moe-bench run -q ../base/fake.json --out r"

/* ---- damage ---- */

static void make_link(struct soak *s, const char *path)
{
    const char *to = arena_printf(s->a, "%s/notes.txt", s->outside);
    unlink(path);
    if (symlink(to, path) != 0)
        soak_fail(s, "cannot link %s", path);
}

/* One of the ways in which a file is not what it was; the path stays. */
static const char *damage(struct soak *s, const char *path)
{
    static const char *const words[] = {"emptied", "halved",  "removed",
                                        "a link",  "a FIFO",  "a folder",
                                        "mutated", "mutated", "swapped"};
    size_t how = soak_pick(s, COUNT(words));
    const char *text = soak_text(s, path), *other = soak_any_file(s, "r");
    switch (how) {
    case 0:
        soak_write(s, path, "", 0);
        break;
    case 1:
        soak_write(s, path, text, strlen(text) / 2);
        break;
    case 2:
        unlink(path);
        break;
    case 3:
        make_link(s, path);
        break;
    case 4:
        unlink(path);
        mkfifo(path, 0666);
        break;
    case 5:
        unlink(path);
        mkdir(path, 0777);
        break;
    case 8:
        if (other && strcmp(other, path) != 0)
            soak_copy(s, other, path);
        break;
    default:
        soak_mutate(s, path, path);
    }
    return words[how];
}

/* Names that somebody may use: the harness makes none like them. */
static const char *const strays[] = {
    "r/notes.tmp.1",       "r/runs/notes.txt",    "r/runs/.tmp-mine",
    "r/runs/.tmp-r01-x",   "r/layouts.csv.tmp.x", "r/runs/0",
    "r/runs/r01-pick-x-y", "r/.hidden",           "r/runs/.tmp-"};

/* Files, folders and links there. */
static void add_strays(struct soak *s)
{
    for (size_t n = soak_pick(s, 4); n > 0; n--) {
        const char *name = soak_choose(s, strays, COUNT(strays));
        struct stat st;
        if (lstat(name, &st) == 0)
            continue;
        if (soak_pick(s, 3) == 0)
            make_link(s, name);
        else if (soak_pick(s, 2) == 0)
            mkdir(name, 0777);
        else
            soak_write(s, name, "mine\n", 5);
    }
}

/* ---- known answers ---- */

/* `text` without the line that begins with `word`. */
static const char *without(struct soak *s, const char *text, const char *word)
{
    const char *at = strstr(text, word);
    const char *rest = at ? strchr(at, '\n') : NULL;
    return rest ? arena_printf(s->a, "%.*s%s", (int)(at - text), text, rest)
                : text;
}

/* The closing table without the lines that name the folder, and without the
 * noise, which is of as many runs as there are: another try adds to them. */
static const char *table_of(struct soak *s, const char *text)
{
    text = without(s, text, "Files: ");
    text = without(s, text, "Report: ");
    return without(s, text, "Noise: ");
}

static void check_table(struct soak *s)
{
    const char *want = arena_printf(s->a, "%s/table", s->base);
    want = table_of(s, soak_text(s, want));
    const char *got = table_of(s, soak_text(s, "out"));
    if (strcmp(want, got) != 0)
        soak_fail(s, "run ends with 0 and another table");
}

static int command(struct soak *s, const char *line)
{
    return soak_command(s, &(struct soak_run){.line = line, .limit_s = 30});
}

/* ---- scenes ---- */

/* Damaged results are made again, or refused: never another table with 0. */
static void damaged_results(struct soak *s)
{
    soak_copy(s, arena_printf(s->a, "%s/r", s->base), "r");
    for (size_t n = 1 + soak_pick(s, 3); n > 0; n--) {
        const char *path = soak_any_file(s, soak_pick(s, 4) ? "r/runs" : "r");
        if (path)
            damage(s, path);
    }
    add_strays(s);
    command(s, "moe-bench status ../base/fake.json --out r");
    if (command(s, RUN) == 0)
        check_table(s);
    if (command(s, RUN) == 0)
        check_table(s);
}

/* What is only strange among the results blocks nothing, and stays. */
static void strange_files(struct soak *s)
{
    struct stat st;
    bool was[COUNT(strays)];
    soak_copy(s, arena_printf(s->a, "%s/r", s->base), "r");
    while (soak_pick(s, 4))
        add_strays(s);
    for (size_t i = 0; i < COUNT(strays); i++)
        was[i] = lstat(strays[i], &st) == 0;
    if (command(s, "moe-bench status ../base/fake.json --out r") != 0)
        soak_fail(s, "strange files block status: %s", soak_text(s, "err"));
    if (command(s, RUN) != 0)
        soak_fail(s, "strange files block run: %s", soak_text(s, "err"));
    check_table(s);
    for (size_t i = 0; i < COUNT(strays); i++)
        if (was[i] && lstat(strays[i], &st) != 0)
            soak_fail(s, "run removes somebody's %s", strays[i]);
}

/* Any file of a dataset that is another now is named, and ends with 1 or 2. */
static void damaged_dataset(struct soak *s)
{
    char line[256];
    soak_copy(s, arena_printf(s->a, "%s/set", s->base), "r");
    const char *path = soak_any_file(s, "r");
    const char *before = soak_text(s, path);
    size_t size = strlen(before);
    struct stat was, is;
    stat(path, &was);
    const char *how = damage(s, path);
    bool same = lstat(path, &is) == 0 && S_ISREG(is.st_mode) &&
                is.st_size == was.st_size &&
                strlen(soak_text(s, path)) == size &&
                strcmp(before, soak_text(s, path)) == 0;
    snprintf(line, sizeof line,
             "moe-bench validate r --baseline ../base/baseline.csv");
    int code = command(s, line);
    // zero bytes hide what is behind them from this comparison
    if (code == 0 && !same && !strstr(path, ".gz"))
        soak_fail(s, "%s was %s, and validate ends with 0", path, how);
    if (code != 0 && !strstr(soak_text(s, "err"), strrchr(path, '/') + 1) &&
        !strstr(soak_text(s, "err"), "SHA256SUMS"))
        soak_fail(s, "%s was %s, and is not named: %s", path, how,
                  soak_text(s, "err"));
}

struct target {
    const char *to;
    bool ok; // may be made, or replaced
};

/* Only what is free or a dataset of ours is taken; the rest is as it was, which
 * the frame sees of `outside` and `base`. */
static void published_anywhere(struct soak *s)
{
    static const struct target targets[] = {
        {".", false},          {"..", false},       {"./", false},
        {"mine", false},       {"mine/", false},    {"link", false},
        {"link/", false},      {"r", false},        {"r/", false},
        {"r/runs", false},     {"../turn", false},  {"../turn/r", false},
        {"../outside", false}, {"../base", false},  {"../base/r", false},
        {"file", false},       {"r/runs/x", false}, {"mine/sub", true},
        {"new", true},         {"new/deep/", true}, {"set", true},
        {"set/", true},        {"./set", true},     {"linkset", false},
        {"setplus", false},    {"mine/../x", true}};
    const struct target *t = &targets[soak_pick(s, COUNT(targets))];
    soak_copy(s, arena_printf(s->a, "%s/r", s->base), "r");
    soak_copy(s, arena_printf(s->a, "%s/set", s->base), "set");
    soak_copy(s, arena_printf(s->a, "%s/set", s->base), "setplus");
    mkdir("mine", 0777);
    soak_write(s, "mine/notes.txt", "mine\n", 5);
    soak_write(s, "setplus/notes.txt", "mine\n", 5);
    soak_write(s, "file", "mine\n", 5);
    make_link(s, "r/link");
    if (symlink("../outside", "link") != 0 || symlink("set", "linkset") != 0)
        soak_fail(s, "cannot link");
    int code = command(
        s, arena_printf(s->a,
                        "moe-bench publish ../base/fake.json --out r --to %s",
                        t->to));
    if (code != (t->ok ? 0 : 2))
        soak_fail(s, "publish --to %s ends with %d: %s", t->to, code,
                  soak_text(s, "err"));
    if (strcmp(soak_text(s, "mine/notes.txt"), "mine\n") != 0 ||
        strcmp(soak_text(s, "setplus/notes.txt"), "mine\n") != 0 ||
        strcmp(soak_text(s, "file"), "mine\n") != 0)
        soak_fail(s, "publish --to %s took somebody's file", t->to);
    unlink("r/link");
    if (command(s, RUN) != 0)
        soak_fail(s, "publish --to %s hurt the results", t->to);
    check_table(s);
}

/* Links among the results, at names that are written. */
static void linked_results(struct soak *s)
{
    static const char *const names[] = {
        "layouts.csv", "runs.csv",   "stages.csv",   "iterations.csv",
        "units.csv",   "jitter.csv", "timeline.csv", "costs.json",
        "plan.json",   ".lock"};
    const char *name = soak_choose(s, names, COUNT(names));
    soak_copy(s, arena_printf(s->a, "%s/r", s->base), "r");
    make_link(s, arena_printf(s->a, "r/%s", name));
    if (command(s, RUN) != 3)
        soak_fail(s, "run writes through the link r/%s", name);
}

const struct soak_scene soak_of_results[] = {
    {"damaged-results", damaged_results, 1},
    {"strange-files", strange_files, 1},
    {"damaged-dataset", damaged_dataset, 3},
    {"published-anywhere", published_anywhere, 1},
    {"linked-results", linked_results, 1},
    {NULL, NULL, 0}};
