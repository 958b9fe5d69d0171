/*
 * How it works: each part of the page is a function, in the order in which a
 * reader acts: the step, what to paste, the stages behind it, what else is
 * wrong, what would make it surer. JSON has the same parts under the same
 * names.
 */
#include "page.h"

#include "megatron/hybrid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double PAGE_GIB = 1024.0 * 1024 * 1024;

/* A label of the page; its text may go on in lines of page_more(out). */
static void page_label(const char *label, FILE *out)
{
    fprintf(out, "%-9s ", label);
}

static void page_more(FILE *out)
{
    page_label("", out);
}

/* ---- the step ---- */

static void page_print_step(const struct doctor *d, FILE *out)
{
    const struct steps *s = &d->steps;
    page_label("step", out);
    if (!s->n_used) {
        fprintf(out, "not known: none of %zu logged iterations counts\n",
                s->n_logged);
        return;
    }
    fprintf(out, "%.1f ms, the mean of %zu of %zu logged ", s->mean_s * 1e3,
            s->n_used, s->n_logged);
    if (s->span == 1)
        fprintf(out, "iterations");
    else
        fprintf(out, "lines, each the mean of %d iterations", s->span);
    if (s->n_used > 1)
        fprintf(out, " (+- %.1f%%, 95%%)\n", 100 * s->half_s / s->mean_s);
    else
        fprintf(out, " (one tells nothing of its scatter)\n");
}

/* Theirs beside ours: Megatron's count leaves out and adds other things. */
static void page_print_printed(const struct steps *s, FILE *out)
{
    if (!isfinite(s->printed_tflops) && !isfinite(s->printed_tokens_per_s))
        return;
    page_more(out);
    fprintf(out, "as the log prints it:");
    if (isfinite(s->printed_tokens_per_s))
        fprintf(out, " %.1f tokens/s/GPU", s->printed_tokens_per_s);
    if (isfinite(s->printed_tflops))
        fprintf(out, " %.1f TFLOP/s/GPU", s->printed_tflops);
    fprintf(out, "\n");
}

/* MFU is never without its peak and where that comes from, FLOPs never without
 * their rule. */
static void page_print_rate(const struct doctor *d, FILE *out)
{
    const struct rate *r = &d->rate;
    page_label("rate", out);
    if (isfinite(r->tokens_per_s))
        fprintf(out, "%.1f tokens/s/GPU", r->tokens_per_s);
    else
        fprintf(out,
                "tokens/s not known (want the batch, the sequence, the ranks)");
    if (isfinite(r->flops_per_s))
        fprintf(out, ", %.3g TFLOP/s/GPU", r->flops_per_s / 1e12);
    if (isfinite(r->mfu))
        fprintf(out, ", MFU %.1f%% of %.4g TFLOP/s (%s)", 100 * r->mfu,
                r->peak_flops / 1e12, r->peak_source);
    else if (isfinite(r->flops_per_s))
        fprintf(out, " (--gpu or --peak-tflops gives MFU)");
    fprintf(out, "\n");
    if (isfinite(r->flops_per_s)) {
        page_more(out);
        fprintf(out, "%s\n", RATE_RULE);
    }
    page_print_printed(&d->steps, out);
}

/* Of the lines that there are: not every rank prints one. */
static void page_print_memory(const struct doctor *d, FILE *out)
{
    const struct log_memory *most = NULL;
    for (size_t i = 0; i < d->log.n_memory; i++)
        if (!most ||
            d->log.memory[i].max_allocated_bytes > most->max_allocated_bytes)
            most = &d->log.memory[i];
    page_label("memory", out);
    if (most)
        fprintf(out,
                "%.2f GiB allocated at most, by rank %d (the log lists %zu "
                "rank%s)\n",
                (double)most->max_allocated_bytes / PAGE_GIB, most->rank,
                d->log.n_memory, d->log.n_memory == 1 ? "" : "s");
    else
        fprintf(out, "the log has no memory lines\n");
}

/* ---- stages ---- */

static const char *page_source_text(enum stages_source s)
{
    static const char *const texts[] = {
        [STAGES_NONE] = "not known",
        [STAGES_TIMERS] = "by this run's per-rank timers",
        [STAGES_RANKS] = "by per-rank timers; whose stage is not known",
        [STAGES_COSTS] = "estimated, not measured"};
    return texts[s];
}

/* Without a model a rank's number is all that is known: it blames no stage. */
static void page_print_slowest(const struct doctor *d, FILE *out)
{
    const struct stages *s = &d->stages;
    if (s->source == STAGES_RANKS && s->excess <= STAGES_EVEN) {
        fprintf(out, "ranks 0 to %d work alike, at most %.2f ms a step (%s)\n",
                s->n - 1, s->work_s[s->slowest] * 1e3,
                page_source_text(s->source));
        return;
    }
    if (s->source == STAGES_RANKS) {
        fprintf(out,
                "rank %d of 0 to %d works most, %.2f ms a step, %.0f%% more "
                "than the mean of the others, %.2f (%s)\n",
                s->slowest, s->n - 1, s->work_s[s->slowest] * 1e3,
                100 * s->excess, s->others_s * 1e3,
                page_source_text(s->source));
        return;
    }
    if (s->excess <= STAGES_EVEN) {
        fprintf(out,
                "no stage holds the others back: the slowest, %d, works %.1f%% "
                "more than the mean of the others (%s)\n",
                s->slowest, 100 * s->excess, page_source_text(s->source));
        return;
    }
    fprintf(out,
            "stage %d of 0 to %d holds the others back: it works %.2f ms a "
            "micro-batch, %.0f%% more than the mean of the others, %.2f (%s)\n",
            s->slowest, s->n - 1, s->work_s[s->slowest] * 1e3, 100 * s->excess,
            s->others_s * 1e3, page_source_text(s->source));
    page_more(out);
    fprintf(out, "about %.0f ms of a step are spent waiting for it\n",
            s->waits_s * 1e3);
}

/* Times stage by stage only where it is known which rank has which. */
static void page_print_stages(const struct doctor *d, FILE *out)
{
    const struct stages *s = &d->stages;
    page_label("stages", out);
    if (s->source == STAGES_NONE || s->n < 2) {
        fprintf(out, "%s\n", s->n == 1 ? "there is one" : "not known");
        return;
    }
    page_print_slowest(d, out);
    if (s->source == STAGES_RANKS || !d->layout)
        return;
    page_more(out);
    fprintf(out, "%s, in ms:", d->layout);
    for (int r = 0; r < s->n; r++)
        fprintf(out, " %.2f", s->work_s[r] * 1e3);
    fprintf(out, "\n");
}

/* ---- the layout ---- */

/* Half widths in points of the step, so that they compare with the gain. */
static void page_print_gain(const struct doctor *d, FILE *out)
{
    const struct advice *a = &d->advice;
    page_more(out);
    fprintf(out,
            "predicted %.1f ms [%.1f, %.1f] in place of %.1f: %.1f%% less "
            "[%.1f, %.1f]\n",
            a->step_s * 1e3, a->step_lo_s * 1e3, a->step_hi_s * 1e3,
            d->price.meas_step_s * 1e3, 100 * a->gain, 100 * a->gain_lo,
            100 * a->gain_hi);
    page_more(out);
    fprintf(out, "the interval (95%%) holds:\n");
    for (int i = 0; i < N_ADVICE_PARTS; i++)
        if (a->down[i] > 0 || a->up[i] > 0) {
            page_more(out);
            fprintf(out, "  -%.1f/+%.1f points: %s\n", 100 * a->down[i],
                    100 * a->up[i], advice_part_text((enum advice_part)i));
        }
}

/* The error before correction says what the prediction is worth. */
static void page_print_fits(const struct advice_memory *m, FILE *out)
{
    static const char *const words[] = {[ADVICE_FIT_UNKNOWN] = "not known",
                                        [ADVICE_FIT_YES] = "yes",
                                        [ADVICE_FIT_TIGHT] = "tight"};
    page_more(out);
    fprintf(out, "does it fit? %s: %s", words[m->fits], m->why ? m->why : "");
    if (m->pick_bytes)
        fprintf(out, " (predicted peak %.2f GiB",
                (double)m->pick_bytes / PAGE_GIB);
    if (m->pick_bytes && m->own_bytes)
        fprintf(out, ", this run's %.2f", (double)m->own_bytes / PAGE_GIB);
    if (m->pick_bytes && m->own_bytes && isfinite(m->error))
        fprintf(out,
                ", which the model of memory missed by %.1f%% before it was "
                "corrected",
                100 * m->error);
    fprintf(out, "%s\n", m->pick_bytes ? ")" : "");
}

/* What is said of all layouts is not said of those of the run's own kind. */
static void page_print_unsearched(const struct plan *own, FILE *out)
{
    if (!own->standalone_mtp && !own->empty_stage)
        return;
    page_more(out);
    fprintf(out,
            "without those that have %s, as this run's has: moe-layout plan "
            "--%s looks at them\n",
            own->standalone_mtp ? "m on a stage apart from L"
                                : "an empty stage",
            own->standalone_mtp ? "standalone-mtp" : "empty-stages");
}

/* By what the layouts were compared, and whether the search came to its end. */
static void page_print_by(const struct doctor *d, FILE *out)
{
    const struct price *p = &d->price;
    page_more(out);
    fprintf(out, "by %s", price_way_text(p->way));
    if (p->note)
        fprintf(out, "; %s", p->note);
    fprintf(out, "\n");
    page_more(out);
    fprintf(out, "%s layouts of this pipeline: ", d->advice.searched);
    if (strcmp(d->advice.proof, "gap") == 0)
        fprintf(out,
                "not all were looked at; by these costs none is faster by "
                "more than %.2g%%\n",
                100 * d->advice.gap);
    else
        fprintf(out, "%s\n", d->advice.proof);
    page_print_unsearched(&d->advice.own, out);
}

static const char *page_layout_flag(const struct doctor *d)
{
    return flag_name(hybrid_layout_flag(d->model));
}

/* As a line to paste, with what must go for it. */
static void page_print_flag(const struct doctor *d, FILE *out)
{
    const struct advice *a = &d->advice;
    page_more(out);
    fprintf(out, "--%s%s'%s'\n", page_layout_flag(d),
            hybrid_flag_joint(a->pick.layout), a->pick.layout);
    page_more(out);
    fprintf(out, "in place of '%s'", d->layout);
    if (*d->drop)
        fprintf(out, "; take %s out, which Megatron refuses beside it",
                d->drop);
    fprintf(out, "\n");
}

/* Costs that nobody measured may tie layouts that are not equally fast. */
static void page_print_keep_doubt(const struct doctor *d, FILE *out)
{
    if (d->price.way != PRICE_FLOPS && d->price.way != PRICE_CARD)
        return;
    page_more(out);
    fprintf(out, "these costs are not measured, so a faster layout may be "
                 "missed: the two runs below would tell\n");
}

/* Keep, paste, or profile first; each with the costs by which it was found. */
static void page_print_advice(const struct doctor *d, FILE *out)
{
    page_label("layout", out);
    if (d->why) {
        fprintf(out, "none can be advised: %s\n", d->why);
        return;
    }
    if (d->advice.verdict == ADVICE_KEEP) {
        fprintf(out,
                "keep '%s': no layout is predicted to be faster by more than "
                "%.1f%%\n",
                d->layout, 100 * (PLAN_TIE - 1));
        if (d->stages.excess > STAGES_EVEN &&
            strcmp(d->advice.proof, "gap") != 0) {
            page_more(out);
            fprintf(out, "what its slowest stage holds, no layout shares out "
                         "better\n");
        }
        page_print_by(d, out);
        page_print_keep_doubt(d, out);
        return;
    }
    const bool fits = d->advice.memory.fits == ADVICE_FIT_YES;
    fprintf(out, "%s\n",
            d->advice.verdict == ADVICE_PASTE
                ? fits ? "paste this one:" : "paste this one, if it fits:"
                : "this one may be faster, but the interval does not say so "
                  "for certain; profile first:");
    page_print_flag(d, out);
    page_print_gain(d, out);
    page_print_fits(&d->advice.memory, out);
    page_print_by(d, out);
}

/* ---- what else ---- */

static void page_print_findings(const struct findings *f, FILE *out)
{
    for (int i = 0; i < f->n; i++) {
        page_label(finding_weight_name(f->item[i].weight), out);
        fprintf(out, "%s: %s\n", f->item[i].name, f->item[i].text);
    }
}

/* Commands that can be pasted; names of logs are the reader's. */
static void page_print_surer(const struct doctor *d, FILE *out)
{
    page_label("surer", out);
    if (!d->profile[0]) {
        fprintf(out,
                "20 iterations with --timing-log-level 2 --timing-log-option "
                "all --logging-level 20 --log-interval 1 --log-throughput\n");
        return;
    }
    fprintf(out, "two runs of 20 iterations, with this run's flags%s%s and\n",
            *d->drop ? " less " : "", d->drop);
    for (int i = 0; i < DOCTOR_PROFILES; i++) {
        page_more(out);
        fprintf(out,
                "  --%s%s'%s' --train-iters 20 "
                "--log-interval 1 --timing-log-level 2 --timing-log-option all "
                "--logging-level 20\n",
                page_layout_flag(d), hybrid_flag_joint(d->profile[i]),
                d->profile[i]);
    }
    page_more(out);
    fprintf(out,
            "then moe-layout fit %s --run '%s=first.log' --run '%s=second.log' "
            "-o costs.json\n",
            d->command, d->profile[0], d->profile[1]);
    page_more(out);
    fprintf(out, "and  moe-layout plan %s --costs costs.json --hbm-gb G\n",
            d->command);
}

void page_print(const struct doctor *d, FILE *out)
{
    page_print_step(d, out);
    page_print_rate(d, out);
    page_print_memory(d, out);
    page_print_advice(d, out);
    page_print_stages(d, out);
    page_print_findings(&d->findings, out);
    page_print_surer(d, out);
}

/* ---- JSON ---- */

static void page_write_step(const struct doctor *d, struct writer top)
{
    const struct steps *s = &d->steps;
    const struct rate *r = &d->rate;
    struct writer step = writer_object(top, "step");
    writer_number(step, "mean_ms", s->n_used ? s->mean_s * 1e3 : (double)NAN);
    writer_number(step, "se_ms", s->n_used ? s->se_s * 1e3 : (double)NAN);
    writer_number(step, "used", (double)s->n_used);
    writer_number(step, "logged", (double)s->n_logged);
    writer_number(step, "iterations_of_a_line", s->span);
    writer_number(step, "skipped", (double)s->n_skipped);
    writer_number(step, "nan", (double)s->n_nan);
    writer_number(step, "all_mean_ms", s->all_mean_s * 1e3);
    struct writer rate = writer_object(top, "rate");
    writer_number(rate, "tokens_per_s_per_gpu", r->tokens_per_s);
    writer_number(rate, "tflops_per_gpu", r->flops_per_s / 1e12);
    writer_number(rate, "mfu", r->mfu);
    writer_number(rate, "peak_tflops", r->peak_flops / 1e12);
    if (r->peak_source)
        writer_text(rate, "peak_source", r->peak_source);
    writer_text(rate, "rule", RATE_RULE);
    writer_number(rate, "printed_tflops_per_gpu", s->printed_tflops);
    writer_number(rate, "printed_tokens_per_s_per_gpu",
                  s->printed_tokens_per_s);
}

/* Ranks that no stage is known of wait for nobody that we could name. */
static void page_write_stages(const struct doctor *d, struct writer top)
{
    static const char *const names[] = {[STAGES_NONE] = "none",
                                        [STAGES_TIMERS] = "timers",
                                        [STAGES_RANKS] = "ranks",
                                        [STAGES_COSTS] = "estimate"};
    const struct stages *s = &d->stages;
    struct writer to = writer_object(top, "stages");
    writer_text(to, "source", names[s->source]);
    if (s->source == STAGES_NONE)
        return;
    writer_number(to, "slowest", s->slowest);
    writer_number(to, "excess", s->excess);
    writer_bool(to, "holds_back", s->excess > STAGES_EVEN);
    if (s->source != STAGES_RANKS)
        writer_number(to, "waits_ms", s->waits_s * 1e3);
    struct writer list = writer_list(to, "work_ms");
    for (int r = 0; r < s->n; r++)
        writer_number(list, NULL, s->work_s[r] * 1e3);
}

static void page_write_memory(const struct advice_memory *m, struct writer top)
{
    static const char *const words[] = {[ADVICE_FIT_UNKNOWN] = "unknown",
                                        [ADVICE_FIT_YES] = "yes",
                                        [ADVICE_FIT_TIGHT] = "tight"};
    struct writer to = writer_object(top, "memory");
    writer_text(to, "fits", words[m->fits]);
    if (m->why)
        writer_text(to, "why", m->why);
    if (m->pick_bytes)
        writer_number(to, "pick_bytes", (double)m->pick_bytes);
    if (m->own_bytes)
        writer_number(to, "own_bytes", (double)m->own_bytes);
    writer_number(to, "own_error", m->error);
}

static void page_write_parts(const struct advice *a, struct writer to)
{
    struct writer list = writer_list(to, "interval");
    for (int i = 0; i < N_ADVICE_PARTS; i++) {
        struct writer part = writer_object(list, NULL);
        writer_text(part, "part", advice_part_name((enum advice_part)i));
        writer_text(part, "what", advice_part_text((enum advice_part)i));
        writer_number(part, "down", a->down[i]);
        writer_number(part, "up", a->up[i]);
    }
}

/* The same, and the interval by its parts, which the page sums up in a line. */
static void page_write_advice(const struct doctor *d, struct writer top)
{
    const struct advice *a = &d->advice;
    struct writer to = writer_object(top, "advice");
    writer_text(to, "verdict",
                advice_verdict_name(d->why ? ADVICE_NONE : a->verdict));
    if (d->layout)
        writer_text(to, "own_layout", d->layout);
    if (d->why) {
        writer_text(to, "why", d->why);
        return;
    }
    writer_text(to, "layout", a->pick.layout);
    writer_number(to, "gain", a->gain);
    writer_number(to, "gain_lo", a->gain_lo);
    writer_number(to, "gain_hi", a->gain_hi);
    writer_number(to, "pred_step_ms", a->step_s * 1e3);
    page_write_parts(a, to);
    page_write_memory(&a->memory, to);
    writer_text(to, "costs", price_way_name(d->price.way));
    writer_text(to, "proof", a->proof);
    writer_number(to, "gap", a->gap);
    writer_text(to, "take_out", d->drop);
}

void page_write(const struct doctor *d, struct writer top)
{
    writer_text(top, "format", "moe-layout/doctor/1");
    page_write_step(d, top);
    page_write_stages(d, top);
    page_write_advice(d, top);
    struct writer list = writer_list(top, "findings");
    for (int i = 0; i < d->findings.n; i++) {
        const struct finding *f = &d->findings.item[i];
        struct writer item = writer_object(list, NULL);
        writer_text(item, "weight", finding_weight_name(f->weight));
        writer_text(item, "name", f->name);
        writer_text(item, "text", f->text);
    }
    struct writer runs = writer_list(top, "profile_layouts");
    for (int i = 0; i < DOCTOR_PROFILES && d->profile[i]; i++)
        writer_text(runs, NULL, d->profile[i]);
}
