/*
 * One block of words holds arcs, nodes and load bounds, so that a copy is one
 * memcpy; masks of more than 64 positions take several words.
 */
#include "live.h"

#include <string.h>

static size_t live_n_words(const struct live *l)
{
    size_t arcs = (size_t)l->n_stages * (size_t)l->n_pos * (size_t)l->words;
    return arcs + (size_t)(l->n_stages + 1) * (size_t)l->words +
           2 * (size_t)l->pp;
}

bool live_new(struct arena *a, const struct space *sp, struct live *out)
{
    struct live l = {.n_stages = sp->n_stages,
                     .n_pos = sp->n_pos,
                     .pp = sp->pp,
                     .words = (sp->n_pos + LIVE_WORD - 1) / LIVE_WORD};
    l.arc = arena_alloc(a, live_n_words(&l), sizeof *l.arc);
    if (!l.arc)
        return false;
    l.node = live_arc(&l, l.n_stages, 0);
    l.load = (int64_t *)live_node(&l, l.n_stages + 1);
    *out = l;
    return true;
}

static void live_set(uint64_t *mask, int at)
{
    mask[at / LIVE_WORD] |= (uint64_t)1 << (at % LIVE_WORD);
}

bool live_fill(struct live *l, const struct space *sp)
{
    memset(l->arc, 0, live_n_words(l) * sizeof *l->arc);
    for (int s = 0; s < l->n_stages; s++)
        for (int from = sp->lo[s]; from <= sp->hi[s]; from++)
            for (int to = from; to < l->n_pos; to++)
                if (space_allows(sp, s, from, to)) {
                    live_set(live_arc(l, s, from), to);
                    live_set(live_node(l, s), from);
                }
    live_set(live_node(l, l->n_stages), l->n_pos - 1);
    for (int r = 0; r < sp->pp; r++)
        live_load(l, r)[1] =
            sp->sum[SPACE_FWD][l->n_pos - 1] + sp->sum[SPACE_BWD][l->n_pos - 1];
    return live_clean(l);
}

void live_copy(struct live *to, const struct live *from)
{
    memcpy(to->arc, from->arc, live_n_words(from) * sizeof *from->arc);
}

/* Nodes of `stage` without an arc, and arcs of nodes that are not live. */
static void live_clean_stage(struct live *l, int stage)
{
    uint64_t *node = live_node(l, stage), *next = live_node(l, stage + 1);
    for (int from = 0; from < l->n_pos; from++) {
        uint64_t *arc = live_arc(l, stage, from), any = 0;
        bool on = live_has(node, from);
        for (int w = 0; w < l->words; w++)
            any |= arc[w] = on ? arc[w] & next[w] : 0;
        if (on && !any)
            node[from / LIVE_WORD] &= ~((uint64_t)1 << (from % LIVE_WORD));
    }
}

/* Nodes of stage + 1 that no live node of `stage` leads to. */
static void live_reach_stage(struct live *l, int stage)
{
    uint64_t reached[LIVE_MAX_WORDS] = {0};
    uint64_t *node = live_node(l, stage), *next = live_node(l, stage + 1);
    int n = l->words;
    for (int p = live_next(node, n, 0); p >= 0; p = live_next(node, n, p + 1))
        for (int w = 0; w < n; w++)
            reached[w] |= live_arc(l, stage, p)[w];
    for (int w = 0; w < n; w++)
        next[w] &= reached[w];
}

/* Forwards drops what cannot be reached, backwards what leads nowhere; with
 * both done once each arc lies on a path. */
bool live_clean(struct live *l)
{
    for (int s = 0; s < l->n_stages; s++)
        live_reach_stage(l, s);
    for (int s = l->n_stages - 1; s >= 0; s--)
        live_clean_stage(l, s);
    return live_has(live_node(l, 0), 0);
}

/* Bits 0..at of word `w`. */
static uint64_t live_up_to(int w, int at)
{
    int bit = at - w * LIVE_WORD;
    if (bit < 0)
        return 0;
    return bit >= LIVE_WORD - 1 ? ~(uint64_t)0 : ((uint64_t)2 << bit) - 1;
}

/* Bits from..to of word `w`. */
static uint64_t live_range(int w, int from, int to)
{
    return live_up_to(w, to) & ~live_up_to(w, from - 1);
}

bool live_keep(struct live *l, int stage, int from, int to)
{
    for (int w = 0; w < l->words; w++)
        live_node(l, stage)[w] &= live_range(w, from, to);
    return live_clean(l);
}

bool live_drop(struct live *l, int stage, int from, int to)
{
    for (int w = 0; w < l->words; w++)
        live_node(l, stage)[w] &= ~live_range(w, from, to);
    return live_clean(l);
}

int live_count(const struct live *l, int stage)
{
    int n = 0;
    for (int w = 0; w < l->words; w++)
        n += __builtin_popcountll(live_node(l, stage)[w]);
    return n;
}

int live_first(const struct live *l, int stage)
{
    return live_next(live_node(l, stage), l->words, 0);
}

int live_last(const struct live *l, int stage)
{
    for (int p = l->n_pos - 1; p >= 0; p--)
        if (live_has(live_node(l, stage), p))
            return p;
    return -1;
}

int live_nth(const struct live *l, int stage, int k)
{
    int p = live_first(l, stage);
    while (k-- > 0)
        p = live_next(live_node(l, stage), l->words, p + 1);
    return p;
}

int live_arcs(const struct live *l)
{
    int n = 0;
    for (size_t i = 0;
         i < (size_t)l->n_stages * (size_t)l->n_pos * (size_t)l->words; i++)
        n += __builtin_popcountll(l->arc[i]);
    return n;
}

void live_lengths(const struct live *l, int stage, int *fewest, int *most)
{
    const uint64_t *node = live_node(l, stage);
    *fewest = l->n_pos;
    *most = 0;
    for (int i = live_first(l, stage); i >= 0;
         i = live_next(node, l->words, i + 1)) {
        const uint64_t *arc = live_arc(l, stage, i);
        int w = l->words - 1, first = live_next(arc, l->words, i) - i;
        while (!arc[w])
            w--;
        int last = w * LIVE_WORD + LIVE_WORD - 1 - __builtin_clzll(arc[w]) - i;
        *fewest = first < *fewest ? first : *fewest;
        *most = last > *most ? last : *most;
    }
}

/* Of each node's arcs those that span from..to, or the others. */
static bool live_filter_lengths(struct live *l, int stage, int from, int to,
                                bool keep)
{
    const uint64_t *node = live_node(l, stage);
    for (int i = live_first(l, stage); i >= 0;
         i = live_next(node, l->words, i + 1))
        for (int w = 0; w < l->words; w++) {
            uint64_t range = live_range(w, i + from, i + to);
            live_arc(l, stage, i)[w] &= keep ? range : ~range;
        }
    return live_clean(l);
}

bool live_keep_lengths(struct live *l, int stage, int from, int to)
{
    return live_filter_lengths(l, stage, from, to, true);
}

bool live_drop_lengths(struct live *l, int stage, int from, int to)
{
    return live_filter_lengths(l, stage, from, to, false);
}
