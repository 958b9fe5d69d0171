#include "transfer.h"

double transfer_bytes(const struct model *m, int value_bytes, int n_states)
{
    const struct batch *b = &m->batch;
    int ranks = m->par.cp; // that share one hidden state among them
    if (m->memory.sequence_parallel)
        ranks *= m->par.tp;
    return (double)(b->micro_batch * b->seq_tokens * m->hidden) / ranks *
           value_bytes * n_states;
}

bool transfer_between_nodes(const struct parallel *par, int pp,
                            int gpus_per_node, int rank)
{
    const int ranks = par->world / pp;
    const int from = rank * ranks, to = (rank + 1) % pp * ranks;
    for (int i = 0; i < ranks && gpus_per_node > 0; i++)
        if ((from + i) / gpus_per_node != (to + i) / gpus_per_node)
            return true;
    return false;
}
