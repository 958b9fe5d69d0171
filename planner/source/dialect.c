/*
 * How it works: the text becomes a tree, whose keys tell the form; the form's
 * own code is in dialect_form.c, words of launchers in dialect_words.c. Here is
 * what all forms share: their maps are read, and files that they name.
 */
#include "dialect.h"

#include "base/text.h"
#include "base/tree.h"
#include "dialect_form.h"
#include "dialect_rl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    DIALECT_MAX_FILES = 32,     // that one configuration draws in
    DIALECT_MAX_BYTES = 1 << 20 // of one of them
};

static struct megatron_flags *dialect_flags(struct dialect *d)
{
    return megatron_args_flags(d->y.args);
}

/* Text of a path from the top; NULL where there is none. */
static enum err dialect_text(struct dialect *d, const char *path,
                             const char **out)
{
    return yaml_text(&d->y, tree_find(d->y.top, path), out, NULL);
}

/* Gives a flag a value that a node states in other words. */
enum err dialect_set(struct dialect *d, const char *flag, const char *text,
                     const struct tree *at)
{
    const struct args_key key = {
        .key = flag,
        .text = text,
        .from = arena_printf(d->y.arena, "%s:%d", d->y.where, at->line)};
    if (!key.from)
        return err_set(d->y.msg, ERR_NOMEM, "%s: out of memory", d->y.where);
    return megatron_args_key(d->y.args, &key, d->y.msg);
}

/* ---- files beside it ---- */

/* A regular file, or none: a pipe would wait for ever. */
static bool dialect_is_file(const char *path)
{
    struct stat st;
    return path && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A file beside this one; where `presets` names a folder of the checkout that
 * this one is part of, a file there, too: the folders above are looked at. */
static bool dialect_path(struct dialect *d, const char *name,
                         const char *presets, const char **out)
{
    enum { LEVELS = 8 };
    struct arena *a = d->y.arena;
    const char *slash = strrchr(d->y.where, '/');
    int folder = slash ? (int)(slash - d->y.where) + 1 : 0;
    *out = *name == '/' ? NULL
                        : arena_printf(a, "%.*s%s", folder, d->y.where, name);
    const char *up = arena_printf(a, "%.*s", folder, d->y.where);
    for (int i = 0; presets && *out && up && !dialect_is_file(*out); i++) {
        if (i == LEVELS)
            return false;
        *out = arena_printf(a, "%s%s/%s", up, presets, name);
        up = arena_printf(a, "%s../", up);
    }
    return dialect_is_file(*out);
}

/* *found: it was there. */
enum err dialect_beside(struct dialect *d, const char *name,
                        const char *presets, bool *found)
{
    const char *path;
    struct text_span text;
    const struct tree *top = NULL;
    *found = false;
    if (d->all->n_files >= DIALECT_MAX_FILES)
        return err_set(d->y.msg, ERR_PARSE,
                       "%s: names more than %d files, '%.80s' among them",
                       d->y.where, DIALECT_MAX_FILES, name);
    if (!dialect_path(d, name, presets, &path))
        return ERR_OK;
    d->all->n_files++;
    enum err e =
        text_read_file(d->y.arena, path, DIALECT_MAX_BYTES, &text, d->y.msg);
    if (e == ERR_OK)
        e = tree_read_yaml(d->y.arena, text.data, path, &top, d->y.msg);
    if (e != ERR_OK || !top)
        return e;
    *found = true;
    struct dialect inner = *d;
    inner.y.where = path;
    inner.y.top = top;
    inner.drawn_in = true;
    e = dialect_read(&inner);
    d->y.steps = inner.y.steps;
    return e;
}

enum err dialect_lacks_defaults(struct dialect *d, const struct tree *at,
                                const char *name)
{
    struct account *account = megatron_args_account(d->y.args);
    const char *line = arena_printf(
        d->y.arena,
        "%s:%d: %s: %s is not there: Megatron's defaults are taken for what it "
        "sets",
        d->y.where, at->line, at->key, name);
    if (!line)
        return err_set(d->y.msg, ERR_NOMEM, "%s: out of memory", d->y.where);
    account_add(account, &account->assumed, line);
    return ERR_OK;
}

/* A file that is not there may hold anything. */
enum err dialect_need(struct dialect *d, const struct tree *at,
                      const char *name)
{
    bool found;
    enum err e = dialect_beside(d, name, NULL, &found);
    if (e != ERR_OK || found)
        return e;
    if (d->y.defaults)
        return dialect_lacks_defaults(d, at, name);
    const char *flag = arena_printf(d->y.arena, "%s: %s", at->key, name);
    const char *why = arena_printf(
        d->y.arena,
        "%s:%d: values of that file are not known: put it beside this one",
        d->y.where, at->line);
    if (!flag || !why)
        return err_set(d->y.msg, ERR_NOMEM, "%s: out of memory", d->y.where);
    account_change(megatron_args_account(d->y.args), flag, why);
    return ERR_OK;
}

/* ---- what is not in it ---- */

/* Nodes times GPUs, where both are numbers that a machine can have. */
void dialect_world(struct megatron_args *args, long long nodes, long long gpus,
                   const char *from)
{
    struct megatron_flags *f = megatron_args_flags(args);
    const char *before = f->from;
    if (nodes <= 0 || gpus <= 0 || nodes > 1 << 20 || gpus > 1 << 20)
        return;
    f->from = from;
    flags_set_int(f, FLAG_WORLD_SIZE, nodes * gpus);
    f->from = before;
}

/* Those of the flags that are not given. */
static enum err dialect_elsewhere(struct megatron_args *args,
                                  const enum flag_id *ids, size_t n,
                                  const struct flag_unknown *unknown,
                                  struct err_msg *msg)
{
    struct megatron_flags *f = megatron_args_flags(args);
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        if (!flags_given(f, ids[i]))
            e = flags_set_unknown(f, ids[i], unknown, msg);
    return e;
}

/* Such a file is no error: other flags of it are read, and a user may give
 * these three. */
enum err dialect_sizes_elsewhere(struct megatron_args *args, const char *where,
                                 const char *why, struct err_msg *msg)
{
    static const enum flag_id sizes[] = {FLAG_NUM_LAYERS, FLAG_HIDDEN_SIZE,
                                         FLAG_NUM_ATTENTION_HEADS};
    const struct flag_unknown unknown = {where, why};
    return dialect_elsewhere(args, sizes, sizeof sizes / sizeof sizes[0],
                             &unknown, msg);
}

enum err dialect_batch_elsewhere(struct megatron_args *args, const char *where,
                                 const char *why, struct err_msg *msg)
{
    static const enum flag_id batch[] = {FLAG_MICRO_BATCH_SIZE,
                                         FLAG_GLOBAL_BATCH_SIZE};
    const struct flag_unknown unknown = {where, why};
    return dialect_elsewhere(args, batch, sizeof batch / sizeof batch[0],
                             &unknown, msg);
}

enum err dialect_shards_state(struct megatron_args *args, const char *trainer,
                              struct err_msg *msg)
{
    char line[128];
    struct account *account = megatron_args_account(args);
    const struct args_key key = {.key = "use-distributed-optimizer",
                                 .text = "true",
                                 .from = "the trainer's default"};
    snprintf(line, sizeof line,
             "%.40s turns --use-distributed-optimizer on by itself", trainer);
    account_add(account, &account->assumed, line);
    return megatron_args_key(args, &key, msg);
}

/* ---- reading ---- */

static enum err dialect_sections(struct dialect *d)
{
    for (int i = 0; i < DIALECT_MAX_SECTIONS && d->form->sections[i]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s", d->form->sections[i]);
        size_t n = strlen(path);
        const bool deep = n && path[n - 1] == '/';
        path[n - deep] = '\0';
        enum err e = yaml_take_map(&d->y, tree_find(d->y.top, path), deep);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* In config classes a number of key heads is all that says so. */
static void dialect_groups(struct dialect *d)
{
    struct megatron_flags *f = dialect_flags(d);
    const char *before = f->from;
    if (!d->form->config || !flags_given(f, FLAG_NUM_QUERY_GROUPS))
        return;
    f->from = f->slot[FLAG_NUM_QUERY_GROUPS].from;
    flags_set_on(f, FLAG_GROUP_QUERY_ATTENTION);
    f->from = before;
}

/* What is merged into another configuration has that one's batch. */
static enum err dialect_ask_batch(struct dialect *d)
{
    if (!d->form->merged)
        return ERR_OK;
    const char *why =
        arena_printf(d->y.arena, "a %s file: what it does not state is in %s",
                     d->form->name, d->form->merged);
    return why ? dialect_batch_elsewhere(d->y.args, d->y.where, why, d->y.msg)
               : err_set(d->y.msg, ERR_NOMEM, "%s: out of memory", d->y.where);
}

/* A form whose sizes are in another file names it. */
static enum err dialect_ask_sizes(struct dialect *d)
{
    const char *model = d->all->model;
    if (!d->form->elsewhere || flags_given(dialect_flags(d), FLAG_NUM_LAYERS))
        return ERR_OK;
    const char *why =
        arena_printf(d->y.arena, "a %s file: sizes are in %s%s%s%s",
                     d->form->name, d->form->elsewhere, model ? " (" : "",
                     model ? model : "", model ? ")" : "");
    if (!why)
        return err_set(d->y.msg, ERR_NOMEM, "%s: out of memory", d->y.where);
    return dialect_sizes_elsewhere(d->y.args, d->y.where, why, d->y.msg);
}

static enum err dialect_unknown(struct dialect *d)
{
    const char *keys = "";
    int n = 0;
    for (const struct tree *c = d->y.top->child; c && n < 8 && keys;
         c = c->next, n++)
        keys =
            arena_printf(d->y.arena, "%s%s%.40s", keys, n ? ", " : "", c->key);
    return err_set(d->y.msg, ERR_PARSE,
                   "%s: a YAML file of no form that is known (at its top: %s): "
                   "want MODEL_ARGS, a flat file of Megatron's arguments, or "
                   "one of Primus, FlagScale, Megatron-Bridge, NeMo, NeMo-RL, "
                   "GPT-NeoX, verl, ROLL or ms-swift; or give the launch "
                   "script or a log",
                   d->y.where, keys ? keys : "");
}

/* What this file says of nodes, GPUs and the model; one that it is put over may
 * have said the rest. */
static enum err dialect_note(struct dialect *d)
{
    const char *const paths[] = {d->form->nodes, d->form->gpus};
    long long *const to[] = {&d->all->nodes, &d->all->gpus};
    const char *model = NULL;
    for (size_t i = 0; i < 2 && d->form->nodes; i++) {
        const struct tree *at = tree_find(d->y.top, paths[i]);
        if (tree_int(at, to[i]))
            d->all->ranks_from =
                arena_printf(d->y.arena, "%s:%d", d->y.where, at->line);
    }
    enum err e =
        d->form->model ? dialect_text(d, d->form->model, &model) : ERR_OK;
    d->all->model = model ? model : d->all->model;
    return e;
}

/* A form's own code, then its maps. */
enum err dialect_read(struct dialect *d)
{
    d->form = dialect_form_of(d->y.top, d->drawn_in);
    if (!d->form)
        return dialect_unknown(d);
    d->y.names = d->form->names;
    d->y.quiet = true;
    enum err e = d->form->more ? d->form->more(d) : ERR_OK;
    if (e == ERR_OK)
        e = dialect_note(d);
    if (e == ERR_OK)
        e = dialect_sections(d);
    if (e == ERR_OK)
        dialect_groups(d);
    return e;
}

static void dialect_read_world(struct dialect *d)
{
    if (!d->all->apart && d->all->ranks_from)
        dialect_world(d->y.args, d->all->nodes, d->all->gpus,
                      d->all->ranks_from);
}

/* World and sizes last: a form may have told of them itself. */
enum err dialect_read_yaml(struct arena *a, const struct dialect_file *file,
                           struct megatron_args *args, struct err_msg *msg)
{
    struct dialect_all all = {.n_files = 0};
    const char *where = file->where;
    struct dialect d = {.y = {.arena = a,
                              .where = where,
                              .set = file->set,
                              .n_set = file->n_set,
                              .args = args,
                              .msg = msg},
                        .all = &all};
    enum err e = tree_read_yaml(a, file->text, where, &d.y.top, msg);
    if (e == ERR_OK)
        e = megatron_args_where(args, where, msg);
    if (e == ERR_OK && (!d.y.top || !d.y.top->child))
        e = err_set(msg, ERR_PARSE,
                    "%s: nothing in it, want a map MODEL_ARGS or another "
                    "configuration",
                    where);
    if (e == ERR_OK)
        e = dialect_read(&d);
    if (e != ERR_OK)
        return e;
    dialect_read_world(&d);
    dialect_tell_packed(&d);
    e = dialect_ask_batch(&d);
    return e == ERR_OK ? dialect_ask_sizes(&d) : e;
}

/* ---- telling YAML ---- */

/* Behind a key at the line's start: ':' and a blank or the line's end. */
static bool dialect_is_key(const char *line)
{
    const char quote = *line == '"' || *line == '\'' ? *line : '\0';
    const char *p = line + (quote != 0);
    if (isdigit((unsigned char)*p))
        return false;
    while (isalnum((unsigned char)*p) || (*p && strchr("_-.<", *p)))
        p++;
    if (p == line || (quote && *p++ != quote))
        return false;
    p += strspn(p, " ");
    return *p == ':' && (!p[1] || strchr(" \t\r\n", p[1]));
}

/* A line within a document: 1 a key, 0 nothing against it, -1 no YAML. */
static int dialect_line(const char *line, size_t n, bool *braces)
{
    size_t blanks = strspn(line, " \t\r");
    const char *first = line + blanks;
    if (text_starts(line, "#!"))
        return -1;
    if (blanks >= n || *first == '#' || text_starts(line, "---") ||
        text_starts(line, "%YAML"))
        return 0;
    if (*first == '{' || *first == '}') {
        // within a map's text they are text
        *braces = *braces || blanks == 0;
        return 0;
    }
    if (dialect_is_key(first))
        return 1;
    return (blanks > 0 && !*braces) || *first == '-' || *first == ']' ? 0 : -1;
}

/* A bash script, too, has lines with colons; one line that is neither key nor
 * continuation decides against it. */
bool dialect_is_yaml(const char *text)
{
    int n_keys = 0;
    bool braces = false; // within these every line is a member
    // JSON in lines looks the same: only GPT-NeoX writes YAML so
    if (*text == '{' && !strstr(text, "\"pipe_parallel_size\"") &&
        !strstr(text, "\"pipe-parallel-size\""))
        return false;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        int is = dialect_line(line, n, &braces);
        if (is < 0)
            return false;
        n_keys += is;
        line += n + (line[n] == '\n');
    }
    return n_keys > 0;
}
