/*
 * How it works: recursive descent, a function for each level of precedence
 * (sum, product, atom). An error sets `bad` and is asked for at the end: a
 * wrong value on the way harms nobody. Bash computes in 64 bits and wraps
 * around; here an overflow is an error, since no size of a model is as large.
 */
#include "shell_math.h"

#include "base/text.h"

#include <string.h>

// brackets and signs; deeper is no expression that anyone wrote
enum { SHELL_MATH_MAX_NESTING = 32 };

struct math {
    const struct shell_math_text *text;
    const char *p, *end;
    int depth;
    bool bad;
};

/* Blanks and newlines part nothing in an expression. */
static char shell_math_peek(struct math *m)
{
    while (m->p < m->end && strchr(" \t\n", *m->p))
        m->p++;
    return m->p < m->end ? *m->p : '\0';
}

static int64_t shell_math_sum(struct math *m);

/* NAME, $NAME and ${NAME} are the same in an expression. A variable that holds
 * an expression itself, which bash would evaluate, is not known here. */
static int64_t shell_math_variable(struct math *m)
{
    const char *name = m->p;
    int64_t v = 0;
    bool braces = *name == '{';
    name += braces;
    size_t n = 0;
    while (name + n < m->end &&
           ((name[n] >= 'a' && name[n] <= 'z') ||
            (name[n] >= 'A' && name[n] <= 'Z') || name[n] == '_' ||
            (n && name[n] >= '0' && name[n] <= '9')))
        n++;
    m->p = name + n;
    if (braces && shell_math_peek(m) != '}')
        m->bad = true;
    else
        m->p += braces;
    const char *text = n ? m->text->lookup(m->text->data, name, n) : NULL;
    if (!text || !text_to_int64(text, &v))
        m->bad = true;
    return v;
}

/* Decimal only: bash reads 0x10 and 010 in other bases, which no script needs.
 */
static int64_t shell_math_digits(struct math *m)
{
    int64_t v = 0;
    for (; m->p < m->end && *m->p >= '0' && *m->p <= '9'; m->p++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, *m->p - '0', &v))
            m->bad = true;
    return v;
}

/* A number, a variable, a bracket, or a minus before one of them. */
static int64_t shell_math_atom(struct math *m)
{
    char c = shell_math_peek(m);
    if (m->bad || ++m->depth > SHELL_MATH_MAX_NESTING) {
        m->bad = true;
        return 0;
    }
    int64_t v = 0;
    if (c == '(') {
        m->p++;
        v = shell_math_sum(m);
        m->bad = m->bad || shell_math_peek(m) != ')';
        m->p += !m->bad;
    } else if (c == '-') {
        m->p++;
        m->bad = __builtin_sub_overflow(0, shell_math_atom(m), &v) || m->bad;
    } else if (c >= '0' && c <= '9') {
        v = shell_math_digits(m);
    } else {
        m->p += c == '$';
        v = shell_math_variable(m);
    }
    m->depth--;
    return v;
}

/* C's rules, as bash has them: division cuts towards 0, the rest has the sign
 * of the dividend. INT64_MIN / -1 traps. */
static int64_t shell_math_product(struct math *m)
{
    int64_t v = shell_math_atom(m);
    for (char c; !m->bad && (c = shell_math_peek(m)) && strchr("*/%", c);) {
        m->p++;
        int64_t w = shell_math_atom(m);
        if (c == '*')
            m->bad = __builtin_mul_overflow(v, w, &v) || m->bad;
        else if (w == 0 || (w == -1 && v == INT64_MIN))
            m->bad = true;
        else
            v = c == '/' ? v / w : v % w;
    }
    return v;
}

static int64_t shell_math_sum(struct math *m)
{
    int64_t v = shell_math_product(m);
    for (char c; !m->bad && ((c = shell_math_peek(m)) == '+' || c == '-');) {
        m->p++;
        int64_t w = shell_math_product(m);
        m->bad = (c == '+' ? __builtin_add_overflow(v, w, &v)
                           : __builtin_sub_overflow(v, w, &v)) ||
                 m->bad;
    }
    return v;
}

bool shell_math(const struct shell_math_text *text, int64_t *out)
{
    struct math m = {.text = text, .p = text->from, .end = text->to};
    int64_t v = shell_math_sum(&m);
    if (m.bad || shell_math_peek(&m) != '\0')
        return false;
    *out = v;
    return true;
}
