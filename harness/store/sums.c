/*
 * How it works: the files below the folder are listed by name, links and
 * devices refused; the list in SHA256SUMS is read to the same form, and both
 * are compared as sorted lists.
 */
#include "sums.h"

#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// a line is a hash, two blanks and a path; models/ may be some folders deep
enum { SUMS_MAX_BYTES = 4 << 20, SUMS_MAX_DEPTH = 16 };
enum { SUMS_HEX = TEXT_SHA256_HEX - 1, SUMS_LINE_START = SUMS_HEX + 2 };

struct sums_entry {
    const char *name; // below the folder
    const char *hex;  // NULL: not read yet
};

struct sums {
    struct arena *a;
    const char *dir;
    struct sums_entry *file;
    size_t n, room;
};

static enum err sums_no_memory(const char *dir, struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "%s: out of memory", dir);
}

static bool sums_add(struct sums *s, const char *name, const char *hex)
{
    if (s->n == s->room) {
        size_t room = 2 * s->room + 32;
        struct sums_entry *all = arena_alloc(s->a, room, sizeof *all);
        if (!all)
            return false;
        if (s->n > 0)
            memcpy(all, s->file, s->n * sizeof *all);
        s->file = all;
        s->room = room;
    }
    s->file[s->n++] = (struct sums_entry){name, hex};
    return name != NULL;
}

static int sums_by_name(const void *x, const void *y)
{
    const struct sums_entry *a = x, *b = y;
    return strcmp(a->name, b->name);
}

static void sums_sort(struct sums *s)
{
    if (s->n > 1)
        qsort(s->file, s->n, sizeof *s->file, sums_by_name);
}

/* ---- what is there ---- */

static bool sums_left_aside(const char *name)
{
    return strcmp(name, SUMS_FILE) == 0 || strcmp(name, "report.md") == 0 ||
           strcmp(name, "figures") == 0;
}

static enum err sums_walk(struct sums *s, const char *below, int depth,
                          struct err_msg *msg);

/* `name` is below the folder: a file, or a folder with files. */
static enum err sums_take(struct sums *s, const char *name, int depth,
                          struct err_msg *msg)
{
    struct stat st;
    const char *path = name ? arena_printf(s->a, "%s/%s", s->dir, name) : NULL;
    if (!path)
        return sums_no_memory(s->dir, msg);
    if (lstat(path, &st) != 0)
        return err_set(msg, ERR_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode) && depth < SUMS_MAX_DEPTH)
        return sums_walk(s, name, depth + 1, msg);
    if (!S_ISREG(st.st_mode))
        return err_set(msg, ERR_RANGE,
                       "%s: not a plain file, want files and folders only",
                       path);
    return sums_add(s, name, NULL) ? ERR_OK : sums_no_memory(s->dir, msg);
}

/* `below` is "" or a folder's name; in the order of the folder. */
static enum err sums_walk(struct sums *s, const char *below, int depth,
                          struct err_msg *msg)
{
    const char *path = arena_printf(s->a, "%s/%s", s->dir, below);
    DIR *d = path ? opendir(path) : NULL;
    enum err e = ERR_OK;
    if (!d)
        return path ? err_set(msg, ERR_PARSE, "%s: %s", path, strerror(errno))
                    : sums_no_memory(s->dir, msg);
    for (struct dirent *f; e == ERR_OK && (f = readdir(d));) {
        const char *name = f->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            (!*below && sums_left_aside(name)))
            continue;
        e = sums_take(s,
                      *below ? arena_printf(s->a, "%s/%s", below, name)
                             : arena_strdup(s->a, name),
                      depth, msg);
    }
    closedir(d);
    return e;
}

static enum err sums_of_folder(struct arena *a, const char *dir,
                               struct sums *out, struct err_msg *msg)
{
    *out = (struct sums){.a = a, .dir = dir};
    enum err e = sums_walk(out, "", 0, msg);
    sums_sort(out);
    return e;
}

/* ---- what is listed ---- */

/* The next line, "" at the end; moves `*at` behind it. */
static const char *sums_line(struct arena *a, const char **at)
{
    size_t n = strcspn(*at, "\n");
    const char *line = arena_strndup(a, *at, n);
    *at += n + ((*at)[n] == '\n');
    return line;
}

static bool sums_take_line(struct sums *s, const char *line)
{
    bool ok = strspn(line, "0123456789abcdef") == SUMS_HEX &&
              line[SUMS_HEX] == ' ' && line[SUMS_HEX + 1] == ' ' &&
              line[SUMS_LINE_START] != '\0';
    return ok && sums_add(s, line + SUMS_LINE_START,
                          arena_strndup(s->a, line, SUMS_HEX));
}

/* `*there` is false for a folder without a list. */
static enum err sums_read(struct arena *a, const char *dir, struct sums *out,
                          bool *there, struct err_msg *msg)
{
    struct text_span text;
    struct stat st;
    const char *path = arena_printf(a, "%s/" SUMS_FILE, dir);
    *out = (struct sums){.a = a, .dir = dir};
    if (!path)
        return sums_no_memory(dir, msg);
    *there = lstat(path, &st) == 0;
    if (!*there)
        return ERR_OK;
    if (!S_ISREG(st.st_mode) ||
        text_read_file(a, path, SUMS_MAX_BYTES, &text, msg) != ERR_OK)
        return err_set(msg, ERR_MODEL, "%s: cannot be read, want a plain file",
                       path);
    for (const char *at = text.data; *at;) {
        const char *line = sums_line(a, &at);
        if (!line)
            return sums_no_memory(dir, msg);
        if (!sums_take_line(out, line))
            return err_set(msg, ERR_MODEL,
                           "%s: line %zu: got '%.80s', want a SHA-256, two "
                           "blanks and a file; restore the file",
                           path, out->n + 1, line);
    }
    sums_sort(out);
    return ERR_OK;
}

/* ---- both together ---- */

enum err sums_write(struct arena *a, const char *dir, struct err_msg *msg)
{
    struct sums s;
    char *text = NULL;
    size_t len = 0;
    enum err e = sums_of_folder(a, dir, &s, msg);
    const char *to = arena_printf(a, "%s/" SUMS_FILE, dir);
    FILE *out = e == ERR_OK && to ? open_memstream(&text, &len) : NULL;
    if (!out)
        return e != ERR_OK ? e : sums_no_memory(dir, msg);
    for (size_t i = 0; i < s.n && e == ERR_OK; i++) {
        char hex[TEXT_SHA256_HEX];
        const char *path = arena_printf(a, "%s/%s", dir, s.file[i].name);
        e = path ? text_sha256_file(path, hex, msg) : sums_no_memory(dir, msg);
        if (e == ERR_OK)
            fprintf(out, "%s  %s\n", hex, s.file[i].name);
    }
    if (fclose(out) != 0 && e == ERR_OK)
        e = sums_no_memory(dir, msg);
    if (e == ERR_OK)
        e = text_write_own(to, text, len, msg);
    free(text);
    return e;
}

/* Logs have always been bad input; everything else is a check that failed. */
static enum err sums_kind(const char *name)
{
    return text_ends(name, "/log.txt.gz") ? ERR_PARSE : ERR_MODEL;
}

static enum err sums_check_file(const struct sums *s,
                                const struct sums_entry *want,
                                struct err_msg *msg)
{
    char hex[TEXT_SHA256_HEX];
    const char *path = arena_printf(s->a, "%s/%s", s->dir, want->name);
    if (!path)
        return sums_no_memory(s->dir, msg);
    if (text_sha256_file(path, hex, msg) != ERR_OK)
        return sums_kind(want->name);
    if (strcmp(hex, want->hex) == 0)
        return ERR_OK;
    return err_set(msg, sums_kind(want->name),
                   "%s: SHA-256 %.12s, want %.12s as in " SUMS_FILE
                   "; restore the file",
                   path, hex, want->hex);
}

static const struct sums_entry *sums_find(const struct sums *s,
                                          const char *name)
{
    const struct sums_entry key = {name, NULL};
    return s->n == 0 ? NULL
                     : bsearch(&key, s->file, s->n, sizeof key, sums_by_name);
}

/* The first file of `these` that `those` has not. */
static const char *sums_first_beyond(const struct sums *these,
                                     const struct sums *those)
{
    for (size_t i = 0; i < these->n; i++)
        if (!sums_find(those, these->file[i].name))
            return these->file[i].name;
    return NULL;
}

/* What is missing first: it explains most of what else is found. */
static enum err sums_compare(const struct sums *there,
                             const struct sums *listed, struct err_msg *msg)
{
    const char *name = sums_first_beyond(listed, there);
    if (name)
        return err_set(msg, sums_kind(name),
                       "%s/%s: missing, and listed in " SUMS_FILE
                       "; restore the file",
                       listed->dir, name);
    enum err e = ERR_OK;
    for (size_t i = 0; i < listed->n && e == ERR_OK; i++)
        e = sums_check_file(listed, &listed->file[i], msg);
    name = e == ERR_OK ? sums_first_beyond(there, listed) : NULL;
    return name ? err_set(msg, ERR_MODEL,
                          "%s/%s: not listed in " SUMS_FILE
                          "; remove it, or restore the list",
                          there->dir, name)
                : e;
}

/* A missing list is an error here: nothing could tell that the dataset is as it
 * was. What is only to be replaced is asked by sums_only_listed(), which does
 * without. */
enum err sums_check(struct arena *a, const char *dir, struct err_msg *msg)
{
    struct sums there, listed;
    bool some = false;
    enum err e = sums_read(a, dir, &listed, &some, msg);
    if (e == ERR_OK && !some)
        e = err_set(msg, ERR_MODEL,
                    "%s/" SUMS_FILE ": missing, so nothing tells whether the "
                    "dataset is as it was; restore it, or publish again",
                    dir);
    if (e == ERR_OK)
        e = sums_of_folder(a, dir, &there, msg);
    return e == ERR_OK ? sums_compare(&there, &listed, msg) : e;
}

enum err sums_only_listed(struct arena *a, const char *dir, struct err_msg *msg)
{
    struct sums there, listed;
    bool some = false;
    enum err e = sums_read(a, dir, &listed, &some, msg);
    if (e != ERR_OK || !some)
        return e;
    e = sums_of_folder(a, dir, &there, msg);
    const char *name = e == ERR_OK ? sums_first_beyond(&there, &listed) : NULL;
    return name ? err_set(msg, ERR_MODEL, "%s/%s", dir, name) : e;
}
