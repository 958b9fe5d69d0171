/*
 * How it works: an MLPerf log is walked line by line; lines that are no MLLOG
 * record, or one that is cut, are passed over, since logs of thousands of ranks
 * have some. Golden values are one JSON document.
 */
#include "import_logs.h"

#include "base/json.h"
#include "base/stats.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

// a whole log of an MLPerf run is some MB
enum { IMPORT_LOG_BYTES = 1 << 30 };
enum { IMPORT_WARMUP = 5, IMPORT_WARMUP_BLOCKS = 1 };

/* Quartiles as well, since a reader of one number must see how far it can be
 * trusted. */
enum err import_times_of(double *x, int n, int n_dropped,
                         struct import_times *out, struct err_msg *msg)
{
    if (n <= n_dropped)
        return err_set(msg, ERR_PARSE,
                       "%d step times, of which the first %d are warm-up: want "
                       "more",
                       n, n_dropped);
    double *kept = x + n_dropped;
    const size_t left = (size_t)(n - n_dropped);
    out->step_s = stats_quantile(kept, left, 0.5);
    out->q25_s = stats_quantile(kept, left, 0.25);
    out->q75_s = stats_quantile(kept, left, 0.75);
    out->n = (int)left;
    out->n_dropped = n_dropped;
    return ERR_OK;
}

/* Times in the order of the log. */
struct logged {
    double *x;
    int n;
};

/* An MLPerf log being read. */
struct mllog {
    struct logged steps, blocks, forwards;
    double block_start_ms, global_batch, seq_tokens;
};

static const char MLLOG_MARK[] = ":::MLLOG ";

/* A time of 0, or none, is no time. */
static void logged_add(struct logged *to, double x)
{
    if (isfinite(x) && x > 0)
        to->x[to->n++] = x;
}

/* NAN for what is absent or no number. */
static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = json_get(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

/* Either spelling of a step's seconds. */
static void read_stats(struct mllog *m, const cJSON *value)
{
    static const char *const train[] = {"train_step_timing", "train_step_time"};
    static const char *const valid[] = {"validation_step_timing",
                                        "validation_step_time"};
    for (int i = 0; i < 2; i++) {
        logged_add(&m->steps, number_of(value, train[i]));
        logged_add(&m->forwards, number_of(value, valid[i]));
    }
}

/* A block counts samples, or tokens in older logs, where the numbers divide.
 * One of a part of a step, or of nothing, is passed over. */
static void end_block(struct mllog *m, const cJSON *record)
{
    const cJSON *metadata = json_get(record, "metadata");
    double count = number_of(metadata, "samples_count");
    if (!isfinite(count))
        count = number_of(metadata, "epoch_count");
    const double samples = m->seq_tokens > 0 &&
                                   fmod(count, m->seq_tokens) == 0 &&
                                   count / m->seq_tokens >= m->global_batch
                               ? count / m->seq_tokens
                               : count;
    const double steps = samples / m->global_batch;
    const double ms = number_of(record, "time_ms") - m->block_start_ms;
    if (m->global_batch > 0 && m->block_start_ms > 0 && steps >= 1 &&
        fabs(steps - floor(steps + 0.5)) < 1e-9)
        logged_add(&m->blocks, ms * 1e-3 / steps);
    m->block_start_ms = 0;
}

/* Records of other keys say nothing of times. */
static void read_record(struct mllog *m, const cJSON *record)
{
    const cJSON *key = json_get(record, "key");
    const char *name = cJSON_IsString(key) ? key->valuestring : "";
    if (strcmp(name, "tracked_stats") == 0)
        read_stats(m, json_get(record, "value"));
    else if (strcmp(name, "global_batch_size") == 0)
        m->global_batch = number_of(record, "value");
    else if (strcmp(name, "max_sequence_length") == 0)
        m->seq_tokens = number_of(record, "value");
    else if (strcmp(name, "block_start") == 0)
        m->block_start_ms = number_of(record, "time_ms");
    else if (strcmp(name, "block_stop") == 0)
        end_block(m, record);
}

/* As many times as that there can be, at most. */
static int count_marks(const char *text)
{
    int n = 0;
    for (const char *at = strstr(text, MLLOG_MARK); at;
         at = strstr(at + 1, MLLOG_MARK))
        n++;
    return n;
}

/* The record ends with its line. */
static void read_lines(struct arena *a, char *text, struct mllog *m)
{
    for (char *at = strstr(text, MLLOG_MARK); at;) {
        char *line = at + strlen(MLLOG_MARK);
        char *end = strchr(line, '\n');
        cJSON *record = NULL;
        if (end)
            *end = 0;
        const char *copy = arena_strdup(a, line);
        if (copy && json_parse(copy, "MLLOG", &record, NULL) == ERR_OK)
            read_record(m, record);
        cJSON_Delete(record);
        at = end ? strstr(end + 1, MLLOG_MARK) : NULL;
    }
}

/* Steps are better than blocks, which have logging and pauses in them. */
static enum err mllog_times(struct mllog *m, const char *path,
                            struct import_times *out, struct err_msg *msg)
{
    const bool by_step = m->steps.n > 0;
    struct logged *from = by_step ? &m->steps : &m->blocks;
    struct import_times t = {.what = by_step ? "logged steps" : "blocks",
                             .global_batch =
                                 m->global_batch > 0 ? m->global_batch : 0};
    t.forward_s = stats_median(m->forwards.x, (size_t)m->forwards.n);
    if (from->n == 0)
        return err_set(msg, ERR_PARSE,
                       "%s: neither step times (tracked_stats) nor blocks over "
                       "a global batch size: is it an MLPerf log of training?",
                       path);
    const enum err e = import_times_of(
        from->x, from->n, by_step ? IMPORT_WARMUP : IMPORT_WARMUP_BLOCKS, &t,
        msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", path);
    *out = t;
    return ERR_OK;
}

/* Rooms are taken for the most times that the text can hold, so that reading
 * needs no growing. */
enum err import_mllog(struct arena *a, const char *path,
                      struct import_times *out, struct err_msg *msg)
{
    struct text_span text;
    struct mllog m = {.global_batch = 0};
    const enum err e = text_read_file(a, path, IMPORT_LOG_BYTES, &text, msg);
    if (e != ERR_OK)
        return e;
    // a record has at most two of each kind
    const size_t n = 2 * (size_t)count_marks(text.data) + 1;
    m.steps.x = arena_alloc(a, n, sizeof(double));
    m.blocks.x = arena_alloc(a, n, sizeof(double));
    m.forwards.x = arena_alloc(a, n, sizeof(double));
    if (!m.steps.x || !m.blocks.x || !m.forwards.x)
        return err_set(msg, ERR_NOMEM, "import: out of memory");
    read_lines(a, text.data, &m);
    return mllog_times(&m, path, out, msg);
}

/* ---- golden values ---- */

/* Members of an object stand in the order of their steps; so do a list's. */
static enum err golden_times(struct arena *a, const cJSON *tree,
                             struct logged *x, struct err_msg *msg)
{
    const cJSON *values = json_get(json_get(tree, "iteration-time"), "values");
    const int n = values ? cJSON_GetArraySize(values) : 0;
    x->x = arena_alloc(a, (size_t)n + 1, sizeof(double));
    if (!x->x)
        return err_set(msg, ERR_NOMEM, "import: out of memory");
    for (const cJSON *v = values ? values->child : NULL; v; v = v->next)
        if (cJSON_IsNumber(v)) // a first step is "nan"
            logged_add(x, v->valuedouble);
    return ERR_OK;
}

/* The first fifth is warm-up: such files hold tens of steps, not thousands. */
enum err import_golden(struct arena *a, const char *path,
                       struct import_times *out, struct err_msg *msg)
{
    cJSON *tree = NULL;
    struct logged x = {NULL, 0};
    struct import_times t = {.what = "logged steps", .forward_s = (double)NAN};
    enum err e = json_read_file(a, path, NULL, &tree, msg);
    if (e == ERR_OK)
        e = golden_times(a, tree, &x, msg);
    cJSON_Delete(tree);
    if (e == ERR_OK && x.n == 0)
        e = err_set(msg, ERR_PARSE,
                    "no iteration-time.values: is it a file of golden values "
                    "with times?");
    if (e == ERR_OK)
        e = import_times_of(x.x, x.n, x.n / 5, &t, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", path);
    *out = t;
    return ERR_OK;
}
