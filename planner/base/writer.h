/*
 * writer: a JSON document being built, every addition checked. A writer stands
 * at an object or a list of it; the document remembers that memory ran out, so
 * that callers list what they write and ask once: the whole tree, or nothing.
 *
 *     struct writer_doc doc;
 *     struct writer top = writer_open(&doc);
 *     writer_text(top, "format", FORMAT);
 *     writer_number(writer_object(top, "p2p"), "latency_s", s);
 *     return writer_close(&doc);
 *
 * In a list, `key` is NULL. A text of NULL counts as memory that ran out, as
 * arena_printf() gives it; what may be absent is left out by the caller.
 */
#ifndef BASE_WRITER_H
#define BASE_WRITER_H

#include "arena.h"
#include "err.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

struct writer_doc {
    cJSON *tree;
    bool failed; // memory ran out
};

/* An object or a list of the document; passed by value. */
struct writer {
    struct writer_doc *doc;
    cJSON *item; // NULL after a failure: calls do nothing
};

/* Begins a document that is an object (a list). */
struct writer writer_open(struct writer_doc *doc);
struct writer writer_open_list(struct writer_doc *doc);

/* Goes on with a tree made elsewhere, owned by the document from now on; NULL
 * is memory that ran out. */
struct writer writer_open_tree(struct writer_doc *doc, cJSON *tree);

/* The whole tree, which the caller frees with cJSON_Delete(); NULL when memory
 * ran out, with nothing left over. */
cJSON *writer_close(struct writer_doc *doc);

/* New members (elements) that are objects or lists. */
struct writer writer_object(struct writer to, const char *key);
struct writer writer_list(struct writer to, const char *key);

/* Values. A number that is not finite is written as null. */
void writer_number(struct writer to, const char *key, double value);
void writer_bool(struct writer to, const char *key, bool value);
void writer_null(struct writer to, const char *key);
void writer_text(struct writer to, const char *key, const char *text);

/* A tree made elsewhere, owned by the document from now on, also on failure;
 * NULL is memory that ran out. */
void writer_tree(struct writer to, const char *key, cJSON *tree);

/* Ends the document and prints it, as json_print_and_delete(). */
enum err writer_print(struct writer_doc *doc, bool pretty, FILE *out,
                      struct err_msg *msg);

/* The tree printed, indented, with a newline at the end, as text of the arena;
 * deletes it. NULL when memory ran out, also for a tree of NULL. */
const char *writer_print_tree(struct arena *a, cJSON *tree);

#endif
