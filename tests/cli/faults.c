/* Plants one fault in moe-bench, by MOE_FAULT, for tests/cli/test_published.sh
 * and test_bench_history.sh: linked with --wrap, so that the program itself
 * knows nothing of it. */
#include "cost/lsq.h"
#include "memory/memory.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

static int planted(const char *name)
{
    const char *fault = getenv("MOE_FAULT");
    return fault && strcmp(fault, name) == 0;
}

enum err __real_lsq_nnls(struct arena *a, const struct lsq_problem *p,
                         struct lsq_solution *out, struct err_msg *msg);
enum err __wrap_lsq_nnls(struct arena *a, const struct lsq_problem *p,
                         struct lsq_solution *out, struct err_msg *msg);

/* A fit that believes its first unknown to be 3% more; all of them to be a
 * tenth more or less. */
enum err __wrap_lsq_nnls(struct arena *a, const struct lsq_problem *p,
                         struct lsq_solution *out, struct err_msg *msg)
{
    const enum err e = __real_lsq_nnls(a, p, out, msg);
    if (e == ERR_OK && planted("fit"))
        out->x[0] *= 1.03;
    for (int i = 0; i < p->n_cols && e == ERR_OK; i++)
        out->x[i] *= planted("dear") ? 1.1 : planted("cheap") ? 0.9 : 1;
    return e;
}

enum err __real_sim_engine_steps(struct sim_engine *e,
                                 const struct sim_input *ins, int n,
                                 double *steps_s, struct err_msg *msg);
enum err __wrap_sim_engine_steps(struct sim_engine *e,
                                 const struct sim_input *ins, int n,
                                 double *steps_s, struct err_msg *msg);

/* A simulator that counts one micro-batch more, or that takes the slowest
 * layout for the fastest. */
enum err __wrap_sim_engine_steps(struct sim_engine *e,
                                 const struct sim_input *ins, int n,
                                 double *steps_s, struct err_msg *msg)
{
    const enum err err = __real_sim_engine_steps(e, ins, n, steps_s, msg);
    for (int i = 0; i < n && err == ERR_OK && planted("sim"); i++)
        steps_s[i] *= 1 + 1.0 / ins[i].schedule->n_mb;
    for (int i = 0; i < n && err == ERR_OK && planted("pick"); i++)
        steps_s[i] = 1 / steps_s[i];
    return err;
}

void __real_memory_rank(const struct memory_terms *t, const struct layout *l,
                        int rank, struct memory_rank *out);
void __wrap_memory_rank(const struct memory_terms *t, const struct layout *l,
                        int rank, struct memory_rank *out);

/* A memory model that forgets a hundredth of the peak, or adds one. */
void __wrap_memory_rank(const struct memory_terms *t, const struct layout *l,
                        int rank, struct memory_rank *out)
{
    __real_memory_rank(t, l, rank, out);
    if (planted("memory"))
        out->peak_bytes -= out->peak_bytes / 100;
    if (planted("memory-more"))
        out->peak_bytes += out->peak_bytes / 100;
}
