#include "log.h"

#include "base/csv.h"
#include "log/runlog.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static const char ops_format[] = "moe-train/ops/1";
static const char norms_format[] = "moe-train/norms/1";

enum { LOG_OP_VALUES = 5, LOG_MEMORY_LINES = 2 };

enum timer {
    T_FORWARD,
    T_BACKWARD,
    T_EXCHANGE,
    T_FORWARD_BACKWARD,
    T_GRADS_SYNC,
    T_EMBEDDING_SYNC,
    T_OPTIMIZER,
    N_TIMERS
};

static const struct {
    const char *name;
    int level; // --timing-log-level from which it is printed
} timers[N_TIMERS] = {
    [T_FORWARD] = {RUNLOG_FORWARD, 2},
    [T_BACKWARD] = {RUNLOG_BACKWARD, 2},
    [T_EXCHANGE] = {"pipeline-exchange", 2},
    [T_FORWARD_BACKWARD] = {RUNLOG_FORWARD_BACKWARD, 1},
    [T_GRADS_SYNC] = {RUNLOG_GRADS_SYNC, 1},
    [T_EMBEDDING_SYNC] = {RUNLOG_EMBEDDING_SYNC, 1},
    [T_OPTIMIZER] = {RUNLOG_OPTIMIZER, 1},
};

static bool train_log_prints(const struct train_log *log)
{
    return log->comm->rank == log->comm->world - 1;
}

/* Opens a CSV file with its header. */
static enum err open_record(const char *flag, const char *path,
                            const char *const *column, struct err_msg *msg,
                            FILE **out)
{
    size_t n = 0;
    while (column[n])
        n++;
    *out = fopen(path, "w");
    return *out && csv_write_row(*out, column, n)
               ? ERR_OK
               : err_set(msg, ERR_IO, "%s: '%s' cannot be written", flag, path);
}

static enum err open_records(struct train_log *log,
                             const struct train_log_files *files,
                             struct err_msg *msg)
{
    static const char *const op[] = {"format",  "iteration", "rank",
                                     "stage",   "mb",        "kind",
                                     "start_s", "end_s",     NULL};
    static const char *const norm[] = {"format", "iteration", "unit",
                                       "tensor", "norm",      NULL};
    enum err e = ERR_OK;
    if (files->ops)
        e = open_record("--record-ops", files->ops, op, msg, &log->ops);
    if (files->norms && e == ERR_OK)
        e = open_record("--record-norms", files->norms, norm, msg, &log->norms);
    return e;
}

/* Room for the operations and timers of a step, of this rank and of all. */
enum err train_log_new(struct arena *a, struct train_log *log,
                       const struct train_log_files *files, struct err_msg *msg)
{
    const struct schedule *todo = log->pipeline->schedule;
    size_t n_ops = 2 * (size_t)todo->n_mb * (size_t)todo->vpp;
    size_t n = n_ops * LOG_OP_VALUES + N_TIMERS;
    if (n > INT_MAX)
        return err_set(msg, ERR_RANGE,
                       "--global-batch-size: got %d micro-batches, want at "
                       "most %d for a log",
                       todo->n_mb, (int)(INT_MAX / (n / (size_t)todo->n_mb)));
    log->mine = arena_alloc(a, n, sizeof *log->mine);
    log->all = arena_alloc(a, n * (size_t)log->comm->world, sizeof *log->all);
    if (!log->mine || !log->all)
        return err_set(msg, ERR_NOMEM, "log: out of memory");
    log->record = files->ops != NULL;
    return train_log_prints(log) ? open_records(log, files, msg) : ERR_OK;
}

static bool close_record(FILE **file)
{
    bool good = !*file || !ferror(*file);
    if (*file && fclose(*file) != 0)
        good = false;
    *file = NULL;
    return good;
}

/* Both are closed, whichever fails. */
enum err train_log_close(struct train_log *log, struct err_msg *msg)
{
    const char *bad = NULL;
    if (!close_record(&log->ops))
        bad = "--record-ops";
    if (!close_record(&log->norms))
        bad = "--record-norms";
    return bad ? err_set(msg, ERR_IO, "%s: not written whole: %s", bad,
                         strerror(errno))
               : ERR_OK;
}

/* ---- one step ---- */

/* Means of a step: of each head, and of the routers. */
struct step_loss {
    double of_head[1 + RUNLOG_MAX_MTP], balance;
};

/* Mean losses over the labels of a step, known on the last stage. */
static void step_losses(struct train_log *log, double *loss)
{
    const struct shard *s = log->shard;
    double n_passes = (double)log->pipeline->schedule->n_mb * log->comm->dp;
    for (int k = 0; k <= s->shared.dims.n_mtp; k++)
        loss[k] = s->shared.loss_sum[k] /
                  ((double)loss_n_labels(&s->shared.dims, k) * n_passes);
    comm_sum_doubles(log->comm, loss, s->shared.dims.n_mtp + 1);
}

/* Mean of the auxiliary losses of all routers; 0 where there is none. A layer
 * is with one rank, so the merge is exact, and layers are added in their order
 * whatever the layout. Collective. */
static double step_balance(struct train_log *log)
{
    const struct shared *all = &log->shard->shared;
    const struct dims *d = &all->dims;
    double sum = 0, n = (double)log->pipeline->schedule->n_mb * log->comm->dp;
    if (all->balance_weight <= 0 || !log->n_routers)
        return 0;
    comm_merge(log->comm, all->balance, d->n_layers + d->n_mtp);
    for (int i = 0; i < d->n_layers + d->n_mtp; i++)
        sum += all->balance[i];
    comm_sum_doubles(log->comm, &sum, 1);
    return sum / (n * log->n_routers);
}

/* The loss is the mean over the batch; Megatron prints a norm that is no number
 * as nan, without a sign. */
static void train_log_print_iteration(const struct train_log *log,
                                      const struct train_step *step,
                                      const struct step_loss *loss)
{
    struct runlog_iteration it = {
        .iteration = step->iteration,
        .n_iterations = log->n_iterations,
        .consumed_samples = step->iteration * log->global_batch,
        .step_ms = step->step_s * 1e3,
        .learning_rate = log->learning_rate,
        .global_batch = log->global_batch,
        .lm_loss = loss->of_head[0],
        .balance_loss = loss->balance,
        .n_mtp = log->shard->shared.dims.n_mtp,
        .grad_norm = fabs(step->optim.grad_norm), // no "-nan"
        .reference_ms = step->reference_ms,
        .n_skipped = step->optim.skipped,
        .n_nan = isnan(loss->of_head[0]) || isnan(step->optim.grad_norm)};
    for (int k = 0; k < it.n_mtp; k++)
        it.mtp_loss[k] = loss->of_head[k + 1];
    runlog_print_iteration(log->out, &it);
}

/* Megatron leaves a timer out that no rank has started, such as that of
 * backwards under EP overlap. */
static bool timer_ran(const struct train_log *log, int timer)
{
    for (int r = 0; r < log->comm->world; r++)
        if (log->all[r * N_TIMERS + timer] > 0)
            return true;
    return false;
}

/* A timer of 0 is not printed, as Megatron leaves out ranks that did not run
 * it. */
static void log_timers(struct train_log *log, const struct train_step *step)
{
    const struct pipeline *p = log->pipeline;
    const double mine[N_TIMERS] = {
        [T_FORWARD] = p->fwd_s,
        [T_BACKWARD] = p->bwd_s,
        [T_EXCHANGE] = p->exchange_s,
        [T_FORWARD_BACKWARD] = step->forward_backward_s,
        [T_GRADS_SYNC] = step->optim.grads_sync_s,
        [T_EMBEDDING_SYNC] = step->optim.embedding_sync_s,
        [T_OPTIMIZER] = step->optim.optimizer_s,
    };
    comm_gather(log->comm, mine, N_TIMERS, log->all);
    if (!train_log_prints(log))
        return;
    runlog_print_times_header(log->out);
    for (int t = 0; t < N_TIMERS; t++) {
        if (timers[t].level > log->timing_level || !timer_ran(log, t))
            continue;
        runlog_print_timer(log->out, timers[t].name);
        for (int r = 0; r < log->comm->world; r++)
            if (log->all[r * N_TIMERS + t] > 0)
                runlog_print_timer_rank(log->out, r,
                                        log->all[r * N_TIMERS + t] * 1e3);
    }
}

/* Lines of the ranks with data-parallel rank 0, as in Megatron. */
static void log_memory(struct train_log *log, int64_t iteration)
{
    const struct shard *s = log->shard;
    const int n = RUNLOG_N_MEMORY_KINDS;
    const double mine[] = {(double)s->weights.bytes, (double)s->grads.bytes,
                           (double)s->adam.bytes, (double)s->acts.bytes};
    comm_gather(log->comm, mine, n, log->all);
    if (!train_log_prints(log))
        return;
    for (int r = 0; r < log->comm->world; r += log->comm->dp) {
        int64_t bytes[RUNLOG_N_MEMORY_KINDS], sum = 0;
        for (int i = 0; i < n; i++) {
            bytes[i] = (int64_t)log->all[r * n + i];
            sum += bytes[i];
        }
        runlog_print_memory(log->out, r, iteration, sum, sum);
        if (iteration == 1)
            runlog_print_memory_kinds(log->out, r, bytes);
    }
}

static void train_log_write_op(struct train_log *log, int64_t iteration,
                               int rank, const double *v)
{
    enum { LOG_N_FIELDS = 8, LOG_TEXT_BYTES = 32 };
    char text[LOG_N_FIELDS][CSV_NUMBER_BYTES];
    snprintf(text[1], LOG_TEXT_BYTES, "%lld", (long long)iteration);
    snprintf(text[2], LOG_TEXT_BYTES, "%d", rank);
    snprintf(text[3], LOG_TEXT_BYTES, "%d", (int)v[1]);
    snprintf(text[4], LOG_TEXT_BYTES, "%d", (int)v[2]);
    const char *const field[LOG_N_FIELDS] = {ops_format,
                                             text[1],
                                             text[2],
                                             text[3],
                                             text[4],
                                             v[0] > 0 ? "forward" : "backward",
                                             csv_number(v[3], text[6]),
                                             csv_number(v[4], text[7])};
    csv_write_row(log->ops, field, LOG_N_FIELDS);
}

/* One gather a step, and only where it is asked for: it is outside of what was
 * timed. */
static void record_ops(struct train_log *log, int64_t iteration)
{
    const struct pipeline *p = log->pipeline;
    int n = p->n_ops * LOG_OP_VALUES;
    for (int i = 0; i < p->n_ops; i++) {
        double *v = log->mine + i * LOG_OP_VALUES;
        v[0] = p->ops[i].forward;
        v[1] = p->ops[i].stage;
        v[2] = p->ops[i].mb;
        v[3] = p->ops[i].start_s;
        v[4] = p->ops[i].end_s;
    }
    comm_gather(log->comm, log->mine, n, log->all);
    for (int r = 0; log->ops && r < log->comm->world; r++)
        for (int i = 0; i < p->n_ops; i++)
            train_log_write_op(log, iteration, r,
                               log->all + (int64_t)r * n + i * LOG_OP_VALUES);
}

static void write_norms(struct train_log *log, int64_t iteration)
{
    const struct optim *o = log->optim;
    char step[CSV_NUMBER_BYTES], norm[CSV_NUMBER_BYTES], unit[UNIT_NAME_BYTES];
    snprintf(step, sizeof step, "%lld", (long long)iteration);
    for (int id = 0; id < o->n_squares; id++) {
        if (o->squares[id] == 0)
            continue;
        const char *name = unit_tensor_name(&log->shard->shared.dims, id, unit);
        const char *const field[] = {norms_format, step, unit, name,
                                     csv_number(sqrt(o->squares[id]), norm)};
        csv_write_row(log->norms, field, sizeof field / sizeof field[0]);
    }
}

/* The disk is full, say. The other ranks are on their way into the next step
 * and cannot be asked, so the job is ended from here. */
static void train_log_fail(const struct train_log *log, const char *what)
{
    struct err_msg msg;
    err_set(&msg, ERR_IO, "%s: cannot be written: %s", what, strerror(errno));
    comm_fail(log->comm, ERR_IO, msg.text);
}

/* After the step's time is taken: nothing here is part of it. */
void train_log_step(struct train_log *log, const struct train_step *step)
{
    struct step_loss loss;
    step_losses(log, loss.of_head);
    loss.balance = step_balance(log);
    if (train_log_prints(log))
        train_log_print_iteration(log, step, &loss);
    if (step->iteration <= LOG_MEMORY_LINES)
        log_memory(log, step->iteration);
    if (log->timing_level > 0)
        log_timers(log, step);
    if (log->record)
        record_ops(log, step->iteration);
    if (log->norms)
        write_norms(log, step->iteration);
    if (log->out && fflush(log->out) != 0)
        train_log_fail(log, "log");
    if (log->ops && ferror(log->ops))
        train_log_fail(log, "--record-ops");
    if (log->norms && ferror(log->norms))
        train_log_fail(log, "--record-norms");
}
