/*
 * How it works: the script is read once for every way. The oracle of the first
 * way answers each question with its first side; the next way begins with the
 * answers of the last, but for the last one that has another side. Where that
 * makes too many ways, each answer of the first way is varied alone.
 */
#define _XOPEN_SOURCE 700 // realpath()
#include "bash.h"

#include "base/join.h"
#include "eval.h"
#include "follow.h"
#include "script/branch.h"
#include "script/wrapper.h"

#include <stdlib.h>
#include <string.h>

/* What all ways share. */
struct reading {
    struct bash sh;
    struct bash_oracle oracle;
    struct bash_file main; // the script itself
    const char *home, *zero;
    struct bash_way *way; // room for BASH_MAX_WAYS
    size_t n_ways;
    struct bash_slurm slurm;
    const char *error; // of syntax, first way
};

const char *bash_home_folder(struct bash *sh)
{
    return sh->in->folder;
}

/* ---- one way ---- */

/* The environment that the user gave, and what Slurm adds. */
static void set_input(struct reading *r)
{
    struct bash *sh = &r->sh;
    struct bash_words args = {0};
    for (size_t i = 0; i < sh->in->n_args; i++)
        bash_words_add(sh, &args, sh->in->args[i], false, false);
    bash_put_var(sh, BASH_POSITIONAL, bash_list_of(sh, &args));
    bash_set(sh, BASH_FOLDER,
             r->home ? r->home
                     : bash_unknown(sh, "$PWD",
                                    "the script's folder is not "
                                    "known"));
    for (size_t i = 0; i < sh->in->n_set; i++) {
        bash_set(sh, sh->in->set[i].name, sh->in->set[i].value);
        bash_set_flags(sh, sh->in->set[i].name, BASH_EXPORTED, 0);
    }
    sh->at.slurm = r->slurm;
    bash_slurm_variables(sh, &r->slurm);
}

/* All memory of the last way goes; questions and files stay. */
static void way_begin(struct reading *r)
{
    struct bash *sh = &r->sh;
    arena_clear(&sh->run);
    sh->run_bytes = 0;
    sh->free_states = NULL;
    sh->call = NULL;
    sh->n_calls = sh->cap_calls = 0;
    sh->flow = BASH_GO;
    sh->ended = sh->said = NULL;
    sh->ended_line = 0;
    sh->n_streams = 0;
    sh->at = (struct bash_context){.file = r->main.script.name,
                                   .line = 1,
                                   .script = r->zero,
                                   .source = r->zero};
    r->oracle.way++;
    r->oracle.n = 0;
    r->oracle.probe = NULL;
    bash_state_open(sh);
    set_input(r);
}

/* ---- copies that outlive the way ---- */

static const struct bash_call *keep_outer(struct bash *sh,
                                          const struct bash_call *c);

/* Words and environment of a way are of its arena; what is reported must
 * outlive it. */
static void keep_call(struct bash *sh, const struct bash_call *from,
                      struct bash_call *to)
{
    struct bash_word *word = bash_keep(sh, from->n + 1, sizeof *word);
    struct bash_setting *env = bash_keep(sh, from->n_env + 1, sizeof *env);
    *to = *from;
    for (size_t i = 0; i < from->n; i++) {
        word[i] = from->word[i];
        word[i].text = bash_keep_text(sh, from->word[i].text);
    }
    for (size_t i = 0; i < from->n_env; i++) {
        env[i].name = bash_keep_text(sh, from->env[i].name);
        env[i].value = bash_keep_text(sh, from->env[i].value);
    }
    to->word = word;
    to->env = env;
    to->outer = from->outer ? keep_outer(sh, from->outer) : NULL;
}

/* Calls around this one live as long as the result, their words in the reading
 * that made it may not. */
static const struct bash_call *keep_outer(struct bash *sh,
                                          const struct bash_call *c)
{
    struct bash_call *copy = bash_keep(sh, 1, sizeof *copy);
    keep_call(sh, c, copy);
    return copy;
}

/* Same words, place and environment, through the same launchers. */
static bool same_call(const struct bash_call *a, const struct bash_call *b)
{
    if (a->line != b->line || a->n != b->n || a->n_env != b->n_env ||
        strcmp(a->file, b->file) != 0 || !a->outer != !b->outer)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->word[i].text, b->word[i].text) != 0)
            return false;
    for (size_t i = 0; i < a->n_env; i++)
        if (strcmp(a->env[i].name, b->env[i].name) != 0 ||
            strcmp(a->env[i].value, b->env[i].value) != 0)
            return false;
    return !a->outer || same_call(a->outer, b->outer);
}

/* A way whose calls are those of another tells nothing new. */
static bool way_is_new(const struct reading *r)
{
    const struct bash *sh = &r->sh;
    for (size_t i = 0; i < r->n_ways; i++) {
        const struct bash_way *w = &r->way[i];
        bool same = w->n_calls == sh->n_calls;
        for (size_t k = 0; k < sh->n_calls && same; k++)
            same = same_call(&w->call[k], &sh->call[k]);
        if (same)
            return false;
    }
    return true;
}

/* Decisions go along, so that a reader can say on what ways part. */
static void way_keep(struct reading *r)
{
    struct bash *sh = &r->sh;
    if (!way_is_new(r))
        return;
    struct bash_way *w = &r->way[r->n_ways++];
    struct bash_call *call = bash_keep(sh, sh->n_calls + 1, sizeof *call);
    struct bash_decision *d = bash_keep(sh, r->oracle.n + 1, sizeof *d);
    for (size_t i = 0; i < sh->n_calls; i++)
        keep_call(sh, &sh->call[i], &call[i]);
    for (size_t i = 0; i < r->oracle.n; i++) {
        const struct bash_question *q = r->oracle.asked[i];
        d[i] = (struct bash_decision){q->text, q->file, q->line,
                                      r->oracle.answer[i] == 0,
                                      r->oracle.answer[i]};
    }
    *w = (struct bash_way){call,        sh->n_calls, d,
                           r->oracle.n, sh->ended,   sh->ended_line};
}

/* From the beginning each time: ways differ in the answers to questions, which
 * the oracle holds. */
static void way_run(struct reading *r)
{
    way_begin(r);
    bash_eval_script(&r->sh, &r->main.script);
    if (r->main.script.error && !r->error)
        r->error = r->main.script.error;
    way_keep(r);
}

/* ---- all ways ---- */

/* The answers for the next way; false where there is none. */
static bool oracle_next(struct bash_oracle *o)
{
    while (o->n > 0 && o->answer[o->n - 1] + 1 >= o->asked[o->n - 1]->n_sides)
        o->n--;
    if (o->n == 0)
        return false;
    o->answer[o->n - 1]++;
    o->n_given = o->n;
    return true;
}

/* The first way, then each of its answers changed alone. */
static void ways_alone(struct reading *r)
{
    struct bash_oracle *o = &r->oracle;
    size_t tried = 0;
    r->n_ways = 0;
    o->alone = true;
    o->flipped = NULL;
    way_run(r);
    size_t n = o->n;
    struct bash_question **asked = bash_keep(&r->sh, n + 1, sizeof *asked);
    if (n)
        memcpy(asked, o->asked, n * sizeof *asked);
    for (size_t i = 0; i < n; i++)
        for (int a = 1; a < asked[i]->n_sides && tried < BASH_MAX_WAYS - 1 &&
                        r->sh.steps < BASH_MAX_STEPS / 4 * 3;
             a++, tried++) {
            o->flipped = asked[i];
            o->flip_to = a;
            way_run(r);
        }
}

/* False where there are too many; a first way with many questions tells. */
static bool ways_all(struct reading *r)
{
    for (int n = 0; n < BASH_MAX_WAYS && r->sh.steps < BASH_MAX_STEPS / 4;
         n++) {
        way_run(r);
        if (n == 0 && r->oracle.n > BASH_MAX_QUESTIONS)
            return false;
        if (!oracle_next(&r->oracle))
            return true;
    }
    return false;
}

/* All combinations where they are few. Else each question once with the others
 * at their first answer: what decides a launch mostly decides it alone. */
static void ways_run(struct reading *r, struct bash_result *out)
{
    r->way = bash_keep(&r->sh, BASH_MAX_WAYS, sizeof *r->way);
    out->all_ways = ways_all(r);
    if (!out->all_ways) {
        ways_alone(r);
        r->sh.at.line = 1;
        bash_note(&r->sh,
                  "more than %d ways that the script may go: what is not "
                  "known was varied one at a time",
                  BASH_MAX_WAYS);
    }
    out->way = r->way;
    out->n_ways = r->n_ways;
}

/* Text is copied, since it is cleaned in place and outlives the caller's. */
static void reading_open(struct reading *r, struct arena *a,
                         const struct bash_input *in)
{
    struct bash *sh = &r->sh;
    char *text = NULL;
    sh->keep = a;
    arena_init(&sh->run);
    sh->oracle = &r->oracle;
    sh->in = in;
    sh->at.file = in->name;
    sh->at.line = 1;
    text = bash_keep(sh, strlen(in->text) + 1, 1);
    memcpy(text, in->text, strlen(in->text));
    bash_clean(text);
    r->main.path = "";
    r->main.text = text;
    r->main.script = (struct bash_script){
        .name = bash_keep_text(sh, in->name), .text = text, .line = 1};
    sh->files = &r->main;
    r->home = in->folder;
    r->zero = bash_base_name(r->main.script.name);
    bash_slurm_read(text, &r->slurm);
}

static bool any_calls(const struct bash_result *out)
{
    for (size_t i = 0; i < out->n_ways; i++)
        if (out->way[i].n_calls)
            return true;
    return false;
}

static void reading_result(struct reading *r, struct bash_result *out)
{
    out->cause = r->sh.cause;
    out->n_causes = r->sh.n_causes;
    out->note = r->sh.notes.text;
    out->n_notes = r->sh.notes.n;
    out->missing = r->sh.missing.text;
    out->n_missing = r->sh.missing.n;
    out->slurm = r->slurm;
}

/* What may leave by longjmp() is called here, away from other variables. */
static enum err reading_guarded(struct reading *r, struct arena *a,
                                const struct bash_input *in,
                                struct bash_result *out)
{
    r->sh.err = ERR_OK;
    if (setjmp(r->sh.stop))
        return r->sh.err;
    reading_open(r, a, in);
    ways_run(r, out);
    reading_result(r, out);
    return ERR_OK;
}

/* A syntax error counts only where no launch was found: bash as well runs what
 * comes before it. */
enum err bash_run(struct arena *a, const struct bash_input *in,
                  struct bash_result *out, struct err_msg *msg)
{
    struct bash_result result = {0};
    struct bash_input input = *in;
    struct reading *r = arena_alloc(a, 1, sizeof *r);
    char *home = in->folder ? realpath(in->folder, NULL) : NULL;
    input.folder =
        home && strcmp(home, "/") != 0 ? arena_strdup(a, home) : NULL;
    free(home);
    if (!r)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", in->name);
    if (strlen(in->text) > BASH_MAX_FILE_BYTES)
        return err_set(msg, ERR_RANGE, "%s: more than %d bytes", in->name,
                       BASH_MAX_FILE_BYTES);
    r->sh.msg = msg;
    enum err e = reading_guarded(r, a, &input, &result);
    arena_clear(&r->sh.run);
    if (e == ERR_OK && r->error && !any_calls(&result))
        return err_set(msg, ERR_PARSE, "%s:%d: syntax error: %s", in->name,
                       r->main.script.error_line, r->error);
    if (e == ERR_OK)
        *out = result;
    return e;
}

/* ---- reading results ---- */

/* NULL where all of the text is known. */
const struct bash_cause *bash_first_cause(const struct bash_result *r,
                                          const char *text)
{
    const char *p = strchr(text, BASH_MARK);
    size_t i = p ? (size_t)strtoul(p + 1, NULL, 10) : 0;
    return p && i < r->n_causes ? &r->cause[i] : NULL;
}

/* With the option that would answer it, where it is a variable or argument that
 * a user can give. */
const char *bash_cause_text(struct arena *a, const struct bash_cause *c)
{
    const char *why =
        strcmp(c->why, "only running it could tell") ? c->why : "";
    const char *name = c->text + 1 + (c->text[0] && c->text[1] == '{');
    size_t n = strspn(name, "0123456789");
    const char *text =
        arena_printf(a, "%s%s%s", c->text, *why ? ": " : "", why);
    if (!text || c->text[0] != '$')
        return text;
    if (n)
        return arena_printf(a, "%s (--arg, the script's argument %.*s)", text,
                            (int)n, name);
    n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                     "0123456789_");
    // an element of an array is nothing that an environment holds
    if (!n || name[n] == '[')
        return text;
    return arena_printf(a, "%s (--set %.*s=VALUE)", text, (int)n, name);
}

/* Marks stand for what is not known; people see the text that stood there. */
const char *bash_show(struct arena *a, const struct bash_result *r,
                      const char *text)
{
    struct join out = join_begin(a);
    while (*text) {
        size_t n = strcspn(text, "\x01");
        const struct bash_cause *c =
            text[n] ? bash_first_cause(r, text + n) : NULL;
        join_add_n(&out, text, n);
        join_add(&out, c ? c->text : "");
        text += n;
        const char *end = strchr(text, BASH_MARK_END);
        text = end ? end + 1 : text + strlen(text);
    }
    return join_end(&out);
}
