/*
 * How it works: a path is walked to the object that holds its last key, and the
 * reader there is asked, so that its messages have the whole path.
 */
#include "hf_config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool hf_part(const struct hf *h, enum hf_part part)
{
    return h->family->has & part;
}

/* ---- paths ---- */

/* A member of an object of the config. */
struct hf_member {
    struct reader object;
    const char *key;
};

static struct hf_member hf_find(const struct hf *h, const char *path)
{
    struct hf_member m = {h->at, path};
    for (const char *dot; (dot = strchr(m.key, '.')); m.key = dot + 1) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(dot - m.key), m.key);
        m.object = reader_object(m.object, name);
    }
    return m;
}

/* NULL where it is absent, null, or an error was found before. */
static const cJSON *hf_item(const struct hf_member *m)
{
    return reader_is_there(m->object) ? json_get(m->object.item, m->key) : NULL;
}

bool hf_has(const struct hf *h, const char *path)
{
    const struct hf_member m = hf_find(h, path);
    return hf_item(&m) != NULL;
}

void hf_refuse(const struct hf *h, const char *path, const char *fmt, ...)
{
    const struct hf_member m = hf_find(h, path);
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    // an absent parent has no path of its own
    reader_fail_at(m.object.item ? m.object : h->at,
                   m.object.item ? m.key : path, ERR_RANGE, "%s", text);
}

void hf_warn(const struct hf *h, const char *name, const char *fmt, ...)
{
    char text[400], line[700];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(line, sizeof line, "%.250s: %s", h->at.doc->file, text);
    megatron_args_warn(h->args, name, line);
}

/* ---- values ---- */

/* A list for each layer that has one value throughout; it is an element of
 * another that is named. */
static int64_t hf_same(struct reader list, int n_layers)
{
    struct reader first = reader_first(list);
    int n = reader_count(list), i = 0;
    if (n == 0 || n < n_layers)
        reader_fail(list, ERR_RANGE,
                    "has %d values, want one for each of the "
                    "%d layers",
                    n, n_layers);
    for (struct reader c = first; reader_is_there(c); c = reader_next(c), i++) {
        double v = cJSON_IsNumber(c.item) ? c.item->valuedouble : (double)NAN;
        if (v != floor(v)) // of NaN, too
            reader_fail(c, ERR_PARSE, "want an integer");
        else if (v != first.item->valuedouble)
            reader_fail(c, ERR_RANGE,
                        "got %.0f, and %.0f in layer 0: layers that differ "
                        "are not counted",
                        v, first.item->valuedouble);
    }
    return reader_is_ok(list) ? (int64_t)first.item->valuedouble : 0;
}

/* Some types write a list with one number a layer: it is read where all are the
 * same. */
int64_t hf_int(const struct hf *h, const char *path, int64_t lo, int64_t other)
{
    // the upper bound of each flag is checked when it is set
    const struct json_range range = {(double)lo, 1e15};
    const struct hf_member m = hf_find(h, path);
    const cJSON *item = hf_item(&m);
    int64_t v = other;
    // before the number of layers is known no list is one for each layer
    if (!cJSON_IsArray(item) || !h->n_layers) {
        reader_int64(m.object, m.key, range, &v);
        return reader_is_ok(h->at) ? v : other;
    }
    v = hf_same(reader_list(m.object, m.key), h->n_layers);
    if (reader_is_ok(h->at) && (v < lo || v > (int64_t)range.hi))
        hf_refuse(h, path, "got %lld, want at least %lld", (long long)v,
                  (long long)lo);
    return reader_is_ok(h->at) ? v : other;
}

int64_t hf_need(const struct hf *h, const char *path)
{
    const struct hf_member m = hf_find(h, path);
    if (m.object.item)
        reader_require(m.object, m.key, NULL);
    else // the object itself is missing
        reader_fail_at(h->at, path, ERR_PARSE, "missing");
    return hf_int(h, path, 0, 0);
}

/* Either a bool or a count, of which 0 is off. */
bool hf_switch(const struct hf *h, const char *path, bool other)
{
    const struct hf_member m = hf_find(h, path);
    const cJSON *item = hf_item(&m);
    bool on = other;
    if (cJSON_IsNumber(item))
        return hf_int(h, path, 0, 0) > 0;
    reader_bool(m.object, m.key, &on);
    return on;
}

const char *hf_text(const struct hf *h, const char *path)
{
    const struct hf_member m = hf_find(h, path);
    const cJSON *item = hf_item(&m);
    return cJSON_IsString(item) ? item->valuestring : "";
}

struct reader hf_layers(const struct hf *h, const char *path)
{
    const struct hf_member m = hf_find(h, path);
    struct reader list = reader_list(m.object, m.key);
    if (reader_is_there(list) && reader_count(list) < h->n_layers)
        reader_fail(list, ERR_RANGE,
                    "has %d values, want one for each of the "
                    "%d layers",
                    reader_count(list), h->n_layers);
    return list;
}

static void hf_no_memory(const struct hf *h)
{
    struct reader_doc *doc = h->at.doc;
    if (doc->err == ERR_OK)
        doc->err = err_set(doc->msg, ERR_NOMEM, "%s: out of memory", doc->file);
}

bool *hf_new_layers(const struct hf *h)
{
    bool *layers = arena_alloc(h->at.doc->a, (size_t)h->n_layers, 1);
    if (!layers)
        hf_no_memory(h);
    return layers;
}

void hf_match_layers(const struct hf *h, struct reader list, const char *word,
                     bool *out)
{
    struct reader c = reader_first(list);
    for (int i = 0; i < h->n_layers && reader_is_there(c); i++) {
        const char *text = "";
        reader_text_here(c, &text);
        out[i] = strcmp(text, word) == 0;
        c = reader_next(c);
    }
}

/* ---- flags ---- */

void hf_set(const struct hf *h, const char *path, enum flag_id flag,
            int64_t value)
{
    const struct flag_range range = flag_range(flag);
    if (!reader_is_ok(h->at))
        return;
    if (value < range.lo || value > range.hi)
        hf_refuse(h, path, "got %lld, want %lld to %lld", (long long)value,
                  (long long)range.lo, (long long)range.hi);
    else
        flags_set_int(megatron_args_flags(h->args), flag, value);
}

void hf_on(const struct hf *h, enum flag_id flag)
{
    if (reader_is_ok(h->at))
        flags_set_on(megatron_args_flags(h->args), flag);
}

/* The texts are ours, so only memory can be missing. */
void hf_put(const struct hf *h, enum flag_id flag, const char *text)
{
    struct reader_doc *doc = h->at.doc;
    if (!text)
        hf_no_memory(h);
    if (doc->err == ERR_OK)
        doc->err = megatron_args_set(h->args, flag, text, doc->msg);
}

void hf_put_layers(const struct hf *h, enum flag_id flag, const bool *layers)
{
    char *text = arena_alloc(h->at.doc->a, 2 * (size_t)h->n_layers + 2, 1);
    char *p = text;
    for (int i = 0; i < h->n_layers && p; i++) {
        *p++ = i ? ',' : '[';
        *p++ = layers[i] ? '1' : '0';
    }
    if (p)
        *p = ']';
    hf_put(h, flag, text);
}

void hf_copy(const struct hf *h, const char *path, enum flag_id flag,
             int64_t other)
{
    int64_t v = hf_int(h, path, 0, other);
    if (v)
        hf_set(h, path, flag, v);
}
