/*
 * How it works. A text is a pointer and a length into the log, and reading is
 * taking something off its front: take_...() functions move the front only when
 * they succeed, so that the next reader may try. Prefixes of launchers are
 * taken off in a loop, since containers, schedulers and mpirun put them before
 * one another in any order; their bytes, less time stamps, are hashed to the
 * number of the stream, by which lines of one writer are told from another's.
 */
#include "line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of ASCII, whatever the locale: <ctype.h> may disagree. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void line_drop(struct log_text *t, size_t n)
{
    t->p += n;
    t->n -= n;
}

static size_t count_digits(struct log_text t, size_t at)
{
    size_t n = 0;
    while (at + n < t.n && is_digit(t.p[at + n]))
        n++;
    return n;
}

static bool is_at(struct log_text t, size_t at, char c)
{
    return at < t.n && t.p[at] == c;
}

/* Logs hold zero bytes, too, and lines have no terminator: no strstr(). */
const char *logline_find(struct log_text t, const char *word)
{
    size_t len = strlen(word);
    const char *p = t.p;
    const char *end = t.p + t.n;
    while (len <= (size_t)(end - p)) {
        p = memchr(p, word[0], (size_t)(end - p) - len + 1);
        if (!p)
            return NULL;
        // the last byte tells most of them apart without a call
        if (p[len - 1] == word[len - 1] && memcmp(p, word, len) == 0)
            return p;
        p++;
    }
    return NULL;
}

struct log_text logline_from(struct log_text t, const char *at)
{
    return (struct log_text){at, t.n - (size_t)(at - t.p)};
}

bool logline_starts(struct log_text t, const char *word)
{
    size_t n = strlen(word);
    return t.n >= n && memcmp(t.p, word, n) == 0;
}

bool logline_equals(struct log_text t, const char *word)
{
    return t.n == strlen(word) && logline_starts(t, word);
}

void logline_skip_blanks(struct log_text *t)
{
    while (t->n && is_blank(*t->p))
        line_drop(t, 1);
}

struct log_text logline_trim(struct log_text t)
{
    while (t.n && (is_blank(*t.p) || *t.p == '*'))
        line_drop(&t, 1);
    while (t.n && (is_blank(t.p[t.n - 1]) || t.p[t.n - 1] == '*'))
        t.n--;
    return t;
}

bool logline_take_int(struct log_text *t, int64_t *out)
{
    // 10^18 fits into 63 bits
    size_t n = count_digits(*t, 0);
    if (n == 0 || n > 18)
        return false;
    int64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + (t->p[i] - '0');
    line_drop(t, n);
    *out = v;
    return true;
}

/* Takes "-1.05E+01": up to 15 digits and a power of ten up to 22 are exact as
 * doubles, so that one product or quotient of them is rounded as strtod()
 * rounds. False, and nothing taken, for any other number. */
static bool take_short_number(struct log_text *t, double *out)
{
    static const double powers[] = {
        1.,   1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *p = t->p;
    const char *end = t->p + t->n;
    bool minus = p < end && *p == '-';
    p += minus;
    const char *digits = p;
    uint64_t v = 0;
    for (; p < end && is_digit(*p) && p - digits < 17; p++)
        v = v * 10 + (uint64_t)(*p - '0');
    int64_t power = 0;
    if (p == digits)
        return false;
    if (p < end && *p == '.') {
        const char *point = p++;
        for (; p < end && is_digit(*p) && p - digits < 17; p++)
            v = v * 10 + (uint64_t)(*p - '0');
        power = point + 1 - p;
    }
    if (p - digits > 16 || v >= UINT64_C(1000000000000000))
        return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *e = p + 1;
        bool down = e < end && *e == '-';
        e += e < end && (*e == '-' || *e == '+');
        struct log_text rest = {e, (size_t)(end - e)};
        int64_t n = 0;
        if (rest.n == 0 || !logline_take_int(&rest, &n) || n > 100)
            return false;
        power += down ? -n : n;
        p = rest.p;
    }
    if (power < -22 || power > 22)
        return false;
    double d =
        power < 0 ? (double)v / powers[-power] : (double)v * powers[power];
    *out = minus ? -d : d;
    line_drop(t, (size_t)(p - t->p));
    return true;
}

/* strtod() wants a terminator: the bytes that a number may have are copied, of
 * which 47 are more than any printed number has. */
bool logline_take_number(struct log_text *t, double *out)
{
    char buf[48];
    size_t n = 0;
    if (take_short_number(t, out))
        return true;
    while (n < t->n && n < sizeof buf - 1 &&
           (is_digit(t->p[n]) || strchr("+-.eEnNaAiIfF", t->p[n])) && t->p[n])
        n++;
    memcpy(buf, t->p, n);
    buf[n] = '\0';
    char *end = buf;
    double v = strtod(buf, &end);
    if (end == buf)
        return false;
    line_drop(t, (size_t)(end - buf));
    *out = v;
    return true;
}

bool logline_number_after(struct log_text t, const char *word, double *out)
{
    const char *at = logline_find(t, word);
    if (!at)
        return false;
    struct log_text rest = logline_from(t, at + strlen(word));
    return logline_take_number(&rest, out) && isfinite(*out);
}

struct log_text logline_take_name(struct log_text *t)
{
    size_t n = 0;
    while (n < t->n && (is_alpha(t->p[n]) || is_digit(t->p[n]) ||
                        t->p[n] == '/' || t->p[n] == '_' || t->p[n] == '-'))
        n++;
    struct log_text name = {t->p, n};
    line_drop(t, n);
    return name;
}

/* Values may have colons, as times do: the first one parts name and value. */
bool logline_next_field(struct log_text *rest, struct log_field *out)
{
    while (rest->n) {
        const char *bar = memchr(rest->p, '|', rest->n);
        size_t len = bar ? (size_t)(bar - rest->p) : rest->n;
        struct log_text part = {rest->p, len};
        line_drop(rest, bar ? len + 1 : len);
        const char *colon = memchr(part.p, ':', part.n);
        if (!colon)
            continue;
        struct log_text name = {part.p, (size_t)(colon - part.p)};
        out->name = logline_trim(name);
        out->value = logline_trim(logline_from(part, colon + 1));
        out->ended = bar != NULL;
        return true;
    }
    return false;
}

/* ESC [ parameters final, ESC ] text BEL, or ESC and one byte. */
static size_t escape_length(struct log_text t)
{
    size_t i = 1;
    if (is_at(t, 1, '[')) {
        for (i = 2; i < t.n && (t.p[i] < 0x40 || t.p[i] > 0x7e); i++)
            ;
    } else if (is_at(t, 1, ']')) {
        for (i = 2; i < t.n && t.p[i] != '\a'; i++)
            ;
    }
    return i < t.n ? i + 1 : t.n;
}

size_t logline_strip_ansi(struct log_text line, char *buf)
{
    size_t kept = 0;
    while (line.n) {
        const char *esc = memchr(line.p, '\033', line.n);
        size_t n = esc ? (size_t)(esc - line.p) : line.n;
        memcpy(buf + kept, line.p, n);
        kept += n;
        line_drop(&line, n);
        if (esc)
            line_drop(&line, escape_length(line));
    }
    return kept;
}
