/*
 * How it works. Fields have bars between them, or commas, or blanks: the bars
 * are asked first, since values may have commas and names blanks. A value is
 * read from its front and must be used up: what is left is either a known unit,
 * the second number of a pair, or text of another writer that begins with a
 * bracket; anything else means that the value is not understood.
 */
#include "field.h"

#include <math.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
    c = to_lower(c);
    return c >= 'a' && c <= 'z';
}

static void field_drop(struct log_text *t, size_t n)
{
    t->p += n;
    t->n -= n;
}

/* Letters and digits alone, in lower case: relatives of Megatron write one name
 * in many ways. */
struct log_name logfield_name(struct log_text name)
{
    struct log_name out;
    size_t n = 0;
    for (size_t i = 0; i < name.n && n < FIELD_NAME - 1; i++) {
        if (is_letter(name.p[i]) || is_digit(name.p[i]))
            out.text[n++] = to_lower(name.p[i]);
    }
    out.text[n] = '\0';
    return out;
}

/* ---- numbers ---- */

/* Bytes of "1,234,567" at the front of `t` with at least one comma, else 0. */
static size_t grouped_length(struct log_text t)
{
    size_t n = 0;
    while (n < t.n && n < 3 && is_digit(t.p[n]))
        n++;
    size_t groups = 0;
    while (n && n + 3 < t.n && (t.p[n] == ',' || t.p[n] == '_') &&
           is_digit(t.p[n + 1]) && is_digit(t.p[n + 2]) &&
           is_digit(t.p[n + 3])) {
        n += 4;
        groups++;
    }
    bool ends = n == t.n || !is_digit(t.p[n]);
    return groups && ends ? n : 0;
}

/* The integer of `n` grouped digits, as a text without its commas. */
static size_t without_commas(struct log_text t, size_t n, char *buf)
{
    size_t kept = 0;
    for (size_t i = 0; i < n && kept < 24; i++) {
        if (is_digit(t.p[i]))
            buf[kept++] = t.p[i];
    }
    return kept;
}

bool logfield_take_int(struct log_text *t, int64_t *out)
{
    char buf[32];
    size_t n = grouped_length(*t);
    if (!n)
        return logline_take_int(t, out);
    struct log_text digits = {buf, without_commas(*t, n, buf)};
    if (!logline_take_int(&digits, out) || digits.n)
        return false;
    field_drop(t, n);
    return true;
}

/* "1,951.1": what follows the commas is taken with it. */
static bool take_grouped(struct log_text *t, double *out)
{
    char buf[64];
    struct log_text rest = *t;
    bool minus = rest.n && *rest.p == '-';
    field_drop(&rest, minus);
    size_t n = grouped_length(rest);
    if (!n)
        return logline_take_number(t, out);
    size_t kept = without_commas(rest, n, buf);
    field_drop(&rest, n);
    size_t more = 0;
    while (more < rest.n && more < 24 &&
           (rest.p[more] == '.' || is_digit(rest.p[more])))
        more++;
    memcpy(buf + kept, rest.p, more);
    struct log_text number = {buf, kept + more};
    if (!logline_take_number(&number, out) || number.n)
        return false;
    field_drop(&rest, more);
    *out = minus ? -*out : *out;
    *t = rest;
    return true;
}

/* A letter behind a number scales it ("1.5K") unless a word begins there. */
bool logfield_take(struct log_text *t, double *out)
{
    static const char letters[] = "KkMGT";
    static const double scales[] = {1e3, 1e3, 1e6, 1e9, 1e12};
    struct log_text rest = *t;
    double v = 0;
    if (!take_grouped(&rest, &v))
        return false;
    const char *at = rest.n && *rest.p ? strchr(letters, *rest.p) : NULL;
    bool alone = at && (rest.n == 1 || !is_letter(rest.p[1]));
    if (alone) {
        v *= scales[at - letters];
        field_drop(&rest, 1);
    }
    *t = rest;
    *out = v;
    return true;
}

/* ---- values ---- */

struct unit {
    const char *name; // as logfield_name() gives it
    double scale;
};

static const struct unit times[] = {
    {"ms", 1},        {"msec", 1},      {"milliseconds", 1},
    {"s", 1e3},       {"sec", 1e3},     {"secs", 1e3},
    {"second", 1e3},  {"seconds", 1e3}, {"siter", 1e3},
    {"msiter", 1},    {"sit", 1e3},     {"us", 1e-3},
    {"minutes", 6e4}, {"min", 6e4},     {NULL, 0}};

static const struct unit throughputs[] = {
    {"tflops", 1},         {"tflopsgpu", 1},
    {"modeltflopsgpu", 1}, {"tflop", 1},
    {"pflops", 1e3},       {"gflops", 1e-3},
    {"tflopsdevice", 1},   {"tflopsnpu", 1},
    {"tflopspergpu", 1},   {NULL, 0}};

static const struct unit none[] = {{NULL, 0}};

/* Takes a unit's word, letters and slashes, off `t`; 0 when it is no unit. */
static double take_unit(struct log_text *t, const struct unit *known)
{
    struct log_text rest = *t;
    logline_skip_blanks(&rest);
    size_t n = 0;
    while (n < rest.n && (is_letter(rest.p[n]) || strchr("/_", rest.p[n])) &&
           rest.p[n])
        n++;
    struct log_name name = logfield_name((struct log_text){rest.p, n});
    for (; n && known->name; known++) {
        if (strcmp(known->name, name.text) == 0) {
            field_drop(&rest, n);
            *t = rest;
            return known->scale;
        }
    }
    return 0;
}

/* What may follow a value: nothing, the mean beside it, or a bracket of the
 * next writer on a line that two shared. */
static bool value_ends(struct log_text t)
{
    bool blank = t.n && *t.p == ' ';
    logline_skip_blanks(&t);
    if (!t.n || *t.p == '[' || (blank && *t.p == '('))
        return true;
    double mean = 0;
    if (*t.p != '/')
        return false;
    field_drop(&t, 1);
    return logfield_take(&t, &mean) && value_ends(t);
}

static double default_scale(enum field_unit unit)
{
    return unit == FIELD_SECONDS ? 1e3 : unit == FIELD_UNSAID ? 0 : 1;
}

bool logfield_value(struct log_text value, enum field_unit unit, double *out)
{
    struct log_text t = logline_trim(value);
    bool is_time =
        unit == FIELD_TIME || unit == FIELD_SECONDS || unit == FIELD_UNSAID;
    double v = 0;
    if (!logfield_take(&t, &v))
        return false;
    double scale = take_unit(&t, is_time               ? times
                                 : unit == FIELD_FLOPS ? throughputs
                                                       : none);
    // a name that says ms and a value that says s: one of them is wrong
    double said = default_scale(unit);
    bool differs = scale > said || scale < said;
    if (is_time && unit != FIELD_UNSAID && scale > 0 && differs)
        return false;
    if (scale <= 0)
        scale = said;
    if (scale <= 0 || !value_ends(t))
        return false;
    *out = v * scale;
    return unit != FIELD_COUNT || (v >= 0 && v < 9e15 && v <= floor(v));
}

/* ---- fields ---- */

/* Where a field without bars ends: a comma and a blank, or the next "key=". */
static size_t bare_length(struct log_text t)
{
    size_t word = 0; // where the last word started
    bool signs = false;
    if (!t.n || (!memchr(t.p, ',', t.n) && !memchr(t.p, '=', t.n) &&
                 !memchr(t.p, ';', t.n)))
        return t.n;
    for (size_t i = 0; i < t.n; i++) {
        char c = t.p[i];
        bool parts = c == ',' || c == ';';
        if (parts && (i + 1 == t.n || t.p[i + 1] == ' '))
            return i;
        if (c == '=' && signs && word)
            return word;
        signs = signs || c == '=';
        if (c == ' ' && i + 1 < t.n && t.p[i + 1] != ' ' && t.p[i + 1] != '=')
            word = i + 1;
    }
    return t.n;
}

/* A name is whatever stands before the first colon or equals sign; the dash of
 * a date and the blanks around are no matter. */
static bool split_field(struct log_text part, struct log_field *out)
{
    size_t n = 0;
    while (n < part.n && part.p[n] != ':' && part.p[n] != '=')
        n++;
    if (n == part.n)
        return false;
    out->name = logline_trim((struct log_text){part.p, n});
    out->value = logline_trim(logline_from(part, part.p + n + 1));
    return true;
}

/* Fields end at a bar; where a line has none, at a comma or semicolon. */
bool logfield_next(struct log_text *rest, struct log_field *out)
{
    while (rest->n) {
        const char *bar = memchr(rest->p, '|', rest->n);
        size_t whole = bar ? (size_t)(bar - rest->p) : rest->n;
        size_t len = bare_length((struct log_text){rest->p, whole});
        bool bare = len < whole;
        struct log_text part = {rest->p, len};
        bool sign = bare && (rest->p[len] == ',' || rest->p[len] == ';');
        field_drop(rest, len + (bare ? sign : bar != NULL));
        out->ended = bare || bar != NULL;
        if (split_field(part, out))
            return true;
    }
    return false;
}

static struct log_text unquoted(struct log_text t)
{
    t = logline_trim(t);
    if (t.n >= 2 && (*t.p == '\'' || *t.p == '"') && t.p[t.n - 1] == *t.p)
        t = (struct log_text){t.p + 1, t.n - 2};
    return t;
}

/* Bytes up to `stop` or a comma outside of quotes. */
static size_t dict_length(struct log_text t, char stop)
{
    char quote = '\0';
    for (size_t i = 0; i < t.n; i++) {
        char c = t.p[i];
        if (quote)
            quote = c == quote ? '\0' : quote;
        else if (c == '\'' || c == '"')
            quote = c;
        else if (c == stop || c == ',')
            return i;
    }
    return t.n;
}

bool logfield_next_of_dict(struct log_text *rest, struct log_field *out)
{
    while (rest->n) {
        size_t n = dict_length(*rest, ':');
        if (n == rest->n || rest->p[n] == ',') {
            field_drop(rest, n + (n < rest->n));
            continue;
        }
        out->name = unquoted((struct log_text){rest->p, n});
        field_drop(rest, n + 1);
        n = dict_length(*rest, ',');
        out->value = unquoted((struct log_text){rest->p, n});
        out->ended = n < rest->n;
        field_drop(rest, n + out->ended);
        return true;
    }
    return false;
}
