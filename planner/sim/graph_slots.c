/*
 * How it works: one pass finds the last reader of every node, a second one
 * walks the instructions, takes a free place for each result and gives back
 * the operands' places after their last reader.
 */
#include "graph_slots.h"

#include <limits.h>

/* For each node the last instruction that reads it; `never` beyond. */
static void find_last_uses(const struct graph *g, int *last)
{
    const int n_nodes = g->n_instrs + 1;
    for (int i = 0; i < n_nodes; i++)
        last[i] = i - 1; // unread: its place is free after it was made
    for (int i = 0; i < g->n_instrs; i++) {
        last[g->instrs[i].a] = i;
        last[g->instrs[i].b] = i;
    }
    last[0] = INT_MAX;
    for (int r = 0; r < g->n_ranks; r++)
        last[g->finish[r]] = INT_MAX;
    const int rounds =
        g->rounds ? 2 * g->n_ranks * (g->options.n_rounds + 1) : 0;
    for (int i = 0; i < rounds; i++)
        last[g->rounds[i]] = INT_MAX;
    for (int i = 0; g->options.keep && i < n_nodes; i++)
        last[i] = INT_MAX;
}

/* Everything that names a node now names its place. */
static void rename(const struct graph *g, const int *place)
{
    for (int r = 0; r < g->n_ranks; r++)
        g->finish[r] = place[g->finish[r]];
    const int rounds =
        g->rounds ? 2 * g->n_ranks * (g->options.n_rounds + 1) : 0;
    for (int i = 0; i < rounds; i++)
        g->rounds[i] = place[g->rounds[i]];
    for (int i = 0; i < g->n_marks; i++) {
        g->marks[i].end = place[g->marks[i].end];
        if (g->marks[i].start >= 0)
            g->marks[i].start = place[g->marks[i].start];
    }
}

/* Free places as a stack: what was used last is still in the cache. */
struct pool {
    int *free;
    int n, made;
};

static void give_back(struct pool *pool, const int *last, const int *place,
                      int node, int i)
{
    if (last[node] == i)
        pool->free[pool->n++] = place[node];
}

enum err graph_assign_slots(struct arena *a, struct graph *g)
{
    const size_t n = (size_t)g->n_instrs + 1;
    int *last = arena_alloc(a, n, sizeof *last);
    int *place = arena_alloc(a, n, sizeof *place);
    struct pool pool = {.free = arena_alloc(a, n, sizeof *pool.free),
                        .made = 1};
    if (!last || !place || !pool.free)
        return ERR_NOMEM;
    find_last_uses(g, last);
    for (int i = 0; i < g->n_instrs; i++) {
        struct graph_instr *in = &g->instrs[i];
        const int x = in->a, y = in->b, node = i + 1;
        // taken before the operands' places are free: they never coincide
        place[node] = pool.n ? pool.free[--pool.n] : pool.made++;
        give_back(&pool, last, place, x, i);
        if (y != x)
            give_back(&pool, last, place, y, i);
        give_back(&pool, last, place, node, i);
        in->dst = place[node];
        in->a = place[x];
        in->b = place[y];
    }
    rename(g, place);
    g->n_slots = pool.made;
    return ERR_OK;
}
