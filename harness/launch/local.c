/*
 * How it works: each launcher is a function that writes the words before the
 * trainer; children of this machine need no more.
 */
#include "local.h"

#include <string.h>

/* Shared memory and no network: the usual choice of Open MPI depends on what it
 * finds on the machine, and so would the latency. */
static void prefix_mpirun(struct build *b, const struct launch_request *req,
                          const struct launch *l)
{
    static const char *const local[] = {"--mca", "btl", "self,vader",
                                        "--mca", "pml", "ob1"};
    (void)req;
    build_add(b, "mpirun");
    build_add(b, "--allow-run-as-root");
    build_add_int(b, "-np", l->n_ranks);
    build_add_words(b, &(struct words){local, 6});
}

/* Options that make virtual time equal CPU time, or declared work, and one
 * message take latency + bytes/bandwidth from when both ends have posted it:
 * no factors, no sharing, no protocol limits, always rendezvous. */
static const char *const smpi_words[] = {
    "--cfg=smpi/host-speed:1Gf",        "--cfg=network/model:CM02",
    "--cfg=network/crosstraffic:no",    "--cfg=network/latency-factor:1",
    "--cfg=network/bandwidth-factor:1", "--cfg=network/weight-S:0",
    "--cfg=network/TCP-gamma:0",        "--cfg=smpi/lat-factor:1",
    "--cfg=smpi/bw-factor:1",           "--cfg=smpi/send-is-detached-thresh:0",
    "--log=root.thres:warning"};

static void prefix_smpirun(struct build *b, const struct launch_request *req,
                           const struct launch *l)
{
    (void)req;
    build_add(b, "smpirun");
    build_add_int(b, "-np", l->n_ranks);
    build_add(b, "-platform");
    build_add(b, l->platform);
    build_add_words(
        b, &(struct words){smpi_words, sizeof smpi_words / sizeof *smpi_words});
    if (strcmp(l->clock, "flops") == 0)
        build_add(b, "--cfg=smpi/simulate-computation:no");
}

/* "{ranks}" in a word becomes the number of ranks. */
static void prefix_command(struct build *b, const struct launch_request *req,
                           const struct launch *l)
{
    const struct words *w = &req->manifest->launcher.command;
    for (int i = 0; i < w->n; i++) {
        // once a word
        const char *at = strstr(w->word[i], "{ranks}");
        if (at)
            build_add(b, arena_printf(b->a, "%.*s%d%s", (int)(at - w->word[i]),
                                      w->word[i], l->n_ranks, at + 7));
        else
            build_add(b, w->word[i]);
    }
}

const struct launcher launch_mpirun = {.name = "mpirun",
                                       .help = "Open MPI on this machine, wall "
                                               "clock",
                                       .clock = "wall",
                                       .prefix = prefix_mpirun};

const struct launcher launch_smpirun = {
    .name = "smpirun",
    .help = "SimGrid SMPI: a core a rank in virtual time; clock cpu|flops",
    .clock = "cpu",
    .virtual_time = true,
    .prefix = prefix_smpirun};

const struct launcher launch_command = {
    .name = "command",
    .help = "the words of launcher.command, then the trainer; {ranks}",
    .clock = "wall",
    .any_clock = true,
    .prefix = prefix_command};
