/*
 * How it works: options_take() reads one option and moves on; options_read()
 * repeats it and sorts the other words into operands and rest. Uses are kept
 * in their order, so that lists need no array of their own: the last use is
 * the value.
 */
#include "options.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

// where the help of a row begins: behind the longest usual name and value
enum { OPTIONS_HELP_COLUMN = 23, OPTIONS_HELP_WIDTH = 80 };

/* Rows are the program's; a command knows its own only. */
static bool option_is_taken(const struct option_spec *s, int id)
{
    if (!s->takes)
        return true;
    for (const int *t = s->takes; *t != s->n_rows; t++)
        if (*t == id)
            return true;
    return false;
}

/* The whole name: abbreviations would change meaning as options are added. */
static bool option_is_named(const char *name, const char *word, size_t len)
{
    return name && strlen(name) == len && memcmp(name, word, len) == 0;
}

int options_find(const struct option_spec *spec, const char *word)
{
    size_t len = strcspn(word, "=");
    for (int i = 0; i < spec->n_rows; i++)
        if ((option_is_named(spec->rows[i].name, word, len) ||
             option_is_named(spec->rows[i].alias, word, len)) &&
            option_is_taken(spec, i))
            return i;
    return -1;
}

/* The name nearest to the word up to '=', among those that the command takes.
 */
static const char *option_nearest(struct arena *a,
                                  const struct option_spec *spec,
                                  const char *word)
{
    const char *bare = arena_strndup(a, word, strcspn(word, "="));
    const char **names = arena_alloc(a, (size_t)spec->n_rows, sizeof *names);
    size_t n = 0;
    for (int i = 0; names && i < spec->n_rows; i++)
        if (option_is_taken(spec, i))
            names[n++] = spec->rows[i].name;
    return bare && names ? text_nearest(bare, names, n) : NULL;
}

/* The arena is its own: suggestions are made where only a message is wanted. */
static enum err option_unknown(const struct option_spec *spec, const char *word,
                               struct err_msg *msg)
{
    struct arena a;
    arena_init(&a);
    const char *near = option_nearest(&a, spec, word);
    enum err e =
        err_set(msg, ERR_PARSE, "unknown option '%s'%s%s%s; see %s%s%s --help",
                word, near ? ", did you mean '" : "", near ? near : "",
                near ? "'?" : "", spec->program, spec->command ? " " : "",
                spec->command ? spec->command : "");
    arena_clear(&a);
    return e;
}

enum err options_unknown_command(const char *program, const char *word,
                                 const char *const *names, size_t n_names,
                                 struct err_msg *msg)
{
    const char *near = text_nearest(word, names, n_names);
    return err_set(msg, ERR_PARSE, "unknown command '%s'%s%s%s; see %s --help",
                   word, near ? ", did you mean '" : "", near ? near : "",
                   near ? "'?" : "", program);
}

/* "--name value" and "--name=value". A value that looks like an option is taken
 * only in the second form. */
enum err options_take(const struct option_spec *spec, struct option_line *line,
                      struct option_use *out, struct err_msg *msg)
{
    const char *word = line->argv[line->at], *equals = strchr(word, '=');
    int id = options_find(spec, word);
    if (id < 0)
        return option_unknown(spec, word, msg);
    const struct option_row *row = &spec->rows[id];
    if (!*row->value && equals)
        return err_set(msg, ERR_PARSE, "%s: takes no value", row->name);
    line->at++;
    *out = (struct option_use){id, ""};
    if (!*row->value)
        return ERR_OK;
    // "--out --quiet" is a forgotten folder, not one of that name
    const char *next = line->at < line->argc ? line->argv[line->at] : NULL;
    if (!equals && (!next || strcmp(next, "--") == 0))
        return err_set(msg, ERR_PARSE, "%s: value missing, want %s", row->name,
                       row->value);
    if (!equals && text_starts(next, "--"))
        return err_set(msg, ERR_PARSE,
                       "%s: value missing before '%s', want %s; if that is the "
                       "value, write %s=%s",
                       row->name, next, row->value, row->name, next);
    out->text = equals ? equals + 1 : line->argv[line->at++];
    return ERR_OK;
}

/* A synopsis of several lines in one: every run of blanks is one. */
static void option_flatten(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; *text && n + 1 < size; text++) {
        const bool blank = *text == ' ' || *text == '\n';
        if (!blank || (n > 0 && out[n - 1] != ' '))
            out[n++] = blank ? ' ' : *text;
    }
    out[n] = '\0';
}

enum err options_operand_too_many(const struct option_spec *spec,
                                  const char *word, struct err_msg *msg)
{
    char usage[512];
    option_flatten(spec->synopsis, usage, sizeof usage);
    return err_set(msg, ERR_PARSE, "'%s' is one too many; usage: %s %s", word,
                   spec->program, usage);
}

static enum err option_take_operand(struct options *o, const char *word,
                                    struct err_msg *msg)
{
    const struct option_spec *s = o->spec;
    if (s->max_operands != OPTIONS_ANY && o->n_operands == s->max_operands)
        return options_operand_too_many(s, word, msg);
    o->operands[o->n_operands++] = word;
    return ERR_OK;
}

/* What follows "--". */
static enum err option_take_rest(struct options *o, struct option_line *line,
                                 struct err_msg *msg)
{
    enum err e = ERR_OK;
    o->has_rest = true;
    if (o->spec->keeps_rest) {
        o->rest = line->argv + line->at;
        o->n_rest = line->argc - line->at;
        return ERR_OK;
    }
    while (line->at < line->argc && e == ERR_OK)
        e = option_take_operand(o, line->argv[line->at++], msg);
    return e;
}

/* "-" alone is an operand: the usual name of standard input. */
static bool option_is_option(const struct option_spec *s, const char *word)
{
    return word[0] == '-' && word[1] != '\0' &&
           !(s->is_operand && options_find(s, word) < 0 && s->is_operand(word));
}

/* A negative number where an operand is wanted needs "--" before it: no command
 * takes one. */
static enum err options_read_line(struct options *o, struct option_line *line,
                                  struct err_msg *msg)
{
    enum err e = ERR_OK;
    while (line->at < line->argc && e == ERR_OK) {
        const char *word = line->argv[line->at];
        if (strcmp(word, "--") == 0) {
            line->at++;
            return option_take_rest(o, line, msg);
        }
        bool is_option = option_is_option(o->spec, word);
        if (!is_option && o->spec->operand_ends)
            return option_take_rest(o, line, msg);
        if (is_option)
            e = options_take(o->spec, line, &o->uses[o->n_uses], msg);
        else
            e = option_take_operand(o, line->argv[line->at++], msg);
        o->n_uses += e == ERR_OK && is_option;
    }
    return e;
}

enum err options_read(struct arena *a, const struct option_spec *spec,
                      struct option_line line, struct options *out,
                      struct err_msg *msg)
{
    // no line has more uses or operands than words
    size_t n = (size_t)line.argc + 1;
    struct options o = {.spec = spec,
                        .uses = arena_alloc(a, n, sizeof *o.uses),
                        .operands = arena_alloc(a, n, sizeof *o.operands)};
    if (!o.uses || !o.operands)
        return err_set(msg, ERR_NOMEM, "options: out of memory");
    enum err e = options_read_line(&o, &line, msg);
    if (e == ERR_OK)
        *out = o;
    return e;
}

/* ---- values ---- */

/* From the end: the last of several wins, as in a script that adds to another
 * one's line. */
const char *options_text(const struct options *o, int id)
{
    for (int i = o->n_uses; i-- > 0;)
        if (o->uses[i].id == id)
            return o->uses[i].text;
    return NULL;
}

bool options_given(const struct options *o, int id)
{
    return options_text(o, id) != NULL;
}

int options_each(const struct options *o, int id, const char **out)
{
    int n = 0;
    for (int i = 0; i < o->n_uses; i++) {
        if (o->uses[i].id != id)
            continue;
        if (out)
            out[n] = o->uses[i].text;
        n++;
    }
    return n;
}

enum err options_int(const struct options *o, int id,
                     struct options_whole range, int64_t *out,
                     struct err_msg *msg)
{
    const char *name = o->spec->rows[id].name, *text = options_text(o, id);
    int64_t v;
    if (!text)
        return ERR_OK;
    if (!text_to_int64(text, &v))
        return err_set(msg, ERR_PARSE, "%s: got '%s', want an integer", name,
                       text);
    if (v < range.lo || v > range.hi)
        return err_set(msg, ERR_RANGE, "%s: got %lld, want %lld to %lld", name,
                       (long long)v, (long long)range.lo, (long long)range.hi);
    *out = v;
    return ERR_OK;
}

enum err options_double(const struct options *o, int id,
                        struct options_number range, double *out,
                        struct err_msg *msg)
{
    const char *name = o->spec->rows[id].name, *text = options_text(o, id);
    double v;
    if (!text)
        return ERR_OK;
    if (!text_to_double(text, &v))
        return err_set(msg, ERR_PARSE, "%s: got '%s', want a number", name,
                       text);
    if (v < range.lo || v > range.hi)
        return err_set(msg, ERR_RANGE, "%s: got %g, want %g to %g", name, v,
                       range.lo, range.hi);
    *out = v;
    return ERR_OK;
}

/* ---- help ---- */

/* The text, broken between words before OPTIONS_HELP_WIDTH; `column` is where
 * the cursor stands. */
static void option_print_wrapped(const char *text, int column, FILE *out)
{
    bool first = true;
    while (*text) {
        int len = (int)strcspn(text, " ");
        if (!first && column + 1 + len > OPTIONS_HELP_WIDTH) {
            fprintf(out, "\n%*s", OPTIONS_HELP_COLUMN, "");
            column = OPTIONS_HELP_COLUMN;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", len, text);
        column += len;
        text += len + (text[len] == ' ');
        first = false;
    }
    fputc('\n', out);
}

/* Name, other name and value; the help below them where they are too long. */
static void option_print_row(const struct option_row *r, FILE *out)
{
    int n = 2 + (int)strlen(r->name);
    fprintf(out, "  %s", r->name);
    if (r->alias)
        n += fprintf(out, ", %s", r->alias);
    if (*r->value)
        n += fprintf(out, " %s", r->value);
    if (n >= OPTIONS_HELP_COLUMN) {
        fputc('\n', out);
        n = 0;
    }
    fprintf(out, "%*s", OPTIONS_HELP_COLUMN - n, "");
    option_print_wrapped(r->help, OPTIONS_HELP_COLUMN, out);
}

void options_print(const struct option_spec *spec, FILE *out)
{
    const int *t = spec->takes;
    for (int i = 0; t ? *t != spec->n_rows : i < spec->n_rows; i++)
        option_print_row(&spec->rows[t ? *t++ : i], out);
}
