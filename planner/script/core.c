#include "core.h"

#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CORE_SHOWN = 120 }; // characters of the script in a message

/* ---- limits and memory ---- */

/* The place is that of the command being read, which the context holds at
 * all times. */
_Noreturn void bash_fail(struct bash *sh, enum err code, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    sh->err =
        err_set(sh->msg, code, "%s:%d: %s", sh->at.file, sh->at.line, text);
    longjmp(sh->stop, 1);
}

/* Steps bound the time of scripts that never end; work (below) that of few
 * steps over long texts. */
void bash_step(struct bash *sh)
{
    if (++sh->steps > BASH_MAX_STEPS)
        bash_fail(sh, ERR_RANGE,
                  "more than %d steps to read the script: it may not end",
                  BASH_MAX_STEPS);
}

void bash_work(struct bash *sh, size_t n)
{
    sh->work += n;
    if (sh->work > BASH_MAX_WORK)
        bash_fail(sh, ERR_RANGE, "too much text to look at, want at most %d MB",
                  BASH_MAX_WORK >> 20);
}

/* C's stack is what nesting uses up: the limit stands well below 8 MB of it
 * in every mode of building. */
void bash_enter(struct bash *sh)
{
    if (++sh->at.depth > BASH_MAX_LEVELS)
        bash_fail(sh, ERR_RANGE, "nested more than %d deep", BASH_MAX_LEVELS);
}

void bash_leave(struct bash *sh)
{
    sh->at.depth--;
}

/* Memory that counts against the limit of its arena. */
static void *core_take(struct bash *sh, struct arena *from, size_t *used,
                       size_t bytes)
{
    if (bytes > BASH_MAX_BYTES || *used + bytes > BASH_MAX_BYTES)
        bash_fail(sh, ERR_RANGE, "the script makes more than %d MB of text",
                  BASH_MAX_BYTES >> 20);
    *used += bytes + 16;
    void *p = arena_alloc(from, bytes, 1);
    if (!p)
        bash_fail(sh, ERR_NOMEM, "out of memory");
    return p;
}

void *bash_alloc(struct bash *sh, size_t count, size_t size)
{
    if (count > BASH_MAX_BYTES)
        count = BASH_MAX_BYTES; // refused below
    return core_take(sh, &sh->run, &sh->run_bytes, count * size);
}

void *bash_keep(struct bash *sh, size_t count, size_t size)
{
    if (count > BASH_MAX_BYTES)
        count = BASH_MAX_BYTES;
    return core_take(sh, sh->keep, &sh->kept_bytes, count * size);
}

/* Texts may hold marks; the caller must not cut one in two. */
char *bash_strndup(struct bash *sh, const char *text, size_t n)
{
    char *copy = bash_alloc(sh, n + 1, 1);
    memcpy(copy, text, n);
    return copy;
}

const char *bash_keep_text(struct bash *sh, const char *text)
{
    size_t n = strlen(text);
    char *copy = bash_keep(sh, n + 1, 1);
    memcpy(copy, text, n);
    return copy;
}

/* Two passes: the first one only counts, as the length of a script's text
 * is anybody's guess. */
static char *core_vprintf(struct bash *sh, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *text = bash_alloc(sh, n < 0 ? 1 : (size_t)n + 1, 1);
    if (n >= 0)
        vsnprintf(text, (size_t)n + 1, fmt, ap);
    return text;
}

char *bash_printf(struct bash *sh, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = core_vprintf(sh, fmt, ap);
    va_end(ap);
    return text;
}

/* ---- growing texts ---- */

/* Doubling keeps the sum of all copies within twice the last one; the old
 * ones stay in the arena until the way ends. */
void bash_put(struct bash *sh, struct bash_text *to, const char *s, size_t n)
{
    if (to->n + n + 1 > to->cap) {
        if (to->n + n > BASH_MAX_TEXT)
            bash_fail(sh, ERR_RANGE, "a text of more than %d MB",
                      BASH_MAX_TEXT >> 20);
        size_t cap = 2 * (to->n + n) + 32;
        char *grown = bash_alloc(sh, cap, 1);
        if (to->n)
            memcpy(grown, to->s, to->n);
        to->s = grown;
        to->cap = cap;
    }
    memcpy(to->s + to->n, s, n);
    to->n += n;
    to->s[to->n] = '\0';
    bash_work(sh, n);
}

void bash_puts(struct bash *sh, struct bash_text *to, const char *s)
{
    bash_put(sh, to, s, strlen(s));
}

void bash_putc(struct bash *sh, struct bash_text *to, char c)
{
    bash_put(sh, to, &c, 1);
}

const char *bash_text_of(const struct bash_text *t)
{
    return t->n ? t->s : "";
}

/* ---- marks ---- */

/* The same cause at the same place and turn? */
static bool cause_is(const struct bash *sh, size_t i,
                     const struct bash_cause *c)
{
    const struct bash_cause *have = &sh->cause[i];
    return have->kind == c->kind && have->line == c->line &&
           sh->cause_turn[i] == sh->at.turn &&
           strcmp(have->text, c->text) == 0 &&
           strcmp(have->file, c->file) == 0 && strcmp(have->why, c->why) == 0;
}

/* Marks hold indices, so that the array may move. */
static void grow_causes(struct bash *sh)
{
    size_t cap = 2 * sh->cap_causes + 16;
    struct bash_cause *cause = bash_keep(sh, cap, sizeof *cause);
    uint32_t *turn = bash_keep(sh, cap, sizeof *turn);
    if (sh->n_causes) {
        memcpy(cause, sh->cause, sh->n_causes * sizeof *cause);
        memcpy(turn, sh->cause_turn, sh->n_causes * sizeof *turn);
    }
    sh->cause = cause;
    sh->cause_turn = turn;
    sh->cap_causes = cap;
}

/* Causes are few: some tens in a script with many unknowns. */
static const char *mark_of(struct bash *sh, const struct bash_cause *c)
{
    size_t i = 0;
    while (i < sh->n_causes && !cause_is(sh, i, c))
        i++;
    bash_work(sh, i);
    if (i == sh->n_causes) {
        if (i == sh->cap_causes)
            grow_causes(sh);
        sh->cause[i] = *c;
        sh->cause[i].text = bash_keep_text(sh, c->text);
        sh->cause[i].why = bash_keep_text(sh, c->why);
        sh->cause_turn[i] = sh->at.turn;
        sh->n_causes++;
    }
    return bash_printf(sh, "%c%zu%c", BASH_MARK, i, BASH_MARK_END);
}

const char *bash_unknown(struct bash *sh, const char *text, const char *why)
{
    const struct bash_cause c = {BASH_UNKNOWN, text, sh->at.file, sh->at.line,
                                 why};
    return mark_of(sh, &c);
}

const char *bash_unset(struct bash *sh, const char *text)
{
    const struct bash_cause c = {BASH_UNSET, text, sh->at.file, sh->at.line,
                                 "never set"};
    return mark_of(sh, &c);
}

/* A lone first character of a mark in a script's text was replaced when the
 * file was read (bash_clean()). */
size_t bash_mark_len(const char *p)
{
    if (*p != BASH_MARK)
        return 0;
    const char *end = strchr(p, BASH_MARK_END);
    return end ? (size_t)(end - p) + 1 : 0;
}

/* A mark's number comes from mark_of(), so that it is in range; 0 is for
 * texts that were cut. */
const struct bash_cause *bash_mark_cause(const struct bash *sh, const char *p)
{
    size_t i = (size_t)strtoul(p + 1, NULL, 10);
    return &sh->cause[i < sh->n_causes ? i : 0];
}

/* What has no blanks stays one word when it is split, so that a launch in which
 * it stands keeps its number of words. */
bool bash_is_one_word(const struct bash_cause *c)
{
    // commands by their beginnings: what they print has no blanks
    static const char *const one[] = {
        "$SLURM",  "$RANDOM",     "$HOSTNAME",
        "$USER",   "$UID",        "$HOME",
        "$(nproc", "$(hostname)", "$(whoami)",
        "$(id -",  "$(mktemp",    "$(pwd)",
        "$(uname", "`hostname`",  "`whoami`",
        "`pwd`",   "$(uuidgen",   "$(scontrol show hostname",
    };
    size_t n = strlen(c->text);
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        if (strncmp(c->text, one[i], strlen(one[i])) == 0)
            return true;
    return (strncmp(c->text, "$(date +", 8) == 0 &&
            !strchr(c->text + 7, ' ')) ||
           (n > 7 && strcmp(c->text + n - 6, "wc -l)") == 0);
}

bool bash_has_mark(const char *text)
{
    return strchr(text, BASH_MARK) != NULL;
}

/* Marks of what is not set do not count: bash would see nothing there. */
bool bash_has_unknown(const struct bash *sh, const char *text)
{
    for (const char *p = strchr(text, BASH_MARK); p;
         p = strchr(p + 1, BASH_MARK))
        if (bash_mark_cause(sh, p)->kind == BASH_UNKNOWN)
            return true;
    return false;
}

/* The note stands where the variable was read, not where it mattered. */
static void note_unset(struct bash *sh, const struct bash_cause *c)
{
    struct bash_context at = sh->at;
    sh->at.file = c->file;
    sh->at.line = c->line;
    bash_note(sh, "%s is not set: taken as empty", c->text);
    sh->at = at;
}

/* Not set is empty to bash wherever it looks; only the words of a launch
 * keep the mark, for people. */
const char *bash_plain(struct bash *sh, const char *text, bool noted)
{
    if (!bash_has_mark(text))
        return text;
    struct bash_text to = {0};
    for (const char *p = text; *p;) {
        size_t n = bash_mark_len(p);
        const struct bash_cause *c = n ? bash_mark_cause(sh, p) : NULL;
        if (c && c->kind == BASH_UNSET && noted)
            note_unset(sh, c);
        if (!c || c->kind != BASH_UNSET)
            bash_put(sh, &to, p, n ? n : 1);
        p += n ? n : 1;
    }
    return bash_text_of(&to);
}

const char *bash_first_unknown(struct bash *sh, const char *text)
{
    for (const char *p = strchr(text, BASH_MARK); p;
         p = strchr(p + 1, BASH_MARK))
        if (bash_mark_cause(sh, p)->kind == BASH_UNKNOWN)
            return bash_strndup(sh, p, bash_mark_len(p));
    return NULL;
}

/* Cut to one line of a message; a line end within would break it in two. */
const char *bash_readable(struct bash *sh, const char *text)
{
    struct bash_text to = {0};
    for (const char *p = text; *p && to.n < CORE_SHOWN;) {
        size_t n = bash_mark_len(p);
        if (n)
            bash_puts(sh, &to, bash_mark_cause(sh, p)->text);
        else
            bash_putc(sh, &to, *p == '\n' ? ' ' : *p);
        p += n ? n : 1;
    }
    if (to.n > CORE_SHOWN) {
        to.n = CORE_SHOWN;
        to.s[to.n] = '\0';
        bash_puts(sh, &to, "...");
    }
    return bash_text_of(&to);
}

/* ---- notes ---- */

/* A loop would give the same note each round. */
static void add_once(struct bash *sh, struct bash_list *to, const char *text)
{
    bash_work(sh, to->n);
    for (size_t i = 0; i < to->n; i++)
        if (strcmp(to->text[i], text) == 0)
            return;
    if (to->n == to->cap) {
        size_t cap = 2 * to->cap + 16;
        const char **grown = bash_keep(sh, cap, sizeof *grown);
        if (to->n)
            memcpy(grown, to->text, to->n * sizeof *grown);
        to->text = grown;
        to->cap = cap;
    }
    to->text[to->n++] = bash_keep_text(sh, text);
}

void bash_note(struct bash *sh, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = core_vprintf(sh, fmt, ap);
    va_end(ap);
    add_once(sh, &sh->notes,
             bash_printf(sh, "%s:%d: %s", sh->at.file, sh->at.line, text));
}

/* Apart from notes: that a file is not there is a warning, and what is assumed
 * is none. */
void bash_missing(struct bash *sh, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = core_vprintf(sh, fmt, ap);
    va_end(ap);
    add_once(sh, &sh->missing,
             bash_printf(sh, "%s:%d: %s", sh->at.file, sh->at.line, text));
}

/* ---- the end of the script ---- */

void bash_end(struct bash *sh, const char *why)
{
    const char *main = sh->in->name;
    if (strcmp(sh->at.file, main) != 0)
        why = bash_printf(sh, "%s (in %s)", why, sh->at.file);
    sh->flow = BASH_EXIT;
    sh->ended = bash_keep_text(sh, why);
    sh->ended_line = sh->at.line;
}

/* ---- status ---- */

/* bash keeps the low byte only; callers that take a user's number cut it. */
void bash_set_status(struct bash *sh, int value)
{
    sh->st->status = (struct bash_status){NULL, false, value};
}

bool bash_succeeded(const struct bash *sh)
{
    return !sh->st->status.doubt && sh->st->status.value == 0;
}
