/*
 * How it works: recursive descent over words; [[ ]] expands each when it is
 * needed, [ ] has them expanded. Values combine as struct bash_status: known
 * sides decide without the unknown ones where they can.
 */
#include "cond.h"

#include "arith.h"
#include "expand.h"
#include "files.h"
#include "script/branch.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct cond {
    struct bash *sh;
    const struct bash_raw *raw;      // of [[ ]], else NULL
    const struct bash_item_of *word; // of [ ]
    size_t n, at;
    bool bad;
    bool idle; // this side is not evaluated
};

static struct bash_status cond_or(struct cond *c);

/* ---- values ---- */

static struct bash_status cond_known(bool yes)
{
    return (struct bash_status){NULL, false, !yes};
}

/* Turning a doubt around keeps its question, so that x and ! x never both
 * hold. */
static struct bash_status cond_not(struct bash_status s)
{
    s.negated = !s.negated;
    s.value = s.value ? 0 : 1;
    return s;
}

/* A question about a comparison: "a OP b". */
static struct bash_status cond_ask(struct cond *c, const char *a,
                                   const char *op, const char *b)
{
    struct bash *sh = c->sh;
    const char *key = bash_printf(sh, "test %s %s %s", a, op, b);
    const char *text =
        bash_readable(sh, bash_printf(sh, "%s%s%s%s%s", a, *a ? " " : "", op,
                                      *b ? " " : "", b));
    return (struct bash_status){bash_ask(sh, key, text, 2), false, 0};
}

/* The question alone would take x && y for x && ! y. */
static const char *side_key(struct bash *sh, struct bash_status s)
{
    return bash_printf(sh, "%s%s", s.negated ? "!" : "", s.doubt->key);
}

/* Both sides unknown: a question of its own. */
static struct bash_status cond_join(struct cond *c, struct bash_status a,
                                    struct bash_status b, const char *op)
{
    struct bash *sh = c->sh;
    if (a.doubt == b.doubt && a.negated == b.negated)
        return a;
    const char *key =
        bash_printf(sh, "(%s) %s (%s)", side_key(sh, a), op, side_key(sh, b));
    const char *text =
        bash_printf(sh, "%s%s %s %s%s", a.negated ? "! " : "", a.doubt->text,
                    op, b.negated ? "! " : "", b.doubt->text);
    return (struct bash_status){bash_ask(sh, key, bash_readable(sh, text), 2),
                                false, 0};
}

/* ---- comparisons of texts ---- */

static const char *cond_plain(struct cond *c, const char *text)
{
    return bash_plain(c->sh, text, !c->idle);
}

/* -z of a text with one known character is false whatever the rest is. */
static struct bash_status compare_empty(struct cond *c, const char *text)
{
    enum bash_known empty = bash_is_empty(c->sh, text);
    return empty == BASH_MAYBE ? cond_ask(c, "", "-z", text)
                               : cond_known(empty == BASH_YES);
}

/* Is `a` (matched by) b? */
static struct bash_status compare_equal(struct cond *c, const char *a,
                                        const char *b, bool pattern)
{
    struct bash *sh = c->sh;
    if (!*b)
        return compare_empty(c, a);
    if (!*a && !pattern)
        return compare_empty(c, b);
    if (strcmp(a, b) == 0 && !pattern)
        return cond_known(true);
    if (bash_has_unknown(sh, a) || bash_has_unknown(sh, b))
        return cond_ask(c, a, "=", b);
    return cond_known(pattern ? bash_match(sh, b, a, strlen(a))
                              : strcmp(a, b) == 0);
}

/* By bytes, as [[ ]] does in the C locale. */
static struct bash_status compare_order(struct cond *c, const char *a,
                                        const char *op, const char *b)
{
    if (bash_has_unknown(c->sh, a) || bash_has_unknown(c->sh, b))
        return cond_ask(c, a, op, b);
    return cond_known(*op == '<' ? strcmp(a, b) < 0 : strcmp(a, b) > 0);
}

/* A whole number with blanks around; [[ ]] counts expressions. */
static bool cond_number(struct cond *c, const char *text,
                        struct bash_number *out)
{
    char *end;
    if (c->raw || bash_has_unknown(c->sh, text)) {
        *out = bash_math(c->sh, text, text);
        return true;
    }
    out->mark = NULL;
    out->value = strtoll(text, &end, 10);
    while (isspace((unsigned char)*end))
        end++;
    return end > text && *end == '\0' && strpbrk(text, "0123456789");
}

/* [ ] refuses what is no number with status 2, which fails. */
static struct bash_status compare_numbers(struct cond *c, const char *a,
                                          const char *op, const char *b)
{
    struct bash_number x, y;
    if (!cond_number(c, a, &x) || !cond_number(c, b, &y))
        return (struct bash_status){NULL, false, 2};
    if (x.mark || y.mark) {
        struct bash_status eq =
            cond_ask(c, a, strcmp(op, "-ne") ? op : "-eq", b);
        return strcmp(op, "-ne") == 0 ? cond_not(eq) : eq;
    }
    static const char *const ops[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    const bool is[] = {x.value == y.value, x.value != y.value,
                       x.value<y.value, x.value <= y.value, x.value> y.value,
                       x.value >= y.value};
    for (size_t i = 0; i < 6; i++)
        if (strcmp(op, ops[i]) == 0)
            return cond_known(is[i]);
    return cond_ask(c, a, op, b); // -nt, -ot, -ef
}

/* ---- regular expressions ---- */

/* Those that cost much memory or time, or mean other things than in bash, are
 * not tried: nested counts, back references, long ones. */
static bool regex_is_tame(const char *pattern, const char *text)
{
    int counts = 0;
    for (const char *p = pattern; *p; p++) {
        if (*p == '\\' && isdigit((unsigned char)p[1]))
            return false;
        if (*p == '{')
            counts += 1 + (strspn(p + 1, "0123456789,") > 4);
    }
    return counts <= 1 && strlen(pattern) <= 200 && strlen(text) <= 4096;
}

/* The C library's expressions are those that bash uses. */
enum bash_known bash_regex(struct bash *sh, const char *pattern,
                           const char *text, struct bash_words *words)
{
    regex_t re;
    regmatch_t group[10];
    if (!regex_is_tame(pattern, text) ||
        regcomp(&re, pattern, REG_EXTENDED) != 0)
        return BASH_MAYBE;
    bool yes = regexec(&re, text, 10, group, 0) == 0;
    size_t n = re.re_nsub + 1;
    regfree(&re);
    for (size_t i = 0; yes && words && i < n && i < 10; i++) {
        regoff_t from = group[i].rm_so;
        bash_words_add(sh, words,
                       from < 0 ? ""
                                : bash_strndup(sh, text + from,
                                               (size_t)(group[i].rm_eo - from)),
                       false, false);
    }
    bash_work(sh, strlen(text) * (1 + strlen(pattern)));
    return yes ? BASH_YES : BASH_NO;
}

/* A pattern whose quoted characters have backslashes as a regular expression:
 * those are the same there, but for signs that need none. */
static const char *regex_text(struct bash *sh, struct bash_raw w)
{
    struct bash_field_text f = {0};
    struct bash_text t = {0};
    bash_expand(sh, w.text, BASH_X_VALUE, &f);
    for (size_t i = 0; i < f.n; i++) {
        if (f.q[i] == BASH_Q_NULL || f.q[i] == BASH_Q_BREAK)
            continue;
        if (f.q[i] == BASH_Q_QUOTED && strchr(".[]*^$+?{}|()\\", f.s[i]))
            bash_putc(sh, &t, '\\');
        bash_putc(sh, &t, f.s[i]);
    }
    return bash_text_of(&t);
}

/* What matched goes to BASH_REMATCH also where nothing did, as in bash: it is
 * then empty. */
static struct bash_status compare_regex(struct cond *c, const char *a,
                                        struct bash_raw w)
{
    struct bash *sh = c->sh;
    struct bash_words words = {0};
    const char *b = cond_plain(c, regex_text(sh, w));
    if (bash_has_unknown(sh, a) || bash_has_unknown(sh, b))
        return cond_ask(c, a, "=~", b);
    enum bash_known yes = bash_regex(sh, b, a, &words);
    if (yes == BASH_MAYBE)
        return cond_ask(c, a, "=~", b);
    bash_put_var(sh, "BASH_REMATCH", bash_list_of(sh, &words));
    return cond_known(yes == BASH_YES);
}

/* ---- files and variables ---- */

/* Files below the script's folder are looked up, which is noted; of others
 * the test is a question. */
static struct bash_status file_test(struct cond *c, char op, const char *path)
{
    struct bash *sh = c->sh;
    const char *name = bash_path_shown(sh, path);
    if (!*path)
        return cond_known(false);
    enum bash_file_kind kind = bash_file_look(sh, path);
    const char letters[] = {'-', op, '\0'};
    if (kind == BASH_FILE_UNKNOWN)
        return cond_ask(c, "", letters, path);
    bool folder = kind == BASH_FILE_FOLDER;
    bool yes = op == 'f' ? kind == BASH_FILE_REGULAR || kind == BASH_FILE_EMPTY
               : op == 'd'           ? folder
               : op == 's'           ? kind == BASH_FILE_REGULAR || folder
               : strchr("earwx", op) ? kind != BASH_FILE_NONE
                                     : false;
    if (op == 'x' && !folder && yes)
        return cond_ask(c, "", letters, path);
    if (!c->idle)
        bash_note(sh,
                  "[ -%c %s ] is taken as %s: looked up in the script's "
                  "folder",
                  op, bash_readable(sh, name), yes ? "true" : "false");
    return cond_known(yes);
}

/* -v is the one test that tells unset from empty. */
static struct bash_status set_test(struct cond *c, const char *name)
{
    enum bash_known set = bash_is_set(c->sh, name);
    return set == BASH_MAYBE ? cond_ask(c, "", "-v", name)
                             : cond_known(set == BASH_YES);
}

/* Terminals, owners and links are of the machine that runs the script, and so
 * unknown here. */
static struct bash_status unary_test(struct cond *c, char op, const char *text)
{
    const char *plain = cond_plain(c, text);
    if (op == 'n')
        return cond_not(compare_empty(c, plain));
    if (op == 'z')
        return compare_empty(c, plain);
    if (op == 'v')
        return bash_has_unknown(c->sh, plain) ? cond_ask(c, "", "-v", plain)
                                              : set_test(c, plain);
    if (strchr("tohLR", op))
        return cond_ask(c, "", bash_printf(c->sh, "-%c", op), plain);
    return file_test(c, op, plain);
}

/* ---- words ---- */

/* The word at i as written or expanded; "" behind the end. */
static const char *cond_word(const struct cond *c, size_t i)
{
    return i >= c->n ? "" : c->raw ? c->raw[i].text : c->word[i].text;
}

static bool cond_at(const struct cond *c, const char *text)
{
    return c->at < c->n && strcmp(cond_word(c, c->at), text) == 0;
}

/* Words of [[ ]] are expanded only where they are needed: the right side of
 * a decided && is not. */
static const char *cond_take(struct cond *c)
{
    const char *text = cond_word(c, c->at);
    if (c->at >= c->n)
        c->bad = true;
    else if (c->raw && !c->idle)
        text = bash_expand_text(c->sh, c->raw[c->at], BASH_X_VALUE);
    c->at++;
    return text;
}

/* Told by its place as well: [ -n = -n ] compares. */
static bool is_binary(const char *op)
{
    static const char *const ops[] = {"=",   "==",  "!=",  "<",   ">",
                                      "=~",  "-eq", "-ne", "-lt", "-le",
                                      "-gt", "-ge", "-nt", "-ot", "-ef"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(op, ops[i]) == 0)
            return true;
    return false;
}

static bool is_unary(const char *op)
{
    return op[0] == '-' && op[1] && !op[2] &&
           strchr("nzvfdesrwxabcghkptuGLNOSoR", op[1]);
}

/* The right side of == is a pattern in [[ ]] and a text in [ ]. */
static struct bash_status cond_binary(struct cond *c)
{
    const char *a = cond_plain(c, cond_take(c));
    const char *op = cond_word(c, c->at++);
    bool pattern = c->raw && (strcmp(op, "=") == 0 || strcmp(op, "==") == 0 ||
                              strcmp(op, "!=") == 0);
    struct bash_raw w = {cond_word(c, c->at), c->raw && c->at < c->n
                                                  ? c->raw[c->at].line
                                                  : c->sh->at.line};
    if (strcmp(op, "=~") == 0) {
        c->at++;
        return c->idle ? cond_known(true) : compare_regex(c, a, w);
    }
    const char *b = "";
    if (pattern && !c->idle && c->at < c->n)
        b = bash_expand_pattern(c->sh, w), c->at++;
    else
        b = cond_take(c);
    b = cond_plain(c, b);
    if (c->idle)
        return cond_known(true);
    if (*op == '-')
        return compare_numbers(c, a, op, b);
    if (*op == '<' || *op == '>')
        return compare_order(c, a, op, b);
    struct bash_status eq = compare_equal(c, a, b, pattern);
    return *op == '!' ? cond_not(eq) : eq;
}

/* A binary operator goes before all, as the count of words tells bash. */
static struct bash_status cond_primary(struct cond *c)
{
    if (c->at + 2 < c->n && is_binary(cond_word(c, c->at + 1)))
        return cond_binary(c);
    if (cond_at(c, "!") && c->at + 1 < c->n) {
        c->at++;
        bash_enter(c->sh);
        struct bash_status s = cond_not(cond_primary(c));
        bash_leave(c->sh);
        return s;
    }
    if (cond_at(c, "(") && c->at + 1 < c->n) {
        c->at++;
        bash_enter(c->sh);
        struct bash_status s = cond_or(c);
        bash_leave(c->sh);
        c->bad = c->bad || !cond_at(c, ")");
        c->at++;
        return s;
    }
    if (c->at + 1 < c->n && is_unary(cond_word(c, c->at))) {
        char op = cond_word(c, c->at++)[1];
        const char *text = cond_take(c);
        return c->idle ? cond_known(true) : unary_test(c, op, text);
    }
    return cond_not(compare_empty(c, cond_plain(c, cond_take(c))));
}

/* A known false side decides, whatever the unknown one is. */
static struct bash_status cond_and(struct cond *c)
{
    struct bash_status a = cond_primary(c);
    while (cond_at(c, c->raw ? "&&" : "-a")) {
        bool idle = c->idle;
        c->at++;
        c->idle = idle || (!a.doubt && a.value);
        struct bash_status b = cond_primary(c);
        c->idle = idle;
        if (!a.doubt && a.value)
            continue;
        a = !a.doubt              ? b
            : !b.doubt && b.value ? b
            : !b.doubt            ? a
                                  : cond_join(c, a, b, "&&");
    }
    return a;
}

/* A known true side decides, whatever the unknown one is. */
static struct bash_status cond_or(struct cond *c)
{
    struct bash_status a = cond_and(c);
    while (cond_at(c, c->raw ? "||" : "-o")) {
        bool idle = c->idle;
        c->at++;
        c->idle = idle || (!a.doubt && !a.value);
        struct bash_status b = cond_and(c);
        c->idle = idle;
        if (!a.doubt && !a.value)
            continue;
        a = !a.doubt               ? b
            : !b.doubt && !b.value ? b
            : !b.doubt             ? a
                                   : cond_join(c, a, b, "||");
    }
    return a;
}

/* Words that are left over are an error of bash, which fails. */
static void cond_finish(struct cond *c, struct bash_status s)
{
    c->bad = c->bad || c->at != c->n;
    c->sh->st->status = c->bad ? (struct bash_status){NULL, false, 2} : s;
}

/* An empty [ ] fails, and words that vanished are not there: [ $X = a ]
 * with X unset is [ = a ]. */
void bash_test(struct bash *sh, const struct bash_words *w)
{
    struct bash_item_of *word = bash_alloc(sh, w->n + 1, sizeof *word);
    struct cond c = {.sh = sh, .word = word};
    for (size_t i = 0; i < w->n; i++) {
        if (w->item[i].ghost)
            bash_plain(sh, w->item[i].text, true); // noted
        else
            word[c.n++] = w->item[i];
    }
    if (c.n == 0) {
        bash_set_status(sh, 1);
        return;
    }
    struct bash_status s = cond_or(&c);
    cond_finish(&c, s);
}

/* Patterns within [[ ]] are extended ones whatever shopt says. */
void bash_cond(struct bash *sh, const struct bash_node *n)
{
    struct cond c = {.sh = sh, .raw = n->word, .n = n->n_words};
    unsigned options = sh->st->options;
    sh->st->options |= BASH_OPT_EXTGLOB; // always, within [[ ]]
    struct bash_status s = cond_or(&c);
    sh->st->options = options;
    cond_finish(&c, s);
}
