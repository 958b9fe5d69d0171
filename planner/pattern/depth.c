#include "depth.h"

#include "base/text.h"
#include "layout/listed.h"

#include "parts.h"
#include "translate.h"

#include <string.h>

/* ---- layers by number ---- */

/* Which layer of the model stands for layer i of another depth. */
static int depth_source(const struct model *m, int i)
{
    const int again = model_is_hybrid(m) ? 2 : 1;
    return i < m->n_layers ? i
                           : m->n_layers - again + (i - m->n_layers) % again;
}

/* Flags of n layers; false when out of memory. NULL stays NULL. */
static bool depth_flags(struct arena *a, const struct model *m, int n,
                        const uint8_t **flags)
{
    uint8_t *all = *flags ? arena_alloc(a, (size_t)n, 1) : NULL;
    for (int i = 0; all && i < n; i++)
        all[i] = (*flags)[depth_source(m, i)];
    const bool done = all || !*flags;
    *flags = all;
    return done;
}

static bool depth_symbols(struct arena *a, const struct model *m, int n,
                          const char **symbols)
{
    char *all = arena_alloc(a, (size_t)n + 1, 1);
    for (int i = 0; all && i < n; i++)
        all[i] = m->symbols[depth_source(m, i)];
    *symbols = all;
    return all != NULL;
}

/* Costs of a kind that is not there cannot be told. */
static enum err depth_check_kinds(const struct model *m, const char *symbols,
                                  struct err_msg *msg)
{
    for (const char *s = m->symbols; *s; s++)
        if (!strchr(symbols, *s))
            return err_set(msg, ERR_RANGE,
                           "no layer '%c', want each kind of the model's '%s'",
                           *s, m->symbols);
    return ERR_OK;
}

enum err depth_resize(struct arena *a, int n_layers, struct model *m,
                      struct err_msg *msg)
{
    struct model n = *m;
    if (n_layers == m->n_layers)
        return ERR_OK;
    if (n_layers < 1 || n_layers > MODEL_MAX_LAYERS)
        return err_set(msg, ERR_RANGE, "n_layers: got %d, want 1 to %d",
                       n_layers, (int)MODEL_MAX_LAYERS);
    if (!depth_flags(a, m, n_layers, &n.layer_moe) ||
        !depth_flags(a, m, n_layers, &n.layer_lean) ||
        (m->symbols && !depth_symbols(a, m, n_layers, &n.symbols)))
        return err_set(msg, ERR_NOMEM, "layout: out of memory");
    n.layer_window = NULL;
    n.n_layers = n_layers;
    enum err e = m->symbols ? depth_check_kinds(m, n.symbols, msg) : ERR_OK;
    if (e == ERR_OK)
        *m = n;
    return e;
}

/* ---- layers by text ---- */

static int depth_count(const struct layout *l)
{
    int n = 0;
    for (int s = 0; s < l->n_stages; s++)
        n += layout_stage(l, s).n_layers;
    return n;
}

/* As many layers as the GPT layout has; its own check follows. */
static enum err depth_of_layout(struct arena *a, const char *text,
                                struct model *m, struct err_msg *msg)
{
    struct layout l;
    const enum layout_error bad = layout_parse(a, text, m->par.pp, &l, msg);
    if (bad != LAYOUT_OK)
        return bad == LAYOUT_NO_MEMORY ? ERR_NOMEM : ERR_RANGE;
    const int n = depth_count(&l);
    // none, or none to repeat, is told by who reads the layout
    const bool pairs = m->n_layers > 1 && m->n_layers % 2 == 0;
    if (n < 1 || n > MODEL_MAX_LAYERS / 2 || (model_is_hybrid(m) && !pairs))
        return ERR_OK;
    return depth_resize(a, model_is_hybrid(m) ? 2 * n : n, m, msg);
}

/* The symbols of the text in place of the model's. */
static enum err depth_of_pattern(struct arena *a, const char *text,
                                 struct model *m, struct err_msg *msg)
{
    struct pattern_parts parts;
    char found[TEXT_BYTE_NAME];
    if (strlen(text) > PATTERN_MAX_CHARS)
        return err_set(msg, ERR_RANGE, "got %zu characters, want at most %d",
                       strlen(text), PATTERN_MAX_CHARS);
    parts_read(text, &parts);
    char *symbols = part_without_bars(a, &parts.main);
    uint8_t *moe = arena_alloc(a, (size_t)parts.n_layers + 1, 1);
    if (!symbols || !moe)
        return err_set(msg, ERR_NOMEM, "layout: out of memory");
    // too many are told by who reads the pattern
    if (strcmp(symbols, m->symbols) == 0 || parts.n_layers > MODEL_MAX_LAYERS)
        return ERR_OK;
    const size_t known = strspn(symbols, m->symbols);
    if (symbols[known])
        return err_set(msg, ERR_RANGE,
                       "got %s as layer %zu, want symbols of the model's '%s'",
                       text_name_byte(symbols[known], found), known + 1,
                       m->symbols);
    enum err e = depth_check_kinds(m, symbols, msg);
    if (e != ERR_OK)
        return e;
    for (int i = 0; i < parts.n_layers; i++)
        moe[i] = symbols[i] == 'E';
    m->symbols = symbols;
    m->layer_moe = moe;
    m->layer_window = NULL;
    m->n_layers = parts.n_layers;
    return ERR_OK;
}

enum err depth_read(struct arena *a, const char *text, struct model *m,
                    struct layout *out, struct err_msg *msg)
{
    const bool gpt = !model_is_hybrid(m) || translate_is_gpt(text);
    struct model n = *m;
    enum err e = layout_of_list(a, text, &text, msg);
    if (e == ERR_OK)
        e = gpt ? depth_of_layout(a, text, &n, msg)
                : depth_of_pattern(a, text, &n, msg);
    if (e == ERR_OK)
        e = translate_read(a, text, &n, out, msg);
    if (e == ERR_OK)
        *m = n;
    return e;
}
