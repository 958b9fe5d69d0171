/*
 * How it works: the runs are loaded as the harness left them, hashes checked;
 * step times are corrected for the machine's speed as the experiment's own
 * tables do. Of each run's records only the log is kept; the others are read
 * for the list of what is not.
 */
#include "experiment_folder.h"

#include "base/stats.h"
#include "figures/figures.h"
#include "launch/words.h"
#include "manifest/manifest.h"
#include "source/log.h"
#include "store/results.h"
#include "take.h"

#include <math.h>
#include <string.h>

enum { FOLDER_FILE_BYTES = 4 << 20, FOLDER_LOG_BYTES = 256 << 20 };

struct folder {
    struct contribution *c;
    const struct experiment_folder *from;
    struct run_list runs;
    struct manifest manifest;
    double reference_ms;
};

static enum err folder_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "contribute: out of memory");
}

/* Names, paths and variables of these files are not kept: they are listed. */
static void note_records(const struct folder *f, const struct run_record *run)
{
    static const char *const names[] = {"argv.json", "env.json",
                                        "manifest.json", "provenance.json"};
    struct err_msg ignored;
    struct text_span text;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *path =
            arena_printf(f->c->arena, "%s/%s", run->folder, names[i]);
        if (path && text_read_bytes(f->c->arena, path, FOLDER_FILE_BYTES, &text,
                                    &ignored) == ERR_OK)
            removed_note_file(&f->c->removed,
                              (struct log_text){text.data, text.len});
    }
}

/* Medians at the experiment's own speed, as runs.csv has them. */
static enum err take_figures(const struct folder *f,
                             const struct run_record *run,
                             struct contribution_run *r, struct err_msg *msg)
{
    struct arena *a = f->c->arena;
    const struct figures_rule rule = {f->manifest.warmup, f->reference_ms};
    struct run_figures figures;
    double *x = arena_alloc(a, run->log.n_iterations + 1, sizeof *x);
    enum err e =
        x ? figures_run(a, run, rule, &figures, msg) : folder_no_memory(msg);
    if (e != ERR_OK)
        return e;
    size_t n = figures_corrected_steps(run, rule.warmup, rule.reference_ms, x);
    r->n_used = figures.n_used;
    r->n_dropped = (int)run->log.n_iterations - figures.n_used;
    r->step_s = figures.corr_ms * 1e-3;
    r->q25 = stats_quantile(x, n, 0.25) * 1e-3;
    r->q75 = stats_quantile(x, n, 0.75) * 1e-3;
    char stat[CONTRIBUTION_STAT_BYTES];
    contribution_stat(r, stat);
    r->stat = arena_printf(
        a, "%s%s", stat,
        isfinite(f->reference_ms) ? ", corrected for the machine's speed" : "");
    return r->stat ? ERR_OK : folder_no_memory(msg);
}

/* A text of a record that is not what a harness writes is not given on. */
static const char *known_role(const struct run_record *run)
{
    enum role role;
    const bool known = strcmp(run->role, ROLE_PROFILE_NAME) == 0 ||
                       role_from_name("", run->role, &role, NULL) == ERR_OK;
    return known ? run->role : "run";
}

static const char *known_of(const char *text, const char *const *list)
{
    while (*list && strcmp(*list, text) != 0)
        list++;
    return *list ? *list : "unknown";
}

/* "2026-12-01T..." */
static bool is_date(const char *text)
{
    static const char shape[] = "0000-00-00";
    for (size_t i = 0; shape[i]; i++)
        if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != '-')
            return false;
    return true;
}

/* The words that started the trainer. */
static enum err read_words(struct arena *a, const char *path,
                           struct megatron_args *args, struct err_msg *msg)
{
    const struct megatron_args_options opt = {.strict = false};
    struct words all;
    enum err e = words_read(a, path, &all, msg);
    if (e != ERR_OK)
        return e;
    int first = 0; // Megatron's first flag: before it are programs
    while (first < all.n && !(text_starts(all.word[first], "--") &&
                              megatron_args_has(all.word[first])))
        first++;
    const struct words flags = {all.word + first, all.n - first};
    char **word = launch_argv(a, &flags);
    return word ? megatron_args_read(args, word, flags.n, &opt, msg)
                : folder_no_memory(msg);
}

/* The model of one run; NULL in *out: out of memory. */
static enum err args_of_run(const struct folder *f,
                            const struct run_record *run,
                            struct megatron_args **out, struct err_msg *msg)
{
    struct arena *a = f->c->arena;
    const char *words = arena_printf(a, "%s/argv.json", run->folder);
    struct megatron_args *args = f->from->config
                                     ? megatron_args_copy(a, f->from->config)
                                     : megatron_args_new(a);
    enum err e = args && words ? ERR_OK : folder_no_memory(msg);
    if (e == ERR_OK && !f->from->config)
        e = run->log.n_arguments ? source_log_read(&run->log, "log", args, msg)
                                 : read_words(a, words, args, msg);
    if (e == ERR_OK)
        flags_set_int(megatron_args_flags(args), FLAG_WORLD_SIZE, run->n_ranks);
    *out = args;
    return e == ERR_OK ? ERR_OK : err_prefix(msg, e, "%s", run->folder);
}

/* A run of round 0 had timers on: its log is kept, its step is no figure. */
static enum err take_run(const struct folder *f, const struct run_record *run,
                         struct err_msg *msg)
{
    struct contribution *c = f->c;
    struct text_span text;
    struct megatron_args *args = NULL;
    struct contribution_run *r;
    const char *path = arena_printf(c->arena, "%s/log.txt", run->folder);
    enum err e = path ? contribution_add(c, &r, msg) : folder_no_memory(msg);
    if (e != ERR_OK)
        return e;
    r->name = run->run_id;
    r->role = known_role(run);
    r->round = run->round;
    r->profile = run->round == 0;
    e = text_read_bytes(c->arena, path, FOLDER_LOG_BYTES, &text, msg);
    if (e == ERR_OK)
        e = args_of_run(f, run, &args, msg);
    if (e != ERR_OK)
        return e;
    take_facts(&run->log, r);
    e = contribution_judge(c, args, run->layout, r, msg);
    if (e == ERR_OK)
        e = take_figures(f, run, r, msg);
    return e == ERR_OK ? take_log(c, &text, f->from->keep_logs, r, msg) : e;
}

/* ---- all of the series ---- */

/* Runs of a role in a round; `planned`: how many the manifest has. */
static int count_runs(const struct folder *f, enum role role, int round,
                      int *planned)
{
    int n = 0;
    *planned = 0;
    for (int i = 0; i < f->manifest.n_measure; i++)
        *planned += f->manifest.measure[i].role == role;
    for (size_t i = 0; i < f->runs.n; i++)
        n += f->runs.run[i].round == round &&
             strcmp(f->runs.run[i].role, role_name(role)) == 0;
    return n;
}

/* A manifest may have a role several times: each is a run. */
static enum err find_absent(const struct folder *f, struct err_msg *msg)
{
    struct contribution *c = f->c;
    enum err e = ERR_OK;
    c->is_planned = true;
    for (int round = 1; round <= f->manifest.rounds; round++)
        for (int r = 0; r < N_ROLES && e == ERR_OK; r++) {
            int planned;
            int n = count_runs(f, (enum role)r, round, &planned);
            for (; n < planned && e == ERR_OK; n++) {
                c->n_absent++;
                e = contribution_lose(c,
                                      arena_printf(c->arena, "%s, round %d",
                                                   role_name((enum role)r),
                                                   round),
                                      "not there", msg);
            }
        }
    return e;
}

/* A changed run ends it; a failed one is told. */
static enum err take_all(struct folder *f, struct err_msg *msg)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < f->runs.n && e == ERR_OK; i++) {
        const struct run_record *run = &f->runs.run[i];
        note_records(f, run);
        if (run->changed)
            e = err_set(msg, ERR_MODEL,
                        "%s: %s; only runs as they were made are taken",
                        run->folder, run->changed);
        else if (run->status == RUN_VALID)
            e = take_run(f, run, msg);
        else
            e = contribution_lose(f->c,
                                  arena_printf(f->c->arena, "%s, round %d",
                                               known_role(run), run->round),
                                  run_status_name(run->status), msg);
    }
    return e;
}

/* The last run's: a series that was changed half-way has several. */
static enum err read_manifest(struct folder *f, struct err_msg *msg)
{
    const struct run_record *last = &f->runs.run[f->runs.n - 1];
    const char *path =
        arena_printf(f->c->arena, "%s/manifest.json", last->folder);
    return path ? manifest_read(f->c->arena, path, &f->manifest, msg)
                : folder_no_memory(msg);
}

/* Hardware, clock and date are the runs' own. */
static enum err take_hardware(struct folder *f, struct err_msg *msg)
{
    static const char *const sources[] = {"measured", "emulated", NULL};
    static const char *const clocks[] = {"wall", "cpu", "flops", NULL};
    struct contribution *c = f->c;
    const struct run_record *last = &f->runs.run[f->runs.n - 1];
    const struct manifest_hardware *h = &f->manifest.hardware;
    const bool ours = f->manifest.trainer.kind == TRAINER_MOE_TRAIN;
    // a manifest's own word for its machines is given on by nobody but the user
    const struct card *card = NULL;
    struct err_msg ignored;
    if (h->gpu)
        card_find(h->gpu, "", &card, &ignored);
    const char *gpu = card ? card->name : ours && !h->gpu ? "cpu" : NULL;
    if (!c->gpu && !gpu)
        return err_set(msg, ERR_PARSE,
                       "--gpu is missing: the experiment's manifest names no "
                       "card that is known here");
    enum err e = c->gpu ? ERR_OK : contribution_gpu(c, gpu, msg);
    c->source = known_of(last->source, sources);
    c->clock = known_of(last->clock, clocks);
    c->gpus_per_node =
        h->nodes > 0 && h->count > 0 ? (int)(h->count / h->nodes) : 0;
    if (e == ERR_OK && is_date(last->started_utc))
        c->date = arena_strndup(c->arena, last->started_utc, 10);
    return e == ERR_OK && !c->date ? folder_no_memory(msg) : e;
}

/* The speed of the machine is a property of all runs together, so it is worked
 * out before the first is taken. */
enum err experiment_folder_read(struct contribution *c,
                                const struct experiment_folder *from,
                                struct err_msg *msg)
{
    struct folder f = {.c = c, .from = from};
    const char *dir = from->dir;
    enum err e = results_load(c->arena, dir, NULL, &f.runs, msg);
    if (e == ERR_OK && f.runs.n == 0)
        e = err_set(msg, ERR_PARSE,
                    "%s: no runs of an experiment; 'moe-bench run MANIFEST' "
                    "makes them, or name log files",
                    dir);
    if (e == ERR_OK)
        e = read_manifest(&f, msg);
    if (e == ERR_OK)
        e = take_hardware(&f, msg);
    if (e != ERR_OK)
        return e;
    f.reference_ms = figures_reference(c->arena, &f.runs, f.manifest.warmup);
    e = take_all(&f, msg);
    return e == ERR_OK ? find_absent(&f, msg) : e;
}
