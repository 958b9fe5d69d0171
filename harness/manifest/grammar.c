/*
 * How it works: most grammars are a set of characters; a few have a form
 * besides. A table says which key of a manifest is of which grammar, so that a
 * new key needs a line there and nothing else.
 */
#include "grammar.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define NAME_CHARS LETTERS DIGITS "._-+@"

// what git abbreviates to, and SHA-256; the largest port
enum { GRAMMAR_LEAST_HEX = 7, GRAMMAR_MOST_HEX = 64, GRAMMAR_MAX_PORT = 65535 };

static const char *const wanted[] = {
#define GRAMMAR_WANTED(id, text) text,
    GRAMMAR_TABLE(GRAMMAR_WANTED)
#undef GRAMMAR_WANTED
};

const char *grammar_wanted(enum grammar g)
{
    return wanted[g];
}

/* ---- forms ---- */

/* A tab cannot end a line; all else that is no character can, somewhere. */
static bool is_line(const char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text) && *text != '\t')
            return false;
    return true;
}

/* One word of these characters that is no option. */
static bool is_of(const char *text, const char *chars)
{
    return *text && *text != '-' && strspn(text, chars) == strlen(text);
}

static bool is_commit(const char *text)
{
    size_t n = strlen(text);
    return n >= GRAMMAR_LEAST_HEX && n <= GRAMMAR_MOST_HEX &&
           strspn(text, DIGITS "abcdefABCDEF") == n;
}

/* A part of a mount may be empty only at the end of "hf://". */
static bool is_mount(const char *text)
{
    const char *colon = strrchr(text, ':');
    return is_line(text) && *text != '-' && *text != ':' && colon && colon[1] &&
           !strpbrk(text, " \t,'\"`$\\;|&<>()*?[]{}!#");
}

/* "..", as a part of a path. */
static bool has_parent(const char *path)
{
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 2 && strncmp(p, "..", 2) == 0)
            return true;
        p += n + (p[n] == '/');
    }
    return false;
}

static bool is_below(const char *path)
{
    return *path && *path != '/' && is_line(path) && !has_parent(path);
}

static bool is_bucket(const char *text)
{
    static const char start[] = "hf://";
    return text_starts(text, start) &&
           is_of(text + strlen(start), LETTERS DIGITS "._-/") &&
           !has_parent(text);
}

/* The port behind the last colon: an IPv6 address holds others. */
static bool is_address(const char *text)
{
    const char *colon = strrchr(text, ':');
    int64_t port = 0;
    return is_of(text, LETTERS DIGITS "._-[]:") && colon && colon > text &&
           text_to_int64(colon + 1, &port) && port >= 0 &&
           port <= GRAMMAR_MAX_PORT;
}

static bool is_assignment(const char *text)
{
    size_t n = strspn(text, LETTERS DIGITS "_");
    return n > 0 && text[n] == '=' && !isdigit((unsigned char)text[0]) &&
           is_line(text);
}

bool grammar_fits(enum grammar g, const char *text)
{
    switch (g) {
    case GRAMMAR_LINE:
        return is_line(text);
    case GRAMMAR_OPERAND:
        return *text && *text != '-' && is_line(text);
    case GRAMMAR_COMMIT:
        return is_commit(text);
    case GRAMMAR_NAME:
        return is_of(text, NAME_CHARS);
    case GRAMMAR_NAMES:
        return is_of(text, NAME_CHARS ",");
    case GRAMMAR_ID:
        return is_of(text, LETTERS DIGITS);
    case GRAMMAR_MODULE:
        return is_of(text, NAME_CHARS "/:=");
    case GRAMMAR_MOUNT:
        return is_mount(text);
    case GRAMMAR_IMAGE:
        return is_of(text, NAME_CHARS "/:#=~");
    case GRAMMAR_BUCKET:
        return is_bucket(text);
    case GRAMMAR_ADDRESS:
        return is_address(text);
    case GRAMMAR_ASSIGNMENT:
        return is_assignment(text);
    case GRAMMAR_BELOW:
        return is_below(text);
    default:
        return false;
    }
}

/* ---- a manifest ---- */

/* A key, which may hold one text or a list of them. */
struct rule {
    const char *section, *key;
    enum grammar grammar;
};

static const struct rule rules[] = {
    {"launcher", "platform", GRAMMAR_OPERAND},
    {"launcher", "command", GRAMMAR_LINE},
    {"launcher", "rendezvous", GRAMMAR_ADDRESS},
    {"launcher", "partition", GRAMMAR_NAMES},
    {"launcher", "account", GRAMMAR_NAME},
    {"launcher", "modules", GRAMMAR_MODULE},
    {"launcher", "mounts", GRAMMAR_MOUNT},
    {"launcher", "lines", GRAMMAR_LINE},
    {"launcher", "env", GRAMMAR_ASSIGNMENT},
    {"launcher", "flavor", GRAMMAR_NAME},
    {"launcher", "namespace", GRAMMAR_NAME},
    {"launcher", "results", GRAMMAR_BUCKET},
    {"trainer", "commit", GRAMMAR_COMMIT},
    {"trainer", "container", GRAMMAR_IMAGE},
    {"trainer", "entry", GRAMMAR_OPERAND},
    {"trainer", "args", GRAMMAR_LINE},
    {"hardware", "gpu", GRAMMAR_OPERAND},
};

static void check_text(struct reader at, enum grammar g)
{
    if (cJSON_IsString(at.item) && !grammar_fits(g, at.item->valuestring))
        reader_fail(at, ERR_PARSE, "got '%s', want %s", at.item->valuestring,
                    grammar_wanted(g));
}

/* Wrong types are left to what reads the section. */
static void check_rule(struct reader top, const struct rule *r)
{
    struct reader section = reader_get(top, r->section);
    struct reader at = cJSON_IsObject(section.item)
                           ? reader_get(section, r->key)
                           : (struct reader){0};
    check_text(at, r->grammar);
    if (cJSON_IsArray(at.item))
        for (struct reader c = reader_first(at); c.item; c = reader_next(c))
            check_text(c, r->grammar);
}

void grammar_check(struct reader top)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        check_rule(top, &rules[i]);
    check_text(reader_get(top, "model"), GRAMMAR_LINE);
}
