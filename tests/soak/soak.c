/*
 * How it works: usage: soak SECONDS [SEED [TURN [SCENE]]]. Turn k of a seed is
 * the same wherever it begins, so a failure is repeated by its seed and turn
 * alone. Each turn has a folder of its own, removed after it unless it failed.
 */
#include "soak.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SOAK_MAX_FILE = 64 << 20, SOAK_MAX_FILES = 4096 };

size_t soak_pick(struct soak *s, size_t n)
{
    return (size_t)(random_next(&s->random) % n);
}

const char *soak_choose(struct soak *s, const char *const *texts, size_t n)
{
    return texts[soak_pick(s, n)];
}

void soak_fail(struct soak *s, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!s->failed)
        s->failed = arena_strdup(s->a, text);
}

/* ---- files ---- */

const char *soak_text(struct soak *s, const char *path)
{
    struct text_span text;
    struct err_msg ignored;
    return text_read_bytes(s->a, path, SOAK_MAX_FILE, &text, &ignored) == ERR_OK
               ? text.data
               : "";
}

void soak_write(struct soak *s, const char *path, const char *text, size_t n)
{
    struct err_msg msg;
    if (text_write_file(path, text, n, &msg) != ERR_OK)
        soak_fail(s, "cannot write: %s", msg.text);
}

void soak_copy(struct soak *s, const char *from, const char *to)
{
    struct stat st;
    struct err_msg msg = {""};
    if (stat(from, &st) != 0) {
        soak_fail(s, "cannot copy %s: %s", from, strerror(errno));
        return;
    }
    if (!S_ISDIR(st.st_mode)) {
        if (file_copy(from, to, &msg) != ERR_OK)
            soak_fail(s, "cannot copy: %s", msg.text);
        return;
    }
    DIR *d = opendir(from);
    mkdir(to, 0777);
    for (struct dirent *f; d && (f = readdir(d));)
        if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0)
            soak_copy(s, arena_printf(s->a, "%s/%s", from, f->d_name),
                      arena_printf(s->a, "%s/%s", to, f->d_name));
    if (d)
        closedir(d);
}

struct found {
    const char *path[SOAK_MAX_FILES];
    size_t n;
};

/* All regular files, in the order of their names. */
static void find_files(struct soak *s, const char *folder, struct found *to)
{
    struct dirent **entry = NULL;
    int n = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        struct stat st;
        const char *name = entry[i]->d_name;
        const char *path = arena_printf(s->a, "%s/%s", folder, name);
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
            lstat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode))
                find_files(s, path, to);
            else if (S_ISREG(st.st_mode) && to->n < SOAK_MAX_FILES)
                to->path[to->n++] = path;
        }
        free(entry[i]);
    }
    free(entry);
}

const char *soak_any_file(struct soak *s, const char *folder)
{
    struct found f = {.n = 0};
    find_files(s, folder, &f);
    return f.n ? f.path[soak_pick(s, f.n)] : NULL;
}

/* Hash over names and contents of all files. */
static const char *folder_hash(struct soak *s, const char *folder)
{
    struct found f = {.n = 0};
    char hex[TEXT_SHA256_HEX];
    const char *all = "";
    find_files(s, folder, &f);
    for (size_t i = 0; i < f.n; i++) {
        struct err_msg ignored;
        if (text_sha256_file(f.path[i], hex, &ignored) != ERR_OK)
            memset(hex, 0, sizeof hex);
        all = arena_printf(s->a, "%s%s %s\n", all, f.path[i], hex);
    }
    text_sha256(all, strlen(all), hex);
    return arena_strdup(s->a, hex);
}

/* ---- mutation ---- */

/* Numbers and words that have been trouble before. */
static const char *const odd[] = {"-1",
                                  "0",
                                  "1e308",
                                  "99999999999999999999",
                                  "nan",
                                  "\"\"",
                                  "{",
                                  "]",
                                  "true",
                                  "null",
                                  "0x7fffffff",
                                  "$(",
                                  "`",
                                  "'",
                                  "\xff\xfe",
                                  "\\u0000",
                                  "9007199254740993",
                                  "%n%s",
                                  "\r",
                                  "\t"};

/* One change at a random place; `text` has room for 2 n + 64 bytes. */
static size_t change_once(struct soak *s, char *text, size_t n)
{
    size_t at = n ? soak_pick(s, n) : 0;
    size_t len = n - at < 64 ? n - at : 1 + soak_pick(s, 64);
    const char *word = soak_choose(s, odd, sizeof odd / sizeof odd[0]);
    switch (n ? soak_pick(s, 7) : 6) {
    case 0:
        text[at] = (char)(text[at] ^ (1 << soak_pick(s, 8)));
        return n;
    case 1:
        text[at] = '\0';
        return n;
    case 2: // cut out
        memmove(text + at, text + at + len, n - at - len);
        return n - len;
    case 3: // cut off
        return at;
    case 4: // repeat
        memmove(text + at + len, text + at, n - at);
        return n + len;
    case 5: // overwrite with something
        for (size_t i = 0; word[i] && at + i < n; i++)
            text[at + i] = word[i];
        return n;
    default: // insert something
        memmove(text + at + strlen(word), text + at, n - at);
        memcpy(text + at, word, strlen(word));
        return n + strlen(word);
    }
}

const char *soak_mutate(struct soak *s, const char *from, const char *to)
{
    struct text_span old;
    struct err_msg msg;
    if (text_read_bytes(s->a, from, SOAK_MAX_FILE, &old, &msg) != ERR_OK) {
        soak_fail(s, "cannot read: %s", msg.text);
        return to;
    }
    size_t n = old.len, times = 1 + soak_pick(s, 8);
    char *text = arena_alloc(s->a, 1, 2 * n + 1024);
    memcpy(text, old.data, n);
    for (size_t i = 0; i < times; i++)
        n = change_once(s, text, n);
    soak_write(s, to, text, n);
    return to;
}

/* ---- turns ---- */

struct soak_frame {
    struct soak all; // what the turns share
    uint64_t seed;
    const char *top; // holds all folders
    struct arena arena;
};

static const struct soak_scene *find_scene(size_t i, const char *name)
{
    const struct soak_scene *const tables[] = {soak_of_results, soak_of_runs,
                                               soak_of_inputs,  soak_of_texts,
                                               soak_of_words,   soak_of_sizes};
    size_t n = 0;
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const struct soak_scene *x = tables[t]; x->name; x++)
            n++;
    i %= n;
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const struct soak_scene *x = tables[t]; x->name; x++)
            if (name ? strcmp(name, x->name) == 0 : i-- == 0)
                return x;
    return NULL;
}

/* What every scene may start from: one finished experiment. */
static void prepare(struct soak_frame *f)
{
    struct soak *s = &f->all;
    char path[PATH_MAX];
    s->a = &f->arena;
    f->top = arena_strdup(s->a, "/tmp/soak-XXXXXX");
    if (!mkdtemp((char *)(uintptr_t)f->top) || chdir(f->top) != 0)
        soak_fail(s, "cannot make a folder: %s", strerror(errno));
    s->base = arena_printf(s->a, "%s/base", f->top);
    s->outside = arena_printf(s->a, "%s/outside", f->top);
    s->work = f->top;
    mkdir(s->base, 0777);
    mkdir(s->outside, 0777);
    snprintf(path, sizeof path, "%s/notes.txt", s->outside);
    soak_write(s, path, "precious\n", 9);
    snprintf(path, sizeof path, "%s/fake.json", s->fixtures);
    soak_copy(s, path, "base/fake.json");
    snprintf(path, sizeof path, "%s/fake_trainer.sh", s->fixtures);
    soak_copy(s, path, "base/fake_trainer.sh");
    struct soak_run run = {
        .line = "moe-bench run -q base/fake.json --out base/r", .limit_s = 300};
    if (soak_command(s, &run) != 0)
        soak_fail(s, "the experiment to start from failed: %s",
                  soak_text(s, "err"));
    soak_copy(s, "out", "base/table");
    run.line = "moe-bench publish base/fake.json --out base/r --to base/set";
    if (soak_command(s, &run) != 0)
        soak_fail(s, "it cannot be published: %s", soak_text(s, "err"));
    snprintf(path, sizeof path, "%s/../../experiments/models/7b-a1b.json",
             s->fixtures);
    soak_copy(s, path, "base/model.json");
    run.line = "moe-bench validate base/set --baseline base/baseline.csv "
               "--update-baseline --reason soak";
    if (soak_command(s, &run) != 0)
        soak_fail(s, "it has no baseline: %s", soak_text(s, "err"));
}

/* The turn's folder as it was at its beginning. */
static void empty(struct soak *s)
{
    bool out = chdir("..") == 0;
    file_remove_tree(s->work);
    if (!out || mkdir(s->work, 0777) != 0 || chdir(s->work) != 0)
        soak_fail(s, "cannot empty %s", s->work);
}

/* True when all was well; the folder stays where it was not. */
static bool play(struct soak_frame *f, uint64_t turn, const char *name)
{
    struct arena arena;
    struct soak s = f->all;
    arena_init(&arena);
    s.a = &arena;
    s.random = random_mix(f->seed) ^ random_mix(~turn);
    const struct soak_scene *scene = find_scene(soak_pick(&s, 1 << 20), name);
    if (!scene) {
        fprintf(stderr, "soak: no scene '%s'\n", name);
        return false;
    }
    if (getenv("SOAK_VERBOSE"))
        fprintf(stderr, "turn %llu: %s\n", (unsigned long long)turn,
                scene->name);
    s.work = arena_printf(&arena, "%s/turn", f->top);
    mkdir(s.work, 0777);
    if (chdir(s.work) != 0)
        soak_fail(&s, "cannot enter %s", s.work);
    const char *outside = folder_hash(&s, s.outside);
    const char *base = folder_hash(&s, s.base);
    for (int i = 0; i < scene->times && !s.failed; i++) {
        if (i > 0)
            empty(&s);
        scene->play(&s);
    }
    if (strcmp(outside, folder_hash(&s, s.outside)) != 0)
        soak_fail(&s, "a file outside was touched");
    if (strcmp(base, folder_hash(&s, s.base)) != 0)
        soak_fail(&s, "the results to start from were touched");
    if (chdir(f->top) != 0)
        soak_fail(&s, "cannot leave");
    if (s.failed)
        printf("not ok - seed %llu turn %llu scene %s: %s\n# folder: %s\n",
               (unsigned long long)f->seed, (unsigned long long)turn,
               scene->name, s.failed, s.work);
    else
        file_remove_tree(s.work);
    bool ok = !s.failed;
    arena_clear(&arena);
    return ok;
}

static const char *absolute(struct arena *a, const char *path)
{
    char real[PATH_MAX];
    return realpath(path, real) ? arena_strdup(a, real) : NULL;
}

int main(int argc, char **argv)
{
    struct soak_frame f = {.seed = (uint64_t)time(NULL)};
    const char *build = getenv("BUILD");
    uint64_t turn = 0, n = 0;
    bool ok = true;
    arena_init(&f.arena);
    double end_s = clock_now_s() + (argc > 1 ? strtod(argv[1], NULL) : 20);
    if (argc > 2)
        f.seed = strtoull(argv[2], NULL, 10);
    if (argc > 3)
        turn = strtoull(argv[3], NULL, 10);
    f.all.programs = absolute(&f.arena, build ? build : "build/release");
    f.all.fixtures = absolute(&f.arena, "tests/fixtures");
    if (!f.all.programs || !f.all.fixtures) {
        fprintf(stderr, "soak: no programs; to be run from the repository\n");
        return 2;
    }
    // what a killed program leaves comes to us, and is seen
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prepare(&f);
    if (f.all.failed) {
        printf("not ok - %s\n", f.all.failed);
        return 1;
    }
    do {
        ok = play(&f, turn++, argc > 4 ? argv[4] : NULL);
        n++;
    } while (ok && clock_now_s() < end_s);
    if (ok)
        printf("ok - soak: %llu turns, seed %llu\n", (unsigned long long)n,
               (unsigned long long)f.seed);
    if (ok && chdir("/") == 0)
        file_remove_tree(f.top);
    arena_clear(&f.arena);
    return ok ? 0 : 1;
}
