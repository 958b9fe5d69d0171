#include "memory_order.h"

static int least(int a, int b)
{
    return a < b ? a : b;
}

int memory_order_warmup(const struct memory_order *o)
{
    if (o->vpp == 1)
        return least(o->pp - 1 - o->rank, o->n_mb);
    return least(2 * (o->pp - 1 - o->rank) + (o->vpp - 1) * o->group,
                 o->n_mb * o->vpp);
}

int memory_order_size(const struct memory_order *o)
{
    return 2 * o->n_mb * o->vpp;
}

/* The k-th forward, or the k-th backward with chunks from last to first: all
 * micro-batches of a group pass a chunk before the next chunk's turn. */
static struct memory_op work(const struct memory_order *o, bool forward, int k)
{
    int in_group = o->vpp == 1 ? o->n_mb : o->group;
    int full = in_group * o->vpp, first = k / full * in_group;
    int size = least(in_group, o->n_mb - first);
    int chunk = k % full / size;
    return (struct memory_op){.forward = forward,
                              .chunk = forward ? chunk : o->vpp - 1 - chunk,
                              .mb = first + k % full % size};
}

struct memory_op memory_order_at(const struct memory_order *o, int i)
{
    int warm = memory_order_warmup(o), all = o->n_mb * o->vpp;
    if (i < warm)
        return work(o, true, i);
    int steady = i - warm;
    if (steady < 2 * (all - warm)) {
        bool forward = steady % 2 == 0;
        return work(o, forward, forward ? warm + steady / 2 : steady / 2);
    }
    return work(o, false, i - all);
}
