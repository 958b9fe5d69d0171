/*
 * How it works: elements stand in the order of their indices. Ghosts, words
 * that vanished since their variable is not set, keep their place for messages
 * and are no elements to bash.
 */
#include "state.h"

#include <string.h>

size_t bash_count(const struct bash_var *v)
{
    size_t n = 0;
    for (size_t i = 0; v && i < v->n; i++)
        n += !v->item[i].ghost;
    return n;
}

/* A negative index counts from behind the last element: ${A[-1]}. */
const struct bash_item_of *bash_element(const struct bash_var *v, int64_t index,
                                        const char *key)
{
    if (!v)
        return NULL;
    if (index < 0 && !key)
        for (size_t i = v->n; i-- > 0;)
            if (!v->item[i].ghost) {
                index += v->item[i].index + 1;
                break;
            }
    for (size_t i = 0; i < v->n; i++)
        if (!v->item[i].ghost &&
            (key ? v->item[i].key && strcmp(v->item[i].key, key) == 0
                 : v->item[i].index == index))
            return &v->item[i];
    return NULL;
}

/* ${A[1]} of A=(a $(cmd) b) is no 'b' where cmd prints nothing or two
 * words; what is known to be one word keeps the others' places. */
const char *bash_loose_mark(struct bash *sh, const struct bash_var *v,
                            int64_t index)
{
    for (size_t i = 0; v && i < v->n; i++) {
        const struct bash_item_of *e = &v->item[i];
        bool before = e->key || index < 0 || e->index <= index;
        const char *mark = e->loose && !e->ghost && before
                               ? bash_first_unknown(sh, e->text)
                               : NULL;
        bool itself = !e->key && e->index == index;
        if (mark && (itself || !bash_is_one_word(bash_mark_cause(sh, mark))))
            return mark;
    }
    return NULL;
}

/* A[$i]=x with an unknown i may have set any of them. */
void bash_blur_elements(struct bash *sh, const char *name, const char *mark)
{
    const struct bash_var *old = bash_get(sh, name);
    struct bash_var *v = bash_alloc(sh, 1, sizeof *v);
    struct bash_item_of *item = bash_alloc(sh, 1, sizeof *item);
    v->flags = old ? old->flags : BASH_LIST;
    *item =
        (struct bash_item_of){.text = mark,
                              .key = v->flags & BASH_ASSOCIATIVE ? "" : NULL,
                              .loose = true,
                              .file = sh->at.file,
                              .line = sh->at.line};
    v->item = item;
    v->n = 1;
    bash_put_var(sh, name, v);
}

/* Variables are shared between ways and never changed: the list is made anew
 * without it. */
void bash_unset_element(struct bash *sh, const char *name, const char *key,
                        int64_t index)
{
    const struct bash_var *old = bash_get(sh, name);
    const struct bash_item_of *e = bash_element(old, index, key);
    if (!e)
        return;
    struct bash_var *v = bash_alloc(sh, 1, sizeof *v);
    struct bash_item_of *item = bash_alloc(sh, old->n, sizeof *item);
    *v = *old;
    v->n = 0;
    v->item = item;
    for (size_t i = 0; i < old->n; i++)
        if (&old->item[i] != e)
            item[v->n++] = old->item[i];
    bash_put_var(sh, name, v);
}
