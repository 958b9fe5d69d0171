/*
 * How it works: a word is tried as a date, as numbers parted by slashes, as a
 * text with slashes or dots that is known as a whole, and last as words of the
 * vocabulary. Signs at both ends ("rank:", "-----") are no part of it, but a
 * slash before a letter begins a path.
 */
#include "chunk.h"

#include "pattern/parts.h"
#include "vocabulary.h"

#include <string.h>

// whole numbers of more digits are keys, not counts of tokens or bytes
enum { CHUNK_MOST_DIGITS = 16 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Control characters and zeros part words, too. */
static bool is_between(char c)
{
    const unsigned char u = (unsigned char)c;
    return u <= ' ' || u == 0x7f ||
           (u < 0x80 && strchr("|[](){}<>,;\"'`*=#?!&$%^", c) != NULL);
}

static struct log_text drop(struct log_text t, size_t n)
{
    return (struct log_text){t.p + n, t.n - n};
}

/* What parts words is passed over here and copied by callers, since it lies
 * between two words. */
struct log_text chunk_next(struct log_text *rest)
{
    size_t n = 0;
    while (rest->n && is_between(*rest->p))
        *rest = drop(*rest, 1);
    while (n < rest->n && !is_between(rest->p[n]))
        n++;
    const struct log_text c = {rest->p, n};
    *rest = drop(*rest, n);
    return c;
}

static size_t digits(struct log_text t)
{
    size_t n = 0;
    while (n < t.n && is_digit(t.p[n]))
        n++;
    return n;
}

static size_t letters(struct log_text t)
{
    size_t n = 0;
    while (n < t.n && is_letter(t.p[n]))
        n++;
    return n;
}

/* ---- dates and times ---- */

/* Bytes of "4:26:54", "04:40:26.123", of two or three parts; 0 for none. */
static size_t time_length(struct log_text t)
{
    size_t at = 0, parts = 0;
    for (;;) {
        const size_t n = digits(drop(t, at));
        if (n < 1 || n > 2)
            return 0;
        at += n;
        if (++parts == 3 || at >= t.n || t.p[at] != ':')
            break;
        at++;
    }
    if (parts == 3 && at < t.n && (t.p[at] == '.' || t.p[at] == ',')) {
        const size_t n = digits(drop(t, at + 1));
        at += n > 0 && n <= 9 ? n + 1 : 0;
    }
    return parts < 2 ? 0 : at;
}

/* "Z", "+01:00" behind a time, or nothing. */
static bool is_zone(struct log_text t)
{
    if (t.n == 0 || (t.n == 1 && *t.p == 'Z'))
        return true;
    return t.n == 6 && (*t.p == '+' || *t.p == '-') &&
           time_length(drop(t, 1)) == 5;
}

/* "2026-12-01", with or without "T04:40:26Z". */
static bool is_date(struct log_text t)
{
    static const char shape[] = "0000-00-00";
    for (size_t i = 0; i < 10; i++)
        if (i >= t.n || (shape[i] == '0' ? !is_digit(t.p[i]) : t.p[i] != '-'))
            return false;
    t = drop(t, 10);
    if (t.n == 0)
        return true;
    const size_t n = *t.p == 'T' ? time_length(drop(t, 1)) : 0;
    return n > 0 && is_zone(drop(t, n + 1));
}

static bool is_time(struct log_text t)
{
    const size_t n = time_length(t);
    return n > 0 && is_zone(drop(t, n));
}

/* ---- numbers ---- */

/* Bytes of a number: sign, digits, point, exponent; "nan" and "inf". */
static size_t number_length(struct log_text t)
{
    size_t at = t.n && (*t.p == '-' || *t.p == '+');
    const struct log_text bare = drop(t, at);
    if (logline_equals(bare, "nan") || logline_equals(bare, "inf") ||
        logline_equals(bare, "NaN") || logline_equals(bare, "Inf"))
        return t.n;
    const size_t whole = digits(bare);
    if (whole > CHUNK_MOST_DIGITS)
        return 0;
    at += whole;
    if (at < t.n && t.p[at] == '.') {
        const size_t part = digits(drop(t, at + 1));
        if (whole + part == 0 || part > CHUNK_MOST_DIGITS + 4)
            return 0;
        at += part + 1;
    } else if (whole == 0) {
        return 0;
    }
    if (at + 1 < t.n && (t.p[at] == 'e' || t.p[at] == 'E')) {
        const size_t sign = t.p[at + 1] == '-' || t.p[at + 1] == '+';
        const size_t power = digits(drop(t, at + 1 + sign));
        at += power > 0 && power <= 3 ? 1 + sign + power : 0;
    }
    return at;
}

/* A number with its unit; *n: its bytes up to a slash or the end. */
static bool take_quantity(struct log_text t, size_t *n)
{
    const size_t number = number_length(t);
    const size_t unit = letters(drop(t, number));
    *n = number + unit;
    if (number == 0 || (*n < t.n && t.p[*n] != '/'))
        return false;
    const struct log_text name = {t.p + number, unit};
    return unit == 0 || vocabulary_is_unit(name);
}

/* "5/20", "40.00GB/24.00GB/64.00GB/62.50", "321.5MODEL_TFLOP/s/GPU". */
static bool is_quantities(struct log_text t)
{
    size_t n = number_length(t), parts = 0;
    if (n > 0 && vocabulary_has_joined(drop(t, n)))
        return true;
    for (; take_quantity(t, &n); t = drop(t, n + 1)) {
        // dates of other orders, and versions, have three whole numbers
        if (n == t.n)
            return ++parts <= 2 || is_letter(t.p[n - 1]) ||
                   memchr(t.p, '.', t.n) != NULL;
        parts++;
    }
    return false;
}

/* Job and process numbers have five digits and more, hours and ranks fewer. */
bool chunk_is_plain(struct log_text c, size_t most)
{
    while (c.n && strchr(":.-", c.p[c.n - 1]))
        c.n--;
    if (is_date(c) || is_time(c))
        return true;
    for (size_t i = 0, run = 0; i < c.n; i++) {
        run = is_digit(c.p[i]) ? run + 1 : 0;
        if (run > most)
            return false;
    }
    return true;
}

/* ---- words ---- */

/* One part of a compound: a word, or a word with a number behind it. */
static bool is_known_part(struct log_text t)
{
    const size_t n = letters(t);
    const struct log_text word = {t.p, n};
    if (n == t.n || vocabulary_has_joined(t)) // "p2p"
        return n < t.n || vocabulary_has(word);
    return digits(drop(t, n)) == t.n - n &&
           t.n - n <= vocabulary_numbered(word);
}

/* A part of a compound, up to the sign that ends it. */
static struct log_text next_part(struct log_text *t)
{
    size_t n = 0;
    while (n < t->n && !strchr("-_:", t->p[n]))
        n++;
    const struct log_text part = {t->p, n};
    *t = drop(*t, n < t->n ? n + 1 : n);
    return part;
}

/* "forward-compute", "mtp_1", "rank-7/8" is cut before. A number is of a word
 * that has numbers, and of that word alone: "compute-12" and "train-rank-0" are
 * names of machines and jobs. */
static bool is_compound(struct log_text t)
{
    size_t words = 0, numbers = 0;
    struct log_text last = {t.p, 0};
    while (t.n) {
        const struct log_text part = next_part(&t);
        if (part.n > 0 && digits(part) == part.n) {
            if (words != 1 || part.n > vocabulary_numbered(last))
                return false;
            numbers++;
        } else if (part.n > 0) {
            if (!is_known_part(part))
                return false;
            last = part;
            words++;
        }
    }
    return words > 0 && numbers <= (words == 1);
}

/* Signs around a word; "/10" ends what "5 /10" began, other slashes stay. */
static struct log_text bare(struct log_text c)
{
    while (c.n && strchr("-.:_+", *c.p) &&
           !(c.n > 1 && strchr("+-.", *c.p) && is_digit(c.p[1])))
        c = drop(c, 1);
    while (c.n && strchr("-.:_+/", c.p[c.n - 1]))
        c.n--;
    return c.n > 1 && *c.p == '/' && is_digit(c.p[1]) ? drop(c, 1) : c;
}

/* "forward-compute" is one, too: callers ask only where figures have no names.
 */
bool chunk_is_joined(struct log_text c)
{
    size_t words = 0;
    c = bare(c);
    if (vocabulary_has_joined(c))
        return false;
    while (c.n)
        words += letters(next_part(&c)) > 0;
    return words > 1;
}

/* Signs that only names of people and files have are looked for first, whatever
 * the words around them are. */
bool chunk_is_harmless(struct log_text c, bool *has_word)
{
    const struct log_text core = bare(c);
    // a zero byte is in no table, and strchr() would find it in all
    for (size_t i = 0; i < core.n; i++)
        if (core.p[i] == '\0' || core.p[i] == '~' || core.p[i] == '\\' ||
            core.p[i] == '@' || (unsigned char)core.p[i] >= 0x80)
            return false;
    if (core.n == 0) // "./" and "../" begin a path elsewhere
        return c.n == 0 || !memchr(c.p, '/', c.n) || c.n == 1;
    if (is_date(core) || is_time(core) || is_quantities(core))
        return true;
    if (!vocabulary_has_joined(core) && !is_compound(core))
        return false;
    *has_word = true;
    return true;
}

// the symbols of hybrid layer patterns
static bool is_pattern(struct log_text value)
{
    for (size_t i = 0; i < value.n; i++)
        if (!value.p[i] || !strchr(PATTERN_ALL_SYMBOLS "|/", value.p[i]))
            return false;
    return value.n > 0;
}

/* Numbers of more than four digits are no counts of layers: a key of digits and
 * commas is no layout. */
bool chunk_is_layout(struct log_text value)
{
    size_t marks = 0, run = 0;
    if (is_pattern(logline_trim(value)))
        return true;
    for (size_t i = 0; i < value.n; i++) {
        const char c = value.p[i];
        if (!c || !strchr("EtmL|*(), +[]0123456789", c))
            return false;
        marks += strchr("|*,", c) != NULL;
        run = is_digit(c) ? run + 1 : 0;
        if (run > 4)
            return false;
    }
    return marks > 0;
}
