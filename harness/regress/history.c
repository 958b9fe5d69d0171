/*
 * How it works: the file is a table of text that only grows: it is read as a
 * whole, checked, and written again with the new lines behind the old bytes.
 * Lines of one session share commit, date and reason.
 */
#include "history.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/join.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// those before the marks; they may not be empty
static const char *const columns[] = {"format",  "commit", "date_utc", "reason",
                                      "dataset", "n",      "measured"};
enum { N_FIXED = sizeof columns / sizeof columns[0] };

// a thousand sessions of some dozen datasets are a few MB
enum { HISTORY_MAX_BYTES = 64 << 20, HISTORY_DIGEST = 12 };

static enum err history_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "validate: out of memory");
}

enum err history_check_reason(const char *reason, struct err_msg *msg)
{
    const size_t n = strlen(reason);
    bool plain = true, said = false;
    for (size_t i = 0; i < n; i++) {
        plain = plain && (unsigned char)reason[i] >= ' ' && reason[i] != 127;
        said = said || reason[i] != ' ';
    }
    if (plain && said && n <= HISTORY_REASON_BYTES)
        return ERR_OK;
    return err_set(msg, ERR_RANGE,
                   "--reason: got %s, want one line of at most %d bytes that "
                   "says why",
                   !said   ? "nothing"
                   : plain ? "a longer text"
                           : "a text with a line break or control character",
                   HISTORY_REASON_BYTES);
}

/* ---- reading ---- */

/* Empty is NAN: not known. Anything else must be a number. */
static enum err read_mark(const struct csv *t, size_t row, enum mark m,
                          double *out, struct err_msg *msg)
{
    const char *text = csv_get(t, row, mark_column(m));
    *out = (double)NAN;
    if (text && (!*text || (text_to_double(text, out) && *out >= 0)))
        return ERR_OK;
    return err_set(msg, ERR_PARSE,
                   "%s: line %zu: %s: got '%s', want a number of at least 0, "
                   "or nothing; restore the file",
                   t->where, row + 2, mark_column(m),
                   text ? text : "no column");
}

/* A damaged line is an error, not a session less: it may be the one that is
 * asked for. */
static enum err history_read_line(const struct csv *t, size_t row,
                                  struct history_line *out, struct err_msg *msg)
{
    const char *text[N_FIXED];
    int64_t n;
    for (int i = 0; i < N_FIXED; i++) {
        text[i] = csv_get(t, row, columns[i]);
        if (!text[i] || !*text[i])
            return err_set(msg, ERR_PARSE,
                           "%s: line %zu: %s: got nothing; restore the file",
                           t->where, row + 2, columns[i]);
    }
    if (strcmp(text[0], HISTORY_FORMAT) != 0)
        return err_set(msg, ERR_PARSE,
                       "%s: line %zu: format: got '%s', want '" HISTORY_FORMAT
                       "'",
                       t->where, row + 2, text[0]);
    if (!text_to_int64(text[5], &n) || n < 1 || n > INT32_MAX)
        return err_set(msg, ERR_PARSE,
                       "%s: line %zu: n: got '%s', want a number of rows",
                       t->where, row + 2, text[5]);
    *out = (struct history_line){.commit = text[1],
                                 .date_utc = text[2],
                                 .reason = text[3],
                                 .dataset = text[4],
                                 .measured = text[6],
                                 .marks.n = (int)n};
    enum err e = ERR_OK;
    for (int m = 0; m < N_MARKS && e == ERR_OK; m++)
        e = read_mark(t, row, (enum mark)m, &out->marks.pct[m], msg);
    return e;
}

enum err history_read(struct arena *a, const char *path, struct history *out,
                      struct err_msg *msg)
{
    struct csv t;
    struct history h = {.path = path};
    if (access(path, F_OK) != 0) {
        *out = h;
        return ERR_OK;
    }
    enum err e = csv_read_file(a, path, &t, msg);
    if (e != ERR_OK)
        return e;
    h.line = arena_alloc(a, t.n_rows + 1, sizeof *h.line);
    if (!h.line)
        return history_no_memory(msg);
    for (; (size_t)h.n < t.n_rows && e == ERR_OK; h.n++)
        e = history_read_line(&t, (size_t)h.n, &h.line[h.n], msg);
    *out = h;
    return e;
}

/* ---- a new session ---- */

/* Of what was measured, not of what was predicted: role, layout, step. */
static const char *digest(struct arena *a, const struct validate_rows *rows)
{
    char hex[TEXT_SHA256_HEX], number[CSV_NUMBER_BYTES];
    struct join all = join_begin(a);
    for (int i = 0; i < rows->n; i++) {
        const struct validate_row *r = &rows->row[i];
        const char *ms = csv_number(r->meas_ms, number);
        const char *const part[] = {r->role, "\n",         r->layout,
                                    "\n",    ms ? ms : "", "\n"};
        for (size_t k = 0; k < sizeof part / sizeof part[0]; k++)
            join_add(&all, part[k]);
    }
    if (!join_end(&all))
        return NULL;
    text_sha256(all.text, all.n, hex);
    return arena_strndup(a, hex, HISTORY_DIGEST);
}

/* A line that holds nothing would be compared with, and pass. */
enum err history_line_of(struct arena *a, const struct validate_rows *rows,
                         struct history_line *out, struct err_msg *msg)
{
    if (rows->n == 0)
        return err_set(msg, ERR_MODEL, "no layouts, so no line is written");
    struct history_line l = {.dataset = rows->row[0].experiment,
                             .measured = digest(a, rows),
                             .marks = marks_of(rows, MARKS_ALL)};
    if (!l.measured)
        return history_no_memory(msg);
    if (!isfinite(l.marks.pct[MARK_MEAN]))
        return err_set(msg, ERR_MODEL,
                       "%s: a step error is not known, so no line is written",
                       l.dataset);
    *out = l;
    return ERR_OK;
}

enum { HISTORY_UTC_BYTES = 32 };

/* One date for all lines: it is part of what makes them one session. */
void history_sign(struct arena *a, struct history_session *s,
                  const char *commit, const char *reason)
{
    char now[HISTORY_UTC_BYTES] = "";
    time_t t = time(NULL);
    struct tm utc;
    if (gmtime_r(&t, &utc))
        strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const char *date = arena_strdup(a, now);
    for (int i = 0; i < s->n; i++) {
        s->line[i].commit = commit;
        s->line[i].date_utc = date;
        s->line[i].reason = reason;
    }
}

static bool write_header(FILE *out)
{
    const char *field[N_FIXED + N_MARKS];
    for (int i = 0; i < N_FIXED; i++)
        field[i] = columns[i];
    for (int m = 0; m < N_MARKS; m++)
        field[N_FIXED + m] = mark_column((enum mark)m);
    return csv_write_row(out, field, N_FIXED + N_MARKS);
}

static bool write_line(struct arena *a, FILE *out, const struct history_line *l)
{
    const char *field[N_FIXED + N_MARKS] = {
        HISTORY_FORMAT, l->commit,  l->date_utc,
        l->reason,      l->dataset, arena_printf(a, "%d", l->marks.n),
        l->measured};
    for (int i = 0; i < N_FIXED; i++)
        if (!field[i])
            return false;
    for (int m = 0; m < N_MARKS; m++) {
        char buf[CSV_NUMBER_BYTES];
        const char *text = csv_number(l->marks.pct[m], buf);
        field[N_FIXED + m] = text ? arena_strdup(a, text) : NULL;
    }
    return csv_write_row(out, field, N_FIXED + N_MARKS);
}

/* The old bytes first: they are never written in another way. */
static bool write_all(struct arena *a, FILE *out, const struct text_span *old,
                      const struct history_session *s)
{
    bool ok = old->len > 0 ? fwrite(old->data, 1, old->len, out) == old->len
                           : write_header(out);
    if (ok && old->len > 0 && old->data[old->len - 1] != '\n')
        ok = fputc('\n', out) != EOF;
    for (int i = 0; i < s->n && ok; i++)
        ok = write_line(a, out, &s->line[i]);
    return ok;
}

/* What stands there is read again, since another one may have added to it, and
 * as a table first: nothing is added behind what could not be read. */
static enum err append_held(struct arena *a, const char *path,
                            const struct history_session *s,
                            struct err_msg *msg)
{
    struct history before;
    struct text_span old = {NULL, 0};
    char *text = NULL;
    size_t len = 0;
    enum err e = history_read(a, path, &before, msg);
    if (e == ERR_OK && before.line)
        e = text_read_file(a, path, HISTORY_MAX_BYTES, &old, msg);
    if (e != ERR_OK)
        return e;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return history_no_memory(msg);
    bool ok = write_all(a, out, &old, s);
    ok = fclose(out) == 0 && ok;
    e = ok ? text_write_file(path, text, len, msg) : history_no_memory(msg);
    free(text);
    return e;
}

enum err history_append(struct arena *a, const char *path,
                        const struct history_session *s, struct err_msg *msg)
{
    int lock;
    enum err e = file_lock_folder(path, &lock, msg);
    if (e != ERR_OK)
        return e;
    e = append_held(a, path, s, msg);
    close(lock);
    return e;
}

/* ---- finding one ---- */

/* No column names the session: two of one commit, second and reason are one. */
static bool is_together(const struct history_line *x,
                        const struct history_line *y)
{
    return strcmp(x->commit, y->commit) == 0 &&
           strcmp(x->date_utc, y->date_utc) == 0 &&
           strcmp(x->reason, y->reason) == 0;
}

/* Sessions that are listed in a message: the newest. */
enum { HISTORY_LISTED = 6 };

/* "line 2 abcdef123456 (2026-01-31, reason)", newest first. */
static const char *list_sessions(struct arena *a, const struct history *h)
{
    struct join all = join_begin(a);
    int n = 0;
    join_add(&all, h->n > 0 ? "there are " : "there are no sessions");
    for (int i = h->n - 1; i >= 0 && n < HISTORY_LISTED; i--) {
        const struct history_line *l = &h->line[i];
        if (i > 0 && is_together(l, &h->line[i - 1]))
            continue;
        const char *text = arena_printf(
            a, "%sline %d %.12s%s (%.10s)", n++ ? ", " : "", i + 2, l->commit,
            strchr(l->commit, '+') ? "+" : "", l->date_utc);
        join_add(&all, text ? text : "");
    }
    return join_end(&all);
}

/* Whoever asks for a session that is not there wants to know which are. */
static enum err history_none(struct arena *a, const struct history *h,
                             const char *what, struct err_msg *msg)
{
    const char *list = list_sessions(a, h);
    return err_set(msg, ERR_PARSE, "%s: no line for '%s'; %s%s", h->path, what,
                   list ? list : "",
                   h->n > 0 ? ": want one of these numbers or commits, or last"
                            : "");
}

/* A later line of a dataset replaces an earlier one. */
static void put_line(struct history_session *s, const struct history_line *l)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->line[i].dataset, l->dataset) == 0) {
            s->line[i] = *l;
            return;
        }
    s->line[s->n++] = *l;
}

/* All lines of the session that line `at` is of, or of its commit. */
static enum err collect(struct arena *a, const struct history *h,
                        const struct history_line *at,
                        struct history_session *out, struct err_msg *msg)
{
    const bool whole_commit = out->name != NULL;
    struct history_session s = {
        .line = arena_alloc(a, (size_t)h->n + 1, sizeof *s.line)};
    s.name = arena_printf(a, "%.12s%s (%.10s, %s)", at->commit,
                          strchr(at->commit, '+') ? "+" : "", at->date_utc,
                          at->reason);
    if (!s.line || !s.name)
        return history_no_memory(msg);
    for (int i = 0; i < h->n; i++)
        if (whole_commit ? strcmp(h->line[i].commit, at->commit) == 0
                         : is_together(&h->line[i], at))
            put_line(&s, &h->line[i]);
    *out = s;
    return ERR_OK;
}

/* Numbers of up to six digits are lines; commits are longer. */
static bool is_line_number(const char *text, int64_t *line)
{
    return strlen(text) <= 6 && text_to_int64(text, line);
}

/* Git gives the commit in full; without it the text itself may begin one. What
 * was recorded with changes on top of a commit stands for it where nothing
 * else does. NULL for none, or (*twice) for more than one. */
static const struct history_line *
find_commit(const struct history *h, struct history_name name, bool *twice)
{
    enum { SHORTEST = 4 };
    const struct history_line *clean = NULL, *changed = NULL;
    const char *want = name.commit ? name.commit : name.text;
    const size_t n = strlen(want);
    *twice = false;
    for (int i = 0; i < h->n && n >= SHORTEST; i++) {
        const struct history_line *l = &h->line[i];
        if (strncmp(l->commit, want, n) != 0)
            continue;
        const struct history_line *other = clean ? clean : changed;
        *twice |= other && strncmp(other->commit, l->commit,
                                   strcspn(l->commit, "+")) != 0;
        if (strchr(l->commit, '+'))
            changed = l;
        else
            clean = l;
    }
    return clean ? clean : changed;
}

/* Numbers and "last" first: no commit is as short. */
enum err history_find(struct arena *a, const struct history *h,
                      struct history_name name, struct history_session *out,
                      struct err_msg *msg)
{
    int64_t line;
    bool twice;
    *out = (struct history_session){.name = NULL};
    if (strcmp(name.text, "last") == 0)
        return h->n > 0 ? collect(a, h, &h->line[h->n - 1], out, msg)
                        : history_none(a, h, name.text, msg);
    if (is_line_number(name.text, &line))
        return line >= 2 && line < h->n + 2
                   ? collect(a, h, &h->line[line - 2], out, msg)
                   : history_none(a, h, name.text, msg);
    const struct history_line *at = find_commit(h, name, &twice);
    if (twice)
        return err_set(msg, ERR_PARSE,
                       "%s: '%s' begins more than one commit; give more digits",
                       h->path, name.text);
    out->name = name.text; // all sessions of the commit
    return at ? collect(a, h, at, out, msg)
              : history_none(a, h, name.text, msg);
}
