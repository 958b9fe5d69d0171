#include "row.h"

#include "field.h"
#include "step.h"

#include <math.h>
#include <string.h>

static bool take_value(struct log_text *t, double *out)
{
    logline_skip_blanks(t);
    double v = 0;
    if (!logfield_take(t, &v) || !isfinite(v) || v < 0)
        return false;
    *out = v;
    return true;
}

/* A value fills the rest of its line or has the next row behind it, else it was
 * cut or overwritten. */
static bool ends_value(struct log_text *t)
{
    struct log_text rest = *t;
    logline_skip_blanks(&rest);
    bool blank = rest.n < t->n;
    *t = rest;
    bool is_rank = logline_starts(rest, "rank ");
    struct log_text name = logline_take_name(&rest);
    bool is_row =
        is_rank ||
        (name.n && (logline_starts(rest, " .") || logline_starts(rest, ":")));
    return t->n == 0 || (blank && is_row);
}

static bool take_rank(struct log_text *line, struct log_rowtext *out)
{
    int64_t rank = 0;
    struct log_text t = *line;
    if (!logline_starts(t, "rank "))
        return false;
    t = logline_from(t, t.p + 4);
    logline_skip_blanks(&t);
    if (!logline_take_int(&t, &rank) || !logline_starts(t, ":"))
        return false;
    t = logline_from(t, t.p + 1);
    out->kind = LOGROW_RANK;
    out->sound =
        take_value(&t, &out->max_ms) && ends_value(&t) && rank < LOG_MAX_RANKS;
    out->rank = out->sound ? (int)rank : 0;
    *line = t;
    return true;
}

static bool take_per_rank(struct log_text *line, struct log_rowtext *out)
{
    struct log_text t = *line;
    if (take_rank(line, out))
        return true;
    out->name = logline_take_name(&t);
    if (!out->name.n || !logline_starts(t, ":"))
        return false;
    t = logline_from(t, t.p + 1);
    logline_skip_blanks(&t);
    out->kind = LOGROW_NAME;
    out->sound = true;
    *line = t;
    return t.n == 0 || logline_starts(t, "rank ");
}

/* Megatron pads a name and a blank with dots to 48 columns; with a dot and a
 * blank at least, names up to here are padded, longer ones not at all. */
enum { ROW_NAME_WIDTH = 46 };

/* Takes "name ......:" off `t`. */
static bool take_padded_name(struct log_text *t, struct log_text *name)
{
    struct log_text rest = *t;
    *name = logline_take_name(&rest);
    size_t dots = 0;
    while (dots < rest.n && (rest.p[dots] == ' ' || rest.p[dots] == '.'))
        dots++;
    bool padded = dots > 1 && rest.p[dots - 1] == '.';
    rest = logline_from(rest, rest.p + dots);
    if (!name->n || !rest.n || *rest.p != ':' ||
        (!padded && name->n < ROW_NAME_WIDTH))
        return false;
    *t = logline_from(rest, rest.p + 1);
    return true;
}

/* Takes "(1.00, 2.00)" or "2.00". */
static bool take_pair(struct log_text *t, struct log_rowtext *out)
{
    logline_skip_blanks(t);
    bool pair = logline_starts(*t, "(");
    if (!pair)
        return take_value(t, &out->max_ms) && ends_value(t);
    *t = logline_from(*t, t->p + 1);
    bool ok = take_value(t, &out->min_ms);
    logline_skip_blanks(t);
    if (!ok || !logline_starts(*t, ","))
        return false;
    *t = logline_from(*t, t->p + 1);
    ok = take_value(t, &out->max_ms);
    logline_skip_blanks(t);
    if (!ok || !logline_starts(*t, ")"))
        return false;
    *t = logline_from(*t, t->p + 1);
    logline_skip_blanks(t);
    return true;
}

bool logrow_take(struct log_text *t, bool per_rank, struct log_rowtext *out)
{
    *out = (struct log_rowtext){.kind = LOGROW_EXTREMES, .min_ms = NAN};
    if (per_rank ? !take_per_rank(t, out) : !take_padded_name(t, &out->name))
        return false;
    if (!per_rank)
        out->sound = take_pair(t, out);
    if (!out->sound)
        t->n = 0;
    return true;
}

/* Times have two decimals, as all that Megatron prints; without them, or
 * without what closes a pair, a row goes on in the next line. */
bool logrow_is_open(struct log_text body)
{
    struct log_text t = logline_trim(body), name;
    if (t.n && t.p[t.n - 1] == ')')
        return false;
    if (take_padded_name(&t, &name)) {
        if (memchr(t.p, '(', t.n))
            return !memchr(t.p, ')', t.n);
        const char *point = t.n ? memchr(t.p, '.', t.n) : NULL;
        return !point || t.p + t.n - point < 3;
    }
    name = logline_take_name(&t);
    size_t dots = 0;
    while (dots < t.n && (t.p[dots] == ' ' || t.p[dots] == '.'))
        dots++;
    return name.n && dots > 2 && dots == t.n;
}

bool logrow_next_of_line(struct log_text *rest, struct log_rowtext *out)
{
    struct log_field f;
    while (logline_next_field(rest, &f)) {
        struct log_text value = f.value, name = f.name;
        *out = (struct log_rowtext){.kind = LOGROW_EXTREMES, .sound = true};
        out->name = logline_take_name(&name);
        if (name.n || !out->name.n || !take_value(&value, &out->max_ms) ||
            !(value.n == 0 || *value.p == ' ' || *value.p == '['))
            continue;
        out->min_ms = out->max_ms;
        return true;
    }
    return false;
}
