/*
 * How it works: --standalone finds a free port by itself on one node; several
 * nodes meet at an address that the launcher or the manifest names.
 */
#include "torchrun.h"

void launch_torchrun_words(struct build *b, const struct launch_request *req,
                           const struct launch *l, const char *rendezvous)
{
    int64_t nodes = launcher_nodes(req->manifest);
    build_add(b, "torchrun");
    if (nodes == 1) {
        build_add(b, "--standalone");
    } else {
        build_add_int(b, "--nnodes", nodes);
        build_add(b, "--rdzv-backend");
        build_add(b, "c10d");
        build_add(b, "--rdzv-endpoint");
        build_add(b, rendezvous ? rendezvous : "<launcher.rendezvous>");
    }
    build_add_int(b, "--nproc-per-node", l->n_ranks / nodes);
}

static void torchrun_prefix(struct build *b, const struct launch_request *req,
                            const struct launch *l)
{
    launch_torchrun_words(b, req, l, req->manifest->launcher.rendezvous);
}

/* Words go on a node's own command line: others are started by the user. */
static enum err torchrun_check(struct arena *a, const struct manifest *mf,
                               struct err_msg *msg)
{
    (void)a;
    if (launcher_nodes(mf) > 1 && !mf->launcher.rendezvous)
        return err_set(msg, ERR_PARSE,
                       "%s: launcher: rendezvous: missing, want host:port "
                       "where the %lld nodes meet",
                       mf->path, (long long)launcher_nodes(mf));
    return ERR_OK;
}

const struct launcher launch_torchrun = {
    .name = "torchrun",
    .help = "Megatron-LM on this node's GPUs; several nodes by rendezvous",
    .clock = "wall",
    .deps = "torchrun",
    .next = "activate the environment or container that has PyTorch",
    .prefix = torchrun_prefix,
    .check = torchrun_check};
