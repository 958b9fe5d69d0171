/*
 * How it works: a reader is a value and its path; the path is made longer only
 * when a reader moves on, a member's own name is put behind it when a message
 * needs it. All errors go through reader_note(), which keeps the first.
 */
#include "reader.h"

#include "text.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// together within struct err_msg, so that what is wanted is not cut off
enum { READER_MAX_TEXT = 512, READER_MAX_PATH = 400 };

/* ---- errors ---- */

/* Keeps the first error only: later ones follow from it. `key` is "" for the
 * value itself. */
static void reader_note(struct reader at, const char *key, enum err code,
                        const char *text)
{
    struct reader_doc *d = at.doc;
    const char *path = at.path ? at.path : "";
    if (d->err != ERR_OK)
        return;
    // a path and a key are joined by a dot, an index follows without one
    bool both = *path && *key && *key != '[';
    bool any = *path || *key;
    d->err = err_set(d->msg, code, "%s: %.*s%s%.*s%s%s", d->file,
                     READER_MAX_PATH, path, both ? "." : "", READER_MAX_PATH,
                     key, any ? ": " : "", text);
}

/* Without the path, which may be what could not be made. */
static void reader_note_memory(struct reader at)
{
    if (at.doc->err == ERR_OK)
        at.doc->err =
            err_set(at.doc->msg, ERR_NOMEM, "%s: out of memory", at.doc->file);
}

void reader_fail(struct reader at, enum err code, const char *fmt, ...)
{
    char text[READER_MAX_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    reader_note(at, "", code, text);
}

void reader_fail_at(struct reader at, const char *key, enum err code,
                    const char *fmt, ...)
{
    char text[READER_MAX_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    reader_note(at, key, code, text);
}

bool reader_is_ok(struct reader at)
{
    return at.doc->err == ERR_OK;
}

bool reader_is_there(struct reader at)
{
    return at.item && at.doc->err == ERR_OK;
}

/* In the words of a reader of JSON, not of cJSON. */
static const char *reader_type_name(const cJSON *item)
{
    return cJSON_IsString(item)   ? "a string"
           : cJSON_IsNumber(item) ? "a number"
           : cJSON_IsBool(item)   ? "true or false"
           : cJSON_IsArray(item)  ? "a list"
           : cJSON_IsNull(item)   ? "null"
                                  : "an object";
}

static void reader_wrong_type(struct reader at, const char *key,
                              const cJSON *found, const char *wanted)
{
    reader_fail_at(at, key, ERR_PARSE, "got %s, want %s",
                   reader_type_name(found), wanted);
}

/* ---- documents ---- */

/* A document that could not be read is an absent value: all reading of it does
 * nothing, and reader_close() has the error. */
static struct reader reader_top(struct reader_doc *doc)
{
    return (struct reader){doc, doc->err == ERR_OK ? doc->tree : NULL, ""};
}

struct reader reader_open_file(struct reader_doc *doc, struct arena *a,
                               const char *path, const char *format,
                               struct err_msg *msg)
{
    *doc = (struct reader_doc){.a = a, .file = path, .msg = msg};
    doc->err = json_read_file(a, path, format, &doc->tree, msg);
    return reader_top(doc);
}

struct reader reader_open_value(struct reader_doc *doc, struct arena *a,
                                const char *text, const char *where,
                                struct err_msg *msg)
{
    *doc = (struct reader_doc){.a = a, .file = where, .msg = msg};
    doc->err = json_parse(text, where, &doc->tree, msg);
    return reader_top(doc);
}

struct reader reader_open_text(struct reader_doc *doc, struct arena *a,
                               const char *text, const char *where,
                               struct err_msg *msg)
{
    struct reader top = reader_open_value(doc, a, text, where, msg);
    if (top.item && !cJSON_IsObject(top.item))
        reader_fail(top, ERR_PARSE, "want a JSON object");
    return reader_top(doc);
}

enum err reader_close(struct reader_doc *doc)
{
    cJSON_Delete(doc->tree);
    doc->tree = NULL;
    return doc->err;
}

/* ---- moving ---- */

/* Not there: everything that is read from it is not there either. */
static struct reader reader_absent(struct reader at)
{
    return (struct reader){at.doc, NULL, ""};
}

struct reader reader_get(struct reader at, const char *key)
{
    const cJSON *item = reader_is_there(at) ? json_get(at.item, key) : NULL;
    if (!item)
        return reader_absent(at);
    const char *path =
        arena_printf(at.doc->a, "%s%s%s", at.path, *at.path ? "." : "", key);
    if (!path)
        reader_note_memory(at);
    return path ? (struct reader){at.doc, item, path} : reader_absent(at);
}

struct reader reader_object(struct reader at, const char *key)
{
    struct reader r = reader_get(at, key);
    if (!r.item || cJSON_IsObject(r.item))
        return r;
    reader_wrong_type(r, "", r.item, "an object {...}");
    return reader_absent(at);
}

struct reader reader_list(struct reader at, const char *key)
{
    struct reader r = reader_get(at, key);
    if (!r.item || cJSON_IsArray(r.item))
        return r;
    reader_wrong_type(r, "", r.item, "a list [...]");
    return reader_absent(at);
}

/* Element of a list: its index takes the place of the one in `path`. */
static struct reader reader_element(struct reader_doc *doc, const cJSON *item,
                                    const char *parent, int index)
{
    const char *path = item->string
                           ? arena_printf(doc->a, "%s%s%s", parent,
                                          *parent ? "." : "", item->string)
                           : arena_printf(doc->a, "%s[%d]", parent, index);
    struct reader r = {doc, path ? item : NULL, path ? path : ""};
    if (!path)
        reader_note_memory(r);
    return r;
}

struct reader reader_first(struct reader at)
{
    if (!reader_is_there(at) || !at.item->child)
        return reader_absent(at);
    return reader_element(at.doc, at.item->child, at.path, 0);
}

/* The path of the parent: what stands before the last '[' or the own key. */
struct reader reader_next(struct reader child)
{
    if (!reader_is_there(child) || !child.item->next)
        return reader_absent(child);
    const cJSON *item = child.item;
    const char *open = strrchr(child.path, '[');
    int index = 0;
    size_t len = strlen(child.path);
    if (item->string) {
        size_t own = strlen(item->string);
        len -= own + (len > own);
    } else if (open) {
        len = (size_t)(open - child.path);
        // reader_element() wrote it, so it is there
        sscanf(open, "[%d]", &index);
    }
    const char *parent = arena_strndup(child.doc->a, child.path, len);
    if (!parent)
        reader_note_memory(child);
    return parent ? reader_element(child.doc, item->next, parent, index + 1)
                  : reader_absent(child);
}

const char *reader_key(struct reader child)
{
    return child.item && child.item->string ? child.item->string : "";
}

int reader_count(struct reader at)
{
    return reader_is_there(at) ? cJSON_GetArraySize(at.item) : 0;
}

/* ---- members ---- */

static bool reader_is_among(const char *key, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* Goes on after the first unknown key, which does no harm: the document keeps
 * the first error. */
void reader_keys(struct reader at, const char *const *keys, size_t n_keys)
{
    if (!reader_is_there(at))
        return;
    for (const cJSON *c = at.item->child; c; c = c->next) {
        if (reader_is_among(c->string, keys, n_keys))
            continue;
        const char *near = text_nearest(c->string, keys, n_keys);
        reader_fail(at, ERR_PARSE, "unknown key '%s'%s%s%s", c->string,
                    near ? ", did you mean '" : "", near ? near : "",
                    near ? "'?" : "");
    }
}

void reader_require(struct reader at, const char *key, const char *wanted)
{
    if (!reader_is_there(at) || json_get(at.item, key))
        return;
    reader_fail_at(at, key, ERR_PARSE, "missing%s%s", wanted ? ", want " : "",
                   wanted ? wanted : "");
}

static const cJSON *reader_member(struct reader at, const char *key)
{
    return reader_is_there(at) ? json_get(at.item, key) : NULL;
}

/* True when the number is one and within the range; else the error is noted. */
static bool reader_number(struct reader at, const char *key, const cJSON *item,
                          struct json_range range)
{
    if (!cJSON_IsNumber(item)) {
        reader_wrong_type(at, key, item, "a number");
        return false;
    }
    double v = item->valuedouble;
    if (v >= range.lo && v <= range.hi)
        return true;
    reader_fail_at(at, key, ERR_RANGE, "got %.12g, want %.12g to %.12g", v,
                   range.lo, range.hi);
    return false;
}

void reader_double(struct reader at, const char *key, struct json_range range,
                   double *out)
{
    const cJSON *item = reader_member(at, key);
    if (item && reader_number(at, key, item, range))
        *out = item->valuedouble;
}

void reader_int64(struct reader at, const char *key, struct json_range range,
                  int64_t *out)
{
    const cJSON *item = reader_member(at, key);
    if (!item || !reader_number(at, key, item, range))
        return;
    // below 2^53, as json_parse() made sure: floor() and the cast are exact
    double v = item->valuedouble;
    if (v < floor(v) || v > floor(v))
        reader_fail_at(at, key, ERR_PARSE, "got %.12g, want an integer", v);
    else
        *out = (int64_t)v;
}

/* The bounds of int are part of the range, so that the message has them. */
void reader_int(struct reader at, const char *key, struct json_range range,
                int *out)
{
    int64_t v = *out;
    if (range.lo < INT_MIN)
        range.lo = INT_MIN;
    if (range.hi > INT_MAX)
        range.hi = INT_MAX;
    reader_int64(at, key, range, &v);
    *out = (int)v;
}

void reader_bool(struct reader at, const char *key, bool *out)
{
    const cJSON *item = reader_member(at, key);
    if (!item)
        return;
    // no conversion: 1 and "true" are mistakes more often than meant
    if (cJSON_IsBool(item))
        *out = cJSON_IsTrue(item);
    else
        reader_wrong_type(at, key, item, "true or false");
}

/* The arena's copy outlives the tree. */
static void reader_copy(struct reader at, const char *key, const cJSON *item,
                        const char **out)
{
    if (!cJSON_IsString(item)) {
        reader_wrong_type(at, key, item, "a string");
        return;
    }
    const char *copy = arena_strdup(at.doc->a, item->valuestring);
    if (copy)
        *out = copy;
    else
        reader_note_memory(at);
}

void reader_text(struct reader at, const char *key, const char **out)
{
    const cJSON *item = reader_member(at, key);
    if (item)
        reader_copy(at, key, item, out);
}

void reader_text_here(struct reader at, const char **out)
{
    if (reader_is_there(at))
        reader_copy(at, "", at.item, out);
}

void reader_double_here(struct reader at, struct json_range range, double *out)
{
    if (reader_is_there(at) && reader_number(at, "", at.item, range))
        *out = at.item->valuedouble;
}

/* "a, b or c" into `text`. */
static void reader_list_names(const char *const *names, int n, char *text,
                              size_t size)
{
    size_t used = 0;
    for (int i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i == 0       ? ""
                                 : i == n - 1 ? " or "
                                              : ", ",
                                 names[i]);
}

void reader_choice(struct reader at, const char *key, const char *const *names,
                   int n_names, int *out)
{
    const char *text = NULL;
    char all[READER_MAX_TEXT / 2] = "";
    reader_text(at, key, &text);
    if (!text)
        return;
    for (int i = 0; i < n_names; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return;
        }
    reader_list_names(names, n_names, all, sizeof all);
    reader_fail_at(at, key, ERR_PARSE, "got '%.100s', want %s", text, all);
}

int reader_texts(struct reader at, const char *key, int most,
                 const char *const **out)
{
    struct reader list = reader_list(at, key);
    int n = reader_count(list), i = 0;
    if (!list.item)
        return 0;
    if (n > most)
        reader_fail(list, ERR_PARSE, "got %d, want at most %d", n, most);
    const char **texts = arena_alloc(at.doc->a, (size_t)n + 1, sizeof *texts);
    if (!texts)
        reader_note_memory(at);
    // elements of another type note an error and leave NULL behind, which no
    // caller sees
    for (struct reader e = reader_first(list); e.item && texts;
         e = reader_next(e))
        reader_text_here(e, &texts[i++]);
    if (!reader_is_ok(at))
        return 0;
    *out = texts;
    return n;
}
