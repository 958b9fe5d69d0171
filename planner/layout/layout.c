/*
 * How it works: layout_expand runs Megatron's two substitutions; what is left
 * is split at bars into stages and checked in Megatron's order. See
 * PipelineParallelLayerLayout in
 * megatron/core/transformer/pipeline_parallel_layer_layout.py.
 */
#include "layout.h"

#include "listed.h"

#include "expand.h"
#include "symbols.h"

#include <stdio.h>
#include <string.h>

// characters of *n and the end: an int has at most 10 digits
enum { LAYOUT_MAX_COUNT = 12 };

static const struct {
    const char *id, *text;
} errors[] = {
#define LAYOUT_ROW(name, id, text) {id, text},
    LAYOUT_ERROR_TABLE(LAYOUT_ROW)
#undef LAYOUT_ROW
};

const char *layout_error_id(enum layout_error e)
{
    return errors[e].id;
}

const char *layout_error_text(enum layout_error e)
{
    return errors[e].text;
}

/* ---- stages ---- */

/* Megatron maps each character to a layer type before it checks anything else.
 */
static enum layout_error check_chars(const struct layout_chars *s,
                                     const char *text, struct err_msg *msg)
{
    for (size_t i = 0; i < s->n; i++) {
        uint32_t c = s->c[i];
        if (c == '|' || c == 'E' || c == 'L' || c == 't' || c == 'm')
            continue;
        // what a terminal may not show is told by its number
        if (c > ' ' && c < 127)
            err_set(msg, ERR_RANGE,
                    "layout '%s': '%c' is left after expansion, want only "
                    "E t m L and |",
                    text, (char)c);
        else
            err_set(msg, ERR_RANGE,
                    "layout '%s': U+%04X is left after expansion, want only "
                    "E t m L and |",
                    text, (unsigned)c);
        return LAYOUT_BAD_CHAR;
    }
    return LAYOUT_OK;
}

/* Splits at bars into out->units; false when out of memory. One block holds all
 * letters, and a bar's place ends a stage's string. */
static bool layout_split(struct arena *a, const struct layout_chars *s,
                         struct layout *out)
{
    int n = 1;
    for (size_t i = 0; i < s->n; i++)
        n += s->c[i] == '|';
    char *letters = arena_alloc(a, s->n + 1, 1);
    out->n_stages = n;
    out->units = arena_alloc(a, (size_t)n, sizeof *out->units);
    if (!letters || !out->units)
        return false;
    int stage = 0;
    out->units[0] = letters;
    for (size_t i = 0; i < s->n; i++) {
        letters[i] = s->c[i] == '|' ? '\0' : (char)s->c[i];
        if (s->c[i] == '|')
            out->units[++stage] = letters + i + 1;
    }
    return true;
}

/* Reads `text` by way of `x` into `out`, whose pp is set. */
static enum layout_error parse_chars(struct arena *a, const char *text,
                                     struct layout_expansion *x,
                                     struct layout *out, struct err_msg *msg)
{
    const int pp = out->pp;
    struct layout l = {.pp = pp};
    if (!layout_expand(text, x)) {
        err_set(msg, ERR_RANGE, "layout '%.40s': expands to more than %d units",
                text, LAYOUT_MAX_CHARS);
        return LAYOUT_TOO_LARGE;
    }
    enum layout_error e = check_chars(&x->out, text, msg);
    if (e != LAYOUT_OK)
        return e;
    if (!layout_split(a, &x->out, &l)) {
        err_set(msg, ERR_NOMEM, "layout: out of memory");
        return LAYOUT_NO_MEMORY;
    }
    if (l.n_stages % pp != 0) {
        err_set(msg, ERR_RANGE,
                "layout '%s': %d stages, want a multiple of the pipeline size "
                "%d",
                text, l.n_stages, pp);
        return LAYOUT_NOT_DIVISIBLE;
    }
    l.vpp = l.n_stages / pp;
    *out = l;
    return LAYOUT_OK;
}

enum layout_error layout_parse(struct arena *a, const char *text, int pp,
                               struct layout *out, struct err_msg *msg)
{
    struct layout_expansion *x = layout_expansion_new();
    if (!x) {
        err_set(msg, ERR_NOMEM, "layout: out of memory");
        return LAYOUT_NO_MEMORY;
    }
    struct layout l = {.pp = pp};
    enum layout_error e = parse_chars(a, text, x, &l, msg);
    layout_expansion_free(x);
    if (e == LAYOUT_OK)
        *out = l;
    return e;
}

/* ---- validation ---- */

struct layout_counts layout_stage(const struct layout *l, int stage)
{
    struct layout_counts n = {0};
    for (const char *u = l->units[stage]; *u; u++) {
        n.n_embedding += *u == 'E';
        n.n_layers += *u == 't';
        n.n_mtp += *u == 'm';
        n.n_loss += *u == 'L';
    }
    return n;
}

static struct layout_counts total_counts(const struct layout *l)
{
    struct layout_counts sum = {0};
    for (int s = 0; s < l->n_stages; s++) {
        struct layout_counts c = layout_stage(l, s);
        sum.n_embedding += c.n_embedding;
        sum.n_layers += c.n_layers;
        sum.n_mtp += c.n_mtp;
        sum.n_loss += c.n_loss;
    }
    return sum;
}

static enum layout_error layout_fail(enum layout_error e, struct err_msg *msg,
                                     int found, int wanted)
{
    err_set(msg, ERR_RANGE, "%s: found %d, want %d", layout_error_text(e),
            found, wanted);
    return e;
}

static enum layout_error fail_letter(enum layout_error e, struct err_msg *msg,
                                     char found)
{
    err_set(msg, ERR_RANGE, "%s: found %c", layout_error_text(e), found);
    return e;
}

/* In Megatron's order, which looks at the flattened list: E may well stand in
 * the second stage when the first one is empty. */
static enum layout_error check_ends_and_counts(const struct layout *l,
                                               int n_layers, int n_mtp,
                                               struct err_msg *msg)
{
    char first = '\0', last = '\0';
    for (int s = 0; s < l->n_stages; s++) {
        size_t n = strlen(l->units[s]);
        if (n && !first)
            first = l->units[s][0];
        if (n)
            last = l->units[s][n - 1];
    }
    if (!first) {
        err_set(msg, ERR_RANGE, "%s", layout_error_text(LAYOUT_EMPTY));
        return LAYOUT_EMPTY;
    }
    if (first != 'E')
        return fail_letter(LAYOUT_FIRST_NOT_E, msg, first);
    if (last != 'L')
        return fail_letter(LAYOUT_LAST_NOT_L, msg, last);
    struct layout_counts c = total_counts(l);
    if (c.n_embedding != 1)
        return layout_fail(LAYOUT_E_COUNT, msg, c.n_embedding, 1);
    if (c.n_loss != 1)
        return layout_fail(LAYOUT_L_COUNT, msg, c.n_loss, 1);
    if (c.n_layers != n_layers)
        return layout_fail(LAYOUT_T_COUNT, msg, c.n_layers, n_layers);
    if (c.n_mtp != n_mtp)
        return layout_fail(LAYOUT_M_COUNT, msg, c.n_mtp, n_mtp);
    return LAYOUT_OK;
}

/* The checks of validate_layer_layout() for m, in its order. */
static enum layout_error check_mtp(const struct layout *l, struct err_msg *msg)
{
    bool seen = false;
    for (int s = 0; s < l->n_stages; s++)
        for (const char *u = l->units[s]; *u; u++) {
            seen = seen || *u == 'm';
            if (seen && *u == 't')
                return fail_letter(LAYOUT_T_AFTER_M, msg, *u);
        }
    int first = layout_mtp_stage(l);
    if (first < 0)
        return LAYOUT_OK;
    for (int s = first; s < l->n_stages; s++)
        if (layout_stage(l, s).n_mtp && s / l->pp != l->vpp - 1)
            return layout_fail(LAYOUT_M_NOT_LAST_VPP, msg, s / l->pp,
                               l->vpp - 1);
    for (int s = first + 1; s < l->n_stages; s++)
        if (layout_stage(l, s).n_mtp)
            return layout_fail(LAYOUT_M_SPLIT, msg, s, first);
    return LAYOUT_OK;
}

enum layout_error layout_validate(const struct layout *l, int n_layers,
                                  int n_mtp, struct err_msg *msg)
{
    enum layout_error e = check_ends_and_counts(l, n_layers, n_mtp, msg);
    return e == LAYOUT_OK ? check_mtp(l, msg) : e;
}

enum err layout_read_question(struct arena *a, const struct layout_question *q,
                              struct layout *out, struct err_msg *msg)
{
    const char *text;
    const enum err listed = layout_of_list(a, q->text, &text, msg);
    if (listed != ERR_OK)
        return listed;
    enum layout_error e = layout_parse(a, text, q->pp, out, msg);
    if (e != LAYOUT_OK)
        return e == LAYOUT_NO_MEMORY ? ERR_NOMEM : ERR_RANGE;
    e = layout_validate(out, q->n_layers, q->n_mtp, msg);
    if (e == LAYOUT_OK)
        return ERR_OK;
    return err_prefix(msg, ERR_RANGE, "layout '%s'", q->text);
}

enum err layout_read(struct arena *a, const char *text, const struct model *m,
                     struct layout *out, struct err_msg *msg)
{
    const struct layout_question q = {text, m->par.pp, m->n_layers, m->n_mtp};
    if (model_is_hybrid(m))
        return symbols_read(a, text, m, out, msg);
    return layout_read_question(a, &q, out, msg);
}

/* ---- facts of a layout ---- */

/* Megatron numbers decoder layers along the stages: stage v*PP + r follows v*PP
 * + r - 1, also across ranks. */
int layout_first_layer(const struct layout *l, int stage)
{
    int n = 0;
    for (int s = 0; s < stage; s++)
        n += layout_stage(l, s).n_layers;
    return n;
}

void layout_first_layers(const struct layout *l, int *first)
{
    int n = 0;
    for (int s = 0; s < l->n_stages; s++) {
        first[s] = n;
        n += layout_stage(l, s).n_layers;
    }
}

void layout_stage_kinds(const struct layout *l, const struct model *m,
                        int stage, int counts[N_KINDS])
{
    struct layout_counts c = layout_stage(l, stage);
    memset(counts, 0, N_KINDS * sizeof *counts);
    counts[KIND_E] = c.n_embedding;
    counts[KIND_M] = c.n_mtp;
    counts[KIND_L] = c.n_loss;
    int first = layout_first_layer(l, stage);
    for (int i = 0; i < c.n_layers; i++)
        counts[model_layer_kind(m, first + i)]++;
}

int layout_mtp_stage(const struct layout *l)
{
    for (int s = 0; s < l->n_stages; s++)
        if (strchr(l->units[s], 'm'))
            return s;
    return -1;
}

/* By rank and not by stage: what costs is a second rank that needs the token
 * table. */
bool layout_mtp_standalone(const struct layout *l)
{
    int s = layout_mtp_stage(l);
    return s >= 0 && s % l->pp != l->pp - 1;
}

bool layout_has_empty(const struct layout *l)
{
    bool empty = false;
    for (int s = 0; s < l->n_stages; s++)
        empty = empty || !*l->units[s];
    return empty;
}

int layout_warnings(const struct layout *l,
                    const char *texts[LAYOUT_MAX_WARNINGS])
{
    int n = 0;
    if (!strchr(l->units[0], 'E'))
        texts[n++] = "E is not in the first stage: Megatron checks only the "
                     "flattened list, and the first rank has no embedding";
    if (!strchr(l->units[l->n_stages - 1], 'L'))
        texts[n++] = "L is not in the last stage: Megatron checks only the "
                     "flattened list, and the last rank has no loss";
    int mtp = layout_mtp_stage(l);
    if (mtp >= 0 && mtp % l->pp == 0 && l->pp > 1)
        texts[n++] = "m sits on rank 0";
    if (layout_mtp_standalone(l))
        texts[n++] = "m sits on a stage without L: own embedding copy, a shape "
                     "exchange before every transfer, larger transfers; "
                     "deadlocks are reported for this exchange at PP >= 4";
    return n;
}

/* ---- printing ---- */

static size_t count_units(const struct layout *l)
{
    size_t n = 0;
    for (int s = 0; s < l->n_stages; s++)
        n += strlen(l->units[s]);
    return n;
}

/* Writes one stage with runs of two or more as t*n; returns the end. `out` has
 * room for two characters a unit and two more. */
static char *put_stage(char *out, const char *units)
{
    while (*units) {
        int run = 1;
        while (units[run] == units[0])
            run++;
        *out++ = *units;
        if (run > 1)
            out += snprintf(out, LAYOUT_MAX_COUNT, "*%d", run);
        units += run;
    }
    *out = '\0';
    return out;
}

/* Stages from `s` on that are equal to it; the last stage has no bar and joins
 * no group. */
static int equal_stages(const struct layout *l, int s)
{
    int same = 1;
    while (s + same < l->n_stages - 1 &&
           strcmp(l->units[s + same], l->units[s]) == 0)
        same++;
    return same;
}

const char *layout_string(struct arena *a, const struct layout *l)
{
    size_t room =
        2 * count_units(l) + (size_t)l->n_stages + 2 * LAYOUT_MAX_COUNT;
    char *text = arena_alloc(a, room, 1), *one = arena_alloc(a, room, 1);
    char *out = text;
    if (!text || !one)
        return NULL;
    for (int s = 0; s < l->n_stages;) {
        size_t len = (size_t)(put_stage(one, l->units[s]) - one);
        int same = equal_stages(l, s);
        char times[LAYOUT_MAX_COUNT];
        size_t digits = (size_t)snprintf(times, sizeof times, "%d", same);
        // the group's own characters: two brackets, its bar and its star
        bool grouped = len + digits + 4 < (len + 1) * (size_t)same;
        if (grouped)
            *out++ = '(';
        memcpy(out, one, len);
        out += len;
        if (s < l->n_stages - 1)
            *out++ = '|';
        if (grouped)
            out += snprintf(out, LAYOUT_MAX_COUNT + 2, ")*%s", times);
        s += grouped ? same : 1;
    }
    return text;
}

const char *layout_text(struct arena *a, const struct layout *l,
                        const struct model *m)
{
    return model_is_hybrid(m) ? symbols_string(a, l, m) : layout_string(a, l);
}

/* E, layers, m and L in the order in which a micro-batch passes them. */
static const char *stage_text(struct arena *a, const struct layout *l,
                              int stage, int n_layers, int n_mtp)
{
    char *text = arena_alloc(a, (size_t)n_layers + (size_t)n_mtp + 3, 1);
    char *p = text;
    if (!text)
        return NULL;
    if (stage == 0)
        *p++ = 'E';
    memset(p, 't', (size_t)n_layers);
    p += n_layers;
    if (stage == l->n_stages - 1) {
        memset(p, 'm', (size_t)n_mtp);
        p[n_mtp] = 'L';
    }
    return text;
}

enum err layout_from_counts(struct arena *a, const int *n_layers, int n_mtp,
                            struct layout *out, struct err_msg *msg)
{
    const char **units = arena_alloc(a, (size_t)out->n_stages, sizeof *units);
    bool all = units != NULL;
    for (int s = 0; s < out->n_stages && all; s++) {
        units[s] = stage_text(a, out, s, n_layers[s], n_mtp);
        all = units[s] != NULL;
    }
    if (!all)
        return err_set(msg, ERR_NOMEM, "layout: out of memory");
    out->units = units;
    return ERR_OK;
}

static const char *unit_word(char unit)
{
    return unit == 'E'   ? "\"embedding\""
           : unit == 't' ? "\"decoder\""
           : unit == 'm' ? "\"mtp\""
                         : "\"loss\"";
}

const char *layout_list(struct arena *a, const struct layout *l)
{
    // the longest word
    const size_t word = sizeof "\"embedding\", " - 1;
    char *text =
        arena_alloc(a, count_units(l) * word + (size_t)l->n_stages * 4 + 3, 1);
    char *out = text;
    if (!text)
        return NULL;
    *out++ = '[';
    for (int s = 0; s < l->n_stages; s++) {
        out += snprintf(out, 4, "%s[", s ? ", " : "");
        for (const char *u = l->units[s]; *u; u++)
            out += snprintf(out, word + 1, "%s%s", u > l->units[s] ? ", " : "",
                            unit_word(*u));
        *out++ = ']';
    }
    *out++ = ']';
    return text;
}
