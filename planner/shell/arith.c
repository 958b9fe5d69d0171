/*
 * How it works: precedence climbing over a table of operators. Sides that C
 * would not evaluate are parsed without effects. Values of variables are
 * expressions themselves.
 */
#include "arith.h"

#include "expand.h"
#include "script/state.h"

#include <ctype.h>
#include <string.h>

struct math {
    struct bash *sh;
    const char *p;
    const char *shown;
    const char *error;
    bool idle; // this side is not evaluated
};

/* An operand; a name can be assigned to. */
struct operand {
    struct bash_number v;
    const char *name; // NULL: none
    const char *key;  // of an associative array
    int64_t index;    // -1: no index
    const char *lost; // mark of an index that is not known
};

static struct bash_number math_comma(struct math *m);
static struct operand math_binary(struct math *m, int least);

/* The first error is the cause; the rest of the text is not looked at. */
static void math_fail(struct math *m, const char *error)
{
    if (!m->error)
        m->error = error;
    m->p += strlen(m->p);
}

static void math_skip(struct math *m)
{
    while (*m->p && isspace((unsigned char)*m->p))
        m->p++;
}

/* ---- numbers and names ---- */

/* Bases above 36 tell capitals from small letters, those up to 36 do not. */
static int math_digit(char c, int base)
{
    if (isdigit((unsigned char)c))
        return c - '0';
    if (islower((unsigned char)c))
        return c - 'a' + 10;
    if (isupper((unsigned char)c))
        return base <= 36 ? c - 'A' + 10 : c - 'A' + 36;
    return c == '@' ? 62 : c == '_' ? 63 : 99;
}

/* Wraps around at 64 bits without a word, as bash does. */
static int64_t math_digits(struct math *m, int base)
{
    uint64_t v = 0;
    const char *from = m->p;
    for (; isalnum((unsigned char)*m->p) || *m->p == '_' || *m->p == '@';
         m->p++) {
        int d = math_digit(*m->p, base);
        if (d >= base) {
            math_fail(m, "a digit that is too large for its base");
            return 0;
        }
        v = v * (uint64_t)base + (uint64_t)d;
    }
    if (m->p == from)
        math_fail(m, "a number without digits");
    return (int64_t)v;
}

/* 010 is 8: a month or rank with a leading zero surprises people in bash,
 * so it must here. */
static int64_t math_number(struct math *m)
{
    if (m->p[0] == '0' && (m->p[1] == 'x' || m->p[1] == 'X')) {
        m->p += 2;
        return math_digits(m, 16);
    }
    const char *hash = m->p + strspn(m->p, "0123456789");
    if (*hash == '#') {
        int base = 0;
        for (; m->p < hash; m->p++)
            base = base > 64 ? 65 : 10 * base + *m->p - '0';
        m->p++;
        if (base >= 2 && base <= 64)
            return math_digits(m, base);
        math_fail(m, "a base that is none");
        return 0;
    }
    if (*hash == '.')
        math_fail(m, "bash counts whole numbers only");
    return math_digits(m, *m->p == '0' && isdigit((unsigned char)m->p[1]) ? 8
                                                                          : 10);
}

/* The value of a variable's text, which is an expression itself. */
static struct bash_number math_text(struct math *m, const char *text)
{
    const char *plain = bash_plain(m->sh, text, !m->idle);
    if (*plain == '\0')
        return (struct bash_number){0, NULL};
    bash_enter(m->sh);
    struct math inner = {m->sh, plain, m->shown, NULL, m->idle};
    struct bash_number v = math_comma(&inner);
    bash_leave(m->sh);
    if (inner.error)
        math_fail(m, inner.error);
    return v;
}

/* A name that a file which cannot be read may have set is unknown, not 0. */
static const char *operand_text(struct math *m, const struct operand *o)
{
    const struct bash_var *v = bash_get(m->sh, o->name);
    if (o->index < 0 && !o->key)
        return bash_param_text(m->sh, o->name);
    const char *loose = bash_loose_mark(m->sh, v, o->index);
    if (loose)
        return loose;
    const struct bash_item_of *e = bash_element(v, o->index, o->key);
    return e                         ? e->text
           : v || !m->sh->st->unread ? ""
                                     : bash_param_text(m->sh, o->name);
}

/* [index] behind a name. */
static void math_index(struct math *m, struct operand *o)
{
    if (*m->p != '[')
        return;
    const struct bash_var *v = bash_get(m->sh, o->name);
    if (v && v->flags & BASH_ASSOCIATIVE) {
        size_t n = strcspn(m->p, "]");
        o->key = bash_strndup(m->sh, m->p + 1, n ? n - 1 : 0);
        o->lost = bash_first_unknown(m->sh, o->key);
        m->p += n + (m->p[n] == ']');
        return;
    }
    m->p++;
    struct bash_number i = math_comma(m);
    o->index = i.mark || i.value < 0 ? 0 : i.value;
    o->lost = i.mark;
    if (i.mark)
        o->v = i;
    if (*m->p == ']')
        m->p++;
    else
        math_fail(m, "an index without its ]");
}

/* Does a plain `=` follow? Then bash sets the name without reading it. */
static bool math_sets(const struct math *m)
{
    const char *p = m->p;
    while (isspace((unsigned char)*p))
        p++;
    return *p == '=' && p[1] != '=';
}

/* A name with its index, and its value unless this side is idle. */
static struct operand math_name(struct math *m)
{
    size_t n = 0;
    while (isalnum((unsigned char)m->p[n]) || m->p[n] == '_')
        n++;
    struct operand o = {.name = bash_strndup(m->sh, m->p, n), .index = -1};
    m->p += n;
    math_index(m, &o);
    if (!o.v.mark && !m->idle && !math_sets(m))
        o.v = math_text(m, operand_text(m, &o));
    return o;
}

/* An error later in the expression does not undo an assignment in bash;
 * here the whole is unknown then, which is safe. */
static void math_assign(struct math *m, const struct operand *o,
                        struct bash_number v)
{
    const char *text =
        v.mark ? v.mark : bash_printf(m->sh, "%lld", (long long)v.value);
    if (m->idle || m->error)
        return;
    if (o->lost)
        bash_blur_elements(m->sh, o->name, o->lost);
    else if (o->key || o->index >= 0)
        bash_set_element(m->sh, o->name, o->key, o->index, text);
    else
        bash_set(m->sh, o->name, text);
}

/* ---- operands ---- */

static struct bash_number math_add(struct bash_number a, int64_t d)
{
    a.value = (int64_t)((uint64_t)a.value + (uint64_t)d);
    return a;
}

/* ++ or -- behind a name; the value before it counts. */
static void math_postfix(struct math *m, struct operand *o)
{
    math_skip(m);
    bool up = m->p[0] == '+' && m->p[1] == '+';
    if (!o->name || (!up && !(m->p[0] == '-' && m->p[1] == '-')))
        return;
    m->p += 2;
    math_assign(m, o, math_add(o->v, up ? 1 : -1));
    o->name = NULL;
}

/* Whatever is glued to a mark belongs to the same unknown number: 1$(cmd)0. */
static struct operand math_atom(struct math *m)
{
    struct operand o = {.index = -1};
    size_t mark = bash_mark_len(m->p);
    if (mark) {
        o.v.mark = bash_strndup(m->sh, m->p, mark);
        m->p += mark;
        // what else belongs to the same number is unknown with it
        while (isalnum((unsigned char)*m->p) || bash_mark_len(m->p))
            m->p += bash_mark_len(m->p) ? bash_mark_len(m->p) : 1;
    } else if (*m->p == '(') {
        m->p++;
        o.v = math_comma(m);
        if (*m->p == ')')
            m->p++;
        else
            math_fail(m, "a ( without its )");
    } else if (isdigit((unsigned char)*m->p)) {
        o.v.value = math_number(m);
        if (*m->p == BASH_MARK)
            o.v.mark = bash_strndup(m->sh, m->p, bash_mark_len(m->p));
        m->p += bash_mark_len(m->p);
    } else if (isalpha((unsigned char)*m->p) || *m->p == '_') {
        o = math_name(m);
        math_postfix(m, &o);
    } else {
        math_fail(m, "an operand is missing");
    }
    return o;
}

/* ++5 is + + 5 to bash; with a name it increments. */
static struct operand math_unary(struct math *m)
{
    math_skip(m);
    char c = *m->p;
    if (!c || !strchr("!~+-", c))
        return math_atom(m);
    bash_enter(m->sh);
    bool twice = (c == '+' || c == '-') && m->p[1] == c;
    m->p += twice ? 2 : 1;
    struct operand o = math_unary(m);
    int64_t v = o.v.value;
    if (twice && o.name) {
        o.v = math_add(o.v, c == '+' ? 1 : -1);
        math_assign(m, &o, o.v);
    } else if (!twice) {
        o.v.value = c == '!'   ? !v
                    : c == '~' ? ~v
                    : c == '-' ? (int64_t)(0 - (uint64_t)v)
                               : v;
    }
    o.name = NULL;
    bash_leave(m->sh);
    return o;
}

/* ---- operators ---- */

enum math_op {
    MATH_POWER,
    MATH_MUL,
    MATH_DIV,
    MATH_MOD,
    MATH_ADD,
    MATH_SUB,
    MATH_LEFT,
    MATH_RIGHT,
    MATH_LE,
    MATH_GE,
    MATH_LT,
    MATH_GT,
    MATH_EQ,
    MATH_NE,
    MATH_AND,
    MATH_XOR,
    MATH_OR,
    MATH_BOTH,
    MATH_EITHER,
    MATH_NONE
};

static const struct {
    const char *text;
    int rank; // binds stronger when larger
    enum math_op op;
} math_table[] = {
    {"**", 12, MATH_POWER}, {"<<", 9, MATH_LEFT}, {">>", 9, MATH_RIGHT},
    {"<=", 8, MATH_LE},     {">=", 8, MATH_GE},   {"==", 7, MATH_EQ},
    {"!=", 7, MATH_NE},     {"&&", 3, MATH_BOTH}, {"||", 2, MATH_EITHER},
    {"*", 11, MATH_MUL},    {"/", 11, MATH_DIV},  {"%", 11, MATH_MOD},
    {"+", 10, MATH_ADD},    {"-", 10, MATH_SUB},  {"<", 8, MATH_LT},
    {">", 8, MATH_GT},      {"&", 6, MATH_AND},   {"^", 5, MATH_XOR},
    {"|", 4, MATH_OR},
};

enum { MATH_OPERATORS = sizeof math_table / sizeof math_table[0] };

/* The operator at p, not one of an assignment; MATH_OPERATORS: none. */
static size_t math_operator(const char *p)
{
    for (size_t i = 0; i < MATH_OPERATORS; i++) {
        size_t n = strlen(math_table[i].text);
        bool compares = strchr("<>=!", *p) && p[n - 1] == '=';
        if (strncmp(p, math_table[i].text, n) == 0)
            return p[n] == '=' && !compares ? MATH_OPERATORS : i;
    }
    return MATH_OPERATORS;
}

/* By squaring, modulo 2^64: 2**10000 costs nothing. */
static int64_t math_power(int64_t base, int64_t n)
{
    uint64_t v = 1, b = (uint64_t)base;
    for (; n > 0; n >>= 1, b *= b)
        v *= n & 1 ? b : 1;
    return (int64_t)v;
}

/* The one quotient that overflows would trap in C. */
static int64_t math_divide(struct math *m, enum math_op op, int64_t a,
                           int64_t b)
{
    if (b == 0) {
        if (!m->idle)
            math_fail(m, "a division by 0");
        return 0;
    }
    if (b == -1) // the smallest number has no positive
        return op == MATH_MOD ? 0 : (int64_t)(0 - (uint64_t)a);
    return op == MATH_MOD ? a % b : a / b;
}

/* By a table, for all six differ in their sign alone. */
static int64_t math_compare(enum math_op op, int64_t a, int64_t b)
{
    const bool is[] = {[MATH_LE] = a <= b,
                       [MATH_GE] = a >= b,
                       [MATH_LT] = a<b, [MATH_GT] = a> b,
                       [MATH_EQ] = a == b,
                       [MATH_NE] = a != b};
    return is[op];
}

/* Through unsigned where C would leave an overflow undefined. */
static int64_t math_apply(struct math *m, enum math_op op, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case MATH_POWER:
        if (b < 0)
            math_fail(m, "a negative exponent");
        return math_power(a, b);
    case MATH_MUL:
        return (int64_t)(x * y);
    case MATH_DIV:
    case MATH_MOD:
        return math_divide(m, op, a, b);
    case MATH_ADD:
        return (int64_t)(x + y);
    case MATH_SUB:
        return (int64_t)(x - y);
    case MATH_LEFT:
        return (int64_t)(x << (y & 63));
    case MATH_RIGHT:
        return a >> (y & 63);
    case MATH_AND:
        return a & b;
    case MATH_XOR:
        return a ^ b;
    case MATH_OR:
        return a | b;
    case MATH_BOTH:
        return a && b;
    case MATH_EITHER:
        return a || b;
    default:
        return math_compare(op, a, b);
    }
}

/* One operator and its right side; && and || may decide without it. */
static void math_step(struct math *m, struct operand *left, size_t i)
{
    enum math_op op = math_table[i].op;
    bool idle = m->idle, known = !left->v.mark;
    bool decided = known && ((op == MATH_BOTH && !left->v.value) ||
                             (op == MATH_EITHER && left->v.value));
    m->p += strlen(math_table[i].text);
    m->idle = idle || decided;
    // ** groups from the right
    struct operand right =
        math_binary(m, math_table[i].rank + (op != MATH_POWER));
    m->idle = idle;
    left->name = NULL;
    if (decided)
        left->v.value = op == MATH_EITHER;
    else if (known && !right.v.mark)
        left->v.value = math_apply(m, op, left->v.value, right.v.value);
    else if (known)
        left->v = right.v;
}

/* Precedence climbing: operators of at least this rank belong here. */
static struct operand math_binary(struct math *m, int least)
{
    bash_enter(m->sh);
    struct operand left = math_unary(m);
    for (;;) {
        math_skip(m);
        bash_work(m->sh, 8);
        size_t i = math_operator(m->p);
        if (i == MATH_OPERATORS || math_table[i].rank < least)
            break;
        math_step(m, &left, i);
    }
    bash_leave(m->sh);
    return left;
}

/* ---- ternary, assignment, comma ---- */

static struct bash_number math_assignment(struct math *m);

/* The side that is not taken is parsed without effects: (x ? y++ : z). */
static struct bash_number math_ternary(struct math *m, struct bash_number c)
{
    bool idle = m->idle;
    m->p++;
    m->idle = idle || (!c.mark && !c.value);
    struct bash_number yes = math_comma(m);
    math_skip(m);
    if (*m->p == ':')
        m->p++;
    else
        math_fail(m, "a ? without its :");
    m->idle = idle || (!c.mark && c.value);
    struct bash_number no = math_assignment(m);
    m->idle = idle;
    return c.mark ? c : c.value ? yes : no;
}

/* Length of the assignment at p: "=", "+=", "<<="; 0: none. */
static size_t math_assigns(const char *p)
{
    size_t n = strncmp(p, "<<", 2) == 0 || strncmp(p, ">>", 2) == 0
                   ? 2
                   : *p && strchr("*/%+-&^|", *p);
    return p[n] == '=' && (n || p[1] != '=') ? n + 1 : 0;
}

/* Groups from the right: a = b = 2. */
static struct bash_number math_assignment(struct math *m)
{
    bash_enter(m->sh);
    struct operand left = math_binary(m, 0);
    math_skip(m);
    size_t n = left.name ? math_assigns(m->p) : 0;
    struct bash_number v = left.v;
    if (n) {
        char op[3] = {m->p[0], n == 3 ? m->p[1] : '\0', '\0'};
        m->p += n;
        struct bash_number right = math_assignment(m);
        v = right;
        if (n > 1 && left.v.mark)
            v = left.v;
        else if (n > 1 && !right.mark)
            v.value = math_apply(m, math_table[math_operator(op)].op,
                                 left.v.value, right.value);
        math_assign(m, &left, v);
    } else if (*m->p == '?') {
        v = math_ternary(m, v);
    }
    bash_leave(m->sh);
    return v;
}

/* The last value counts, the others for what they assign. */
static struct bash_number math_comma(struct math *m)
{
    struct bash_number v = math_assignment(m);
    for (math_skip(m); *m->p == ','; math_skip(m)) {
        m->p++;
        v = math_assignment(m);
    }
    return v;
}

/* An empty expression is 0, $(( )) as well as an unset variable. */
struct bash_number bash_math(struct bash *sh, const char *text,
                             const char *shown)
{
    const char *plain = bash_plain(sh, text, true);
    struct math m = {sh, plain, shown, NULL, false};
    math_skip(&m);
    if (!*m.p)
        return (struct bash_number){0, NULL};
    struct bash_number v = math_comma(&m);
    if (*m.p && !m.error)
        math_fail(&m, bash_printf(sh, "'%.20s' behind the expression",
                                  bash_readable(sh, m.p)));
    if (m.error)
        v.mark = bash_unknown(sh, bash_readable(sh, shown),
                              bash_printf(sh, "bash refuses it: %s", m.error));
    return v;
}
