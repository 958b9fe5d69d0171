/*
 * How it works: the parts are joined to one text, which is hashed. What only
 * some experiments have (scripts, variables) adds to the text only where it is
 * there, so that the key of others stays.
 */
#include "key.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// what is larger is data, whose size must do: hashing it takes minutes
enum { KEY_MAX_FILE_BYTES = 64 << 20 };

extern char **environ;

struct key_text {
    struct arena *a;
    const char *text; // NULL: out of memory
};

static void key_add(struct key_text *k, const char *what, const char *value)
{
    k->text = k->text && value
                  ? arena_printf(k->a, "%s %s%s", k->text, what, value)
                  : NULL;
}

/* ---- files ---- */

/* "none" for a file that is not there: its absence decides, too. */
static const char *key_file_hash(struct arena *a, const char *path)
{
    char hex[TEXT_SHA256_HEX];
    struct err_msg ignored;
    struct stat st;
    if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return "none";
    if (st.st_size > KEY_MAX_FILE_BYTES)
        return arena_printf(a, "%lld-bytes", (long long)st.st_size);
    if (text_sha256_file(path, hex, &ignored) != ERR_OK)
        return "none";
    return arena_strdup(a, hex);
}

static const char *key_regular(const char *path)
{
    struct stat st;
    return path && stat(path, &st) == 0 && S_ISREG(st.st_mode) ? path : NULL;
}

/* The file that a word names: itself, behind a '=', or beside the manifest, as
 * the trainer's script is looked for. */
static const char *key_file_of(struct arena *a, const struct manifest *mf,
                               const char *word)
{
    const char *equal = strchr(word, '=');
    const char *names[] = {word, equal ? equal + 1 : ""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!*names[i])
            continue;
        const char *beside = names[i][0] == '/'
                                 ? NULL
                                 : arena_printf(a, "%s/%s", mf->dir, names[i]);
        const char *file = key_regular(names[i]);
        if (file || key_regular(beside))
            return file ? file : beside;
    }
    return NULL;
}

static void key_add_files(struct key_text *k, const struct manifest *mf,
                          const struct words *w)
{
    for (int i = 0; i < w->n; i++) {
        const char *file = key_file_of(k->a, mf, w->word[i]);
        if (file)
            key_add(k, "file:", key_file_hash(k->a, file));
    }
}

/* The words of launcher.command: the program, also one found through PATH, and
 * the scripts among its words. */
static void key_add_command(struct key_text *k, const struct manifest *mf)
{
    const struct words *w = &mf->launcher.command;
    if (w->n == 0)
        return;
    if (!key_file_of(k->a, mf, w->word[0]))
        key_add(k, "program:",
                key_file_hash(k->a, launch_find_program(k->a, w->word[0])));
    key_add_files(k, mf, w);
}

/* ---- environment ---- */

/* What BLAS, OpenMP, MPI and the GPU's libraries read. */
static bool key_is_obeyed(const char *entry)
{
    static const char *const prefixes[] = {
        "OPENBLAS_", "GOTO_",     "OMP_",        "GOMP_",  "KMP_",
        "MKL_",      "OMPI_MCA_", "CUDA_",       "NCCL_",  "TORCH",
        "PYTORCH",   "NVTE_",     "HSA_",        "HIP_",   "RCCL_",
        "SMPI_",     "SIMGRID_",  "LD_PRELOAD=", "MALLOC_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (text_starts(entry, prefixes[i]))
            return true;
    return false;
}

static int key_by_text(const void *x, const void *y)
{
    const char *const *a = x, *const *b = y;
    return strcmp(*a, *b);
}

/* Sorted: the order of variables changes nothing. */
static void key_add_environment(struct key_text *k)
{
    size_t n = 0, room = 0;
    while (environ[room])
        room++;
    const char **found = arena_alloc(k->a, room + 1, sizeof *found);
    if (!found)
        k->text = NULL;
    for (size_t i = 0; i < room && found; i++)
        if (key_is_obeyed(environ[i]))
            found[n++] = environ[i];
    if (n > 1)
        qsort(found, n, sizeof *found, key_by_text);
    for (size_t i = 0; i < n; i++)
        key_add(k, "env:", found[i]);
}

/* ---- all ---- */

enum err key_make(struct arena *a, const struct key_parts *p,
                  char key[TEXT_SHA256_HEX], struct err_msg *msg)
{
    const struct manifest *mf = p->manifest;
    const struct launch *l = p->launch;
    // where runs go to another machine, the manifest tells which, and
    // Megatron's commit may be there only
    bool elsewhere = l->by->start != NULL;
    bool seen = !elsewhere || mf->trainer.kind == TRAINER_MOE_TRAIN;
    struct key_text k = {a, mf->sha256};
    key_add(&k, "", p->workload->sha256);
    key_add(&k, "", seen ? key_file_hash(a, l->binary) : "none");
    key_add(&k, "", key_file_hash(a, l->platform));
    key_add(&k, "", elsewhere ? "" : p->machine->sha256);
    if (!elsewhere) {
        key_add_command(&k, mf);
        key_add_files(&k, mf, &mf->trainer.args);
        key_add_environment(&k);
    }
    if (!k.text)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", mf->path);
    text_sha256(k.text, strlen(k.text), key);
    return ERR_OK;
}
