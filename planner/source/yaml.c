/*
 * How it works: events of libyaml, not a tree: the document's map is walked,
 * the value of MODEL_ARGS is turned into an argument vector, everything else
 * is skipped by counting depth. An alias to MODEL_ARGS' parts is an error.
 */
#include "yaml.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

// some hundred flags in Megatron's own files
enum { YAML_MAX_WORDS = 1 << 14 };

struct reader {
    struct arena *arena;
    const char *where;
    yaml_parser_t parser;
    yaml_event_t event;
    bool live; // the event is to be deleted
    char **argv;
    int argc;
    struct err_msg *msg;
};

/* Lines and columns count from 1 in editors, from 0 in libyaml. */
static enum err yaml_bad(struct reader *r, const char *what)
{
    return err_set(r->msg, ERR_PARSE, "%s:%zu:%zu: %s", r->where,
                   r->event.start_mark.line + 1, r->event.start_mark.column + 1,
                   what);
}

/* One event at a time is alive; its texts die with it. */
static enum err yaml_next(struct reader *r)
{
    if (r->live)
        yaml_event_delete(&r->event);
    r->live = yaml_parser_parse(&r->parser, &r->event) != 0;
    if (r->live)
        return ERR_OK;
    return err_set(r->msg, ERR_PARSE, "%s:%zu:%zu: %s", r->where,
                   r->parser.problem_mark.line + 1,
                   r->parser.problem_mark.column + 1,
                   r->parser.problem ? r->parser.problem : "not YAML");
}

static const char *yaml_scalar(const struct reader *r)
{
    return r->event.type == YAML_SCALAR_EVENT
               ? (const char *)r->event.data.scalar.value
               : NULL;
}

static bool yaml_opens(const struct reader *r)
{
    return r->event.type == YAML_MAPPING_START_EVENT ||
           r->event.type == YAML_SEQUENCE_START_EVENT;
}

static bool yaml_closes(const struct reader *r)
{
    return r->event.type == YAML_MAPPING_END_EVENT ||
           r->event.type == YAML_SEQUENCE_END_EVENT;
}

/* Passes over the node that the current event begins. */
static enum err skip_node(struct reader *r)
{
    int depth = yaml_opens(r);
    enum err e = ERR_OK;
    while (depth > 0 && e == ERR_OK) {
        e = yaml_next(r);
        if (e == ERR_OK)
            depth += yaml_opens(r) - yaml_closes(r);
    }
    return e;
}

static enum err yaml_add(struct reader *r, const char *text)
{
    if (r->argc == YAML_MAX_WORDS)
        return yaml_bad(r, "MODEL_ARGS has too many words");
    char *copy = arena_strdup(r->arena, text);
    if (!copy)
        return err_set(r->msg, ERR_NOMEM, "%s: out of memory", r->where);
    r->argv[r->argc++] = copy;
    return ERR_OK;
}

/* Two spellings each: YAML 1.2's and Python's. */
static bool yaml_is_word(const char *text, const char *lower, const char *upper)
{
    return strcmp(text, lower) == 0 || strcmp(text, upper) == 0;
}

/* Value of one flag, whose name is the last word so far. `true` is a switch:
 * the name alone. Quoted, a word is a text whatever it says. */
static enum err read_value(struct reader *r)
{
    const char *text = yaml_scalar(r);
    bool plain = text && r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (plain && (yaml_is_word(text, "false", "False") ||
                  yaml_is_word(text, "~", "null"))) {
        // false and null: as if the flag were not there
        r->argc--;
        return ERR_OK;
    }
    if (plain && (yaml_is_word(text, "true", "True") || !*text))
        return ERR_OK;
    if (text)
        return yaml_add(r, text);
    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return yaml_bad(r, "want a value or a list of values for the flag");
    for (;;) {
        enum err e = yaml_next(r);
        if (e != ERR_OK || r->event.type == YAML_SEQUENCE_END_EVENT)
            return e;
        if (!yaml_scalar(r))
            return yaml_bad(r, "want a list of plain values");
        e = yaml_add(r, yaml_scalar(r));
        if (e != ERR_OK)
            return e;
    }
}

/* The map of flags; keys are with or without the dashes. */
static enum err yaml_read_args(struct reader *r)
{
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return yaml_bad(r, "MODEL_ARGS: want a map of flags");
    for (;;) {
        enum err e = yaml_next(r);
        if (e != ERR_OK || r->event.type == YAML_MAPPING_END_EVENT)
            return e;
        const char *key = yaml_scalar(r);
        if (!key)
            return yaml_bad(r, "MODEL_ARGS: want a flag's name");
        const char *name = arena_printf(
            r->arena, "%s%s", strncmp(key, "--", 2) == 0 ? "" : "--", key);
        e = name ? yaml_add(r, name) : ERR_NOMEM;
        if (e == ERR_OK)
            e = yaml_next(r);
        if (e == ERR_OK)
            e = read_value(r);
        if (e != ERR_OK)
            return e;
    }
}

/* Megatron's CI files have one document whose other keys (ENV_VARS, TEST_TYPE,
 * ...) are passed over. */
static enum err read_document(struct reader *r, bool *found)
{
    enum err e = yaml_next(r);
    while (e == ERR_OK && r->event.type != YAML_MAPPING_START_EVENT) {
        if (r->event.type == YAML_STREAM_END_EVENT)
            return ERR_OK;
        if (yaml_opens(r) || yaml_scalar(r))
            return yaml_bad(r, "want a map at the top");
        e = yaml_next(r);
    }
    while (e == ERR_OK && (e = yaml_next(r)) == ERR_OK &&
           r->event.type != YAML_MAPPING_END_EVENT) {
        const char *key = yaml_scalar(r);
        bool args = key && strcmp(key, "MODEL_ARGS") == 0;
        if (!args)
            e = skip_node(r);
        if (e == ERR_OK)
            e = yaml_next(r);
        if (e == ERR_OK && args && *found)
            return yaml_bad(r, "MODEL_ARGS is there twice");
        *found = *found || args;
        if (e == ERR_OK)
            e = args ? yaml_read_args(r) : skip_node(r);
    }
    return e;
}

enum err source_yaml_read(struct arena *a, const char *text, const char *where,
                          struct megatron_args *args, struct err_msg *msg)
{
    struct reader r = {.arena = a, .where = where, .msg = msg};
    bool found = false;
    r.argv = arena_alloc(a, YAML_MAX_WORDS, sizeof *r.argv);
    if (!r.argv || !yaml_parser_initialize(&r.parser))
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text,
                                 strlen(text));
    enum err e = read_document(&r, &found);
    if (r.live)
        yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    if (e == ERR_OK && !found)
        e = err_set(msg, ERR_PARSE, "%s: want a map MODEL_ARGS", where);
    if (e == ERR_OK)
        e = megatron_args_where(args, where, msg);
    const struct megatron_args_options opt = {.strict = false};
    return e == ERR_OK ? megatron_args_read(args, r.argv, r.argc, &opt, msg)
                       : e;
}
