/*
 * How it works: files are read one after the other into an arena of their own,
 * so that a log's memory is given back before the next. Values are searched
 * everywhere; Megatron's list of its arguments ("  wandb_api_key .... x") tells
 * names, too.
 */
#include "leaks.h"

#include "base/text.h"
#include "manifest/secret.h"

#include <string.h>
#include <sys/stat.h>

enum { LEAKS_MAX_BYTES = 1 << 30 };

/* "name ......... value": at least this many dots are a list's. */
#define LEAKS_DOTS " ...."

/* A line of Megatron's list whose name is one for secrets and whose value is
 * one: it is read as the option that it was. */
static bool is_listed(const char *line, size_t n, struct arena *a,
                      struct secret *out)
{
    const char *dots = strstr(line, LEAKS_DOTS);
    if (!dots || dots > line + n)
        return false;
    size_t blanks = strspn(line, " ");
    const char *value = dots + 1 + strspn(dots + 1, ".");
    const char *as_option =
        value >= line + n
            ? NULL
            : arena_printf(a, "--%.*s %.*s", (int)(dots - line - (long)blanks),
                           line + blanks, (int)(line + n - value), value);
    return as_option && secret_find(as_option, out);
}

/* What the text is and where, but not the text: the message goes into logs of
 * its own. */
static enum err fail_leak(const char *path, long line, const struct secret *s,
                          struct err_msg *msg)
{
    return err_set(
        msg, ERR_PARSE,
        "%s:%ld: %s%s%s%s looks like a secret, nothing is published; "
        "take it out of the run, and revoke it if it is one",
        path, line, s->what, *s->name ? " of '" : "", s->name,
        *s->name ? "'" : "");
}

/* Values in all of the text, names in lists. */
static enum err check_text(struct arena *a, const char *path, const char *text,
                           struct err_msg *msg)
{
    struct secret s;
    long line = 1;
    if (secret_find_value(text, &s)) {
        for (const char *p = text; p < text + s.at; p++)
            line += *p == '\n';
        return fail_leak(path, line, &s, msg);
    }
    if (!strstr(text, LEAKS_DOTS))
        return ERR_OK;
    for (const char *p = text; *p; line++) {
        size_t n = strcspn(p, "\n");
        if (is_listed(p, n, a, &s))
            return fail_leak(path, line, &s, msg);
        p += n + (p[n] == '\n');
    }
    return ERR_OK;
}

/* The whole file in memory at once, and given back at once. */
enum err leaks_check_file(const char *path, struct err_msg *msg)
{
    struct arena a;
    struct text_span text = {0};
    struct stat st;
    if (!path)
        return err_set(msg, ERR_NOMEM, "publish: out of memory");
    // what is no plain file is not published
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return ERR_OK;
    arena_init(&a);
    enum err e = text_read_bytes(&a, path, LEAKS_MAX_BYTES, &text, msg);
    // a zero byte must not hide what is behind it
    for (char *p = text.data; e == ERR_OK && p < text.data + text.len; p++)
        if (*p == '\0')
            *p = ' ';
    if (e == ERR_OK)
        e = check_text(&a, path, text.data, msg);
    arena_clear(&a);
    return e;
}

/* Names that a folder lacks are passed over. */
static enum err check_folder(struct arena *a, const char *folder,
                             const char *const *names, size_t n,
                             struct err_msg *msg)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = leaks_check_file(arena_printf(a, "%s/%s", folder, names[i]), msg);
    return e;
}

/* All that is to be published, before a byte of it is copied. */
enum err leaks_check(const struct experiment *e, struct err_msg *msg)
{
    static const char *const tables[] = {
        "runs.csv",   "iterations.csv", "layouts.csv", "stages.csv",
        "costs.json", "plan.json",      "units.csv",   "timeline.csv",
        "jitter.csv", "recipes.csv"};
    static const char *const of_run[] = {"status.json", "provenance.json",
                                         "log.txt", "ops.csv"};
    enum err err = check_folder(e->a, e->dir, tables,
                                sizeof tables / sizeof tables[0], msg);
    if (err == ERR_OK && e->workload.model_path)
        err = leaks_check_file(e->workload.model_path, msg);
    for (size_t i = 0; i < e->runs.n && err == ERR_OK; i++)
        err = check_folder(e->a, e->runs.run[i].folder, of_run,
                           sizeof of_run / sizeof of_run[0], msg);
    return err;
}
