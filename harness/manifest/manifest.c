/*
 * How it works: each section is read by a plain list of calls on a reader,
 * which keeps the first error. A section knows its keys from one array, which
 * also feeds the suggestion for an unknown key.
 */
#include "manifest.h"

#include "base/reader.h"
#include "grammar.h"
#include "memory/memory.h"
#include "overrides.h"
#include "secret.h"

#include <math.h>
#include <string.h>

// a manifest is written by hand, and no list of words is longer than a
// trainer's arguments
enum { MANIFEST_MAX_BYTES = 1 << 20, MANIFEST_MAX_WORDS = 256 };

#define FORMAT "moe-bench/experiment/1"
// lists of keys stand beside what reads them
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Profile runs may be shorter or longer than measured ones: their timers are
 * means, of which few iterations tell enough. */
int manifest_n_iterations(const struct manifest *mf, bool profile)
{
    return mf->warmup +
           (profile && mf->profile_count > 0 ? mf->profile_count : mf->count);
}

bool manifest_plans_only(const struct manifest *mf)
{
    return mf->planning.n_ways > 0;
}

bool manifest_has_price(const struct manifest *mf)
{
    return mf->hardware.price_usd_per_hour > 0;
}

bool manifest_has_role(const struct manifest *mf, enum role role)
{
    for (int i = 0; i < mf->n_measure; i++)
        if (mf->measure[i].role == role)
            return true;
    return false;
}

/* A section of the manifest, with its keys checked; absent where it is not
 * there. */
static struct reader open_section(struct reader top, const char *key,
                                  const char *const *keys, size_t n_keys)
{
    struct reader s = reader_object(top, key);
    reader_keys(s, keys, n_keys);
    return s;
}

static void get_words(struct reader s, const char *key, struct words *out)
{
    int n = reader_texts(s, key, MANIFEST_MAX_WORDS, &out->word);
    out->n = n > 0 ? n : out->n;
}

/* Bounds refuse typing errors, not machines. */
static void read_hardware(struct reader top, struct manifest_hardware *h)
{
    static const char *const keys[] = {"gpu",
                                       "count",
                                       "nodes",
                                       "hbm_gb",
                                       "memory_margin_pct",
                                       "price_usd_per_hour"};
    struct reader s = open_section(top, "hardware", keys, COUNT(keys));
    h->memory_margin_pct = 100 * MEMORY_MARGIN;
    reader_text(s, "gpu", &h->gpu);
    reader_int64(s, "count", (struct json_range){1, 1e6}, &h->count);
    reader_int64(s, "nodes", (struct json_range){1, 1e5}, &h->nodes);
    reader_double(s, "hbm_gb", (struct json_range){0, 1e5}, &h->hbm_gb);
    reader_double(s, "memory_margin_pct", (struct json_range){0, 1000},
                  &h->memory_margin_pct);
    reader_double(s, "price_usd_per_hour", (struct json_range){0, 1e6},
                  &h->price_usd_per_hour);
}

/* A key that is one of `names`, kept as text: NULL where it is absent. */
static void read_name(struct reader s, const char *key,
                      const char *const *names, int n_names, const char **out)
{
    int i = -1;
    reader_choice(s, key, names, n_names, &i);
    if (i >= 0)
        *out = names[i];
}

/* Keys of job systems; on this machine they have no effect. */
static void read_job_keys(struct reader s, struct manifest_launcher *l)
{
    static const char *const per_names[] = {"run", "experiment"};
    const char *const keys[] = {"rendezvous", "partition", "account",
                                "flavor",     "namespace", "results"};
    const char **const to[] = {&l->rendezvous, &l->partition, &l->account,
                               &l->flavor,     &l->namespace, &l->results};
    for (size_t i = 0; i < COUNT(keys); i++)
        reader_text(s, keys[i], to[i]);
    get_words(s, "modules", &l->modules);
    get_words(s, "mounts", &l->mounts);
    get_words(s, "lines", &l->lines);
    get_words(s, "env", &l->env);
    // seconds between questions: Slurm's own tools advise against asking more
    // often
    l->poll_s = 5;
    reader_double(s, "poll_s", (struct json_range){0.1, 3600}, &l->poll_s);
    int per = 0;
    reader_choice(s, "per", per_names, 2, &per);
    l->per_experiment = per == 1;
}

/* One list of keys for all kinds: a manifest can be moved from one system to
 * another by its kind alone. */
static void read_launcher(struct reader top, struct manifest_launcher *l)
{
    static const char *const keys[] = {
        "kind",       "clock",     "platform", "command",
        "rendezvous", "partition", "account",  "modules",
        "mounts",     "lines",     "env",      "flavor",
        "namespace",  "results",   "per",      "poll_s"};
    static const char *const clocks[] = {"wall", "cpu", "flops"};
    struct reader s = open_section(top, "launcher", keys, COUNT(keys));
    reader_require(s, "kind", "auto, mpirun, smpirun, command, ...");
    reader_text(s, "kind", &l->kind);
    read_name(s, "clock", clocks, COUNT(clocks), &l->clock);
    reader_text(s, "platform", &l->platform);
    get_words(s, "command", &l->command);
    read_job_keys(s, l);
}

static void manifest_read_trainer(struct reader top, struct manifest_trainer *t)
{
    static const char *const keys[] = {"kind",      "commit", "core",
                                       "container", "entry",  "args"};
    struct reader s = open_section(top, "trainer", keys, COUNT(keys));
    const char *const kinds[] = {
        [TRAINER_MEGATRON] = trainer_name(TRAINER_MEGATRON),
        [TRAINER_MOE_TRAIN] = trainer_name(TRAINER_MOE_TRAIN)};
    int kind = TRAINER_MOE_TRAIN;
    reader_choice(s, "kind", kinds, COUNT(kinds), &kind);
    t->kind = (enum trainer_kind)kind;
    reader_text(s, "commit", &t->commit);
    reader_text(s, "container", &t->container);
    reader_text(s, "entry", &t->entry);
    get_words(s, "args", &t->args);
}

static void read_iterations(struct reader top, struct manifest *mf)
{
    static const char *const keys[] = {"warmup", "count"};
    struct reader s = open_section(top, "iterations", keys, COUNT(keys));
    // the first iteration allocates, the second may still
    mf->warmup = 2;
    reader_require(s, "count", "the iterations measured, e.g. 20");
    reader_int(s, "warmup", (struct json_range){0, 1e6}, &mf->warmup);
    reader_int(s, "count", (struct json_range){1, 1e6}, &mf->count);
}

/* profile.runs is a number (the planner chooses) or a list of layouts. */
static void read_profile(struct reader top, struct manifest *mf)
{
    static const char *const keys[] = {"runs", "timers", "count"};
    struct reader s = open_section(top, "profile", keys, COUNT(keys));
    struct reader runs = reader_get(s, "runs");
    // two layouts tell E, layers and L apart; level 2 splits forward and
    // backward
    mf->profile_runs = mf->profile_timers = 2;
    mf->profile_count = mf->count;
    if (cJSON_IsArray(runs.item)) {
        get_words(s, "runs", &mf->profile_layouts);
        mf->profile_runs = mf->profile_layouts.n;
        if (mf->profile_runs < 1)
            reader_fail(runs, ERR_RANGE, "got an empty list, want layouts");
    } else {
        reader_int(s, "runs", (struct json_range){2, 32}, &mf->profile_runs);
    }
    // level 1 has no time of a stage's forward alone
    reader_int(s, "timers", (struct json_range){2, 2}, &mf->profile_timers);
    reader_int(s, "count", (struct json_range){1, 1e6}, &mf->profile_count);
}

/* role_from_name() makes the message: it names the nearest role. */
static void read_role(struct reader item, enum role *out)
{
    const char *role = NULL;
    const char *where =
        arena_printf(item.doc->a, "%s: %s", item.doc->file, item.path);
    reader_require(item, "role", "pick, default, ...");
    reader_text(item, "role", &role);
    if (!where)
        reader_fail(item, ERR_NOMEM, "out of memory");
    else if (role && reader_is_ok(item))
        item.doc->err = role_from_name(where, role, out, item.doc->msg);
}

/* Only 'layout' names its layout; what others measure is resolved later. */
static void read_measure_item(struct reader item, struct manifest_measure *out)
{
    static const char *const keys[] = {"role", "layout", "standalone_mtp"};
    if (!cJSON_IsObject(item.item)) {
        reader_fail(item, ERR_PARSE, "want an object {\"role\": ..}");
        return;
    }
    reader_keys(item, keys, COUNT(keys));
    read_role(item, &out->role);
    reader_text(item, "layout", &out->layout);
    reader_bool(item, "standalone_mtp", &out->standalone_mtp);
    const char *role = role_name(out->role);
    if (out->standalone_mtp && out->role != ROLE_PICK)
        reader_fail(item, ERR_PARSE,
                    "role '%s' takes no key 'standalone_mtp', only 'pick' "
                    "does",
                    role);
    if ((out->role == ROLE_LAYOUT) != (out->layout != NULL))
        reader_fail(item, ERR_PARSE, "role '%s' %s key 'layout'", role,
                    out->layout ? "takes no" : "needs the");
}

/* Index of an earlier entry that asks the same, or -1. Several neighbours are
 * several layouts. */
static int same_measure(const struct manifest *mf, int i)
{
    const struct manifest_measure *x = &mf->measure[i];
    for (int j = 0; j < i; j++) {
        const struct manifest_measure *y = &mf->measure[j];
        if (x->role == y->role && x->role != ROLE_NEIGHBOUR &&
            (!x->layout || strcmp(x->layout, y->layout) == 0))
            return j;
    }
    return -1;
}

static void read_measure(struct reader top, struct manifest *mf)
{
    struct reader list = reader_get(top, "measure");
    int n = reader_count(list);
    if (!cJSON_IsArray(list.item) || n < 1 || n > MANIFEST_MAX_MEASURE)
        reader_fail_at(top, "measure", ERR_PARSE,
                       "%s, want a list of 1 to %d {\"role\": ...}",
                       list.item ? "got something else" : "missing",
                       MANIFEST_MAX_MEASURE);
    struct manifest_measure *m = arena_alloc(top.doc->a, (size_t)n, sizeof *m);
    if (!m)
        reader_fail(list, ERR_NOMEM, "out of memory");
    mf->measure = m;
    mf->n_measure = 0;
    for (struct reader c = reader_first(list); c.item; c = reader_next(c)) {
        read_measure_item(c, &m[mf->n_measure]);
        if (reader_is_ok(c) && same_measure(mf, mf->n_measure) >= 0)
            reader_fail(c, ERR_PARSE,
                        "role '%s' is given twice, raise 'rounds' to measure "
                        "more often",
                        role_name(m[mf->n_measure].role));
        mf->n_measure++;
    }
}

/* A budget that nothing is counted against would be taken for one that holds.
 */
static void check_budget(struct reader budget, const struct manifest *mf)
{
    if (!budget.item)
        return;
    if (!(mf->budget_usd > 0))
        reader_fail(budget, ERR_RANGE,
                    "got 0, want above 0, or no such key for no limit");
    if (!manifest_has_price(mf))
        reader_fail(budget, ERR_PARSE,
                    "a budget needs hardware.price_usd_per_hour above 0, of "
                    "all devices together: without a price no run costs "
                    "anything");
}

static void manifest_read_limits(struct reader top, struct manifest *mf)
{
    static const char *const keys[] = {"run_s", "experiment_s", "hang_steps",
                                       "hang_s", "budget_usd"};
    struct reader s = open_section(top, "limits", keys, COUNT(keys));
    // an hour; fifty steps without a line, and never less than a minute, are a
    // hang
    mf->run_limit_s = 3600;
    mf->hang_steps = 50;
    mf->hang_s = 60;
    reader_double(s, "experiment_s", (struct json_range){1, 1e8},
                  &mf->experiment_limit_s);
    reader_double(s, "hang_steps", (struct json_range){2, 1e6},
                  &mf->hang_steps);
    reader_double(s, "hang_s", (struct json_range){0.1, 1e6}, &mf->hang_s);
    reader_double(s, "run_s", (struct json_range){1, 1e6}, &mf->run_limit_s);
    reader_double(s, "budget_usd", (struct json_range){0, 1e6},
                  &mf->budget_usd);
    check_budget(reader_get(s, "budget_usd"), mf);
}

static const char *const accept_keys[] = {
#define ACCEPT_KEY(id, key, what) key,
    ACCEPT_TABLE(ACCEPT_KEY)
#undef ACCEPT_KEY
};

/* Bounds that are not given are not judged. */
static void read_accept(struct reader top, struct manifest_accept *x)
{
    struct reader s = open_section(top, "accept", accept_keys, N_ACCEPT);
    const struct json_range range = {0, 1000};
    for (int i = 0; i < N_ACCEPT; i++) {
        x->bound[i] = NAN;
        reader_double(s, accept_keys[i], range, &x->bound[i]);
    }
}

/* 12 digits: what a person wrote, without the noise of a double. */
static const char *manifest_value_text(struct arena *a, const cJSON *item)
{
    if (cJSON_IsString(item))
        return arena_strdup(a, item->valuestring);
    return arena_printf(a, "%.12g", item->valuedouble);
}

/* A flat object of strings and numbers; returns how many. */
static int read_pairs(struct reader s, const struct manifest_pair **out)
{
    struct arena *a = s.doc->a;
    int n = reader_count(s), i = 0;
    struct manifest_pair *pairs =
        n ? arena_alloc(a, (size_t)n, sizeof *pairs) : NULL;
    if (n && !pairs)
        reader_fail(s, ERR_NOMEM, "out of memory");
    for (struct reader c = reader_first(s); c.item; c = reader_next(c), i++) {
        if (!cJSON_IsString(c.item) && !cJSON_IsNumber(c.item))
            reader_fail(c, ERR_PARSE, "want a number or a string");
        pairs[i].key = arena_strdup(a, reader_key(c));
        pairs[i].value = manifest_value_text(a, c.item);
        if (!pairs[i].key || !pairs[i].value)
            reader_fail(c, ERR_NOMEM, "out of memory");
    }
    *out = pairs;
    return i;
}

/* Published figures are kept beside our own and never mixed with them. */
static void read_sources(struct reader top, struct manifest *mf)
{
    static const char *const figures[] = {"source",
                                          "study",
                                          "unit_cost_m",
                                          "unit_cost_L_min",
                                          "unit_cost_L_max",
                                          "flops_unit_cost_m",
                                          "flops_unit_cost_L",
                                          "layouts_searched",
                                          "layouts_mtp_with_loss",
                                          "layouts_loss_alone",
                                          "pick_layout",
                                          "default_layout",
                                          "count_based_layout",
                                          "speedup_vs_default",
                                          "speedup_vs_count_based",
                                          "step_error_pct",
                                          "other_layouts_error_pct",
                                          "gap_to_best_pct",
                                          "standalone_mtp_error_pct",
                                          "two_bottlenecks_error_pct",
                                          "flops_pick_slower_pct",
                                          "memory_error_pct",
                                          "default_last_stage_work_ratio",
                                          "cost_usd"};
    struct reader published =
        open_section(top, "published", figures, COUNT(figures));
    mf->n_published = read_pairs(published, &mf->published);
    mf->n_assumed = read_pairs(reader_object(top, "assumed"), &mf->assumed);
}

/* `model` is a path or an object with a model file's keys. */
static void read_model(struct reader top, struct manifest *mf)
{
    struct reader model = reader_get(top, "model");
    if (cJSON_IsString(model.item)) {
        reader_text_here(model, &mf->model_path);
    } else if (cJSON_IsObject(model.item)) {
        char *text = cJSON_PrintUnformatted(model.item);
        mf->model_json = text ? arena_strdup(top.doc->a, text) : NULL;
        cJSON_free(text);
        if (!mf->model_json)
            reader_fail(model, ERR_NOMEM, "out of memory");
    } else {
        reader_fail_at(top, "model", ERR_PARSE,
                       "%s, want a model file's path or an object with its "
                       "keys",
                       model.item ? "got something else" : "missing");
    }
}

/* The name becomes a folder and a CSV field. */
static bool is_name(const char *text)
{
    size_t n = strlen(text);
    return n >= 1 && n <= 64 && text[0] != '.' && text[0] != '-' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
}

static void read_names(struct reader top, struct manifest *mf)
{
    mf->rounds = 1;
    reader_require(top, "name", "a short name, e.g. \"local\"");
    reader_text(top, "name", &mf->name);
    reader_text(top, "question", &mf->question);
    reader_text(top, "costs_from", &mf->costs_from);
    reader_int(top, "rounds", (struct json_range){1, 1000}, &mf->rounds);
    const char *const keys[] = {"name", "costs_from"};
    // both become parts of paths
    const char *const names[] = {mf->name, mf->costs_from};
    for (int i = 0; i < 2; i++)
        if (names[i] && !is_name(names[i]))
            reader_fail_at(top, keys[i], ERR_PARSE,
                           "got '%s', want 1 to 64 of a-z A-Z 0-9 . _ -",
                           names[i]);
}

/* What a measured experiment says of its runs. */
static void read_measured(struct reader top, struct manifest *mf)
{
    reader_require(top, "launcher", "an object, e.g. {\"kind\": \"auto\"}");
    reader_require(top, "iterations", "{\"warmup\": W, \"count\": N}");
    read_launcher(top, &mf->launcher);
    read_iterations(top, mf);
    read_profile(top, mf);
    read_measure(top, mf);
    manifest_read_limits(top, mf);
    read_accept(top, &mf->accept);
}

/* Nothing runs: what is said of runs would be without effect. */
static void read_plan_only(struct reader top, struct manifest *mf)
{
    static const char *const without[] = {
        "launcher", "iterations", "rounds", "profile",
        "measure",  "costs_from", "limits", "accept"};
    for (size_t i = 0; i < COUNT(without); i++)
        if (reader_get(top, without[i]).item)
            reader_fail_at(top, without[i], ERR_PARSE,
                           "an experiment with 'plan' runs nothing and takes "
                           "no key '%s'",
                           without[i]);
    if (mf->ep_overlap)
        reader_fail_at(reader_object(top, "parallel"), "ep_overlap", ERR_PARSE,
                       "an experiment with 'plan' says it there");
    planning_read(top, &mf->planning);
}

static void read_top(struct reader top, struct manifest *mf)
{
    static const char *const keys[] = {
        "format", "name",      "question", "model",      "parallel",
        "batch",  "hardware",  "launcher", "trainer",    "iterations",
        "rounds", "profile",   "measure",  "costs_from", "limits",
        "accept", "published", "assumed",  "plan"};
    secret_check(top); // first: no other message may quote one
    reader_keys(top, keys, COUNT(keys));
    read_names(top, mf);
    read_model(top, mf);
    read_hardware(top, &mf->hardware);
    manifest_read_trainer(top, &mf->trainer);
    manifest_overrides(top, &mf->overrides);
    reader_bool(reader_object(top, "parallel"), "ep_overlap", &mf->ep_overlap);
    read_sources(top, mf);
    if (reader_get(top, "plan").item)
        read_plan_only(top, mf);
    else
        read_measured(top, mf);
    grammar_check(top);
}

/* Paths of a manifest are relative to it, wherever the harness is called. */
static const char *manifest_folder_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

enum err manifest_read(struct arena *a, const char *path, struct manifest *out,
                       struct err_msg *msg)
{
    struct manifest mf = {.path = arena_strdup(a, path),
                          .dir = manifest_folder_of(a, path)};
    if (!mf.path || !mf.dir)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    enum err e = text_read_file(a, path, MANIFEST_MAX_BYTES, &mf.text, msg);
    if (e != ERR_OK)
        return e;
    // of the text as it is: a changed comment makes other runs, which is safe
    text_sha256(mf.text.data, mf.text.len, mf.sha256);
    struct reader_doc doc;
    read_top(reader_open_file(&doc, a, mf.path, FORMAT, msg), &mf);
    e = reader_close(&doc);
    if (e == ERR_OK)
        *out = mf;
    return e;
}
