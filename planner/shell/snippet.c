/*
 * How it works: two small evaluators, of Python's expressions and of awk's
 * rules, each by recursive descent on the program's text. Anything that is not
 * listed here, may overflow, or would print digits that depend on the
 * interpreter ends with `bad`: then the output is not known, never wrong.
 */
#include "cond.h"
#include "tools.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SNIPPET_EXACT 9007199254740992.0 // 2^53: whole doubles below are exact

enum {
    SNIPPET_NAMES = 8,
    SNIPPET_MAX_ITEMS = 4096,
    SNIPPET_MAX_BYTES = 1 << 16
};

/* ---- Python: values ---- */

enum py_kind { PY_WHOLE, PY_REAL, PY_TEXT, PY_LIST };

struct py_value {
    enum py_kind kind;
    int64_t n;
    double r;
    const char *s;
    const struct py_value *item;
    size_t len; // of a list
};

struct py {
    struct bash *sh;
    const char *p;
    bool bad;
    bool math; // was imported
    struct {
        const char *name;
        struct py_value v;
    } var[SNIPPET_NAMES];
    int n_vars;
};

static struct py_value py_sum(struct py *y);

static struct py_value py_bad(struct py *y)
{
    y->bad = true;
    return (struct py_value){.kind = PY_WHOLE};
}

static struct py_value py_whole(int64_t n)
{
    return (struct py_value){.kind = PY_WHOLE, .n = n};
}

static struct py_value py_text(const char *s)
{
    return (struct py_value){.kind = PY_TEXT, .s = s};
}

static bool py_is_number(const struct py_value *v)
{
    return v->kind == PY_WHOLE || v->kind == PY_REAL;
}

/* As a double; whole numbers beyond 2^53 would be rounded. */
static double py_real(struct py *y, const struct py_value *v)
{
    if (v->kind == PY_REAL)
        return v->r;
    y->bad = y->bad || fabs((double)v->n) >= SNIPPET_EXACT;
    return (double)v->n;
}

/* The shortest digits that read back as the same number, as repr() has them;
 * within the range in which Python writes no exponent. */
static const char *py_digits(struct py *y, double r)
{
    char text[40];
    double size = fabs(r);
    if (!(size < 1e15) || (size < 1e-4 && size > 0))
        y->bad = true;
    if (!(r < floor(r)) && !(r > floor(r)))
        return bash_printf(y->sh, "%.1f", r);
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, r);
        double back = strtod(text, NULL);
        if (!(back < r) && !(back > r))
            break;
    }
    return bash_printf(y->sh, "%s", text);
}

/* str(v); within a list repr(v), which has quotes. */
static const char *py_shown(struct py *y, const struct py_value *v, bool quoted)
{
    struct bash_text t = {0};
    if (v->kind == PY_WHOLE)
        return bash_printf(y->sh, "%lld", (long long)v->n);
    if (v->kind == PY_REAL)
        return py_digits(y, v->r);
    if (v->kind == PY_TEXT) {
        for (const char *p = v->s; *p && quoted; p++)
            y->bad = y->bad || *p == '\'' || *p == '\\' || *p < ' ';
        return quoted ? bash_printf(y->sh, "'%s'", v->s) : v->s;
    }
    bash_putc(y->sh, &t, '[');
    for (size_t i = 0; i < v->len; i++) {
        if (i)
            bash_puts(y->sh, &t, ", ");
        bash_puts(y->sh, &t, py_shown(y, &v->item[i], true));
    }
    bash_putc(y->sh, &t, ']');
    return bash_text_of(&t);
}

/* ---- Python: operators ---- */

/* x * n of a text or a list. */
static struct py_value py_repeat(struct py *y, struct py_value x, int64_t n)
{
    struct bash_text t = {0};
    size_t len = x.kind == PY_TEXT ? strlen(x.s) : x.len;
    size_t most = x.kind == PY_TEXT ? SNIPPET_MAX_BYTES : SNIPPET_MAX_ITEMS;
    n = n < 0 ? 0 : n;
    if (len && (uint64_t)n > most / len)
        return py_bad(y);
    if (!len)
        return x;
    if (x.kind == PY_TEXT) {
        for (; n > 0; n--)
            bash_puts(y->sh, &t, x.s);
        return py_text(bash_text_of(&t));
    }
    struct py_value *item =
        bash_alloc(y->sh, len * (size_t)n + 1, sizeof *item);
    for (size_t i = 0; i < len * (size_t)n; i++)
        item[i] = x.item[i % len];
    return (struct py_value){
        .kind = PY_LIST, .item = item, .len = len * (size_t)n};
}

/* + of two texts or lists; lists are bounded, for they may be doubled in a
 * loop. */
static struct py_value py_joined(struct py *y, struct py_value a,
                                 struct py_value b)
{
    if (a.kind == PY_TEXT)
        return py_text(bash_printf(y->sh, "%s%s", a.s, b.s));
    if (a.len + b.len > SNIPPET_MAX_ITEMS)
        return py_bad(y);
    struct py_value *item = bash_alloc(y->sh, a.len + b.len + 1, sizeof *item);
    for (size_t i = 0; i < a.len + b.len; i++)
        item[i] = i < a.len ? a.item[i] : b.item[i - a.len];
    return (struct py_value){
        .kind = PY_LIST, .item = item, .len = a.len + b.len};
}

/* Operators of whole numbers: '/' is that of //, and rounds down, as % does. */
static struct py_value py_count(struct py *y, char op, int64_t a, int64_t b)
{
    int64_t n = 0;
    bool over = false;
    if (op == '+')
        over = __builtin_add_overflow(a, b, &n);
    else if (op == '-')
        over = __builtin_sub_overflow(a, b, &n);
    else if (op == '*')
        over = __builtin_mul_overflow(a, b, &n);
    else if (b == 0 || a == INT64_MIN)
        return py_bad(y);
    else if (op == '/')
        n = a / b - (a % b != 0 && (a < 0) != (b < 0));
    else
        n = a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    return over ? py_bad(y) : py_whole(n);
}

/* Operators of which a side is real, and '/' of whole ones. */
static struct py_value py_measure(struct py *y, char op, double a, double b)
{
    double r = op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : 0;
    if (op == '%' || (op == '/' && !(b < 0) && !(b > 0)))
        return py_bad(y);
    return (struct py_value){.kind = PY_REAL, .r = op == '/' ? a / b : r};
}

/* `whole`: // instead of /. */
static struct py_value py_apply(struct py *y, char op, bool whole,
                                struct py_value a, struct py_value b)
{
    if (y->bad)
        return a;
    if (py_is_number(&a) && py_is_number(&b)) {
        bool counts = a.kind == PY_WHOLE && b.kind == PY_WHOLE;
        if (counts && (op != '/' || whole))
            return py_count(y, op, a.n, b.n);
        return whole ? py_bad(y)
                     : py_measure(y, op, py_real(y, &a), py_real(y, &b));
    }
    if (op == '+' && a.kind == b.kind)
        return py_joined(y, a, b);
    if (op == '*' && b.kind == PY_WHOLE)
        return py_repeat(y, a, b.n);
    if (op == '*' && a.kind == PY_WHOLE)
        return py_repeat(y, b, a.n);
    return py_bad(y);
}

/* ---- Python: operands ---- */

static void py_skip(struct py *y)
{
    while (*y->p == ' ' || *y->p == '\t')
        y->p++;
}

static bool py_take(struct py *y, const char *sign)
{
    py_skip(y);
    size_t n = strlen(sign);
    if (strncmp(y->p, sign, n) != 0)
        return false;
    y->p += n;
    return true;
}

/* Values up to `close`, parted by commas. */
static struct py_value py_list(struct py *y, const char *close)
{
    struct py_value item[64], *copy;
    size_t n = 0;
    while (!y->bad && !py_take(y, close)) {
        if (n == 64)
            return py_bad(y);
        item[n++] = py_sum(y);
        py_skip(y);
        if (!py_take(y, ",") && *y->p != *close)
            return py_bad(y);
    }
    copy = bash_alloc(y->sh, n + 1, sizeof *copy);
    if (n)
        memcpy(copy, item, n * sizeof *copy);
    return (struct py_value){.kind = PY_LIST, .item = copy, .len = n};
}

/* Plain ones: whatever has an escape or a triple quote is left to Python. */
static struct py_value py_literal(struct py *y)
{
    char quote = *y->p++;
    size_t n = strcspn(y->p, "'\"\\\n");
    // escapes, the other quote inside and """ are left to Python
    if (y->p[n] != quote || y->p[n + 1] == quote)
        return py_bad(y);
    const char *s = bash_strndup(y->sh, y->p, n);
    y->p += n + 1;
    return py_text(s);
}

/* Fifteen digits at most, so that every number is exact in either form. */
static struct py_value py_number(struct py *y)
{
    size_t n = strspn(y->p, "0123456789");
    const char *end = y->p + n;
    bool leading = n > 1 && *y->p == '0';
    if (n > 15 || leading || isalpha((unsigned char)*end) || *end == '_')
        return py_bad(y);
    if (*end == '.') {
        size_t more = strspn(end + 1, "0123456789");
        char *to;
        double r = strtod(y->p, &to);
        if (to != end + 1 + more)
            return py_bad(y);
        y->p = to;
        return (struct py_value){.kind = PY_REAL, .r = r};
    }
    int64_t v = strtoll(y->p, NULL, 10);
    y->p = end;
    return py_whole(v);
}

/* int(x), and math.floor() and math.ceil(), which round to a whole number. */
static struct py_value py_rounded(struct py *y, const char *name,
                                  const struct py_value *x)
{
    if (x->kind == PY_WHOLE)
        return *x;
    if (x->kind == PY_TEXT && strcmp(name, "int") == 0)
        return bash_is_integer(x->s) ? py_whole(strtoll(x->s, NULL, 10))
                                     : py_bad(y);
    if (x->kind != PY_REAL || !(fabs(x->r) < SNIPPET_EXACT))
        return py_bad(y);
    double r = strcmp(name, "int") == 0          ? trunc(x->r)
               : strcmp(name, "round") == 0      ? nearbyint(x->r)
               : strcmp(name, "math.floor") == 0 ? floor(x->r)
                                                 : ceil(x->r);
    return py_whole((int64_t)r);
}

/* max, min and sum of whole numbers. */
static struct py_value py_of_many(struct py *y, const char *name,
                                  struct py_value all)
{
    if (all.len == 1 && all.item[0].kind == PY_LIST)
        all = all.item[0];
    struct py_value v =
        strcmp(name, "sum") == 0 || !all.len ? py_whole(0) : all.item[0];
    if (!all.len && strcmp(name, "sum") != 0)
        return py_bad(y);
    for (size_t i = 0; i < all.len; i++) {
        int64_t n = all.item[i].n;
        if (all.item[i].kind != PY_WHOLE)
            return py_bad(y);
        if (strcmp(name, "sum") == 0)
            v = py_count(y, '+', v.n, n);
        else if (strcmp(name, "max") == 0 ? n > v.n : n < v.n)
            v.n = n;
    }
    return v;
}

/* A function that is not listed makes the whole not understood. */
static struct py_value py_call(struct py *y, const char *name)
{
    static const char *const rounding[] = {"int", "round", "math.floor",
                                           "math.ceil"};
    struct py_value all = py_list(y, ")");
    const struct py_value *x = all.item;
    if (y->bad)
        return all;
    for (size_t i = 0; i < 4; i++)
        if (strcmp(name, rounding[i]) == 0)
            return all.len == 1 && (y->math || i < 2) ? py_rounded(y, name, x)
                                                      : py_bad(y);
    if (strcmp(name, "max") == 0 || strcmp(name, "min") == 0 ||
        strcmp(name, "sum") == 0)
        return py_of_many(y, name, all);
    if (all.len != 1)
        return py_bad(y);
    if (strcmp(name, "str") == 0)
        return py_text(py_shown(y, x, false));
    if (strcmp(name, "len") == 0 && x->kind == PY_LIST)
        return py_whole((int64_t)x->len);
    if (strcmp(name, "abs") == 0 && x->kind == PY_WHOLE)
        return py_whole(x->n < 0 ? -x->n : x->n);
    return py_bad(y);
}

/* A call, or a variable that the snippet set. */
static struct py_value py_named(struct py *y)
{
    size_t n = 0;
    while (isalnum((unsigned char)y->p[n]) || y->p[n] == '_' || y->p[n] == '.')
        n++;
    const char *name = bash_strndup(y->sh, y->p, n);
    y->p += n;
    if (n && py_take(y, "("))
        return py_call(y, name);
    for (int i = 0; i < y->n_vars; i++)
        if (strcmp(y->var[i].name, name) == 0)
            return y->var[i].v;
    return py_bad(y);
}

/* 'x'.join(list) */
static struct py_value py_join(struct py *y, const char *by)
{
    struct bash_text t = {0};
    struct py_value all = py_list(y, ")");
    if (y->bad || all.len != 1 || all.item[0].kind != PY_LIST)
        return py_bad(y);
    for (size_t i = 0; i < all.item[0].len; i++) {
        const struct py_value *v = &all.item[0].item[i];
        if (v->kind != PY_TEXT)
            return py_bad(y);
        if (i)
            bash_puts(y->sh, &t, by);
        bash_puts(y->sh, &t, v->s);
    }
    return py_text(bash_text_of(&t));
}

/* Brackets behind a value (indices, calls) are not understood, but for a text's
 * join(). */
static struct py_value py_operand(struct py *y)
{
    struct py_value v;
    py_skip(y);
    if (*y->p == '\'' || *y->p == '"') {
        v = py_literal(y);
    } else if (isdigit((unsigned char)*y->p)) {
        return py_number(y);
    } else if (py_take(y, "[")) {
        return py_list(y, "]");
    } else if (py_take(y, "(")) {
        v = py_sum(y);
        if (!py_take(y, ")")) // a tuple, a comparison
            return py_bad(y);
    } else {
        v = py_named(y);
    }
    if (!y->bad && v.kind == PY_TEXT && py_take(y, ".join("))
        v = py_join(y, v.s);
    return v;
}

/* -x and x**n, which binds stronger. */
static struct py_value py_unary(struct py *y)
{
    bash_enter(y->sh);
    struct py_value v;
    if (py_take(y, "-")) {
        v = py_apply(y, '-', false, py_whole(0), py_unary(y));
    } else {
        v = py_operand(y);
        if (!y->bad && py_take(y, "**")) {
            struct py_value base = v, by = py_unary(y);
            bool fits = base.kind == PY_WHOLE && by.kind == PY_WHOLE &&
                        by.n >= 0 && by.n < 64;
            y->bad = y->bad || !fits;
            v = py_whole(1);
            for (int64_t i = 0; !y->bad && i < by.n; i++)
                v = py_count(y, '*', v.n, base.n);
        }
    }
    bash_leave(y->sh);
    return v;
}

/* From the left, as Python does; // and / differ in what they make of whole
 * numbers. */
static struct py_value py_product(struct py *y)
{
    struct py_value v = py_unary(y);
    for (py_skip(y); !y->bad && *y->p && strchr("*/%", *y->p); py_skip(y)) {
        char op = *y->p++;
        bool whole = op == '/' && *y->p == '/';
        y->p += whole;
        v = py_apply(y, op, whole, v, py_unary(y));
    }
    return v;
}

/* The deepest recursion goes through here, and is counted here. */
static struct py_value py_sum(struct py *y)
{
    bash_enter(y->sh);
    bash_step(y->sh);
    struct py_value v = py_product(y);
    for (py_skip(y); !y->bad && (*y->p == '+' || *y->p == '-'); py_skip(y)) {
        char op = *y->p++;
        v = py_apply(y, op, false, v, py_product(y));
    }
    bash_leave(y->sh);
    return v;
}

/* ---- Python: statements ---- */

/* With blanks between, and a line's end: sep and end are not understood. */
static void py_print(struct py *y, struct bash_text *out)
{
    struct py_value all = py_list(y, ")");
    for (size_t i = 0; i < all.len && !y->bad; i++) {
        if (i)
            bash_putc(y->sh, out, ' ');
        bash_puts(y->sh, out, py_shown(y, &all.item[i], false));
    }
    bash_putc(y->sh, out, '\n');
}

/* To one plain name. The value of a name that is set again is the last. */
static void py_assign(struct py *y)
{
    size_t n = 0;
    while (isalnum((unsigned char)y->p[n]) || y->p[n] == '_')
        n++;
    const char *name = bash_strndup(y->sh, y->p, n);
    y->p += n;
    if (!bash_is_name(name, n) || !py_take(y, "=") || *y->p == '=' ||
        y->n_vars == SNIPPET_NAMES) {
        y->bad = true;
        return;
    }
    struct py_value v = py_sum(y);
    for (int i = 0; i < y->n_vars; i++)
        if (strcmp(y->var[i].name, name) == 0) {
            y->var[i].v = v;
            return;
        }
    y->var[y->n_vars].name = name;
    y->var[y->n_vars++].v = v;
}

/* Statements of one line: import math, print() and assignments. Everything else
 * is for Python to tell. */
bool bash_tool_python(struct bash_tool_use *t)
{
    if (t->n != 2 || strcmp(t->arg[0], "-c") != 0)
        return false;
    struct py y = {.sh = t->sh, .p = t->arg[1]};
    // a line that begins with a blank is an error of indentation
    while (*y.p && !y.bad && *y.p != ' ' && *y.p != '\t') {
        if (*y.p == '\n') {
            y.p++;
            continue;
        }
        if (strncmp(y.p, "import math", 11) == 0) {
            y.math = true;
            y.p += 11;
        } else if (strncmp(y.p, "print(", 6) == 0) {
            y.p += 6;
            py_print(&y, &t->out);
        } else {
            py_assign(&y);
        }
        py_skip(&y);
        if (*y.p == ';') {
            y.p++;
            py_skip(&y);
        } else if (*y.p && *y.p != '\n') {
            y.bad = true;
        }
    }
    return !y.bad && !*y.p;
}
