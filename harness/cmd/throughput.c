/*
 * How it works: means of what usable iterations print; where a log has none
 * that is usable, of all, marked so. TFLOP/s of our own come from the model of
 * the log's dump of arguments, by the same count that costs use.
 */
#include "throughput.h"

#include "log/parse.h"
#include "megatron/args.h"
#include "model/model.h"
#include "source/log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Absent numbers are NAN and no zeros. */
static void add_if_finite(struct log_running *r, double v)
{
    if (isfinite(v))
        log_running_add(r, v);
}

/* Usable iterations put aside what came before them; a new run does, too. */
void throughput_add(struct throughput *t, const struct log_iteration *it)
{
    bool next_run = t->any && it->section != t->last.section;
    if (t->usable && !it->usable && !next_run)
        return;
    if (it->usable ? !t->usable || next_run : next_run && !t->usable)
        *t = (struct throughput){.usable = it->usable};
    else if (next_run)
        return;
    add_if_finite(&t->step_ms, it->step_ms);
    add_if_finite(&t->tflops, it->tflops);
    add_if_finite(&t->tokens_per_s, it->tokens_per_s);
    add_if_finite(&t->all_tokens_per_s, it->all_tokens_per_s);
    t->last = *it;
    t->any = true;
}

/* Megatron's own count where it prints one; 0 where neither is known, or the
 * product would not fit. */
int64_t throughput_tokens(const struct log_iteration *it, int64_t seq_tokens)
{
    if (it->tokens)
        return it->tokens;
    bool fits = seq_tokens > 0 && it->samples <= INT64_MAX / seq_tokens;
    return fits ? it->samples * seq_tokens : 0;
}

/* 0 for what the dump does not have, or has as no positive integer. */
static int64_t integer_argument(const struct runlog *log, const char *name)
{
    const char *text = runlog_argument(log, name);
    char *end = NULL;
    long long v = text ? strtoll(text, &end, 10) : 0;
    return text && end != text && *end == '\0' && v > 0 && v < 1LL << 40 ? v
                                                                         : 0;
}

/* Of one micro-batch through the whole model, forward and backward. */
static double model_step_flops(const struct model *m)
{
    double flops = 0;
    for (int k = 0; k < N_KINDS; k++)
        flops += model_unit_count(m, (enum unit_kind)k) *
                 model_unit_fwd_flops(m, (enum unit_kind)k);
    return 3 * flops; // backward is twice forward
}

/* Why there is no number is said: a log without a dump says nothing at all. */
void throughput_of_model(struct arena *a, const struct throughput *t,
                         const struct runlog *log, struct throughput_model *out)
{
    struct model m;
    struct err_msg msg = {""};
    struct megatron_args *args = megatron_args_new(a);
    *out = (struct throughput_model){
        .tflops = NAN, .seq_tokens = integer_argument(log, "seq_length")};
    double world = (double)integer_argument(log, "world_size");
    double batch = (double)t->last.global_batch;
    if (batch <= 0)
        batch = (double)integer_argument(log, "global_batch_size");
    double step_s = log_running_mean(&t->step_ms) / 1e3;
    if (log->n_arguments == 0)
        return;
    if (world <= 0 || batch <= 0)
        out->why = "the dump has no world_size, or nothing a global batch size";
    else if (!(step_s > 0))
        out->why = "the log has no step time";
    if (out->why)
        return;
    if (!args || source_log_read(log, "log", args, &msg) != ERR_OK ||
        megatron_args_model(a, args, &m, &msg) != ERR_OK) {
        out->why = arena_strdup(a, msg.text);
        return;
    }
    double n_micro = batch / (double)m.batch.micro_batch;
    out->tflops = model_step_flops(&m) * n_micro / step_s / world / 1e12;
}

/* Both counts beside each other: theirs may leave out what ours has, such as
 * the output passes of MTP. */
static void show_tflops(const struct throughput *t,
                        const struct throughput_model *m)
{
    if (t->tflops.n)
        printf("throughput  %.1f TFLOP/s per GPU as printed",
               log_running_mean(&t->tflops));
    else if (isfinite(m->tflops))
        printf("throughput  ");
    if (isfinite(m->tflops))
        printf("%s%.1f from our own FLOP count", t->tflops.n ? ", " : "",
               m->tflops);
    else if (t->tflops.n && m->why)
        printf(" (not from our own FLOP count: %s)", m->why);
    if (t->tflops.n || isfinite(m->tflops))
        printf("\n");
}

/* What the log prints of itself is marked as such. */
void throughput_show(const struct throughput *t,
                     const struct throughput_model *m)
{
    show_tflops(t, m);
    if (t->tokens_per_s.n)
        printf("tokens/s    %.1f per GPU as printed\n",
               log_running_mean(&t->tokens_per_s));
    if (t->all_tokens_per_s.n)
        printf("tokens/s    %.1f in all as printed\n",
               log_running_mean(&t->all_tokens_per_s));
    int64_t tokens = throughput_tokens(&t->last, m->seq_tokens);
    if (t->any && t->last.samples)
        printf("samples     %" PRId64 " consumed\n", t->last.samples);
    if (t->any && tokens)
        printf("tokens      %" PRId64 " consumed\n", tokens);
    for (int d = 0; t->any && d < t->last.n_mtp; d++) {
        if (isfinite(t->last.mtp_loss[d]))
            printf("mtp_%d loss  %.7g at iteration %" PRId64 "\n", d + 1,
                   t->last.mtp_loss[d], t->last.iteration);
    }
}
