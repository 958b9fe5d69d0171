/*
 * How it works: each way checks first what the other form cannot say, then
 * writes it. To a pattern every t is doubled and the symbols are laid along
 * the doubled layout; to a layout segments are halved, which the checks have
 * made possible.
 */
#include "translate.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *id, *text;
} translate_errors[] = {
#define TRANSLATE_ROW(name, id, text) {id, text},
    TRANSLATE_ERROR_TABLE(TRANSLATE_ROW)
#undef TRANSLATE_ROW
};

const char *translate_error_id(enum translate_error e)
{
    return translate_errors[e].id;
}

static const char *translate_error_text(enum translate_error e)
{
    return translate_errors[e].text;
}

/* "MTP ...: got m in stage 3" */
static enum translate_error translate_fail(enum translate_error e,
                                           struct err_msg *msg,
                                           const char *what, int where)
{
    err_set(msg, e == TRANSLATE_NO_MEMORY ? ERR_NOMEM : ERR_RANGE,
            "%s: got %s %d", translate_error_text(e), what, where);
    return e;
}

static enum translate_error translate_no_memory(struct err_msg *msg)
{
    err_set(msg, ERR_NOMEM, "translate: out of memory");
    return TRANSLATE_NO_MEMORY;
}

/* ---- a layout as a pattern ---- */

/* First stage with the unit, or n_stages. */
static int translate_stage_of(const struct layout *l, char unit)
{
    int s = 0;
    while (s < l->n_stages && !strchr(l->units[s], unit))
        s++;
    return s;
}

/* Of a valid layout, whose m are all in one stage: hybrid_model.py builds MTP
 * where it builds the loss, and the embedding on the first stage alone. */
static enum translate_error translate_check_layout(const struct layout *l,
                                                   int n_layers,
                                                   struct err_msg *msg)
{
    int mtp = layout_mtp_stage(l), loss = translate_stage_of(l, 'L');
    if (mtp >= 0 && mtp != loss)
        return translate_fail(TRANSLATE_MTP, msg, "m in stage", mtp);
    if (translate_stage_of(l, 'E') != 0)
        return translate_fail(TRANSLATE_FIRST, msg, "E in stage",
                              translate_stage_of(l, 'E'));
    if (loss != l->n_stages - 1)
        return translate_fail(TRANSLATE_LAST, msg, "L in stage", loss);
    if (!n_layers)
        return translate_fail(TRANSLATE_NO_LAYERS, msg, "layers:", 0);
    return TRANSLATE_OK;
}

/* Every t becomes two. */
static bool translate_double(struct arena *a, const struct layout *l,
                             struct layout *out)
{
    struct layout two = {.pp = l->pp, .vpp = l->vpp, .n_stages = l->n_stages};
    int *n = arena_alloc(a, (size_t)l->n_stages, sizeof *n), mtp = 0;
    if (!n)
        return false;
    for (int s = 0; s < l->n_stages; s++) {
        struct layout_counts c = layout_stage(l, s);
        n[s] = 2 * c.n_layers;
        mtp += c.n_mtp;
    }
    bool all = layout_from_counts(a, n, mtp, &two, NULL) == ERR_OK;
    *out = two;
    return all;
}

/* The doubled layout has the same cuts, all of them at even places. */
enum translate_error translate_to_pattern(struct arena *a,
                                          const struct layout *l,
                                          const struct gpt_layers *layers,
                                          const char **out, struct err_msg *msg)
{
    const int n = (int)strlen(layers->moe);
    struct layout two;
    enum translate_error e = translate_check_layout(l, n, msg);
    if (e != TRANSLATE_OK)
        return e;
    char *main = arena_alloc(a, 2 * (size_t)n + 1, 1);
    if (!main || !translate_double(a, l, &two))
        return translate_no_memory(msg);
    for (int i = 0; i < n; i++) {
        main[2 * i] = layers->attention[i];
        main[2 * i + 1] = layers->moe[i] == 'e' ? 'E' : '-';
    }
    // MTP is built like the last decoder layer
    const struct pattern_symbols of = {
        main, layout_mtp_stage(l) < 0 ? "" : main + 2 * (n - 1)};
    const char *text = pattern_of_layout(a, &of, &two);
    if (!text)
        return translate_no_memory(msg);
    *out = text;
    return TRANSLATE_OK;
}

/* ---- a layout of a hybrid model ---- */

/* "...: got 'ME' at layer 0", counted as the pattern counts. */
static enum translate_error translate_not_pair(const char *main, int i,
                                               struct err_msg *msg)
{
    char what[24];
    snprintf(what, sizeof what, "'%.2s' at layer", main + i);
    return translate_fail(TRANSLATE_NOT_GPT, msg, what, i);
}

/* Attention and then what follows it, to the end. */
static enum translate_error translate_check_pairs(const char *main,
                                                  struct err_msg *msg)
{
    int n = (int)strlen(main);
    for (int i = 0; i < n; i += 2)
        if (!strchr("*+DG", main[i]) || i + 1 == n ||
            !strchr("-E", main[i + 1]))
            return translate_not_pair(main, i, msg);
    return TRANSLATE_OK;
}

bool translate_has_pairs(const char *symbols)
{
    return translate_check_pairs(symbols, NULL) == TRANSLATE_OK;
}

bool translate_is_gpt(const char *text)
{
    return strpbrk(text, "tmL") != NULL;
}

/* Where the model's symbols are the pairs of a GPT model, whatever its
 * attention: where the layers stand is all that is asked. */
static enum err translate_read_gpt(struct arena *a, const char *text,
                                   const struct model *m, struct layout *out,
                                   struct err_msg *msg)
{
    const struct layout_question q = {text, m->par.pp, m->n_layers / 2,
                                      m->n_mtp};
    struct layout l;
    struct err_msg why;
    enum translate_error te = translate_check_pairs(m->symbols, &why);
    if (te != TRANSLATE_OK)
        return err_set(msg, ERR_RANGE,
                       "layout '%s' is that of a GPT model, and this one has "
                       "none: %s: want '%s' with '|' between stages",
                       text, why.text, m->symbols);
    enum err e = layout_read_question(a, &q, &l, msg);
    if (e != ERR_OK)
        return e;
    te = translate_check_layout(&l, q.n_layers, &why);
    if (te != TRANSLATE_OK)
        return err_set(msg, ERR_RANGE, "layout '%s': %s", text, why.text);
    return translate_double(a, &l, out)
               ? ERR_OK
               : err_set(msg, ERR_NOMEM, "layout: out of memory");
}

enum err translate_read(struct arena *a, const char *text,
                        const struct model *m, struct layout *out,
                        struct err_msg *msg)
{
    return model_is_hybrid(m) && translate_is_gpt(text)
               ? translate_read_gpt(a, text, m, out, msg)
               : layout_read(a, text, m, out, msg);
}

/* ---- a pattern as a layout ---- */

/* Gated delta net replaces plain attention in some layers of a GPT model
 * (--linear-attention-freq); other sorts exclude each other. */
static enum translate_error translate_check_attention(const char *main,
                                                      struct err_msg *msg)
{
    const char plain[] = "*+D";
    char first = '\0';
    int n = (int)strlen(main);
    for (int i = 0; i < n; i += 2) {
        char c = main[i];
        bool other = strchr(plain, c) && first && c != first;
        first = !first && strchr(plain, c) ? c : first;
        if (other || (strchr(main, 'G') && first && first != '*'))
            return translate_fail(TRANSLATE_MIXED, msg, "another at layer", i);
    }
    return TRANSLATE_OK;
}

/* GPT's MTP block takes the specification of its last decoder layer. */
static enum translate_error translate_check_mtp(const struct pattern *p,
                                                struct err_msg *msg)
{
    if (!p->n_depths || strcmp(p->mtp, p->main + p->n_layers - 2) == 0)
        return TRANSLATE_OK;
    err_set(msg, ERR_RANGE, "%s: got '%.40s', want '%s'",
            translate_error_text(TRANSLATE_MTP_DIFFERS), p->mtp,
            p->main + p->n_layers - 2);
    return TRANSLATE_MTP_DIFFERS;
}

/* Layers are pairs here, so a cut between two of them is at an even place. */
static enum translate_error translate_check_cuts(const struct pattern *p,
                                                 struct err_msg *msg)
{
    for (int s = 0; s < p->n_segments; s++)
        if (p->offset[s] % 2)
            return translate_fail(TRANSLATE_CUT, msg, "an end before segment",
                                  s);
    return TRANSLATE_OK;
}

/* Layers before cuts: a pattern of other layers has no cut to speak of. */
static enum translate_error translate_check_pattern(const struct pattern *p,
                                                    struct err_msg *msg)
{
    enum translate_error e = translate_check_pairs(p->main, msg);
    if (e == TRANSLATE_OK)
        e = translate_check_attention(p->main, msg);
    if (e == TRANSLATE_OK)
        e = translate_check_mtp(p, msg);
    return e == TRANSLATE_OK ? translate_check_cuts(p, msg) : e;
}

/* A segment of whole pairs has half as many layers; MTP depths go to L. */
enum translate_error translate_to_layout(struct arena *a,
                                         const struct pattern *p,
                                         struct layout *out,
                                         struct gpt_layers *layers,
                                         struct err_msg *msg)
{
    enum translate_error e = translate_check_pattern(p, msg);
    if (e != TRANSLATE_OK)
        return e;
    const size_t n = (size_t)p->n_layers / 2;
    struct layout l = {.pp = p->pp, .vpp = p->vpp, .n_stages = p->n_segments};
    char *moe = arena_alloc(a, n + 1, 1), *attention = arena_alloc(a, n + 1, 1);
    int *held = arena_alloc(a, (size_t)p->n_segments, sizeof *held);
    if (!moe || !attention || !held)
        return translate_no_memory(msg);
    for (size_t i = 0; i < n; i++) {
        attention[i] = p->main[2 * i];
        moe[i] = p->main[2 * i + 1] == 'E' ? 'e' : 'd';
    }
    for (int s = 0; s < p->n_segments; s++)
        held[s] = (int)strlen(p->segment[s]) / 2;
    if (layout_from_counts(a, held, p->n_depths, &l, msg) != ERR_OK)
        return TRANSLATE_NO_MEMORY;
    *out = l;
    *layers = (struct gpt_layers){moe, attention};
    return TRANSLATE_OK;
}

/* ---- texts ---- */

const char *translate_plain(struct arena *a, const struct layout *l)
{
    size_t room = (size_t)l->n_stages;
    for (int s = 0; s < l->n_stages; s++)
        room += strlen(l->units[s]);
    char *text = arena_alloc(a, room, 1), *out = text;
    for (int s = 0; text && s < l->n_stages; s++) {
        size_t n = strlen(l->units[s]);
        memcpy(out, l->units[s], n);
        out += n;
        if (s < l->n_stages - 1)
            *out++ = '|';
    }
    return text;
}

/* A run takes at most "+[1]*" and its digits, twenty in all. */
const char *translate_freq(struct arena *a, const char *letters, char one)
{
    size_t runs = 1, room;
    for (const char *p = letters; *p; p++)
        runs += (p[0] == one) != (p[1] == one);
    room = 20 * runs + 3;
    char *text = arena_alloc(a, room, 1), *out = text;
    if (!text)
        return NULL;
    *out++ = '(';
    for (const char *p = letters; *p;) {
        size_t n = 1;
        while (p[n] && (p[n] == one) == (p[0] == one))
            n++;
        out += snprintf(out, room - (size_t)(out - text), "%s[%d]*%zu",
                        p > letters ? "+" : "", p[0] == one, n);
        p += n;
    }
    *out++ = ')';
    return text;
}
