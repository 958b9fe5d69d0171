/*
 * How it works: pipeline messages are non-blocking synchronous sends and
 * receives, waited for as a group. Reductions whose order matters for the last
 * bit are written out as sends to one rank that adds in rank order.
 */
#include "comm.h"

#include "base/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMM_MAX_GROUP = 8,
    COMM_TAG_CHUNK = 90,
    COMM_TAG_PING = 91,
    COMM_N_PINGS = 21
};

static const char *const clock_names[N_CLOCKS] = {"wall", "cpu", "flops"};

/* Errors return here rather than end the job inside MPI, so that they have a
 * message of our form. */
static void comm_check(const struct comm *c, int rc, const char *call)
{
    if (rc == MPI_SUCCESS)
        return;
    char text[MPI_MAX_ERROR_STRING + 64], reason[MPI_MAX_ERROR_STRING];
    int len = 0;
    if (MPI_Error_string(rc, reason, &len) != MPI_SUCCESS)
        len = 0;
    snprintf(text, sizeof text, "%s failed: %.*s", call, len, reason);
    comm_fail(c, ERR_CHILD, text);
}

void comm_fail(const struct comm *c, enum err code, const char *text)
{
    fprintf(stderr, "moe-train: rank %d: %s\n", c->rank, text);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, err_exit_code(code));
    abort();
}

void comm_init(struct comm *c, int *argc, char ***argv)
{
    *c = (struct comm){.pp = 1, .dp = 1, .world = 1};
    if (MPI_Init(argc, argv) != MPI_SUCCESS) {
        fprintf(stderr, "moe-train: MPI_Init failed\n");
        exit(EXIT_ENVIRONMENT);
    }
    comm_check(c, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
               "MPI_Comm_set_errhandler");
    comm_check(c, MPI_Comm_rank(MPI_COMM_WORLD, &c->rank), "MPI_Comm_rank");
    comm_check(c, MPI_Comm_size(MPI_COMM_WORLD, &c->world), "MPI_Comm_size");
    c->pipe = c->data = MPI_COMM_NULL;
}

/* Replicas are neighbours, as in Megatron's order of ranks: tp-cp-ep-dp-pp with
 * all but the last two 1. */
void comm_split(struct comm *c, int pp)
{
    c->pp = pp;
    c->dp = c->world / pp;
    c->pp_rank = c->rank / c->dp;
    c->dp_rank = c->rank % c->dp;
    comm_check(c,
               MPI_Comm_split(MPI_COMM_WORLD, c->dp_rank, c->pp_rank, &c->pipe),
               "MPI_Comm_split");
    comm_check(c,
               MPI_Comm_split(MPI_COMM_WORLD, c->pp_rank, c->dp_rank, &c->data),
               "MPI_Comm_split");
}

void comm_end(struct comm *c)
{
    if (c->pipe != MPI_COMM_NULL)
        comm_check(c, MPI_Comm_free(&c->pipe), "MPI_Comm_free");
    if (c->data != MPI_COMM_NULL)
        comm_check(c, MPI_Comm_free(&c->data), "MPI_Comm_free");
    comm_check(c, MPI_Finalize(), "MPI_Finalize");
}

bool comm_is_simulated(void)
{
#ifdef MOE_SMPI
    return true;
#else
    return false;
#endif
}

const char *comm_clock_name(enum comm_clock clock)
{
    return clock_names[clock];
}

/* Under SMPI the wall clock is that of the simulating machine, on which ranks
 * take turns; elsewhere there is no other. */
enum err comm_clock_from_name(const char *name, enum comm_clock *out,
                              struct err_msg *msg)
{
    const bool simulated = comm_is_simulated();
    if (!name) {
        *out = simulated ? CLOCK_CPU : CLOCK_WALL;
        return ERR_OK;
    }
    int clock = 0;
    while (clock < N_CLOCKS && strcmp(name, clock_names[clock]) != 0)
        clock++;
    if (clock == N_CLOCKS)
        return err_set(msg, ERR_PARSE,
                       "--clock: got '%s', want wall, cpu or "
                       "flops",
                       name);
    if ((clock != CLOCK_WALL) != simulated)
        return err_set(msg, ERR_RANGE, "--clock %s: not to be had here, %s",
                       name,
                       simulated ? "want cpu or flops under smpirun"
                                 : "want wall (cpu and flops need smpirun)");
    *out = (enum comm_clock)clock;
    return ERR_OK;
}

double comm_now(const struct comm *c)
{
    (void)c;
    return MPI_Wtime();
}

void comm_work(const struct comm *c, struct ops *o)
{
#ifdef MOE_SMPI
    if (c->clock == CLOCK_FLOPS && o->work > 0)
        smpi_execute_flops(o->work);
#else
    (void)c;
#endif
    o->work = 0;
}

void comm_barrier(const struct comm *c)
{
    comm_check(c, MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

/* Synchronous, so that a message of any size moves only once its receiver has
 * posted it, as the simulator has it: small ones would slip through. */
void comm_start(const struct comm *c, const struct comm_message *m,
                MPI_Request *out)
{
    int bytes = (int)m->bytes;
    if (m->send)
        comm_check(
            c,
            MPI_Issend(m->data, bytes, MPI_BYTE, m->peer, m->tag, c->pipe, out),
            "MPI_Issend");
    else
        comm_check(
            c,
            MPI_Irecv(m->data, bytes, MPI_BYTE, m->peer, m->tag, c->pipe, out),
            "MPI_Irecv");
}

void comm_wait(const struct comm *c, MPI_Request *request)
{
    comm_check(c, MPI_Wait(request, MPI_STATUS_IGNORE), "MPI_Wait");
}

void comm_exchange(const struct comm *c, const struct comm_message *m, int n)
{
    MPI_Request request[COMM_MAX_GROUP];
    for (int i = 0; i < n; i++)
        comm_start(c, &m[i], &request[i]);
    comm_check(c, MPI_Waitall(n, request, MPI_STATUSES_IGNORE), "MPI_Waitall");
}

/* ---- link ---- */

/* Median seconds of one message of `bytes` between ranks 0 and 1. */
static double ping_pong(const struct comm *c, int64_t bytes)
{
    double time_s[COMM_N_PINGS] = {0};
    if (c->pp_rank > 1)
        return 0;
    struct comm_message m = {.data = c->scratch,
                             .bytes = bytes,
                             .peer = 1 - c->pp_rank,
                             .tag = COMM_TAG_PING};
    for (int i = 0; i < COMM_N_PINGS; i++) {
        double start_s = comm_now(c);
        m.send = c->pp_rank == 0;
        comm_exchange(c, &m, 1);
        m.send = !m.send;
        comm_exchange(c, &m, 1);
        time_s[i] = (comm_now(c) - start_s) / 2;
    }
    return stats_median(time_s, COMM_N_PINGS);
}

/* Two sizes give the two unknowns of latency + bytes / bandwidth. */
void comm_measure_p2p(const struct comm *c, double *latency_s,
                      double *bytes_per_s)
{
    const int64_t small = 64, large = COMM_CHUNK * (int64_t)sizeof(real);
    *latency_s = *bytes_per_s = 0;
    if (c->pp == 1)
        return;
    comm_barrier(c);
    double small_s = ping_pong(c, small), large_s = ping_pong(c, large);
    bool measured = c->rank == 0;
    small_s = comm_max(c, measured ? small_s : 0);
    large_s = comm_max(c, measured ? large_s : 0);
    double per_byte_s = (large_s - small_s) / (double)(large - small);
    *bytes_per_s = per_byte_s > 0 ? 1 / per_byte_s : 0;
    *latency_s = small_s - (per_byte_s > 0 ? per_byte_s * (double)small : 0);
}

/* ---- reductions ---- */

/* Sums move in pieces that fit the scratch buffer. */
static int comm_chunk_of(int64_t n)
{
    return n < COMM_CHUNK ? (int)n : COMM_CHUNK;
}

/* Added in the order of their ranks: a reduction of MPI's own may add in
 * another order, and with it in another rounding, from run to run. */
void comm_sum_replicas(const struct comm *c, struct ops *o, real *x, int64_t n)
{
    for (int len; c->dp > 1 && n > 0; x += len, n -= len) {
        len = comm_chunk_of(n);
        if (c->dp_rank > 0)
            comm_check(c,
                       MPI_Send(x, len, MPI_FLOAT, 0, COMM_TAG_CHUNK, c->data),
                       "MPI_Send");
        for (int r = 1; c->dp_rank == 0 && r < c->dp; r++) {
            comm_check(c,
                       MPI_Recv(c->scratch, len, MPI_FLOAT, r, COMM_TAG_CHUNK,
                                c->data, MPI_STATUS_IGNORE),
                       "MPI_Recv");
            ops_add(o, len, c->scratch, x);
            comm_work(c, o);
        }
        comm_check(c, MPI_Bcast(x, len, MPI_FLOAT, 0, c->data), "MPI_Bcast");
    }
}

void comm_merge(const struct comm *c, double *x, int n)
{
    comm_check(c,
               MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE, MPI_SUM, c->pipe),
               "MPI_Allreduce");
}

double comm_max(const struct comm *c, double x)
{
    double max = x;
    comm_check(c,
               MPI_Allreduce(&x, &max, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD),
               "MPI_Allreduce");
    return max;
}

void comm_gather(const struct comm *c, const double *x, int n, double *all)
{
    comm_check(c,
               MPI_Gather(x, n, MPI_DOUBLE, all, n, MPI_DOUBLE, c->world - 1,
                          MPI_COMM_WORLD),
               "MPI_Gather");
}

/* Each replica's part in turn: an all-reduce may add in any order. */
void comm_sum_doubles(const struct comm *c, double *x, int n)
{
    for (int i = 0; i < n; i++) {
        double total = 0;
        for (int r = 0; r < c->dp; r++) {
            double part = x[i];
            comm_check(c, MPI_Bcast(&part, 1, MPI_DOUBLE, r, c->data),
                       "MPI_Bcast");
            total += part;
        }
        x[i] = total;
    }
}
