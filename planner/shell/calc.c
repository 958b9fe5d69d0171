/*
 * How it works: seq and expr count with whole numbers; bc with decimals kept as
 * whole numbers of 10^-scale, cut off as bc does. What may overflow is refused.
 */
#include "arith.h"
#include "cond.h"
#include "tools.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

/* Whole numbers only; a step of 0 would never end. */
bool bash_tool_seq(struct bash_tool_use *t)
{
    const char *by = "\n";
    size_t i = 0;
    if (t->n > 1 && strcmp(t->arg[0], "-s") == 0) {
        by = t->arg[1];
        i = 2;
    } else if (t->n > 1 && strncmp(t->arg[0], "-s", 2) == 0) {
        by = t->arg[0] + 2;
        i = 1;
    }
    long long v[3] = {1, 1, 1};
    size_t n = t->n - i;
    if (n < 1 || n > 3)
        return false;
    for (size_t k = 0; k < n; k++) {
        char *end;
        v[k] = strtoll(t->arg[i + k], &end, 10);
        if (end == t->arg[i + k] || *end || llabs(v[k]) > 1000000000)
            return false;
    }
    long long from = n == 1 ? 1 : v[0], step = n == 3 ? v[1] : 1, to = v[n - 1];
    bool any = false;
    for (long long x = from; step && (step > 0 ? x <= to : x >= to);
         x += step) {
        bash_step(t->sh);
        bash_puts(t->sh, &t->out,
                  bash_printf(t->sh, "%s%lld", any ? by : "", x));
        any = true;
    }
    if (any)
        bash_putc(t->sh, &t->out, '\n');
    return step != 0;
}

bool bash_is_integer(const char *s)
{
    size_t n = strspn(*s == '-' ? s + 1 : s, "0123456789");
    return n > 0 && n < 18 && s[n + (*s == '-')] == '\0';
}

/* expr STRING : REGEX */
static bool expr_match(struct bash_tool_use *t)
{
    struct bash_words groups = {0};
    const char *re = bash_printf(t->sh, "^%s", t->arg[2]);
    if (strpbrk(re, "\\+?{}|()"))
        return false; // its basic form means others
    enum bash_known yes = bash_regex(t->sh, re, t->arg[0], &groups);
    size_t n = yes == BASH_YES ? strlen(groups.item[0].text) : 0;
    bash_tool_line(t, bash_printf(t->sh, "%zu", n),
                   strlen(bash_printf(t->sh, "%zu", n)));
    t->status = n == 0;
    return yes != BASH_MAYBE;
}

/* 0 is a result and a failure to expr, as 'expr ... || exit' would find. */
bool bash_tool_expr(struct bash_tool_use *t)
{
    struct bash_text e = {0};
    if (t->n == 3 && strcmp(t->arg[1], ":") == 0)
        return expr_match(t);
    if (t->n == 2 && strcmp(t->arg[0], "length") == 0) {
        const char *n = bash_printf(t->sh, "%zu", strlen(t->arg[1]));
        bash_tool_line(t, n, strlen(n));
        return true;
    }
    for (size_t i = 0; i < t->n; i++) {
        const char *w = t->arg[i];
        bool sign = strlen(w) <= 2 && strspn(w, "+-*/%()<>=!&|") == strlen(w);
        if (!sign && !bash_is_integer(w))
            return false;
        bash_puts(t->sh, &e, strcmp(w, "=") == 0 ? "==" : w);
        bash_putc(t->sh, &e, ' ');
    }
    // & and | of expr are no bits
    if (!e.n || strpbrk(e.s, "&|"))
        return false;
    struct bash_number v = bash_math(t->sh, e.s, e.s);
    if (v.mark)
        return false;
    const char *text = bash_printf(t->sh, "%lld", (long long)v.value);
    bash_tool_line(t, text, strlen(text));
    t->status = v.value == 0;
    return true;
}

/* ---- bc: decimals of a fixed scale ---- */

struct bc {
    struct bash_tool_use *t;
    const char *p;
    int scale;
    bool bad;
};

struct bc_value {
    long long v; // in units of 10^-scale
    int scale;
};

static struct bc_value bc_sum(struct bc *b);

static long long bc_ten(int n)
{
    long long v = 1;
    while (n-- > 0)
        v *= 10;
    return v;
}

/* Blanks only: a line end ends the statement. */
static void bc_skip(struct bc *b)
{
    while (*b->p == ' ' || *b->p == '\t')
        b->p++;
}

/* The value with `scale` digits behind the point, cut off. */
static long long bc_scaled(struct bc_value x, int scale)
{
    return scale >= x.scale ? x.v * bc_ten(scale - x.scale)
                            : x.v / bc_ten(x.scale - scale);
}

/* Nine digits at most keep every product within 64 bits. */
static struct bc_value bc_atom(struct bc *b)
{
    struct bc_value x = {0, 0};
    bool point = false;
    int digits = 0;
    bc_skip(b);
    if (*b->p == '-') {
        b->p++;
        bash_enter(b->t->sh);
        x = bc_atom(b);
        bash_leave(b->t->sh);
        x.v = -x.v;
        return x;
    }
    if (*b->p == '(') {
        b->p++;
        bash_enter(b->t->sh);
        x = bc_sum(b);
        bash_leave(b->t->sh);
        b->bad = b->bad || *b->p != ')';
        b->p += *b->p == ')';
        return x;
    }
    for (; isdigit((unsigned char)*b->p) || (*b->p == '.' && !point); b->p++) {
        if (*b->p == '.') {
            point = true;
            continue;
        }
        x.v = x.v * 10 + *b->p - '0';
        x.scale += point;
        if (++digits > 9)
            b->bad = true; // products stay within 64 bits
    }
    b->bad = b->bad || digits == 0;
    return b->bad ? (struct bc_value){0, 0} : x;
}

/* Operands stay below 10^9, so that no product overflows. */
static struct bc_value bc_apply(struct bc *b, char op, struct bc_value x,
                                struct bc_value y)
{
    int most = x.scale > y.scale ? x.scale : y.scale;
    if (llabs(x.v) > 1000000000 || llabs(y.v) > 1000000000 || most > 6 ||
        b->scale > 6) {
        b->bad = true;
        return x;
    }
    if (op == '*') {
        int full = x.scale + y.scale;
        int keep = b->scale > most ? b->scale : most;
        struct bc_value z = {x.v * y.v, full};
        keep = keep < full ? keep : full;
        return (struct bc_value){bc_scaled(z, keep), keep};
    }
    if (op == '/' || op == '%') {
        long long d = bc_scaled(y, most), n = bc_scaled(x, most);
        b->bad = b->bad || d == 0 || (op == '%' && b->scale);
        if (b->bad)
            return x;
        if (op == '%')
            return (struct bc_value){n % d, most};
        return (struct bc_value){n * bc_ten(b->scale) / d, b->scale};
    }
    long long p = bc_scaled(x, most), q = bc_scaled(y, most);
    return (struct bc_value){op == '+' ? p + q : p - q, most};
}

/* From left to right, as bc does: with a scale each division is cut where it
 * stands. */
static struct bc_value bc_product(struct bc *b)
{
    struct bc_value x = bc_atom(b);
    for (bc_skip(b); !b->bad && *b->p && strchr("*/%", *b->p); bc_skip(b)) {
        char op = *b->p++;
        x = bc_apply(b, op, x, bc_atom(b));
    }
    return x;
}

static struct bc_value bc_sum(struct bc *b)
{
    struct bc_value x = bc_product(b);
    for (bc_skip(b); !b->bad && *b->p && strchr("+-", *b->p); bc_skip(b)) {
        char op = *b->p++;
        x = bc_apply(b, op, x, bc_product(b));
    }
    return x;
}

/* bc writes .5 without the zero before it. */
static void bc_print(struct bash_tool_use *t, struct bc_value x)
{
    long long ten = bc_ten(x.scale), v = llabs(x.v);
    const char *sign = x.v < 0 ? "-" : "";
    const char *text;
    if (x.scale == 0 || v == 0)
        text = bash_printf(t->sh, "%s%lld", sign, v / ten);
    else if (v < ten)
        text = bash_printf(t->sh, "%s.%0*lld", sign, x.scale, v);
    else
        text = bash_printf(t->sh, "%s%lld.%0*lld", sign, v / ten, x.scale,
                           v % ten);
    bash_tool_line(t, text, strlen(text));
}

/* scale=N sets how many digits a quotient keeps; without it bc divides
 * whole numbers. */
bool bash_tool_bc(struct bash_tool_use *t)
{
    struct bc b = {.t = t, .p = t->in};
    for (size_t i = 0; i < t->n; i++) // -l has functions and 20 digits
        if (strcmp(t->arg[i], "-q") != 0)
            return false;
    if (!t->in)
        return false;
    while (*b.p && !b.bad) {
        b.p += strspn(b.p, "; \t\n");
        if (strncmp(b.p, "scale", 5) == 0) {
            b.p += strcspn(b.p, "0123456789;\n");
            b.scale = (int)strtol(b.p, NULL, 10) % 10;
            b.p += strspn(b.p, "0123456789");
        } else if (*b.p) {
            struct bc_value x = bc_sum(&b);
            b.bad = b.bad || (*b.p && !strchr(";\n", *b.p));
            if (!b.bad)
                bc_print(t, x);
        }
    }
    return !b.bad;
}
