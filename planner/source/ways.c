#include "ways.h"

#include <string.h>

/* ---- decisions ---- */

/* Side that the way took at the decision; -1 where it does not come to it. */
static int ways_side(const struct bash_way *w, const struct bash_decision *d)
{
    for (size_t i = 0; i < w->n_decisions; i++)
        if (w->decision[i].line == d->line &&
            strcmp(w->decision[i].file, d->file) == 0 &&
            strcmp(w->decision[i].text, d->text) == 0)
            return w->decision[i].side + 2 * w->decision[i].taken;
    return -1;
}

/* The first decision on which two ways part. */
const struct bash_decision *ways_parting(const struct bash_way *a,
                                         const struct bash_way *b)
{
    for (size_t i = 0; i < a->n_decisions; i++)
        if (ways_side(a, &a->decision[i]) != ways_side(b, &a->decision[i]))
            return &a->decision[i];
    return b->n_decisions ? &b->decision[0] : NULL;
}

/* ---- slots ---- */

static bool ways_same_slot(const struct megatron_flags *a,
                           const struct megatron_flags *b, enum flag_id id)
{
    const struct flag_slot *x = &a->slot[id], *y = &b->slot[id];
    if ((x->turn > 0) != (y->turn > 0) || !x->unknown != !y->unknown)
        return false;
    if (!x->turn || x->unknown)
        return true;
    switch (flag_type(id)) {
    case FLAG_TYPE_INT:
        return x->value.whole == y->value.whole;
    case FLAG_TYPE_REAL:
        return !(x->value.real < y->value.real) &&
               !(x->value.real > y->value.real);
    case FLAG_TYPE_BOOL:
        return x->value.on == y->value.on;
    default:
        return strcmp(x->value.text, y->value.text) == 0;
    }
}

bool ways_same(const struct megatron_flags *a, const struct megatron_flags *b)
{
    for (int i = 0; i < N_FLAGS; i++)
        if (!ways_same_slot(a, b, (enum flag_id)i))
            return false;
    return true;
}

/* A flag that differs between ways is not known, and says which decision it
 * hangs on. */
enum err ways_merge(struct megatron_flags *into,
                    const struct megatron_flags *other,
                    const struct flag_unknown *why, struct err_msg *msg)
{
    enum err e = ERR_OK;
    for (int i = 0; i < N_FLAGS && e == ERR_OK; i++) {
        enum flag_id id = (enum flag_id)i;
        if (!into->slot[i].unknown && !ways_same_slot(into, other, id))
            e = flags_set_unknown(into, id, why, msg);
    }
    return e;
}
