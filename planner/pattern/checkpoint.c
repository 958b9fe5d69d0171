/*
 * How it works: the layers of a GPT checkpoint are laid along the symbols in
 * order, so that only the sorts and numbers of symbols decide, not their
 * places.
 */
#include "checkpoint.h"

#include <string.h>

static const char *const checkpoint_texts[] = {
#define CHECKPOINT_ROW(name, text) text,
    CHECKPOINT_TABLE(CHECKPOINT_ROW)
#undef CHECKPOINT_ROW
};

const char *checkpoint_text(enum checkpoint_reason r)
{
    return checkpoint_texts[r];
}

static int checkpoint_count(const char *main, char symbol)
{
    int n = 0;
    for (; *main; main++)
        n += *main == symbol;
    return n;
}

/* M has no counterpart and keeps its fresh weights; the i-th * takes the
 * attention of GPT layer i, the i-th - or E its MLP. */
enum checkpoint_reason checkpoint_of_gpt(const struct pattern *p)
{
    int attention = checkpoint_count(p->main, '*');
    int dense = checkpoint_count(p->main, '-');
    int moe = checkpoint_count(p->main, 'E');
    if (p->n_depths)
        return CHECKPOINT_MTP;
    if (p->main[strspn(p->main, "*-EM")])
        return CHECKPOINT_SYMBOLS;
    if (dense && moe)
        return CHECKPOINT_MIXED;
    return attention && attention == dense + moe ? CHECKPOINT_LOADS
                                                 : CHECKPOINT_COUNTS;
}
