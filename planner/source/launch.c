/*
 * How it works: the reading of the script yields calls, once for each way it
 * may go. Calls with Megatron's flags are launches; the same place and round in
 * two ways is the same launch. The chosen one is read into slots for each way,
 * and slots that differ between ways become unknown. Words keep the line they
 * stand in; marks of what is not known become unknown words.
 */
#include "launch.h"

#include "base/text.h"
#include "call.h"
#include "ranks.h"
#include "shell/bash.h"
#include "variables.h"
#include "ways.h"

#include <stdio.h>
#include <string.h>

// listed for the user; a loop over sizes has some ten
enum { LAUNCH_MAX = 64 };

/* One place of the script that starts a run. */
struct launch {
    const char *file;
    int line, round; // of a line that several rounds of a loop come to
    int weight;      // how sure it is that this is a training run
};

/* What a call of a way is, looked up once: a script with a hundred launches on
 * as many ways asks for it a million times. */
struct launch_mark {
    int weight; // 0: no launch
    int round;  // launches at the same place before it on its way
};

struct reading {
    struct arena *arena;
    const struct source_request *req;
    struct bash_result r;
    struct launch_mark **mark; // of each way, of each of its calls
    struct launch launch[LAUNCH_MAX];
    int n;     // launches
    bool more; // than LAUNCH_MAX
    struct megatron_args *args;
    struct err_msg *msg;
};

static const char *launch_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- which calls are launches ---- */

/* Weighs the calls of a way; NULL when out of memory. */
static struct launch_mark *launch_weigh(struct arena *a,
                                        const struct bash_way *w)
{
    struct launch_mark *mark = arena_alloc(a, w->n_calls, sizeof *mark);
    for (size_t i = 0; mark && i < w->n_calls; i++) {
        const struct bash_call *call = &w->call[i];
        mark[i].weight = call_weight(call);
        // the last one before it at this place knows the others
        for (size_t k = i; k-- > 0;)
            if (mark[k].weight && w->call[k].line == call->line &&
                strcmp(w->call[k].file, call->file) == 0) {
                mark[i].round = mark[k].round + 1;
                break;
            }
    }
    return mark;
}

static enum err launch_weigh_all(struct reading *r)
{
    r->mark = arena_alloc(r->arena, r->r.n_ways, sizeof *r->mark);
    for (size_t w = 0; r->mark && w < r->r.n_ways; w++) {
        r->mark[w] = launch_weigh(r->arena, &r->r.way[w]);
        if (!r->mark[w])
            r->mark = NULL;
    }
    return r->mark
               ? ERR_OK
               : err_set(r->msg, ERR_NOMEM, "%s: out of memory", r->req->path);
}

static bool launch_is(const struct launch *l, const struct bash_call *call,
                      int round)
{
    return l->line == call->line && l->round == round &&
           strcmp(l->file, call->file) == 0;
}

static void launch_add(struct reading *r, const struct bash_call *call,
                       const struct launch_mark *mark)
{
    for (int i = 0; i < r->n; i++)
        if (launch_is(&r->launch[i], call, mark->round))
            return;
    if (r->n == LAUNCH_MAX)
        r->more = true;
    else
        r->launch[r->n++] =
            (struct launch){call->file, call->line, mark->round, mark->weight};
}

static void launch_warn_of_flag(struct reading *r, const struct bash_call *call)
{
    char line[400];
    snprintf(line, sizeof line,
             "%.200s:%d: '%.60s' stands where a program does: the line before "
             "lacks its backslash",
             call->file, call->line, call->word[ranks_program(call)].text);
    megatron_args_warn(r->args, line, line);
}

/* Of all ways, in the order in which they are first met; those without a size
 * of the model only where no launch has one. */
static enum err launch_find(struct reading *r)
{
    int best = 0, n = 0;
    enum err e = launch_weigh_all(r);
    if (e != ERR_OK)
        return e;
    for (size_t w = 0; w < r->r.n_ways; w++)
        for (size_t i = 0; i < r->r.way[w].n_calls; i++) {
            const struct bash_call *call = &r->r.way[w].call[i];
            if (!call->captured && r->mark[w][i].weight)
                launch_add(r, call, &r->mark[w][i]);
            else if (call_is_stray(call))
                launch_warn_of_flag(r, call);
        }
    for (int i = 0; i < r->n; i++)
        best = r->launch[i].weight > best ? r->launch[i].weight : best;
    for (int i = 0; i < r->n; i++)
        if (r->launch[i].weight == best)
            r->launch[n++] = r->launch[i];
    r->n = n;
    return ERR_OK;
}

/* The launch's call on that way; NULL where the way does not come to it. */
static const struct bash_call *launch_on(const struct reading *r, size_t way,
                                         const struct launch *l)
{
    const struct bash_way *w = &r->r.way[way];
    for (size_t i = 0; i < w->n_calls; i++)
        if (w->call[i].line == l->line && !w->call[i].captured &&
            r->mark[way][i].weight &&
            launch_is(l, &w->call[i], r->mark[way][i].round))
            return &w->call[i];
    return NULL;
}

/* ---- ways together ---- */

/* What differs from the first way's slots is not known. */
static enum err launch_merge(struct reading *r, size_t first, size_t way,
                             struct megatron_args *other)
{
    const struct bash_decision *d =
        ways_parting(&r->r.way[first], &r->r.way[way]);
    const char *where =
        d ? arena_printf(r->arena, "%s:%d", d->file, d->line) : "";
    if (!where)
        return err_set(r->msg, ERR_NOMEM, "%s: out of memory", r->req->path);
    const struct flag_unknown why = {where, d ? d->text : "the way it goes"};
    return ways_merge(megatron_args_flags(r->args), megatron_args_flags(other),
                      &why, r->msg);
}

/* A launch that only some ways come to is started where a condition holds. */
static void launch_assume_started(struct reading *r, size_t with,
                                  size_t without)
{
    char line[400];
    const struct bash_decision *d =
        ways_parting(&r->r.way[with], &r->r.way[without]);
    struct account *account = megatron_args_account(r->args);
    if (!d)
        return;
    snprintf(line, sizeof line,
             "%s:%d: whether the launch is started depends on %.200s, and is "
             "taken as so",
             d->file, d->line, d->text);
    account_add(account, &account->assumed, line);
}

/* The launch on all ways, into `r->args`. */
static enum err launch_take(struct reading *r, const struct launch *l)
{
    const struct call_source source = {r->arena, &r->r, r->req->path};
    size_t first = r->r.n_ways, none = r->r.n_ways;
    enum err e = ERR_OK;
    for (size_t w = 0; w < r->r.n_ways && e == ERR_OK; w++) {
        const struct bash_call *call = launch_on(r, w, l);
        if (!call) {
            none = w;
            continue;
        }
        struct megatron_args *to =
            first == r->r.n_ways ? r->args : megatron_args_new(r->arena);
        if (!to)
            return err_set(r->msg, ERR_NOMEM, "%s: out of memory",
                           r->req->path);
        e = call_read(&source, call, to, r->msg);
        if (e == ERR_OK && first < r->r.n_ways)
            e = launch_merge(r, first, w, to);
        first = first < r->r.n_ways ? first : w;
    }
    if (e == ERR_OK && none < r->r.n_ways)
        launch_assume_started(r, first, none);
    return e;
}

/* ---- which launch ---- */

/* The program's name as it can be shown; NULL when out of memory. */
static const char *launch_program(const struct reading *r,
                                  const struct bash_call *call)
{
    const char *word = call->word[ranks_program(call)].text;
    const char *plain = call_plain(r->arena, launch_base(word));
    return plain && !*plain ? "a program that is not known" : plain;
}

/* The call on the first way that comes to the launch. */
static const struct bash_call *launch_call(const struct reading *r,
                                           const struct launch *l)
{
    const struct bash_call *call = NULL;
    for (size_t w = 0; w < r->r.n_ways && !call; w++)
        call = launch_on(r, w, l);
    return call;
}

/* One line of the list: place, program, first of its own words. */
static enum err launch_list(struct reading *r)
{
    struct account *account = megatron_args_account(r->args);
    for (int i = 0; i < r->n; i++) {
        const struct launch *l = &r->launch[i];
        const struct bash_call *call = launch_call(r, l);
        size_t at = ranks_first_argument(call);
        const char *file =
            at > 0 && at <= call->n ? call->word[at - 1].text : "";
        const char *program = launch_program(r, call);
        char *text =
            arena_printf(r->arena, "%d: %s:%d: %s %s%s", i + 1, l->file,
                         l->line, program ? program : "", launch_base(file),
                         l->round ? " (a later round)" : "");
        char *plain = text ? call_plain(r->arena, text) : NULL;
        if (!plain)
            return err_set(r->msg, ERR_NOMEM, "%s: out of memory",
                           r->req->path);
        account_add(account, &account->launches, plain);
    }
    return ERR_OK;
}

/* Do all launches say the same of the model, ranks and batch? Then it matters
 * not which is taken. */
static enum err launch_differ(struct reading *r, bool *differ)
{
    struct megatron_args *first = NULL;
    const struct call_source source = {r->arena, &r->r, r->req->path};
    *differ = false;
    for (int i = 0; i < r->n && !*differ; i++) {
        struct err_msg ignored; // told when that launch is asked for
        struct megatron_args *one = megatron_args_new(r->arena);
        enum err e = !one ? ERR_NOMEM
                          : call_read(&source, launch_call(r, &r->launch[i]),
                                      one, &ignored);
        if (e == ERR_NOMEM)
            return err_set(r->msg, e, "%s: out of memory", r->req->path);
        first = first ? first : one;
        *differ = e != ERR_OK || !ways_same(megatron_args_flags(first),
                                            megatron_args_flags(one));
    }
    return ERR_OK;
}

/* The first where the user names none. Whether the others are of another model
 * is looked at, since only then is there anything to ask. */
static enum err launch_choose(struct reading *r, const struct launch **out)
{
    struct account *account = megatron_args_account(r->args);
    int k = r->req->launch ? r->req->launch : 1;
    bool differ = false;
    if (k > r->n)
        return err_set(r->msg, ERR_RANGE,
                       "%s: --launch: got %d, want 1 to %d: 'moe-layout read' "
                       "lists them",
                       r->req->path, k, r->n);
    enum err e = r->n > 1 ? launch_list(r) : ERR_OK;
    if (e == ERR_OK && r->n > 1 && !r->req->launch)
        e = launch_differ(r, &differ);
    *out = &r->launch[k - 1];
    const char *program = launch_program(r, launch_call(r, *out));
    if (!program)
        return err_set(r->msg, ERR_NOMEM, "%s: out of memory", r->req->path);
    account->launch = (struct account_launch){.program = program,
                                              .file = (*out)->file,
                                              .line = (*out)->line,
                                              .number = k,
                                              .of = r->n,
                                              .ask = differ};
    return e;
}

/* ---- the whole ---- */

/* What the reading of the script assumed, and files that it did not find. */
static void launch_tell(struct reading *r)
{
    struct account *account = megatron_args_account(r->args);
    for (size_t i = 0; i < r->r.n_notes; i++)
        account_add(account, &account->assumed, r->r.note[i]);
    for (size_t i = 0; i < r->r.n_missing; i++)
        megatron_args_warn(r->args, r->r.missing[i], r->r.missing[i]);
    if (!r->r.all_ways)
        account_add(account, &account->assumed,
                    "the script may go more ways than were followed: not every "
                    "combination of its conditions was tried");
}

/* "ray (line 12), python3 train.py (line 14)": what is started instead, the
 * first six; "" for nothing. */
static const char *launch_started(const struct reading *r)
{
    const struct bash_way *w = r->r.n_ways ? &r->r.way[0] : NULL;
    const char *all = "";
    int n = 0;
    for (size_t i = 0; w && i < w->n_calls && all && n < 6; i++) {
        const struct bash_call *call = &w->call[i];
        size_t program = ranks_program(call), at = ranks_first_argument(call);
        bool again = i > 0 && w->call[i - 1].line == call->line;
        if (call->captured || again || program >= call->n)
            continue;
        const char *file =
            at > program + 1 && at <= call->n ? call->word[at - 1].text : "";
        all = arena_printf(r->arena, "%s%s%s%s%s (line %d)", all,
                           *all ? ", " : "",
                           launch_base(call->word[program].text),
                           *file ? " " : "", launch_base(file), call->line);
        n++;
    }
    return all && *all ? call_plain(r->arena, all) : "";
}

/* Programs whose output is computed from the script's own texts, or is of no
 * use to a model: a file's name, a date. */
static bool launch_is_plain_program(const char *name, size_t n)
{
    static const char plain[] =
        " cat seq expr basename dirname realpath readlink bc wc tr cut head "
        "tail sort sed rev paste grep awk pwd cd echo printf date hostname "
        "whoami python python3 mktemp nproc which ls id uname sleep ";
    for (const char *p = strstr(plain, name); p; p = strstr(p + 1, name))
        if (p > plain && p[-1] == ' ' && p[n] == ' ')
            return true;
    return false;
}

/* "yq (line 37), jq (line 40)": programs of $(...) in the text whose output is
 * needed, the first four; "" for none, NULL when out of memory. */
static const char *launch_outputs(const struct reading *r, const char *text)
{
    const char *all = "";
    int line = 1, n_names = 0;
    for (const char *p = text; *p && all && n_names < 4; p++) {
        line += *p == '\n';
        if (*p == '#' && (p == text || p[-1] == '\n'))
            p += strcspn(p, "\n") - 1;
        if (p[0] != '$' || p[1] != '(' || p[2] == '(')
            continue;
        const char *name = p + 2 + strspn(p + 2, " ");
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");
        const char *word = arena_strndup(r->arena, name, n);
        if (!word)
            return NULL;
        if (!n || name[n] != ' ' || launch_is_plain_program(word, n) ||
            strstr(all, word))
            continue;
        all = arena_printf(r->arena, "%s%s%s (line %d)", all, *all ? ", " : "",
                           word, line);
        n_names++;
    }
    return all;
}

/* Does no way of the script start anything? */
static bool launch_starts_nothing(const struct reading *r)
{
    for (size_t w = 0; w < r->r.n_ways; w++)
        if (r->r.way[w].n_calls)
            return false;
    return true;
}

/* No command that the script starts has Megatron's flags. */
static enum err launch_none(const struct reading *r, const char *text)
{
    // without a flag or a first line of its own it is no script of anything
    if (launch_starts_nothing(r) && !strstr(text, "--") &&
        !text_starts(text, "#!"))
        return err_set(r->msg, ERR_PARSE,
                       "%s: not a model: want a model file "
                       "(moe-layout/model/1), a launch script, a YAML file "
                       "with MODEL_ARGS, a log with Megatron's arguments, or a "
                       "Hugging Face config.json",
                       r->req->path);
    const struct bash_way *w = r->r.n_ways ? &r->r.way[0] : NULL;
    const char *started = launch_started(r), *why = "";
    if (r->r.n_missing)
        why = r->r.missing[0];
    else if (w && w->ended)
        why = arena_printf(r->arena,
                           "line %d: %s: give its arguments with --arg, "
                           "variables with --set NAME=VALUE",
                           w->ended_line, w->ended);
    const char *outputs = launch_outputs(r, text);
    if (outputs && *outputs && why)
        why =
            arena_printf(r->arena, "%s%sit takes values from the output of %s",
                         why, *why ? "; " : "", outputs);
    if (!started || !why || !outputs)
        return err_set(r->msg, ERR_NOMEM, "%s: out of memory", r->req->path);
    return err_set(
        r->msg, ERR_PARSE,
        "%s: starts no command with Megatron's flags%s%s%s%s: want a "
        "launch script, its flags after '--', or 'moe-layout "
        "record' it",
        r->req->path, *started ? ", but " : "", started, *why ? "; " : "", why);
}

/* NAME=VALUE, as env(1) takes it. */
static enum err launch_settings(struct reading *r, struct bash_input *in)
{
    struct bash_setting *set =
        arena_alloc(r->arena, (size_t)r->req->n_set + 1, sizeof *set);
    if (!set)
        return err_set(r->msg, ERR_NOMEM, "%s: out of memory", r->req->path);
    for (int i = 0; i < r->req->n_set; i++) {
        const char *text = r->req->set[i], *equals = strchr(text, '=');
        if (!equals || equals == text)
            return err_set(r->msg, ERR_PARSE,
                           "--set: got '%.80s', want NAME=VALUE", text);
        set[i].name = arena_strndup(r->arena, text, (size_t)(equals - text));
        set[i].value = equals + 1;
        if (!set[i].name)
            return err_set(r->msg, ERR_NOMEM, "%s: out of memory",
                           r->req->path);
    }
    in->set = set;
    in->n_set = (size_t)r->req->n_set;
    in->args = r->req->words;
    in->n_args = (size_t)r->req->n_words;
    return ERR_OK;
}

static enum err launch_run(struct reading *r, const char *text)
{
    const char *path = r->req->path, *slash = strrchr(path, '/');
    struct bash_input in = {.text = text, .name = path};
    in.folder =
        slash ? arena_strndup(r->arena, path, (size_t)(slash - path)) : ".";
    if (slash == path)
        in.folder = "/";
    if (!in.folder)
        return err_set(r->msg, ERR_NOMEM, "%s: out of memory", path);
    enum err e = launch_settings(r, &in);
    return e == ERR_OK ? bash_run(r->arena, &in, &r->r, r->msg) : e;
}

/* Words of all variables that hold flags, for a script without a launch. */
static enum err launch_from_variables(struct reading *r, const char *text)
{
    struct bash_result before = r->r;
    const char *longer = variables_script(r->arena, text);
    if (!longer)
        return err_set(r->msg, ERR_NOMEM, "%s: out of memory", r->req->path);
    enum err e = launch_run(r, longer);
    if (e == ERR_OK && !variables_join(r->arena, &r->r))
        return err_set(r->msg, ERR_NOMEM, "%s: out of memory", r->req->path);
    if (e == ERR_OK)
        e = launch_find(r);
    if (e != ERR_OK || !r->n)
        r->r = before; // the script's own is what is told of
    return e;
}

/* "t*4L" and "MEM*" are no programs: they stood behind the | of a layout. */
static enum err launch_check_quotes(const struct reading *r)
{
    for (int i = 0; i < r->n; i++) {
        const struct launch *l = &r->launch[i];
        const struct bash_call *call = launch_call(r, l);
        const char *word = call->word[ranks_program(call)].text;
        const size_t n = strlen(word);
        if (n && (strspn(word, "EtmL*0123456789()") == n ||
                  strspn(word, "MG*+DE-/") == n))
            return err_set(r->msg, ERR_PARSE,
                           "%s:%d: bash takes the | of a layout for a pipe and "
                           "would run '%s': put the layout in quotes",
                           l->file, l->line, word);
    }
    return ERR_OK;
}

enum err launch_read(struct arena *a, const char *text,
                     const struct source_request *req,
                     struct megatron_args *args, struct err_msg *msg)
{
    struct reading *r = arena_alloc(a, 1, sizeof *r);
    if (!r)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", req->path);
    *r = (struct reading){.arena = a, .req = req, .args = args, .msg = msg};
    const struct launch *chosen = NULL;
    enum err e = launch_run(r, text);
    if (e == ERR_OK)
        e = megatron_args_where(args, req->path, msg);
    if (e != ERR_OK)
        return e;
    e = launch_find(r);
    if (e == ERR_OK)
        e = launch_check_quotes(r);
    if (e == ERR_OK && !r->n && launch_starts_nothing(r))
        e = launch_from_variables(r, text);
    if (e != ERR_OK)
        return e;
    launch_tell(r);
    if (!r->n)
        return launch_none(r, text);
    e = launch_choose(r, &chosen);
    return e == ERR_OK ? launch_take(r, chosen) : e;
}
