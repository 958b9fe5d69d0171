/*
 * How it works: place_begin() makes the folder beside its place; files are
 * written into it one after the other, sums last, and place_finish() renames
 * it. Texts that come from outside are flags' values, and only those that are
 * made of known words are written.
 */
#include "pack.h"

#include "base/file.h"
#include "base/writer.h"
#include "chunk.h"
#include "own_files.h"
#include "report/leaks.h"
#include "rows.h"
#include "store/place.h"
#include "store/sums.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// a date and time; ".new-XXXXXX"
enum { PACK_UTC_BYTES = 32, PACK_MARK_BYTES = 11 };

static enum err pack_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "contribute: out of memory");
}

static enum err write_tree(struct arena *a, const char *dir, const char *name,
                           cJSON *tree, struct err_msg *msg)
{
    const char *text = writer_print_tree(a, tree);
    const char *path = arena_printf(a, "%s/%s", dir, name);
    return text && path ? text_write_own(path, text, strlen(text), msg)
                        : pack_no_memory(msg);
}

/* ---- the model ---- */

/* As of a log's word: a flag may hold a path, or a project's name. */
static bool is_harmless_text(const char *text)
{
    struct log_text rest = {text, strlen(text)}, c;
    bool word = false;
    if (chunk_is_layout(rest))
        return true;
    while ((c = chunk_next(&rest)).n > 0)
        if (!chunk_is_harmless(c, &word))
            return false;
    return true;
}

/* What each row states by itself. */
static bool is_of_row(enum flag_id id)
{
    return id == FLAG_LAYOUT || id == FLAG_VPP || id == FLAG_LAYERS_PER_VPP;
}

/* Switches that are off are not given, so that only true is written. */
static void write_flag(struct writer to, const struct megatron_flags *f,
                       enum flag_id id, const char *key)
{
    const char *text = NULL;
    switch (flag_type(id)) {
    case FLAG_TYPE_INT:
        writer_number(to, key, (double)flags_int(f, id, 0));
        break;
    case FLAG_TYPE_REAL:
        writer_number(to, key, flags_real(f, id, 0));
        break;
    case FLAG_TYPE_BOOL:
        writer_bool(to, key, true);
        break;
    case FLAG_TYPE_TEXT:
    case FLAG_TYPE_WORDS:
        text = flags_text(f, id);
        if (text && is_harmless_text(text))
            writer_text(to, key, text);
        break;
    }
}

/* Flags whose value is not known, or of words that are not, are left out. */
static enum err write_model(const struct contribution *c, const char *dir,
                            struct err_msg *msg)
{
    const struct megatron_flags *f = megatron_args_flags(c->args);
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    writer_text(top, "format", "moe-layout/model/1");
    for (int i = 0; i < N_FLAGS; i++) {
        const enum flag_id id = (enum flag_id)i;
        char *key = arena_strdup(c->arena, flag_name(id));
        if (!flags_given(f, id) || flags_unknown(f, id) || is_of_row(id))
            continue;
        for (char *p = key; p && *p; p++)
            *p = (char)(*p == '-' ? '_' : *p);
        if (key)
            write_flag(top, f, id, key);
    }
    return write_tree(c->arena, dir, "model.json", writer_close(&doc), msg);
}

/* A flag with a value of unknown words is left out, and may have changed the
 * model: what is read again must be what was measured. */
static enum err check_model(const struct contribution *c, const char *dir,
                            struct err_msg *msg)
{
    struct model m;
    const struct model *own = &c->run[0].model;
    struct megatron_args *args = megatron_args_new(c->arena);
    const char *path = arena_printf(c->arena, "%s/model.json", dir);
    if (!args || !path)
        return pack_no_memory(msg);
    enum err e = megatron_args_read_file(c->arena, args, path, msg);
    if (e == ERR_OK)
        e = megatron_args_model(c->arena, args, &m, msg);
    for (int k = 0; k < N_KINDS && e == ERR_OK; k++) {
        const enum unit_kind kind = (enum unit_kind)k;
        if (model_unit_count(&m, kind) == model_unit_count(own, kind) &&
            model_unit_fwd_flops(&m, kind) == model_unit_fwd_flops(own, kind) &&
            model_unit_params(&m, kind) == model_unit_params(own, kind))
            continue;
        e = err_set(msg, ERR_RANGE,
                    "model: a flag that decides it has a value that is no word "
                    "of Megatron's, and is not given away: state the model "
                    "without it, in a model file with --config");
    }
    return e;
}

/* ---- the manifest ---- */

static void write_texts(struct writer to, const char *key,
                        const char *const *text, int n)
{
    struct writer list = writer_list(to, key);
    for (int i = 0; i < n; i++)
        writer_text(list, NULL, text[i]);
}

static void write_hardware(struct writer top, const struct contribution *c)
{
    struct writer h = writer_object(top, "hardware");
    writer_text(h, "gpu", c->gpu);
    if (c->card)
        writer_text(h, "card", c->card->name);
    writer_number(h, "n_gpus", c->n_gpus);
    if (c->gpus_per_node > 0)
        writer_number(h, "gpus_per_node", c->gpus_per_node);
}

/* Who agreed is the author of the commit that brings it. */
static void write_consent(struct writer top)
{
    char now[PACK_UTC_BYTES];
    const time_t t = time(NULL);
    struct tm utc;
    gmtime_r(&t, &utc);
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &utc);
    struct writer o = writer_object(top, "consent");
    writer_text(o, "licence", CONTRIBUTED_LICENCE);
    writer_text(o, "sentence", CONTRIBUTED_CONSENT);
    writer_text(o, "given_utc", now);
}

/* A reader of the numbers alone must see that runs are missing. */
static void write_series(struct writer top, const struct contribution *c)
{
    struct writer s = writer_object(top, "series");
    writer_bool(s, "planned", c->is_planned);
    if (c->n_series > 0)
        writer_number(s, "n_stated", (double)c->n_series);
    writer_number(s, "n_rows", c->n);
    struct writer list = writer_list(s, "without_step");
    for (int i = 0; i < c->n_lost; i++) {
        struct writer item = writer_object(list, NULL);
        writer_text(item, "run", c->lost[i].what);
        writer_text(item, "why", c->lost[i].why);
    }
}

static void write_checks(struct writer top, const struct checks *k)
{
    struct writer list = writer_list(top, "checks");
    for (int i = 0; i < N_CHECKS; i++) {
        struct writer item = writer_object(list, NULL);
        writer_text(item, "name", check_name((enum check_id)i));
        writer_text(item, "answer", check_answer_name(k->answer[i]));
        writer_text(item, "text", k->text[i]);
    }
}

/* Counts alone: what was removed stays where it was. */
static void write_removed(struct writer top, const struct removed *r)
{
    struct writer o = writer_object(top, "removed");
    writer_number(o, "log_lines", (double)r->n_lines);
    writer_number(o, "log_lines_kept", (double)r->n_kept);
    for (int k = 0; k < N_REMOVED_KINDS; k++)
        writer_number(o, removed_kind_name((enum removed_kind)k),
                      (double)r->count[k]);
}

/* By number: names of logs stay with the contributor. */
static void write_runs(struct writer top, const struct contribution *c)
{
    struct writer list = writer_list(top, "runs");
    for (int i = 0; i < c->n; i++) {
        const struct contribution_run *r = &c->run[i];
        struct writer item = writer_object(list, NULL);
        writer_text(item, "id", r->id);
        if (r->redacted.data)
            writer_text(item, "log",
                        arena_printf(c->arena, "logs/%s.txt.gz", r->id));
        else if (r->why_no_log)
            writer_text(item, "no_log_because", r->why_no_log);
        writer_bool(item, "profile", r->profile);
        writer_bool(item, "timers", r->has_timers);
    }
}

static enum err write_manifest(const struct pack *p, const char *dir,
                               struct err_msg *msg)
{
    const struct contribution *c = p->of;
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    writer_text(top, "format", CONTRIBUTED_FORMAT);
    writer_text(top, "made_by", "moe-bench " MOE_VERSION);
    writer_text(top, "from", contribution_from_name(c->from));
    if (c->example)
        writer_text(top, "example", CONTRIBUTED_EXAMPLE);
    writer_text(top, "date", c->date);
    writer_text(top, "source", c->source);
    writer_text(top, "clock", c->clock);
    writer_text(top, "core", c->core->name);
    write_hardware(top, c);
    write_consent(top);
    write_series(top, c);
    write_checks(top, p->checks);
    write_texts(top, "missing", p->missing->lacks, p->missing->n_lacks);
    write_texts(top, "computable", p->missing->gives, p->missing->n_gives);
    write_removed(top, &c->removed);
    write_runs(top, c);
    return write_tree(c->arena, dir, "manifest.json", writer_close(&doc), msg);
}

/* ---- logs ---- */

/* Looked through before it is packed: what is packed nobody greps. */
static enum err write_log(const struct contribution *c, const char *dir,
                          const struct contribution_run *r, struct err_msg *msg)
{
    const char *plain = arena_printf(c->arena, "%s/logs/%s.txt", dir, r->id);
    const char *packed = arena_printf(c->arena, "%s.gz", plain ? plain : "");
    if (!plain || !packed)
        return pack_no_memory(msg);
    enum err e = file_make_parents(plain, msg);
    if (e == ERR_OK)
        e = text_write_own(plain, r->redacted.data, r->redacted.len, msg);
    if (e == ERR_OK)
        e = leaks_check_file(plain, msg);
    if (e == ERR_OK)
        e = file_pack(plain, packed, msg);
    file_remove_tree(plain);
    return e;
}

/* ---- the folder ---- */

enum err pack_dataset(const struct contribution *c,
                      struct published_dataset *out)
{
    *out = (struct published_dataset){
        .source = contribution_name(c),
        .title =
            arena_printf(c->arena, "%d x %s, %d runs", c->n_gpus, c->gpu, c->n),
        .repository = "",
        .commit = "",
        .licence = CONTRIBUTED_LICENCE,
        .url = "",
        .note = c->example ? "example from moe-train on a CPU" : ""};
    return out->source && out->title ? ERR_OK : ERR_NOMEM;
}

/* The same writer as for step times of others, so that one reader takes both.
 */
static enum err write_rows(const struct contribution *c, const char *dir,
                           struct err_msg *msg)
{
    struct import_rows rows;
    struct published_dataset d;
    if (pack_dataset(c, &d) != ERR_OK)
        return pack_no_memory(msg);
    const enum err e = rows_make(c, &rows, msg);
    return e == ERR_OK ? import_write(c->arena, dir, &d, &rows, msg) : e;
}

/* The last look before anything has its name. */
static enum err check_leaks(struct arena *a, const char *dir,
                            struct err_msg *msg)
{
    enum err e = ERR_OK;
    for (int i = 0; i < N_OWN_FILES && e == ERR_OK; i++) {
        const char *path = arena_printf(a, "%s/%s", dir, own_file_name(i));
        e = path ? leaks_check_file(path, msg) : pack_no_memory(msg);
    }
    return e;
}

/* The list of hashes comes last: it is of all other files. */
static enum err fill(const struct pack *p, const char *dir, struct err_msg *msg)
{
    const struct contribution *c = p->of;
    enum err e = write_rows(c, dir, msg);
    if (e == ERR_OK)
        e = write_model(c, dir, msg);
    if (e == ERR_OK)
        e = check_model(c, dir, msg);
    if (e == ERR_OK)
        e = write_manifest(p, dir, msg);
    if (e == ERR_OK)
        e = check_leaks(c->arena, dir, msg);
    for (int i = 0; i < c->n && e == ERR_OK; i++)
        if (c->run[i].redacted.data)
            e = write_log(c, dir, &c->run[i], msg);
    return e == ERR_OK ? sums_write(c->arena, dir, msg) : e;
}

/* A name that nothing has: two of one day and hardware are two datasets, and
 * rows of one name would be one. */
static const char *free_place(const struct pack *p)
{
    struct stat st;
    struct contribution *c = p->of;
    const char *base = contribution_name(c);
    c->name = base;
    for (int i = 2; c->name; i++) {
        const char *dir = arena_printf(c->arena, "%s/%s", p->root, c->name);
        if (!dir || lstat(dir, &st) != 0)
            return dir;
        c->name = arena_printf(c->arena, "%s-%d", base, i);
    }
    return NULL;
}

/* What a run of ours that was killed left beside the place, by the name that
 * place_begin() gives; nobody writes to it while we hold the lock. */
static void sweep(struct arena *a, const char *root)
{
    struct dirent **entry = NULL;
    const int n = scandir(root, &entry, NULL, NULL);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        const char *mark = strstr(name, ".new-");
        const char *path = arena_printf(a, "%s/%s", root, name);
        if (path && name[0] == '.' && mark && strlen(mark) == PACK_MARK_BYTES)
            file_remove_tree(path);
        free(entry[i]);
    }
    free(entry);
}

/* The root, made where it is missing, for us alone; *lock is its descriptor. */
static enum err lock_root(const char *root, int *lock, struct err_msg *msg)
{
    const enum err e = file_make_folders(root, msg);
    return e == ERR_OK ? file_lock(root, lock, msg) : e;
}

/* What another one wrote while the user was asked for consent. */
static enum err check_again(const struct pack *p, struct err_msg *msg)
{
    const char *const others[] = {p->root, NULL};
    struct checks k;
    const enum err e = checks_ask(p->of, others, &k, msg);
    if (e != ERR_OK || k.answer[CHECK_DUPLICATES] != CHECK_NO)
        return e;
    return err_set(msg, ERR_MODEL, "%s", k.text[CHECK_DUPLICATES]);
}

/* A failure at any place leaves nothing. */
static enum err write_locked(const struct pack *p, const char **out,
                             struct err_msg *msg)
{
    struct place place;
    sweep(p->of->arena, p->root);
    enum err e = check_again(p, msg);
    if (e != ERR_OK)
        return e;
    const char *dir = free_place(p);
    e = dir ? place_begin(p->of->arena, dir, dir, &place, msg)
            : pack_no_memory(msg);
    if (e != ERR_OK)
        return e;
    e = fill(p, place.tmp, msg);
    if (e == ERR_OK)
        e = place_finish(&place, msg);
    if (e != ERR_OK)
        place_discard(&place);
    else
        *out = dir;
    return e;
}

/* The lock is on the root, so that two at once choose two names. */
enum err pack_write(const struct pack *p, const char **out, struct err_msg *msg)
{
    int lock;
    enum err e = lock_root(p->root, &lock, msg);
    if (e != ERR_OK)
        return e;
    e = write_locked(p, out, msg);
    close(lock);
    return e;
}
