/*
 * How it works: a line is looked at twice. First what stands in it: where its
 * own text begins behind launchers' prefixes, and how many of its words are not
 * known. Then, by that, it is copied with its prefix's names replaced, copied
 * field by field, or left out. Nothing of a word that is not known is copied,
 * so that a mistake here loses a figure and never gives away a name.
 */
#include "redact.h"

#include "chunk.h"
#include "log/fail.h"
#include "log/parse.h"
#include "log/prefix.h"
#include "log/told.h"
#include "megatron/args.h"
#include "megatron/names.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whole numbers of more digits are not kept where no figure is: process and job
 * numbers. Those with a point may have more. */
enum { REDACT_PREFIX_DIGITS = 4, REDACT_FIGURE_DIGITS = 6 };

/* ---- a line and what is in it ---- */

struct redact_line {
    struct log_text text;
    size_t body;        // bytes before the line's own text
    size_t n_bad;       // words of it that are not known
    bool has_word;      // it has one that is
    const char *listed; // dots of a list of arguments, or NULL
    uint64_t stream;    // of the writer
};

/* What stands before the first of these is a prefix, whoever wrote it. */
static const char *const anchors[] = {"iteration",
                                      "times across ranks",
                                      "time across ranks",
                                      "time (ms)",
                                      "[Rank ",
                                      "Step Time",
                                      "step:[",
                                      "step: ",
                                      "steps: ",
                                      "global_step"};

/* An anchor that stands further on wins: launchers know prefixes that we do
 * not. */
static size_t body_of(struct log_text line, uint64_t *stream)
{
    struct log_prefix prefix = {.length = 0};
    const struct log_text body = logprefix_body(line, &prefix);
    size_t at = (size_t)(body.p - line.p), first = line.n;
    *stream = prefix.stream;
    for (size_t i = 0; i < sizeof anchors / sizeof anchors[0]; i++) {
        const char *p = logline_find(line, anchors[i]);
        if (p && (size_t)(p - line.p) < first)
            first = (size_t)(p - line.p);
    }
    return first < line.n && first > at ? first : at;
}

/* The dots of a list of arguments; a timer's end with a colon. */
static const char *listed_at(struct log_text body)
{
    const char *dots = logline_find(body, " ....");
    const char *p = dots ? dots + 1 : NULL;
    while (p && p < body.p + body.n && *p == '.')
        p++;
    return p && p < body.p + body.n && *p != ':' ? dots : NULL;
}

/* The prefix is no part of what is counted: names there are replaced, and do
 * not make a line unknown. */
static struct redact_line look_at(struct log_text line)
{
    struct redact_line l = {.text = line};
    l.body = body_of(line, &l.stream);
    struct log_text rest = logline_from(line, line.p + l.body), c;
    l.listed = listed_at(rest);
    while ((c = chunk_next(&rest)).n > 0)
        l.n_bad += !chunk_is_harmless(c, &l.has_word);
    return l;
}

/* ---- copying ---- */

struct redact_to {
    FILE *out;
    struct removed *removed;
    bool left_out;   // the line before was
    uint64_t stream; // of that line
};

/* Which of the known words and numbers are kept. */
enum keep {
    KEEP_ALL,
    KEEP_FIGURES, // not whole numbers as long as those of jobs and processes
    KEEP_PLAIN    // nor other long ones, nor joined words: no figures there
};

/* Behind its point a number may be of any length; before it, a count of
 * milliseconds or bytes has six digits at most. */
static bool is_kept(struct log_text c, enum keep keep)
{
    bool word = false;
    if (!chunk_is_harmless(c, &word))
        return false;
    if (keep == KEEP_PLAIN && word)
        return !chunk_is_joined(c);
    const char *point = memchr(c.p, '.', c.n);
    if (keep == KEEP_FIGURES && point && point - c.p <= REDACT_FIGURE_DIGITS)
        return true;
    return keep == KEEP_ALL || word || chunk_is_plain(c, REDACT_PREFIX_DIGITS);
}

/* A text with everything else replaced. */
static void copy_replaced(struct redact_to *to, struct log_text t,
                          enum keep keep)
{
    struct log_text rest = t, c;
    const char *from = t.p;
    while ((c = chunk_next(&rest)).n > 0) {
        // a field's name has its value behind it: "reduced_train_loss=11.5"
        const bool named = rest.n && *rest.p == '=';
        if (is_kept(c, named && keep == KEEP_PLAIN ? KEEP_FIGURES : keep))
            continue;
        fwrite(from, 1, (size_t)(c.p - from), to->out);
        const char last = c.p[c.n - 1];
        fprintf(to->out, "removed%d%s", removed_note(to->removed, c, false),
                last == ':' ? ":" : "");
        from = c.p + c.n;
    }
    fwrite(from, 1, (size_t)(t.p + t.n - from), to->out);
}

static void note_all(struct removed *r, struct log_text t)
{
    struct log_text c;
    while ((c = chunk_next(&t)).n > 0) {
        bool word = false;
        if (!chunk_is_harmless(c, &word))
            removed_note(r, c, false);
    }
}

static bool is_clean(struct log_text t)
{
    struct log_text c;
    bool word = false;
    while ((c = chunk_next(&t)).n > 0)
        if (!chunk_is_harmless(c, &word))
            return false;
    return true;
}

/* A field has a name: a number alone is no figure. */
static bool is_field(struct log_text t)
{
    struct log_text c;
    bool word = false, plain = true;
    while ((c = chunk_next(&t)).n > 0) {
        if (!chunk_is_harmless(c, &word))
            return false;
        plain = plain && chunk_is_plain(c, REDACT_PREFIX_DIGITS);
    }
    return word || plain;
}

/* "iteration 1234567/ 2000000": a word and its numbers are figures; behind
 * another word stands whose they are. */
static void copy_first(struct redact_to *to, struct log_text field)
{
    struct log_text rest = field, c;
    const char *end = field.p + field.n;
    int words = 0;
    while (words < 2 && (c = chunk_next(&rest)).n > 0) {
        bool word = false;
        words += !chunk_is_harmless(c, &word) ? 2 : word;
        end = words < 2 ? rest.p : c.p;
    }
    if (words < 2)
        end = field.p + field.n;
    copy_replaced(to, (struct log_text){field.p, (size_t)(end - field.p)},
                  KEEP_ALL);
    copy_replaced(to, logline_from(field, end), KEEP_FIGURES);
}

/* Fields between bars (or commas) are kept whole or not at all; the first one
 * has the iteration's number. */
static void copy_fields(struct redact_to *to, struct log_text body, char part)
{
    bool first = true;
    while (body.n) {
        const char *bar = memchr(body.p, part, body.n);
        const size_t n = bar ? (size_t)(bar - body.p) + 1 : body.n;
        const struct log_text field = {body.p, n};
        if (first)
            copy_first(to, field);
        else if (is_field(field))
            copy_replaced(to, field, KEEP_ALL);
        else
            note_all(to->removed, field);
        body = (struct log_text){body.p + n, body.n - n};
        first = false;
    }
}

/* ---- kinds of lines ---- */

/* The name of an argument, with dashes; false for one that is none. */
static bool argument_name(struct log_text key, char name[NAMES_MAX_BYTES])
{
    if (key.n == 0 || key.n >= NAMES_MAX_BYTES)
        return false;
    for (size_t i = 0; i < key.n; i++)
        name[i] = key.p[i] == '_' ? '-' : key.p[i];
    name[key.n] = '\0';
    return true;
}

/* Of arguments without an effect on figures: switches, words and small counts.
 * Joined words may be a project's or a run's name. */
static bool is_small(struct log_text value)
{
    struct log_text v = logline_trim(value), c;
    while ((c = chunk_next(&v)).n > 0)
        if (!is_kept(c, KEEP_PLAIN) || !chunk_is_plain(c, REDACT_PREFIX_DIGITS))
            return false;
    return true;
}

/* "  num_layers ....... 16": an argument that Megatron has, and a value of
 * known words or numbers. A layout has letters of its own. */
static bool is_harmless_argument(const struct redact_line *l)
{
    char name[NAMES_MAX_BYTES];
    bool ignored;
    const struct log_text body = logline_from(l->text, l->text.p + l->body);
    const struct log_text key = {body.p, (size_t)(l->listed - body.p)};
    struct log_text value = logline_from(body, l->listed + 1);
    while (value.n && *value.p == '.')
        value = (struct log_text){value.p + 1, value.n - 1};
    if (!argument_name(logline_trim(key), name))
        return false;
    if (megatron_args_has(name) ||
        flag_by_argument(name, &ignored) != FLAG_NONE)
        return is_clean(value) || chunk_is_layout(value);
    return megatron_known(name, strlen(name)) != KNOWN_NOT && is_small(value);
}

/* A timer's own name, which may be anybody's: "   my-timer:" or
 * "   my-timer .....: (1.0, 2.0)". Numbers stay where a bracket says that they
 * are a timer's. */
static bool is_timer(const struct redact_line *l)
{
    struct log_text rest = logline_from(l->text, l->text.p + l->body);
    if (l->n_bad != 1 || rest.n == 0 || *rest.p != ' ')
        return false;
    const struct log_text name = chunk_next(&rest);
    if (name.n == 0)
        return false;
    const char *after = name.p + name.n;
    const struct log_text tail = logline_trim(
        (struct log_text){after, (size_t)(l->text.p + l->text.n - after)});
    const bool colon = name.p[name.n - 1] == ':';
    return (colon && (tail.n == 0 || *tail.p == '(')) ||
           (tail.n > 3 && *tail.p == '.' && memchr(tail.p, '(', tail.n));
}

/* A failure, or the end, is told by its words; what else stands there goes. */
static bool is_failure(const struct redact_line *l)
{
    struct logfail f;
    const struct log_prefix prefix = {.rank = -1, .local_rank = -1};
    logfail_init(&f);
    const struct log_text body = logline_from(l->text, l->text.p + l->body);
    logfail_look(&f, body, &prefix);
    return f.kind != LOG_OK || logtold_is_end(body);
}

static bool has_anchor(const struct redact_line *l)
{
    const struct log_text body = logline_from(l->text, l->text.p + l->body);
    for (size_t i = 0; i < sizeof anchors / sizeof anchors[0]; i++)
        if (logline_find(body, anchors[i]))
            return true;
    return logline_find(body, "iteration") != NULL;
}

/* Where numbers are figures: iterations, rows and tables of timers, memory, the
 * padded vocabulary, moe-train's own lines. */
static bool has_figures(const struct redact_line *l)
{
    static const char *const marks[] = {"(ms)", "rank ", "vocab (size",
                                        "moe-train: ", "...:"};
    const struct log_text body = logline_from(l->text, l->text.p + l->body);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (logline_find(body, marks[i]))
            return true;
    return has_anchor(l);
}

/* A long whole number elsewhere is a job's, a process's, somebody's. */
static bool has_long_number(const struct redact_line *l)
{
    struct log_text rest = logline_from(l->text, l->text.p + l->body), c;
    while ((c = chunk_next(&rest)).n > 0) {
        const char *point = memchr(c.p, '.', c.n);
        if (point)
            c.n = (size_t)(point - c.p);
        if (!chunk_is_plain(c, REDACT_PREFIX_DIGITS))
            return true;
    }
    return false;
}

/* Writes the line, or what may be kept of it; false: nothing. */
static bool copy_line(struct redact_to *to, const struct redact_line *l)
{
    const struct log_text body = logline_from(l->text, l->text.p + l->body);
    const struct log_text prefix = {l->text.p, l->body};
    const bool bars = memchr(body.p, '|', body.n) != NULL;
    const bool listed = l->listed && !memchr(body.p, '(', body.n);
    const bool argument = listed && is_harmless_argument(l);
    const bool clean = l->n_bad == 0 && l->has_word && !listed &&
                       (has_figures(l) || !has_long_number(l));
    const bool fields = !listed && has_anchor(l) &&
                        (bars || (l->n_bad > 0 && memchr(body.p, ',', body.n)));
    const bool replaced =
        l->n_bad > 0 && !fields && !listed && (is_timer(l) || is_failure(l));
    if (!argument && !clean && !fields && !replaced)
        return false;
    copy_replaced(to, prefix, KEEP_PLAIN);
    if (fields)
        copy_fields(to, body, bars ? '|' : ',');
    else if (argument || clean)
        fwrite(body.p, 1, body.n, to->out);
    else
        copy_replaced(to, body, is_timer(l) ? KEEP_ALL : KEEP_PLAIN);
    return true;
}

/* ---- a log ---- */

/* Where a line was, another one stands: a reader must see that something came
 * between the lines of a block. One stands for many. */
static void leave_out(struct redact_to *to, const struct redact_line *l)
{
    note_all(to->removed, l->text);
    if (to->left_out && to->stream == l->stream)
        return;
    copy_replaced(to, (struct log_text){l->text.p, l->body}, KEEP_PLAIN);
    fputs("removed\n", to->out);
    to->left_out = true;
    to->stream = l->stream;
}

/* Empty lines stay: they tell nothing. */
static void take_line(struct redact_to *to, struct log_text raw, char *plain,
                      const char *end)
{
    const struct log_text line = {plain, logline_strip_ansi(raw, plain)};
    const struct redact_line l = look_at(line);
    to->removed->n_lines++;
    if (logline_trim(line).n > 0 && !copy_line(to, &l)) {
        leave_out(to, &l);
        return;
    }
    to->left_out = false;
    to->removed->n_kept++;
    fwrite(end, 1, strlen(end), to->out);
}

/* Bytes up to the next end of a line, and that end. */
static size_t line_length(struct log_text t, const char **end)
{
    size_t n = 0;
    while (n < t.n && t.p[n] != '\n' && t.p[n] != '\r')
        n++;
    *end = n == t.n ? "" : t.p[n] == '\n' ? "\n" : "\r";
    return n;
}

/* One buffer for the plain text of a line serves all of them: no line is longer
 * than the log. */
enum err redact_log(const struct text_span *log, struct removed *r,
                    struct text_span *out, struct err_msg *msg)
{
    char *text = NULL;
    size_t len = 0;
    char *plain = malloc(log->len + 1);
    struct redact_to to = {open_memstream(&text, &len), r, false, 0};
    bool ok = plain && to.out;
    struct log_text rest = {log->data, log->len};
    while (ok && rest.n) {
        const char *end;
        const size_t n = line_length(rest, &end);
        take_line(&to, (struct log_text){rest.p, n}, plain, end);
        rest = logline_from(rest, rest.p + n + (*end ? 1 : 0));
    }
    if (to.out)
        ok = fclose(to.out) == 0 && ok;
    char *copy = ok ? arena_strndup(r->arena, text, len) : NULL;
    free(text);
    free(plain);
    if (!copy || r->failed)
        return err_set(msg, ERR_NOMEM, "contribute: out of memory");
    *out = (struct text_span){copy, len};
    return ERR_OK;
}

/* ---- do both say the same ---- */

static bool same(double x, double y)
{
    return x == y || (isnan(x) && isnan(y));
}

/* Everything that a reader of logs is told of an iteration. */
static bool same_iteration(const struct log_iteration *x,
                           const struct log_iteration *y)
{
    bool mtp = x->n_mtp == y->n_mtp;
    for (int i = 0; i < x->n_mtp && mtp; i++)
        mtp = same(x->mtp_loss[i], y->mtp_loss[i]);
    return mtp && x->iteration == y->iteration &&
           same(x->step_ms, y->step_ms) && same(x->loss, y->loss) &&
           same(x->reference_ms, y->reference_ms) &&
           same(x->tflops, y->tflops) &&
           same(x->tokens_per_s, y->tokens_per_s) && x->samples == y->samples &&
           x->global_batch == y->global_batch && x->skipped == y->skipped &&
           x->nan == y->nan && x->usable == y->usable &&
           x->section == y->section;
}

static bool same_iterations(const struct runlog *x, const struct runlog *y)
{
    if (x->n_iterations != y->n_iterations || x->n_sections != y->n_sections)
        return false;
    for (size_t i = 0; i < x->n_iterations; i++)
        if (!same_iteration(&x->iterations[i], &y->iterations[i]))
            return false;
    return true;
}

/* Names that were replaced are another timer's. */
static bool same_timers(const struct runlog *x, const struct runlog *y)
{
    if (x->n_timers != y->n_timers)
        return false;
    for (size_t i = 0; i < x->n_timers; i++) {
        const struct log_timer *s = &x->timers[i], *t = &y->timers[i];
        if ((strcmp(s->name, t->name) != 0 &&
             strncmp(t->name, "removed", 7) != 0) ||
            s->iteration != t->iteration || s->per_rank != t->per_rank ||
            s->n_ranks != t->n_ranks || !same(s->max_ms, t->max_ms) ||
            !same(s->min_ms, t->min_ms))
            return false;
        for (int k = 0; s->per_rank && k < s->n_ranks; k++)
            if (!same(s->rank_ms[k], t->rank_ms[k]))
                return false;
    }
    return true;
}

/* Ranks in the order of the log: a line that moved is another. */
static bool same_memory(const struct runlog *x, const struct runlog *y)
{
    bool is = x->n_memory == y->n_memory;
    for (size_t i = 0; i < x->n_memory && is; i++)
        is = x->memory[i].rank == y->memory[i].rank &&
             x->memory[i].allocated_bytes == y->memory[i].allocated_bytes &&
             x->memory[i].max_allocated_bytes ==
                 y->memory[i].max_allocated_bytes;
    return is;
}

static bool same_facts(const struct runlog *x, const struct runlog *y)
{
    return x->padded_vocab == y->padded_vocab &&
           same(x->p2p_latency_s, y->p2p_latency_s) &&
           same(x->p2p_bytes_per_s, y->p2p_bytes_per_s);
}

/* Read by the same reader as users' logs, not compared as texts: what was
 * removed is meant to differ. */
bool redact_same(struct arena *a, const struct text_span *log,
                 const struct text_span *redacted, const char **why)
{
    struct runlog x, y;
    *why = "it is not read any more";
    if (logparse_read_memory(a, log->data, log->len, &x, NULL) != ERR_OK ||
        logparse_read_memory(a, redacted->data, redacted->len, &y, NULL) !=
            ERR_OK)
        return false;
    *why = !same_iterations(&x, &y) ? "iterations differ"
           : !same_timers(&x, &y)   ? "timers differ"
           : !same_memory(&x, &y)   ? "memory differs"
           : x.failure != y.failure ? "the failure differs"
           : !same_facts(&x, &y)    ? "vocabulary or links differ"
                                    : NULL;
    return *why == NULL;
}
