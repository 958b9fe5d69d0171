/*
 * reader: typed reading of a JSON document. A reader stands at one value of it
 * and knows its path, so that every message says where: "FILE: a.b[3].c: got
 * X, want Y". The document keeps the first error; after it, and at values that
 * are absent, every call does nothing. So callers list what they read and ask
 * once, with reader_close().
 *
 *     struct reader_doc doc;
 *     struct reader top = reader_open_file(&doc, a, path, "FORMAT", msg);
 *     reader_keys(top, keys, n_keys);
 *     reader_int(reader_object(top, "batch"), "seq", range, &seq);
 *     return reader_close(&doc);
 *
 * Outputs are written only where the member is there and right. Strings are
 * copied to the arena; the tree dies with reader_close().
 */
#ifndef BASE_READER_H
#define BASE_READER_H

#include "arena.h"
#include "err.h"
#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader_doc {
    struct arena *a;
    const char *file;    // begins messages: a path, or "PATH:LINE"
    struct err_msg *msg; // of the first error
    enum err err;
    cJSON *tree;
};

/* A value of the document; passed by value. */
struct reader {
    struct reader_doc *doc;
    const cJSON *item; // NULL: absent
    const char *path;  // "a.b[3]", "" of the whole document
};

/* Reads a file (as json_read_file, with `format` NULL for any) or a text, which
 * must hold an object.
 * Errors stay in the document: the reader is absent then. */
struct reader reader_open_file(struct reader_doc *doc, struct arena *a,
                               const char *path, const char *format,
                               struct err_msg *msg);
struct reader reader_open_text(struct reader_doc *doc, struct arena *a,
                               const char *text, const char *where,
                               struct err_msg *msg);

/* The same of a text that may hold any value. */
struct reader reader_open_value(struct reader_doc *doc, struct arena *a,
                                const char *text, const char *where,
                                struct err_msg *msg);

/* Frees the tree and returns the first error. */
enum err reader_close(struct reader_doc *doc);

/* Notes an error at this value, unless there is one already. */
void reader_fail(struct reader at, enum err code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes one at the value's member `key`. */
void reader_fail_at(struct reader at, const char *key, enum err code,
                    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

bool reader_is_ok(struct reader at);

/* True when the value is there and no error is noted. */
bool reader_is_there(struct reader at);

/* ---- moving ---- */

/* Member of any type; absent when it is null or not there. */
struct reader reader_get(struct reader at, const char *key);

/* Member that must be an object (a list) where it is there. */
struct reader reader_object(struct reader at, const char *key);
struct reader reader_list(struct reader at, const char *key);

/* The first member or element, and the one after `child`: absent at the end.
 * Also of objects whose keys are data; reader_key() tells them. */
struct reader reader_first(struct reader at);
struct reader reader_next(struct reader child);
const char *reader_key(struct reader child);

/* Elements or members; 0 of what is absent or no list or object. */
int reader_count(struct reader at);

/* ---- reading members; absent ones leave *out ---- */

/* ERR_PARSE for a key that is not among `keys`, with the nearest. */
void reader_keys(struct reader at, const char *const *keys, size_t n_keys);

/* ERR_PARSE unless the member is there; `wanted` (or NULL) says what it is. */
void reader_require(struct reader at, const char *key, const char *wanted);

/* A wrong type is ERR_PARSE, a value outside `range` ERR_RANGE. */
void reader_int64(struct reader at, const char *key, struct json_range range,
                  int64_t *out);
void reader_int(struct reader at, const char *key, struct json_range range,
                int *out);
void reader_double(struct reader at, const char *key, struct json_range range,
                   double *out);
void reader_bool(struct reader at, const char *key, bool *out);
void reader_text(struct reader at, const char *key, const char **out);

/* A string that is one of `names`; *out is its index. ERR_PARSE lists them. */
void reader_choice(struct reader at, const char *key, const char *const *names,
                   int n_names, int *out);

/* A list of at most `most` strings: their number (0 when absent) is returned,
 * the copies go to *out. */
int reader_texts(struct reader at, const char *key, int most,
                 const char *const **out);

/* The value itself as a string (a number), for elements of lists. */
void reader_text_here(struct reader at, const char **out);
void reader_double_here(struct reader at, struct json_range range, double *out);

#endif
