/*
 * How it works: flags of old are joined to one text first, as validate_args()
 * does. Then the checks come one after the other, each a function or a row of a
 * table, and the first that fails is told. Main part and MTP parts are spans of
 * the text; copies are made when all checks have passed.
 */
#include "pattern.h"

#include "base/text.h"
#include "layout/symbols.h"

#include "parts.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *id, *where, *source, *text;
} pattern_errors[] = {
#define PATTERN_ROW(name, id, where, source, text) {id, where, source, text},
    PATTERN_ERROR_TABLE(PATTERN_ROW)
#undef PATTERN_ROW
};

const char *pattern_error_id(enum pattern_error e)
{
    return pattern_errors[e].id;
}

const char *pattern_error_where(enum pattern_error e)
{
    return pattern_errors[e].where;
}

const char *pattern_error_source(enum pattern_error e)
{
    return pattern_errors[e].source;
}

static const char *pattern_error_text(enum pattern_error e)
{
    return pattern_errors[e].text;
}

/* ---- messages ---- */

static enum pattern_error pattern_no_memory(struct err_msg *msg)
{
    err_set(msg, ERR_NOMEM, "hybrid pattern: out of memory");
    return PATTERN_NO_MEMORY;
}

/* Long patterns are cut in messages alone. */
static enum pattern_error pattern_fail(enum pattern_error e, const char *text,
                                       struct err_msg *msg)
{
    err_set(msg, ERR_RANGE, "hybrid pattern '%.200s'%s: %s", text,
            strlen(text) > 200 ? "..." : "", pattern_error_text(e));
    return e;
}

/* "got 3 segments over a pipeline size of 2" */
static enum pattern_error pattern_fail_counts(enum pattern_error e,
                                              struct err_msg *msg,
                                              const char *what, int found,
                                              int by)
{
    err_set(msg, ERR_RANGE, "hybrid pattern: %s: got %d %s %d",
            pattern_error_text(e), found, what, by);
    return e;
}

/* The layers are given: bars say what an even split cannot. */
static enum pattern_error pattern_fail_bars(int n_layers, int pp,
                                            struct err_msg *msg)
{
    err_set(msg, ERR_RANGE,
            "hybrid pattern: %s: got %d layers over a pipeline size of %d, "
            "want %d segments with '|' between them",
            pattern_error_text(PATTERN_LAYERS_DIVISIBLE), n_layers, pp, pp);
    return PATTERN_LAYERS_DIVISIBLE;
}

/* What a terminal may not show is told by its number. */
static enum pattern_error pattern_fail_symbol(enum pattern_error e, char c,
                                              const char *symbols,
                                              struct err_msg *msg)
{
    char found[TEXT_BYTE_NAME];
    text_name_byte(c, found);
    err_set(msg, ERR_RANGE, "hybrid pattern: %s: got %s, want %s",
            pattern_error_text(e), found, symbols);
    return e;
}

/* ---- the text ---- */

bool pattern_is_given(const struct pattern_flags *f)
{
    return f->pattern || f->override ||
           (f->mtp_override && f->mtp_num_layers > 0);
}

bool pattern_is_word(const char *word)
{
    return !word[strspn(word, PATTERN_ALL_SYMBOLS "|/")] &&
           word[strspn(word, "E|")];
}

/* The MTP pattern of old stands behind the main one, once for each depth. */
static const char *pattern_join(struct arena *a, const char *main,
                                const char *mtp, int n_depths)
{
    const size_t n = strlen(main), m = strlen(mtp) + 1;
    char *text = arena_alloc(a, n + m * (size_t)n_depths + 1, 1);
    if (!text)
        return NULL;
    memcpy(text, main, n);
    for (int d = 0; d < n_depths; d++) {
        text[n + m * (size_t)d] = '/';
        memcpy(text + n + m * (size_t)d + 1, mtp, m - 1);
    }
    return text;
}

/* Would the joined text be longer than the cap? */
static bool pattern_is_long(const char *main, const char *mtp, int n_depths)
{
    const size_t n = strlen(main), m = mtp ? strlen(mtp) + 1 : 0;
    return n > PATTERN_MAX_CHARS ||
           (m && (size_t)n_depths > (PATTERN_MAX_CHARS - n) / m);
}

/* validate_args() forwards the alias and joins the MTP pattern of old before it
 * looks at anything else. */
static enum pattern_error pattern_one_text(struct arena *a,
                                           const struct pattern_flags *f,
                                           const char **out,
                                           struct err_msg *msg)
{
    const char *text = f->pattern ? f->pattern : f->override;
    bool joins = f->mtp_override && f->mtp_num_layers > 0 &&
                 (!text || !strchr(text, '/'));
    if (f->pattern && f->override)
        return pattern_fail(PATTERN_BOTH, f->pattern, msg);
    text = text ? text : "";
    if (pattern_is_long(text, joins ? f->mtp_override : NULL,
                        f->mtp_num_layers)) {
        err_set(msg, ERR_RANGE, "hybrid pattern '%.40s...': %s (%d characters)",
                text, pattern_error_text(PATTERN_TOO_LARGE), PATTERN_MAX_CHARS);
        return PATTERN_TOO_LARGE;
    }
    *out = joins ? pattern_join(a, text, f->mtp_override, f->mtp_num_layers)
                 : text;
    return *out ? PATTERN_OK : pattern_no_memory(msg);
}

/* ---- Megatron's checks ---- */

/* Symbols of one part, then whether they go together. */
static enum pattern_error pattern_check_part(const struct pattern_part *part,
                                             const struct pattern_flags *f,
                                             bool is_main, struct err_msg *msg)
{
    const char *symbols = f->symbols ? f->symbols : PATTERN_ALL_SYMBOLS;
    size_t at = part_stranger(part, symbols, is_main);
    if (at < part->len)
        return pattern_fail_symbol(is_main ? PATTERN_MAIN_SYMBOL
                                           : PATTERN_MTP_SYMBOL,
                                   part->p[at], symbols, msg);
    if (part_mixes(part))
        return pattern_fail(is_main ? PATTERN_MIX : PATTERN_MTP_MIX, part->p,
                            msg);
    return PATTERN_OK;
}

/* Flags that never go with a pattern; those of the ends only without bars. */
static enum pattern_error pattern_check_flags(const struct pattern_flags *f,
                                              bool bars)
{
    const struct {
        bool given;
        enum pattern_error e;
    } all[] = {{bars && f->first, PATTERN_FIRST_WITH_PIPES},
               {bars && f->last, PATTERN_LAST_WITH_PIPES},
               {f->layers_per_virtual, PATTERN_LAYERS_PER_VIRTUAL},
               {f->virtual_stages, PATTERN_VIRTUAL_STAGES},
               {f->layout, PATTERN_LAYOUT},
               {f->account_embedding, PATTERN_ACCOUNT_EMBEDDING},
               {f->account_loss, PATTERN_ACCOUNT_LOSS}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].given)
            return all[i].e;
    return PATTERN_OK;
}

/* All parts behind / are compared before the first of them is looked at. */
static enum pattern_error pattern_check_mtp(const struct pattern_parts *p,
                                            const struct pattern_flags *f,
                                            struct err_msg *msg)
{
    if (!p->n_depths)
        return PATTERN_OK;
    if (p->differ)
        return pattern_fail(PATTERN_MTP_DIFFER, p->main.p, msg);
    return pattern_check_part(&p->mtp, f, false, msg);
}

/* Positions and the interleaved schedule, which are no matter of patterns
 * alone. */
static enum pattern_error pattern_check_run(const struct pattern_parts *p,
                                            const struct pattern_flags *f)
{
    int depths = p->n_depths ? p->n_depths : f->mtp_num_layers;
    bool rope = !f->positions || strcmp(f->positions, "rope") == 0 ||
                strcmp(f->positions, "none") == 0;
    if (depths && !rope)
        return PATTERN_MTP_POSITIONS;
    if (p->n_segments <= f->pp)
        return PATTERN_OK;
    if (f->no_overlap_p2p && f->pp <= 2)
        return PATTERN_VIRTUAL_PP3;
    return f->pp == 1 ? PATTERN_VIRTUAL_PP2 : PATTERN_OK;
}

/* Fixed ends. Fewer than no stage between them still divides, as in Python. */
static enum pattern_error pattern_check_ends(const struct pattern_parts *p,
                                             const struct pattern_flags *f,
                                             struct err_msg *msg)
{
    int stages = f->pp - (f->first != NULL) - (f->last != NULL);
    int64_t layers = p->n_layers;
    if (!f->first && !f->last)
        return PATTERN_OK;
    if (f->first && *f->first <= 0)
        return pattern_fail(PATTERN_FIRST_POSITIVE, p->main.p, msg);
    if (f->last && *f->last <= 0)
        return pattern_fail(PATTERN_LAST_POSITIVE, p->main.p, msg);
    layers -= (f->first ? *f->first : 0) + (int64_t)(f->last ? *f->last : 0);
    if (!layers != !stages)
        return pattern_fail_counts(
            PATTERN_MIDDLE_MISMATCH, msg,
            "layers for stages between the ends:", (int)layers, stages);
    if (stages && layers % stages)
        return pattern_fail_counts(
            PATTERN_MIDDLE_DIVISIBLE, msg,
            "layers for stages between the ends:", (int)layers, stages);
    return PATTERN_OK;
}

/* The configuration, then the model. */
static enum pattern_error pattern_check_split(const struct pattern_parts *p,
                                              const struct pattern_flags *f,
                                              struct err_msg *msg)
{
    enum pattern_error e = pattern_check_ends(p, f, msg);
    if (e != PATTERN_OK)
        return e;
    if (!p->n_layers)
        return pattern_fail(PATTERN_NO_LAYERS, p->main.p, msg);
    if (p->n_segments == 1 && !f->first && !f->last && p->n_layers % f->pp)
        return pattern_fail_bars(p->n_layers, f->pp, msg);
    return PATTERN_OK;
}

/* In validate_args(): the parts of the text, and what stands beside it. */
static enum pattern_error pattern_check(const struct pattern_parts *p,
                                        const struct pattern_flags *f,
                                        struct err_msg *msg)
{
    enum pattern_error e = pattern_check_part(&p->main, f, true, msg);
    if (e != PATTERN_OK)
        return e;
    e = pattern_check_flags(f, p->n_segments > 1);
    if (e != PATTERN_OK)
        return pattern_fail(e, p->main.p, msg);
    bool one = p->n_segments == 1 && f->pp > 1;
    if (!one && p->n_segments % f->pp)
        return pattern_fail_counts(PATTERN_SEGMENTS, msg,
                                   "segments over a pipeline size of",
                                   p->n_segments, f->pp);
    e = pattern_check_mtp(p, f, msg);
    if (e != PATTERN_OK)
        return e;
    e = pattern_check_run(p, f);
    if (e != PATTERN_OK)
        return pattern_fail(e, p->main.p, msg);
    return pattern_check_split(p, f, msg);
}

/* ---- the result ---- */

/* The copies are made last, so that a refused pattern costs no memory. */
enum pattern_error pattern_read(struct arena *a, const struct pattern_flags *f,
                                struct pattern *out, struct err_msg *msg)
{
    const char *text;
    struct pattern_parts parts;
    enum pattern_error e = pattern_one_text(a, f, &text, msg);
    if (e != PATTERN_OK)
        return e;
    parts_read(text, &parts);
    e = pattern_check(&parts, f, msg);
    if (e != PATTERN_OK)
        return e;
    struct pattern p = {.pp = f->pp,
                        .text = text,
                        .n_layers = parts.n_layers,
                        .n_depths = parts.n_depths,
                        .mla = strchr(text, '+') || strchr(text, 'D')};
    if (!parts_segments(a, &parts, f, &p))
        return pattern_no_memory(msg);
    *out = p;
    return PATTERN_OK;
}

/* ---- before 0.17 ---- */

/* Symbols, bars and slashes alike are refused when the model is made, and its
 * length is compared before. */
static enum pattern_error pattern_check_old(const struct pattern_flags *f,
                                            struct err_msg *msg)
{
    const char *text = f->override, *symbols = f->symbols;
    const int found = (int)strlen(text), layers = *f->num_layers;
    const struct pattern_part all = {text, (size_t)found};
    size_t at = part_stranger(&all, symbols, false);
    if (layers % f->pp && !f->first && !f->last)
        return pattern_fail_counts(PATTERN_OLD_DIVISIBLE, msg,
                                   "layers over a pipeline size of", layers,
                                   f->pp);
    if (found != layers)
        return pattern_fail_counts(PATTERN_OLD_LENGTH, msg,
                                   "symbols for --num-layers", found, layers);
    if (at < all.len)
        return pattern_fail_symbol(PATTERN_OLD_SYMBOL, text[at], symbols, msg);
    if (f->virtual_stages || f->layers_per_virtual)
        return pattern_fail(PATTERN_OLD_VIRTUAL, text, msg);
    return PATTERN_OK;
}

/* Of what is accepted there is less to keep: no MTP, no bars, no latents. */
enum pattern_error pattern_read_old(struct arena *a,
                                    const struct pattern_flags *f,
                                    struct pattern *out, struct err_msg *msg)
{
    struct pattern_parts parts;
    // the ends are not looked at when the layers are dealt out
    const struct pattern_flags even = {.pp = f->pp};
    if (strlen(f->override) > PATTERN_MAX_CHARS)
        return pattern_fail(PATTERN_TOO_LARGE, f->override, msg);
    enum pattern_error e = pattern_check_old(f, msg);
    if (e != PATTERN_OK)
        return e;
    parts_read(f->override, &parts);
    struct pattern p = {
        .pp = f->pp, .text = f->override, .n_layers = parts.n_layers};
    if (!parts_segments(a, &parts, &even, &p))
        return pattern_no_memory(msg);
    *out = p;
    return PATTERN_OK;
}

enum pattern_error pattern_read_by(struct arena *a,
                                   const struct core_version *core,
                                   struct pattern_flags *f, struct pattern *out,
                                   struct err_msg *msg)
{
    f->symbols = core->symbols;
    if (core->has_pattern)
        return pattern_read(a, f, out, msg);
    // argparse is the first to refuse
    if (f->pattern)
        return pattern_fail(PATTERN_VERSION, f->pattern, msg);
    return pattern_read_old(a, f, out, msg);
}

/* ---- places ---- */

/* Of the first part that shows it; flags beside the text have no place in it.
 */
bool pattern_error_place(const char *text, const char *symbols,
                         enum pattern_error e, size_t *byte)
{
    struct pattern_parts p;
    parts_read(text, &p);
    const char *letters = symbols ? symbols : PATTERN_ALL_SYMBOLS;
    size_t at = strlen(text);
    if (e == PATTERN_MAIN_SYMBOL || e == PATTERN_OLD_SYMBOL)
        at = part_stranger(&p.main, letters, e == PATTERN_MAIN_SYMBOL);
    else if (e == PATTERN_MIX)
        at = part_first_mixed(&p.main);
    else if (p.n_depths && e == PATTERN_MTP_SYMBOL)
        at = (size_t)(p.mtp.p - text) + part_stranger(&p.mtp, letters, false);
    else if (p.n_depths && e == PATTERN_MTP_MIX)
        at = (size_t)(p.mtp.p - text) + part_first_mixed(&p.mtp);
    else if (e == PATTERN_MTP_DIFFER && p.differ)
        at = (size_t)(p.differ - text);
    *byte = at;
    return at < strlen(text);
}

/* ---- what to know ---- */

/* Deals with what flags say beside the pattern: it wins. */
static int pattern_warn_overridden(struct arena *a,
                                   const struct pattern_flags *f,
                                   const struct pattern *p, const char **texts)
{
    int n = 0;
    if (f->num_layers && *f->num_layers != p->n_layers)
        texts[n++] = arena_printf(a,
                                  "--num-layers %d is ignored: the pattern has "
                                  "%d layers",
                                  *f->num_layers, p->n_layers);
    if (p->n_depths && f->mtp_num_layers && f->mtp_num_layers != p->n_depths)
        texts[n++] = arena_printf(a,
                                  "--mtp-num-layers %d is ignored: the pattern "
                                  "has %d depths",
                                  f->mtp_num_layers, p->n_depths);
    if (!p->n_depths && f->mtp_num_layers)
        texts[n++] = "--mtp-num-layers builds no MTP without / in the pattern, "
                     "and Megatron only warns";
    return n;
}

/* Two of what is overridden at most, and two of what is deprecated. */
int pattern_warnings(struct arena *a, const struct pattern_flags *f,
                     const struct pattern *p,
                     const char *texts[PATTERN_MAX_WARNINGS])
{
    int n = pattern_warn_overridden(a, f, p, texts);
    if (f->override)
        texts[n++] = "--hybrid-override-pattern is deprecated: "
                     "--hybrid-layer-pattern has its place";
    if (p->pp > 1 && !strchr(p->text, '|'))
        texts[n++] = "a pattern without bars over several ranks is "
                     "deprecated: write the bars";
    return n;
}

/* ---- as a layout, and back ---- */

/* A symbol is a layer to everything that works on layouts. */
enum err pattern_layout(struct arena *a, const struct pattern *p,
                        struct layout *out, struct err_msg *msg)
{
    int *n = arena_alloc(a, (size_t)p->n_segments, sizeof *n);
    struct layout l = {.pp = p->pp, .vpp = p->vpp, .n_stages = p->n_segments};
    if (!n)
        return err_set(msg, ERR_NOMEM, "hybrid pattern: out of memory");
    for (int s = 0; s < p->n_segments; s++)
        n[s] = (int)strlen(p->segment[s]);
    enum err e = layout_from_counts(a, n, p->n_depths, &l, msg);
    if (e == ERR_OK)
        *out = l;
    return e;
}

/* Through the layout, so that a pattern without bars gets those of its split.
 */
const char *pattern_text(struct arena *a, const struct pattern *p)
{
    struct layout l;
    const struct pattern_symbols of = {p->main, p->mtp};
    if (pattern_layout(a, p, &l, NULL) != ERR_OK)
        return NULL;
    return pattern_of_layout(a, &of, &l);
}

/* symbols_string() takes a model: one with these symbols and nothing else. */
const char *pattern_of_layout(struct arena *a, const struct pattern_symbols *of,
                              const struct layout *l)
{
    const struct model m = {
        .n_layers = (int)strlen(of->main),
        .n_mtp =
            of->mtp && *of->mtp ? layout_stage(l, l->n_stages - 1).n_mtp : 0,
        .symbols = of->main,
        .mtp_symbols = of->mtp};
    return symbols_string(a, l, &m);
}
