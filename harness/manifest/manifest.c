/*
 * How it works: struct reader carries the first error, so that each section is
 * read by a plain list of calls; once `err` is set the rest do nothing. A
 * section knows its keys from one array, which also feeds the suggestion for
 * an unknown key.
 */
#include "manifest.h"

#include "base/json.h"

#include <math.h>
#include <string.h>

enum { MAX_MANIFEST_BYTES = 1 << 20, MAX_MEASURE = 64, MAX_WORDS = 256 };

#define FORMAT "moe-bench/experiment/1"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct reader {
    struct arena *a;
    const char *path;
    struct err_msg *msg;
    enum err err;
};

/* An object and the words that begin a message about it. */
struct section {
    const cJSON *object;
    const char *where;
};

int manifest_n_iterations(const struct manifest *mf, bool profile)
{
    return mf->warmup +
           (profile && mf->profile_count > 0 ? mf->profile_count : mf->count);
}

bool manifest_has_role(const struct manifest *mf, enum role role)
{
    for (int i = 0; i < mf->n_measure; i++)
        if (mf->measure[i].role == role)
            return true;
    return false;
}

static const char *manifest_place(struct reader *r, const char *key)
{
    const char *text = arena_printf(r->a, "%s: %s", r->path, key);
    if (!text)
        r->err = err_set(r->msg, ERR_NOMEM, "%s: out of memory", r->path);
    return text ? text : r->path;
}

static void check_keys(struct reader *r, const struct section *s,
                       const char *const *keys, size_t n_keys)
{
    if (r->err == ERR_OK)
        r->err = json_check_keys(s->object, s->where, keys, n_keys, r->msg);
}

/* Member `key` of the top object; .object is NULL when absent. */
static struct section open_section(struct reader *r, const cJSON *top,
                                   const char *key, const char *const *keys,
                                   size_t n_keys)
{
    struct section s = {NULL, manifest_place(r, key)};
    const cJSON *item = json_get(top, key);
    if (r->err != ERR_OK || !item)
        return s;
    if (!cJSON_IsObject(item)) {
        r->err = err_set(r->msg, ERR_PARSE, "%s: want an object {...}, got %s",
                         s.where, cJSON_IsArray(item) ? "a list" : "a value");
        return s;
    }
    s.object = item;
    check_keys(r, &s, keys, n_keys);
    return s;
}

static void get_int(struct reader *r, const struct section *s, const char *key,
                    struct json_range range, int64_t *out)
{
    if (r->err == ERR_OK && s->object)
        r->err = json_opt_int(s->object, s->where, key, range, out, r->msg);
}

static void get_double(struct reader *r, const struct section *s,
                       const char *key, struct json_range range, double *out)
{
    if (r->err == ERR_OK && s->object)
        r->err = json_opt_double(s->object, s->where, key, range, out, r->msg);
}

static void get_string(struct reader *r, const struct section *s,
                       const char *key, const char **out)
{
    if (r->err == ERR_OK && s->object)
        r->err = json_opt_string(r->a, s->object, s->where, key, out, r->msg);
}

static void manifest_require(struct reader *r, const struct section *s,
                             const char *key, const char *wanted)
{
    if (r->err == ERR_OK && s->object && !json_get(s->object, key))
        r->err = err_set(r->msg, ERR_PARSE, "%s: %s: missing, want %s",
                         s->where, key, wanted);
}

static void get_words(struct reader *r, const struct section *s,
                      const char *key, struct words *out)
{
    const cJSON *list =
        r->err == ERR_OK && s->object ? json_get(s->object, key) : NULL;
    if (!list)
        return;
    int n = cJSON_GetArraySize(list);
    if (!cJSON_IsArray(list) || n > MAX_WORDS) {
        r->err = err_set(r->msg, ERR_PARSE,
                         "%s: %s: want a list of at most %d strings", s->where,
                         key, MAX_WORDS);
        return;
    }
    const char **words = arena_alloc(r->a, (size_t)n + 1, sizeof *words);
    int i = 0;
    for (const cJSON *c = list->child; c && words; c = c->next, i++) {
        if (!cJSON_IsString(c)) {
            r->err = err_set(r->msg, ERR_PARSE,
                             "%s: %s[%d]: want a string in quotes", s->where,
                             key, i);
            return;
        }
        words[i] = arena_strdup(r->a, c->valuestring);
        if (!words[i])
            words = NULL;
    }
    if (!words)
        r->err = err_set(r->msg, ERR_NOMEM, "%s: out of memory", s->where);
    else
        *out = (struct words){words, n};
}

static void read_parallel(struct reader *r, const cJSON *top,
                          struct manifest_parallel *p)
{
    static const char *const keys[] = {"tp",  "pp", "vpp",  "ep",
                                       "etp", "cp", "world"};
    int64_t *const to[] = {&p->tp,  &p->pp, &p->vpp,  &p->ep,
                           &p->etp, &p->cp, &p->world};
    struct section s = open_section(r, top, "parallel", keys, COUNT(keys));
    for (size_t i = 0; i < COUNT(keys); i++)
        get_int(r, &s, keys[i], (struct json_range){1, 65536}, to[i]);
}

static void manifest_read_batch(struct reader *r, const cJSON *top,
                                struct manifest_batch *b)
{
    static const char *const keys[] = {"micro_batch", "global_batch",
                                       "seq_tokens"};
    struct section s = open_section(r, top, "batch", keys, COUNT(keys));
    const struct json_range range = {1, 1e9};
    get_int(r, &s, "micro_batch", range, &b->micro_batch);
    get_int(r, &s, "global_batch", range, &b->global_batch);
    get_int(r, &s, "seq_tokens", range, &b->seq_tokens);
}

static void read_hardware(struct reader *r, const cJSON *top,
                          struct manifest_hardware *h)
{
    static const char *const keys[] = {"gpu", "count", "nodes", "hbm_gb",
                                       "price_usd_per_hour"};
    struct section s = open_section(r, top, "hardware", keys, COUNT(keys));
    get_string(r, &s, "gpu", &h->gpu);
    get_int(r, &s, "count", (struct json_range){1, 1e6}, &h->count);
    get_int(r, &s, "nodes", (struct json_range){1, 1e5}, &h->nodes);
    get_double(r, &s, "hbm_gb", (struct json_range){0, 1e5}, &h->hbm_gb);
    get_double(r, &s, "price_usd_per_hour", (struct json_range){0, 1e6},
               &h->price_usd_per_hour);
}

static void check_clock(struct reader *r, const struct section *s,
                        const char *clock)
{
    static const char *const names[] = {"wall", "cpu", "flops"};
    if (r->err != ERR_OK || !clock)
        return;
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(clock, names[i]) == 0)
            return;
    r->err = err_set(r->msg, ERR_PARSE,
                     "%s: clock: got '%s', want wall, cpu or flops", s->where,
                     clock);
}

/* `per` is "run" or "experiment". */
static void read_per(struct reader *r, const struct section *s,
                     struct manifest_launcher *l)
{
    const char *per = "run";
    get_string(r, s, "per", &per);
    if (r->err != ERR_OK)
        return;
    l->per_experiment = strcmp(per, "experiment") == 0;
    if (!l->per_experiment && strcmp(per, "run") != 0)
        r->err =
            err_set(r->msg, ERR_PARSE,
                    "%s: per: got '%s', want run or experiment", s->where, per);
}

static void read_job_keys(struct reader *r, const struct section *s,
                          struct manifest_launcher *l)
{
    const char *const keys[] = {"rendezvous", "partition", "account",
                                "flavor",     "namespace", "results"};
    const char **const to[] = {&l->rendezvous, &l->partition, &l->account,
                               &l->flavor,     &l->namespace, &l->results};
    for (size_t i = 0; i < COUNT(keys); i++)
        get_string(r, s, keys[i], to[i]);
    get_words(r, s, "modules", &l->modules);
    get_words(r, s, "mounts", &l->mounts);
    get_words(r, s, "lines", &l->lines);
    get_words(r, s, "env", &l->env);
    l->poll_s = 5;
    get_double(r, s, "poll_s", (struct json_range){0.1, 3600}, &l->poll_s);
    read_per(r, s, l);
}

static void read_launcher(struct reader *r, const cJSON *top,
                          struct manifest_launcher *l)
{
    static const char *const keys[] = {
        "kind",       "clock",     "platform", "command",
        "rendezvous", "partition", "account",  "modules",
        "mounts",     "lines",     "env",      "flavor",
        "namespace",  "results",   "per",      "poll_s"};
    struct section s = open_section(r, top, "launcher", keys, COUNT(keys));
    manifest_require(r, &s, "kind", "auto, mpirun, smpirun, command, ...");
    get_string(r, &s, "kind", &l->kind);
    get_string(r, &s, "clock", &l->clock);
    get_string(r, &s, "platform", &l->platform);
    get_words(r, &s, "command", &l->command);
    check_clock(r, &s, l->clock);
    read_job_keys(r, &s, l);
}

static void manifest_read_trainer(struct reader *r, const cJSON *top,
                                  struct manifest_trainer *t)
{
    static const char *const keys[] = {"kind",      "commit", "core",
                                       "container", "entry",  "args"};
    struct section s = open_section(r, top, "trainer", keys, COUNT(keys));
    const char *kind = "moe-train";
    get_string(r, &s, "kind", &kind);
    get_string(r, &s, "commit", &t->commit);
    get_string(r, &s, "core", &t->core);
    get_string(r, &s, "container", &t->container);
    get_string(r, &s, "entry", &t->entry);
    get_words(r, &s, "args", &t->args);
    if (r->err != ERR_OK)
        return;
    if (strcmp(kind, "megatron") == 0)
        t->kind = TRAINER_MEGATRON;
    else if (strcmp(kind, "moe-train") == 0)
        t->kind = TRAINER_MOE_TRAIN;
    else
        r->err = err_set(r->msg, ERR_PARSE,
                         "%s: kind: got '%s', want moe-train or megatron",
                         s.where, kind);
}

static void read_iterations(struct reader *r, const cJSON *top,
                            struct manifest *mf)
{
    static const char *const keys[] = {"warmup", "count"};
    struct section s = open_section(r, top, "iterations", keys, COUNT(keys));
    int64_t warmup = 2, count = 0;
    manifest_require(r, &s, "count", "the iterations measured, e.g. 20");
    get_int(r, &s, "warmup", (struct json_range){0, 1e6}, &warmup);
    get_int(r, &s, "count", (struct json_range){1, 1e6}, &count);
    mf->warmup = (int)warmup;
    mf->count = (int)count;
}

/* profile.runs is a number (the planner chooses) or a list of layouts. */
static void read_profile(struct reader *r, const cJSON *top,
                         struct manifest *mf)
{
    static const char *const keys[] = {"runs", "timers", "count"};
    struct section s = open_section(r, top, "profile", keys, COUNT(keys));
    int64_t runs = 2, timers = 2, count = mf->count;
    const cJSON *item = s.object ? json_get(s.object, "runs") : NULL;
    if (cJSON_IsArray(item)) {
        get_words(r, &s, "runs", &mf->profile_layouts);
        runs = mf->profile_layouts.n;
        if (r->err == ERR_OK && runs < 1)
            r->err =
                err_set(r->msg, ERR_RANGE,
                        "%s: runs: got an empty list, want layouts", s.where);
    } else {
        get_int(r, &s, "runs", (struct json_range){2, 32}, &runs);
    }
    get_int(r, &s, "timers", (struct json_range){2, 2}, &timers);
    get_int(r, &s, "count", (struct json_range){1, 1e6}, &count);
    mf->profile_count = (int)count;
    mf->profile_runs = (int)runs;
    mf->profile_timers = (int)timers;
}

static void read_measure_item(struct reader *r, const cJSON *item, int i,
                              struct manifest_measure *out)
{
    static const char *const keys[] = {"role", "layout", "standalone_mtp"};
    const char *where = arena_printf(r->a, "%s: measure[%d]", r->path, i);
    if (!where) {
        r->err = err_set(r->msg, ERR_NOMEM, "%s: out of memory", r->path);
        return;
    }
    if (!cJSON_IsObject(item)) {
        r->err = err_set(r->msg, ERR_PARSE, "%s: want an object {\"role\": ..}",
                         where);
        return;
    }
    struct section s = {item, where};
    const char *role = NULL;
    check_keys(r, &s, keys, COUNT(keys));
    manifest_require(r, &s, "role", "pick, default, ...");
    get_string(r, &s, "role", &role);
    get_string(r, &s, "layout", &out->layout);
    if (r->err == ERR_OK)
        r->err = role_from_name(where, role, &out->role, r->msg);
    if (r->err == ERR_OK)
        r->err = json_opt_bool(item, where, "standalone_mtp",
                               &out->standalone_mtp, r->msg);
    if (r->err == ERR_OK && out->standalone_mtp && out->role != ROLE_PICK)
        r->err = err_set(r->msg, ERR_PARSE,
                         "%s: role '%s' takes no key 'standalone_mtp', only "
                         "'pick' does",
                         where, role);
    if (r->err == ERR_OK && (out->role == ROLE_LAYOUT) != (out->layout != NULL))
        r->err = err_set(r->msg, ERR_PARSE, "%s: role '%s' %s key 'layout'",
                         where, role, out->layout ? "takes no" : "needs the");
}

static void check_unique_roles(struct reader *r, const struct manifest *mf)
{
    for (int i = 0; i < mf->n_measure && r->err == ERR_OK; i++)
        for (int j = 0; j < i; j++) {
            const struct manifest_measure *x = &mf->measure[i];
            const struct manifest_measure *y = &mf->measure[j];
            if (x->role != y->role || x->role == ROLE_NEIGHBOUR ||
                (x->layout && strcmp(x->layout, y->layout) != 0))
                continue;
            r->err = err_set(r->msg, ERR_PARSE,
                             "%s: measure[%d]: role '%s' is given twice, raise "
                             "'rounds' to measure more often",
                             r->path, i, role_name(x->role));
            return;
        }
}

static void read_measure(struct reader *r, const cJSON *top,
                         struct manifest *mf)
{
    const cJSON *list = json_get(top, "measure");
    int n = cJSON_GetArraySize(list);
    if (r->err != ERR_OK)
        return;
    if (!cJSON_IsArray(list) || n < 1 || n > MAX_MEASURE) {
        r->err = err_set(r->msg, ERR_PARSE,
                         "%s: measure: %s, want a list of 1 to %d "
                         "{\"role\": ...}",
                         r->path, list ? "got something else" : "missing",
                         MAX_MEASURE);
        return;
    }
    struct manifest_measure *m = arena_alloc(r->a, (size_t)n, sizeof *m);
    if (!m) {
        r->err = err_set(r->msg, ERR_NOMEM, "%s: out of memory", r->path);
        return;
    }
    int i = 0;
    for (const cJSON *c = list->child; c && r->err == ERR_OK; c = c->next, i++)
        read_measure_item(r, c, i, &m[i]);
    mf->measure = m;
    mf->n_measure = n;
    check_unique_roles(r, mf);
}

static void manifest_read_limits(struct reader *r, const cJSON *top,
                                 struct manifest *mf)
{
    static const char *const keys[] = {"run_s", "experiment_s", "hang_steps",
                                       "hang_s", "budget_usd"};
    struct section s = open_section(r, top, "limits", keys, COUNT(keys));
    mf->run_limit_s = 3600;
    mf->hang_steps = 50;
    mf->hang_s = 60;
    get_double(r, &s, "experiment_s", (struct json_range){1, 1e8},
               &mf->experiment_limit_s);
    get_double(r, &s, "hang_steps", (struct json_range){2, 1e6},
               &mf->hang_steps);
    get_double(r, &s, "hang_s", (struct json_range){0.1, 1e6}, &mf->hang_s);
    get_double(r, &s, "run_s", (struct json_range){1, 1e6}, &mf->run_limit_s);
    get_double(r, &s, "budget_usd", (struct json_range){0, 1e6},
               &mf->budget_usd);
}

static const char *const accept_keys[] = {
#define ACCEPT_KEY(id, key, what) key,
    ACCEPT_TABLE(ACCEPT_KEY)
#undef ACCEPT_KEY
};

static void read_accept(struct reader *r, const cJSON *top,
                        struct manifest_accept *x)
{
    struct section s = open_section(r, top, "accept", accept_keys, N_ACCEPT);
    const struct json_range range = {0, 1000};
    for (int i = 0; i < N_ACCEPT; i++) {
        x->bound[i] = NAN;
        get_double(r, &s, accept_keys[i], range, &x->bound[i]);
    }
}

static const char *manifest_value_text(struct arena *a, const cJSON *item)
{
    if (cJSON_IsString(item))
        return arena_strdup(a, item->valuestring);
    return arena_printf(a, "%.12g", item->valuedouble);
}

/* A flat object of strings and numbers. */
static int read_pairs(struct reader *r, const struct section *s,
                      const struct manifest_pair **out)
{
    int n = s->object ? cJSON_GetArraySize(s->object) : 0;
    if (r->err != ERR_OK || n == 0)
        return 0;
    struct manifest_pair *pairs = arena_alloc(r->a, (size_t)n, sizeof *pairs);
    int i = 0;
    for (const cJSON *c = s->object->child; c && pairs; c = c->next, i++) {
        if (!cJSON_IsString(c) && !cJSON_IsNumber(c)) {
            r->err =
                err_set(r->msg, ERR_PARSE, "%s: %s: want a number or a string",
                        s->where, c->string);
            return 0;
        }
        pairs[i].key = arena_strdup(r->a, c->string);
        pairs[i].value = manifest_value_text(r->a, c);
        if (!pairs[i].key || !pairs[i].value)
            pairs = NULL;
    }
    if (!pairs)
        r->err = err_set(r->msg, ERR_NOMEM, "%s: out of memory", s->where);
    *out = pairs;
    return i;
}

static void read_sources(struct reader *r, const cJSON *top,
                         struct manifest *mf)
{
    static const char *const figures[] = {"source",
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
    struct section published =
        open_section(r, top, "published", figures, COUNT(figures));
    mf->n_published = read_pairs(r, &published, &mf->published);
    struct section assumed = {json_get(top, "assumed"),
                              manifest_place(r, "assumed")};
    if (r->err == ERR_OK && assumed.object && !cJSON_IsObject(assumed.object))
        r->err =
            err_set(r->msg, ERR_PARSE, "%s: want an object {\"key\": \"why\"}",
                    assumed.where);
    mf->n_assumed = read_pairs(r, &assumed, &mf->assumed);
}

/* `model` is a path or an object with a model file's keys. */
static void read_model(struct reader *r, const cJSON *top, struct manifest *mf)
{
    const cJSON *item = json_get(top, "model");
    if (r->err != ERR_OK)
        return;
    if (cJSON_IsString(item)) {
        mf->model_path = arena_strdup(r->a, item->valuestring);
    } else if (cJSON_IsObject(item)) {
        char *text = cJSON_PrintUnformatted(item);
        mf->model_json = text ? arena_strdup(r->a, text) : NULL;
        cJSON_free(text);
    } else {
        r->err = err_set(r->msg, ERR_PARSE,
                         "%s: model: %s, want a model file's path or an object "
                         "with its keys",
                         r->path, item ? "got something else" : "missing");
        return;
    }
    if (!mf->model_path && !mf->model_json)
        r->err = err_set(r->msg, ERR_NOMEM, "%s: out of memory", r->path);
}

/* The name becomes a folder and a CSV field. */
static bool is_name(const char *text)
{
    size_t n = strlen(text);
    return n >= 1 && n <= 64 && text[0] != '.' && text[0] != '-' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
}

static void read_names(struct reader *r, const cJSON *top, struct manifest *mf)
{
    struct section s = {top, r->path};
    int64_t rounds = 1;
    manifest_require(r, &s, "name", "a short name, e.g. \"local\"");
    get_string(r, &s, "name", &mf->name);
    get_string(r, &s, "question", &mf->question);
    get_string(r, &s, "costs_from", &mf->costs_from);
    get_int(r, &s, "rounds", (struct json_range){1, 1000}, &rounds);
    mf->rounds = (int)rounds;
    manifest_require(r, &s, "launcher", "an object, e.g. {\"kind\": \"auto\"}");
    manifest_require(r, &s, "iterations", "{\"warmup\": W, \"count\": N}");
    const char *const names[] = {mf->name, mf->costs_from};
    for (int i = 0; i < 2 && r->err == ERR_OK; i++)
        if (names[i] && !is_name(names[i]))
            r->err = err_set(r->msg, ERR_PARSE,
                             "%s: %s: got '%s', want 1 to 64 of a-z A-Z 0-9 . "
                             "_ -",
                             r->path, i == 0 ? "name" : "costs_from", names[i]);
}

static void read_top(struct reader *r, const cJSON *top, struct manifest *mf)
{
    static const char *const keys[] = {
        "format", "name",      "question", "model",      "parallel",
        "batch",  "hardware",  "launcher", "trainer",    "iterations",
        "rounds", "profile",   "measure",  "costs_from", "limits",
        "accept", "published", "assumed"};
    struct section s = {top, r->path};
    check_keys(r, &s, keys, COUNT(keys));
    read_names(r, top, mf);
    read_model(r, top, mf);
    read_parallel(r, top, &mf->parallel);
    manifest_read_batch(r, top, &mf->batch);
    read_hardware(r, top, &mf->hardware);
    read_launcher(r, top, &mf->launcher);
    manifest_read_trainer(r, top, &mf->trainer);
    read_iterations(r, top, mf);
    read_profile(r, top, mf);
    read_measure(r, top, mf);
    manifest_read_limits(r, top, mf);
    read_accept(r, top, &mf->accept);
    read_sources(r, top, mf);
}

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
    enum err e = text_read_file(a, path, MAX_MANIFEST_BYTES, &mf.text, msg);
    cJSON *top = NULL;
    if (e == ERR_OK)
        e = json_read_file(a, path, FORMAT, &top, msg);
    if (e != ERR_OK)
        return e;
    text_sha256(mf.text.data, mf.text.len, mf.sha256);
    struct reader r = {a, mf.path, msg, ERR_OK};
    read_top(&r, top, &mf);
    cJSON_Delete(top);
    if (r.err == ERR_OK)
        *out = mf;
    return r.err;
}
