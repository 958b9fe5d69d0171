/*
 * tree: a YAML document as nodes that know their lines. Scalars stay texts:
 * what they mean is the reader's matter. Anchors and aliases are followed,
 * merge keys (<<) are merged, and of a key that is there twice the last value
 * counts, as in Python's reader, with the earlier line kept.
 *
 * Bounded against hostile files: TREE_MAX_NODES nodes, of which an alias is one
 * whatever it stands for, TREE_MAX_DEPTH levels; an alias within its own anchor
 * is an error. Who walks a whole tree must bound his steps, since aliases of
 * aliases may make it large. Files have some hundred lines.
 */
#ifndef BASE_TREE_H
#define BASE_TREE_H

#include "arena.h"
#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TREE_MAX_NODES = 1 << 14, TREE_MAX_DEPTH = 64 };

enum tree_kind { TREE_TEXT, TREE_MAP, TREE_LIST };

struct tree {
    enum tree_kind kind;
    const char *key;  // of a map's member, else NULL
    uint32_t hash;    // of the key: keys are compared by it first
    const char *text; // of a TEXT, "" where there is nothing
    bool plain;       // of a TEXT: not quoted
    int line, column; // of the value, counted from 1
    int twice;        // line of an earlier value of the same key, else 0
    const struct tree *child;
    struct tree *next;
};

/* Reads the first document of the text, whose top must be a map; owned by the
 * arena. ERR_PARSE with "where:line:column"; *out is NULL when there is no
 * document. */
enum err tree_read_yaml(struct arena *a, const char *text, const char *where,
                        const struct tree **out, struct err_msg *msg);

/* The member of that key, or NULL; also when `map` is NULL or no map. */
const struct tree *tree_get(const struct tree *map, const char *key);

/* The member of a path of keys, "trainer.devices", or NULL. */
const struct tree *tree_find(const struct tree *map, const char *path);

/* The text of a plain or quoted scalar; NULL for null ("null", "~", nothing,
 * unquoted), for what is no scalar, and for NULL. */
const char *tree_text(const struct tree *node);

/* A plain scalar that YAML 1.1 takes for true or false, as Python's reader does
 * ("yes", "Off", "TRUE"), into *out; false when it is none. So does
 * tree_word_bool() of a text that stands for one. */
bool tree_bool(const struct tree *node, bool *out);
bool tree_word_bool(const char *text, bool *out);

/* A scalar that is a whole number, into *out; false when it is none. */
bool tree_int(const struct tree *node, long long *out);

#endif
