/*
 * How it works: every addition goes through writer_put(), the one place where
 * cJSON can fail. After a failure items are still made and freed again, which
 * costs nothing that matters and keeps callers free of checks.
 */
#include "writer.h"

#include "json.h"

#include <string.h>

/* `tree` is NULL where memory ran out at once. */
static struct writer writer_begin(struct writer_doc *doc, cJSON *tree)
{
    *doc = (struct writer_doc){.tree = tree, .failed = !tree};
    return (struct writer){doc, tree};
}

struct writer writer_open(struct writer_doc *doc)
{
    return writer_begin(doc, cJSON_CreateObject());
}

struct writer writer_open_list(struct writer_doc *doc)
{
    return writer_begin(doc, cJSON_CreateArray());
}

struct writer writer_open_tree(struct writer_doc *doc, cJSON *tree)
{
    return writer_begin(doc, tree);
}

/* All or nothing: a document with a member missing would be read as whole. */
cJSON *writer_close(struct writer_doc *doc)
{
    cJSON *tree = doc->tree;
    doc->tree = NULL;
    if (!doc->failed)
        return tree;
    cJSON_Delete(tree);
    return NULL;
}

/* Adds a new item to the document, or frees it; returns it where it is in. */
static cJSON *writer_put(struct writer to, const char *key, cJSON *item)
{
    // to.item is NULL when the object itself could not be made
    bool ok = to.item && item && !to.doc->failed &&
              (key ? cJSON_AddItemToObject(to.item, key, item)
                   : cJSON_AddItemToArray(to.item, item));
    if (ok)
        return item;
    cJSON_Delete(item);
    to.doc->failed = true;
    return NULL;
}

struct writer writer_object(struct writer to, const char *key)
{
    return (struct writer){to.doc, writer_put(to, key, cJSON_CreateObject())};
}

struct writer writer_list(struct writer to, const char *key)
{
    return (struct writer){to.doc, writer_put(to, key, cJSON_CreateArray())};
}

void writer_number(struct writer to, const char *key, double value)
{
    writer_put(to, key, cJSON_CreateNumber(value));
}

void writer_bool(struct writer to, const char *key, bool value)
{
    writer_put(to, key, cJSON_CreateBool(value));
}

void writer_null(struct writer to, const char *key)
{
    writer_put(to, key, cJSON_CreateNull());
}

void writer_text(struct writer to, const char *key, const char *text)
{
    writer_put(to, key, text ? cJSON_CreateString(text) : NULL);
}

void writer_tree(struct writer to, const char *key, cJSON *tree)
{
    writer_put(to, key, tree);
}

enum err writer_print(struct writer_doc *doc, bool pretty, FILE *out,
                      struct err_msg *msg)
{
    return json_print_and_delete(writer_close(doc), pretty, out, msg);
}

/* The newline makes it a text file; cJSON prints none. */
const char *writer_print_tree(struct arena *a, cJSON *tree)
{
    char *text = tree ? cJSON_Print(tree) : NULL;
    cJSON_Delete(tree);
    const char *line = text ? arena_printf(a, "%s\n", text) : NULL;
    cJSON_free(text);
    return line;
}
