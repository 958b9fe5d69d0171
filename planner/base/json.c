/*
 * How it works: cJSON parses; one walk over the finished tree then refuses what
 * cJSON lets pass, before any caller sees a value. Typed reading with paths in
 * messages is reader's; the few functions here serve callers that walk a tree.
 */
#include "json.h"

#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// manifests and costs are some KB, a batch line of cases some 100 KB
enum { JSON_MAX_FILE_BYTES = 16 << 20 };

static int compare_names(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* First key that occurs twice in one object, or NULL; *nomem on failure. RFC
 * 8259 leaves the meaning of such an object open, and cJSON takes the first
 * value. Sorted, so that large objects cost n log n. */
static const char *duplicate_key(const cJSON *object, bool *nomem)
{
    size_t n = 0;
    for (const cJSON *c = object->child; c; c = c->next)
        n++;
    if (n < 2)
        return NULL;
    const char **names = malloc(n * sizeof *names);
    if (!names) {
        *nomem = true;
        return NULL;
    }
    size_t i = 0;
    for (const cJSON *c = object->child; c; c = c->next)
        names[i++] = c->string;
    qsort(names, n, sizeof *names, compare_names);
    const char *found = NULL;
    for (i = 1; i < n && !found; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            found = names[i];
    free(names);
    return found;
}

/* Depth is bounded: cJSON refuses documents nested deeper than 1,000. */
static enum err check_tree(const cJSON *node, const char *where, bool exact,
                           struct err_msg *msg)
{
    const char *key = node->string ? node->string : "value";
    // from 2^53 on every double is an integer, and not all integers are one
    if (exact && cJSON_IsNumber(node) &&
        !(fabs(node->valuedouble) < JSON_MAX_INT))
        return err_set(msg, ERR_PARSE,
                       "%s: '%s': number %.17g is not exact beyond 2^53", where,
                       key, node->valuedouble);
    if (!cJSON_IsObject(node) && !cJSON_IsArray(node))
        return ERR_OK;
    bool nomem = false;
    const char *twice =
        cJSON_IsObject(node) ? duplicate_key(node, &nomem) : NULL;
    if (nomem)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    if (twice)
        return err_set(msg, ERR_PARSE, "%s: key '%s' occurs twice", where,
                       twice);
    for (const cJSON *c = node->child; c; c = c->next) {
        enum err e = check_tree(c, where, exact, msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* The first "\\u0000", which cJSON makes a terminator of: the string would be
 * cut there. A backslash stands in strings alone, and always with the character
 * that it escapes; NULL when there is none. */
static const char *json_escaped_zero(const char *text)
{
    for (const char *p = text; (p = strchr(p, '\\')); p += 2)
        if (strncmp(p + 1, "u0000", 5) == 0)
            return p;
    return NULL;
}

/* 1-based line and column of `at` in `text`, as editors count them. */
static void json_place_of(const char *text, const char *at, int *line,
                          int *column)
{
    *line = 1;
    const char *line_start = text;
    for (const char *p = text; p < at && *p; p++)
        if (*p == '\n') {
            (*line)++;
            line_start = p + 1;
        }
    *column = (int)(at - line_start) + 1;
}

/* cJSON takes keys that occur twice, numbers beyond 2^53 and zero bytes within
 * strings, each of which would be read as something else. */
static enum err json_parse_as(const char *text, const char *where, bool exact,
                              cJSON **out, struct err_msg *msg)
{
    const char *end = NULL;
    // the last argument asks for the end of the text behind the document
    cJSON *tree = cJSON_ParseWithOpts(text, &end, true);
    if (!tree) {
        int line = 1, column = 1;
        json_place_of(text, end ? end : text, &line, &column);
        return err_set(msg, ERR_PARSE, "%s:%d:%d: not valid JSON", where, line,
                       column);
    }
    enum err e = check_tree(tree, where, exact, msg);
    const char *zero = json_escaped_zero(text);
    if (e == ERR_OK && zero) {
        int line, column;
        json_place_of(text, zero, &line, &column);
        e = err_set(msg, ERR_PARSE,
                    "%s:%d:%d: holds a zero byte (\\u0000), want text", where,
                    line, column);
    }
    if (e != ERR_OK) {
        cJSON_Delete(tree);
        return e;
    }
    *out = tree;
    return ERR_OK;
}

enum err json_parse(const char *text, const char *where, cJSON **out,
                    struct err_msg *msg)
{
    return json_parse_as(text, where, true, out, msg);
}

/* ---- what Python writes ---- */

/* Bytes of a number that only Python's json writes; 0: it is something else. */
static size_t json_python_number(const char *p)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (text_starts(p, words[i]))
            return strlen(words[i]);
    return 0;
}

enum err json_parse_python(struct arena *a, const char *text, const char *where,
                           cJSON **out, struct err_msg *msg)
{
    bool within = false; // a string
    char *copy = arena_strdup(a, text);
    if (!copy)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    for (char *p = copy; *p; p++) {
        const size_t n = within ? 0 : json_python_number(p);
        if (n) {
            memset(p, ' ', n);
            p[0] = p[1] = '"';
            p += n - 1;
        }
        within = within != (*p == '"');
        if (within && *p == '\\' && p[1])
            p++;
    }
    return json_parse_as(copy, where, false, out, msg);
}

/* Before any key is read: of a file of another kind the user should learn that,
 * not that its first key is unknown. */
static enum err check_format(const cJSON *tree, const char *path,
                             const char *format, struct err_msg *msg)
{
    if (!cJSON_IsObject(tree))
        return err_set(msg, ERR_PARSE, "%s: want a JSON object", path);
    if (!format)
        return ERR_OK;
    const cJSON *f = json_get(tree, "format");
    if (!cJSON_IsString(f))
        return err_set(msg, ERR_PARSE, "%s: format: missing, want '%s'", path,
                       format);
    if (strcmp(f->valuestring, format) != 0)
        return err_set(msg, ERR_PARSE, "%s: format: got '%s', want '%s'", path,
                       f->valuestring, format);
    return ERR_OK;
}

enum err json_read_file(struct arena *a, const char *path, const char *format,
                        cJSON **out, struct err_msg *msg)
{
    struct text_span text;
    enum err e = text_read_file(a, path, JSON_MAX_FILE_BYTES, &text, msg);
    if (e != ERR_OK)
        return e;
    cJSON *tree = NULL;
    e = json_parse(text.data, path, &tree, msg);
    if (e == ERR_OK)
        e = check_format(tree, path, format, msg);
    if (e == ERR_OK)
        *out = tree;
    else
        cJSON_Delete(tree);
    return e;
}

const cJSON *json_get(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNull(item) ? NULL : item;
}

static const char *type_name(const cJSON *item)
{
    return cJSON_IsString(item)   ? "a string"
           : cJSON_IsNumber(item) ? "a number"
           : cJSON_IsBool(item)   ? "true or false"
           : cJSON_IsArray(item)  ? "a list"
                                  : "an object";
}

enum err json_opt_double(struct json_member at, struct json_range range,
                         double *out, struct err_msg *msg)
{
    const cJSON *item = json_get(at.object, at.key);
    if (!item)
        return ERR_OK;
    if (!cJSON_IsNumber(item))
        return err_set(msg, ERR_PARSE, "%s: %s: got %s, want a number",
                       at.where, at.key, type_name(item));
    double v = item->valuedouble;
    if (v < range.lo || v > range.hi)
        return err_set(msg, ERR_RANGE, "%s: %s: got %.12g, want %.12g to %.12g",
                       at.where, at.key, v, range.lo, range.hi);
    *out = v;
    return ERR_OK;
}

enum err json_opt_int(struct json_member at, struct json_range range,
                      int64_t *out, struct err_msg *msg)
{
    double v = (double)*out;
    if (!json_get(at.object, at.key))
        return ERR_OK;
    enum err e = json_opt_double(at, range, &v, msg);
    if (e != ERR_OK)
        return e;
    if (v != floor(v))
        return err_set(msg, ERR_PARSE, "%s: %s: got %.12g, want an integer",
                       at.where, at.key, v);
    *out = (int64_t)v;
    return ERR_OK;
}

enum err json_require(struct json_member at, struct err_msg *msg)
{
    if (json_get(at.object, at.key))
        return ERR_OK;
    return err_set(msg, ERR_PARSE, "%s: %s: missing", at.where, at.key);
}

/* Texts may quote files of any bytes; JSON is UTF-8, and strict readers refuse
 * the whole document for one byte. */
static void json_make_utf8(char *text)
{
    while (*text) {
        size_t n = text_utf8_bytes(text);
        if (n == 0)
            *text = '?';
        text += n ? n : 1;
    }
}

enum err json_print_and_delete(cJSON *tree, bool pretty, FILE *out,
                               struct err_msg *msg)
{
    char *text = NULL;
    if (tree)
        text = pretty ? cJSON_Print(tree) : cJSON_PrintUnformatted(tree);
    cJSON_Delete(tree);
    if (!text)
        return err_set(msg, ERR_NOMEM, "json output: out of memory");
    json_make_utf8(text);
    bool ok = fputs(text, out) >= 0 && fputc('\n', out) != EOF;
    cJSON_free(text);
    return ok ? ERR_OK : err_set(msg, ERR_IO, "json output: cannot write");
}
