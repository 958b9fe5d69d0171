/*
 * How it works: names are numbered when first seen, for the whole reading, and
 * a state is an array of values by these numbers. Values are compared by their
 * pointers first: what a branch does not touch costs one comparison.
 */
#include "state.h"

#include "branch.h"

#include <ctype.h>
#include <string.h>

struct bash_saved {
    size_t symbol;
    const struct bash_var *var;
    const struct bash_saved *next;
};

struct bash_symbols {
    const char **name;
    size_t n, cap;
    size_t *slot; // hash table of numbers + 1
    size_t n_slots;
};

/* ---- names ---- */

/* Names are short and some hundred: quality matters less than no code. */
static size_t symbol_hash(const char *name)
{
    uint64_t h = 14695981039346656037u; // FNV-1a
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return (size_t)(h >> 16);
}

/* At most half of the slots are taken, so that probing stays short. */
static void symbols_rehash(struct bash *sh, struct bash_symbols *t)
{
    t->n_slots = t->n_slots ? 2 * t->n_slots : 256;
    t->slot = bash_keep(sh, t->n_slots, sizeof *t->slot);
    for (size_t i = 0; i < t->n; i++) {
        size_t h = symbol_hash(t->name[i]) % t->n_slots;
        while (t->slot[h])
            h = (h + 1) % t->n_slots;
        t->slot[h] = i + 1;
    }
    size_t cap = t->n_slots / 2;
    const char **name = bash_keep(sh, cap, sizeof *name);
    if (t->n)
        memcpy(name, t->name, t->n * sizeof *name);
    t->name = name;
    t->cap = cap;
}

/* Number of a name; new ones are added. */
static size_t symbol_of(struct bash *sh, const char *name)
{
    struct bash_symbols *t = sh->symbols;
    if (!t)
        t = sh->symbols = bash_keep(sh, 1, sizeof *t);
    if (t->n == t->cap)
        symbols_rehash(sh, t);
    size_t h = symbol_hash(name) % t->n_slots;
    for (; t->slot[h]; h = (h + 1) % t->n_slots)
        if (strcmp(t->name[t->slot[h] - 1], name) == 0)
            return t->slot[h] - 1;
    t->name[t->n] = bash_keep_text(sh, name);
    t->slot[h] = ++t->n;
    return t->n - 1;
}

/* Letters of other alphabets are none: bash takes ASCII only. */
bool bash_is_name(const char *text, size_t n)
{
    if (n == 0 || isdigit((unsigned char)*text))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return true;
}

/* ---- slots ---- */

/* The place of a symbol; grows the array, so earlier pointers into it end. */
static const struct bash_var **state_slot(struct bash *sh, size_t symbol)
{
    struct bash_state *st = sh->st;
    if (symbol >= st->cap) {
        size_t cap = 2 * symbol + 64;
        const struct bash_var **var = bash_alloc(sh, cap, sizeof *var);
        if (st->n)
            memcpy(var, st->var, st->n * sizeof *var);
        st->var = var;
        st->cap = cap;
    }
    if (symbol >= st->n)
        st->n = symbol + 1;
    return &st->var[symbol];
}

/* What is decided is written back, so that a later read in this way finds a
 * value. */
const struct bash_var *bash_get(struct bash *sh, const char *name)
{
    const struct bash_var **slot = state_slot(sh, symbol_of(sh, name));
    while (*slot && (*slot)->choice) {
        const struct bash_choice *c = (*slot)->choice;
        int side = bash_decide(sh, c->question);
        // deciding may leave, but never moves the slots
        *slot = c->side[side];
    }
    return *slot;
}

void bash_put_var(struct bash *sh, const char *name, const struct bash_var *v)
{
    *state_slot(sh, symbol_of(sh, name)) = v;
}

/* The order is that of first use over the whole reading, the same in all
 * ways. */
void bash_each(struct bash *sh, bash_each_fn *fn, void *to)
{
    bash_work(sh, sh->st->n);
    for (size_t i = 0; i < sh->st->n; i++)
        if (sh->st->var[i])
            fn(sh, sh->symbols->name[i], sh->st->var[i], to);
}

/* ---- states ---- */

void bash_state_open(struct bash *sh)
{
    sh->st = bash_alloc(sh, 1, sizeof *sh->st);
}

/* Every way has a table of its own, of variables that are shared. Tables of
 * ways that have ended are used again. */
struct bash_state *bash_state_copy(struct bash *sh)
{
    struct bash_state *copy = sh->free_states;
    size_t n = sh->st->n, cap = copy ? copy->cap : 0;
    const struct bash_var **var = copy ? copy->var : NULL;
    if (copy)
        sh->free_states = copy->next_free;
    else
        copy = bash_alloc(sh, 1, sizeof *copy);
    if (cap < n + 1) {
        cap = 2 * n + 64;
        var = bash_alloc(sh, cap, sizeof *var);
    }
    *copy = *sh->st;
    copy->var = var;
    copy->cap = cap;
    if (n)
        memcpy(var, sh->st->var, n * sizeof *var);
    bash_work(sh, n);
    return copy;
}

void bash_state_drop(struct bash *sh, struct bash_state *copy)
{
    copy->next_free = sh->free_states;
    sh->free_states = copy;
}

/* The arrays of the current state stay: restoring is as frequent as
 * branching and should not allocate. */
void bash_state_restore(struct bash *sh, const struct bash_state *from)
{
    struct bash_state *st = sh->st;
    const struct bash_var **var = st->var;
    size_t cap = st->cap, n = st->n;
    *st = *from;
    if (cap < from->n) {
        cap = 2 * from->n;
        var = bash_alloc(sh, cap, sizeof *var);
    }
    if (from->n)
        memcpy(var, from->var, from->n * sizeof *var);
    for (size_t i = from->n; i < n && i < cap; i++)
        var[i] = NULL;
    st->var = var;
    st->cap = cap;
    bash_work(sh, from->n);
}

/* bash exports no arrays and, unless told to, no functions; set options and
 * locals end with the process. */
void bash_state_only_exported(struct bash *sh)
{
    for (size_t i = 0; i < sh->st->n; i++) {
        const struct bash_var *v = sh->st->var[i];
        const char *name = sh->symbols->name[i];
        bool stays =
            *name == *BASH_FILE_PREFIX || strcmp(name, BASH_FOLDER) == 0;
        // the flags of a choice are those that any side has
        if (v && !stays && (!(v->flags & BASH_EXPORTED) || v->body))
            sh->st->var[i] = NULL;
    }
    sh->st->saved = NULL;
    sh->st->options = 0;
}

/* Pointers first: most values that are equal were never copied. */
static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Equal for every later command; where a value was written does not count. */
static bool var_equal(const struct bash_var *a, const struct bash_var *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->flags != b->flags || a->n != b->n ||
        a->body != b->body || a->choice || b->choice)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const struct bash_item_of *x = &a->item[i], *y = &b->item[i];
        if (x->index != y->index || x->ghost != y->ghost ||
            x->loose != y->loose || !same_text(x->text, y->text) ||
            !same_text(x->key, y->key))
            return false;
    }
    return true;
}

static const struct bash_var *state_var(const struct bash_state *st, size_t i)
{
    return i < st->n ? st->var[i] : NULL;
}

struct bash_state *bash_subshell_begin(struct bash *sh)
{
    return bash_state_copy(sh);
}

/* Files outlive a subshell, variables do not: ( cd x; echo a > f ) changes
 * the disk only. */
void bash_subshell_end(struct bash *sh, struct bash_state *outer)
{
    struct bash_state *inner = bash_state_copy(sh);
    bash_state_restore(sh, outer);
    sh->st->status = inner->status;
    sh->st->unread = inner->unread;
    for (size_t i = 0; i < inner->n; i++)
        if (inner->var[i] && *sh->symbols->name[i] == *BASH_FILE_PREFIX)
            *state_slot(sh, i) = inner->var[i];
    bash_state_drop(sh, inner);
    bash_state_drop(sh, outer);
    if (sh->flow == BASH_EXIT || sh->flow == BASH_RETURN) {
        sh->flow = BASH_GO;
        sh->ended = NULL;
    }
}

bool bash_state_equal(const struct bash_state *a, const struct bash_state *b)
{
    size_t n = a->n > b->n ? a->n : b->n;
    for (size_t i = 0; i < n; i++)
        if (!var_equal(state_var(a, i), state_var(b, i)))
            return false;
    return true;
}

/* One value that is a choice between those of the sides. */
static const struct bash_var *choice_of(struct bash *sh,
                                        struct bash_question *q,
                                        struct bash_state *const *side,
                                        size_t n, size_t symbol)
{
    struct bash_choice *c = bash_alloc(sh, 1, sizeof *c);
    const struct bash_var **of = bash_alloc(sh, n, sizeof *of);
    struct bash_var *v = bash_alloc(sh, 1, sizeof *v);
    for (size_t k = 0; k < n; k++)
        of[k] = state_var(side[k], symbol);
    for (size_t k = 0; k < n; k++)
        v->flags |= of[k] ? of[k]->flags & BASH_EXPORTED : 0;
    c->question = q;
    c->side = of;
    v->choice = c;
    return v;
}

/* A value that a side changed is not known, but it is one of few: the
 * choice keeps which goes with which. */
void bash_state_merge(struct bash *sh, struct bash_question *q,
                      struct bash_state *const *side, size_t n)
{
    bash_state_restore(sh, side[0]);
    size_t symbols = sh->symbols->n;
    bash_work(sh, n * symbols);
    for (size_t i = 0; i < symbols; i++) {
        bool equal = true;
        for (size_t k = 1; k < n; k++)
            equal = equal &&
                    var_equal(state_var(side[0], i), state_var(side[k], i));
        if (!equal)
            *state_slot(sh, i) = choice_of(sh, q, side, n, i);
    }
}

/* Without a question to ask, as behind a loop of unknown length, what
 * changed is lost. */
void bash_state_blur(struct bash *sh, const struct bash_state *before,
                     const char *text, const char *why)
{
    size_t n = sh->st->n;
    for (size_t i = 0; i < n; i++) {
        const struct bash_var *v = sh->st->var[i];
        if (var_equal(v, state_var(before, i)) || (v && v->body))
            continue;
        struct bash_item_of *item = bash_alloc(sh, 1, sizeof *item);
        struct bash_var *blurred = bash_alloc(sh, 1, sizeof *blurred);
        item->text = bash_unknown(sh, text, why);
        item->loose = v && v->flags & BASH_LIST;
        blurred->flags = v ? v->flags : 0;
        blurred->item = item;
        blurred->n = 1;
        sh->st->var[i] = blurred;
    }
}

/* ---- elements ---- */

const char *bash_get_text(struct bash *sh, const char *name)
{
    const struct bash_var *v = bash_get(sh, name);
    const struct bash_item_of *e = v && v->flags & BASH_ASSOCIATIVE
                                       ? bash_element(v, 0, "0")
                                       : bash_element(v, 0, NULL);
    return e ? e->text : NULL;
}

/* ---- setting ---- */

/* A copy with room for n elements, which the caller may fill. */
static struct bash_var *var_copy(struct bash *sh, const struct bash_var *old,
                                 size_t n)
{
    struct bash_var *v = bash_alloc(sh, 1, sizeof *v);
    struct bash_item_of *item = bash_alloc(sh, n + 1, sizeof *item);
    if (old) {
        *v = *old;
        v->n = old->n < n ? old->n : n;
        if (v->n)
            memcpy(item, old->item, v->n * sizeof *item);
    }
    bash_work(sh, n);
    v->item = item;
    return v;
}

/* declare -l and -u change what is assigned. */
static const char *with_case(struct bash *sh, unsigned flags, const char *text)
{
    if (!(flags & (BASH_LOWER | BASH_UPPER)))
        return text;
    char *copy = bash_strndup(sh, text, strlen(text));
    for (char *p = copy; *p; p++)
        *p = (char)(flags & BASH_LOWER ? tolower((unsigned char)*p)
                                       : toupper((unsigned char)*p));
    return copy;
}

const struct bash_var *bash_peek(struct bash *sh, const char *name)
{
    return *state_slot(sh, symbol_of(sh, name));
}

const char *bash_choice_text(const struct bash_var *v)
{
    return v->choice ? v->choice->question->text : "";
}

/* The value without deciding a choice, whose sides are alike in their flags.
 */
static const struct bash_var *state_peek(struct bash *sh, const char *name)
{
    const struct bash_var *v = *state_slot(sh, symbol_of(sh, name));
    while (v && v->choice)
        v = v->choice->side[0] ? v->choice->side[0] : v->choice->side[1];
    return v;
}

/* A value that the script does not tell is the one that the user gave for the
 * name, although bash would set the other. */
static const char *set_or_given(struct bash *sh, const char *name,
                                const char *text)
{
    for (size_t i = 0; i < sh->in->n_set; i++)
        if (strcmp(sh->in->set[i].name, name) == 0 &&
            bash_has_unknown(sh, text)) {
            bash_note(sh, "%s: %s is not known: the value given with --set",
                      name, bash_readable(sh, text));
            return sh->in->set[i].value;
        }
    return text;
}

/* An assignment to an array without index sets element 0. */
void bash_set(struct bash *sh, const char *name, const char *text)
{
    const struct bash_var *old = state_peek(sh, name);
    text = set_or_given(sh, name, text);
    if (old && old->flags & BASH_READONLY)
        return;
    if (old && old->flags & (BASH_LIST | BASH_ASSOCIATIVE)) {
        bash_set_element(sh, name, "0", 0, text);
        return;
    }
    struct bash_var *v = var_copy(sh, NULL, 1);
    struct bash_item_of *item = bash_alloc(sh, 1, sizeof *item);
    v->flags = old ? old->flags : 0;
    if (sh->st->options & BASH_OPT_ALLEXPORT)
        v->flags |= BASH_EXPORTED;
    item->text = with_case(sh, v->flags, text);
    item->file = sh->at.file;
    item->line = sh->at.line;
    v->item = item;
    v->n = 1;
    bash_put_var(sh, name, v);
}

/* Where the element stands or would: by index, ghosts stay before it. */
static size_t element_place(const struct bash_var *v, const char *key,
                            int64_t index, bool *there)
{
    *there = false;
    for (size_t i = 0; i < v->n; i++) {
        if (v->item[i].ghost)
            continue;
        // what was an indexed array before has no keys
        const char *own = v->item[i].key;
        *there = key ? own && strcmp(own, key) == 0 : v->item[i].index == index;
        if (*there || (!key && v->item[i].index > index))
            return i;
    }
    return v->n;
}

/* Elements of a list stand in the order of their numbers, those of a map in the
 * order in which they came. */
void bash_set_element(struct bash *sh, const char *name, const char *key,
                      int64_t index, const char *text)
{
    const struct bash_var *old = bash_get(sh, name);
    bool map = old && old->flags & BASH_ASSOCIATIVE, there = false;
    if (old && old->flags & BASH_READONLY)
        return;
    if (map && !key)
        key = bash_printf(sh, "%lld", (long long)index);
    struct bash_var *v = var_copy(sh, old, (old ? old->n : 0) + 1);
    v->n = old ? old->n : 0;
    size_t at = element_place(v, map ? key : NULL, index, &there);
    struct bash_item_of *item = bash_alloc(sh, v->n + 1, sizeof *item);
    if (at)
        memcpy(item, v->item, at * sizeof *item);
    item[at] = (struct bash_item_of){.text = with_case(sh, v->flags, text),
                                     .key = map ? key : NULL,
                                     .index = index,
                                     .file = sh->at.file,
                                     .line = sh->at.line};
    size_t rest = v->n - at - there;
    if (rest)
        memcpy(item + at + 1, v->item + at + there, rest * sizeof *item);
    v->item = item;
    v->n = at + 1 + rest;
    v->flags |= map ? 0 : BASH_LIST;
    bash_put_var(sh, name, v);
}

void bash_unset_var(struct bash *sh, const char *name)
{
    bash_put_var(sh, name, NULL);
}

struct flag_change {
    unsigned on, off;
    int depth;
};

/* A copy with other flags; of a choice, of each side. */
static const struct bash_var *
with_flags(struct bash *sh, const struct bash_var *old, struct flag_change by)
{
    struct bash_var *v = var_copy(sh, old, old ? old->n : 0);
    v->flags = (v->flags | by.on) & ~by.off;
    if (!old || !old->choice || ++by.depth > 20)
        return v;
    struct bash_choice *c = bash_alloc(sh, 1, sizeof *c);
    int n = old->choice->question->n_sides;
    const struct bash_var **side = bash_alloc(sh, (size_t)n, sizeof *side);
    for (int i = 0; i < n; i++)
        side[i] = with_flags(sh, old->choice->side[i], by);
    *c = (struct bash_choice){old->choice->question, side};
    v->choice = c;
    return v;
}

/* declare -x on a choice marks each side, or the export would be lost with
 * the decision. */
void bash_set_flags(struct bash *sh, const char *name, unsigned on,
                    unsigned off)
{
    const struct bash_var *old = *state_slot(sh, symbol_of(sh, name));
    const struct flag_change by = {on, off, 0};
    bash_put_var(sh, name, with_flags(sh, old, by));
}

/* ---- local ---- */

void bash_make_local(struct bash *sh, const char *name)
{
    struct bash_saved *s = bash_alloc(sh, 1, sizeof *s);
    s->symbol = symbol_of(sh, name);
    s->var = *state_slot(sh, s->symbol);
    s->next = sh->st->saved;
    sh->st->saved = s;
    // an exported variable stays exported as a local one
    if (s->var && !s->var->choice && s->var->flags & BASH_EXPORTED) {
        struct bash_var *v = var_copy(sh, NULL, 0);
        v->flags = BASH_EXPORTED;
        sh->st->var[s->symbol] = v;
    } else {
        sh->st->var[s->symbol] = NULL;
    }
}

const struct bash_saved *bash_saved_mark(const struct bash *sh)
{
    return sh->st->saved;
}

/* Several hidings of one name are undone from the latest to the first. */
void bash_saved_undo(struct bash *sh, const struct bash_saved *mark)
{
    const struct bash_saved *s = sh->st->saved;
    for (; s && s != mark; s = s->next)
        *state_slot(sh, s->symbol) = s->var;
    sh->st->saved = mark;
}
