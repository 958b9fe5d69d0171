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
