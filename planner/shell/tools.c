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

size_t bash_tool_line_at(const char *p, const char **next)
{
    size_t n = strcspn(p, "\n");
    *next = p + n + (p[n] == '\n');
    return n;
}

/* ---- names of files ---- */

/* A root stays a root; a suffix that is the whole name is not cut. */
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

/* As POSIX has it: no slash is ".", slashes at the end go. */
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

/* Links are not followed: the script's folder may hold some on another
 * machine. */
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

/* The last character of the second set stands for all behind it. */
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

/* A line without the delimiter goes through whole, unless -s is given. */
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

/* -s leaves out lines without the sign that parts fields, which are printed
 * whole otherwise. */
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
        size_t n = bash_tool_line_at(p, &next);
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

/* ---- variables ---- */

/* envsubst: $NAME and ${NAME} of exported variables, nothing else. */
static bool tool_envsubst(struct bash_tool_use *t)
{
    struct bash *sh = t->sh;
    if (t->n || !t->in)
        return false;
    for (const char *p = t->in; *p;) {
        bool braced = p[0] == '$' && p[1] == '{';
        const char *name = p + 1 + braced;
        size_t n = 0;
        while (isalnum((unsigned char)name[n]) || name[n] == '_')
            n++;
        if (*p != '$' || !bash_is_name(name, n) || (braced && name[n] != '}')) {
            bash_putc(sh, &t->out, *p++);
            continue;
        }
        const char *key = bash_strndup(sh, name, n);
        const struct bash_var *v = bash_get(sh, key);
        if (v && v->flags & BASH_EXPORTED)
            bash_puts(sh, &t->out, bash_param_text(sh, key));
        else if (sh->st->unread)
            bash_puts(sh, &t->out, bash_param_text(sh, key));
        p = name + n + braced;
    }
    return true;
}

/* ---- the table ---- */

enum tool_input { TOOL_NO_INPUT, TOOL_STDIN, TOOL_FILES, TOOL_ONE_FILE };

static const struct {
    const char *name;
    tool_fn *fn;
    enum tool_input input; // where it reads: TOOL_ONE_FILE, or standard input
    const char *valued;    // letters of options that take a word
    int words;             // operands before the files: a program, a pattern
} tools[] = {
    {"cat", tool_cat, TOOL_FILES, "", 0},
    {"seq", bash_tool_seq, TOOL_NO_INPUT, "", 0},
    {"expr", bash_tool_expr, TOOL_NO_INPUT, "", 0},
    {"basename", tool_basename, TOOL_NO_INPUT, "", 0},
    {"dirname", tool_dirname, TOOL_NO_INPUT, "", 0},
    {"realpath", tool_realpath, TOOL_NO_INPUT, "", 0},
    {"readlink", tool_realpath, TOOL_NO_INPUT, "", 0},
    {"bc", bash_tool_bc, TOOL_STDIN, "", 0},
    {"wc", bash_tool_wc, TOOL_ONE_FILE, "", 0},
    {"tr", tool_tr, TOOL_STDIN, "", 0},
    {"cut", tool_cut, TOOL_ONE_FILE, "dfc", 0},
    {"head", bash_tool_head, TOOL_ONE_FILE, "nc", 0},
    {"tail", bash_tool_tail, TOOL_ONE_FILE, "nc", 0},
    {"sort", bash_tool_sort, TOOL_ONE_FILE, "kto", 0},
    {"sed", tool_sed, TOOL_ONE_FILE, "e", 1},
    {"rev", bash_tool_rev, TOOL_ONE_FILE, "", 0},
    {"paste", bash_tool_paste, TOOL_STDIN, "", 0},
    {"grep", bash_tool_grep, TOOL_ONE_FILE, "efmABC", 1},
    {"envsubst", tool_envsubst, TOOL_STDIN, "", 0},
    {"python", bash_tool_python, TOOL_NO_INPUT, "", 0},
    {"python3", bash_tool_python, TOOL_NO_INPUT, "", 0},
    {"awk", bash_tool_awk, TOOL_ONE_FILE, "Fv", 1},
    {"gawk", bash_tool_awk, TOOL_ONE_FILE, "Fv", 1},
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

static void drop_word(struct bash_tool_use *t, size_t at)
{
    for (t->n--; at < t->n; at++)
        t->arg[at] = t->arg[at + 1];
}

/* Takes the file, the operand behind the tool's own, out of the words. With
 * several files most of these programs put headings between them: false. */
static bool take_file(struct bash_tool_use *t, size_t row)
{
    int operands = 0, own = tools[row].words;
    bool ended = false; // by --
    size_t at = SIZE_MAX, n_files = 0;
    for (size_t i = 0; i < t->n; i++) {
        const char *w = t->arg[i];
        bool option = *w == '-' && w[1] && !ended;
        if (option && strcmp(w, "--") == 0) {
            ended = true;
            if (own == 0) // with nothing but files behind it
                drop_word(t, i--);
            continue;
        }
        if (option && w[1] == 'e' && strchr(tools[row].valued, 'e'))
            own = 0; // the program or pattern stands behind -e
        if (option)
            i += !w[2] && strchr(tools[row].valued, w[1]);
        else if (operands++ >= own)
            at = n_files++ ? at : i;
    }
    if (n_files != 1)
        return n_files == 0;
    t->file = t->arg[at];
    t->in = bash_file_text(t->sh, t->file);
    drop_word(t, at);
    return t->in != NULL;
}

/* A program takes all of its input: what reads behind it finds the end. */
static const char *stdin_text(struct bash *sh)
{
    struct bash_stdin *in = sh->at.in;
    if (!in)
        return NULL;
    const char *text = in->text + in->pos;
    in->pos += strlen(text);
    return text;
}

/* An argument that is not known makes the answer unknown. */
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
    bool one = tools[row].input == TOOL_ONE_FILE;
    if (one && (!tool_known(t) || !take_file(t, row)))
        return false;
    if (tools[row].input == TOOL_STDIN || (one && !t->file) ||
        (tools[row].input == TOOL_FILES && t->n == 0))
        t->in = stdin_text(sh);
    else if (tools[row].input == TOOL_FILES)
        t->in = files_text(t);
    if (!tool_known(t))
        return false;
    if (t->in && !passes) {
        t->in = bash_plain(sh, t->in, false);
        if (bash_has_unknown(sh, t->in))
            return false;
    }
    return tools[row].fn(t);
}

/* False where the tool or one of its options is not understood; its output is
 * then unknown. */
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
