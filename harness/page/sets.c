/*
 * How it works: a table lists which files make a dataset and who reads them;
 * a folder is asked for each of them, then the folders in it.
 */
#include "sets.h"

#include "base/csv.h"
#include "experiment_rows.h"
#include "fields.h"
#include "html.h"
#include "other_rows.h"
#include "report/reference.h"
#include "store/place.h"
#include "store/sums.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Rows of a table that is shown as it is: longer ones are data for a program.
 */
enum { SETS_MOST_PLAIN_ROWS = 200 };

static enum err sets_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "page: out of memory");
}

static bool sets_has(struct arena *a, const char *dir, const char *name)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    return path && access(path, F_OK) == 0;
}

/* A dataset's name is its path below the last "results/". */
static const char *sets_name(const char *dir)
{
    static const char root[] = "results/";
    const char *name = dir;
    for (const char *at = dir; (at = strstr(at, root)); at++)
        if (at == dir || at[-1] == '/')
            name = at + strlen(root);
    while (*name == '/')
        name++;
    return *name ? name : dir;
}

/* ---- what a dataset says of itself ---- */

/* A text of a JSON file of the folder, NULL where there is none. */
static enum err sets_text(struct arena *a, const char *dir, const char *file,
                          const char *key, const char **out)
{
    cJSON *tree = NULL;
    struct err_msg msg;
    const char *path = arena_printf(a, "%s/%s", dir, file);
    *out = NULL;
    if (!path)
        return ERR_NOMEM;
    if (access(path, F_OK) != 0)
        return ERR_OK;
    // what it says is said beside figures, which do not depend on it
    if (json_read_file(a, path, NULL, &tree, &msg) != ERR_OK)
        return ERR_OK;
    const char *text = cJSON_GetStringValue(json_get(tree, key));
    *out = text ? arena_strdup(a, text) : NULL;
    const enum err e = text && !*out ? ERR_NOMEM : ERR_OK;
    cJSON_Delete(tree);
    return e;
}

/* A key of one of the two files, in the order in which they are asked. */
struct about {
    const char *file, *key;
    const char **to;
};

/* What it asks or is called, and where it comes from. */
static enum err sets_about(struct sheet *s, const char *dir,
                           struct sheet_set *set, struct err_msg *msg)
{
    const char *question = NULL, *title = NULL, *note = NULL;
    const char *hardware = NULL, *repository = NULL, *licence = NULL;
    const struct about about[] = {
        {"manifest.json", "question", &question},
        {"dataset.json", "title", &title},
        {"dataset.json", "note", &note},
        {"dataset.json", "hardware", &hardware},
        {"dataset.json", "repository", &repository},
        {"dataset.json", "licence", &licence},
        {"dataset.json", "url", &set->url},
    };
    for (size_t i = 0; i < COUNT(about); i++)
        if (sets_text(s->a, dir, about[i].file, about[i].key, about[i].to) !=
            ERR_OK)
            return sets_no_memory(msg);
    set->what = title ? title : question;
    set->origin = hardware ? hardware : repository;
    const char *gap = repository && *repository ? ", " : "";
    if (title && note && *note)
        set->what = arena_printf(s->a, "%s (%s)", title, note);
    if (!hardware && repository && licence)
        set->origin = arena_printf(s->a, "%s%s%s", repository, gap, licence);
    return ERR_OK;
}

/* ---- kinds of datasets ---- */

/* Costs that nobody measured are those by FLOPs. */
static enum err sets_experiment(struct sheet *s, const char *dir,
                                struct err_msg *msg)
{
    const char *source = NULL;
    struct csv t;
    enum err e = fields_read(s->a, dir, "layouts.csv", &t, msg);
    if (e == ERR_OK && sets_text(s->a, dir, "costs.json", "source", &source))
        e = sets_no_memory(msg);
    if (e != ERR_OK)
        return e;
    const char *kind = source;
    for (size_t i = t.n_rows; i-- > 0;)
        if (*csv_text(&t, i, "source"))
            kind = csv_text(&t, i, "source");
    s->set.kind = kind ? kind : SHEET_ASSUMED;
    return experiment_rows_add(s, dir, msg);
}

/* Nobody measured them, and their costs are by FLOPs. */
static enum err sets_plans(struct sheet *s, const char *dir,
                           struct err_msg *msg)
{
    struct csv t;
    enum err e = fields_read(s->a, dir, "recipes.csv", &t, msg);
    s->set.kind = SHEET_ASSUMED;
    if (e == ERR_OK)
        other_rows_plans(s, &t);
    return e;
}

/* What is predicted of them stands beside the folders. */
static enum err sets_steps(struct sheet *s, const char *dir,
                           struct err_msg *msg)
{
    struct csv rows, predicted;
    const char *beside = arena_printf(s->a, "%s/..", dir);
    if (!beside)
        return sets_no_memory(msg);
    const char *source = NULL;
    enum err e = fields_read(s->a, dir, "rows.csv", &rows, msg);
    if (e == ERR_OK)
        e = fields_read(s->a, beside, "predicted.csv", &predicted, msg);
    // a contribution says how its times came to be
    if (e == ERR_OK && sets_text(s->a, dir, "manifest.json", "source", &source))
        e = sets_no_memory(msg);
    s->set.kind = source ? source : SHEET_PUBLISHED;
    if (e == ERR_OK)
        other_rows_steps(s, &rows, &predicted);
    return e;
}

/* It lies in the folder that holds all datasets, which has no description of
 * its own. */
static enum err sets_memory(struct sheet *s, const char *dir,
                            struct err_msg *msg)
{
    struct csv t;
    enum err e = fields_read(s->a, dir, "memory.csv", &t, msg);
    s->set.kind = SHEET_PUBLISHED;
    s->set.what = "peak memory of Megatron-LM's own functional tests";
    if (e == ERR_OK)
        other_rows_memory(s, &t);
    return e;
}

struct kind {
    const char *file;
    enum err (*add)(struct sheet *s, const char *dir, struct err_msg *msg);
    const char *suffix; // of the name, where the folder holds others too
};

static const struct kind kinds[] = {
    {"layouts.csv", sets_experiment, ""},
    {"recipes.csv", sets_plans, ""},
    {"rows.csv", sets_steps, ""},
    {"memory.csv", sets_memory, "/memory"},
};

/* One file of a folder as a dataset of its own. */
static enum err sets_add_kind(struct sheet *s, const char *dir,
                              const struct kind *k, struct err_msg *msg)
{
    struct sheet_set set = {
        .name = arena_printf(s->a, "%s%s", sets_name(dir), k->suffix)};
    if (!set.name)
        return sets_no_memory(msg);
    enum err e = *k->suffix ? ERR_OK : sets_about(s, dir, &set, msg);
    sheet_begin(s, &set);
    if (e == ERR_OK)
        e = k->add(s, dir, msg);
    if (e == ERR_OK)
        sheet_end(s);
    return e;
}

/* ---- tables as they are ---- */

/* Tells programs what the file is; a reader has its name. */
static bool sets_is_format(const struct csv *t, size_t column)
{
    return strcmp(t->names[column], "format") == 0;
}

/* Numbers to six digits and to the right, texts as they are. */
static void sets_print_row(FILE *out, const struct csv *t, size_t row)
{
    fputs("<tr>", out);
    for (size_t k = 0; k < t->n_columns; k++) {
        double x;
        if (sets_is_format(t, k))
            continue;
        if (csv_get_double(t, row, t->names[k], &x))
            fprintf(out, "<td class=\"n\">%.6g", x);
        else
            html_cell(out, csv_get(t, row, t->names[k]));
    }
    putc('\n', out);
}

/* It scrolls by itself and can be reached by keys: a wide table must not widen
 * the page. */
static void sets_print_table(FILE *out, const struct csv *t, const char *name)
{
    const size_t most = SETS_MOST_PLAIN_ROWS;
    fputs("<details><summary>", out);
    html_text(out, name);
    fprintf(out,
            " <small>%zu rows%s</small></summary><div class=\"wide\" "
            "tabindex=\"0\" role=\"region\" aria-label=\"",
            t->n_rows, t->n_rows > most ? ", the first 200 shown" : "");
    html_text(out, name);
    fputs("\"><table><thead><tr>", out);
    for (size_t k = 0; k < t->n_columns; k++)
        if (!sets_is_format(t, k))
            html_head(out, "col", t->names[k]);
    fputs("<tbody>\n", out);
    for (size_t i = 0; i < t->n_rows && i < most; i++)
        sets_print_row(out, t, i);
    fputs("</table></div></details>\n", out);
}

/* Files that are missing have no rows, and no table. */
static enum err sets_add_tables(struct sheet *s, const char *dir,
                                struct err_msg *msg)
{
    static const char *const plain[] = {
        "studies.csv", "constants.csv", "plans.csv", "errors.csv",
        "terms.csv",   "units.csv",     "jitter.csv"};
    for (size_t i = 0; i < COUNT(plain); i++) {
        struct csv t;
        enum err e = fields_read(s->a, dir, plain[i], &t, msg);
        if (e != ERR_OK)
            return e;
        const char *name =
            arena_printf(s->a, "%s/%s", sets_name(dir), plain[i]);
        if (!name)
            return sets_no_memory(msg);
        if (t.n_rows > 0)
            sets_print_table(s->tables, &t, name);
    }
    return ERR_OK;
}

/* ---- folders ---- */

static enum err sets_add_below(struct sheet *s, const char *dir, int depth,
                               struct err_msg *msg);

/* Whatever carries hashes must agree with them; a dataset of ours must have
 * them, step times of others have none. */
static enum err sets_check(struct arena *a, const char *dir,
                           struct err_msg *msg)
{
    if (sets_has(a, dir, SUMS_FILE))
        return sums_check(a, dir, msg);
    return place_is_dataset(a, dir) ? reference_check(a, dir, msg) : ERR_OK;
}

/* Folders below first, so that a dataset stands before what is said of all. */
static enum err sets_add_folder(struct sheet *s, const char *dir, int depth,
                                struct err_msg *msg)
{
    enum err e = sets_check(s->a, dir, msg);
    if (e == ERR_OK && depth < SETS_DEPTH)
        e = sets_add_below(s, dir, depth + 1, msg);
    for (size_t i = 0; i < COUNT(kinds) && e == ERR_OK; i++)
        if (sets_has(s->a, dir, kinds[i].file))
            e = sets_add_kind(s, dir, &kinds[i], msg);
    return e == ERR_OK ? sets_add_tables(s, dir, msg) : e;
}

/* Runs and models are parts of a dataset; figures are made of it. */
static bool sets_is_folder(const char *path, const char *name)
{
    static const char *const parts[] = {"runs", "models", "figures"};
    struct stat st;
    for (size_t i = 0; i < COUNT(parts); i++)
        if (strcmp(name, parts[i]) == 0)
            return false;
    return name[0] != '.' && lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* In the order of the names, so that the page does not depend on the disk. */
static enum err sets_add_below(struct sheet *s, const char *dir, int depth,
                               struct err_msg *msg)
{
    struct dirent **entry = NULL;
    const int n = scandir(dir, &entry, NULL, alphasort);
    enum err e = ERR_OK;
    for (int i = 0; i < n; i++) {
        const char *path = arena_printf(s->a, "%s/%s", dir, entry[i]->d_name);
        if (e == ERR_OK && !path)
            e = sets_no_memory(msg);
        if (e == ERR_OK && sets_is_folder(path, entry[i]->d_name))
            e = sets_add_folder(s, path, depth, msg);
        free(entry[i]);
    }
    free(entry);
    return e;
}

/* Names and paths are made of it: a slash at its end would be doubled. */
enum err sets_add(struct sheet *s, const char *dir, struct err_msg *msg)
{
    char *plain = arena_strdup(s->a, dir);
    size_t n = plain ? strlen(plain) : 0;
    if (!plain)
        return sets_no_memory(msg);
    while (n > 1 && plain[n - 1] == '/')
        plain[--n] = '\0';
    return sets_add_folder(s, plain, 0, msg);
}
