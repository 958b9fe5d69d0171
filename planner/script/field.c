#include "field.h"

#include <ctype.h>
#include <string.h>

/* ---- text ---- */

/* Old rooms stay with the arena; by doubling they are together no larger than
 * the new one. */
static void field_room(struct bash *sh, struct bash_field_text *to, size_t n)
{
    if (to->n + n + 1 <= to->cap)
        return;
    if (to->n + n > BASH_MAX_TEXT)
        bash_fail(sh, ERR_RANGE, "a text of more than %d MB",
                  BASH_MAX_TEXT >> 20);
    size_t cap = 2 * (to->n + n) + 64;
    char *s = bash_alloc(sh, cap, 1);
    unsigned char *q = bash_alloc(sh, cap, 1);
    if (to->n) {
        memcpy(s, to->s, to->n);
        memcpy(q, to->q, to->n);
    }
    to->s = s;
    to->q = q;
    to->cap = cap;
}

void bash_field_put(struct bash *sh, struct bash_field_text *to, const char *s,
                    size_t n, enum bash_quote q)
{
    field_room(sh, to, n);
    memcpy(to->s + to->n, s, n);
    memset(to->q + to->n, (int)q, n);
    to->n += n;
    bash_work(sh, n);
}

void bash_field_puts(struct bash *sh, struct bash_field_text *to, const char *s,
                     enum bash_quote q)
{
    bash_field_put(sh, to, s, strlen(s), q);
}

void bash_field_mark(struct bash *sh, struct bash_field_text *to,
                     enum bash_quote q)
{
    bash_field_put(sh, to, "", 1, q);
}

/* Words keep the line where their text was written, not where it was passed
 * on: that is where the user would change it. */
void bash_field_origin(struct bash *sh, struct bash_field_text *to, size_t from,
                       const struct bash_item_of *item)
{
    if (to->n_origins == to->cap_origins) {
        to->cap_origins = 2 * to->cap_origins + 4;
        struct bash_origin *o = bash_alloc(sh, to->cap_origins, sizeof *o);
        if (to->n_origins)
            memcpy(o, to->origin, to->n_origins * sizeof *o);
        to->origin = o;
    }
    to->origin[to->n_origins++] = (struct bash_origin){from, to->n, item};
}

/* Two of the kinds are signs between characters and hold none. */
static bool field_is_char(const struct bash_field_text *f, size_t i)
{
    return f->q[i] != BASH_Q_NULL && f->q[i] != BASH_Q_BREAK;
}

/* Breaks become blanks: "$@" where one word is wanted, as behind NAME=,
 * joins so. */
const char *bash_field_text(struct bash *sh, const struct bash_field_text *f)
{
    struct bash_text t = {0};
    for (size_t i = 0; i < f->n; i++)
        if (field_is_char(f, i))
            bash_putc(sh, &t, f->s[i]);
        else if (f->q[i] == BASH_Q_BREAK)
            bash_putc(sh, &t, ' ');
    return bash_text_of(&t);
}

/* A quoted star is a star: bash tells by the quotes, the matcher by a
 * backslash. */
const char *bash_field_pattern(struct bash *sh, const struct bash_field_text *f)
{
    struct bash_text t = {0};
    for (size_t i = 0; i < f->n; i++) {
        bool quoted = f->q[i] == BASH_Q_QUOTED || f->q[i] == BASH_Q_LOOSE;
        if (f->q[i] == BASH_Q_BREAK)
            bash_putc(sh, &t, ' ');
        if (!field_is_char(f, i))
            continue;
        if (quoted && strchr("*?[]\\+@!(|)-^", f->s[i]))
            bash_putc(sh, &t, '\\');
        bash_putc(sh, &t, f->s[i]);
    }
    return bash_text_of(&t);
}

/* ---- words ---- */

/* Counted as a step: {1..100000000} makes words and no commands. */
void bash_words_add(struct bash *sh, struct bash_words *to, const char *text,
                    bool ghost, bool loose)
{
    if (to->n == to->cap) {
        to->cap = 2 * to->cap + 8;
        struct bash_item_of *item = bash_alloc(sh, to->cap, sizeof *item);
        if (to->n)
            memcpy(item, to->item, to->n * sizeof *item);
        to->item = item;
    }
    bash_step(sh);
    to->item[to->n++] = (struct bash_item_of){.text = text,
                                              .ghost = ghost,
                                              .loose = loose,
                                              .file = sh->at.file,
                                              .line = sh->at.line};
}

void bash_words_copy(struct bash *sh, struct bash_words *to,
                     const struct bash_item_of *item)
{
    bash_words_add(sh, to, item->text, item->ghost, item->loose);
    to->item[to->n - 1].file = item->file;
    to->item[to->n - 1].line = item->line;
}

/* Characters of IFS that are not known are left out: words are split at the
 * others. */
const char *bash_ifs(struct bash *sh)
{
    const char *ifs = bash_get_text(sh, "IFS");
    struct bash_text t = {0};
    if (!ifs)
        return " \t\n";
    if (!bash_has_mark(ifs))
        return ifs;
    for (const char *p = ifs; *p; p += bash_mark_len(p) ? bash_mark_len(p) : 1)
        if (!bash_mark_len(p))
            bash_putc(sh, &t, *p);
    return bash_text_of(&t);
}

/* A word being split. */
struct splitter {
    struct bash *sh;
    const struct bash_field_text *from;
    const char *ifs;
    struct bash_words *to;
    struct bash_text word;
    bool any;   // something is there, if only ""
    bool solid; // more than marks of variables that are not set
    bool loose;
    size_t begin;  // of the word
    size_t origin; // the first that does not end before it
};

/* Where the word comes from, if an expansion made it. */
static void split_origin(struct splitter *s)
{
    const struct bash_field_text *f = s->from;
    struct bash_item_of *e = &s->to->item[s->to->n - 1];
    while (s->origin < f->n_origins && f->origin[s->origin].to <= s->begin)
        s->origin++;
    if (s->origin < f->n_origins && f->origin[s->origin].from <= s->begin &&
        f->origin[s->origin].item->file) {
        e->file = f->origin[s->origin].item->file;
        e->line = f->origin[s->origin].item->line;
    }
}

/* Where nothing but marks of unset variables stood, the word is a ghost:
 * bash drops it, messages name it. */
static void split_end(struct splitter *s)
{
    if (s->any) {
        bash_words_add(s->sh, s->to, bash_text_of(&s->word), !s->solid,
                       s->loose);
        split_origin(s);
    }
    s->word = (struct bash_text){0};
    s->any = s->solid = s->loose = false;
}

/* Takes the mark at i whole; bytes taken. */
static size_t split_mark(struct splitter *s, size_t i)
{
    const char *p = s->from->s + i;
    size_t n = bash_mark_len(p);
    bool unset = bash_mark_cause(s->sh, p)->kind == BASH_UNSET;
    bash_put(s->sh, &s->word, p, n);
    s->any = true;
    s->solid = s->solid || !unset || s->from->q[i] == BASH_Q_QUOTED;
    s->loose = s->loose || s->from->q[i] != BASH_Q_QUOTED;
    return n;
}

/* bash treats blanks of IFS and its other characters differently: several
 * blanks make one gap, two colons have an empty word between them. */
static bool split_blank(const struct splitter *s, size_t i)
{
    char c = s->from->s[i];
    return s->from->q[i] == BASH_Q_SPLIT && c && strchr(s->ifs, c) &&
           strchr(" \t\n", c);
}

static bool split_other(const struct splitter *s, size_t i)
{
    char c = s->from->s[i];
    return s->from->q[i] == BASH_Q_SPLIT && c && strchr(s->ifs, c) &&
           !strchr(" \t\n", c);
}

/* At a character of IFS: blanks around one other character make one gap. */
static size_t split_gap(struct splitter *s, size_t i)
{
    size_t n = s->from->n;
    while (i < n && split_blank(s, i))
        i++;
    if (i < n && split_other(s, i)) {
        s->any = s->solid = true;
        i++;
        while (i < n && split_blank(s, i))
            i++;
    }
    split_end(s);
    return i;
}

/* Only what an expansion made is split: IFS=, leaves a literal a,b whole. */
void bash_split(struct bash *sh, const struct bash_field_text *from,
                struct bash_words *to)
{
    struct splitter s = {.sh = sh, .from = from, .to = to};
    s.ifs = bash_ifs(sh);
    for (size_t i = 0; i < from->n;) {
        s.begin = s.any ? s.begin : i;
        if (from->q[i] == BASH_Q_BREAK) {
            split_end(&s);
            i++;
        } else if (from->q[i] == BASH_Q_NULL) {
            s.any = s.solid = true;
            i++;
        } else if (bash_mark_len(from->s + i)) {
            i += split_mark(&s, i);
        } else if (split_blank(&s, i) || split_other(&s, i)) {
            i = split_gap(&s, i);
        } else {
            bash_putc(sh, &s.word, from->s[i++]);
            s.any = s.solid = true;
        }
    }
    split_end(&s);
}

/* Ghosts take no index, as bash never had them. */
const struct bash_var *bash_list_of(struct bash *sh,
                                    const struct bash_words *words)
{
    struct bash_var *v = bash_alloc(sh, 1, sizeof *v);
    int64_t index = 0;
    for (size_t i = 0; i < words->n; i++) {
        words->item[i].index = index;
        index += !words->item[i].ghost;
    }
    v->flags = BASH_LIST;
    v->item = words->item;
    v->n = words->n;
    return v;
}

/* Room behind the n elements of `old` for `more`: its own where nobody else has
 * grown into it, else a copy of twice the size. */
static struct bash_room *list_room(struct bash *sh, const struct bash_var *old,
                                   size_t more)
{
    size_t n = old ? old->n : 0;
    struct bash_room *room = old ? old->room : NULL;
    if (room && room->item == old->item && room->used == n &&
        room->cap - n >= more)
        return room;
    room = bash_alloc(sh, 1, sizeof *room);
    room->cap = 2 * (n + more);
    room->item = bash_alloc(sh, room->cap, sizeof *room->item);
    if (n)
        memcpy(room->item, old->item, n * sizeof *room->item);
    room->used = n;
    bash_work(sh, n);
    return room;
}

/* In place, where the list was the last one to grow into its room:
 * `LIST+=(...)` in a loop would else cost the square of its length. A ghost
 * takes no number, as bash would see nothing there. */
const struct bash_var *bash_list_add(struct bash *sh,
                                     const struct bash_var *old,
                                     const struct bash_words *words)
{
    struct bash_room *room = list_room(sh, old, words->n);
    struct bash_var *v = bash_alloc(sh, 1, sizeof *v);
    int64_t next = 0;
    for (size_t i = room->used; i-- > 0;)
        if (!room->item[i].ghost) {
            next = room->item[i].index + 1;
            break;
        }
    for (size_t i = 0; i < words->n; i++) {
        struct bash_item_of *e = &room->item[room->used++];
        *e = words->item[i];
        e->key = NULL;
        e->index = next;
        next += !e->ghost;
    }
    v->flags = (old ? old->flags : 0) | BASH_LIST;
    v->item = room->item;
    v->n = room->used;
    v->room = room;
    return v;
}

/* ---- patterns ---- */

struct matcher {
    struct bash *sh;
    bool extended;
    int depth;
};

static bool match_here(struct matcher *m, const char *p, const char *end,
                       const char *t, const char *t_end);

/* Named class at p ("[:digit:]"): bytes taken, 0 where there is none. */
static size_t class_at(const char *p, unsigned char c, bool *in)
{
    static const struct {
        const char *name;
        int (*is)(int);
    } table[] = {{"alpha", isalpha},  {"digit", isdigit}, {"alnum", isalnum},
                 {"upper", isupper},  {"lower", islower}, {"space", isspace},
                 {"blank", isblank},  {"punct", ispunct}, {"print", isprint},
                 {"xdigit", isxdigit}};
    if (p[0] != '[' || p[1] != ':')
        return 0;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        size_t n = strlen(table[i].name);
        if (strncmp(p + 2, table[i].name, n) == 0 &&
            strncmp(p + 2 + n, ":]", 2) == 0) {
            *in = *in || table[i].is(c);
            return n + 4;
        }
    }
    return 0;
}

/* The set that begins at p ('['): its end, NULL where it is none. */
static const char *match_set(const char *p, const char *end, unsigned char c,
                             bool *in)
{
    bool not = p + 1 < end && (p[1] == '!' || p[1] == '^');
    const char *from = p + 1 + not ;
    *in = false;
    for (p = from; p < end && (*p != ']' || p == from);) {
        size_t n = class_at(p, c, in);
        if (n) {
            p += n;
            continue;
        }
        p += *p == '\\' && p + 1 < end;
        unsigned char lo = (unsigned char)*p++, hi = lo;
        if (p + 1 < end && *p == '-' && p[1] != ']') {
            p++;
            p += *p == '\\' && p + 1 < end;
            hi = (unsigned char)*p++;
        }
        *in = *in || (c >= lo && c <= hi);
    }
    *in = *in != not ;
    return p < end ? p + 1 : NULL;
}

/* End of the ( ) that begins at p. */
static const char *match_paren(const char *p, const char *end)
{
    int depth = 0;
    for (; p < end; p++) {
        if (*p == '\\' && p + 1 < end)
            p++;
        else if (*p == '(')
            depth++;
        else if (*p == ')' && --depth == 0)
            return p;
    }
    return NULL;
}

/* Does one of the alternatives between p and end match t? */
static bool match_any(struct matcher *m, const char *p, const char *end,
                      const char *t, const char *t_end)
{
    int depth = 0;
    const char *from = p;
    for (;; p++) {
        if (p == end || (*p == '|' && depth == 0)) {
            if (match_here(m, from, p, t, t_end))
                return true;
            if (p == end)
                return false;
            from = p + 1;
        } else if (*p == '\\' && p + 1 < end) {
            p++;
        } else {
            depth += (*p == '(') - (*p == ')');
        }
    }
}

/* ?(a|b), *(...), +(...), @(...), !(...): `p` is at the sign. */
static bool match_extended(struct matcher *m, const char *p, const char *end,
                           const char *t, const char *t_end)
{
    const char *close = match_paren(p + 1, end);
    const char *rest = close + 1;
    char sign = *p;
    if ((sign == '?' || sign == '*') && match_here(m, rest, end, t, t_end))
        return true;
    for (const char *to = t; to <= t_end; to++) {
        bash_work(m->sh, 16);
        if (match_any(m, p + 2, close, t, to) == (sign == '!'))
            continue;
        if (match_here(m, rest, end, to, t_end))
            return true;
        if ((sign == '*' || sign == '+') && to > t &&
            match_extended(m, p, end, to, t_end))
            return true;
    }
    return false;
}

/* Behind a star: the rest at every place. */
static bool match_star(struct matcher *m, const char *p, const char *end,
                       const char *t, const char *t_end)
{
    while (p < end && *p == '*' && !(m->extended && p + 1 < end && p[1] == '('))
        p++;
    if (p == end)
        return true;
    for (; t <= t_end; t++)
        if (match_here(m, p, end, t, t_end))
            return true;
    return false;
}

/* A [ without its ] is a character as any other. */
static bool match_one(struct matcher *m, const char **p, const char *end,
                      char c)
{
    bool in = false;
    const char *set =
        **p == '[' ? match_set(*p, end, (unsigned char)c, &in) : NULL;
    if (set) {
        *p = set;
        return in;
    }
    if (**p == '?') {
        (*p)++;
        return true;
    }
    *p += **p == '\\' && *p + 1 < end;
    bash_work(m->sh, 1);
    return *(*p)++ == c;
}

static bool match_loop(struct matcher *m, const char *p, const char *end,
                       const char *t, const char *t_end)
{
    while (p < end) {
        bash_work(m->sh, 4);
        if (m->extended && p + 1 < end && p[1] == '(' && strchr("?*+@!", *p) &&
            match_paren(p + 1, end))
            return match_extended(m, p, end, t, t_end);
        if (*p == '*')
            return match_star(m, p + 1, end, t, t_end);
        if (t == t_end || !match_one(m, &p, end, *t))
            return false;
        t++;
    }
    return t == t_end;
}

/* All time goes through here: a pattern of many stars grows with a power of
 * its length, which bash_work() ends. */
static bool match_here(struct matcher *m, const char *p, const char *end,
                       const char *t, const char *t_end)
{
    if (++m->depth > 10 * BASH_MAX_DEPTH)
        bash_fail(m->sh, ERR_RANGE, "a pattern that is too deep");
    bool yes = match_loop(m, p, end, t, t_end);
    m->depth--;
    return yes;
}

/* Bytes, not characters: '?' takes half of an umlaut. File names and sizes
 * of models have none. */
bool bash_match(struct bash *sh, const char *pattern, const char *text,
                size_t n)
{
    struct matcher m = {sh, sh->st->options & BASH_OPT_EXTGLOB, 0};
    return match_here(&m, pattern, pattern + strlen(pattern), text, text + n);
}
