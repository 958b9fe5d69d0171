#define _XOPEN_SOURCE 700 // realpath()

#include "own_files.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const names[N_OWN_FILES] = {"dataset.json", "rows.csv",
                                               "model.json", "manifest.json"};

const char *own_folder(struct arena *a, const char *dir)
{
    struct stat st;
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    const char *own = arena_strndup(a, dir, n);
    const char *slash = own ? strrchr(own, '/') : NULL;
    const char *name = slash ? slash + 1 : own;
    if (!own || (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
                 (lstat(own, &st) != 0 || !S_ISLNK(st.st_mode))))
        return own;
    char *real = realpath(own, NULL);
    if (real)
        own = arena_strdup(a, real);
    free(real);
    return own;
}

const char *own_file_name(int i)
{
    return names[i];
}

/* The sums are no data, and have no sum of their own. */
static bool is_own_file(const char *name)
{
    for (int i = 0; i < N_OWN_FILES; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strcmp(name, "SHA256SUMS") == 0 || strcmp(name, "logs") == 0;
}

/* A log of a row, "run-01.txt.gz", by the name that its number has. */
static bool is_own_log(const char *name, size_t n_rows)
{
    unsigned number = 0;
    char want[48];
    if (sscanf(name, "run-%u", &number) != 1 || number < 1 || number > n_rows)
        return false;
    snprintf(want, sizeof want, "run-%02u.txt.gz", number);
    return strcmp(name, want) == 0;
}

/* n_rows: of the folder of logs; 0: of the folder itself. */
static enum err check_folder(const char *dir, size_t n_rows,
                             struct err_msg *msg)
{
    struct dirent **entry = NULL;
    const int n = scandir(dir, &entry, NULL, alphasort);
    enum err e = ERR_OK;
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        if (e == ERR_OK && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
            !(n_rows ? is_own_log(name, n_rows) : is_own_file(name)))
            e = err_set(msg, ERR_MODEL,
                        "%s/%s: is no file of a contribution; remove it", dir,
                        name);
        free(entry[i]);
    }
    free(entry);
    return e;
}

enum err own_files_check(struct arena *a, const char *dir, size_t n_rows,
                         struct err_msg *msg)
{
    const char *logs = arena_printf(a, "%s/logs", dir);
    if (!logs)
        return err_set(msg, ERR_NOMEM, "contributed: out of memory");
    const enum err e = check_folder(dir, 0, msg);
    return e == ERR_OK ? check_folder(logs, n_rows, msg) : e;
}
