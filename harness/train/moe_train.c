/*
 * moe-train: trains a small MoE transformer with MTP over MPI, one rank a
 * pipeline stage or several chunks of it, and prints Megatron's log.
 *
 * How it works: flags to a model, a layout and a schedule; each rank makes its
 * shard; a step is barrier, the schedule, barrier, the optimizer, barrier. All
 * ranks read the same flags, so bad ones are found by all, told by the first.
 */
#include "args.h"
#include "base/process.h"
#include "blas.h"
#include "burst.h"
#include "comm.h"
#include "log.h"
#include "log/runlog.h"
#include "optim.h"
#include "pipeline.h"
#include "shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trainer {
    struct arena arena;
    struct comm comm;
    struct train_args args;
    struct schedule schedule;
    struct shard *shard;
    struct pipeline pipeline;
    struct optim optim;
    struct burst burst;
    struct train_log log;
    int reporter; // the rank that tells an error
};

static bool is_last(const struct trainer *t)
{
    return t->comm.rank == t->comm.world - 1;
}

static enum err make_optim(struct trainer *t, struct err_msg *msg)
{
    const struct train_args *args = &t->args;
    struct adamw adamw = {.lr = train_args_real(args, TRAIN_LR),
                          .beta1 = train_args_real(args, TRAIN_ADAM_BETA1),
                          .beta2 = train_args_real(args, TRAIN_ADAM_BETA2),
                          .eps = train_args_real(args, TRAIN_ADAM_EPS),
                          .decay = train_args_real(args, TRAIN_WEIGHT_DECAY)};
    if (optim_new(&t->arena, t->shard, &adamw,
                  train_args_real(args, TRAIN_CLIP_GRAD), &t->optim) != ERR_OK)
        return err_set(msg, ERR_NOMEM, "optimizer: out of memory");
    return ERR_OK;
}

static int count_routers(const struct model *m)
{
    int n = layer_shape_of_mtp(m).moe ? m->n_mtp : 0;
    for (int i = 0; i < m->n_layers; i++)
        n += layer_shape_of(m, i).moe;
    return n;
}

static enum err make_log(struct trainer *t, struct err_msg *msg)
{
    t->log = (struct train_log){
        .comm = &t->comm,
        .shard = t->shard,
        .pipeline = &t->pipeline,
        .optim = &t->optim,
        .out = is_last(t) ? stdout : NULL,
        .timing_level = (int)train_args_int(&t->args, TRAIN_TIMING_LOG_LEVEL),
        .n_iterations = train_args_int(&t->args, TRAIN_TRAIN_ITERS),
        .global_batch = t->args.model.batch.global_batch,
        .learning_rate = t->optim.adamw.lr,
        .n_routers = count_routers(&t->args.model)};
    const struct train_log_files files = {
        .ops = train_args_text(&t->args, TRAIN_RECORD_OPS),
        .norms = train_args_text(&t->args, TRAIN_RECORD_NORMS)};
    return train_log_new(&t->arena, &t->log, &files, msg);
}

static enum err make_shard(struct trainer *t, struct err_msg *msg)
{
    const struct train_args *args = &t->args;
    enum err e = schedule_build(&t->arena, &args->split.order, args->split.p2p,
                                &t->schedule, msg);
    if (e != ERR_OK)
        return e;
    struct shard_options opt = {
        .model = &args->model,
        .layout = &args->split.layout,
        .order = &args->split.order,
        .rank = t->comm.pp_rank,
        .mtp_factor = train_args_real(args, TRAIN_MTP_LOSS_SCALING_FACTOR),
        .balance_factor = train_args_balance(args),
        .seed = (uint64_t)train_args_int(args, TRAIN_SEED)};
    return shard_new(&t->arena, &opt, &t->shard, msg);
}

/* What can fail is made before the head is printed: a log that begins is of a
 * run that trains. */
static enum err make_all(struct trainer *t, struct err_msg *msg)
{
    enum err e = make_shard(t, msg);
    if (e != ERR_OK)
        return e;
    t->comm.scratch = t->shard->scratch;
    e = pipeline_new(&t->arena, &t->comm, t->shard, &t->schedule, &t->pipeline);
    if (e != ERR_OK)
        return err_set(msg, e, "pipeline: out of memory");
    e = make_optim(t, msg);
    if (e == ERR_OK)
        e = burst_new(&t->arena, &t->comm,
                      (int)train_args_int(&t->args, TRAIN_REFERENCE_BURST),
                      &t->burst, msg);
    return e == ERR_OK ? make_log(t, msg) : e;
}

/* One rank alone may lack memory or a file: all end then, and the first such
 * rank tells why. Whatever may fail on one rank goes before such a call, since
 * a rank that left would keep the others waiting in their next collective one.
 * Collective. */
static enum err moe_train_agree(struct trainer *t, enum err mine)
{
    const struct comm *c = &t->comm;
    int from_end = mine == ERR_OK ? 0 : c->world - c->rank;
    int first = c->world - (int)comm_max(c, from_end);
    if (first == c->world)
        return ERR_OK;
    t->reporter = first;
    return (enum err)comm_max(c, mine);
}

static void moe_train_print_head(struct trainer *t)
{
    double latency_s, bytes_per_s;
    comm_measure_p2p(&t->comm, &latency_s, &bytes_per_s);
    if (!is_last(t))
        return;
    const char *better = blas_better_kernel();
    runlog_print_banner(stdout, comm_clock_name(t->comm.clock), t->comm.world,
                        blas_kernel());
    if (better)
        printf(RUNLOG_BANNER ": warning: blas kernel %s is older than this "
                             "CPU, set OPENBLAS_CORETYPE=%s\n",
               blas_kernel(), better);
    if (t->comm.pp > 1)
        runlog_print_p2p(stdout, latency_s, bytes_per_s);
    if (train_args_dump(&t->arena, &t->args, stdout) != ERR_OK)
        comm_fail(&t->comm, ERR_NOMEM, "arguments: out of memory");
    fflush(stdout);
}

/* Barriers part what is timed: a rank that is late would else lend its wait to
 * another part. The burst stands before the step, and outside of it. */
static void run_step(struct trainer *t, int64_t iteration)
{
    const struct comm *c = &t->comm;
    struct train_step step = {.iteration = iteration};
    int64_t sample = (iteration - 1) * t->args.model.batch.global_batch;
    step.reference_ms = burst_run_ms(&t->burst, c);
    shard_reset_losses(t->shard);
    comm_barrier(c);
    double start_s = comm_now(c);
    pipeline_run(&t->pipeline, start_s, sample);
    step.forward_backward_s = comm_now(c) - start_s;
    comm_barrier(c);
    optim_step(&t->optim, c, t->shard, &step.optim);
    comm_barrier(c);
    step.step_s = comm_max(c, comm_now(c) - start_s);
    train_log_step(&t->log, &step);
}

/* All ranks agree on an error, or those without it would wait for the others.
 */
static enum err moe_train_train(struct trainer *t, struct err_msg *msg)
{
    comm_split(&t->comm, t->args.model.par.pp);
    enum err e = moe_train_agree(t, make_all(t, msg));
    if (e != ERR_OK)
        return e;
    moe_train_print_head(t);
    for (int64_t i = 1; i <= t->log.n_iterations; i++)
        run_step(t, i);
    return moe_train_agree(t, train_log_close(&t->log, msg));
}

static enum err moe_train_read(struct trainer *t, int argc, char **argv,
                               struct err_msg *msg)
{
    enum err e = train_args_read(&t->arena, (struct option_line){argc, argv, 1},
                                 t->comm.world, &t->args, msg);
    if (e != ERR_OK || t->args.help)
        return e;
    e = comm_clock_from_name(train_args_text(&t->args, TRAIN_CLOCK),
                             &t->comm.clock, msg);
    t->args.clock = comm_clock_name(t->comm.clock);
    return e;
}

static enum err moe_train_start(struct trainer *t, int argc, char **argv,
                                struct err_msg *msg)
{
    enum err e = moe_train_agree(t, moe_train_read(t, argc, argv, msg));
    if (e != ERR_OK || !t->args.help)
        return e == ERR_OK ? moe_train_train(t, msg) : e;
    if (t->comm.rank == 0)
        train_args_print_help(stdout);
    return ERR_OK;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Not a rank of a job, of which only the first one prints: what starts jobs
 * tells their processes so. */
static bool is_alone(void)
{
    return !comm_is_simulated() && !getenv("OMPI_COMM_WORLD_RANK") &&
           !getenv("PMIX_RANK") && !getenv("PMI_RANK");
}

int main(int argc, char **argv)
{
    struct trainer t = {.shard = NULL};
    struct err_msg msg = {""};
    enum err ready = process_prepare(&msg);
    if (ready != ERR_OK) {
        fprintf(stderr, "moe-train: %s\n", msg.text);
        return err_exit_code(ready);
    }
    if (argc < 2) {
        train_args_print_usage(stderr);
        return EXIT_BAD_INPUT;
    }
    // no job is wanted for it, nor an MPI that works
    if (argc == 2 && is_help(argv[1]) && is_alone()) {
        train_args_print_help(stdout);
        return fflush(stdout) == 0 ? 0 : err_exit_code(ERR_IO);
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("moe-train " MOE_VERSION);
        return 0;
    }
    if (!comm_is_simulated())
        blas_choose(argv);
    blas_use_one_thread();
    arena_init(&t.arena);
    comm_init(&t.comm, &argc, &argv);
    enum err e = moe_train_start(&t, argc, argv, &msg);
    if (e != ERR_OK && t.comm.rank == t.reporter)
        fprintf(stderr, "moe-train: %s\n", msg.text);
    burst_free(&t.burst);
    shard_free(t.shard);
    comm_end(&t.comm);
    arena_clear(&t.arena);
    return err_exit_code(e);
}
