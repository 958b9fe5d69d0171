/*
 * comm: ranks, clocks and messages. A pipeline of ranks, times data-parallel
 * replicas; order as Megatron's, pipeline outermost: rank = pp_rank*dp +
 * dp_rank. A call that fails ends the whole job with one line, so functions
 * here return nothing. Sized for tens of ranks and messages up to 2 GB.
 *
 * Clocks: `wall` (under an MPI), `cpu` (CPU time of each rank in SimGrid's
 * virtual time) and `flops` (virtual time from declared work, deterministic).
 */
#ifndef TRAIN_COMM_H
#define TRAIN_COMM_H

#include "base/err.h"
#include "ops.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum comm_clock { CLOCK_WALL, CLOCK_CPU, CLOCK_FLOPS, N_CLOCKS };

struct comm {
    int rank, world;
    int pp, dp, pp_rank, dp_rank;
    enum comm_clock clock;
    MPI_Comm pipe; // ranks of one replica, by pp_rank
    MPI_Comm data; // replicas of one of them, by dp_rank
    real *scratch; // COMM_CHUNK elements, given by the owner of memory
};

enum { COMM_CHUNK = 1 << 18 }; // elements moved at once in reductions

/* Starts MPI and fills rank and world. */
void comm_init(struct comm *c, int *argc, char ***argv);
/* Forms the pipeline and data groups; world must be pp * dp. */
void comm_split(struct comm *c, int pp);
void comm_end(struct comm *c);

/* Ends the job at once: one line on stderr, exit code of `code`. */
void comm_fail(const struct comm *c, enum err code, const char *text);

/* True when the program runs inside SimGrid's simulator. */
bool comm_is_simulated(void);
const char *comm_clock_name(enum comm_clock clock);
/* The clock of that name (NULL: the usual one here). ERR_PARSE and ERR_RANGE
 * tell what can be had. */
enum err comm_clock_from_name(const char *name, enum comm_clock *out,
                              struct err_msg *msg);

/* Seconds of the clock. comm_work() makes it pass by the work counted in `o`
 * where the clock is `flops`, and sets the counter to 0 in any case. */
double comm_now(const struct comm *c);
void comm_work(const struct comm *c, struct ops *o);
void comm_barrier(const struct comm *c);

/* One message of an exchange with a neighbour. */
struct comm_message {
    void *data;
    int64_t bytes;
    int peer; // its pp_rank
    int tag;
    bool send;
};
/* Posts all messages and waits for all. Sends are synchronous: a message
 * moves once both ends have posted it. n <= 8. */
void comm_exchange(const struct comm *c, const struct comm_message *m, int n);
/* Posts one message, and waits until it has moved; data must stay until then.
 */
void comm_start(const struct comm *c, const struct comm_message *m,
                MPI_Request *out);
void comm_wait(const struct comm *c, MPI_Request *request);

/* Seconds and bytes per second of a message between neighbours, from
 * ping-pongs of two sizes; zeros when there is one rank. Collective. */
void comm_measure_p2p(const struct comm *c, double *latency_s,
                      double *bytes_per_s);

/* Sums x over the replicas, in the order of their ranks. */
void comm_sum_replicas(const struct comm *c, struct ops *o, real *x, int64_t n);

/* x[i] = sum over the pipeline of x[i], exact where one rank at most has a
 * value other than 0. */
void comm_merge(const struct comm *c, double *x, int n);

/* Largest of the values of all ranks. */
double comm_max(const struct comm *c, double x);

/* n doubles of every rank to the last rank, by rank; `all` (world*n) may be
 * NULL elsewhere. */
void comm_gather(const struct comm *c, const double *x, int n, double *all);

/* Sum over replicas in rank order, of n doubles, known to all of them. */
void comm_sum_doubles(const struct comm *c, double *x, int n);

#endif
