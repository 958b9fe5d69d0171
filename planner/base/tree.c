/*
 * How it works: libyaml's events, one at a time, become nodes. A node is made
 * once; an alias is a copy of it that shares its children, so that a file of a
 * hundred bytes cannot become a million nodes. Anchors are a list of those
 * seen.
 */
#include "tree.h"

#include "text.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct tree_anchor {
    const char *name;
    const struct tree *node;
    bool done; // the node has all of its children
    struct tree_anchor *next;
};

struct tree_parser {
    struct arena *arena;
    const char *where;
    struct err_msg *msg;
    yaml_parser_t yaml;
    yaml_event_t event;
    bool live; // there is an event to free
    struct tree_anchor *anchors;
    int n_nodes, depth;
};

static enum err tree_bad(struct tree_parser *p, const char *what)
{
    return err_set(p->msg, ERR_PARSE, "%s:%zu:%zu: %s", p->where,
                   p->event.start_mark.line + 1, p->event.start_mark.column + 1,
                   what);
}

static enum err tree_no_memory(struct tree_parser *p)
{
    return err_set(p->msg, ERR_NOMEM, "%s: out of memory", p->where);
}

/* One event at a time is alive; its texts die with it. */
static enum err tree_next(struct tree_parser *p)
{
    if (p->live)
        yaml_event_delete(&p->event);
    p->live = yaml_parser_parse(&p->yaml, &p->event) != 0;
    if (p->live)
        return ERR_OK;
    // of a layout such as *E|*E, which YAML takes for a reference
    const char *context = p->yaml.context ? p->yaml.context : "";
    return err_set(p->msg, ERR_PARSE, "%s:%zu:%zu: %s%s", p->where,
                   p->yaml.problem_mark.line + 1,
                   p->yaml.problem_mark.column + 1,
                   p->yaml.problem ? p->yaml.problem : "not YAML",
                   strstr(context, "scanning an alias")
                       ? ": a value that begins with * wants quotes"
                       : "");
}

/* ---- nodes ---- */

static enum err tree_new(struct tree_parser *p, struct tree **out)
{
    if (++p->n_nodes > TREE_MAX_NODES)
        return tree_bad(p, "too many values for a configuration");
    struct tree *node = arena_alloc(p->arena, 1, sizeof *node);
    if (!node)
        return tree_no_memory(p);
    *node = (struct tree){.line = (int)p->event.start_mark.line + 1,
                          .column = (int)p->event.start_mark.column + 1};
    *out = node;
    return ERR_OK;
}

/* Remembers the node where it has an anchor; *out is NULL where it has none. */
static enum err tree_anchor(struct tree_parser *p, const struct tree *node,
                            const yaml_char_t *name, struct tree_anchor **out)
{
    *out = NULL;
    if (!name)
        return ERR_OK;
    struct tree_anchor *anchor = arena_alloc(p->arena, 1, sizeof *anchor);
    const char *copy = arena_strdup(p->arena, (const char *)name);
    if (!anchor || !copy)
        return tree_no_memory(p);
    *anchor = (struct tree_anchor){copy, node, false, p->anchors};
    p->anchors = *out = anchor;
    return ERR_OK;
}

/* A copy of the node that the alias names. */
static enum err tree_alias(struct tree_parser *p, struct tree *node)
{
    const char *name = (const char *)p->event.data.alias.anchor;
    const struct tree_anchor *anchor = p->anchors;
    while (anchor && strcmp(anchor->name, name) != 0)
        anchor = anchor->next;
    if (!anchor)
        return tree_bad(p, "an alias of no anchor before it");
    if (!anchor->done)
        return tree_bad(p, "an alias within its own anchor");
    const int line = node->line, column = node->column;
    *node = *anchor->node;
    node->line = line;
    node->column = column;
    node->key = NULL;
    node->next = NULL;
    node->twice = 0;
    return ERR_OK;
}

static enum err tree_scalar(struct tree_parser *p, struct tree *node)
{
    struct tree_anchor *anchor;
    node->text =
        arena_strdup(p->arena, (const char *)p->event.data.scalar.value);
    node->plain = p->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (!node->text)
        return tree_no_memory(p);
    enum err e = tree_anchor(p, node, p->event.data.scalar.anchor, &anchor);
    if (e == ERR_OK && anchor)
        anchor->done = true;
    return e;
}

/* ---- members ---- */

/* A list of children being made: in order, the last one at hand. */
struct tree_children {
    struct tree *first, *last;
};

static void tree_append(struct tree_children *all, struct tree *node)
{
    if (all->last)
        all->last->next = node;
    else
        all->first = node;
    all->last = node;
}

/* FNV-1a: long keys that differ in their last byte must not cost their length
 * each time. */
static uint32_t tree_hash(const char *key)
{
    uint32_t hash = 2166136261U;
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 16777619U;
    return hash;
}

/* The child with the node's key. */
static struct tree *tree_child(const struct tree_children *all,
                               const struct tree *node)
{
    for (struct tree *c = all->first; c; c = c->next)
        if (c->hash == node->hash && strcmp(c->key, node->key) == 0)
            return c;
    return NULL;
}

/* The last value of a key counts, at the place of the first. */
static void tree_add_member(struct tree_children *all, struct tree *node)
{
    struct tree *before = tree_child(all, node);
    if (!before) {
        tree_append(all, node);
        return;
    }
    struct tree *next = before->next;
    const int line = before->line;
    *before = *node;
    before->next = next;
    before->twice = line;
}

/* `<<: *base`, or a list of such: members that are not there yet. */
static enum err tree_merge(struct tree_parser *p, const struct tree *from,
                           struct tree_children *all, int depth)
{
    if (from->kind == TREE_TEXT || depth > 1)
        return tree_bad(p, "<<: want a map or a list of maps");
    for (const struct tree *c = from->child; c; c = c->next) {
        struct tree *copy;
        if (from->kind == TREE_LIST) {
            enum err e = tree_merge(p, c, all, depth + 1);
            if (e != ERR_OK)
                return e;
            continue;
        }
        if (tree_child(all, c))
            continue;
        enum err e = tree_new(p, &copy);
        if (e != ERR_OK)
            return e;
        *copy = *c;
        copy->next = NULL;
        tree_append(all, copy);
    }
    return ERR_OK;
}

static enum err tree_node(struct tree_parser *p, struct tree **out);

/* The members up to the map's end; merged ones come last, so that the map's own
 * win wherever they stand. */
static enum err tree_map(struct tree_parser *p, struct tree_children *all)
{
    struct tree_children merged = {NULL, NULL};
    for (;;) {
        struct tree *node;
        enum err e = tree_next(p);
        if (e != ERR_OK)
            return e;
        if (p->event.type == YAML_MAPPING_END_EVENT)
            break;
        if (p->event.type != YAML_SCALAR_EVENT)
            return tree_bad(p, "want a key that is a word, a flag's name");
        const char *key =
            arena_strdup(p->arena, (const char *)p->event.data.scalar.value);
        if (!key)
            return tree_no_memory(p);
        e = tree_next(p);
        if (e == ERR_OK)
            e = tree_node(p, &node);
        if (e != ERR_OK)
            return e;
        node->key = key;
        node->hash = tree_hash(key);
        if (strcmp(key, "<<") == 0)
            tree_append(&merged, node);
        else
            tree_add_member(all, node);
    }
    for (const struct tree *m = merged.first; m; m = m->next) {
        enum err e = tree_merge(p, m, all, 0);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err tree_list(struct tree_parser *p, struct tree_children *all)
{
    for (;;) {
        struct tree *node;
        enum err e = tree_next(p);
        if (e != ERR_OK || p->event.type == YAML_SEQUENCE_END_EVENT)
            return e;
        e = tree_node(p, &node);
        if (e != ERR_OK)
            return e;
        tree_append(all, node);
    }
}

/* A map or a list, whose first event is there. */
static enum err tree_branch(struct tree_parser *p, struct tree *node)
{
    struct tree_children all = {NULL, NULL};
    struct tree_anchor *anchor;
    const bool map = p->event.type == YAML_MAPPING_START_EVENT;
    node->kind = map ? TREE_MAP : TREE_LIST;
    enum err e = tree_anchor(p, node,
                             map ? p->event.data.mapping_start.anchor
                                 : p->event.data.sequence_start.anchor,
                             &anchor);
    if (e == ERR_OK && ++p->depth > TREE_MAX_DEPTH)
        e = tree_bad(p, "too many levels for a configuration");
    if (e == ERR_OK)
        e = map ? tree_map(p, &all) : tree_list(p, &all);
    p->depth--;
    node->child = all.first;
    if (anchor)
        anchor->done = true;
    return e;
}

/* The node that the current event begins. */
static enum err tree_node(struct tree_parser *p, struct tree **out)
{
    struct tree *node;
    enum err e = tree_new(p, &node);
    if (e != ERR_OK)
        return e;
    switch (p->event.type) {
    case YAML_SCALAR_EVENT:
        e = tree_scalar(p, node);
        break;
    case YAML_ALIAS_EVENT:
        e = tree_alias(p, node);
        break;
    default:
        e = tree_branch(p, node);
    }
    if (e == ERR_OK)
        *out = node;
    return e;
}

/* ---- documents ---- */

static enum err tree_document(struct tree_parser *p, struct tree **out)
{
    enum err e = tree_next(p);
    while (e == ERR_OK && p->event.type != YAML_MAPPING_START_EVENT) {
        if (p->event.type == YAML_STREAM_END_EVENT)
            return ERR_OK;
        if (p->event.type == YAML_SCALAR_EVENT ||
            p->event.type == YAML_ALIAS_EVENT ||
            p->event.type == YAML_SEQUENCE_START_EVENT)
            return tree_bad(p, "want a map at the top");
        e = tree_next(p);
    }
    return e == ERR_OK ? tree_node(p, out) : e;
}

enum err tree_read_yaml(struct arena *a, const char *text, const char *where,
                        const struct tree **out, struct err_msg *msg)
{
    struct tree_parser p = {.arena = a, .where = where, .msg = msg};
    struct tree *top = NULL;
    if (!yaml_parser_initialize(&p.yaml))
        return tree_no_memory(&p);
    yaml_parser_set_input_string(&p.yaml, (const unsigned char *)text,
                                 strlen(text));
    enum err e = tree_document(&p, &top);
    if (p.live)
        yaml_event_delete(&p.event);
    yaml_parser_delete(&p.yaml);
    if (e == ERR_OK)
        *out = top;
    return e;
}

/* ---- reading ---- */

const struct tree *tree_get(const struct tree *map, const char *key)
{
    if (!map || map->kind != TREE_MAP)
        return NULL;
    for (const struct tree *c = map->child; c; c = c->next)
        if (strcmp(c->key, key) == 0)
            return c;
    return NULL;
}

/* A path with dots, as in the tools' own messages. */
const struct tree *tree_find(const struct tree *map, const char *path)
{
    char key[128];
    while (map && *path) {
        size_t n = strcspn(path, ".");
        if (n >= sizeof key)
            return NULL;
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        map = tree_get(map, key);
        path += n + (path[n] == '.');
    }
    return map;
}

/* YAML's words for nothing are no text, unless quoted. */
const char *tree_text(const struct tree *node)
{
    static const char *const null[] = {"", "~", "null", "Null", "NULL"};
    if (!node || node->kind != TREE_TEXT)
        return NULL;
    for (size_t i = 0; i < sizeof null / sizeof null[0] && node->plain; i++)
        if (strcmp(node->text, null[i]) == 0)
            return NULL;
    return node->text;
}

/* Those of YAML 1.1 but y and n, as Python's reader has them. */
bool tree_word_bool(const char *text, bool *out)
{
    static const char *const words[][2] = {
        {"false", "true"}, {"False", "True"}, {"FALSE", "TRUE"},
        {"no", "yes"},     {"No", "Yes"},     {"NO", "YES"},
        {"off", "on"},     {"Off", "On"},     {"OFF", "ON"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (int yes = 0; yes < 2; yes++)
            if (strcmp(text, words[i][yes]) == 0) {
                *out = yes;
                return true;
            }
    return false;
}

bool tree_bool(const struct tree *node, bool *out)
{
    return node && node->kind == TREE_TEXT && node->plain &&
           tree_word_bool(node->text, out);
}

bool tree_int(const struct tree *node, long long *out)
{
    int64_t value;
    const char *text = tree_text(node);
    if (!text || !text_to_int64(text, &value))
        return false;
    *out = value;
    return true;
}
