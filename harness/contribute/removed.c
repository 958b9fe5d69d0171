/*
 * How it works: texts go into an open hash table, which is never more than half
 * full. The kind is guessed from the form of the text; secrets of services by
 * the one list of manifest/secret.
 */
#include "removed.h"

#include "chunk.h"
#include "manifest/secret.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum {
    REMOVED_SLOTS = 2 * REMOVED_MOST_TEXTS, // a power of two
    REMOVED_TEXT_BYTES = 240,               // longer ones are cut for the list
    REMOVED_KEY_CHARS = 20,                 // shorter mixtures are names
    REMOVED_MOST_WORDS = 40                 // shown
};

static const char *const kind_names[] = {
#define REMOVED_NAME(id, name, help) name,
    REMOVED_KIND_TABLE(REMOVED_NAME)
#undef REMOVED_NAME
};
static const char *const kind_helps[] = {
#define REMOVED_HELP(id, name, help) help,
    REMOVED_KIND_TABLE(REMOVED_HELP)
#undef REMOVED_HELP
};

const char *removed_kind_name(enum removed_kind k)
{
    return kind_names[k];
}

void removed_init(struct removed *r, struct arena *a)
{
    *r = (struct removed){.arena = a};
    r->slot = arena_alloc(a, REMOVED_SLOTS, sizeof *r->slot);
    r->text = arena_alloc(a, REMOVED_MOST_TEXTS, sizeof *r->text);
    r->failed = !r->slot || !r->text;
}

/* ---- kinds ---- */

static size_t count_of(const char *text, const char *set)
{
    size_t n = 0;
    for (; *text; text++)
        n += strchr(set, *text) != NULL;
    return n;
}

/* Letters and digits in a long mixture, as keys have them. */
static bool looks_random(const char *text)
{
    size_t n_letters = 0, n_digits = 0;
    for (const char *p = text; *p; p++) {
        n_letters += isalpha((unsigned char)*p) != 0;
        n_digits += isdigit((unsigned char)*p) != 0;
        if (*p == '.' || (*p == '/' && p[1] == '/'))
            return false;
    }
    return n_letters + n_digits >= REMOVED_KEY_CHARS && n_letters >= 4 &&
           n_digits >= 4 && *text != '/';
}

/* 10.1.2.3, fe80::1, 00:1a:2b:3c:4d:5e, with a port or a prefix. */
static bool looks_like_address(const char *text)
{
    const size_t hex = strspn(text, "0123456789abcdefABCDEF:.-");
    const bool ends = !text[hex] || strchr("/%", text[hex]) != NULL;
    const size_t dots = strspn(text, "0123456789.:");
    return (count_of(text, ".") == 3 && (!text[dots] || text[dots] == '/')) ||
           (ends && count_of(text, ":") >= 2 &&
            count_of(text, "0123456789") > 0);
}

/* Also a drive of Windows. Fractions are harmless, and do not come here. */
static bool looks_like_path(const char *text)
{
    return strchr("/~", *text) || strchr(text, '\\') ||
           strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0 ||
           (isalpha((unsigned char)*text) && text[1] == ':' && text[2]) ||
           count_of(text, "/") >= 1;
}

/* The most telling kind first: a key may look like a path. */
static enum removed_kind kind_of(const char *text)
{
    struct secret ignored;
    if (secret_find_value(text, &ignored) || looks_random(text))
        return REMOVED_SECRET;
    // "${ARGS[@]}" has one that is no address
    if ((strchr(text, '@') && text[1]) || strstr(text, "://") ||
        looks_like_address(text))
        return REMOVED_ADDRESS;
    if (looks_like_path(text))
        return REMOVED_PATH;
    if (strspn(text, "0123456789.-+eE") == strlen(text))
        return REMOVED_NUMBER;
    const bool digit = count_of(text, "0123456789") > 0;
    return digit || count_of(text, ".") > 0 ? REMOVED_HOST : REMOVED_WORD;
}

/* ---- noting ---- */

static uint64_t hash_of(const char *text)
{
    uint64_t h = 1469598103934665603U; // FNV-1a
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211U;
    return h;
}

/* Zeros within are shown as dots. */
static void copy_text(struct log_text from, char to[REMOVED_TEXT_BYTES])
{
    const size_t n =
        from.n < REMOVED_TEXT_BYTES ? from.n : REMOVED_TEXT_BYTES - 1;
    memcpy(to, from.p, n);
    to[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (to[i] == '\0')
            to[i] = '.';
}

/* The place of the text in the table: its own, or a free one. */
static struct removed_text **slot_of(const struct removed *r, const char *text)
{
    size_t at = hash_of(text) & (REMOVED_SLOTS - 1);
    while (r->slot[at] && strcmp(r->slot[at]->text, text) != 0)
        at = (at + 1) & (REMOVED_SLOTS - 1);
    return &r->slot[at];
}

/* A text keeps the kind that it was first noted with; beyond the table's size
 * texts are counted and have no number. */
int removed_note(struct removed *r, struct log_text text, bool secret)
{
    char copy[REMOVED_TEXT_BYTES];
    if (r->failed)
        return 0;
    copy_text(text, copy);
    struct removed_text **slot = slot_of(r, copy);
    const enum removed_kind kind = *slot    ? (*slot)->kind
                                   : secret ? REMOVED_SECRET
                                            : kind_of(copy);
    r->count[kind]++;
    if (*slot)
        return (*slot)->number;
    if (r->n_texts == REMOVED_MOST_TEXTS)
        return 0;
    struct removed_text *t = &r->text[r->n_texts++];
    *t = (struct removed_text){kind, arena_strdup(r->arena, copy), r->n_texts};
    r->failed = !t->text;
    if (!r->failed)
        *slot = t;
    return t->number;
}

/* A value behind NAME= or --name is a secret where its name says so. */
static bool is_value_of_secret(struct log_text name, struct log_text value)
{
    const char *between = name.p + name.n;
    if (!name.n || value.p - between > 3 || value.p == between ||
        !secret_is_name(name.p, name.n))
        return false;
    return memchr(between, '=', (size_t)(value.p - between)) ||
           memchr(between, ':', (size_t)(value.p - between)) || *name.p == '-';
}

/* Flags and their names are kept where they are known, and are no secret: the
 * list would be long. */
void removed_note_file(struct removed *r, struct log_text text)
{
    struct log_text before = {NULL, 0}, c;
    while ((c = chunk_next(&text)).n > 0) {
        bool word = false;
        const bool secret = is_value_of_secret(before, c);
        const bool flag =
            c.n > 2 && c.p[0] == '-' && c.p[1] == '-' && !memchr(c.p, '@', c.n);
        if (secret || (!flag && !chunk_is_harmless(c, &word)))
            removed_note(r, c, secret);
        before = c;
    }
}

/* ---- showing ---- */

/* Control characters of a log are not given to a terminal. */
static void print_text(const struct removed_text *t, FILE *out)
{
    const size_t n = strlen(t->text);
    const size_t most = t->kind == REMOVED_SECRET ? (n > 12 ? 4 : 1) : 60;
    for (size_t i = 0; i < n && i < most; i++) {
        const unsigned char c = (unsigned char)t->text[i];
        fputc(c < ' ' || c == 0x7f ? '.' : c, out);
    }
    if (n > most)
        fputs("...", out);
}

/* Kinds with nothing in them are not shown. */
static void print_kind(const struct removed *r, enum removed_kind k, int most,
                       FILE *out)
{
    int shown = 0, more = 0;
    // there are as many as in any text
    if (k == REMOVED_WORD && most > REMOVED_MOST_WORDS)
        most = REMOVED_MOST_WORDS;
    if (r->count[k] == 0)
        return;
    fprintf(out, "  %7zu %-9s (%s):", r->count[k], kind_names[k],
            kind_helps[k]);
    for (int i = 0; i < r->n_texts; i++) {
        if (r->text[i].kind != k)
            continue;
        if (shown >= most) {
            more++;
            continue;
        }
        fputs(shown++ ? ", " : " ", out);
        print_text(&r->text[i], out);
    }
    if (more)
        fprintf(out, ", and %d more", more);
    fputc('\n', out);
}

void removed_print(const struct removed *r, int most, FILE *out)
{
    for (int k = 0; k < N_REMOVED_KINDS; k++)
        print_kind(r, (enum removed_kind)k, most, out);
}
