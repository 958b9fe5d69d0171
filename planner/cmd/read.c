/*
 * moe-layout read: what is read of a source and where each value comes from.
 * How it works: nothing is demanded; the values, what is not known and the
 * account of the source are printed as a table or as JSON, and the exit code
 * says whether all that decides the model is known.
 */
#include "base/text.h"
#include "base/writer.h"
#include "open.h"

#include <string.h>

struct reading {
    struct value v[N_VALUES];
    struct open_unknowns unknowns;
    const struct account *account;
};

/* ---- JSON ---- */

static void read_write_launch(struct writer top, const struct account *from)
{
    const struct account_launch *l = &from->launch;
    if (!l->program) {
        writer_null(top, "launch");
        return;
    }
    struct writer launch = writer_object(top, "launch");
    writer_text(launch, "program", l->program);
    writer_text(launch, "file", l->file);
    writer_number(launch, "line", l->line);
    writer_number(launch, "number", l->number);
    writer_number(launch, "of", l->of);
}

/* Values and where they come from by the same keys. */
static void read_write_values(struct writer top, const struct value *v)
{
    struct writer values = writer_object(top, "values");
    for (int i = 0; i < N_VALUES; i++) {
        const char *key = value_key((enum value_id)i);
        if (v[i].is == VALUE_WHOLE)
            writer_number(values, key, (double)v[i].whole);
        else if (v[i].is == VALUE_TEXT)
            writer_text(values, key, v[i].text);
        else
            writer_null(values, key);
    }
    struct writer from = writer_object(top, "from");
    for (int i = 0; i < N_VALUES; i++)
        if (v[i].is == VALUE_WHOLE || v[i].is == VALUE_TEXT)
            writer_text(from, value_key((enum value_id)i), v[i].from);
}

static void read_write_lines(struct writer top, const char *key,
                             const struct account_list *list)
{
    struct writer to = writer_list(top, key);
    for (const struct account_line *l = list->first; l; l = l->next)
        writer_text(to, NULL, l->text);
}

/* Also of a source that could not be read to its end: what was understood is
 * given with the error. */
static enum err read_print_json(struct cmd *c, const struct reading *r,
                                const char *error)
{
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    writer_text(top, "format", "moe-layout/read/1");
    writer_text(top, "source", r->account->source);
    read_write_launch(top, r->account);
    if (r->account->launches.n)
        read_write_lines(top, "launches", &r->account->launches);
    read_write_values(top, r->v);
    struct writer unknown = writer_list(top, "unknown");
    for (int i = 0; i < r->unknowns.n; i++) {
        const struct open_unknown *u = &r->unknowns.item[i];
        struct writer item = writer_object(unknown, NULL);
        writer_text(item, "name", u->name);
        writer_text(item, "where", u->where);
        writer_text(item, "why", u->why);
        writer_text(item, "option", u->option);
    }
    cmd_write_account(c, top);
    read_write_lines(top, "changes_model", &r->account->changes);
    if (error)
        writer_text(top, "error", error);
    return writer_print(&doc, true, stdout, &c->msg);
}

/* ---- a table ---- */

static void read_print_lines(const char *title, const struct account_list *list)
{
    if (list->n)
        printf("\n%s\n", title);
    for (const struct account_line *l = list->first; l; l = l->next)
        printf("  %s\n", l->text);
}

/* A value that nobody knows stands in its place with the option that gives it.
 */
static void read_print_values(struct arena *a, const struct value *v)
{
    for (int i = 0; i < N_VALUES; i++) {
        const char *key = value_key((enum value_id)i);
        const char *text = v[i].is == VALUE_TEXT ? v[i].text : v[i].why;
        text = text ? text_one_line(a, text) : "";
        const char *from = v[i].from ? text_one_line(a, v[i].from) : "";
        if (v[i].is == VALUE_WHOLE)
            printf("%-20s %12lld  %s\n", key, (long long)v[i].whole, from);
        else if (v[i].is == VALUE_TEXT)
            printf("%-20s %12s  %s\n", key, text, from);
        else if (v[i].is == VALUE_UNKNOWN)
            printf("%-20s %12s  %s%s%s: give %s\n", key, "?", v[i].where,
                   *v[i].where ? ": " : "", text,
                   value_option((enum value_id)i));
    }
}

/* Flags that are not known and are no value of the table. */
static void read_print_flags(struct arena *a, const struct open_unknowns *all)
{
    for (int i = 0; i < all->n; i++) {
        const struct open_unknown *u = &all->item[i];
        bool value = false;
        for (int k = 0; k < N_VALUES; k++)
            value = value || strcmp(u->name, value_key((enum value_id)k)) == 0;
        if (!value)
            printf("%-33s  %s%s%s: give %s\n", u->name, u->where,
                   *u->where ? ": " : "", text_one_line(a, u->why), u->option);
    }
}

static void read_print_table(struct cmd *c, const struct reading *r)
{
    const struct account_launch *l = &r->account->launch;
    printf("%s: %s", text_one_line(&c->arena, c->source_name),
           r->account->source);
    if (l->program)
        printf(", launch %d of %d: %s (%s:%d)", l->number, l->of,
               text_one_line(&c->arena, l->program), l->file, l->line);
    printf("\n\n");
    read_print_values(&c->arena, r->v);
    read_print_flags(&c->arena, &r->unknowns);
    if (l->of > 1)
        read_print_lines("launches (--launch K takes another):",
                         &r->account->launches);
    read_print_lines("assumed:", &r->account->assumed);
    read_print_lines("warnings:", &r->account->warnings);
    read_print_lines("not understood, and may change the model:",
                     &r->account->changes);
}

/* ---- the command ---- */

/* The table or document is printed first: what is known helps whoever has to
 * give the rest. */
static enum err read_verdict(struct cmd *c, const struct reading *r)
{
    enum err e = account_ask_launch(r->account, c->source_name, &c->msg);
    if (e == ERR_OK && !cmd_given(c, OPT_IGNORE))
        e = account_refuse_changes(r->account, c->source_name, &c->msg);
    if (e != ERR_OK)
        return e;
    return open_demand(&c->arena, &r->unknowns, c->source_name, false, &c->msg);
}

/* Values and unknowns of the flags that were read. */
static enum err read_values_of(struct cmd *c, struct megatron_args *args,
                               struct reading *r, struct err_msg *msg)
{
    const struct megatron_flags *f = megatron_args_flags(args);
    r->account = megatron_args_account(args);
    enum err e = values_read(&c->arena, f, r->v, msg);
    return e == ERR_OK
               ? open_list_unknowns(&c->arena, f, r->v, &r->unknowns, msg)
               : e;
}

/* A source that cannot be read has an answer, too, for programs that ask many:
 * what was found before, and the error. */
static enum err read_failed(struct cmd *c, enum err why)
{
    struct reading r = {.unknowns = {NULL, 0}};
    struct err_msg ignored; // the first error is the one to tell
    if (!cmd_given(c, OPT_JSON) || !c->source ||
        (why != ERR_PARSE && why != ERR_RANGE))
        return why;
    c->opened = c->source;
    if (read_values_of(c, c->source, &r, &ignored) != ERR_OK)
        memset(r.v, 0, sizeof r.v);
    // of what was not read to its end a default says nothing
    for (int i = 0; i < N_VALUES; i++)
        if (r.v[i].from && (strcmp(r.v[i].from, "default") == 0 ||
                            strcmp(r.v[i].from, "computed") == 0))
            r.v[i] = (struct value){.is = VALUE_ABSENT};
    enum err e = read_print_json(c, &r, c->msg.text);
    return e == ERR_OK ? why : e;
}

/* Changes of the model are listed here and not refused: this command is how a
 * user finds them. */
static enum err cmd_read_run(struct cmd *c)
{
    struct megatron_args *args;
    struct reading r;
    enum err e = cmd_source(c, &args);
    if (e == ERR_OK)
        e = read_values_of(c, args, &r, &c->msg);
    if (e != ERR_OK)
        return read_failed(c, e);
    if (!cmd_given(c, OPT_JSON))
        read_print_table(c, &r);
    else
        e = read_print_json(c, &r, NULL);
    return e == ERR_OK ? read_verdict(c, &r) : e;
}

static const enum cmd_option takes[] = {
    OPT_TP,  OPT_PP,  OPT_VPP, OPT_CP,    OPT_EP,   OPT_ETP,  OPT_WORLD,
    OPT_MBS, OPT_GBS, OPT_SEQ, OPT_GROUP, OPT_JSON, OPT_HELP, N_OPTIONS};

const struct command CMD_READ = {
    .name = "read",
    .run = cmd_read_run,
    .synopsis = "read MODEL [options] [-- FLAGS]",
    .summary = "what is read of a launch, and from which line each value comes",
    .help = "What is read of a launch script, YAML, config, log or model file, "
            "and where each value comes from:\nfile and line, option, default, "
            "or computed from others. A script is read and never run.\nExit 0 "
            "when all that decides the model is known; else 2, naming what is "
            "not, and what gives it.\nExample: moe-layout read train.sh --set "
            "SLURM_NNODES=4 --json",
    .options = takes,
    .takes_model = true,
    .lists_warnings = true,
};
