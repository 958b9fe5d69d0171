/* Unknown keys are errors: only stand-ins of the same program write lines. */
#include "lines.h"

#include "base/reader.h"
#include "base/writer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[] = {"program", "argv",  "env",      "outer",
                                   "job",     "piped", "elsewhere"};
enum { RECORD_N_KEYS = sizeof keys / sizeof keys[0], RECORD_MAX_ENV = 256 };

/* ---- writing ---- */

static void record_write_words(struct writer list, struct record_words words)
{
    for (int i = 0; i < words.n; i++)
        writer_text(list, NULL, words.word[i]);
}

/* On one line; the tree is deleted. */
static const char *record_print_tree(struct arena *a, cJSON *tree,
                                     const char *end)
{
    char *text = tree ? cJSON_PrintUnformatted(tree) : NULL;
    const char *out = text ? arena_printf(a, "%s%s", text, end) : NULL;
    cJSON_free(text);
    cJSON_Delete(tree);
    return out;
}

/* One line of JSON a call: several stand-ins append to one file, and a line is
 * written at once. */
const char *record_line(struct arena *a, const struct record_call *call)
{
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    writer_text(top, "program", call->program);
    record_write_words(writer_list(top, "argv"), call->argv);
    struct writer env = writer_object(top, "env");
    for (int i = 0; i < call->n_env; i++)
        writer_text(env, call->env[i].name, call->env[i].value);
    record_write_words(writer_list(top, "outer"), call->outer);
    record_write_words(writer_list(top, "job"), call->job);
    writer_bool(top, "piped", call->piped);
    writer_bool(top, "elsewhere", call->elsewhere);
    return record_print_tree(a, writer_close(&doc), "\n");
}

const char *record_words_text(struct arena *a, struct record_words words)
{
    struct writer_doc doc;
    record_write_words(writer_open_list(&doc), words);
    return record_print_tree(a, writer_close(&doc), "");
}

/* ---- reading ---- */

/* A member that is a list of words; absent is empty. */
static struct record_words record_read_words(struct reader at, const char *key)
{
    struct record_words w = {NULL, 0};
    w.n = reader_texts(at, key, RECORD_MAX_WORDS, &w.word);
    return w;
}

/* What a shell sets: the name is printed as it is. */
static bool record_is_name(const char *name)
{
    return !isdigit((unsigned char)*name) && *name &&
           name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* Options of a comment line: one word each, and no end of a line. */
static void record_check_job(struct reader top, const struct record_call *call)
{
    for (int i = 0; i < call->job.n; i++) {
        const char *p = call->job.word[i];
        bool option = text_starts(p, "--");
        while ((unsigned char)*p > ' ')
            p++;
        if (*p || !option)
            reader_fail_at(top, "job", ERR_PARSE,
                           "got '%.40s', want options of sbatch",
                           call->job.word[i]);
    }
}

static void record_read_env(struct reader top, struct record_call *call)
{
    struct reader env = reader_object(top, "env");
    int n = reader_count(env);
    if (n > RECORD_MAX_ENV) {
        reader_fail(env, ERR_PARSE, "got %d, want at most %d", n,
                    RECORD_MAX_ENV);
        return;
    }
    struct record_setting *s =
        arena_alloc(top.doc->a, (size_t)n + 1, sizeof *s);
    if (!s) {
        reader_fail(top, ERR_NOMEM, "out of memory");
        return;
    }
    int i = 0;
    for (struct reader e = reader_first(env); e.item; e = reader_next(e), i++) {
        s[i].name = arena_strdup(top.doc->a, reader_key(e));
        reader_text_here(e, &s[i].value);
        if (!s[i].name)
            reader_fail(top, ERR_NOMEM, "out of memory");
        else if (!record_is_name(s[i].name))
            reader_fail(env, ERR_PARSE, "got '%.40s', want a variable's name",
                        s[i].name);
    }
    call->env = s;
    call->n_env = n;
}

/* Stand-ins wrote it, but the script could have as well: nothing in it is taken
 * on trust. */
static enum err record_read_line(struct arena *a, const char *line,
                                 const char *where, struct record_call *call,
                                 struct err_msg *msg)
{
    struct reader_doc doc;
    struct reader top = reader_open_text(&doc, a, line, where, msg);
    reader_keys(top, keys, RECORD_N_KEYS);
    reader_require(top, "program", "a launcher's name");
    reader_require(top, "argv", "its words");
    reader_text(top, "program", &call->program);
    call->argv = record_read_words(top, "argv");
    record_read_env(top, call);
    call->outer = record_read_words(top, "outer");
    call->job = record_read_words(top, "job");
    record_check_job(top, call);
    reader_bool(top, "piped", &call->piped);
    reader_bool(top, "elsewhere", &call->elsewhere);
    if (reader_is_ok(top) && call->argv.n == 0)
        reader_fail_at(top, "argv", ERR_PARSE, "got no word, want the program");
    return reader_close(&doc);
}

enum err record_words_read(struct arena *a, const char *text, const char *where,
                           struct record_words *out, struct err_msg *msg)
{
    // as a member of an object, which reading of lists begins with
    const char *whole = arena_printf(a, "{\"words\":%s}", text);
    if (!whole)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    struct reader_doc doc;
    struct reader top = reader_open_text(&doc, a, whole, where, msg);
    struct record_words words = record_read_words(top, "words");
    enum err e = reader_close(&doc);
    if (e == ERR_OK)
        *out = words;
    return e;
}

/* How many lines there are, at most the bound: room for their calls. */
static size_t record_count_lines(struct text_span text)
{
    size_t n = 1;
    for (size_t i = 0; i < text.len && n <= RECORD_MAX_CALLS; i++)
        n += text.data[i] == '\n';
    return n;
}

/* Reads the line that begins at `line` into the next call; ends the list where
 * a bound is met. */
static enum err record_take_line(struct arena *a, const char *line,
                                 const char *where, struct record_calls *calls,
                                 struct err_msg *msg)
{
    if (calls->n == RECORD_MAX_CALLS) {
        calls->cut = true;
        return ERR_OK;
    }
    struct record_call *call = &calls->call[calls->n];
    enum err e = record_read_line(a, line, where, call, msg);
    calls->n += e == ERR_OK;
    return e;
}

static int record_n_words(const struct record_call *c)
{
    return c->argv.n + c->outer.n + c->job.n + c->n_env;
}

/* The line's end in the text, made a zero; its length is judged before it is
 * parsed, since a tree takes some forty times as much. */
static enum err record_end_line(struct text_span text, char *line,
                                const char *where, char **end,
                                struct err_msg *msg)
{
    size_t left = text.len - (size_t)(line - text.data);
    *end = memchr(line, '\n', left);
    size_t len = *end ? (size_t)(*end - line) : left;
    if (len >= RECORD_MAX_LINE_BYTES)
        return err_set(msg, ERR_PARSE, "%s: got %zu bytes, want fewer than %d",
                       where, len, RECORD_MAX_LINE_BYTES);
    if (!*end)
        return err_set(msg, ERR_PARSE, "%s: the line has no end: cut short",
                       where);
    if (memchr(line, '\0', len))
        return err_set(msg, ERR_PARSE, "%s: holds a zero byte, want text",
                       where);
    **end = '\0';
    return ERR_OK;
}

/* A script that starts launches for ever is cut at the bounds, and told of;
 * what came before still counts. */
enum err record_lines_read(struct arena *a, struct text_span text,
                           const char *where, struct record_calls *out,
                           struct err_msg *msg)
{
    struct record_calls calls = {0};
    calls.call = arena_alloc(a, record_count_lines(text), sizeof *calls.call);
    if (!calls.call)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    char *p = text.data, *end;
    for (int line = 1, words = 0; p < text.data + text.len && !calls.cut;
         line++, p = end + 1) {
        char at[512]; // a name and a number; longer names are cut in messages
        snprintf(at, sizeof at, "%s:%d", where, line);
        enum err e = record_end_line(text, p, at, &end, msg);
        int before = calls.n;
        if (e == ERR_OK)
            e = record_take_line(a, p, at, &calls, msg);
        if (e != ERR_OK)
            return e;
        words += calls.n > before ? record_n_words(&calls.call[before]) : 0;
        calls.cut = calls.cut || words > RECORD_MAX_ALL_WORDS;
    }
    *out = calls;
    return ERR_OK;
}
