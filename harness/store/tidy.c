/*
 * How it works: names are matched from their ends, since a role may hold the
 * character that parts the fields of a run's name.
 */
#include "tidy.h"

#include "base/file.h"
#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIDY_DIGITS "0123456789"
#define TIDY_HEX TIDY_DIGITS "abcdef"
#define TIDY_WORD TIDY_HEX "ghijklmnopqrstuvwxyz"

// as results_begin() prints them: of the layout's hash, of the key at most
enum { TIDY_LAYOUT_HEX = 6, TIDY_KEY = 8 };

/* All files that the harness writes to a folder of results or to its job/. */
static const char *const tidy_files[] = {
    "runs.csv",     "iterations.csv", "layouts.csv", "stages.csv", "units.csv",
    "timeline.csv", "jitter.csv",     "recipes.csv", "costs.json", "plan.json",
    "job.json",     "manifest.json",  "report.md",   "spent.txt",  "job.sh"};

/* NAME.tmp.PID as text_write_own() names it, for names that the harness itself
 * writes: a user's own files stay. */
bool tidy_is_half_written(const char *name)
{
    for (size_t i = 0; i < sizeof tidy_files / sizeof tidy_files[0]; i++) {
        size_t n = strlen(tidy_files[i]);
        if (strncmp(name, tidy_files[i], n) != 0 ||
            strncmp(name + n, ".tmp.", 5) != 0)
            continue;
        const char *process = name + n + 5;
        size_t digits = strspn(process, TIDY_DIGITS);
        return digits > 0 && process[digits] == '\0';
    }
    return false;
}

/* Cuts the last field, of at least one and at most `most` of these characters,
 * and the mark before it, from the first *n bytes of the name. */
static bool tidy_cut(const char *name, size_t *n, const char *mark,
                     const char *set, size_t most)
{
    size_t k = 0, len = strlen(mark);
    while (k < *n && strchr(set, name[*n - 1 - k]))
        k++;
    if (k == 0 || k > most || *n < k + len ||
        strncmp(name + *n - k - len, mark, len) != 0)
        return false;
    *n -= k + len;
    return true;
}

/* .tmp-rNN-<role>-<layout>-<key>, and -aN behind it. */
bool tidy_is_temporary_run(const char *name)
{
    if (!text_starts(name, TIDY_TEMPORARY "r"))
        return false;
    name += strlen(TIDY_TEMPORARY "r");
    size_t n = strlen(name);
    tidy_cut(name, &n, "-a", TIDY_DIGITS, TIDY_KEY);
    size_t round = strspn(name, TIDY_DIGITS);
    return round >= 2 && name[round] == '-' &&
           tidy_cut(name, &n, "-", TIDY_WORD, TIDY_KEY) &&
           tidy_cut(name, &n, "-", TIDY_HEX, TIDY_LAYOUT_HEX) && n > round + 1;
}

bool tidy_holds_job(struct arena *a, const char *folder)
{
    struct stat st;
    const char *record = arena_printf(a, "%s/job.json", folder);
    return record && lstat(record, &st) == 0;
}

enum err tidy_check_folder(const char *path, struct err_msg *msg)
{
    struct stat st;
    if (lstat(path, &st) != 0 || S_ISDIR(st.st_mode))
        return ERR_OK;
    return err_set(msg, ERR_IO,
                   "%s: %s, want a folder of the results' own; remove it, or "
                   "choose another --out",
                   path, S_ISLNK(st.st_mode) ? "a link" : "not a folder");
}

static void tidy_half_written(const char *dir)
{
    struct stat st;
    DIR *d = opendir(dir);
    if (!d)
        return;
    for (struct dirent *f; (f = readdir(d));)
        if (tidy_is_half_written(f->d_name) &&
            fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            unlinkat(dirfd(d), f->d_name, 0);
    closedir(d);
}

/* A temporary run that a job may still be writing to stays. */
void tidy_results(struct arena *a, const char *dir)
{
    struct stat st;
    tidy_half_written(dir);
    const char *runs = arena_printf(a, "%s/runs", dir);
    DIR *d = runs ? opendir(runs) : NULL;
    if (!d)
        return;
    for (struct dirent *f; (f = readdir(d));) {
        const char *path = tidy_is_temporary_run(f->d_name)
                               ? arena_printf(a, "%s/%s", runs, f->d_name)
                               : NULL;
        if (path && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
            !tidy_holds_job(a, path))
            file_remove_tree(path);
    }
    closedir(d);
}
