/*
 * How it works: words are quoted one by one, so that a shell, and a reader of
 * scripts, makes the same words of a line. What is printed as it is (names of
 * variables, options of jobs) was checked when the record was read.
 */
#include "replay.h"

#include "base/writer.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* ---- which calls ---- */

/* --name, or a.b=value as Hydra has it. */
static bool replay_is_flag(const char *word)
{
    if (word[0] == '-' && word[1] == '-')
        return isalpha((unsigned char)word[2]) != 0;
    size_t name = 0, dots = 0;
    while (isalnum((unsigned char)word[name]) ||
           (word[name] && strchr("._+", word[name])))
        dots += word[name++] == '.';
    return name > 0 && dots > 0 && word[name] == '=' && word[0] != '.';
}

bool replay_is_launch(const struct record_call *call)
{
    for (int i = 1; i < call->argv.n && !call->elsewhere; i++)
        if (replay_is_flag(call->argv.word[i]))
            return true;
    return false;
}

/* ---- one line ---- */

const char *replay_quote(struct arena *a, const char *word)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "abcdefghijklmnopqrstuvwxyz"
                               "0123456789_@%+=:,./-";
    if (*word && word[strspn(word, safe)] == '\0')
        return word;
    char *out = arena_alloc(a, 4 * strlen(word) + 3, 1), *p = out;
    if (!out)
        return NULL;
    *p++ = '\'';
    for (; *word; word++) {
        if (*word == '\'') { // ends the quotes, one by itself, begins again
            memcpy(p, "'\\'", 3);
            p += 3;
        }
        *p++ = *word;
    }
    *p = '\'';
    return out;
}

/* Text that grows; `failed` when memory ran out. */
struct replay_line {
    struct arena *a;
    FILE *out;
    bool failed;
};

/* A first word with '=' in it would be an assignment, hence its quotes. */
static void replay_put_words(struct replay_line *l, struct record_words words,
                             bool first)
{
    for (int i = 0; i < words.n; i++) {
        const char *text = replay_quote(l->a, words.word[i]);
        if (text && i == 0 && text == words.word[i] && strchr(text, '='))
            text = arena_printf(l->a, "'%s'", text); // it would set a variable
        if (text)
            fprintf(l->out, "%s%s", first && i == 0 ? "" : " ", text);
        l->failed = l->failed || !text;
    }
}

static void replay_put_call(struct replay_line *l, const struct record_call *c)
{
    for (int i = 0; i < c->n_env; i++) {
        const char *text = replay_quote(l->a, c->env[i].value);
        if (text)
            fprintf(l->out, "%s=%s ", c->env[i].name, text);
        l->failed = l->failed || !text;
    }
    replay_put_words(l, c->outer, true);
    replay_put_words(l, c->argv, c->outer.n == 0);
    fputc('\n', l->out);
}

/* ---- the script ---- */

static bool replay_same_words(struct record_words x, struct record_words y)
{
    bool same = x.n == y.n;
    for (int i = 0; i < x.n && same; i++)
        same = strcmp(x.word[i], y.word[i]) == 0;
    return same;
}

/* All but the program's name, which follows from the words. */
static bool replay_same(const struct record_call *x,
                        const struct record_call *y)
{
    bool same = x->n_env == y->n_env;
    for (int i = 0; i < x->n_env && same; i++)
        same = strcmp(x->env[i].name, y->env[i].name) == 0 &&
               strcmp(x->env[i].value, y->env[i].value) == 0;
    return same && replay_same_words(x->argv, y->argv) &&
           replay_same_words(x->outer, y->outer) &&
           replay_same_words(x->job, y->job);
}

/* Launches are few next to what is compared: a loop over ranks. */
static bool replay_was_printed(const struct record_calls *calls, int i)
{
    for (int k = 0; k < i; k++)
        if (replay_is_launch(&calls->call[k]) &&
            replay_same(&calls->call[k], &calls->call[i]))
            return true;
    return false;
}

/* Of the launches; NULL where jobs differ or none has a size. */
static const struct record_words *replay_job(const struct record_calls *calls)
{
    const struct record_words *job = NULL;
    for (int i = 0; i < calls->n; i++) {
        if (!replay_is_launch(&calls->call[i]))
            continue;
        if (job && !replay_same_words(*job, calls->call[i].job))
            return NULL;
        job = &calls->call[i].job;
    }
    return job;
}

/* A script that can be read or run in place of the recorded one. */
enum err replay_print(struct arena *a, const struct record_calls *calls,
                      FILE *out, struct err_msg *msg)
{
    struct replay_line line = {a, out, false};
    const struct record_words *job = replay_job(calls);
    fputs("#!/bin/bash\n", out);
    for (int i = 0; job && i < job->n; i++)
        fprintf(out, "#SBATCH %s\n", job->word[i]);
    for (int i = 0; i < calls->n; i++)
        if (replay_is_launch(&calls->call[i]) && !replay_was_printed(calls, i))
            replay_put_call(&line, &calls->call[i]);
    if (line.failed)
        return err_set(msg, ERR_NOMEM, "record: out of memory");
    return ferror(out) ? err_set(msg, ERR_IO, "record: %s", strerror(errno))
                       : ERR_OK;
}

/* ---- JSON ---- */

static void replay_write_words(struct writer call, const char *key,
                               struct record_words words)
{
    struct writer list = writer_list(call, key);
    for (int i = 0; i < words.n; i++)
        writer_text(list, NULL, words.word[i]);
}

static void replay_write_call(struct writer to, const struct record_call *c)
{
    struct writer call = writer_object(to, NULL);
    writer_text(call, "program", c->program);
    replay_write_words(call, "argv", c->argv);
    struct writer env = writer_object(call, "env");
    for (int i = 0; i < c->n_env; i++)
        writer_text(env, c->env[i].name, c->env[i].value);
    replay_write_words(call, "outer", c->outer);
    replay_write_words(call, "job", c->job);
    writer_bool(call, "launch", replay_is_launch(c));
    writer_bool(call, "elsewhere", c->elsewhere);
}

enum err replay_print_json(const struct record_calls *calls, const char *ended,
                           bool complete, FILE *out, struct err_msg *msg)
{
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    writer_text(top, "format", "moe-layout/record/1");
    writer_text(top, "ended", ended);
    writer_bool(top, "complete", complete);
    struct writer list = writer_list(top, "calls");
    for (int i = 0; i < calls->n; i++)
        replay_write_call(list, &calls->call[i]);
    return writer_print(&doc, true, out, msg);
}
