/*
 * How it works: flags as members of a document: JSON of model files, manifests
 * and memory cases, whose types are JSON's own, and keys of configurations,
 * whose values are texts. Both end in the slots that words of a command line
 * fill (args.c). What is told of flags that are not ours or not modelled is
 * here, too: a warning each, and a change of the account where the model may be
 * another one than the one that is read.
 */
#include "args.h"

#include "base/text.h"
#include "convert.h"
#include "foreign.h"
#include "hybrid.h"
#include "names.h"

#include <stdio.h>
#include <string.h>

// flags that nobody knows: those that get a suggestion, and those that are
// named
enum { ARGS_MAX_NEAREST = 100, ARGS_MAX_UNKNOWN = 1000 };

/* ---- flags of others ---- */

/* A change is told of as well: what refuses it names the first reason only. */
static void args_change(struct megatron_args *args, const char *flag,
                        const char *reason)
{
    char line[400];
    account_change(megatron_args_account(args), flag, reason);
    snprintf(line, sizeof line, "%.100s: %s", flag, reason);
    megatron_args_warn(args, flag, line);
}

/* What a flag changes beyond the numbers here is told with it; a spec of the
 * layers that any hybrid model has changes nothing. */
void megatron_args_warn_row(struct megatron_args *args, enum flag_id id)
{
    char line[256], flag[NAMES_MAX_BYTES + 2];
    snprintf(flag, sizeof flag, "--%s", flag_name(id));
    // the layers that any hybrid model is built of
    if (id == FLAG_SPEC && hybrid_has_own_spec(megatron_args_flags(args)))
        return;
    if (flag_effect(id) == FLAG_FX_CHANGES)
        args_change(
            args, flag,
            "what it makes of the model or its memory is not counted here");
    if (flag_effect(id) != FLAG_FX_UNMODELLED)
        return;
    snprintf(line, sizeof line,
             "%s: what it changes is not modelled, sizes and costs are those "
             "without it",
             flag);
    megatron_args_warn(args, flag_name(id), line);
}

void megatron_args_nearest(const char *word, char name[NAMES_MAX_BYTES])
{
    char known[NAMES_MAX_BYTES];
    megatron_known_nearest(word, known);
    const char *pair[2] = {flag_nearest(word), known};
    const char *best = pair[0] ? text_nearest(word, pair, 2) : known;
    snprintf(name, NAMES_MAX_BYTES, "%s", best ? best : "");
}

/* ---- flags that are not ours ---- */

/* The row's flag, and what comes with it: a number of key heads means groups
 * of queries, which Megatron has a switch for. */
static void args_same(struct megatron_args *args,
                      const struct foreign_flag *row, const char *spelled)
{
    char line[256];
    snprintf(line, sizeof line, "%.100s is read as Megatron's --%s", spelled,
             flag_name(row->flag));
    megatron_args_warn(args, spelled, line);
    megatron_args_warn_row(args, row->flag);
    if (row->flag == FLAG_NUM_QUERY_GROUPS)
        flags_set_on(megatron_args_flags(args), FLAG_GROUP_QUERY_ATTENTION);
}

/* Three sorts: the same by another name, a change of the model, and what only
 * goes unmodelled. */
void megatron_args_foreign(struct megatron_args *args,
                           const struct foreign_flag *row,
                           const struct args_value *value)
{
    char line[400];
    if (foreign_is_harmless(row, value->text))
        return;
    if (row->kind == FOREIGN_SAME)
        args_same(args, row, value->spelled);
    else if (row->kind == FOREIGN_CHANGE)
        args_change(args, value->spelled, row->text);
    else {
        snprintf(line, sizeof line, "%.100s: not modelled: %s", value->spelled,
                 row->text);
        megatron_args_warn(args, value->spelled, line);
    }
}

/* A row that the name abbreviates, or FLAG_NONE: Megatron's parser takes no
 * abbreviations, other parsers do. */
static enum flag_id args_abbreviated(const char *name)
{
    const size_t len = strlen(name);
    for (int i = 0; i < N_FLAGS && len > 3; i++)
        if (strncmp(flag_name((enum flag_id)i), name, len) == 0)
            return (enum flag_id)i;
    return FLAG_NONE;
}

/* In the spelling of the source: a model's keys have underscores. */
void megatron_args_nobody_knows(struct megatron_args *args, const char *name,
                                const char *spelled)
{
    char line[400], near[NAMES_MAX_BYTES] = "";
    struct account *account = megatron_args_account(args);
    // a search among a thousand names each: no file of a user's has as many
    if (account->warnings.n < ARGS_MAX_NEAREST)
        megatron_args_nearest(name, near);
    if (account->warnings.n >= ARGS_MAX_UNKNOWN) {
        account_change(account, "more flags",
                       "there are more of them than any launch has");
        return;
    }
    snprintf(line, sizeof line, "unknown flag '%.100s'%s%s%s", spelled,
             *near ? ", did you mean '--" : "", near, *near ? "'?" : "");
    megatron_args_warn(args, spelled, line);
    enum flag_id id = args_abbreviated(name);
    if (id != FLAG_NONE)
        snprintf(line, sizeof line,
                 "Megatron takes no abbreviations: give --%s", flag_name(id));
    else if (*near)
        snprintf(line, sizeof line, "no flag of Megatron, did you mean '--%s'?",
                 near);
    else
        snprintf(line, sizeof line,
                 "nobody knows it, and its name speaks of the model or its "
                 "memory");
    if (id != FLAG_NONE || foreign_speaks_of_model(name, strlen(name)))
        account_change(account, spelled, line);
}

/* ---- names ---- */

/* The key as a flag's name; NULL when out of memory. */
static const char *keys_dashes(struct megatron_args *args, const char *key)
{
    char *name = arena_strdup(megatron_args_flags(args)->arena, key);
    for (char *p = name; p && *p; p++)
        *p = *p == '_' ? '-' : *p;
    return name;
}

/* Dashes, underscores and the names that relatives give it. */
enum flag_id megatron_args_flag_of(const char *word)
{
    char name[NAMES_MAX_BYTES];
    word += strspn(word, "-");
    const size_t len = strcspn(word, "=");
    if (len >= sizeof name)
        return FLAG_NONE;
    memcpy(name, word, len);
    name[len] = '\0';
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    enum flag_id id = flag_by_name(name, len);
    const struct foreign_flag *row =
        id == FLAG_NONE ? foreign_find(name, len) : NULL;
    return row && row->kind == FOREIGN_SAME ? row->flag : id;
}

bool megatron_args_has(const char *key)
{
    return megatron_args_flag_of(key) != FLAG_NONE;
}

/* ---- keys of a configuration ---- */

static bool keys_yes(const char *text)
{
    return text && (strcmp(text, "true") == 0 || strcmp(text, "True") == 0);
}

/* Also null: of a switch, and of what is not to be set. */
static bool keys_no(const char *text)
{
    static const char *const no[] = {"false", "False", "None", "null", "~"};
    for (size_t i = 0; text && i < sizeof no / sizeof no[0]; i++)
        if (strcmp(text, no[i]) == 0)
            return true;
    return !text;
}

/* Config classes have what a switch turns off by its own name: such a name's
 * flag, and *opposite. */
static enum flag_id keys_opposite(const char *name, bool *opposite)
{
    static const char *const prefixes[] = {"no-", "disable-"};
    char flag[NAMES_MAX_BYTES];
    enum flag_id id = flag_by_argument(name, opposite);
    for (size_t i = 0; id == FLAG_NONE && i < 2; i++) {
        snprintf(flag, sizeof flag, "%s%.60s", prefixes[i], name);
        id = flag_by_name(flag, strlen(flag));
        *opposite = true;
        if (id != FLAG_NONE && flag_type(id) != FLAG_TYPE_BOOL)
            id = FLAG_NONE;
    }
    return id;
}

/* Also of the opposite of a switch ("use_bias" for --disable-bias-linear). */
bool megatron_args_is_switch(const char *key)
{
    bool opposite;
    enum flag_id id = megatron_args_flag_of(key);
    char name[NAMES_MAX_BYTES];
    key += strspn(key, "-");
    if (id == FLAG_NONE && strlen(key) < sizeof name) {
        snprintf(name, sizeof name, "%s", key);
        for (char *p = name; *p; p++)
            *p = *p == '_' ? '-' : *p;
        id = keys_opposite(name, &opposite);
    }
    return id != FLAG_NONE && flag_type(id) == FLAG_TYPE_BOOL;
}

/* A key is on or off, where a command line only has what is on: false takes a
 * switch back. */
static enum err keys_set_switch(struct megatron_args *args, enum flag_id id,
                                const struct args_key *key, bool opposite,
                                struct err_msg *msg)
{
    struct megatron_flags *f = megatron_args_flags(args);
    if (!key->text)
        return ERR_OK;
    if (!keys_yes(key->text) && !keys_no(key->text))
        return err_set(msg, ERR_PARSE,
                       "%s: %s: got '%.100s', want true or false", key->from,
                       key->key, key->text);
    if (keys_yes(key->text) == opposite) {
        flags_clear(f, id);
        return ERR_OK;
    }
    megatron_args_warn_row(args, id);
    flags_set_on(f, id);
    return ERR_OK;
}

/* null, false and none are no value; a switch alone has a value that is false.
 */
static enum err keys_set(struct megatron_args *args, enum flag_id id,
                         const struct args_key *key, bool opposite,
                         struct err_msg *msg)
{
    struct megatron_flags *f = megatron_args_flags(args);
    // no layers offloaded: what a configuration says where there is nothing
    if (id == FLAG_CPU_OFFLOAD_LAYERS && key->text &&
        strcmp(key->text, "0") == 0)
        return ERR_OK;
    if (key->unknown)
        return flags_set_unknown(f, id, key->unknown, msg);
    if (flag_type(id) == FLAG_TYPE_BOOL)
        return keys_set_switch(args, id, key, opposite, msg);
    if (keys_no(key->text))
        return ERR_OK;
    bool whole = key->list && flag_type(id) != FLAG_TYPE_WORDS;
    const char *where = f->where;
    f->where = key->from; // the value's own line
    enum err e = flags_set(f, id, whole ? key->list : key->text, msg);
    f->where = where;
    megatron_args_warn_row(args, id);
    return e;
}

/* A flag without effect, also by the name of what it turns off. */
static bool keys_is_known(const char *name)
{
    static const char *const prefixes[] = {"", "no-", "disable-"};
    char flag[NAMES_MAX_BYTES + 10];
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        snprintf(flag, sizeof flag, "%s%.79s", prefixes[i], name);
        if (megatron_known(flag, strlen(flag)) != KNOWN_NOT)
            return true;
    }
    return false;
}

/* Of no flag of ours. */
static void keys_other(struct megatron_args *args, const char *name,
                       const struct args_key *key)
{
    const struct args_value value = {.spelled = key->key,
                                     .text = key->unknown ? NULL : key->text};
    const struct foreign_flag *row = foreign_find(name, strlen(name));
    if (row && (key->unknown || key->text))
        megatron_args_foreign(args, row, &value);
    else if (!row && !keys_no(key->text) && !keys_is_known(name) &&
             (!key->quiet || foreign_speaks_of_model(name, strlen(name))))
        megatron_args_nobody_knows(args, name, key->key);
}

/* Keys of YAML and JSON with Megatron's names, those of relatives, and switches
 * by their opposites. */
enum err megatron_args_key(struct megatron_args *args,
                           const struct args_key *key, struct err_msg *msg)
{
    struct megatron_flags *f = megatron_args_flags(args);
    bool opposite = false;
    const char *before = f->from;
    const char *name = keys_dashes(args, key->key + strspn(key->key, "-"));
    if (!name)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", key->from);
    enum flag_id id = flag_by_name(name, strlen(name));
    const struct foreign_flag *row = foreign_find(name, strlen(name));
    if (id == FLAG_NONE && row && row->kind == FOREIGN_SAME &&
        !(keys_no(key->text) && !key->unknown)) {
        const struct args_value value = {key->key, key->text};
        megatron_args_foreign(args, row, &value);
        id = row->flag;
    }
    if (id == FLAG_NONE && !row)
        id = keys_opposite(name, &opposite);
    f->from = key->from;
    enum err e = ERR_OK;
    if (id != FLAG_NONE)
        e = keys_set(args, id, key, opposite, msg);
    else
        keys_other(args, name, key);
    f->from = before;
    return e;
}

/* ---- JSON ---- */

/* Messages name the key as the file has it, with underscores. */
static enum err key_error(struct megatron_args *args, const char *key,
                          const char *wanted, struct err_msg *msg)
{
    return err_set(msg, ERR_PARSE, "%s: %s: want %s",
                   megatron_args_flags(args)->where, key, wanted);
}

/* A key that Megatron has as a flag without effect here: kept as it is. */
static enum err pass_key(struct megatron_args *args, const cJSON *item,
                         const char *name, struct err_msg *msg)
{
    const char *text = NULL;
    enum flag_json is =
        flag_from_json(megatron_args_flags(args)->arena, item, &text);
    if (is == FLAG_JSON_OFF)
        return ERR_OK;
    if (is == FLAG_JSON_BAD)
        return key_error(args, item->string, "a value or a list", msg);
    if (is != FLAG_JSON_ON && !text)
        return err_set(msg, ERR_NOMEM, "%s: out of memory",
                       megatron_args_flags(args)->where);
    const struct flag_passed flag = {
        .name = name, .text = text, .words = is == FLAG_JSON_WORDS};
    return flags_pass(megatron_args_flags(args), &flag, msg);
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
    enum flag_json is =
        flag_from_json(megatron_args_flags(args)->arena, item, &text);
    if (is == FLAG_JSON_OFF)
        flags_clear(megatron_args_flags(args), id);
    else if (!suits(type, is, item))
        return key_error(args, item->string,
                         type == FLAG_TYPE_BOOL  ? "true or false"
                         : type == FLAG_TYPE_INT ? "an integer"
                                                 : "a value",
                         msg);
    else if (is == FLAG_JSON_ON)
        flags_set_on(megatron_args_flags(args), id);
    else if (!text)
        return err_set(msg, ERR_NOMEM, "%s: out of memory",
                       megatron_args_flags(args)->where);
    else
        return flags_set(megatron_args_flags(args), id, text, msg);
    return ERR_OK;
}

/* Suggestions come in the spelling of the file: underscores. */
static enum err unknown_key(struct megatron_args *args, const cJSON *item,
                            const char *name, struct err_msg *msg)
{
    char near[NAMES_MAX_BYTES];
    megatron_args_nearest(name, near);
    for (char *p = near; *p; p++)
        *p = *p == '-' ? '_' : *p;
    return err_set(msg, ERR_PARSE, "%s: unknown key '%s'%s%s%s",
                   megatron_args_flags(args)->where, item->string,
                   *near ? ", did you mean '" : "", near, *near ? "'?" : "");
}

/* A flag of another project. Model files are written for this program: one
 * that changes the model and is not understood is an error. */
static enum err foreign_key(struct megatron_args *args, const cJSON *item,
                            const struct foreign_flag *row, const char *name,
                            struct err_msg *msg)
{
    struct args_value value = {.spelled = item->string};
    enum flag_json is =
        flag_from_json(megatron_args_flags(args)->arena, item, &value.text);
    if (is == FLAG_JSON_OFF || foreign_is_harmless(row, value.text))
        return ERR_OK;
    if (row->kind == FOREIGN_CHANGE)
        return err_set(msg, ERR_PARSE, "%s: %s: %s",
                       megatron_args_flags(args)->where, item->string,
                       row->text);
    megatron_args_foreign(args, row, &value);
    return row->kind == FOREIGN_SAME ? set_typed(args, row->flag, item, msg)
                                     : pass_key(args, item, name, msg);
}

/* Model files spell flags as Python does, so that they can be pasted from a
 * configuration class. A name with dashes is no key of a model file, even where
 * Megatron has such a flag. */
static enum err take_key(struct megatron_args *args, const cJSON *item,
                         struct err_msg *msg)
{
    const char *name = keys_dashes(args, item->string);
    if (!name)
        return err_set(msg, ERR_NOMEM, "%s: out of memory",
                       megatron_args_flags(args)->where);
    if (strchr(item->string, '-'))
        return unknown_key(args, item, name, msg);
    enum flag_id id = flag_by_name(name, strlen(name));
    const struct foreign_flag *row = foreign_find(name, strlen(name));
    if (id == FLAG_NONE && row)
        return foreign_key(args, item, row, name, msg);
    if (id == FLAG_NONE && megatron_known(name, strlen(name)) != KNOWN_NOT)
        return pass_key(args, item, name, msg);
    if (id == FLAG_NONE)
        return unknown_key(args, item, name, msg);
    enum err e = set_typed(args, id, item, msg);
    megatron_args_warn_row(args, id);
    return e;
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

/* Keys that nobody knows are errors here: the format is ours. */
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

/* A flag of a case without a row: warned of or a change, as on a command
 * line; *id is the row that means the same. */
static void case_other(struct megatron_args *args, const cJSON *item,
                       const char *text, enum flag_id *id)
{
    const char *name = item->string + 2;
    const struct foreign_flag *row = foreign_find(name, strlen(name));
    const struct args_value value = {item->string, text};
    if (row) {
        megatron_args_foreign(args, row, &value);
        *id = row->kind == FOREIGN_SAME ? row->flag : FLAG_NONE;
    } else if (megatron_known(name, strlen(name)) == KNOWN_NOT) {
        megatron_args_nobody_knows(args, name, item->string);
    }
}

/* One flag of a case; its text is read as on a command line. */
static enum err take_case_flag(struct megatron_args *args, const cJSON *item,
                               struct err_msg *msg)
{
    const char *text = NULL;
    enum flag_json is =
        flag_from_json(megatron_args_flags(args)->arena, item, &text);
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
    const bool ours = id != FLAG_NONE;
    if (!ours)
        case_other(args, item, text, &id);
    enum err e =
        id == FLAG_NONE ? ERR_OK : megatron_args_set(args, id, text, msg);
    if (ours)
        megatron_args_warn_row(args, id);
    return e;
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
