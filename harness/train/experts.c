/*
 * How it works: the router's scores choose experts, a counting sort gives each
 * (token, choice) a row, rows of one expert are neighbours, and each expert is
 * one pair of products on its rows.
 */
#include "experts.h"

#include <string.h>

void experts_carve_acts(const struct experts *e, struct tensors *t,
                        struct experts_acts *out)
{
    int64_t T = e->n_tokens, rows = T * e->topk;
    out->scores = tensors_carve_real(t, "router_scores", T * e->n_experts);
    out->chosen = tensors_carve_int(t, "chosen_experts", rows);
    out->weight = tensors_carve_real(t, "expert_weights", rows);
    out->row = tensors_carve_int(t, "expert_rows", rows);
    out->first = tensors_carve_int(t, "expert_first", e->n_experts + 1);
    out->x = tensors_carve_real(t, "expert_inputs", rows * e->hidden);
    out->gu = tensors_carve_real(t, "expert_gate_up", rows * 2 * e->ffn);
    out->act = tensors_carve_real(t, "expert_act", rows * e->ffn);
    out->y = tensors_carve_real(t, "expert_outputs", rows * e->hidden);
}

void experts_carve_work(const struct experts *e, struct tensors *t,
                        struct experts_work *out)
{
    int64_t T = e->n_tokens, rows = T * e->topk;
    out->dact = tensors_carve_real(t, "expert_dact", rows * e->ffn);
    out->dx = tensors_carve_real(t, "expert_dinputs", rows * e->hidden);
    out->dscores = tensors_carve_real(t, "router_dscores", T * e->n_experts);
}

/* k passes over the scores, since k is small; ties go to the lower index. */
static void choose_token(const struct experts *e, const real *score,
                         int *chosen)
{
    for (int j = 0; j < e->topk; j++) {
        int best = -1;
        for (int i = 0; i < e->n_experts; i++) {
            bool taken = false;
            for (int before = 0; before < j; before++)
                taken = taken || chosen[before] == i;
            if (!taken && (best < 0 || score[i] > score[best]))
                best = i;
        }
        chosen[j] = best;
    }
}

/* Softmax over the chosen scores only, Megatron's default order of the two. */
static void weigh_token(const struct experts *e, const real *score,
                        const int *chosen, real *weight)
{
    for (int j = 0; j < e->topk; j++)
        weight[j] = score[chosen[j]];
    ops_softmax_row(weight, e->topk, e->topk);
}

/* Counting sort by expert, tokens in order: first[] from the counts, then each
 * choice takes the next row of its expert. */
static void group_rows(const struct experts *e, struct experts_acts *a)
{
    int n = e->n_tokens * e->topk;
    memset(a->first, 0, ((size_t)e->n_experts + 1) * sizeof *a->first);
    for (int i = 0; i < n; i++)
        a->first[a->chosen[i] + 1]++;
    for (int i = 0; i < e->n_experts; i++)
        a->first[i + 1] += a->first[i];
    /* first[i] counts up while rows are given, so it is shifted back after */
    for (int i = 0; i < n; i++)
        a->row[i] = a->first[a->chosen[i]]++;
    for (int i = e->n_experts; i > 0; i--)
        a->first[i] = a->first[i - 1];
    a->first[0] = 0;
}

/* keep_choice: a check of gradients moves weights a little, and must not move
 * tokens to other experts with it. */
static void experts_route(const struct experts *e, const struct experts_pass *p,
                          struct mat x)
{
    struct experts_acts *a = p->acts;
    int N = e->n_experts, k = e->topk;
    ops_linear(p->ops, x, mat_of(p->w->router, N, e->hidden),
               mat_of(a->scores, x.rows, N));
    for (int t = 0; t < x.rows; t++) {
        const real *score = a->scores + (int64_t)t * N;
        if (!p->keep_choice)
            choose_token(e, score, a->chosen + (int64_t)t * k);
        weigh_token(e, score, a->chosen + (int64_t)t * k,
                    a->weight + (int64_t)t * k);
    }
    group_rows(e, a);
    p->ops->work += (double)x.rows * k * (2 * N + 8);
}

static void experts_gather(const struct experts *e, struct ops *o,
                           const struct experts_acts *a, struct mat x)
{
    for (int t = 0; t < x.rows; t++)
        for (int j = 0; j < e->topk; j++)
            memcpy(a->x + (int64_t)a->row[t * e->topk + j] * e->hidden,
                   x.p + (int64_t)t * x.ld, (size_t)e->hidden * sizeof(real));
    o->work += (double)x.rows * e->topk * e->hidden;
}

/* The rows of one expert and its part of the weights. */
struct one_expert {
    struct mat x, gu, act, y, w_gu, w_down;
};

/* Rows of an expert stand together after group_rows(), so that it is one
 * product each. */
static struct one_expert get_expert(const struct experts *e,
                                    const struct experts_acts *a,
                                    const struct experts_weights *w, int i)
{
    int C = e->hidden, F = e->ffn, rows = a->first[i + 1] - a->first[i];
    int64_t first = a->first[i], n = i;
    return (struct one_expert){.x = mat_of(a->x + first * C, rows, C),
                               .gu = mat_of(a->gu + first * 2 * F, rows, 2 * F),
                               .act = mat_of(a->act + first * F, rows, F),
                               .y = mat_of(a->y + first * C, rows, C),
                               .w_gu = mat_of(w->gu + n * 2 * F * C, 2 * F, C),
                               .w_down = mat_of(w->down + n * C * F, C, F)};
}

/* Token by token, in the order of its choices: sums are the same whatever the
 * order of rows. */
static void experts_combine(const struct experts *e, struct ops *o,
                            const struct experts_acts *a, struct mat y)
{
    for (int t = 0; t < y.rows; t++)
        for (int j = 0; j < e->topk; j++) {
            int at = t * e->topk + j;
            const real *from = a->y + (int64_t)a->row[at] * e->hidden;
            real *to = y.p + (int64_t)t * y.ld, weight = a->weight[at];
            for (int c = 0; c < e->hidden; c++)
                to[c] += weight * from[c];
        }
    o->work += 2.0 * y.rows * e->topk * e->hidden;
}

/* No expert drops a token: there is no capacity. */
void experts_forward(const struct experts *e, const struct experts_pass *p,
                     struct mat x, struct mat y)
{
    experts_route(e, p, x);
    experts_gather(e, p->ops, p->acts, x);
    for (int i = 0; i < e->n_experts; i++) {
        struct one_expert one = get_expert(e, p->acts, p->w, i);
        ops_linear(p->ops, one.x, one.w_gu, one.gu);
        ops_swiglu(p->ops, one.gu, one.act);
        ops_linear(p->ops, one.act, one.w_down, one.y);
    }
    experts_combine(e, p->ops, p->acts, y);
}

/* With n[i] tokens at expert i and probabilities p = softmax(scores), the
 * auxiliary loss is N/(k T^2) sum over t and i of n[i] p[t][i], its gradient by
 * a token's scores p[i] (n[i] - sum n p); n is no function of the scores. It is
 * 1 where the load is even. Starts dscores; done in the backward pass alone,
 * where there is room for the probabilities. */
static void balance_back(const struct experts *e, const struct experts_pass *p,
                         int n_tokens)
{
    int N = e->n_experts;
    const int *first = p->acts->first;
    double each = N / ((double)e->topk * n_tokens * n_tokens), loss = 0;
    real weight = (real)(each * p->balance_weight);
    memcpy(p->work->dscores, p->acts->scores,
           (size_t)n_tokens * (size_t)N * sizeof(real));
    for (int t = 0; t < n_tokens; t++) {
        real *d = p->work->dscores + (int64_t)t * N, mean = 0;
        ops_softmax_row(d, N, N);
        for (int i = 0; i < N; i++)
            mean += d[i] * (real)(first[i + 1] - first[i]);
        for (int i = 0; i < N; i++)
            d[i] *= weight * ((real)(first[i + 1] - first[i]) - mean);
        loss += (double)mean;
    }
    *p->balance += each * loss;
    p->ops->work += 10.0 * n_tokens * N;
}

/* From dy: gradients of the chosen weights into dscores, and of each expert's
 * output in place of that output. */
static void combine_back(const struct experts *e, const struct experts_pass *p,
                         struct mat dy)
{
    struct experts_acts *a = p->acts;
    int N = e->n_experts, k = e->topk, C = e->hidden;
    if (p->balance_weight > 0)
        balance_back(e, p, dy.rows);
    else
        memset(p->work->dscores, 0, (size_t)dy.rows * (size_t)N * sizeof(real));
    for (int t = 0; t < dy.rows; t++) {
        const real *d = dy.p + (int64_t)t * dy.ld;
        real *dscore = p->work->dscores + (int64_t)t * N, sum = 0;
        for (int j = 0; j < k; j++) {
            int at = t * k + j;
            real *y = a->y + (int64_t)a->row[at] * C, w = a->weight[at];
            real dw = ops_dot(C, y, d);
            dscore[a->chosen[at]] += w * dw;
            sum += w * dw;
            for (int c = 0; c < C; c++)
                y[c] = w * d[c];
        }
        for (int j = 0; j < k; j++)
            dscore[a->chosen[t * k + j]] -= a->weight[t * k + j] * sum;
    }
    p->ops->work += (double)dy.rows * k * (3.0 * C + 5);
}

/* One expert's rows: y holds its output's gradient by now, see combine_back().
 */
static void one_backward(const struct experts *e, const struct experts_pass *p,
                         int i)
{
    struct one_expert one = get_expert(e, p->acts, p->w, i);
    struct one_expert d = get_expert(e, p->acts, p->dw, i);
    int64_t first = p->acts->first[i];
    struct mat dact =
        mat_of(p->work->dact + first * e->ffn, one.x.rows, e->ffn);
    struct mat dx =
        mat_of(p->work->dx + first * e->hidden, one.x.rows, e->hidden);
    ops_linear_dx(p->ops, one.y, one.w_down, dact, false);
    ops_linear_dw(p->ops, one.y, one.act, d.w_down);
    ops_swiglu_back(p->ops, one.gu, dact);
    ops_linear_dx(p->ops, one.gu, one.w_gu, dx, false);
    ops_linear_dw(p->ops, one.gu, one.x, d.w_gu);
}

/* A token's gradient is the sum over its k experts, in the order of choice. */
static void scatter_back(const struct experts *e, const struct experts_pass *p,
                         struct mat dx)
{
    for (int t = 0; t < dx.rows; t++)
        for (int j = 0; j < e->topk; j++) {
            int64_t row = p->acts->row[t * e->topk + j];
            const real *from = p->work->dx + row * e->hidden;
            real *to = dx.p + (int64_t)t * dx.ld;
            for (int c = 0; c < e->hidden; c++)
                to[c] += from[c];
        }
    p->ops->work += (double)dx.rows * e->topk * e->hidden;
}

/* The router's part comes last: its gradient goes through the same scores for
 * all experts of a token. */
void experts_backward(const struct experts *e, const struct experts_pass *p,
                      struct mat x, struct mat dy, struct mat dx)
{
    combine_back(e, p, dy);
    for (int i = 0; i < e->n_experts; i++)
        one_backward(e, p, i);
    scatter_back(e, p, dx);
    struct mat ds = mat_of(p->work->dscores, x.rows, e->n_experts);
    struct mat router = mat_of(p->w->router, e->n_experts, e->hidden);
    ops_linear_dx(p->ops, ds, router, dx, true);
    ops_linear_dw(p->ops, ds, x,
                  mat_of(p->dw->router, e->n_experts, e->hidden));
}
