/*
 * How it works: a member becomes a key of args (args_keys.c): a text, of a list
 * its members, with the place it comes from. Which maps are read, and what else
 * their keys are called, is the form's matter (dialect).
 */
#include "yaml.h"

#include "base/template.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

static enum err yaml_no_memory(struct yaml_source *y)
{
    return err_set(y->msg, ERR_NOMEM, "%s: out of memory", y->where);
}

static enum err yaml_bad(struct yaml_source *y, const struct tree *at,
                         const char *what)
{
    return err_set(y->msg, ERR_PARSE, "%s:%d:%d: %s", y->where, at->line,
                   at->column, what);
}

/* ---- variables ---- */

/* What the expansion of one value needs to tell. */
struct yaml_value {
    struct yaml_source *y;
    const struct tree *node;
};

/* The value that the user gives a variable; the last one counts. */
static const char *yaml_set(const struct yaml_source *y, const char *name)
{
    const size_t n = strlen(name);
    for (int i = y->n_set; i-- > 0;)
        if (strncmp(y->set[i], name, n) == 0 && y->set[i][n] == '=')
            return y->set[i] + n + 1;
    return NULL;
}

/* What the user says, else from the top, or, behind a dot, in the map that the
 * value stands in. */
static const char *yaml_find(void *data, const char *name)
{
    const struct yaml_value *v = data;
    const char *set = yaml_set(v->y, name);
    if (set)
        return set;
    const struct tree *found = *name == '.' ? tree_get(v->y->map, name + 1)
                                            : tree_find(v->y->top, name);
    // Megatron's CI exports these before its shell reads the values
    if (!found)
        found = tree_get(tree_get(v->y->top, "ENV_VARS"), name);
    return found && found != v->node ? tree_text(found) : NULL;
}

static void yaml_assume(void *data, const char *name, const char *value)
{
    const struct yaml_value *v = data;
    char line[256];
    struct account *account = megatron_args_account(v->y->args);
    // of what decides nothing here, nobody needs to know
    if (v->node->key && strcmp(v->node->key, "model") != 0 &&
        !megatron_args_has(v->node->key))
        return;
    snprintf(line, sizeof line,
             "%.80s:%d: %.60s is not known, its default %.60s is taken",
             v->y->where, v->node->line, name, value);
    account_add(account, &account->assumed, line);
}

static const char *yaml_from(struct yaml_source *y, const struct tree *at)
{
    return arena_printf(y->arena, "%s:%d", y->where, at->line);
}

/* Off a value with the same quotes at both ends. */
static const char *yaml_unquote(struct yaml_source *y, const char *text)
{
    size_t n = strlen(text);
    bool quoted = n >= 2 && (*text == '\'' || *text == '"') &&
                  text[n - 1] == *text && !memchr(text + 1, *text, n - 2);
    return quoted ? arena_strndup(y->arena, text + 1, n - 2) : text;
}

enum err yaml_text(struct yaml_source *y, const struct tree *node,
                   const char **out, const struct flag_unknown **unknown)
{
    struct yaml_value value = {y, node};
    const struct template_source from = {yaml_find, yaml_assume, &value};
    struct template_text expanded;
    *out = NULL;
    if (!tree_text(node))
        return ERR_OK;
    const char *text = yaml_unquote(y, node->text);
    if (!text)
        return yaml_no_memory(y);
    enum err e = template_expand(y->arena, text, &from, &expanded, y->msg);
    if (e != ERR_OK)
        return e;
    *out = expanded.text;
    // a default that says null is null
    if (expanded.text && expanded.text != text &&
        strcmp(expanded.text, "null") == 0)
        *out = NULL;
    if (!expanded.missing || !unknown)
        return ERR_OK;
    struct flag_unknown *u = arena_alloc(y->arena, 1, sizeof *u);
    const char *where = yaml_from(y, node);
    if (!u || !where)
        return yaml_no_memory(y);
    *u = (struct flag_unknown){where, expanded.missing};
    *unknown = u;
    return ERR_OK;
}

/* ---- values ---- */

/* Members of a list as texts; a variable that is not known makes the whole so.
 */
static enum err yaml_members(struct yaml_source *y, const struct tree *list,
                             const char **out, struct args_key *key)
{
    for (const struct tree *c = list->child; c; c = c->next, out++) {
        if (c->kind != TREE_TEXT)
            return yaml_bad(y, c, "want a list of plain values");
        enum err e = yaml_text(y, c, out, &key->unknown);
        if (e != ERR_OK)
            return e;
        *out = *out ? *out : "None";
    }
    return ERR_OK;
}

/* The texts with `comma` between them; NULL when out of memory. */
static const char *yaml_join(struct yaml_source *y, const char *const *texts,
                             size_t n, char comma)
{
    size_t len = 1;
    for (size_t i = 0; i < n; i++)
        len += strlen(texts[i]) + 1;
    char *all = arena_alloc(y->arena, len, 1), *end = all;
    for (size_t i = 0; i < n && all; i++) {
        size_t one = strlen(texts[i]);
        memcpy(end, texts[i], one);
        end += one;
        if (i + 1 < n)
            *end++ = comma;
    }
    if (all)
        *end = '\0';
    return all;
}

/* A list as one text, twice: parted by blanks, and as Python writes it. */
static enum err yaml_list(struct yaml_source *y, const struct tree *list,
                          struct args_key *key)
{
    size_t n = 0;
    for (const struct tree *c = list->child; c; c = c->next)
        n++;
    const char **texts = arena_alloc(y->arena, n + 1, sizeof *texts);
    if (!texts)
        return yaml_no_memory(y);
    enum err e = yaml_members(y, list, texts, key);
    if (e != ERR_OK)
        return e;
    key->text = yaml_join(y, texts, n, ' ');
    const char *python = yaml_join(y, texts, n, ',');
    key->list = python ? arena_printf(y->arena, "[%s]", python) : NULL;
    return key->text && key->list ? ERR_OK : yaml_no_memory(y);
}

/* `--swiglu:` with nothing behind it is a switch; `null` is none. */
static bool yaml_is_bare(const struct tree *node)
{
    return node->kind == TREE_TEXT && node->plain && !*node->text &&
           text_starts(node->key, "--");
}

/* Is the value anything that a flag takes? Configurations hold maps and lists
 * of maps for other readers. */
static bool yaml_is_value(const struct tree *node)
{
    bool value = node->kind != TREE_MAP;
    for (const struct tree *c = node->kind == TREE_LIST ? node->child : NULL;
         c && value; c = c->next)
        value = c->kind == TREE_TEXT;
    return value;
}

static bool yaml_same_key(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b)))
            return false;
    return *a == *b;
}

/* Another name of the form, or the key itself. */
static const char *yaml_rename(const struct yaml_source *y, const char *key)
{
    for (const struct yaml_name *n = y->names; n && n->key; n++)
        if (yaml_same_key(n->key, key))
            return n->name;
    return key;
}

/* "!name" of a switch: its opposite. What says neither is refused later. */
static void yaml_turn(struct args_key *key)
{
    bool yes;
    if (*key->key != '!')
        return;
    key->key++;
    if (key->text && tree_word_bool(key->text, &yes))
        key->text = yes ? "false" : "true";
}

/* Megatron's CI hands the flag the word, which argparse refuses. */
static void yaml_tell_no(struct yaml_source *y, const struct tree *node)
{
    char line[256];
    snprintf(line, sizeof line,
             "%.80s:%d: %.80s %.10s: a switch of Megatron takes no value; it "
             "is read as not given",
             y->where, node->line, node->key, node->text);
    megatron_args_warn(y->args, node->key, line);
}

/* What a scalar is to Python's reader: `no` and `off` are false; what stands in
 * quotes is a text, which is true whatever it says, so that it is refused of a
 * switch; 010 is eight. Megatron's CI has its own way: switches alone have such
 * words, other flags get them as texts, and quotes make no difference. */
static enum err yaml_scalar(struct yaml_source *y, const struct tree *node,
                            struct args_key *key)
{
    bool yes = false, is_ci = text_starts(node->key, "--");
    bool is_switch = megatron_args_is_switch(key->key + (*key->key == '!'));
    bool says = key->text && tree_word_bool(key->text, &yes);
    // a value that came of a variable was a text before
    bool is_python = !is_ci && key->text && strcmp(key->text, node->text) == 0;
    if (says && !node->plain && is_switch && is_python && !yes)
        return yaml_bad(y, node,
                        "in quotes it is a text, which Python takes for true: "
                        "want true or false without quotes");
    const char *digits = key->text ? key->text : "";
    if (is_python && node->plain && *digits == '0' && digits[1] &&
        !digits[strspn(digits, "01234567")])
        return yaml_bad(y, node,
                        "YAML reads digits behind a 0 in base 8: want a number "
                        "without it");
    if (says && (node->plain || is_ci) && (is_switch || !is_ci))
        key->text = yes ? "true" : "false";
    if (says && is_ci && is_switch && !yes)
        yaml_tell_no(y, node);
    return ERR_OK;
}

/* The last part of a key with dots, where it is one of ours; "" where it is
 * not.
 */
static const char *yaml_last_part(const char *key)
{
    const char *dot = strrchr(key, '.');
    if (!dot)
        return key;
    return megatron_args_has(dot + 1) ? dot + 1 : "";
}

enum err yaml_take(struct yaml_source *y, const struct tree *member)
{
    struct args_key key = {.key = yaml_last_part(yaml_rename(y, member->key)),
                           .quiet = y->quiet};
    if (++y->steps > TREE_MAX_NODES)
        return yaml_bad(y, member, "too many values for a configuration");
    if (!*key.key || (y->defaults && !megatron_args_has(key.key) &&
                      !megatron_args_is_switch(key.key)))
        return ERR_OK;
    if (!yaml_is_value(member)) {
        if (!y->quiet && megatron_args_has(key.key))
            return yaml_bad(y, member,
                            member->kind == TREE_MAP
                                ? "want a value or a list of values for the "
                                  "flag"
                                : "want a list of plain values");
        return ERR_OK;
    }
    enum err e = member->kind == TREE_LIST
                     ? yaml_list(y, member, &key)
                     : yaml_text(y, member, &key.text, &key.unknown);
    key.from = yaml_from(y, member);
    if (e == ERR_OK && !key.from)
        e = yaml_no_memory(y);
    if (e == ERR_OK && member->kind == TREE_TEXT)
        e = yaml_scalar(y, member, &key);
    if (yaml_is_bare(member))
        key.text = "true";
    yaml_turn(&key);
    return e == ERR_OK ? megatron_args_key(y->args, &key, y->msg) : e;
}

/* Python's reader takes the last value without a word. */
static void yaml_tell_twice(struct yaml_source *y, const struct tree *member)
{
    char line[256], name[128];
    if (!member->twice)
        return;
    snprintf(
        line, sizeof line,
        "%.80s:%d: %.80s is there twice, line %d before: the last one counts",
        y->where, member->line, member->key, member->twice);
    snprintf(name, sizeof name, "twice %.80s", member->key);
    megatron_args_warn(y->args, name, line);
}

enum err yaml_take_map(struct yaml_source *y, const struct tree *map, bool deep)
{
    enum err e = ERR_OK;
    const struct tree *outer = y->map;
    if (!map || map->kind != TREE_MAP)
        return ERR_OK;
    y->map = map;
    for (const struct tree *c = map->child; c && e == ERR_OK; c = c->next) {
        yaml_tell_twice(y, c);
        bool inner = deep && c->kind == TREE_MAP;
        if (inner && ++y->steps > TREE_MAX_NODES)
            return yaml_bad(y, c, "too many values for a configuration");
        e = inner ? yaml_take_map(y, c, true) : yaml_take(y, c);
    }
    y->map = outer;
    return e;
}
