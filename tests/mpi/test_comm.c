/* Messages and ordered sums, on four ranks: two stages of two replicas, then
 * four stages. Ends with status 1 and a line where a claim fails. */
#include "train/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_failed;

static void expect(const struct comm *c, int holds, const char *claim)
{
    if (holds)
        return;
    fprintf(stderr, "rank %d: %s: does not hold\n", c->rank, claim);
    n_failed++;
}

/* A value whose sum over ranks depends on the order in single precision. */
static real part(int rank, int64_t i)
{
    const real scale[] = {(real)1e8, (real)3, (real)-1e8, (real)0.7};
    return scale[rank] * (real)(1 + i % 7);
}

static void test_groups(struct comm *c)
{
    comm_split(c, 2);
    expect(c, c->dp == 2 && c->pp_rank == c->rank / 2, "stages are outermost");
    expect(c, c->dp_rank == c->rank % 2, "replicas are innermost");
}

static void test_sum_replicas(const struct comm *c)
{
    const int64_t n = COMM_CHUNK + 13;
    real *x = malloc((size_t)n * sizeof *x);
    struct ops o = {0};
    int wrong = 0;
    for (int64_t i = 0; x && i < n; i++)
        x[i] = part(c->rank, i);
    comm_sum_replicas(c, &o, x, n);
    for (int64_t i = 0; x && i < n; i++)
        wrong += x[i] != part(2 * c->pp_rank, i) + part(2 * c->pp_rank + 1, i);
    expect(c, x && wrong == 0, "replicas are summed in rank order");
    free(x);
}

static void test_sum_doubles(const struct comm *c)
{
    double x[2] = {c->dp_rank ? 1.0 : 1e16, c->rank};
    comm_sum_doubles(c, x, 2);
    expect(c, x[0] == 1e16 + 1.0, "doubles are summed in rank order");
    expect(c, x[1] == 4 * c->pp_rank + 1, "sums stay within a stage");
}

/* A ring of exchanges both ways at once, as in the steady state. */
static void test_exchange(const struct comm *c)
{
    int64_t out[2] = {c->rank, 100 + c->rank}, in[2] = {-1, -1};
    struct comm_message m[4];
    int n = 0;
    if (c->pp_rank < c->pp - 1) {
        m[n++] = (struct comm_message){&out[0], 8, c->pp_rank + 1, 1, true};
        m[n++] = (struct comm_message){&in[1], 8, c->pp_rank + 1, 2, false};
    }
    if (c->pp_rank > 0) {
        m[n++] = (struct comm_message){&in[0], 8, c->pp_rank - 1, 1, false};
        m[n++] = (struct comm_message){&out[1], 8, c->pp_rank - 1, 2, true};
    }
    comm_exchange(c, m, n);
    expect(c, in[0] == (c->pp_rank > 0 ? c->rank - 1 : -1), "forward arrives");
    expect(c, in[1] == (c->pp_rank < c->pp - 1 ? 101 + c->rank : -1),
           "backward arrives");
}

static void test_merge_and_gather(const struct comm *c)
{
    double x[4] = {0}, all[8] = {0}, mine[2] = {c->rank, 10.0 * c->rank};
    x[c->pp_rank] = 0.1 * (c->pp_rank + 1);
    comm_merge(c, x, 4);
    for (int i = 0; i < 4; i++)
        expect(c, x[i] == 0.1 * (i + 1), "merged values are exact");
    comm_gather(c, mine, 2, all);
    if (c->rank == c->world - 1)
        expect(c, all[6] == 3 && all[3] == 10, "the last rank has all");
    expect(c, comm_max(c, -c->rank) == 0, "the largest is known to all");
}

static void test_link(const struct comm *c)
{
    double latency_s = -1, bytes_per_s = -1;
    comm_measure_p2p(c, &latency_s, &bytes_per_s);
    expect(c, latency_s > 0 && bytes_per_s > 0, "a link has a speed");
}

int main(int argc, char **argv)
{
    struct comm c;
    comm_init(&c, &argc, &argv);
    if (c.world != 4) {
        fprintf(stderr, "got %d ranks, want 4\n", c.world);
        comm_end(&c);
        return 1;
    }
    c.scratch = calloc(COMM_CHUNK, sizeof *c.scratch);
    if (!c.scratch)
        comm_fail(&c, ERR_NOMEM, "no memory");
    test_groups(&c);
    test_sum_replicas(&c);
    test_sum_doubles(&c);
    MPI_Comm_free(&c.pipe);
    MPI_Comm_free(&c.data);
    comm_split(&c, 4);
    test_exchange(&c);
    test_merge_and_gather(&c);
    test_link(&c);
    int failed = (int)comm_max(&c, n_failed);
    free(c.scratch);
    comm_end(&c);
    return failed ? 1 : 0;
}
