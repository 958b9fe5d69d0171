/*
 * How it works: programs that pass lines on: each walks over its input line by
 * line. An option that is not listed makes the use one that is not understood.
 */
#include "cond.h"
#include "tools.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One of -l, -w, -c, -m; without any three numbers would stand in one line,
 * which nobody reads. */
bool bash_tool_wc(struct bash_tool_use *t)
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
    if (t->file) // its name goes with the count
        text = bash_printf(t->sh, "%s %s", text, t->file);
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

bool bash_tool_head(struct bash_tool_use *t)
{
    long n = line_count(t);
    const char *p = t->in, *next;
    if (!p || n < 0)
        return false;
    for (; *p && n > 0; n--, p = next) {
        bash_tool_line_at(p, &next);
        bash_put(t->sh, &t->out, p, (size_t)(next - p));
    }
    return true;
}

/* Two passes: how many lines there are is known at the end only. */
bool bash_tool_tail(struct bash_tool_use *t)
{
    long n = line_count(t), lines = 0;
    const char *next;
    if (!t->in || n < 0)
        return false;
    for (const char *p = t->in; *p; p = next, lines++)
        bash_tool_line_at(p, &next);
    const char *p = t->in;
    for (long skip = lines - n; skip > 0 && *p; skip--, p = next)
        bash_tool_line_at(p, &next);
    bash_puts(t->sh, &t->out, p);
    return true;
}

bool bash_tool_rev(struct bash_tool_use *t)
{
    const char *next;
    if (!t->in || t->n)
        return false;
    for (const char *p = t->in; *p; p = next) {
        size_t n = bash_tool_line_at(p, &next);
        for (size_t i = n; i > 0; i--)
            bash_putc(t->sh, &t->out, p[i - 1]);
        bash_putc(t->sh, &t->out, '\n');
    }
    return true;
}

/* paste -sd, */
bool bash_tool_paste(struct bash_tool_use *t)
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
        size_t n = bash_tool_line_at(p, &next);
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

/* Ties of a numeric order are broken by the text, as sort does in the C
 * locale. */
static int sort_compare(const void *a, const void *b)
{
    const struct sort_line *x = a, *y = b;
    if (x->numeric && x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* Keys, fields and other orders are left alone. */
bool bash_tool_sort(struct bash_tool_use *t)
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
        bash_tool_line_at(p, &next);
    struct sort_line *line = bash_alloc(t->sh, n + 1, sizeof *line);
    n = 0;
    for (const char *p = t->in; *p; p = next, n++) {
        size_t len = bash_tool_line_at(p, &next);
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

/* grep of a plain text or an extended expression: whether, lines, their count.
 */
bool bash_tool_grep(struct bash_tool_use *t)
{
    bool quiet = false, extended = false, inverse = false, counts = false;
    size_t i = 0, found = 0;
    const char *next;
    for (; i < t->n && *t->arg[i] == '-' && t->arg[i][1]; i++) {
        if (strcmp(t->arg[i], "--") == 0) {
            i++; // what follows is the pattern, whatever its first character
            break;
        }
        if (t->arg[i][1 + strspn(t->arg[i] + 1, "qEvc")])
            return false;
        quiet = quiet || strchr(t->arg[i], 'q');
        extended = extended || strchr(t->arg[i], 'E');
        inverse = inverse || strchr(t->arg[i], 'v');
        counts = counts || strchr(t->arg[i], 'c');
    }
    if (!t->in || i + 1 != t->n ||
        (!extended && strpbrk(t->arg[i], "\\+?{}|()")))
        return false;
    for (const char *p = t->in; *p; p = next) {
        size_t n = bash_tool_line_at(p, &next);
        enum bash_known yes =
            bash_regex(t->sh, t->arg[i], bash_strndup(t->sh, p, n), NULL);
        if (yes == BASH_MAYBE)
            return false;
        if ((yes == BASH_YES) == inverse)
            continue;
        found++;
        if (!quiet && !counts)
            bash_tool_line(t, p, n);
    }
    const char *count = bash_printf(t->sh, "%zu", found);
    if (counts && !quiet)
        bash_tool_line(t, count, strlen(count));
    t->status = !found;
    return true;
}

/* ---- awk ---- */

#define AWK_WHOLE 2147483648.0 // mawk prints larger ones as %.6g, gawk does not

enum { AWK_NAMES = 8 };

/* A number, or a text that may be one. */
struct awk_value {
    const char *s; // NULL: a number
    double r;
};

struct awk {
    struct bash_tool_use *t;
    const char *program, *p;
    bool bad;
    bool idle; // what is read has no effect on this line
    const char *by, *line;
    enum { AWK_BEGIN, AWK_LINES, AWK_END } part;
    bool reads; // has rules for lines or the end
    long row;
    struct {
        const char *name;
        struct awk_value v;
    } var[AWK_NAMES];
    int n_vars;
};

static struct awk_value awk_sum(struct awk *w);

static struct awk_value awk_number(double r)
{
    return (struct awk_value){NULL, r};
}

static void awk_skip(struct awk *w)
{
    while (*w->p == ' ' || *w->p == '\t' || *w->p == '\n')
        w->p++;
}

/* A word only as a whole: NR is not the beginning of NROWS. */
static bool awk_take(struct awk *w, const char *sign)
{
    size_t n = strlen(sign);
    awk_skip(w);
    bool word = isalpha((unsigned char)sign[n - 1]) != 0;
    if (strncmp(w->p, sign, n) != 0 ||
        (word && (isalnum((unsigned char)w->p[n]) || w->p[n] == '_')))
        return false;
    w->p += n;
    return true;
}

/* Field k of the line (0: all of it), and how many there are. */
static const char *awk_field(struct awk *w, long k, long *count)
{
    const char *p = w->line, *found = k == 0 ? p : "";
    bool blanks = strcmp(w->by, " ") == 0;
    *count = 0;
    for (bool more = *p; more;) {
        p += blanks ? strspn(p, " \t") : 0;
        if (blanks && !*p)
            break;
        size_t n = strcspn(p, blanks ? " \t" : w->by);
        if (++*count == k)
            found = bash_strndup(w->t->sh, p, n);
        more = p[n] != '\0';
        p += n + more;
    }
    return found;
}

/* The number that a text is; awk takes what is none as 0, which is left alone.
 */
static double awk_real(struct awk *w, const struct awk_value *v)
{
    char *end;
    if (!v->s)
        return v->r;
    size_t n = strspn(v->s, "0123456789.");
    double r = strtod(v->s, &end);
    w->bad = w->bad || (!w->idle && (!n || v->s[n] || *end));
    return r;
}

/* $NF, or $ and a number; $(...) and $i are left to awk. In BEGIN and END there
 * is no line. */
static struct awk_value awk_dollar(struct awk *w)
{
    long count = 0, k = 0;
    if (awk_take(w, "NF")) {
        awk_field(w, 0, &count);
        k = count;
    } else {
        char *end;
        k = strtol(w->p, &end, 10);
        w->bad =
            w->bad || end == w->p || k < 0 || !isdigit((unsigned char)*w->p);
        w->p = end;
    }
    w->bad = w->bad || (w->part != AWK_LINES && !w->idle);
    return (struct awk_value){w->bad ? "" : awk_field(w, k, &count), 0};
}

/* One that was never set is 0 and empty, as in awk. There is room for a few. */
static struct awk_value *awk_variable(struct awk *w, const char *name, size_t n)
{
    for (int i = 0; i < w->n_vars; i++)
        if (strlen(w->var[i].name) == n &&
            strncmp(w->var[i].name, name, n) == 0)
            return &w->var[i].v;
    if (w->n_vars == AWK_NAMES) {
        w->bad = true;
        return &w->var[0].v;
    }
    w->var[w->n_vars].name = bash_strndup(w->t->sh, name, n);
    w->var[w->n_vars].v = awk_number(0);
    return &w->var[w->n_vars++].v;
}

static size_t awk_name(const char *p)
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_')
        n++;
    return bash_is_name(p, n) ? n : 0;
}

static struct awk_value awk_parens(struct awk *w)
{
    bash_enter(w->t->sh);
    struct awk_value v = awk_sum(w);
    w->bad = w->bad || !awk_take(w, ")");
    bash_leave(w->t->sh);
    return v;
}

/* Functions but int() are not understood; any other name is a variable. */
static struct awk_value awk_operand(struct awk *w)
{
    char *end;
    long count = 0;
    if (awk_take(w, "("))
        return awk_parens(w);
    if (awk_take(w, "int(")) {
        struct awk_value v = awk_parens(w);
        return awk_number(trunc(awk_real(w, &v)));
    }
    if (awk_take(w, "$"))
        return awk_dollar(w);
    if (awk_take(w, "NR"))
        return awk_number((double)w->row);
    if (awk_take(w, "NF")) {
        awk_field(w, 0, &count);
        w->bad = w->bad || (w->part != AWK_LINES && !w->idle);
        return awk_number((double)count);
    }
    if (awk_take(w, "-")) {
        bash_enter(w->t->sh);
        struct awk_value v = awk_operand(w);
        bash_leave(w->t->sh);
        return awk_number(-awk_real(w, &v));
    }
    if (isdigit((unsigned char)*w->p)) {
        size_t n = strspn(w->p, "0123456789.");
        double r = strtod(w->p, &end);
        w->bad = w->bad || end != w->p + n;
        w->p = end;
        return awk_number(r);
    }
    size_t n = awk_name(w->p);
    const char *name = w->p;
    w->p += n;
    w->bad = w->bad || !n || *w->p == '('; // a function
    return n ? *awk_variable(w, name, n) : awk_number(0);
}

/* A division by 0 ends awk: what it printed before would be half an answer. */
static struct awk_value awk_product(struct awk *w)
{
    struct awk_value v = awk_operand(w);
    for (awk_skip(w); !w->bad && *w->p && strchr("*/%", *w->p); awk_skip(w)) {
        char op = *w->p++;
        struct awk_value by = awk_operand(w);
        double x = awk_real(w, &v), y = awk_real(w, &by);
        if (op != '*' && !(y < 0) && !(y > 0) && !w->idle)
            w->bad = true;
        v = awk_number(op == '*' ? x * y : op == '/' ? x / y : fmod(x, y));
    }
    return v;
}

static struct awk_value awk_sum(struct awk *w)
{
    struct awk_value v = awk_product(w);
    for (awk_skip(w); !w->bad && (*w->p == '+' || *w->p == '-'); awk_skip(w)) {
        char op = *w->p++;
        struct awk_value by = awk_product(w);
        double x = awk_real(w, &v), y = awk_real(w, &by);
        v = awk_number(op == '+' ? x + y : x - y);
    }
    return v;
}

/* By awk's OFMT: whole numbers as such, others in six digits. */
static void awk_put(struct awk *w, const struct awk_value *v)
{
    bool whole = !(v->r < floor(v->r)) && !(v->r > floor(v->r));
    if (w->idle || w->bad)
        return;
    w->bad = !v->s && !(fabs(v->r) < AWK_WHOLE);
    bash_puts(w->t->sh, &w->t->out,
              v->s ? v->s
                   : bash_printf(w->t->sh, whole ? "%.0f" : "%.6g", v->r));
}

static bool awk_ends(struct awk *w)
{
    awk_skip(w);
    return !*w->p || *w->p == ';' || *w->p == '}';
}

/* print a, b; a name set or added to. */
static void awk_statement(struct awk *w)
{
    if (awk_take(w, "print")) {
        struct awk_value all = {w->line, 0};
        if (awk_ends(w) && w->part == AWK_LINES)
            awk_put(w, &all);
        else
            do {
                struct awk_value v = awk_sum(w);
                awk_put(w, &v);
                if (*w->p == ',' && !w->idle)
                    bash_putc(w->t->sh, &w->t->out, ' ');
            } while (!w->bad && awk_take(w, ","));
        if (!w->idle)
            bash_putc(w->t->sh, &w->t->out, '\n');
        return;
    }
    size_t n = awk_name(w->p);
    const char *name = w->p;
    w->p += n;
    bool adds = awk_take(w, "+=");
    if (!n || (!adds && (!awk_take(w, "=") || *w->p == '='))) {
        w->bad = true;
        return;
    }
    struct awk_value v = awk_sum(w), *to = awk_variable(w, name, n);
    if (adds)
        v = awk_number(awk_real(w, to) + awk_real(w, &v));
    if (!w->idle)
        *to = v;
}

/* Does the rule's pattern hold here: BEGIN, END, NR==2, /text/, none? */
static bool awk_pattern(struct awk *w)
{
    if (awk_take(w, "BEGIN"))
        return w->part == AWK_BEGIN;
    w->reads = true;
    if (awk_take(w, "END"))
        return w->part == AWK_END;
    bool here = w->part == AWK_LINES;
    if (awk_take(w, "NR")) {
        w->bad = w->bad || !awk_take(w, "==");
        struct awk_value v = awk_operand(w);
        return here && (long)v.r == w->row;
    }
    if (*w->p != '/')
        return here;
    size_t n = strcspn(w->p + 1, "/\\");
    const char *re = bash_strndup(w->t->sh, w->p + 1, n);
    enum bash_known yes =
        here ? bash_regex(w->t->sh, re, w->line, NULL) : BASH_NO;
    w->bad = w->bad || w->p[1 + n] != '/' || yes == BASH_MAYBE;
    w->p += w->bad ? 0 : n + 2;
    return yes == BASH_YES;
}

/* All rules for one line, or for BEGIN or END. */
static void awk_rules(struct awk *w)
{
    bash_step(w->t->sh);
    bash_work(w->t->sh, strlen(w->program) + strlen(w->line));
    w->p = w->program;
    for (awk_skip(w); !w->bad && *w->p; awk_skip(w)) {
        w->idle = !awk_pattern(w);
        w->bad = w->bad || !awk_take(w, "{");
        while (!w->bad && !awk_take(w, "}")) {
            if (!awk_take(w, ";"))
                awk_statement(w);
            w->bad = w->bad || !awk_ends(w) || !*w->p;
        }
    }
}

/* -F by and -v NAME=VALUE; index of the program, or of nothing. */
static size_t awk_options(struct awk *w)
{
    size_t i = 0;
    for (; i + 1 < w->t->n && *w->t->arg[i] == '-'; i++) {
        const char *a = w->t->arg[i], *v = a[2] ? a + 2 : w->t->arg[++i];
        size_t n = awk_name(v);
        if (a[1] == 'F')
            w->by = strcmp(v, "\\t") == 0 ? "\t" : v;
        else if (a[1] == 'v' && n && v[n] == '=')
            *awk_variable(w, v, n) = (struct awk_value){v + n + 1, 0};
        else
            w->bad = true;
    }
    // longer ones, and these signs, are expressions
    w->bad = w->bad || strlen(w->by) != 1 || strchr(".[]()*+?^$\\", *w->by);
    return i;
}

/* BEGIN once before, END once behind, and the other rules for every line. */
bool bash_tool_awk(struct bash_tool_use *t)
{
    struct awk w = {.t = t, .by = " ", .line = ""};
    const char *next;
    size_t i = awk_options(&w);
    if (w.bad || i + 1 != t->n)
        return false;
    w.program = t->arg[i];
    w.part = AWK_BEGIN;
    awk_rules(&w);
    // where all rules are BEGIN's, awk does not read
    if (w.bad || !w.reads)
        return !w.bad;
    if (!t->in)
        return false;
    w.part = AWK_LINES;
    for (const char *p = t->in; *p && !w.bad; p = next) {
        size_t n = bash_tool_line_at(p, &next);
        w.line = bash_strndup(t->sh, p, n);
        w.row++;
        awk_rules(&w);
    }
    w.line = "";
    w.part = AWK_END;
    awk_rules(&w);
    return !w.bad;
}
