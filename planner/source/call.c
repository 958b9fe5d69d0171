/*
 * How it works: the words behind the launcher become an argument vector, each
 * with its line; a word with a mark of what is not known becomes an unknown
 * one. The launcher's own words give the number of ranks.
 */
#include "call.h"

#include "base/text.h"
#include "dialect.h"
#include "ranks.h"
#include "rollout.h"

#include <string.h>

/* ---- is it a launch? ---- */

/* Words of another launcher than Megatron's own: Hydra's keys, ms-swift's. The
 * last words tell; a call has some hundred. */
static bool call_is_dialect(const struct bash_call *call)
{
    enum { CALL_MAX_WORDS = 512 };
    char *argv[CALL_MAX_WORDS];
    size_t program = ranks_program(call), n = call->n - program;
    if (n > CALL_MAX_WORDS)
        n = CALL_MAX_WORDS;
    union { // dialect only reads
        const char *from;
        char *to;
    } word;
    for (size_t i = 0; i < n; i++) {
        word.from = call->word[program + i].text;
        argv[i] = word.to;
    }
    const struct dialect_words words = {argv, (int)n, NULL};
    return dialect_is_words(&words);
}

/* No program has such a name: a flag, or NAME=VALUE as Hydra takes it, which
 * bash passes over only where NAME is one of its own. */
bool call_is_stray(const struct bash_call *call)
{
    size_t program = ranks_program(call);
    const char *name = program < call->n ? call->word[program].text : "";
    return *name == '-' || (strchr(name, '=') && !strchr(name, '/'));
}

/* 0: none; 1: some flag that sizes depend on; 2: a flag of the model's size.
 * Conversions and preprocessing have flags of the first sort, too. */
int call_weight(const struct bash_call *call)
{
    int weight = 0;
    size_t i = ranks_first_argument(call);
    if (ranks_program(call) >= call->n || call_is_stray(call))
        return 0;
    if (call_is_dialect(call))
        return 2;
    for (; i < call->n; i++) {
        enum flag_id id = megatron_args_flag_of(call->word[i].text);
        if (id == FLAG_NUM_LAYERS || id == FLAG_HIDDEN_SIZE)
            return 2;
        if (id != FLAG_NONE && flag_effect(id) <= FLAG_FX_BATCH &&
            id != FLAG_TOKENIZER_TYPE)
            weight = 1;
    }
    return weight;
}

/* ---- words ---- */

/* The word as bash passes it on, marks of empty variables taken out. */
char *call_plain(struct arena *a, const char *text)
{
    char *out = arena_strdup(a, text), *to = out;
    for (const char *p = text; out && *p;) {
        if (*p == BASH_MARK)
            p += strcspn(p, "\x02") + (strchr(p, '\x02') != NULL);
        else
            *to++ = *p++;
    }
    if (out)
        *to = '\0';
    return out;
}

/* Why the word cannot be used as it stands; NULL where it can. A variable that
 * was never set is no word at all, but a value may not be missing. */
static const struct flag_unknown *call_unknown(const struct call_source *r,
                                               const struct bash_word *w,
                                               const char *plain)
{
    const struct bash_cause *cause = NULL;
    for (const char *p = w->text; (p = strchr(p, BASH_MARK)); p++) {
        cause = bash_first_cause(r->result, p);
        if (cause && cause->kind == BASH_UNKNOWN)
            break;
    }
    // of --name=$N the value is empty, not the word
    const char *equals = strchr(plain, '=');
    bool empty = !*plain || (equals && !equals[1]);
    if (!cause || (cause->kind == BASH_UNSET && !empty))
        return NULL;
    struct flag_unknown *u = arena_alloc(r->arena, 1, sizeof *u);
    if (!u)
        return NULL;
    u->where = arena_printf(r->arena, "%s:%d", cause->file, cause->line);
    u->why = bash_cause_text(r->arena, cause);
    return u->where && u->why ? u : NULL;
}

struct words {
    char **argv;
    struct args_origin *origin;
    int n;
};

/* Is the word the value of the flag before it? */
static bool call_is_value(const struct words *w)
{
    if (w->n == 0)
        return false;
    const char *before = w->argv[w->n - 1];
    enum flag_id id = megatron_args_flag_of(before);
    return id != FLAG_NONE && !strchr(before, '=') &&
           flag_type(id) != FLAG_TYPE_BOOL && !w->origin[w->n - 1].unknown;
}

/* An unquoted variable that was never set vanishes, as in bash, unless a flag
 * waits for its value. */
static enum err call_add_word(const struct call_source *r,
                              const struct bash_word *w, struct words *out,
                              struct err_msg *msg)
{
    char *plain = call_plain(r->arena, w->text);
    const char *from = arena_printf(r->arena, "%s:%d", w->file, w->line);
    if (!plain || !from)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", r->path);
    const struct flag_unknown *unknown = call_unknown(r, w, plain);
    const struct bash_cause *cause = bash_first_cause(r->result, w->text);
    bool unset = unknown && cause && cause->kind == BASH_UNSET && !*plain;
    if (unset && !call_is_value(out))
        return ERR_OK;
    if (unknown && !*plain)
        plain = arena_strdup(r->arena, unknown->why);
    if (!plain)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", r->path);
    out->argv[out->n] = plain;
    out->origin[out->n++] = (struct args_origin){from, unknown};
    return ERR_OK;
}

/* ---- one launch on one way ---- */

/* A world size that is not known keeps its reason, so that the question is
 * asked where it is needed, and not here. */
static enum err call_set_ranks(const struct call_source *r,
                               const struct bash_call *call,
                               struct megatron_args *to, struct err_msg *msg)
{
    struct megatron_flags *f = megatron_args_flags(to);
    struct ranks n = ranks_of_call(r->arena, r->result, call);
    f->from = arena_printf(r->arena, "%s:%d", call->file, call->line);
    if (!f->from || (!n.n && (!n.why || !n.where)))
        return err_set(msg, ERR_NOMEM, "%s: out of memory", r->path);
    if (n.n) {
        flags_set_int(f, FLAG_WORLD_SIZE, n.n);
        return ERR_OK;
    }
    const struct flag_unknown why = {n.where, n.why};
    return flags_set_unknown(f, FLAG_WORLD_SIZE, &why, msg);
}

/* Not strict: launch scripts have flags of the user's own program. */
enum err call_read(const struct call_source *r, const struct bash_call *call,
                   struct megatron_args *to, struct err_msg *msg)
{
    bool dialect = call_is_dialect(call);
    size_t from = dialect ? ranks_program(call) : ranks_first_argument(call);
    struct words w = {arena_alloc(r->arena, call->n + 1, sizeof *w.argv),
                      arena_alloc(r->arena, call->n + 1, sizeof *w.origin), 0};
    if (!w.argv || !w.origin)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", r->path);
    enum err e = call_set_ranks(r, call, to, msg);
    for (size_t i = from; i < call->n && e == ERR_OK; i++)
        e = call_add_word(r, &call->word[i], &w, msg);
    const struct megatron_args_options opt = {.origin = w.origin};
    const struct dialect_words words = {w.argv, w.n, w.origin};
    if (e == ERR_OK)
        e = dialect ? dialect_read_words(to, &words, msg)
                    : megatron_args_read(to, w.argv, w.n, &opt, msg);
    if (e == ERR_OK && !dialect)
        e = rollout_read(to, &words, msg);
    // the readers of flags name the file where they know it
    if (e != ERR_OK && !text_starts(msg->text, r->path))
        err_prefix(msg, e, "%s:%d", call->file, call->line);
    return e;
}
