/*
 * How it works: bounds and the session to compare with are read before anything
 * is computed, so that a misspelt name is told at once. Each dataset adds a
 * line; lines are compared, printed, and kept only where it was asked for.
 */
#include "validate_session.h"

#include "cmd.h"
#include "regress/revision.h"
#include "report/reference.h"
#include "report/validate_recipes.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum err session_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "validate: out of memory");
}

/* ---- what is compared ---- */

/* Line numbers and "last" need no git. */
static enum err find_session(struct arena *a, const struct history *h,
                             const char *text, struct history_session *out,
                             struct err_msg *msg)
{
    struct history_name name = {.text = text};
    enum err e = revision_resolve(a, text, &name.commit, msg);
    return e == ERR_OK ? history_find(a, h, name, out, msg) : e;
}

/* "THEN..NOW" as git writes a range; names of commits hold no two dots. */
static enum err find_sessions(struct validate_session *s, const char *against,
                              struct err_msg *msg)
{
    struct history h;
    const char *dots = strstr(against, "..");
    const char *then =
        dots ? arena_strndup(s->a, against, (size_t)(dots - against)) : against;
    if (!then)
        return session_no_memory(msg);
    if (!*then || (dots && !dots[2]))
        return err_set(msg, ERR_PARSE,
                       "--against: got '%s', want REV or THEN..NOW", against);
    enum err e = history_read(s->a, s->history, &h, msg);
    if (e == ERR_OK)
        e = find_session(s->a, &h, then, &s->then, msg);
    if (e == ERR_OK && dots)
        e = find_session(s->a, &h, dots + 2, &s->now, msg);
    return e;
}

/* A file of bounds that is named must be there; the usual one may be missing.
 */
enum err validate_session_begin(struct validate_session *s,
                                const struct validate_files *files,
                                struct err_msg *msg)
{
    enum err e = ERR_OK;
    s->history = files->history;
    s->bounds = bounds_default();
    if (files->bounds_named || access(files->bounds, F_OK) == 0)
        e = bounds_read(s->a, files->bounds, &s->bounds, msg);
    if (e == ERR_OK && files->against)
        e = find_sessions(s, files->against, msg);
    return e;
}

/* Some dozen datasets: a new array for each line costs nothing. */
enum err validate_session_add(struct validate_session *s,
                              const struct validate_rows *rows,
                              struct err_msg *msg)
{
    struct history_line *all =
        arena_alloc(s->a, (size_t)s->now.n + 1, sizeof *all);
    if (!all)
        return session_no_memory(msg);
    if (s->now.n > 0)
        memcpy(all, s->now.line, (size_t)s->now.n * sizeof *all);
    const enum err e = history_line_of(s->a, rows, &all[s->now.n], msg);
    s->now.line = all;
    s->now.n += e == ERR_OK;
    return e;
}

/* ---- bounds ---- */

struct known {
    const struct validate_session *s;
    const struct validate_rows *baseline;
};

static bool is_in(const struct history_session *s, const char *dataset)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->line[i].dataset, dataset) == 0)
            return true;
    return false;
}

/* A dataset that was only planned has no error to bound. */
static bool is_below_results(struct arena *a, const char *dataset)
{
    const char *ours = arena_printf(a, "results/reference/%s", dataset);
    const char *others = arena_printf(a, "results/%s/rows.csv", dataset);
    return (ours && reference_is(a, ours) && !validate_recipes_is(a, ours)) ||
           (others && access(others, R_OK) == 0);
}

/* Also what is only in the results: a bound may be set before its data set's
 * first session. */
static bool session_is_known(const void *data, const char *dataset)
{
    const struct known *k = data;
    return is_in(&k->s->now, dataset) || is_in(&k->s->then, dataset) ||
           validate_has(k->baseline, dataset) ||
           is_below_results(k->s->a, dataset);
}

/* Bounds of a data set that nobody knows would bound nothing, without a word.
 */
enum err validate_session_check(const struct validate_session *s,
                                const struct validate_rows *baseline,
                                struct err_msg *msg)
{
    const struct known data = {s, baseline};
    const size_t most = (size_t)s->now.n + (size_t)baseline->n;
    const char **names = arena_alloc(s->a, most + 1, sizeof *names);
    struct bounds_known known = {session_is_known, &data, names, 0};
    if (!names)
        return session_no_memory(msg);
    for (int i = 0; i < s->now.n; i++)
        names[known.n_names++] = s->now.line[i].dataset;
    for (int i = 0; i < baseline->n; i++)
        names[known.n_names++] = baseline->row[i].experiment;
    return bounds_check(&s->bounds, &known, msg);
}

/* ---- the table ---- */

/* A line that is missing has a dash, not nothing: it was looked for. */
static void session_print_line(const char *dataset, const char *when,
                               const struct history_line *l)
{
    printf("%-24s %-4s", dataset, when);
    if (!l) {
        puts("    -");
        return;
    }
    printf(" %4d", l->marks.n);
    for (int m = 0; m < N_MARKS; m++)
        cmd_print_number(7, 3, l->marks.pct[m]);
    puts("");
}

static void print_head(const char *then, const char *now)
{
    static const char *const head[N_MARKS] = {
        [MARK_MEAN] = "mean",          [MARK_OVER] = "over",
        [MARK_UNDER] = "under",        [MARK_MEMORY_OVER] = "mem +",
        [MARK_MEMORY_UNDER] = "mem -", [MARK_REGRET] = "regret",
        [MARK_REPLAY] = "replay"};
    printf("\nthen: %s\nnow:  %s\n%-24s %-4s %4s", then,
           now ? now : "as computed above", "percent", "", "n");
    for (int m = 0; m < N_MARKS; m++)
        printf(" %7s", head[m]);
    puts("");
}

/* Then above now, so that a column is read downwards. */
static void print_comparison(const struct validate_session *s,
                             const struct comparison *c)
{
    print_head(s->then.name, s->now.name);
    for (int i = 0; i < c->n; i++) {
        const struct compare_row *r = &c->row[i];
        session_print_line(r->dataset, "then", r->then);
        session_print_line("", "now", r->now);
        if (*r->why)
            printf("%s: %s%s\n", r->dataset, r->worse ? "worse: " : "", r->why);
    }
    printf("against %s: %d datasets compared, %d worse%s\n", s->then.name,
           c->n_judged, c->n_worse,
           c->n_judged == 0 ? "; nothing to compare is no pass" : "");
}

/* The terminal and the JUnit file say the same. */
enum err validate_session_compare(struct validate_session *s, bool whole,
                                  bool *worse, struct err_msg *msg)
{
    const struct compare_by by = {&s->then, &s->now, &s->bounds, whole};
    struct comparison c;
    enum err e = compare_sessions(s->a, &by, &c, msg);
    if (e != ERR_OK)
        return e;
    print_comparison(s, &c);
    junit_comparison(&s->junit, s->then.name, &c);
    *worse |= c.worse;
    return ERR_OK;
}

/* The commit is asked for last, when there is something to sign. */
enum err validate_session_record(struct validate_session *s, const char *reason,
                                 struct err_msg *msg)
{
    const char *commit;
    if (s->now.n == 0)
        return err_set(msg, ERR_MODEL,
                       "no dataset with measurements, so no line is written to "
                       "%s",
                       s->history);
    enum err e = revision_now(s->a, &commit, msg);
    if (e != ERR_OK)
        return e;
    history_sign(s->a, &s->now, commit, reason);
    e = history_append(s->a, s->history, &s->now, msg);
    if (e == ERR_OK)
        printf("%s: %d lines of %.12s%s added\n", s->history, s->now.n, commit,
               strchr(commit, '+') ? "+" : "");
    return e;
}
