/*
 * How it works. Each format is a row of a table: the text that tells it, where
 * its iteration's number stands, and by which words its values are found. A
 * value is looked for in the rest of the line, up to the next iteration.
 */
#include "format.h"

#include "field.h"

#include <math.h>
#include <string.h>

/* ---- formats of a table ---- */

struct value_at {
    const char *word; // what stands before the value
    enum field_unit unit;
};

struct text_format {
    enum log_dialect dialect;
    const char *mark; // stands before the number
    struct value_at step, loss, other_loss;
};

/* Sources: DeepSpeed runtime/pipe/engine.py, MindFormers core/callback, NeMo 1
 * progress bars (nlp_overrides.py). */
static const struct text_format formats[] = {
    {LOG_DEEPSPEED_ENGINE,
     "steps: ",
     {"iter time (s): ", FIELD_SECONDS},
     {" lm loss: ", FIELD_PLAIN},
     {" loss: ", FIELD_PLAIN}},
    {LOG_DEEPSPEED_ENGINE,
     "step: ",
     {"iter time (s): ", FIELD_SECONDS},
     {" lm loss: ", FIELD_PLAIN},
     {" loss: ", FIELD_PLAIN}},
    {LOG_MINDFORMERS,
     "step:[",
     {"per_step_time:", FIELD_UNSAID},
     {" loss:", FIELD_PLAIN},
     {" loss:", FIELD_PLAIN}},
    {LOG_MINDFORMERS,
     "step ",
     {"per_step_time:", FIELD_UNSAID},
     {" loss:", FIELD_PLAIN},
     {" loss:", FIELD_PLAIN}},
    {LOG_NEMO,
     "global_step=",
     {"train_step_timing in s=", FIELD_SECONDS},
     {"reduced_train_loss=", FIELD_PLAIN},
     {"loss=", FIELD_PLAIN}},
};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

/* The word of a value: up to a blank or a comma, a bracket or a brace. */
static bool format_value(struct log_text line, const struct value_at *at,
                         double *out)
{
    const char *p = logline_find(line, at->word);
    if (!p)
        return false;
    struct log_text t = logline_from(line, p + strlen(at->word));
    logline_skip_blanks(&t);
    size_t n = 0;
    while (n < t.n && !(t.p[n] == ',' && (n + 1 == t.n || t.p[n + 1] == ' ')) &&
           (!t.p[n] || !strchr(" ]}\t", t.p[n])))
        n++;
    return logfield_value((struct log_text){t.p, n}, at->unit, out);
}

/* "  1/   10]", "10 /  100 ", "49.00,": rounded counts ("2e+3") are none. */
static bool format_number(struct log_text *t, struct log_step *out)
{
    double v = 0;
    logline_skip_blanks(t);
    if (!logfield_take(t, &v) || !(v >= 0 && v < 9e15) || v > floor(v))
        return false;
    out->it.iteration = (int64_t)v;
    struct log_text rest = *t;
    logline_skip_blanks(&rest);
    if (rest.n && *rest.p == '/') {
        rest = logline_from(rest, rest.p + 1);
        logline_skip_blanks(&rest);
        if (!logfield_take_int(&rest, &out->total))
            return false;
        *t = rest;
    }
    return true;
}

/* Of a progress bar the count before the brackets, "6024/10000 [4:26:54<", is
 * exact where global_step is rounded to "6.02e+3". */
static bool bar_number(struct log_text line, struct log_step *out)
{
    const char *at = logline_find(line, " [");
    const char *p = at;
    if (!at)
        return false;
    while (p > line.p && p[-1] && strchr("0123456789/", p[-1]))
        p--;
    struct log_text t = {p, (size_t)(at - p)};
    return format_number(&t, out) && t.n == 0;
}

static bool is_rounded(struct log_text t)
{
    size_t n = 0;
    while (n < t.n && t.p[n] != ',' && t.p[n] != ']')
        n++;
    return memchr(t.p, 'e', n) != NULL;
}

static bool format_read(const struct text_format *f, struct log_text line,
                        struct log_text after, struct log_step *out)
{
    logstep_init(out);
    bool rounded = f->dialect == LOG_NEMO && is_rounded(after);
    if (rounded ? !bar_number(line, out) : !format_number(&after, out))
        return false;
    if (f->dialect == LOG_NEMO) { // its bar starts anew each epoch
        out->total = 0;
        after = line;
    }
    struct log_iteration *it = &out->it;
    if (!format_value(after, &f->step, &it->step_ms) ||
        !isfinite(it->step_ms) || it->step_ms < 0)
        return false;
    double loss = NAN;
    bool has_loss = format_value(line, &f->loss, &loss) ||
                    format_value(line, &f->other_loss, &loss);
    it->nan = out->nan_told = has_loss && !isfinite(loss);
    it->loss = isfinite(loss) ? loss : (double)NAN;
    out->dialect = f->dialect;
    out->whole = out->closed = true;
    return true;
}

/* MindFormers prints TFLOP/s as "25.92T". */
static void read_throughput(struct log_text line, struct log_step *out)
{
    static const char word[] = "throughput";
    const char *at = logline_find(line, word);
    const char *colon =
        at ? memchr(at, ':', (size_t)(line.p + line.n - at)) : NULL;
    if (!colon)
        return;
    struct log_text t = logline_from(line, colon + 1);
    logline_skip_blanks(&t);
    double v = 0;
    if (logline_take_number(&t, &v) && logline_starts(t, "T") && isfinite(v) &&
        v >= 0)
        out->it.tflops = v;
}

/* From one mark to the next of the same kind. */
static struct log_text format_until_next(struct log_text t, const char *mark)
{
    const char *next = logline_find(t, mark);
    return next ? (struct log_text){t.p, (size_t)(next - t.p)} : t;
}

/* At every place of its mark: a line of output may have other text in front, or
 * hold several steps. */
static bool try_format(const struct text_format *f, struct log_text *rest,
                       struct log_step *out)
{
    if (!logline_find(*rest, f->step.word))
        return false;
    const char *at;
    while ((at = logline_find(*rest, f->mark)) != NULL) {
        struct log_text line = *rest;
        struct log_text after = logline_from(line, at + strlen(f->mark));
        *rest = after;
        struct log_text own = format_until_next(after, f->mark);
        line.n = (size_t)(own.p + own.n - line.p);
        if (!format_read(f, line, own, out))
            continue;
        if (f->dialect == LOG_MINDFORMERS)
            read_throughput(own, out);
        *rest = logline_from(*rest, own.p + own.n);
        return true;
    }
    return false;
}

/* A cut line's last number may be half of one, and these lines have no end. */
bool logformat_next(struct log_text *rest, bool cut, struct log_step *out)
{
    bool any = !cut && (logline_find(*rest, "step") != NULL);
    for (size_t i = 0; any && i < N_FORMATS; i++) {
        struct log_text t = *rest;
        if (try_format(&formats[i], &t, out)) {
            *rest = t;
            return true;
        }
    }
    rest->n = 0;
    return false;
}

/* ---- Bridge ---- */

/* "GPU utilization: 942.0MODEL_TFLOP/s/GPU"; NAN for anything else. */
static double step_tflops(struct log_text own)
{
    static const char use[] = "GPU utilization:";
    const char *at = logline_find(own, use);
    if (!at)
        return NAN;
    struct log_text t = logline_from(own, at + sizeof use - 1);
    size_t n = 0;
    while (n < t.n && t.p[n] != '\t' && t.p[n] != '[')
        n++;
    t.n = n;
    double v = 0;
    bool ok = logline_find(t, "TFLOP") && logfield_value(t, FIELD_FLOPS, &v);
    return ok && isfinite(v) && v >= 0 ? v : (double)NAN;
}

/* A step without a number, which the line before it has. */
bool logformat_next_step_time(struct log_text *rest, struct log_step *out)
{
    static const char word[] = "Step Time";
    const char *at;
    while ((at = logline_find(*rest, word)) != NULL) {
        struct log_text t = logline_from(*rest, at + sizeof word - 1);
        *rest = t;
        logline_skip_blanks(&t);
        struct log_text own = format_until_next(t, word);
        const char *end = own.n ? memchr(own.p, 's', own.n) : NULL;
        if (!logline_starts(t, ":") || !end)
            continue;
        logstep_init(out);
        struct log_text value = {t.p + 1, (size_t)(end - t.p)};
        double ms = 0;
        if (!logfield_value(value, FIELD_UNSAID, &ms) || !isfinite(ms) ||
            ms < 0)
            continue;
        out->it.step_ms = ms;
        out->it.tflops = step_tflops(own);
        out->dialect = LOG_BRIDGE;
        out->whole = out->closed = true;
        return true;
    }
    return false;
}

/* ---- dialects that are not read ---- */

struct unread {
    const char *name;
    const char *first, *second; // texts of its lines; second may be NULL
};

static const struct unread unread[] = {
    {"mlperf", ":::MLLOG", NULL},
    {"torchtitan", " tps: ", "step: "},
    {"verl", "step:", "timing_s/"},
    {"slime", "train/loss", NULL},
    {"paddlenlp", "interval_runtime:", "loss:"},
    {"maxtext", "completed step:", "loss:"},
    {"internlm", "tgs (tokens/gpu/second)=", NULL},
    {"nanogpt", "iter ", "loss "},
    {"hugging-face-trainer", "'loss'", "'epoch'"},
    {"hugging-face-trainer", "\"loss\"", "\"epoch\""},
    {"lightning-bar", "it/s", "loss="},
    {"lightning-bar", "s/it", "loss="},
    {"unknown", "elapsed time per", NULL},
    {"unknown", "elapsed_time_per", NULL},
    {"unknown", "step", "loss"},
    {"unknown", "Step", "Loss"},
    {"unknown", "step", "Loss"},
    {"unknown", "Step", "loss"},
    {"unknown", "iter", "loss"},
    {"unknown", "Iter", "oss"},
    {"unknown", "poch", "oss"},
};

static bool has_digit(struct log_text t)
{
    for (size_t i = 0; i < t.n; i++) {
        if (t.p[i] >= '0' && t.p[i] <= '9')
            return true;
    }
    return false;
}

/* Forms that are known and not read are named, so that a user is told more than
 * that nothing was found. */
const char *logformat_unread(struct log_text line)
{
    for (size_t i = 0; i < sizeof unread / sizeof unread[0]; i++) {
        const struct unread *u = &unread[i];
        if (logline_find(line, u->first) &&
            (!u->second || logline_find(line, u->second)))
            return has_digit(line) ? u->name : NULL;
    }
    return NULL;
}
