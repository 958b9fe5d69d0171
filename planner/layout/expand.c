/*
 * How it works: the string becomes code points, commas go, then Megatron's two
 * substitutions run over it once each, left to right, exactly as Python's
 * re.sub does. Every character carries the place in the string it came from.
 */
#include "expand.h"

#include <stdlib.h>

/* ---- code points ---- */

/* Zeros of the decimal digit runs of Unicode 14 (category Nd): Python's \d
 * takes them all, each run has ten digits in order. */
static const uint32_t digit_zeros[] = {
    0x30,    0x660,   0x6f0,   0x7c0,   0x966,   0x9e6,   0xa66,   0xae6,
    0xb66,   0xbe6,   0xc66,   0xce6,   0xd66,   0xde6,   0xe50,   0xed0,
    0xf20,   0x1040,  0x1090,  0x17e0,  0x1810,  0x1946,  0x19d0,  0x1a80,
    0x1a90,  0x1b50,  0x1bb0,  0x1c40,  0x1c50,  0xa620,  0xa8d0,  0xa900,
    0xa9d0,  0xa9f0,  0xaa50,  0xabf0,  0xff10,  0x104a0, 0x10d30, 0x11066,
    0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0,
    0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0,
    0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0,
    0x1e950, 0x1fbf0,
};

/* Value of a decimal digit, or -1. */
static int digit_value(uint32_t c)
{
    for (size_t i = 0; i < sizeof digit_zeros / sizeof digit_zeros[0]; i++)
        if (c >= digit_zeros[i] && c < digit_zeros[i] + 10)
            return (int)(c - digit_zeros[i]);
    return -1;
}

/* Decodes one code point; a byte that is not valid UTF-8 becomes a surrogate,
 * which no rule of the grammar takes. Returns its length in bytes. */
static size_t expand_decode(const unsigned char *p, uint32_t *out)
{
    // longer forms of the same character are no UTF-8 (RFC 3629, section 3)
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    // bytes that follow, by the number of leading ones in the first
    size_t more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
    uint32_t c = *p;
    if (more)
        c &= 0x3fU >> more;
    for (size_t i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            *out = 0xdc00U + *p;
            return 1;
        }
        c = c << 6 | (p[i] & 0x3fU);
    }
    bool bad =
        *p > 0xf7 || (!more && c >= 0x80) || c < least[more] || c > 0x10ffff;
    *out = bad ? 0xdc00U + *p : c;
    return bad ? 1 : more + 1;
}

/* ---- the two substitutions ---- */

/* A match at `at`: the repeated part, the count, and the end of the match. */
struct match {
    size_t part, part_len, count, end;
    size_t close; // the bracket found last: groups before it share it
};

/* Reads `*` and digits at `i`; false when they are not there. The count is
 * capped, it only matters whether it is beyond the cap. */
static bool match_count(const struct layout_chars *s, size_t i, struct match *m)
{
    if (i >= s->n || s->c[i] != '*')
        return false;
    size_t first = ++i, count = 0;
    for (; i < s->n && digit_value(s->c[i]) >= 0; i++) {
        count = count * 10 + (size_t)digit_value(s->c[i]);
        if (count > LAYOUT_MAX_CHARS)
            count = LAYOUT_MAX_CHARS + 1;
    }
    m->count = count;
    m->end = i;
    return i > first;
}

/* \(([^)]+)\)\*(\d+) of Megatron: a group ends at the first bracket, so groups
 * do not nest. */
static bool match_group(const struct layout_chars *s, size_t at,
                        struct match *m)
{
    if (s->c[at] != '(')
        return false;
    // not sought again from each of many open brackets
    size_t close = m->close > at ? m->close : at + 1;
    while (close < s->n && s->c[close] != ')')
        close++;
    m->close = close;
    if (close == s->n || close == at + 1)
        return false;
    m->part = at + 1;
    m->part_len = close - at - 1;
    return match_count(s, close + 1, m);
}

/* (.)\*(\d+) of Megatron: a dot of Python takes any character but a newline,
 * also a bar, a bracket or another star. */
static bool match_char(const struct layout_chars *s, size_t at, struct match *m)
{
    if (s->c[at] == '\n')
        return false;
    m->part = at;
    m->part_len = 1;
    return match_count(s, at + 1, m);
}

/* The place goes with the character, so that a caret can point into the string.
 */
static void expand_put(struct layout_chars *out, const struct layout_chars *s,
                       size_t i)
{
    out->from[out->n] = s->from[i];
    out->c[out->n++] = s->c[i];
}

typedef bool (*matcher)(const struct layout_chars *, size_t, struct match *);

/* Runs one substitution; `out` has room for LAYOUT_MAX_CHARS. False when the
 * result does not fit. */
static bool expand_substitute(const struct layout_chars *s, matcher match,
                              struct layout_chars *out)
{
    size_t i = 0;
    struct match m = {.close = 0};
    out->n = 0;
    while (i < s->n) {
        if (!match(s, i, &m)) {
            if (out->n == LAYOUT_MAX_CHARS)
                return false;
            expand_put(out, s, i++);
            continue;
        }
        // by division: the product may overflow
        if (m.count && m.part_len > (LAYOUT_MAX_CHARS - out->n) / m.count) {
            out->from[out->n < LAYOUT_MAX_CHARS ? out->n : out->n - 1] =
                s->from[m.part];
            return false;
        }
        for (size_t k = 0; k < m.count * m.part_len; k++)
            expand_put(out, s, m.part + k % m.part_len);
        i = m.end;
    }
    return true;
}

/* 1.6 MB, once for a string: from the heap, since a command reads layouts by
 * the thousand and an arena frees nothing before its end; not zeroed, which
 * would cost more than all the rest of reading one. */
struct layout_expansion *layout_expansion_new(void)
{
    struct layout_expansion *x = calloc(1, sizeof *x);
    uint32_t *room = malloc((size_t)LAYOUT_MAX_CHARS * 4 * sizeof *room);
    if (!x || !room) {
        free(x);
        free(room);
        return NULL;
    }
    x->out = (struct layout_chars){room, room + LAYOUT_MAX_CHARS, 0};
    x->other = (struct layout_chars){room + 2 * LAYOUT_MAX_CHARS,
                                     room + 3 * LAYOUT_MAX_CHARS, 0};
    x->room = room;
    return x;
}

void layout_expansion_free(struct layout_expansion *x)
{
    if (x)
        free(x->room);
    free(x);
}

/* Code points of the text without commas; false when they do not fit. */
static bool take_text(const char *text, struct layout_chars *out)
{
    const unsigned char *p = (const unsigned char *)text;
    out->n = 0;
    while (*p) {
        uint32_t c;
        size_t len = expand_decode(p, &c);
        if (out->n == LAYOUT_MAX_CHARS)
            return false;
        out->from[out->n] = (uint32_t)((const char *)p - text);
        out->c[out->n] = c;
        // Megatron removes commas before anything else; the character is
        // written and left behind
        out->n += c != ',';
        p += len;
    }
    return true;
}

bool layout_expand(const char *text, struct layout_expansion *x)
{
    if (!take_text(text, &x->out) ||
        !expand_substitute(&x->out, match_group, &x->other))
        return false;
    // two buffers take turns: group pass from out to other, character pass back
    struct layout_chars swap = x->out;
    if (!expand_substitute(&x->other, match_char, &swap)) {
        // where it ran out of room
        x->other = swap;
        return false;
    }
    x->out = swap;
    return true;
}
