#include "symbols.h"

#include "base/text.h"

#include <string.h>

/* ---- reading ---- */

/* Follows the model's symbols through the text up to its end or a '/'; the
 * letter where they part, or NULL. Counts bars and the letters between. */
static const char *symbols_follow(const char *text, const struct model *m,
                                  int *n_stages)
{
    int layer = 0;
    *n_stages = 1;
    for (; *text && *text != '/'; text++) {
        if (*text == '|')
            ++*n_stages;
        else if (layer < m->n_layers && *text == m->symbols[layer])
            layer++;
        else
            return text;
    }
    return layer == m->n_layers ? NULL : text;
}

/* The MTP parts: each "/" and the letters of one depth. */
static bool symbols_has_depths(const char *text, const struct model *m)
{
    const size_t len = m->mtp_symbols ? strlen(m->mtp_symbols) : 0;
    text += strcspn(text, "/");
    if (!m->n_mtp) // parts that are all empty are none
        return !text[strspn(text, "/")];
    for (int i = 0; i < m->n_mtp; i++) {
        if (*text != '/' || strncmp(text + 1, m->mtp_symbols, len) != 0)
            return false;
        text += 1 + len;
    }
    return !*text;
}

static enum err symbols_check(const char *text, const struct model *m,
                              int *n_stages, struct err_msg *msg)
{
    char found[TEXT_BYTE_NAME];
    const char *at = symbols_follow(text, m, n_stages);
    if (at)
        return err_set(msg, ERR_RANGE,
                       "pattern '%s': differs from the model's %d layers at "
                       "character %td (%s): want '%s' with '|' between "
                       "stages",
                       text, m->n_layers, at - text + 1,
                       text_name_byte(*at, found), m->symbols);
    if (!symbols_has_depths(text, m))
        return err_set(msg, ERR_RANGE,
                       "pattern '%s': want %d MTP depths '/%s' at its end",
                       text, m->n_mtp, m->mtp_symbols ? m->mtp_symbols : "");
    if (*n_stages % m->par.pp != 0)
        return err_set(msg, ERR_RANGE,
                       "pattern '%s': %d stages, want a multiple of the %d "
                       "ranks: put '|' between stages",
                       text, *n_stages, m->par.pp);
    return ERR_OK;
}

/* Layers of each stage, by the bars. */
static void symbols_count(const char *text, int *n_layers)
{
    for (; *text && *text != '/'; text++)
        if (*text == '|')
            *++n_layers = 0;
        else
            ++*n_layers;
}

enum err symbols_read(struct arena *a, const char *text, const struct model *m,
                      struct layout *out, struct err_msg *msg)
{
    int n_stages = 0;
    enum err e = symbols_check(text, m, &n_stages, msg);
    if (e != ERR_OK)
        return e;
    int *n_layers = arena_alloc(a, (size_t)n_stages, sizeof *n_layers);
    if (!n_layers)
        return err_set(msg, ERR_NOMEM, "layout: out of memory");
    symbols_count(text, n_layers);
    struct layout l = {
        .pp = m->par.pp, .vpp = n_stages / m->par.pp, .n_stages = n_stages};
    e = layout_from_counts(a, n_layers, m->n_mtp, &l, msg);
    if (e == ERR_OK)
        *out = l;
    return e;
}

/* ---- writing ---- */

/* Room for the letters of `n_stages` stages: symbols, bars, depths and the end.
 * One stage may hold all layers. */
static char *symbols_room(struct arena *a, const struct model *m, int n_stages)
{
    const size_t depth = m->mtp_symbols ? strlen(m->mtp_symbols) + 1 : 1;
    return arena_alloc(a,
                       (size_t)m->n_layers + (size_t)n_stages +
                           (size_t)m->n_mtp * depth + 1,
                       1);
}

/* Appends one stage's letters, which begin with *layer, and behind the last the
 * depths; *layer goes on to the next stage's. */
static char *symbols_put(char *to, const struct layout *l,
                         const struct model *m, int stage, int *layer)
{
    const int n = layout_stage(l, stage).n_layers;
    const size_t depth = m->mtp_symbols ? strlen(m->mtp_symbols) : 0;
    memcpy(to, m->symbols + *layer, (size_t)n);
    to += n;
    *layer += n;
    for (int i = 0; stage == l->n_stages - 1 && i < m->n_mtp; i++) {
        *to++ = '/';
        if (depth)
            memcpy(to, m->mtp_symbols, depth);
        to += depth;
    }
    return to;
}

const char *symbols_string(struct arena *a, const struct layout *l,
                           const struct model *m)
{
    char *text = symbols_room(a, m, l->n_stages), *to = text;
    int layer = 0;
    for (int s = 0; text && s < l->n_stages; s++) {
        if (s)
            *to++ = '|';
        to = symbols_put(to, l, m, s, &layer);
    }
    return text;
}

const char *symbols_stage(struct arena *a, const struct layout *l,
                          const struct model *m, int stage)
{
    char *text = symbols_room(a, m, 1);
    int layer = layout_first_layer(l, stage);
    if (text)
        symbols_put(text, l, m, stage, &layer);
    return text;
}

/* ---- cuts inside layers ---- */

bool symbols_parts_layer(const struct model *m, int layer)
{
    if (layer < 1 || layer >= m->n_layers)
        return false;
    const enum unit_kind before = model_layer_kind(m, layer - 1);
    const enum unit_kind behind = model_layer_kind(m, layer);
    bool mixes = before != KIND_MLP && before != KIND_EXPERTS;
    return mixes && (behind == KIND_MLP || behind == KIND_EXPERTS);
}

bool symbols_keeps_layers(const struct model *m, const struct layout *l)
{
    for (int s = 1; s < l->n_stages; s++)
        if (symbols_parts_layer(m, layout_first_layer(l, s)))
            return false;
    return true;
}
