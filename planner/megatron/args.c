/*
 * How it works: every row of megatron_flags.h has one slot with its text.
 * Flags of a command line, keys of a model file and facts from other sources
 * fill the same slots; megatron_model reads them once all are known, because
 * defaults depend on other flags.
 */
#include "args.h"

#include "base/json.h"
#include "base/text.h"
#include "flags.h"
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
};

struct megatron_args *megatron_args_new(struct arena *a)
{
    struct megatron_args *args = arena_alloc(a, 1, sizeof *args);
    if (args) {
        args->f.arena = a;
        args->f.where = "";
    }
    return args;
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
    if (args->warn)
        args->warn(args->data, line);
}

/* Known, but what it does to the model is not in this program. */
static void warn_unmodelled(struct megatron_args *args, enum flag_id id)
{
    char line[256];
    if (flag_effect(id) != FX_UNMODELLED)
        return;
    snprintf(line, sizeof line,
             "--%s: what it changes is not modelled, sizes and costs are those "
             "without it",
             flag_name(id));
    megatron_args_warn(args, flag_name(id), line);
}

/* Nearest name of either list, in `name`; "" when none is near. */
static void megatron_args_nearest(const char *word, char *name, size_t size)
{
    char known[80];
    megatron_known_nearest(word, known, sizeof known);
    const char *pair[2] = {flag_nearest(word), known};
    const char *best = pair[0] ? text_nearest(word, pair, 2) : known;
    snprintf(name, size, "%s", best ? best : "");
}

/* ---- taking flags ---- */

/* A value may begin with a dash when it is a negative number. */
static bool is_flag(const char *word)
{
    return text_starts(word, "--") && word[2] != '\0';
}

static enum err take_words(struct megatron_args *args, enum flag_id id,
                           char *const *argv, int argc, int *i)
{
    char *all = arena_strdup(args->f.arena, "");
    while (all && *i + 1 < argc && !is_flag(argv[*i + 1])) {
        all = arena_printf(args->f.arena, "%s%s%s", all, *all ? " " : "",
                           argv[*i + 1]);
        ++*i;
    }
    args->f.text[id] = all;
    return all ? ERR_OK : ERR_NOMEM;
}

enum err megatron_args_take(struct megatron_args *args, char *const *argv,
                            int argc, int *i, bool *known, struct err_msg *msg)
{
    *known = false;
    const char *word = argv[*i];
    if (!is_flag(word))
        return ERR_OK;
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) - 2 : strlen(word + 2);
    enum flag_id id = flag_by_name(word + 2, len);
    if (id == NO_FLAG)
        return ERR_OK;
    *known = true;
    enum err e = ERR_OK;
    warn_unmodelled(args, id);
    if (flag_type(id) == BOOL) {
        if (equals)
            return err_set(msg, ERR_PARSE, "--%s: takes no value",
                           flag_name(id));
        args->f.text[id] = "true";
    } else if (equals) {
        e = flags_set(&args->f, id, equals + 1, msg);
    } else if (flag_type(id) == WORDS) {
        e = take_words(args, id, argv, argc, i);
    } else {
        if (*i + 1 >= argc || is_flag(argv[*i + 1]))
            return err_set(msg, ERR_PARSE, "--%s: value missing",
                           flag_name(id));
        e = flags_set(&args->f, id, argv[++*i], msg);
    }
    if (e == ERR_OK)
        ++*i;
    return e;
}

/* A word that no list has: an error when strict, else told of once. */
static enum err megatron_args_unknown(struct megatron_args *args,
                                      const char *word, bool strict,
                                      struct err_msg *msg)
{
    char line[400], name[80], near[80] = "";
    if (!strict && !args->warn)
        return ERR_OK;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    if (is_flag(word))
        megatron_args_nearest(name + 2, near, sizeof near);
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

/* Moves *i behind a flag that has no effect here and its values; false when
 * the flag is not known to be one. */
static bool pass_known(char *const *argv, int argc, int *i)
{
    const char *word = argv[*i];
    if (!is_flag(word))
        return false;
    size_t len = strcspn(word + 2, "=");
    enum known_values values = megatron_known(word + 2, len);
    if (values == KNOWN_NOT)
        return false;
    int most = word[2 + len] == '=' || values == KNOWN_SWITCH ? 0
               : values == KNOWN_ONE                          ? 1
                                                              : argc;
    for (++*i; *i < argc && most > 0 && !is_flag(argv[*i]); most--)
        ++*i;
    return true;
}

enum err megatron_args_read(struct megatron_args *args, char *const *argv,
                            int argc, const struct megatron_args_options *opt,
                            struct err_msg *msg)
{
    if (opt->warn)
        megatron_args_on_warning(args, opt->warn, opt->data);
    for (int i = 0; i < argc;) {
        bool known = false;
        enum err e = megatron_args_take(args, argv, argc, &i, &known, msg);
        if (e != ERR_OK)
            return e;
        if (known || pass_known(argv, argc, &i))
            continue;
        e = megatron_args_unknown(args, argv[i], opt->strict, msg);
        if (e != ERR_OK)
            return e;
        // its values, if any, go with it
        for (i++; i < argc && !is_flag(argv[i]); i++)
            ;
    }
    return ERR_OK;
}

/* ---- model files ---- */

static enum err key_error(const struct megatron_args *args, const char *key,
                          const char *wanted, struct err_msg *msg)
{
    return err_set(msg, ERR_PARSE, "%s: %s: want %s", args->f.where, key,
                   wanted);
}

/* Text of a JSON value as a flag would carry it; NULL when it cannot. */
static const char *json_value_text(struct arena *a, const cJSON *item)
{
    if (cJSON_IsString(item))
        return item->valuestring;
    if (cJSON_IsNumber(item))
        return arena_printf(a, "%.17g", item->valuedouble);
    if (!cJSON_IsArray(item))
        return NULL;
    char *text = arena_strdup(a, "[");
    const cJSON *c;
    cJSON_ArrayForEach(c, item)
    {
        if (!cJSON_IsNumber(c))
            return NULL;
        text = arena_printf(a, "%s%s%.17g", text,
                            c->prev && c != item->child ? "," : "",
                            c->valuedouble);
    }
    return arena_printf(a, "%s]", text);
}

/* A key without a row: fine when Megatron has such a flag without effect. */
static enum err unknown_key(const struct megatron_args *args, const char *key,
                            const char *name, struct err_msg *msg)
{
    char near[80];
    if (!strchr(key, '-') && megatron_known(name, strlen(name)) != KNOWN_NOT)
        return ERR_OK;
    megatron_args_nearest(name, near, sizeof near);
    for (char *p = near; *p; p++)
        *p = *p == '-' ? '_' : *p;
    return err_set(msg, ERR_PARSE, "%s: unknown key '%s'%s%s%s", args->f.where,
                   key, *near ? ", did you mean '" : "", near,
                   *near ? "'?" : "");
}

static enum err take_key(struct megatron_args *args, const cJSON *item,
                         struct err_msg *msg)
{
    char *name = arena_strdup(args->f.arena, item->string);
    if (!name)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", args->f.where);
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    enum flag_id id =
        strchr(item->string, '-') ? NO_FLAG : flag_by_name(name, strlen(name));
    if (id == NO_FLAG)
        return unknown_key(args, item->string, name, msg);
    warn_unmodelled(args, id);
    if (cJSON_IsNull(item) || cJSON_IsFalse(item)) {
        args->f.text[id] = NULL;
        return ERR_OK;
    }
    if (flag_type(id) == BOOL) {
        if (!cJSON_IsTrue(item))
            return key_error(args, item->string, "true or false", msg);
        args->f.text[id] = "true";
        return ERR_OK;
    }
    const char *text = json_value_text(args->f.arena, item);
    if (!text || (cJSON_IsString(item) && flag_type(id) < TEXT))
        return key_error(args, item->string,
                         flag_type(id) == INT ? "an integer" : "a value", msg);
    return flags_set(&args->f, id, text, msg);
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

/* ---- other sources ---- */

enum err megatron_args_set(struct megatron_args *args, const char *name,
                           const char *text, struct err_msg *msg)
{
    enum flag_id id = flag_by_name(name, strlen(name));
    if (id == NO_FLAG)
        return ERR_OK;
    if (flag_type(id) != BOOL) {
        warn_unmodelled(args, id);
        return flags_set(&args->f, id, text, msg);
    }
    bool on = strcmp(text, "true") == 0 || strcmp(text, "True") == 0;
    args->f.text[id] = on ? "true" : NULL;
    return ERR_OK;
}

void megatron_args_clear(struct megatron_args *args, const char *name)
{
    enum flag_id id = flag_by_name(name, strlen(name));
    if (id != NO_FLAG)
        args->f.text[id] = NULL;
}

enum err megatron_args_where(struct megatron_args *args, const char *where,
                             struct err_msg *msg)
{
    args->f.where = arena_strdup(args->f.arena, where);
    return args->f.where ? ERR_OK
                         : err_set(msg, ERR_NOMEM, "%s: out of memory", where);
}

/* ---- values ---- */

bool megatron_args_given(const struct megatron_args *args, const char *name)
{
    enum flag_id id = flag_by_name(name, strlen(name));
    return id != NO_FLAG && flags_given(&args->f, id);
}

const char *megatron_args_string(const struct megatron_args *args,
                                 const char *name)
{
    enum flag_id id = flag_by_name(name, strlen(name));
    return id == NO_FLAG ? NULL : flags_text(&args->f, id);
}

/* The source's own split into stages says nothing about another number of
 * them. */
static void drop_split(struct megatron_args *args,
                       const struct model_overrides *o)
{
    if (o->vpp || (o->pp && o->pp != flags_number(&args->f, PP, 1))) {
        args->f.text[LAYOUT] = NULL;
        args->f.text[LAYERS_PER_VPP] = NULL;
        args->f.text[VPP] = NULL;
    }
}

void megatron_args_override(struct megatron_args *args,
                            const struct model_overrides *o)
{
    const struct {
        enum flag_id id;
        int64_t value;
    } all[] = {
        {TP, o->tp},
        {PP, o->pp},
        {VPP, o->vpp},
        {EP, o->ep},
        {ETP, o->etp},
        {CP, o->cp},
        {WORLD_SIZE, o->world},
        {MICRO_BATCH_SIZE, o->micro_batch},
        {GLOBAL_BATCH_SIZE, o->global_batch},
        {SEQ_LENGTH, o->seq_tokens},
    };
    drop_split(args, o);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].value)
            args->f.text[all[i].id] =
                arena_printf(args->f.arena, "%lld", (long long)all[i].value);
}

enum err megatron_args_model(struct arena *a, const struct megatron_args *args,
                             struct model *out, struct err_msg *msg)
{
    return megatron_model(a, &args->f, out, msg);
}
