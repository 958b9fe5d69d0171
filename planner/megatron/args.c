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
#include "foreign.h"
#include "model.h"
#include "names.h"

#include <stdio.h>
#include <string.h>

// flags that nobody knows: those that get a suggestion, and those that are
// named
enum { ARGS_MAX_NEAREST = 100, ARGS_MAX_UNKNOWN = 1000 };

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
    bool strict;      // the words being read: unknown ones are errors
    bool underscored; // they are spelled with underscores
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
    return account_copy(a, &args->account, &copy->account) ? copy : NULL;
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

/* Once for each name: a flag may stand in a script, in its YAML and behind --.
 */
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

/* ---- words of a command line ---- */

/* A flag as a word has it. */
struct args_flag {
    const char *spelled; // the word up to '=', with its dashes
    const char *name;    // with dashes in place of underscores, none in front
    size_t len;          // of the name
    const char *equals;  // the value behind '=', or NULL
};

/* A value may begin with a dash when it is a negative number: argparse looks
 * for one, too, since no flag of Megatron looks like a number. */
static bool is_flag(const char *word)
{
    return text_starts(word, "--") && word[2] != '\0';
}

/* Config classes have the same names with underscores, and so have launchers
 * that are made of them. */
static enum err args_flag_of(struct megatron_args *args, const char *word,
                             struct args_flag *out, struct err_msg *msg)
{
    size_t len = strcspn(word, "=");
    char *spelled = arena_strndup(args->f.arena, word, len);
    char *name = arena_strndup(args->f.arena, word + 2, len - 2);
    if (!spelled || !name)
        return err_set(msg, ERR_NOMEM, "flags: out of memory");
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    *out = (struct args_flag){spelled, name, len - 2,
                              word[len] ? word + len + 1 : NULL};
    return ERR_OK;
}

/* Why the word is not known, or NULL. */
static const struct flag_unknown *args_unknown(const struct megatron_args *args,
                                               int at)
{
    return args->origin ? args->origin[at].unknown : NULL;
}

static bool args_says_yes(const char *word)
{
    return strcmp(word, "true") == 0 || strcmp(word, "True") == 0;
}

static bool args_says_no(const char *word)
{
    return strcmp(word, "false") == 0 || strcmp(word, "False") == 0;
}

/* The word behind a switch, where it says yes or no: Megatron's own switches
 * take none, those made of config classes do. */
static const char *args_yes_or_no(struct megatron_args *args,
                                  struct option_line *line,
                                  const struct args_flag *flag)
{
    if (flag->equals || line->at + 1 >= line->argc)
        return flag->equals;
    const char *next = line->argv[line->at + 1];
    if (args_unknown(args, line->at + 1) ||
        (!args_says_yes(next) && !args_says_no(next)))
        return NULL;
    line->at++;
    if (!args->underscored) {
        char text[256];
        snprintf(text, sizeof text,
                 "%.100s %s: a switch of Megatron takes no value; it is read "
                 "as %sgiven",
                 flag->spelled, next, args_says_yes(next) ? "" : "not ");
        megatron_args_warn(args, flag->spelled, text);
    }
    return next;
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

/* What is wrong with a value: an error of a command line; of a file that has
 * places it is a value that is not known, which an option may give. */
static enum err take_bad_value(struct megatron_args *args, enum flag_id id,
                               const char *text, struct err_msg *msg)
{
    const bool whole = flag_type(id) == FLAG_TYPE_INT;
    if (!args->origin && !text)
        return err_set(msg, ERR_PARSE, "--%s: value missing", flag_name(id));
    if (!args->origin)
        return flags_set(&args->f, id, text, msg);
    const char *why =
        text ? arena_printf(args->f.arena, "'%.60s' is no %s", text,
                            whole ? "integer" : "number")
             : arena_printf(args->f.arena, "no value stands behind --%s",
                            flag_name(id));
    const struct flag_unknown unknown = {args->f.from, why};
    if (!why)
        return err_set(msg, ERR_NOMEM, "flags: out of memory");
    return flags_set_unknown(&args->f, id, &unknown, msg);
}

/* One value: behind a '=' in the flag's own word, or the next word. */
static enum err take_value(struct megatron_args *args, enum flag_id id,
                           struct option_line *line, struct err_msg *msg)
{
    const char *equals = strchr(line->argv[line->at], '=');
    if (!equals &&
        (line->at + 1 >= line->argc || is_flag(line->argv[line->at + 1])))
        return take_bad_value(args, id, NULL, msg);
    line->at += !equals;
    const struct flag_unknown *unknown = args_unknown(args, line->at);
    if (unknown)
        return flags_set_unknown(&args->f, id, unknown, msg);
    const char *text = equals ? equals + 1 : line->argv[line->at];
    enum err e = flags_set(&args->f, id, text, msg);
    return e == ERR_PARSE ? take_bad_value(args, id, text, msg) : e;
}

/* A switch, alone or with a word that says yes or no. */
static enum err take_switch(struct megatron_args *args, enum flag_id id,
                            struct option_line *line,
                            const struct args_flag *flag, struct err_msg *msg)
{
    const struct flag_unknown *unknown = args_unknown(args, line->at);
    const char *said = args_yes_or_no(args, line, flag);
    if (flag->equals && unknown)
        return flags_set_unknown(&args->f, id, unknown, msg);
    if (said && !args_says_yes(said) && !args_says_no(said))
        return err_set(msg, ERR_PARSE, "--%s: takes no value", flag_name(id));
    if (said && args_says_no(said)) {
        flags_clear(&args->f, id);
        return ERR_OK;
    }
    megatron_args_warn_row(args, id);
    flags_set_on(&args->f, id);
    return ERR_OK;
}

/* Main takes --no-NAME and --disable-NAME for each other. */
static enum flag_id args_by_twin(const struct args_flag *flag)
{
    char twin[NAMES_MAX_BYTES];
    bool no = text_starts(flag->name, "no-");
    if (!no && !text_starts(flag->name, "disable-"))
        return FLAG_NONE;
    snprintf(twin, sizeof twin, "%s%.60s", no ? "disable-" : "no-",
             flag->name + (no ? strlen("no-") : strlen("disable-")));
    enum flag_id id = flag_by_name(twin, strlen(twin));
    return id != FLAG_NONE && flag_type(id) == FLAG_TYPE_BOOL ? id : FLAG_NONE;
}

/* The flag's row, also by another name of it; `row` says by which. */
static enum flag_id args_row(const struct args_flag *flag,
                             const struct foreign_flag **row)
{
    enum flag_id id = flag_by_name(flag->name, flag->len);
    if (id == FLAG_NONE)
        id = args_by_twin(flag);
    *row = id == FLAG_NONE ? foreign_find(flag->name, flag->len) : NULL;
    if (*row && (*row)->kind == FOREIGN_SAME)
        return (*row)->flag;
    *row = NULL;
    return id;
}

/* `add_bias_linear false`: the config's name of what a switch turns off. It
 * takes a word that says yes or no; without one it is not read so. */
static enum err take_opposite(struct megatron_args *args,
                              struct option_line *line,
                              const struct args_flag *flag, bool *known,
                              struct err_msg *msg)
{
    bool opposite = false;
    enum flag_id id = flag_by_argument(flag->name, &opposite);
    const char *said = flag->equals                ? flag->equals
                       : line->at + 1 < line->argc ? line->argv[line->at + 1]
                                                   : "";
    if (id == FLAG_NONE || !opposite ||
        (!args_says_yes(said) && !args_says_no(said)))
        return ERR_OK;
    *known = true;
    line->at += flag->equals ? 1 : 2;
    return flags_set(&args->f, id, args_says_no(said) ? "true" : "false", msg);
}

/* One of Megatron's flags with its values; *known is false for every other
 * word, which is then the caller's. */
enum err megatron_args_take(struct megatron_args *args,
                            struct option_line *line, bool *known,
                            struct err_msg *msg)
{
    struct args_flag flag;
    const struct foreign_flag *row;
    *known = false;
    if (!is_flag(line->argv[line->at]))
        return ERR_OK;
    enum err e = args_flag_of(args, line->argv[line->at], &flag, msg);
    if (e != ERR_OK)
        return e;
    enum flag_id id = args_row(&flag, &row);
    if (id == FLAG_NONE)
        return take_opposite(args, line, &flag, known, msg);
    // from here on the word is ours, and what is wrong with it is an error
    *known = true;
    if (row)
        megatron_args_foreign(args, row,
                              &(struct args_value){.spelled = flag.spelled});
    if (flag_type(id) == FLAG_TYPE_BOOL)
        e = take_switch(args, id, line, &flag, msg);
    else if (!flag.equals && flag_type(id) == FLAG_TYPE_WORDS)
        e = take_words(args, id, line, msg);
    else
        e = take_value(args, id, line, msg);
    if (flag_type(id) != FLAG_TYPE_BOOL)
        megatron_args_warn_row(args, id);
    if (e == ERR_OK)
        line->at++;
    return e;
}

/* Moves behind a flag and as many values as it takes. */
static void args_pass(struct megatron_args *args, struct option_line *line,
                      const struct args_flag *flag, enum known_values values)
{
    // argc is more than any list has
    int most = flag->equals || values == KNOWN_SWITCH ? 0
               : values == KNOWN_ONE                  ? 1
                                                      : line->argc;
    if (values == KNOWN_SWITCH)
        (void)args_yes_or_no(args, line, flag);
    for (line->at++;
         line->at < line->argc && most > 0 && !is_flag(line->argv[line->at]);
         most--)
        line->at++;
}

/* A flag of another project, or one whose effect is not modelled. */
static enum err take_foreign(struct megatron_args *args,
                             struct option_line *line,
                             const struct args_flag *flag,
                             const struct foreign_flag *row,
                             struct err_msg *msg)
{
    const bool last = line->at + 1 >= line->argc;
    const char *next = last ? NULL : line->argv[line->at + 1];
    struct args_value value = {.spelled = flag->spelled, .text = flag->equals};
    bool has_word = row->values != KNOWN_SWITCH ||
                    (next && (args_says_no(next) || args_says_yes(next)));
    if (!value.text && has_word && next && !is_flag(next) &&
        !args_unknown(args, line->at + 1))
        value.text = next;
    if (args->strict && row->kind == FOREIGN_CHANGE &&
        !foreign_is_harmless(row, value.text))
        return err_set(msg, ERR_PARSE, "%s: %s", flag->spelled, row->text);
    megatron_args_foreign(args, row, &value);
    args_pass(args, line, flag, row->values);
    return ERR_OK;
}

/* A flag that no list has, and its values: an error when strict. */
static enum err take_unknown(struct megatron_args *args,
                             struct option_line *line,
                             const struct args_flag *flag, struct err_msg *msg)
{
    char near[NAMES_MAX_BYTES];
    if (args->strict) {
        megatron_args_nearest(flag->name, near);
        return err_set(msg, ERR_PARSE, "unknown flag '%s'%s%s%s", flag->spelled,
                       *near ? ", did you mean '--" : "", near,
                       *near ? "'?" : "");
    }
    megatron_args_nobody_knows(args, flag->name, flag->spelled);
    args_pass(args, line, flag, KNOWN_MANY);
    return ERR_OK;
}

/* A word that is no flag's and no value. */
static enum err take_stray(struct megatron_args *args, struct option_line *line,
                           struct err_msg *msg)
{
    char text[400];
    const struct flag_unknown *unknown = args_unknown(args, line->at);
    const char *word = line->argv[line->at++];
    if (unknown) {
        snprintf(text, sizeof text,
                 "%s%s%.200s is not known, and taken as holding none of the "
                 "flags",
                 unknown->where, *unknown->where ? ": " : "", unknown->why);
        account_add(&args->account, &args->account.assumed, text);
        return ERR_OK;
    }
    snprintf(text, sizeof text, "'%.200s' is not a flag, want --name", word);
    if (args->strict)
        return err_set(msg, ERR_PARSE, "%s", text);
    megatron_args_warn(args, word, text);
    // more of them are of the same thing
    while (line->at < line->argc && !is_flag(line->argv[line->at]) &&
           !args_unknown(args, line->at))
        line->at++;
    return ERR_OK;
}

/* In this order: Megatron's own flags, those of relatives that mean the same or
 * something else, then names that are known to matter not. What is left may be
 * anybody's. */
static enum err args_read_word(struct megatron_args *args,
                               struct option_line *line, struct err_msg *msg)
{
    struct args_flag flag;
    bool known = false;
    if (!is_flag(line->argv[line->at]))
        return take_stray(args, line, msg);
    enum err e = megatron_args_take(args, line, &known, msg);
    if (e != ERR_OK || known)
        return e;
    e = args_flag_of(args, line->argv[line->at], &flag, msg);
    if (e != ERR_OK)
        return e;
    const struct foreign_flag *row = foreign_find(flag.name, flag.len);
    if (row)
        return take_foreign(args, line, &flag, row, msg);
    enum known_values values = megatron_known(flag.name, flag.len);
    if (values == KNOWN_NOT)
        return take_unknown(args, line, &flag, msg);
    args_pass(args, line, &flag, values);
    return ERR_OK;
}

/* Which style the line has: one of each is a slip that argparse refuses. */
static void args_set_style(struct megatron_args *args,
                           const struct option_line *line)
{
    const char *underscored = NULL, *dashed = NULL;
    char text[400];
    for (int i = 0; i < line->argc; i++) {
        const char *word = line->argv[i];
        size_t len = strcspn(word, "=");
        if (!is_flag(word))
            continue;
        if (memchr(word, '_', len))
            underscored = word;
        else if (memchr(word + 2, '-', len - 2))
            dashed = word;
    }
    args->underscored = underscored != NULL;
    if (!underscored || !dashed)
        return;
    snprintf(text, sizeof text,
             "%.*s beside %.*s: underscores are read as dashes, Megatron's own "
             "parser takes dashes only",
             (int)strcspn(underscored, "="), underscored,
             (int)strcspn(dashed, "="), dashed);
    megatron_args_warn(args, "_", text);
}

/* Each word may have an origin of its own, so that a value is told with the
 * line of the script that it stands in. */
enum err megatron_args_read(struct megatron_args *args, char *const *argv,
                            int argc, const struct megatron_args_options *opt,
                            struct err_msg *msg)
{
    const char *before = args->f.from;
    struct option_line line = {.argc = argc, .argv = argv};
    enum err e = ERR_OK;
    if (opt->warn)
        megatron_args_on_warning(args, opt->warn, opt->data);
    args->origin = opt->origin;
    args->strict = opt->strict;
    args_set_style(args, &line);
    while (line.at < line.argc && e == ERR_OK) {
        if (args->origin)
            args->f.from = args->origin[line.at].from;
        e = args_read_word(args, &line, msg);
    }
    args->f.from = before;
    args->origin = NULL;
    return e;
}

/* ---- other sources ---- */

/* A switch warns when it is on only: dumps of arguments list every switch. */
enum err megatron_args_set(struct megatron_args *args, enum flag_id id,
                           const char *text, struct err_msg *msg)
{
    enum err e = flags_set(&args->f, id, text, msg);
    if (flag_type(id) != FLAG_TYPE_BOOL)
        megatron_args_warn_row(args, id);
    return e;
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
