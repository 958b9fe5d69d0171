/*
 * How it works. Every line has one printf format, written after Megatron-LM's
 * own prints (training/training.py and core/timers.py, core 0.14): field names,
 * widths, the blank at the start and the bar at the end are theirs, so that the
 * same reader takes both. More digits than Megatron prints are no other shape.
 */
#include "runlog.h"

#include <math.h>
#include <time.h>

/* Eight digits behind the point, two more than Megatron: tests compare losses
 * of different layouts to the last bit of a float. */
static void print_losses(FILE *out, const struct runlog_iteration *it)
{
    if (!isnan(it->lm_loss))
        fprintf(out, " " RUNLOG_F_LOSS ": %.8E |", it->lm_loss);
    for (int k = 0; k < it->n_mtp; k++)
        if (!isnan(it->mtp_loss[k]))
            fprintf(out, " mtp_%d loss: %.8E |", k + 1, it->mtp_loss[k]);
    if (it->balance_loss > 0)
        fprintf(out, " load_balancing_loss: %.8E |", it->balance_loss);
}

/* One clock for all machines: UTC, as logs from elsewhere are. */
void runlog_print_iteration(FILE *out, const struct runlog_iteration *it)
{
    char date[32] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (gmtime_r(&now, &tm))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm);
    fprintf(out, " [%s] iteration %8lld/%8lld | consumed samples: %12lld |",
            date, (long long)it->iteration, (long long)it->n_iterations,
            (long long)it->consumed_samples);
    fprintf(out, " " RUNLOG_F_STEP ": %.6f | learning rate: %.6E |",
            it->step_ms, it->learning_rate);
    fprintf(out, " global batch size: %5lld |", (long long)it->global_batch);
    print_losses(out, it);
    fprintf(out, " loss scale: 1.0 | grad norm: %.6f |", it->grad_norm);
    if (it->reference_ms >= 0)
        fprintf(out, " " RUNLOG_F_REFERENCE ": %.6f |", it->reference_ms);
    fprintf(out, " " RUNLOG_F_SKIPPED ": %3lld | " RUNLOG_F_NAN ": %3lld |\n",
            (long long)it->n_skipped, (long long)it->n_nan);
}

void runlog_print_times_header(FILE *out)
{
    fprintf(out, RUNLOG_ALL_HEADER "\n");
}

void runlog_print_timer(FILE *out, const char *name)
{
    fprintf(out, "  %s:\n", name);
}

void runlog_print_timer_rank(FILE *out, int rank, double ms)
{
    fprintf(out, "     rank %2d: %.6f\n", rank, ms);
}

/* moe-train reserves what it allocates, all at the start. */
void runlog_print_memory(FILE *out, int rank, int64_t after_iterations,
                         int64_t allocated_bytes, int64_t max_allocated_bytes)
{
    const double mib = 1024.0 * 1024.0;
    fprintf(out,
            "[Rank %d] (after %lld iterations) memory (MB) | allocated: %.10f "
            "| max allocated: %.10f | reserved: %.10f | max reserved: %.10f\n",
            rank, (long long)after_iterations, (double)allocated_bytes / mib,
            (double)max_allocated_bytes / mib, (double)allocated_bytes / mib,
            (double)max_allocated_bytes / mib);
}

void runlog_print_arguments_begin(FILE *out)
{
    fprintf(out, "------------------------ arguments "
                 "------------------------\n");
}

/* Padded to 48 columns as in Megatron's _print_args(). */
void runlog_print_argument(FILE *out, const char *name, const char *value)
{
    static const char dots[] =
        "................................................";
    int n_dots = 48;
    for (const char *p = name; *p && n_dots > 1; p++)
        n_dots--;
    fprintf(out, "  %s %.*s %s\n", name, n_dots, dots, value);
}

void runlog_print_arguments_end(FILE *out)
{
    fprintf(out, "-------------------- end of arguments "
                 "---------------------\n");
}

void runlog_print_banner(FILE *out, const char *clock, int n_ranks,
                         const char *blas_kernel)
{
    fprintf(out, RUNLOG_BANNER ": clock %s | ranks %d | blas %s\n", clock,
            n_ranks, blas_kernel);
}

void runlog_print_p2p(FILE *out, double latency_s, double bytes_per_s)
{
    fprintf(out,
            RUNLOG_BANNER ": p2p latency (us): %.9f | bandwidth (MB/s): %.9f\n",
            latency_s * 1e6, bytes_per_s / 1e6);
}

void runlog_print_memory_kinds(FILE *out, int rank,
                               const int64_t bytes[RUNLOG_N_MEMORY_KINDS])
{
    fprintf(out,
            RUNLOG_BANNER ": rank %d bytes | weights: %lld | gradients: %lld "
                          "| optimizer: %lld | activations: %lld\n",
            rank, (long long)bytes[0], (long long)bytes[1], (long long)bytes[2],
            (long long)bytes[3]);
}
