/*
 * How it works: a table of programs. Each function puts lines to a text and
 * says whether it understood its words; where it did not, or where input or
 * words hold what is not known, the whole output is one mark.
 */
#include "tools.h"

#include "arith.h"
#include "cond.h"
#include "eval.h"
#include "expand.h"
#include "files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef bool tool_fn(struct bash_tool_use *t);

void bash_tool_line(struct bash_tool_use *t, const char *s, size_t n)
{
    bash_put(t->sh, &t->out, s, n);
    bash_putc(t->sh, &t->out, '\n');
}

/* Length of the line at p; *next is where the one after it begins. */
static size_t line_at(const char *p, const char **next)
{
    size_t n = strcspn(p, "\n");
    *next = p + n + (p[n] == '\n');
    return n;
}

/* ---- names of files ---- */

static bool tool_basename(struct bash_tool_use *t)
{
    size_t i = 0;
    const char *suffix = t->n == 2 ? t->arg[1] : "";
    if (t->n == 3 && strcmp(t->arg[0], "-s") == 0) {
        suffix = t->arg[1];
        i = 2;
    }
    if (i >= t->n || *t->arg[i] == '-')
        return false;
    const char *path = t->arg[i];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    const char *text = bash_strndup(t->sh, path, n);
    const char *slash = n > 1 ? strrchr(text, '/') : NULL;
    text = slash ? slash + 1 : text;
    n = strlen(text);
    size_t cut = strlen(suffix);
    if (cut < n && strcmp(text + n - cut, suffix) == 0)
        n -= cut;
    bash_tool_line(t, text, n);
    return true;
}

static bool tool_dirname(struct bash_tool_use *t)
{
    if (t->n != 1)
        return false;
    const char *path = t->arg[0];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    bash_tool_line(t, n ? path : ".", n ? n : 1);
    return true;
}

static bool tool_realpath(struct bash_tool_use *t)
{
    const char *path = t->n ? t->arg[t->n - 1] : "-";
    for (size_t i = 0; i + 1 < t->n; i++)
        if (*t->arg[i] != '-')
            return false;
    if (*path == '-' || !*path || strchr(path, BASH_MARK))
        return false;
    const char *full = bash_path(t->sh, path);
    bash_tool_line(t, full, strlen(full));
    return true;
}

/* ---- lines ---- */

static bool tool_cat(struct bash_tool_use *t)
{
    if (!t->in)
        return false;
    bash_puts(t->sh, &t->out, t->in);
    return true;
}

static bool tool_wc(struct bash_tool_use *t)
{
    size_t lines = 0, words = 0, bytes = 0;
    bool in = false;
    if (!t->in || t->n != 1 || strlen(t->arg[0]) != 2)
        return false;
    for (const char *p = t->in; *p; p++, bytes++) {
        bool blank = isspace((unsigned char)*p);
        lines += *p == '\n';
        words += in && blank;
        in = !blank;
    }
    words += in;
    char kind = t->arg[0][1];
    if (!strchr("lwcm", kind))
        return false;
    const char *text = bash_printf(t->sh, "%zu",
                                   kind == 'l'   ? lines
                                   : kind == 'w' ? words
                                                 : bytes);
    bash_tool_line(t, text, strlen(text));
    return true;
}

/* The count of head -n N, -N, -nN; 10 without one, -1: not understood. */
static long line_count(const struct bash_tool_use *t)
{
    const char *text = t->n == 0                               ? "10"
                       : t->n == 2 && !strcmp(t->arg[0], "-n") ? t->arg[1]
                       : t->n == 1 && !strncmp(t->arg[0], "-n", 2)
                           ? t->arg[0] + 2
                       : t->n == 1 && *t->arg[0] == '-' ? t->arg[0] + 1
                                                        : "";
    return bash_is_integer(text) && *text != '-' ? strtol(text, NULL, 10) : -1;
}

static bool tool_head(struct bash_tool_use *t)
{
    long n = line_count(t);
    const char *p = t->in, *next;
    if (!p || n < 0)
        return false;
    for (; *p && n > 0; n--, p = next) {
        line_at(p, &next);
        bash_put(t->sh, &t->out, p, (size_t)(next - p));
    }
    return true;
}

static bool tool_tail(struct bash_tool_use *t)
{
    long n = line_count(t), lines = 0;
    const char *next;
    if (!t->in || n < 0)
        return false;
    for (const char *p = t->in; *p; p = next, lines++)
        line_at(p, &next);
    const char *p = t->in;
    for (long skip = lines - n; skip > 0 && *p; skip--, p = next)
        line_at(p, &next);
    bash_puts(t->sh, &t->out, p);
    return true;
}

static bool tool_rev(struct bash_tool_use *t)
{
    const char *next;
    if (!t->in || t->n)
        return false;
    for (const char *p = t->in; *p; p = next) {
        size_t n = line_at(p, &next);
        for (size_t i = n; i > 0; i--)
            bash_putc(t->sh, &t->out, p[i - 1]);
        bash_putc(t->sh, &t->out, '\n');
    }
    return true;
}

/* paste -sd, */
static bool tool_paste(struct bash_tool_use *t)
{
    const char *by = "\t", *next;
    bool serial = false;
    for (size_t i = 0; i < t->n; i++) {
        const char *w = t->arg[i];
        serial = serial || (*w == '-' && w[1] == 's');
        const char *d = *w == '-' ? strchr(w, 'd') : NULL;
        if (d)
            by = d[1] ? d + 1 : i + 1 < t->n ? t->arg[++i] : by;
    }
    if (!serial || !t->in || strlen(by) != 1)
        return false;
    for (const char *p = t->in; *p; p = next) {
        size_t n = line_at(p, &next);
        if (p > t->in)
            bash_puts(t->sh, &t->out, by);
        bash_put(t->sh, &t->out, p, n);
    }
    bash_putc(t->sh, &t->out, '\n');
    return true;
}

struct sort_line {
    const char *text;
    long long number;
    bool numeric;
};

static int sort_compare(const void *a, const void *b)
{
    const struct sort_line *x = a, *y = b;
    if (x->numeric && x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return strcmp(x->text, y->text);
}

static bool tool_sort(struct bash_tool_use *t)
{
    bool numeric = false, reverse = false, unique = false;
    size_t n = 0;
    const char *next;
    for (size_t i = 0; i < t->n; i++) {
        if (*t->arg[i] != '-' || t->arg[i][1 + strspn(t->arg[i] + 1, "nru")])
            return false;
        numeric = numeric || strchr(t->arg[i], 'n');
        reverse = reverse || strchr(t->arg[i], 'r');
        unique = unique || strchr(t->arg[i], 'u');
    }
    if (!t->in)
        return false;
    for (const char *p = t->in; *p; p = next, n++)
        line_at(p, &next);
    struct sort_line *line = bash_alloc(t->sh, n + 1, sizeof *line);
    n = 0;
    for (const char *p = t->in; *p; p = next, n++) {
        size_t len = line_at(p, &next);
        line[n].text = bash_strndup(t->sh, p, len);
        line[n].number = strtoll(line[n].text, NULL, 10);
        line[n].numeric = numeric;
    }
    bash_work(t->sh, n * 32);
    qsort(line, n, sizeof *line, sort_compare);
    for (size_t i = 0; i < n; i++) {
        const struct sort_line *l = &line[reverse ? n - 1 - i : i];
        if (unique && i &&
            strcmp(l->text, line[reverse ? n - i : i - 1].text) == 0)
            continue;
        bash_tool_line(t, l->text, strlen(l->text));
    }
    return true;
}

/* ---- characters ---- */

/* Expands a-z and classes of tr to a list of characters. */
static const char *tr_set(struct bash *sh, const char *s)
{
    struct bash_text t = {0};
    if (strcmp(s, "[:lower:]") == 0)
        s = "a-z";
    else if (strcmp(s, "[:upper:]") == 0)
        s = "A-Z";
    else if (strcmp(s, "[:digit:]") == 0)
        s = "0-9";
    else if (strcmp(s, "[:space:]") == 0)
        s = " \t\n\r\f\v";
    else if (strcmp(s, "[:blank:]") == 0)
        s = " \t";
    else if (strchr(s, '['))
        return NULL;
    // cppcheck-suppress pointerOutOfBounds ; the end of s itself
    s = bash_ansi(sh, s, s + strlen(s));
    for (; *s; s++) {
        if (s[1] == '-' && s[2] && (unsigned char)s[2] >= (unsigned char)*s) {
            for (int c = (unsigned char)*s; c <= (unsigned char)s[2]; c++)
                bash_putc(sh, &t, (char)c);
            s += 2;
        } else {
            bash_putc(sh, &t, *s);
        }
    }
    return bash_text_of(&t);
}

static bool tool_tr(struct bash_tool_use *t)
{
    bool deletes = false, squeezes = false, others = false;
    size_t i = 0;
    for (; i < t->n && *t->arg[i] == '-' && t->arg[i][1]; i++) {
        if (t->arg[i][1 + strspn(t->arg[i] + 1, "dscC")])
            return false;
        deletes = deletes || strchr(t->arg[i], 'd');
        squeezes = squeezes || strchr(t->arg[i], 's');
        others = others || strpbrk(t->arg[i], "cC");
    }
    const char *from = i < t->n ? tr_set(t->sh, t->arg[i]) : NULL;
    const char *to = i + 1 < t->n ? tr_set(t->sh, t->arg[i + 1]) : "";
    if (!t->in || !from || !to || (!deletes && !squeezes && !*to))
        return false;
    size_t n = strlen(to);
    char last = '\0';
    for (const char *p = t->in; *p; p++) {
        const char *at = strchr(from, *p);
        bool in = (at != NULL) != others;
        char c = *p;
        if (in && deletes)
            continue;
        if (in && n)
            c = others
                    ? to[n - 1]
                    : to[(size_t)(at - from) < n ? (size_t)(at - from) : n - 1];
        if (squeezes && in && c == last)
            continue;
        last = squeezes && in ? c : '\0';
        bash_putc(t->sh, &t->out, c);
    }
    return true;
}

/* Is field (character) k in a list such as 1,3-5,7-? */
static bool cut_has(const char *list, long k)
{
    while (*list) {
        char *end;
        long from = strtol(list, &end, 10), to = from;
        if (end == list)
            from = 1;
        if (*end == '-') {
            list = end + 1;
            to = strtol(list, &end, 10);
            if (end == list)
                to = 1L << 30;
        }
        if (k >= from && k <= to)
            return true;
        list = end + (*end == ',');
        if (*end && *end != ',')
            return false;
    }
    return false;
}

struct cut {
    const char *list;
    char by;
    bool characters, only;
};

static void cut_line(struct bash_tool_use *t, const struct cut *c,
                     const char *line)
{
    bool any = false;
    if (c->characters) {
        for (long k = 1; line[k - 1]; k++)
            if (cut_has(c->list, k))
                bash_putc(t->sh, &t->out, line[k - 1]);
    } else if (!strchr(line, c->by)) {
        if (c->only)
            return;
        bash_puts(t->sh, &t->out, line);
    } else {
        long k = 1;
        for (const char *p = line, *end; p; p = end ? end + 1 : NULL, k++) {
            end = strchr(p, c->by);
            size_t n = end ? (size_t)(end - p) : strlen(p);
            if (!cut_has(c->list, k))
                continue;
            if (any)
                bash_putc(t->sh, &t->out, c->by);
            bash_put(t->sh, &t->out, p, n);
            any = true;
        }
    }
    bash_putc(t->sh, &t->out, '\n');
}

static bool tool_cut(struct bash_tool_use *t)
{
    struct cut c = {.by = '\t'};
    const char *next;
    for (size_t i = 0; i < t->n; i++) {
        const char *w = t->arg[i];
        if (*w != '-' || !w[1] || !strchr("dfcs", w[1]))
            return false;
        c.only = c.only || w[1] == 's';
        const char *value = w[1] == 's'    ? ""
                            : w[2]         ? w + 2
                            : i + 1 < t->n ? t->arg[++i]
                                           : "";
        if (w[1] == 'd')
            c.by = *value;
        if (w[1] == 'f' || w[1] == 'c')
            c.list = value;
        c.characters = c.characters || w[1] == 'c';
    }
    if (!t->in || !c.list || !c.by || !*c.list ||
        c.list[strspn(c.list, "0123456789,-")])
        return false;
    for (const char *p = t->in; *p; p = next) {
        size_t n = line_at(p, &next);
        bash_work(t->sh, n * 4);
        cut_line(t, &c, bash_strndup(t->sh, p, n));
    }
    return true;
}

/* sed 's/a/b/g' of a plain text a */
static bool tool_sed(struct bash_tool_use *t)
{
    size_t i = t->n == 2 && strcmp(t->arg[0], "-e") == 0 ? 1 : 0;
    if (!t->in || t->n != i + 1 || t->arg[i][0] != 's' || !t->arg[i][1])
        return false;
    const char *s = t->arg[i] + 2;
    char by = t->arg[i][1];
    const char *a_end = strchr(s, by);
    const char *b_end = a_end ? strchr(a_end + 1, by) : NULL;
    if (!b_end || a_end == s)
        return false;
    const char *from = bash_strndup(t->sh, s, (size_t)(a_end - s));
    const char *to =
        bash_strndup(t->sh, a_end + 1, (size_t)(b_end - a_end) - 1);
    bool all = strcmp(b_end + 1, "g") == 0, first = true;
    if (strpbrk(from, "\\.[]*^$") || strpbrk(to, "\\&") || (b_end[1] && !all))
        return false;
    size_t n = strlen(from);
    for (const char *p = t->in; *p;) {
        bash_work(t->sh, 2);
        if (strncmp(p, from, n) == 0 && (all || first)) {
            bash_puts(t->sh, &t->out, to);
            p += n;
            first = false;
        } else {
            first = first || *p == '\n';
            bash_putc(t->sh, &t->out, *p++);
        }
    }
    return true;
}

/* grep of a plain text or an extended expression: only whether, and lines. */
static bool tool_grep(struct bash_tool_use *t)
{
    bool quiet = false, extended = false, inverse = false, found = false;
    size_t i = 0;
    const char *next;
    for (; i < t->n && *t->arg[i] == '-' && t->arg[i][1]; i++) {
        if (t->arg[i][1 + strspn(t->arg[i] + 1, "qEv")])
            return false;
        quiet = quiet || strchr(t->arg[i], 'q');
        extended = extended || strchr(t->arg[i], 'E');
        inverse = inverse || strchr(t->arg[i], 'v');
    }
    if (!t->in || i + 1 != t->n ||
        (!extended && strpbrk(t->arg[i], "\\+?{}|()")))
        return false;
    for (const char *p = t->in; *p; p = next) {
        size_t n = line_at(p, &next);
        enum bash_known yes =
            bash_regex(t->sh, t->arg[i], bash_strndup(t->sh, p, n), NULL);
        if (yes == BASH_MAYBE)
            return false;
        if ((yes == BASH_YES) == inverse)
            continue;
        found = true;
        if (!quiet)
            bash_tool_line(t, p, n);
    }
    t->status = !found;
    return true;
}

/* ---- the table ---- */

enum tool_input { TOOL_NO_INPUT, TOOL_STDIN, TOOL_FILES };

static const struct {
    const char *name;
    tool_fn *fn;
    enum tool_input input; // what it reads; files are its last words
    int words;             // that are no files: options aside
} tools[] = {
    {"cat", tool_cat, TOOL_FILES, 0},
    {"seq", bash_tool_seq, TOOL_NO_INPUT, 0},
    {"expr", bash_tool_expr, TOOL_NO_INPUT, 0},
    {"basename", tool_basename, TOOL_NO_INPUT, 0},
    {"dirname", tool_dirname, TOOL_NO_INPUT, 0},
    {"realpath", tool_realpath, TOOL_NO_INPUT, 0},
    {"readlink", tool_realpath, TOOL_NO_INPUT, 0},
    {"bc", bash_tool_bc, TOOL_STDIN, 0},
    {"wc", tool_wc, TOOL_STDIN, 0},
    {"tr", tool_tr, TOOL_STDIN, 0},
    {"cut", tool_cut, TOOL_STDIN, 0},
    {"head", tool_head, TOOL_STDIN, 0},
    {"tail", tool_tail, TOOL_STDIN, 0},
    {"sort", tool_sort, TOOL_STDIN, 0},
    {"sed", tool_sed, TOOL_STDIN, 0},
    {"rev", tool_rev, TOOL_STDIN, 0},
    {"paste", tool_paste, TOOL_STDIN, 0},
    {"grep", tool_grep, TOOL_STDIN, 0},
};

/* The files named, one after the other; NULL where one is not known. */
static const char *files_text(struct bash_tool_use *t)
{
    struct bash_text all = {0};
    for (size_t i = 0; i < t->n; i++) {
        const char *text =
            *t->arg[i] == '-' ? NULL : bash_file_text(t->sh, t->arg[i]);
        if (!text)
            return NULL;
        bash_puts(t->sh, &all, text);
    }
    return bash_text_of(&all);
}

static const char *stdin_text(struct bash *sh)
{
    struct bash_stdin *in = sh->at.in;
    if (!in)
        return NULL;
    const char *text = in->text + in->pos;
    in->pos += strlen(text);
    return text;
}

static bool tool_known(const struct bash_tool_use *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (bash_has_unknown(t->sh, t->arg[i]))
            return false;
    return true;
}

/* Gives the program its input; words and input must be known. */
static bool tool_run(struct bash_tool_use *t, size_t row)
{
    struct bash *sh = t->sh;
    bool passes = tools[row].fn == tool_cat; // marks and all
    if (tools[row].input == TOOL_STDIN ||
        (tools[row].input == TOOL_FILES && t->n == 0))
        t->in = stdin_text(sh);
    else if (tools[row].input == TOOL_FILES)
        t->in = files_text(t);
    if (!tool_known(t) && !(tools[row].fn == tool_basename))
        return false;
    if (t->in && !passes) {
        t->in = bash_plain(sh, t->in, false);
        if (bash_has_unknown(sh, t->in))
            return false;
    }
    return tool_known(t) && tools[row].fn(t);
}

bool bash_tool(struct bash *sh, const char *name, const struct bash_words *w)
{
    size_t row = 0;
    while (row < sizeof tools / sizeof tools[0] &&
           strcmp(tools[row].name, name) != 0)
        row++;
    if (row == sizeof tools / sizeof tools[0])
        return false;
    struct bash_tool_use t = {.sh = sh};
    t.arg = bash_alloc(sh, w->n, sizeof *t.arg);
    for (size_t i = 1; i < w->n; i++)
        if (!w->item[i].ghost)
            t.arg[t.n++] = bash_plain(sh, w->item[i].text, false);
    // the end of options, which these tools have few of
    if (t.n && strcmp(t.arg[0], "--") == 0) {
        t.arg++;
        t.n--;
    }
    if (!tool_run(&t, row))
        return false;
    bash_emit(sh, bash_text_of(&t.out));
    bash_set_status(sh, t.status);
    return true;
}
