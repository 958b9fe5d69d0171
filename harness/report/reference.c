/*
 * How it works: a dataset is made beside its place, its files are hashed last,
 * and then it takes the place (store/place). Unpacking makes a folder of runs
 * as the harness leaves them, which the readers of results take as their own.
 */
#include "reference.h"

#include "base/file.h"
#include "base/text.h"
#include "base/writer.h"
#include "leaks.h"
#include "manifest/grammar.h"
#include "store/place.h"
#include "store/sums.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DATASET PLACE_DATASET
#define FORMAT PLACE_FORMAT

static enum err reference_no_memory(const char *where, struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
}

/* ---- files ---- */

/* The same for paths that may be NULL: memory that ran out. */
static enum err reference_make_folder(const char *path, struct err_msg *msg)
{
    return path ? file_make_folders(path, msg)
                : reference_no_memory("dataset", msg);
}

static enum err reference_copy(const char *from, const char *to,
                               struct err_msg *msg)
{
    return from && to ? file_copy(from, to, msg)
                      : reference_no_memory("dataset", msg);
}

/* ---- publishing ---- */

struct publishing {
    const struct experiment *e;
    struct arena *a;
    const char *dir; // the temporary one
};

static const char *in_dataset(const struct publishing *p, const char *name)
{
    return arena_printf(p->a, "%s/%s", p->dir, name);
}

/* The first planned run that is not there, or is not valid; `*found` is what is
 * there. */
static bool first_missing(const struct experiment *e, struct planned_run *which,
                          const struct run_record **found)
{
    const struct planned plan = experiment_planned(e);
    struct planned_walk walk = planned_all(&plan);
    while (planned_next(&walk, which)) {
        *found = experiment_find(e, which);
        if (!*found || (*found)->status != RUN_VALID)
            return true;
    }
    return false;
}

/* Figures of an experiment with runs missing would be published as if whole. */
static enum err check_finished(const struct experiment *e, struct err_msg *msg)
{
    struct planned_run which;
    const struct run_record *found = NULL;
    if (!first_missing(e, &which, &found))
        return ERR_OK;
    if (found && found->changed)
        return err_set(msg, ERR_MODEL,
                       "%s: %s; restore the file, or 'moe-bench run %s' makes "
                       "the run again",
                       found->folder, found->changed, e->manifest.path);
    return err_set(msg, ERR_MODEL,
                   "%s: round %d of '%s' (%s) has no valid run with these "
                   "programs; 'moe-bench run %s' first",
                   e->dir, which.round, which.role, which.layout,
                   e->manifest.path);
}

/* All profile runs; of the others the first valid one of its kind. */
static bool is_kept(const struct run_list *runs, size_t at)
{
    const struct run_record *r = &runs->run[at];
    if (r->status != RUN_VALID)
        return false;
    for (size_t i = 0; i < at && r->round > 0; i++) {
        const struct run_record *x = &runs->run[i];
        if (x->status == RUN_VALID && strcmp(x->role, r->role) == 0 &&
            strcmp(x->layout, r->layout) == 0)
            return false;
    }
    return true;
}

/* A file that not every run has. One that is there and cannot be read is an
 * error: a data set without it would pass for whole. */
static enum err copy_if_there(const char *from, const char *to,
                              struct err_msg *msg)
{
    return from && access(from, F_OK) != 0 ? ERR_OK
                                           : reference_copy(from, to, msg);
}

/* Logs are packed: they are nine tenths of a dataset, and text. */
static enum err put_run(const struct publishing *p, const struct run_record *r,
                        struct err_msg *msg)
{
    static const char *const packed[] = {"log.txt", "ops.csv"};
    const char *to = arena_printf(p->a, "%s/runs/%s", p->dir, r->run_id);
    if (!to)
        return reference_no_memory(p->dir, msg);
    enum err e = reference_make_folder(to, msg);
    if (e == ERR_OK)
        e = reference_copy(arena_printf(p->a, "%s/status.json", r->folder),
                           arena_printf(p->a, "%s/status.json", to), msg);
    if (e == ERR_OK)
        e = copy_if_there(arena_printf(p->a, "%s/provenance.json", r->folder),
                          arena_printf(p->a, "%s/provenance.json", to), msg);
    for (int i = 0; i < 2 && e == ERR_OK; i++) {
        const char *from = arena_printf(p->a, "%s/%s", r->folder, packed[i]);
        const char *gz = arena_printf(p->a, "%s/%s.gz", to, packed[i]);
        if (!from || !gz)
            e = reference_no_memory("dataset", msg);
        else if (access(from, F_OK) == 0)
            e = file_pack(from, gz, msg);
    }
    return e;
}

/* CSV files hold the figures of all runs; raw logs are what the predictions are
 * made from again, and one measured run a layout to look at. */
static enum err put_runs(const struct publishing *p, struct err_msg *msg)
{
    const struct run_list *runs = &p->e->runs;
    const char *dir = in_dataset(p, "runs");
    enum err e = dir ? reference_make_folder(dir, msg)
                     : reference_no_memory(p->dir, msg);
    for (size_t i = 0; i < runs->n && e == ERR_OK; i++)
        if (is_kept(runs, i))
            e = put_run(p, &runs->run[i], msg);
    return e;
}

/* The model's file under the same relative path, so that the manifest's copy
 * finds it. */
static enum err put_model(const struct publishing *p, struct err_msg *msg)
{
    const char *path = p->e->manifest.model_path;
    if (!path)
        return ERR_OK;
    // a dataset is a folder by itself: nothing outside may be needed
    if (!grammar_fits(GRAMMAR_BELOW, path))
        return err_set(msg, ERR_RANGE,
                       "%s: model: got '%s', want a path below the manifest's "
                       "folder for a dataset",
                       p->e->manifest.path, path);
    const char *to = in_dataset(p, path);
    enum err e =
        to ? file_make_parents(to, msg) : reference_no_memory(p->dir, msg);
    if (e == ERR_OK && (access(to, F_OK) == 0 || text_ends(to, "/" DATASET)))
        e = err_set(msg, ERR_RANGE,
                    "%s: model: '%s' is the name of another file of a dataset, "
                    "rename it",
                    p->e->manifest.path, path);
    return e == ERR_OK ? reference_copy(p->e->workload.model_path, to, msg) : e;
}

/* Files that older results do not have are left out. */
static enum err put_files(const struct publishing *p, struct err_msg *msg)
{
    static const char *const names[] = {
        "runs.csv",   "iterations.csv", "layouts.csv", "stages.csv",
        "costs.json", "plan.json",      "units.csv",   "timeline.csv",
        "jitter.csv", "recipes.csv"};
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && e == ERR_OK; i++) {
        const char *from = arena_printf(p->a, "%s/%s", p->e->dir, names[i]);
        e = copy_if_there(from, in_dataset(p, names[i]), msg);
    }
    const struct text_span *text = &p->e->manifest.text;
    const char *manifest = in_dataset(p, "manifest.json");
    if (e == ERR_OK)
        e = manifest ? text_write_own(manifest, text->data, text->len, msg)
                     : reference_no_memory(p->dir, msg);
    if (e == ERR_OK)
        e = results_write_json(p->a, p->dir, "machine.json",
                               machine_to_json(&p->e->machine), msg);
    return e;
}

enum { UTC_BYTES = 32 };

static void reference_now(char now[UTC_BYTES])
{
    time_t t = time(NULL);
    struct tm utc;
    gmtime_r(&t, &utc);
    strftime(now, UTC_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* Dates are those of the runs: when it was published says nothing of them. */
static enum err put_dataset(const struct publishing *p, struct err_msg *msg)
{
    char now[UTC_BYTES];
    const struct run_list *runs = &p->e->runs;
    const struct run_record *first = &runs->run[0], *last = first;
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_record *r = &runs->run[i];
        first = r->started_s < first->started_s ? r : first;
        last = r->started_s > last->started_s ? r : last;
    }
    reference_now(now);
    struct writer_doc doc;
    struct writer o = writer_open(&doc);
    writer_text(o, "format", FORMAT);
    writer_text(o, "experiment", p->e->manifest.name);
    writer_text(o, "hardware", first->hardware);
    writer_text(o, "source", first->source);
    writer_text(o, "clock", first->clock);
    writer_text(o, "commit", last->commit);
    writer_text(o, "first_run_utc", first->started_utc);
    writer_text(o, "last_run_utc", last->started_utc);
    writer_text(o, "published_utc", now);
    writer_number(o, "n_runs", (double)runs->n);
    return results_write_json(p->a, p->dir, DATASET, writer_close(&doc), msg);
}

/* dataset.json last: what has it is whole. */
static enum err put_all(const struct publishing *p, struct err_msg *msg)
{
    enum err e = reference_make_folder(p->dir, msg);
    if (e == ERR_OK)
        e = put_files(p, msg);
    if (e == ERR_OK)
        e = put_model(p, msg);
    if (e == ERR_OK)
        e = put_runs(p, msg);
    return e == ERR_OK ? put_dataset(p, msg) : e;
}

/* The list of hashes comes last: it is of all other files. A failure leaves
 * the old dataset as it was. */
static enum err reference_place(const struct experiment *e, const char *dir,
                                enum err (*put)(const struct publishing *p,
                                                struct err_msg *msg),
                                struct err_msg *msg)
{
    struct place place;
    enum err err = place_begin(e->a, dir, e->dir, &place, msg);
    if (err != ERR_OK)
        return err;
    const struct publishing p = {e, e->a, place.tmp};
    err = put(&p, msg);
    if (err == ERR_OK)
        err = sums_write(e->a, place.tmp, msg);
    if (err == ERR_OK)
        err = place_finish(&place, msg);
    if (err != ERR_OK)
        place_discard(&place);
    return err;
}

/* What may not be published is looked for before a folder is made. */
enum err reference_publish(const struct experiment *e, const char *dir,
                           struct err_msg *msg)
{
    enum err err = check_finished(e, msg);
    if (err == ERR_OK)
        err = leaks_check(e, msg);
    return err == ERR_OK ? reference_place(e, dir, put_all, msg) : err;
}

/* ---- publishing what was only planned ---- */

/* Nothing ran: its figures are predictions of costs that were worked out. */
static enum err put_planned_dataset(const struct publishing *p,
                                    struct err_msg *msg)
{
    char now[UTC_BYTES];
    struct writer_doc doc;
    struct writer o = writer_open(&doc);
    reference_now(now);
    writer_text(o, "format", FORMAT);
    writer_text(o, "experiment", p->e->manifest.name);
    writer_text(o, "source", cost_source_name(COST_ANALYTIC));
    writer_text(o, "commit", p->e->machine.commit);
    writer_text(o, "published_utc", now);
    writer_number(o, "n_runs", 0);
    return results_write_json(p->a, p->dir, DATASET, writer_close(&doc), msg);
}

static enum err put_planned(const struct publishing *p, struct err_msg *msg)
{
    enum err e = reference_make_folder(p->dir, msg);
    if (e == ERR_OK)
        e = put_files(p, msg);
    if (e == ERR_OK)
        e = put_model(p, msg);
    return e == ERR_OK ? put_planned_dataset(p, msg) : e;
}

/* The manifest that was planned is kept beside its table. */
static enum err check_planned(const struct experiment *e, struct err_msg *msg)
{
    char hex[TEXT_SHA256_HEX];
    struct err_msg ignored;
    const char *copy = arena_printf(e->a, "%s/manifest.json", e->dir);
    if (copy && text_sha256_file(copy, hex, &ignored) == ERR_OK &&
        strcmp(hex, e->manifest.sha256) == 0)
        return ERR_OK;
    return err_set(msg, ERR_MODEL,
                   "%s: no results of this manifest; 'moe-bench run %s' first",
                   e->dir, e->manifest.path);
}

enum err reference_publish_planned(const struct experiment *e, const char *dir,
                                   struct err_msg *msg)
{
    enum err err = check_planned(e, msg);
    if (err == ERR_OK)
        err = leaks_check(e, msg);
    return err == ERR_OK ? reference_place(e, dir, put_planned, msg) : err;
}

/* ---- unpacking ---- */

bool reference_is(struct arena *a, const char *dir)
{
    const char *path = arena_printf(a, "%s/" DATASET, dir);
    return path && access(path, R_OK) == 0;
}

/* Of others, in their own columns. */
static bool is_source(struct arena *a, const char *dir)
{
    const char *path = arena_printf(a, "%s/rows.csv", dir);
    return path && access(path, R_OK) == 0;
}

/* The hashes first: a damaged file is told as that, and not as what reading it
 * would make of it. */
enum err reference_check(struct arena *a, const char *dir, struct err_msg *msg)
{
    if (is_source(a, dir))
        return err_set(msg, ERR_PARSE,
                       "%s: holds step times of others, which are predicted "
                       "with all datasets (no DIR), or alone by --rows "
                       "%s/rows.csv",
                       dir, dir);
    if (!reference_is(a, dir))
        return err_set(msg, ERR_PARSE,
                       "%s: no dataset (" DATASET
                       "): name a folder that holds one, or none for all "
                       "of them; 'moe-bench publish MANIFEST' makes one",
                       dir);
    enum err e = sums_check(a, dir, msg);
    if (e == ERR_OK && !place_is_dataset(a, dir))
        e = err_set(msg, ERR_MODEL, "%s/" DATASET ": not of format " FORMAT,
                    dir);
    return e;
}

/* What validate needs: provenance stays packed away. */
static enum err unpack_run(struct arena *a, const char *from, const char *to,
                           struct err_msg *msg)
{
    static const char *const packed[] = {"log.txt", "ops.csv"};
    enum err e = reference_make_folder(to, msg);
    if (e == ERR_OK)
        e = reference_copy(arena_printf(a, "%s/status.json", from),
                           arena_printf(a, "%s/status.json", to), msg);
    for (int i = 0; i < 2 && e == ERR_OK; i++) {
        const char *gz = arena_printf(a, "%s/%s.gz", from, packed[i]);
        const char *plain = arena_printf(a, "%s/%s", to, packed[i]);
        if (!gz || !plain)
            e = reference_no_memory("dataset", msg);
        else if (access(gz, F_OK) == 0)
            e = file_unpack(gz, plain, msg);
    }
    return e;
}

/* As they lay in the results, so that everything reads them as it reads a
 * run's. */
static enum err unpack_runs(struct arena *a, const char *runs, const char *to,
                            struct err_msg *msg)
{
    struct dirent **entry = NULL;
    int n = scandir(runs, &entry, NULL, alphasort);
    enum err e = n < 0 ? err_set(msg, ERR_PARSE,
                                 "%s: cannot read: %s; publish the dataset "
                                 "with 'moe-bench publish'",
                                 runs, strerror(errno))
                       : ERR_OK;
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        const char *from = arena_printf(a, "%s/%s", runs, name);
        const char *folder = arena_printf(a, "%s/%s", to, name);
        if (e == ERR_OK && name[0] != '.')
            e = from && folder ? unpack_run(a, from, folder, msg)
                               : reference_no_memory(runs, msg);
        free(entry[i]);
    }
    free(entry);
    return e;
}

/* Below TMPDIR, so that a dataset is never written to. */
enum err reference_unpack(struct arena *a, const char *dir,
                          struct temporary *out, struct err_msg *msg)
{
    const char *runs = arena_printf(a, "%s/runs", dir);
    if (!runs)
        return reference_no_memory(dir, msg);
    enum err e = temporary_make(a, "moe-bench", out, msg);
    if (e != ERR_OK)
        return e;
    const char *inner = arena_printf(a, "%s/runs", out->path);
    e = inner ? reference_make_folder(inner, msg)
              : reference_no_memory(dir, msg);
    if (e == ERR_OK)
        e = unpack_runs(a, runs, inner, msg);
    if (e != ERR_OK)
        temporary_remove(out);
    return e;
}
