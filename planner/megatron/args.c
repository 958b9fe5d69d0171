/*
 * How it works: every row of the table in flags.h has one typed slot. Flags of
 * a command line, keys of a model file and facts from other sources fill the
 * same slots; model reads them once all are known, because defaults
 * depend on other flags. Names are looked up here, where words come in; what
 * the program itself asks for it asks by identifier.
 */
#include "args.h"

#include "base/join.h"
#include "base/text.h"
#include "convert.h"
#include "model.h"
#include "names.h"

#include <stdio.h>
#include <string.h>

struct warned {
    const char *name;
    struct warned *next;
};

struct megatron_args {
    struct megatron_flags f;
    megatron_warning warn;
    void *data;
    struct warned *warned; // unknown names that were told of
    struct account account;
    const struct args_origin *origin; // of the words being read, or NULL
};

struct megatron_args *megatron_args_new(struct arena *a)
{
    struct megatron_args *args = arena_alloc(a, 1, sizeof *args);
    if (!args)
        return NULL;
    *args = (struct megatron_args){.warn = NULL};
    flags_init(&args->f, a);
    account_init(&args->account, a);
    return args;
}

struct megatron_args *megatron_args_copy(struct arena *a,
                                         const struct megatron_args *args)
{
    struct megatron_args *copy = arena_alloc(a, 1, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *args;
    account_copy(&copy->account, &args->account);
    return copy;
}

struct account *megatron_args_account(struct megatron_args *args)
{
    return &args->account;
}

/* ---- warnings ---- */

void megatron_args_on_warning(struct megatron_args *args, megatron_warning warn,
                              void *data)
{
    args->warn = warn;
    args->data = data;
}

void megatron_args_warn(struct megatron_args *args, const char *name,
                        const char *line)
{
    for (struct warned *w = args->warned; w; w = w->next)
        if (strcmp(w->name, name) == 0)
            return;
    struct warned *w = arena_alloc(args->f.arena, 1, sizeof *w);
    const char *copy = arena_strdup(args->f.arena, name);
    if (w && copy) {
        *w = (struct warned){copy, args->warned};
        args->warned = w;
    }
    account_add(&args->account, &args->account.warnings, line);
    if (args->warn)
        args->warn(args->data, line);
}

/* Known, but what it does to the model is not in this program. */
static void warn_unmodelled(struct megatron_args *args, enum flag_id id)
{
    char line[256];
    if (flag_effect(id) != FLAG_FX_UNMODELLED)
        return;
    snprintf(line, sizeof line,
             "--%s: what it changes is not modelled, sizes and costs are those "
             "without it",
             flag_name(id));
    megatron_args_warn(args, flag_name(id), line);
}

/* Nearest name of either list, in `name`; "" when none is near. */
static void megatron_args_nearest(const char *word, char name[NAMES_MAX_BYTES])
{
    char known[NAMES_MAX_BYTES];
    megatron_known_nearest(word, known);
    const char *pair[2] = {flag_nearest(word), known};
    const char *best = pair[0] ? text_nearest(word, pair, 2) : known;
    snprintf(name, NAMES_MAX_BYTES, "%s", best ? best : "");
}

/* ---- taking flags ---- */

/* A value may begin with a dash when it is a negative number: argparse looks
 * for one, too, since no flag of Megatron looks like a number. */
static bool is_flag(const char *word)
{
    return text_starts(word, "--") && word[2] != '\0';
}

/* Why the word is not known, or NULL. */
static const struct flag_unknown *args_unknown(const struct megatron_args *args,
                                               int at)
{
    return args->origin ? args->origin[at].unknown : NULL;
}

/* argparse's nargs="+": values go on up to the next flag. They are kept as one
 * text, parted by blanks. */
static enum err take_words(struct megatron_args *args, enum flag_id id,
                           struct option_line *line, struct err_msg *msg)
{
    struct join words = join_begin(args->f.arena);
    const int first = line->at + 1;
    while (line->at + 1 < line->argc && !is_flag(line->argv[line->at + 1])) {
        join_add(&words, words.n ? " " : "");
        join_add(&words, line->argv[++line->at]);
    }
    const char *all = join_end(&words);
    for (int i = first; i <= line->at; i++)
        if (args_unknown(args, i))
            return flags_set_unknown(&args->f, id, args_unknown(args, i), msg);
    return all ? flags_set(&args->f, id, all, msg) : ERR_NOMEM;
}

/* One value: behind a '=' in the flag's own word, or the next word. */
static enum err take_value(struct megatron_args *args, enum flag_id id,
                           struct option_line *line, struct err_msg *msg)
{
    const char *equals = strchr(line->argv[line->at], '=');
    if (!equals &&
        (line->at + 1 >= line->argc || is_flag(line->argv[line->at + 1])))
        return err_set(msg, ERR_PARSE, "--%s: value missing", flag_name(id));
    line->at += !equals;
    const struct flag_unknown *unknown = args_unknown(args, line->at);
    if (unknown)
        return flags_set_unknown(&args->f, id, unknown, msg);
    return flags_set(&args->f, id, equals ? equals + 1 : line->argv[line->at],
                     msg);
}

enum err megatron_args_take(struct megatron_args *args,
                            struct option_line *line, bool *known,
                            struct err_msg *msg)
{
    *known = false;
    const char *word = line->argv[line->at];
    if (!is_flag(word))
        return ERR_OK;
    // argparse takes --name=value, and so do launch scripts
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) - 2 : strlen(word + 2);
    enum flag_id id = flag_by_name(word + 2, len);
    if (id == FLAG_NONE)
        return ERR_OK;
    // from here on the word is ours, and what is wrong with it is an error
    *known = true;
    enum err e = ERR_OK;
    warn_unmodelled(args, id);
    if (flag_type(id) == FLAG_TYPE_BOOL) {
        if (equals)
            return err_set(msg, ERR_PARSE, "--%s: takes no value",
                           flag_name(id));
        flags_set_on(&args->f, id);
    } else if (!equals && flag_type(id) == FLAG_TYPE_WORDS) {
        e = take_words(args, id, line, msg);
    } else {
        e = take_value(args, id, line, msg);
    }
    if (e == ERR_OK)
        line->at++;
    return e;
}

/* A word that no list has: an error when strict, else told of once. */
static enum err megatron_args_unknown(struct megatron_args *args,
                                      const char *word, bool strict,
                                      struct err_msg *msg)
{
    char line[400], name[NAMES_MAX_BYTES], near[NAMES_MAX_BYTES] = "";
    if (!strict && !args->warn)
        return ERR_OK;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    if (is_flag(word))
        megatron_args_nearest(name + 2, near);
    if (!is_flag(word))
        snprintf(line, sizeof line, "'%.200s' is not a flag, want --name",
                 word);
    else
        snprintf(line, sizeof line, "unknown flag '%s'%s%s%s", name,
                 *near ? ", did you mean '--" : "", near, *near ? "'?" : "");
    if (strict)
        return err_set(msg, ERR_PARSE, "%s", line);
    megatron_args_warn(args, name, line);
    return ERR_OK;
}

/* Moves behind a flag that has no effect here and its values; false when the
 * flag is not known to be one. */
static bool pass_known(struct option_line *line)
{
    const char *word = line->argv[line->at];
    if (!is_flag(word))
        return false;
    size_t len = strcspn(word + 2, "=");
    enum known_values values = megatron_known(word + 2, len);
    if (values == KNOWN_NOT)
        return false;
    // argc is more than any list has
    int most = word[2 + len] == '=' || values == KNOWN_SWITCH ? 0
               : values == KNOWN_ONE                          ? 1
                                                              : line->argc;
    for (line->at++;
         line->at < line->argc && most > 0 && !is_flag(line->argv[line->at]);
         most--)
        line->at++;
    return true;
}

/* A word of its own that only running could tell. */
static void assume_no_flags(struct megatron_args *args,
                            const struct flag_unknown *unknown)
{
    char line[400];
    snprintf(line, sizeof line,
             "%s%s%.200s is not known, and taken as holding none of the flags",
             unknown->where, *unknown->where ? ": " : "", unknown->why);
    account_add(&args->account, &args->account.assumed, line);
}

/* The words and where they come from are set. */
static enum err read_words(struct megatron_args *args, struct option_line line,
                           bool strict, struct err_msg *msg)
{
    const char *before = args->f.from;
    while (line.at < line.argc) {
        bool known = false;
        if (args->origin)
            args->f.from = args->origin[line.at].from;
        if (args_unknown(args, line.at) && !is_flag(line.argv[line.at])) {
            assume_no_flags(args, args_unknown(args, line.at++));
            continue;
        }
        enum err e = megatron_args_take(args, &line, &known, msg);
        if (e != ERR_OK)
            return e;
        if (known || pass_known(&line))
            continue;
        e = megatron_args_unknown(args, line.argv[line.at], strict, msg);
        if (e != ERR_OK)
            return e;
        // its values, if any, go with it
        for (line.at++; line.at < line.argc && !is_flag(line.argv[line.at]);)
            line.at++;
    }
    args->f.from = before;
    return ERR_OK;
}

enum err megatron_args_read(struct megatron_args *args, char *const *argv,
                            int argc, const struct megatron_args_options *opt,
                            struct err_msg *msg)
{
    if (opt->warn)
        megatron_args_on_warning(args, opt->warn, opt->data);
    args->origin = opt->origin;
    struct option_line line = {.argc = argc, .argv = argv};
    enum err e = read_words(args, line, opt->strict, msg);
    args->origin = NULL;
    return e;
}

/* ---- JSON ---- */

/* Messages name the key as the file has it, with underscores. */
static enum err key_error(const struct megatron_args *args, const char *key,
                          const char *wanted, struct err_msg *msg)
{
    return err_set(msg, ERR_PARSE, "%s: %s: want %s", args->f.where, key,
                   wanted);
}

/* A key that Megatron has as a flag without effect here: kept as it is. */
static enum err pass_key(struct megatron_args *args, const cJSON *item,
                         const char *name, struct err_msg *msg)
{
    const char *text = NULL;
    enum flag_json is = flag_from_json(args->f.arena, item, &text);
    if (is == FLAG_JSON_OFF)
        return ERR_OK;
    if (is == FLAG_JSON_BAD)
        return key_error(args, item->string, "a value or a list", msg);
    if (is != FLAG_JSON_ON && !text)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", args->f.where);
    const struct flag_passed flag = {
        .name = name, .text = text, .words = is == FLAG_JSON_WORDS};
    return flags_pass(&args->f, &flag, msg);
}

/* Suggestions come in the spelling of the file: underscores. A name with dashes
 * is no key of a model file, even where Megatron has such a flag. */
static enum err unknown_key(struct megatron_args *args, const cJSON *item,
                            const char *name, struct err_msg *msg)
{
    char near[NAMES_MAX_BYTES];
    if (!strchr(item->string, '-') &&
        megatron_known(name, strlen(name)) != KNOWN_NOT)
        return pass_key(args, item, name, msg);
    megatron_args_nearest(name, near);
    for (char *p = near; *p; p++)
        *p = *p == '-' ? '_' : *p;
    return err_set(msg, ERR_PARSE, "%s: unknown key '%s'%s%s%s", args->f.where,
                   item->string, *near ? ", did you mean '" : "", near,
                   *near ? "'?" : "");
}

/* Does the flag take a JSON value of this kind? A number in quotes is none. */
static bool suits(enum flag_type type, enum flag_json is, const cJSON *item)
{
    switch (type) {
    case FLAG_TYPE_BOOL:
        return is == FLAG_JSON_ON;
    case FLAG_TYPE_INT:
    case FLAG_TYPE_REAL:
        return is == FLAG_JSON_WORD && !cJSON_IsString(item);
    case FLAG_TYPE_WORDS:
        return is == FLAG_JSON_WORD || is == FLAG_JSON_WORDS;
    default:
        return is == FLAG_JSON_WORD;
    }
}

/* A value of a model file, whose types are JSON's own. */
static enum err set_typed(struct megatron_args *args, enum flag_id id,
                          const cJSON *item, struct err_msg *msg)
{
    const enum flag_type type = flag_type(id);
    const char *text = NULL;
    enum flag_json is = flag_from_json(args->f.arena, item, &text);
    if (is == FLAG_JSON_OFF)
        flags_clear(&args->f, id);
    else if (!suits(type, is, item))
        return key_error(args, item->string,
                         type == FLAG_TYPE_BOOL  ? "true or false"
                         : type == FLAG_TYPE_INT ? "an integer"
                                                 : "a value",
                         msg);
    else if (is == FLAG_JSON_ON)
        flags_set_on(&args->f, id);
    else if (!text)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", args->f.where);
    else
        return flags_set(&args->f, id, text, msg);
    return ERR_OK;
}

/* Model files spell flags as Python does, so that they can be pasted from a
 * configuration class. */
static enum err take_key(struct megatron_args *args, const cJSON *item,
                         struct err_msg *msg)
{
    char *name = arena_strdup(args->f.arena, item->string);
    if (!name)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", args->f.where);
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    enum flag_id id = strchr(item->string, '-')
                          ? FLAG_NONE
                          : flag_by_name(name, strlen(name));
    if (id == FLAG_NONE)
        return unknown_key(args, item, name, msg);
    warn_unmodelled(args, id);
    return set_typed(args, id, item, msg);
}

enum err megatron_args_read_file(struct arena *a, struct megatron_args *args,
                                 const char *path, struct err_msg *msg)
{
    cJSON *tree = NULL;
    enum err e = json_read_file(a, path, "moe-layout/model/1", &tree, msg);
    if (e != ERR_OK)
        return e;
    e = megatron_args_read_json(args, tree, path, msg);
    cJSON_Delete(tree);
    return e;
}

enum err megatron_args_read_json(struct megatron_args *args,
                                 const cJSON *object, const char *where,
                                 struct err_msg *msg)
{
    enum err e = megatron_args_where(args, where, msg);
    if (e != ERR_OK)
        return e;
    for (const cJSON *c = object->child; c; c = c->next) {
        // two keys are for people: the format and a remark with the source
        if (strcmp(c->string, "format") == 0 ||
            strcmp(c->string, "comment") == 0)
            continue;
        e = take_key(args, c, msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* One flag of a case; its text is read as on a command line. A corpus is
 * written by other programs, so a flag without a row is no error: it changes no
 * memory. */
static enum err take_case_flag(struct megatron_args *args, const cJSON *item,
                               struct err_msg *msg)
{
    const char *text = NULL;
    enum flag_json is = flag_from_json(args->f.arena, item, &text);
    if (is == FLAG_JSON_OFF)
        return ERR_OK;
    if (!text_starts(item->string, "--") || is == FLAG_JSON_BAD)
        return err_set(msg, ERR_PARSE,
                       "flags: %s: want \"--name\" with true, a number or a "
                       "string",
                       item->string);
    const char *name = item->string + 2;
    enum flag_id id = flag_by_name(name, strlen(name));
    if (id != FLAG_NONE && flag_type(id) == FLAG_TYPE_BOOL &&
        cJSON_IsArray(item))
        return err_set(msg, ERR_PARSE, "flags: %s: want true, got a list",
                       item->string);
    if (is == FLAG_JSON_ON)
        text = "true";
    if (!text)
        return err_set(msg, ERR_NOMEM, "flags: out of memory");
    return id == FLAG_NONE ? ERR_OK : megatron_args_set(args, id, text, msg);
}

enum err megatron_args_read_case(struct megatron_args *args,
                                 const cJSON *object, struct err_msg *msg)
{
    if (!cJSON_IsObject(object))
        return err_set(msg, ERR_PARSE,
                       "flags: want an object {\"--name\": value}");
    enum err e = ERR_OK;
    for (const cJSON *c = object->child; c && e == ERR_OK; c = c->next)
        e = take_case_flag(args, c, msg);
    return e;
}

/* ---- other sources ---- */

/* A switch warns when it is on only: dumps of arguments list every switch. */
enum err megatron_args_set(struct megatron_args *args, enum flag_id id,
                           const char *text, struct err_msg *msg)
{
    if (flag_type(id) != FLAG_TYPE_BOOL)
        warn_unmodelled(args, id);
    return flags_set(&args->f, id, text, msg);
}

enum err megatron_args_where(struct megatron_args *args, const char *where,
                             struct err_msg *msg)
{
    args->f.where = arena_strdup(args->f.arena, where);
    return args->f.where ? ERR_OK
                         : err_set(msg, ERR_NOMEM, "%s: out of memory", where);
}

/* ---- values ---- */

struct megatron_flags *megatron_args_flags(struct megatron_args *args)
{
    return &args->f;
}

enum err megatron_args_model(struct arena *a, const struct megatron_args *args,
                             struct model *out, struct err_msg *msg)
{
    return megatron_model(a, &args->f, out, msg);
}
