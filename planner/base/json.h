/*
 * json: strict reading on top of cJSON. cJSON accepts text after the document,
 * looks keys up without regard to case, takes the first of duplicate keys and
 * keeps numbers as doubles; here each of these is an error with its place.
 * `where` is the file's name or the path inside it, used to begin messages.
 *
 * Trees die in the function that parsed them; strings are copied to an arena.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "arena.h"
#include "err.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_MAX_INT 9007199254740992.0 // 2^53: integers below it are exact

/* Parses one whole document; duplicate keys anywhere, text after the document,
 * integers beyond 2^53 and \u0000 in strings are ERR_PARSE. Caller frees with
 * cJSON_Delete. */
enum err json_parse(const char *text, const char *where, cJSON **out,
                    struct err_msg *msg);

/* The same of a document of Python's, which may hold NaN, Infinity and numbers
 * beyond 2^53 where nobody asks for them. The words are empty strings in the
 * tree, so that one who asks for a number there gets an error and no default;
 * large numbers are doubles, whose range the asker has to check. ERR_NOMEM. */
enum err json_parse_python(struct arena *a, const char *text, const char *where,
                           cJSON **out, struct err_msg *msg);

/* Reads and parses a file of at most 16 MB; checks that it holds an object
 * whose "format" is `format` (NULL: any). Caller frees with cJSON_Delete. */
enum err json_read_file(struct arena *a, const char *path, const char *format,
                        cJSON **out, struct err_msg *msg);

/* Member by exact name, or NULL; a JSON null counts as absent. */
const cJSON *json_get(const cJSON *object, const char *key);

struct json_range {
    double lo, hi; // inclusive
};

/* A member by its name; `where` begins messages about it. */
struct json_member {
    const cJSON *object;
    const char *where, *key;
};

/* Optional members: absent leaves *out and is ERR_OK; a wrong type is
 * ERR_PARSE, a value outside `range` ERR_RANGE. For documents read without a
 * struct reader, where the keys of an object are the data. */
enum err json_opt_int(struct json_member at, struct json_range range,
                      int64_t *out, struct err_msg *msg);
enum err json_opt_double(struct json_member at, struct json_range range,
                         double *out, struct err_msg *msg);

/* ERR_PARSE unless the member is there. */
enum err json_require(struct json_member at, struct err_msg *msg);

/* Prints `tree` indented (compact when !pretty) and a newline to `out`, and
 * deletes it. ERR_NOMEM when the tree is NULL or cannot be printed, ERR_IO
 * when `out` cannot be written. */
enum err json_print_and_delete(cJSON *tree, bool pretty, FILE *out,
                               struct err_msg *msg);

#endif
