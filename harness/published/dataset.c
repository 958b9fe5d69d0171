/*
 * How it works: dataset.json is read and written from one list of keys, so that
 * no member is forgotten on one side. What is refused is refused on writing:
 * a dataset that is there was taken once.
 */
#include "dataset.h"

#include "base/file.h"
#include "base/reader.h"
#include "base/text.h"
#include "base/writer.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Licences under which figures may be kept and given on with their source. */
static const char *const dataset_licences[] = {"Apache-2.0",   "MIT",
                                               "BSD-2-Clause", "BSD-3-Clause",
                                               "CC-BY-4.0",    "CC0-1.0"};
enum { N_LICENCES = sizeof dataset_licences / sizeof dataset_licences[0] };

static const char *const dataset_keys[] = {
    "source", "title", "repository", "commit", "licence", "url", "note"};
enum { N_KEYS = sizeof dataset_keys / sizeof dataset_keys[0] };

const char *published_licences(struct arena *a)
{
    const char *all = dataset_licences[0];
    for (int i = 1; i < N_LICENCES && all; i++)
        all = arena_printf(a, "%s, %s", all, dataset_licences[i]);
    return all ? all : "";
}

const char *published_rows_path(struct arena *a, const char *dir)
{
    return arena_printf(a, "%s/rows.csv", dir);
}

/* Members in the order of dataset_keys. */
static void dataset_members(struct published_dataset *d,
                            const char **members[N_KEYS])
{
    const char **const all[N_KEYS] = {&d->source, &d->title,   &d->repository,
                                      &d->commit, &d->licence, &d->url,
                                      &d->note};
    memcpy(members, all, sizeof all);
}

/* Exactly as SPDX writes it. */
static bool dataset_takes(const char *licence)
{
    for (int i = 0; i < N_LICENCES; i++)
        if (strcmp(dataset_licences[i], licence) == 0)
            return true;
    return false;
}

/* Of what others wrote only the source and the licence are asked for: without
 * them figures cannot be named or kept. */
enum err published_dataset_read(struct arena *a, const char *dir,
                                struct published_dataset *out,
                                struct err_msg *msg)
{
    static const char *const keys[] = {"format",     "source", "title",
                                       "repository", "commit", "licence",
                                       "url",        "note"};
    struct reader_doc doc;
    const char *path = arena_printf(a, "%s/dataset.json", dir);
    const char **members[N_KEYS];
    struct published_dataset d = {"", "", "", "", "", "", ""};
    if (!path)
        return err_set(msg, ERR_NOMEM, "published: out of memory");
    struct reader top = reader_open_file(&doc, a, path, PUBLISHED_FORMAT, msg);
    dataset_members(&d, members);
    reader_keys(top, keys, N_KEYS + 1);
    reader_require(top, "source", "a name");
    reader_require(top, "licence", "an SPDX name");
    for (int i = 0; i < N_KEYS; i++)
        reader_text(top, dataset_keys[i], members[i]);
    const enum err e = reader_close(&doc);
    if (e == ERR_OK)
        *out = d;
    return e;
}

/* It becomes a folder's name. */
static bool is_plain_name(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
            return false;
    return *text && *text != '.';
}

/* Before anything is written. */
static enum err dataset_check(struct arena *a,
                              const struct published_dataset *d,
                              struct err_msg *msg)
{
    if (!is_plain_name(d->source))
        return err_set(msg, ERR_RANGE,
                       "source: got '%s', want a name of letters, digits, - _ "
                       "and .",
                       d->source);
    if (!dataset_takes(d->licence))
        return err_set(msg, ERR_RANGE,
                       "licence: got '%s', want one of %s: figures under "
                       "another one are not kept",
                       d->licence, published_licences(a));
    return ERR_OK;
}

enum err published_dataset_write(struct arena *a, const char *dir,
                                 const struct published_dataset *d,
                                 struct err_msg *msg)
{
    struct writer_doc doc;
    struct published_dataset copy = *d;
    const char **members[N_KEYS];
    const char *path = arena_printf(a, "%s/dataset.json", dir);
    enum err e = dataset_check(a, d, msg);
    if (e == ERR_OK)
        e = file_make_folders(dir, msg);
    if (e != ERR_OK)
        return e;
    dataset_members(&copy, members);
    struct writer top = writer_open(&doc);
    writer_text(top, "format", PUBLISHED_FORMAT);
    for (int i = 0; i < N_KEYS; i++)
        writer_text(top, dataset_keys[i], *members[i]);
    const char *text = writer_print_tree(a, writer_close(&doc));
    if (!text || !path)
        return err_set(msg, ERR_NOMEM, "published: out of memory");
    return text_write_file(path, text, strlen(text), msg);
}

/* Other folders and files below the root are left alone. */
enum err published_list(struct arena *a, const char *root,
                        struct published_list *out, struct err_msg *msg)
{
    struct dirent **entry = NULL;
    const int n = scandir(root, &entry, NULL, alphasort);
    struct published_list list = {
        arena_alloc(a, n > 0 ? (size_t)n : 1, sizeof *list.dir), 0};
    bool ok = list.dir != NULL;
    for (int i = 0; i < n; i++) {
        const char *dir = arena_printf(a, "%s/%s", root, entry[i]->d_name);
        const char *path = dir ? arena_printf(a, "%s/dataset.json", dir) : NULL;
        ok = ok && path;
        if (ok && entry[i]->d_name[0] != '.' && access(path, R_OK) == 0)
            list.dir[list.n++] = dir;
        free(entry[i]);
    }
    free(entry);
    if (!ok)
        return err_set(msg, ERR_NOMEM, "published: out of memory");
    *out = list;
    return ERR_OK;
}
