/*
 * How it works: a word that assigns is taken apart as it is written, before
 * anything in it is expanded, since quotes and brackets of the target are not
 * those of the value. Elements of a list are set one by one; an index that is
 * not known may be any of them, so that the whole list is.
 */
#include "assign.h"

#include "arith.h"
#include "follow.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A word taken apart. */
struct assignment {
    const char *name, *index; // index: NULL, none
    bool adds;
    const char *value; // as written
    int line;
};

/* Bytes of NAME[index] before = or +=; 0 where the word is no assignment. */
static size_t target_len(const char *raw)
{
    size_t n = 0;
    while (isalnum((unsigned char)raw[n]) || raw[n] == '_')
        n++;
    if (!bash_is_name(raw, n))
        return 0;
    if (raw[n] == '[') {
        int depth = 0;
        size_t i = n;
        for (; raw[i]; i++) {
            depth += (raw[i] == '[') - (raw[i] == ']');
            if (depth == 0)
                break;
        }
        if (!raw[i])
            return 0;
        n = i + 1;
    }
    return raw[n] == '=' || (raw[n] == '+' && raw[n + 1] == '=') ? n : 0;
}

bool bash_is_assignment(const char *raw)
{
    return target_len(raw) > 0;
}

/* declare -n: an assignment goes to the variable that the name refers to. */
static struct assignment take_apart(struct bash *sh, struct bash_raw w)
{
    size_t n = target_len(w.text), name = strcspn(w.text, "[=+");
    struct assignment a = {.line = w.line};
    a.name = bash_strndup(sh, w.text, name);
    if (name < n)
        a.index = bash_strndup(sh, w.text + name + 1, n - name - 2);
    a.adds = w.text[n] == '+';
    a.value = w.text + n + 1 + a.adds;
    const struct bash_var *v = bash_get(sh, a.name);
    if (v && v->flags & BASH_REFERENCE && v->n)
        a.name = bash_plain(sh, v->item[0].text, false);
    return a;
}

/* ---- arrays ---- */

/* [k]=v of an array's words: the length of "[k]", 0 where it is none. */
static size_t key_len(const char *raw)
{
    int depth = 0;
    if (*raw != '[')
        return 0;
    for (const char *p = raw; *p; p++) {
        depth += (*p == '[') - (*p == ']');
        if (depth == 0)
            return p[1] == '=' || (p[1] == '+' && p[2] == '=')
                       ? (size_t)(p - raw) + 1
                       : 0;
    }
    return 0;
}

/* Quotes of M["a b"] are no part of the key. */
static const char *key_text(struct bash *sh, const char *index, int line)
{
    struct bash_raw w = {index, line};
    return bash_plain(sh, bash_expand_text(sh, w, BASH_X_VALUE), true);
}

/* [k]=v, and how the next plain word counts on from k. */
static void set_keyed(struct bash *sh, const struct assignment *a,
                      struct bash_raw w, int64_t *next)
{
    size_t n = key_len(w.text);
    const char *key = key_text(sh, bash_strndup(sh, w.text + 1, n - 2), w.line);
    bool adds = w.text[n] == '+';
    struct bash_raw value = {w.text + n + 1 + adds, w.line};
    const char *text = bash_expand_text(sh, value, BASH_X_VALUE);
    const struct bash_var *v = bash_get(sh, a->name);
    if (!v || !(v->flags & BASH_ASSOCIATIVE)) {
        struct bash_number i = bash_math(sh, key, w.text);
        *next = i.mark ? *next : i.value;
    }
    const struct bash_item_of *old =
        adds ? bash_element(v, *next,
                            v && v->flags & BASH_ASSOCIATIVE ? key : NULL)
             : NULL;
    if (old)
        text = bash_printf(sh, "%s%s", old->text, text);
    bash_set_element(sh, a->name, key, *next, text);
    ++*next;
}

/* declare -A M=(key value key value) */
static void add_pairs(struct bash *sh, const char *name,
                      const struct bash_words *w)
{
    for (size_t i = 0; i < w->n; i += 2)
        bash_set_element(sh, name, bash_plain(sh, w->item[i].text, true), 0,
                         i + 1 < w->n ? w->item[i + 1].text : "");
}

/* A=() keeps what declare said of A. */
static void clear_array(struct bash *sh, const char *name)
{
    const struct bash_var *old = bash_get(sh, name);
    struct bash_var *v = bash_alloc(sh, 1, sizeof *v);
    v->flags = old ? old->flags : 0;
    if (!(v->flags & BASH_ASSOCIATIVE))
        v->flags |= BASH_LIST;
    bash_put_var(sh, name, v);
}

/* Keys turn the list into single assignments; without them it is appended
 * at once. */
static void assign_array(struct bash *sh, const struct assignment *a)
{
    size_t n = 0, len = strlen(a->value);
    const char *inner = bash_strndup(sh, a->value + 1, len < 2 ? 0 : len - 2);
    struct bash_raw *raw = bash_words_of(sh, inner, a->line, &n);
    struct bash_words words = {0};
    int64_t next = 0;
    bool keyed = false;
    for (size_t i = 0; i < n; i++)
        keyed = keyed || key_len(raw[i].text);
    // all is expanded before the old value goes: A=(x "${A[@]}")
    for (size_t i = 0; i < n && !keyed; i++)
        bash_expand_words(sh, raw[i], &words);
    if (!a->adds)
        clear_array(sh, a->name);
    if (!keyed) {
        const struct bash_var *v = bash_get(sh, a->name);
        if (v && v->flags & BASH_ASSOCIATIVE)
            add_pairs(sh, a->name, &words);
        else
            bash_put_var(sh, a->name,
                         bash_list_add(sh, bash_get(sh, a->name), &words));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (key_len(raw[i].text)) {
            set_keyed(sh, a, raw[i], &next);
            continue;
        }
        words.n = 0;
        bash_expand_words(sh, raw[i], &words);
        for (size_t k = 0; k < words.n; k++)
            bash_set_element(sh, a->name, NULL, next++, words.item[k].text);
    }
}

/* ---- plain values ---- */

/* += adds numbers where declare -i said so, and texts else. */
static const char *added_text(struct bash *sh, const struct assignment *a,
                              const struct bash_var *v, const char *old,
                              const char *text)
{
    if (v && v->flags & BASH_INTEGER)
        text = bash_printf(sh, "(%s)+(%s)", old && *old ? old : "0", text);
    else if (old)
        text = bash_printf(sh, "%s%s", old, text);
    else if (sh->st->unread && !a->index)
        text = bash_printf(sh, "%s%s", bash_param_text(sh, a->name), text);
    return text;
}

/* The value is expanded before the index, as bash does: A[i++]=$i. */
static void assign_text(struct bash *sh, const struct assignment *a)
{
    struct bash_raw w = {a->value, a->line};
    const char *text = bash_expand_text(sh, w, BASH_X_VALUE);
    const char *key = a->index ? key_text(sh, a->index, a->line) : NULL;
    int64_t index = 0;
    const struct bash_var *v = NULL;
    if (a->adds || a->index)
        v = bash_get(sh, a->name);
    bool map = v && v->flags & BASH_ASSOCIATIVE;
    const char *lost = key && map ? bash_first_unknown(sh, key) : NULL;
    if (key && !map) {
        struct bash_number i = bash_math(sh, key, a->index);
        lost = i.mark;
        index = i.mark ? 0 : i.value;
        if (index < 0 && v && v->n)
            index += v->item[v->n - 1].index + 1;
    }
    const struct bash_item_of *old = bash_element(v, index, map ? key : NULL);
    if (a->adds)
        text = added_text(sh, a, v, old ? old->text : NULL, text);
    v = a->adds || a->index ? v : bash_get(sh, a->name);
    if (v && v->flags & BASH_INTEGER) {
        struct bash_number x = bash_math(sh, text, a->value);
        text = x.mark ? x.mark : bash_printf(sh, "%lld", (long long)x.value);
    }
    if (lost)
        bash_blur_elements(sh, a->name, lost);
    else if (a->index)
        bash_set_element(sh, a->name, key, index, text);
    else
        bash_set(sh, a->name, text);
}

/* For programs that assign what they were given (read, printf -v, mapfile): the
 * text is a value and is not expanded again. */
void bash_assign_text(struct bash *sh, const char *target, const char *text)
{
    size_t n = strcspn(target, "["), len = strlen(target);
    const char *name = bash_strndup(sh, target, n);
    if (!target[n]) {
        bash_set(sh, name, text);
        return;
    }
    const char *index =
        bash_strndup(sh, target + n + 1, len < n + 2 ? 0 : len - n - 2);
    const struct bash_var *v = bash_get(sh, name);
    if (v && v->flags & BASH_ASSOCIATIVE) {
        bash_set_element(sh, name, index, 0, text);
        return;
    }
    struct bash_number i = bash_math(sh, index, target);
    if (i.mark)
        bash_blur_elements(sh, name, i.mark);
    else if (i.value >= 0)
        bash_set_element(sh, name, NULL, i.value, text);
}

/* A list in parentheses is one only where the target has no index. */
const char *bash_assign(struct bash *sh, struct bash_raw w)
{
    bash_step(sh);
    sh->at.line = w.line;
    struct assignment a = take_apart(sh, w);
    if (*a.value == '(' && a.value[strlen(a.value) - 1] == ')' && !a.index)
        assign_array(sh, &a);
    else
        assign_text(sh, &a);
    return a.name;
}

/* ---- declare and its like ---- */

struct declaration {
    unsigned on, off;
    bool local, global, functions;
};

/* Behind these an assignment's value is not split into words. */
bool bash_declares(const char *program)
{
    static const char *const names[] = {"declare", "local", "export",
                                        "readonly", "typeset"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(program, names[i]) == 0)
            return true;
    return false;
}

/* One letter a flag; "+x" takes it away again. */
static void declare_option(struct declaration *d, const char *text)
{
    static const struct {
        char letter;
        unsigned flag;
    } table[] = {{'x', BASH_EXPORTED},    {'i', BASH_INTEGER},
                 {'l', BASH_LOWER},       {'u', BASH_UPPER},
                 {'n', BASH_REFERENCE},   {'r', BASH_READONLY},
                 {'A', BASH_ASSOCIATIVE}, {'a', BASH_LIST}};
    unsigned *to = *text == '+' ? &d->off : &d->on;
    for (const char *p = text + 1; *p; p++) {
        d->global = d->global || *p == 'g';
        d->functions = d->functions || *p == 'f' || *p == 'F' || *p == 'p';
        for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
            if (*p == table[i].letter)
                *to |= table[i].flag;
    }
}

/* The variable exists from here on, with the flags but for readonly, which
 * would refuse its first value. */
static void declare_name(struct bash *sh, const struct declaration *d,
                         const char *name)
{
    if (d->local && !d->global && sh->at.functions > 0)
        bash_make_local(sh, name);
    unsigned on = d->on & ~(unsigned)BASH_READONLY;
    if (on || d->off)
        bash_set_flags(sh, name, on, d->off);
}

/* Of an expanded word, such as export "$k=$v", all behind the '=' is the
 * value as it stands. */
static void declare_word(struct bash *sh, const struct declaration *d,
                         struct bash_raw w, bool raw)
{
    size_t n = strcspn(w.text, "=+[");
    const char *name = bash_strndup(sh, w.text, n);
    if (!bash_is_name(name, n))
        return;
    if (!w.text[n]) {
        declare_name(sh, d, name);
        return;
    }
    // `local x=$x` sees the outer x: the value is taken first
    size_t target = target_len(w.text);
    bool plain = raw && target == n && w.text[n] == '=' && w.text[n + 1] != '(';
    if (plain) {
        struct bash_raw value = {w.text + n + 1, w.line};
        const char *text = bash_expand_text(sh, value, BASH_X_VALUE);
        declare_name(sh, d, name);
        if (d->on & BASH_INTEGER) {
            struct bash_number x = bash_math(sh, text, value.text);
            text =
                x.mark ? x.mark : bash_printf(sh, "%lld", (long long)x.value);
        }
        bash_set(sh, name, text);
    } else {
        declare_name(sh, d, name);
        if (raw && target)
            bash_assign(sh, w);
        else if (w.text[n] == '=')
            bash_set(sh, name, w.text + n + 1);
    }
    if (d->on & BASH_READONLY)
        bash_set_flags(sh, name, BASH_READONLY, 0);
}

/* Words that are assignments as written are not split: export A=$B is one
 * value, unlike echo A=$B. */
void bash_declare(struct bash *sh, const struct bash_raw *w, size_t n)
{
    struct declaration d = {0};
    bool options = true;
    d.local =
        strcmp(w[0].text, "export") != 0 && strcmp(w[0].text, "readonly") != 0;
    d.on = strcmp(w[0].text, "export") == 0     ? BASH_EXPORTED
           : strcmp(w[0].text, "readonly") == 0 ? BASH_READONLY
                                                : 0;
    bool export = d.on == BASH_EXPORTED;
    bool outside = strcmp(w[0].text, "local") == 0 && sh->at.functions == 0;
    bash_set_status(sh, outside);
    if (outside)
        return;
    for (size_t i = 1; i < n; i++) {
        struct bash_words words = {0};
        if (bash_is_assignment(w[i].text)) {
            declare_word(sh, &d, w[i], true);
            continue;
        }
        bash_expand_words(sh, w[i], &words);
        for (size_t k = 0; k < words.n; k++) {
            const char *text = bash_plain(sh, words.item[k].text, false);
            if (bash_unread_text(sh, text))
                continue;
            options = options && (*text == '-' || *text == '+');
            if (options && export && strcmp(text, "-n") == 0)
                d = (struct declaration){.off = BASH_EXPORTED};
            else if (options)
                declare_option(&d, text);
            else if (!words.item[k].ghost && !d.functions)
                declare_word(sh, &d, (struct bash_raw){words.item[k].text, 0},
                             false);
        }
    }
    // export X=$(false) succeeds: it is export's status that counts
    bash_set_status(sh, 0);
}
