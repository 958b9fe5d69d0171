/*
 * How it works: everything that forbids a place is asked before anything is
 * written, of real paths, so that links and dots hide nothing. The last step
 * exchanges the two folders, where the file system can; else the old one is
 * moved aside first.
 */
#define _GNU_SOURCE // renameat2
#include "place.h"

#include "base/file.h"
#include "base/reader.h"
#include "base/text.h"
#include "ending.h"
#include "sums.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum err place_no_memory(const char *dir, struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "%s: out of memory", dir);
}

/* ---- what is there ---- */

/* By its own file of our format: a folder that happens to have the name is not
 * replaced. */
bool place_is_dataset(struct arena *a, const char *dir)
{
    struct stat st;
    struct err_msg ignored;
    struct reader_doc doc;
    const char *path = arena_printf(a, "%s/" PLACE_DATASET, dir);
    if (!path || lstat(dir, &st) != 0 || !S_ISDIR(st.st_mode) ||
        lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    reader_open_file(&doc, a, path, PLACE_FORMAT, &ignored);
    return reader_close(&doc) == ERR_OK;
}

/* Real paths: `inner` is the folder `outer` or below it. */
static bool place_holds(const char *outer, const char *inner)
{
    size_t n = strlen(outer);
    if (n > 0 && outer[n - 1] == '/') // the root
        n--;
    return strncmp(outer, inner, n) == 0 &&
           (inner[n] == '/' || inner[n] == '\0');
}

/* The real path of a folder, "" when it cannot be told. */
static const char *place_real(struct arena *a, const char *path)
{
    char real[PATH_MAX];
    return path && realpath(path, real) ? arena_strdup(a, real) : "";
}

/* ---- may it be replaced ---- */

/* The folder would take with it what it is made from, or where we stand. */
static enum err place_check_inside(struct arena *a, const char *dir,
                                   const char *source, struct err_msg *msg)
{
    const char *real = place_real(a, dir), *from = place_real(a, source);
    const char *cwd = place_real(a, ".");
    if (!real || !from || !cwd)
        return place_no_memory(dir, msg);
    if (*from && place_holds(real, from))
        return err_set(msg, ERR_RANGE,
                       "--to: '%s' holds the results '%s' that are to be "
                       "published, want another folder",
                       dir, source);
    if (*cwd && place_holds(real, cwd))
        return err_set(msg, ERR_RANGE,
                       "--to: '%s' holds the working folder, want another "
                       "folder",
                       dir);
    return ERR_OK;
}

/* `dir` is there: only a dataset of ours may be replaced. */
static enum err place_check_old(struct arena *a, const char *dir,
                                const struct stat *st, const char *source,
                                struct err_msg *msg)
{
    if (S_ISLNK(st->st_mode))
        return err_set(msg, ERR_RANGE,
                       "--to: '%s' is a link, which is not replaced; want a "
                       "folder, or a name that is free",
                       dir);
    if (!S_ISDIR(st->st_mode))
        return err_set(msg, ERR_RANGE,
                       "--to: '%s' is a file, want a folder, or a name that "
                       "is free",
                       dir);
    enum err e = place_check_inside(a, dir, source, msg);
    if (e != ERR_OK)
        return e;
    if (!place_is_dataset(a, dir))
        return err_set(msg, ERR_RANGE,
                       "--to: '%s' is there and no dataset (no " PLACE_DATASET
                       " of format " PLACE_FORMAT
                       "), so it is not replaced; want a name that is free",
                       dir);
    struct err_msg which = {""};
    if (sums_only_listed(a, dir, &which) != ERR_OK)
        return err_set(msg, ERR_RANGE,
                       "--to: '%s' holds what is not of the dataset (%s) and "
                       "would be lost; move it away",
                       dir, which.text);
    return ERR_OK;
}

/* A new folder among the runs would pass for one of them. */
static enum err place_check_new(struct arena *a, const char *parent,
                                const char *dir, const char *source,
                                struct err_msg *msg)
{
    const char *above = place_real(a, parent);
    const char *runs = place_real(a, arena_printf(a, "%s/runs", source));
    if (!above || !runs)
        return place_no_memory(dir, msg);
    if (*above && *runs && place_holds(runs, above))
        return err_set(msg, ERR_RANGE,
                       "--to: '%s' lies among the runs of '%s', want another "
                       "folder",
                       dir, source);
    return ERR_OK;
}

/* Without slashes at the end: lstat() would follow a link before one. */
static const char *place_trim(struct arena *a, const char *dir)
{
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    return arena_strndup(a, dir, n);
}

static const char *place_last_name(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    return slash ? slash + 1 : dir;
}

/* Before anything is made: where the place cannot be taken, the work of filling
 * it would be lost. */
static enum err place_check(struct arena *a, const char *dir,
                            const char *parent, const char *source,
                            struct err_msg *msg)
{
    struct stat st;
    const char *name = place_last_name(dir);
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return err_set(msg, ERR_RANGE,
                       "--to: got '%s', want a folder by its own name", dir);
    if (lstat(dir, &st) == 0)
        return place_check_old(a, dir, &st, source, msg);
    return errno == ENOENT || errno == ENOTDIR
               ? place_check_new(a, parent, dir, source, msg)
               : err_set(msg, ERR_IO, "%s: %s", dir, strerror(errno));
}

/* ---- making it ---- */

/* mkdtemp() lets nobody else in; a dataset is as readable as other files. */
static enum err place_make_beside(struct arena *a, const char *parent,
                                  struct place *p, struct err_msg *msg)
{
    char *tmp =
        arena_printf(a, "%s/.%s.new-XXXXXX", parent, place_last_name(p->dir));
    if (!tmp)
        return place_no_memory(p->dir, msg);
    mode_t mask = umask(0);
    umask(mask);
    ending_hold(&p->ending);
    p->tmp = tmp;
    if (mkdtemp(tmp) && chmod(tmp, 0777 & ~mask) == 0)
        return ERR_OK;
    const enum err e = err_set(msg, ERR_IO, "%s: cannot make folder: %s", tmp,
                               strerror(errno));
    ending_release(&p->ending);
    return e;
}

/* The new folder is made beside its place, on the same file system, so that the
 * end is one rename. */
enum err place_begin(struct arena *a, const char *dir, const char *source,
                     struct place *out, struct err_msg *msg)
{
    struct place p = {.dir = place_trim(a, dir)};
    if (!p.dir)
        return place_no_memory(dir, msg);
    size_t above = (size_t)(place_last_name(p.dir) - p.dir);
    // with its slash, so that the root stays one
    const char *parent = above ? arena_strndup(a, p.dir, above) : ".";
    enum err e = parent ? place_check(a, p.dir, parent, source, msg)
                        : place_no_memory(dir, msg);
    if (e == ERR_OK)
        e = file_make_folders(parent, msg);
    if (e == ERR_OK)
        e = place_make_beside(a, parent, &p, msg);
    if (e == ERR_OK)
        *out = p;
    return e;
}

/* Not every file system can exchange; then there is a moment without one, and
 * a kill in it leaves the old one beside the place. */
static bool place_swap(const struct place *p)
{
    char aside[PATH_MAX];
    if (rename(p->tmp, p->dir) == 0)
        return true;
    if (renameat2(AT_FDCWD, p->tmp, AT_FDCWD, p->dir, RENAME_EXCHANGE) == 0) {
        file_remove_tree(p->tmp);
        return true;
    }
    int n = snprintf(aside, sizeof aside, "%s.old", p->tmp);
    if (n < 0 || (size_t)n >= sizeof aside || rename(p->dir, aside) != 0)
        return false;
    if (rename(p->tmp, p->dir) != 0) {
        int why = errno;
        rename(aside, p->dir);
        errno = why;
        return false;
    }
    file_remove_tree(aside);
    return true;
}

enum err place_finish(const struct place *p, struct err_msg *msg)
{
    struct stat st;
    // a link that came meanwhile would be replaced, not followed
    bool free = lstat(p->dir, &st) != 0 || S_ISDIR(st.st_mode);
    if (free && place_swap(p)) {
        ending_release(&p->ending);
        return ERR_OK;
    }
    return err_set(msg, ERR_IO, "%s: cannot take the place: %s", p->dir,
                   free ? strerror(errno) : "not a folder any more");
}

void place_discard(const struct place *p)
{
    file_remove_tree(p->tmp);
    ending_release(&p->ending);
}
