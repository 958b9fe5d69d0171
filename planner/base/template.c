/*
 * How it works: from left to right, every variable is cut out, its name and
 * default told apart, and what it stands for put in its place, in which
 * variables are looked for again. Steps are counted over the whole value, so
 * that names that stand for one another end.
 */
#include "template.h"

#include "text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

struct template_run {
    struct arena *arena;
    const struct template_source *from;
    int steps;
    const char *missing;
    bool no_memory;
};

/* A variable of a text: from `begin`, `len` bytes, its inside cut out. */
struct template_var {
    size_t begin, len;
    const char *inside;
    bool shell; // $NAME and ${...}; else a template's, which nobody fills
};

static size_t template_word(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return 0;
    size_t n = 1;
    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    return n;
}

/* Bytes up to the end of what the bracket at `text` opens; 0: no end. */
static size_t template_bracket(const char *text, char open, char close)
{
    int depth = 0;
    for (size_t n = 0; text[n]; n++) {
        depth += (text[n] == open) - (text[n] == close);
        if (depth == 0)
            return n + 1;
    }
    return 0;
}

/* Is a variable here? Its length, and its inside by `skip` bytes at the front
 * and `drop` at the end. */
static size_t template_here(const char *p, bool whole, size_t *skip,
                            size_t *drop)
{
    *skip = 2;
    *drop = 1;
    if (text_starts(p, "${"))
        return 1 + template_bracket(p + 1, '{', '}');
    if (text_starts(p, "$("))
        return 1 + template_bracket(p + 1, '(', ')');
    if (text_starts(p, "{{")) {
        const char *end = strstr(p, "}}");
        *drop = 2;
        return end ? (size_t)(end - p) + 2 : 0;
    }
    if (*p == '{' && whole) {
        size_t n = template_word(p + 1);
        *skip = 1;
        return n && strcmp(p + 1 + n, "}") == 0 ? n + 2 : 0;
    }
    *skip = 1;
    *drop = 0;
    return *p == '$' && template_word(p + 1) ? 1 + template_word(p + 1) : 0;
}

/* The first variable of the text. */
static bool template_find(struct template_run *run, const char *text,
                          struct template_var *out)
{
    for (const char *p = text; *p; p++) {
        size_t skip, drop;
        size_t n = template_here(p, p == text, &skip, &drop);
        // nothing closes it: no variable begins behind it, either
        if (n <= 1 && (text_starts(p, "{{") || text_starts(p, "${") ||
                       text_starts(p, "$(")))
            return false;
        if (n <= skip + drop)
            continue;
        *out = (struct template_var){
            .begin = (size_t)(p - text),
            .len = n,
            .inside = arena_strndup(run->arena, p + skip, n - skip - drop),
            .shell = *p == '$' && p[1] != '('};
        run->no_memory = run->no_memory || !out->inside;
        return out->inside != NULL;
    }
    return false;
}

/* Names of the environment are in capitals; what else has a colon is a function
 * of OmegaConf. */
static bool template_is_capital(const char *name)
{
    for (; *name; name++)
        if (!isupper((unsigned char)*name) && !isdigit((unsigned char)*name) &&
            *name != '_')
            return false;
    return true;
}

/* Parts a variable's inside into its name and its default, or NULL. */
static const char *template_default(struct template_run *run,
                                    const char *inside, const char **out)
{
    *out = NULL;
    bool env = text_starts(inside, "oc.env:") || text_starts(inside, "env:");
    inside = env ? strchr(inside, ':') + 1 : inside;
    size_t n = strcspn(inside, env ? "," : ":");
    char *name = arena_strndup(run->arena, inside, n);
    if (!name || !inside[n])
        return name;
    const char *rest = inside + n + 1;
    if (env)
        *out = rest + strspn(rest, " ");
    else if (*rest == '-' || *rest == '=')
        *out = rest + 1;
    else if (template_is_capital(name))
        *out = rest;
    else
        return inside; // a function: no name that anybody knows
    return name;
}

/* What stands for the variable; NULL: not known. */
static const char *template_value(struct template_run *run,
                                  const struct template_var *var)
{
    const char *standard;
    if (!var->shell || ++run->steps > TEMPLATE_MAX_STEPS)
        return NULL;
    const char *name = template_default(run, var->inside, &standard);
    run->no_memory = run->no_memory || !name;
    if (!name)
        return NULL;
    const char *value = run->from->find(run->from->data, name);
    if (!value && standard)
        run->from->assume(run->from->data, name, standard);
    return value ? value : standard;
}

/* From the left, over and over: a value may hold variables itself. Steps and
 * length are bounded, so that one that names itself ends. */
enum err template_expand(struct arena *a, const char *text,
                         const struct template_source *from,
                         struct template_text *out, struct err_msg *msg)
{
    struct template_run run = {.arena = a, .from = from};
    struct template_var var;
    while (!run.missing && template_find(&run, text, &var)) {
        const char *value = template_value(&run, &var);
        if (value && strlen(text) + strlen(value) > TEMPLATE_MAX_BYTES)
            value = NULL;
        if (!value)
            run.missing = arena_strndup(a, text + var.begin, var.len);
        else
            text = arena_printf(a, "%.*s%s%s", (int)var.begin, text, value,
                                text + var.begin + var.len);
        if (run.no_memory || !text || (!value && !run.missing))
            return err_set(msg, ERR_NOMEM, "a value: out of memory");
    }
    if (run.no_memory)
        return err_set(msg, ERR_NOMEM, "a value: out of memory");
    *out = (struct template_text){run.missing ? NULL : text, run.missing};
    return ERR_OK;
}
