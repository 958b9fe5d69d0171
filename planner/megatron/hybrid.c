/*
 * How it works: the pattern room cuts the text into the decoder and one part
 * for each MTP depth; everything else is a flag's slot that takes the value
 * which the pattern gives.
 */
#include "hybrid.h"

#include "base/text.h"
#include "pattern/parts.h"
#include "pattern/pattern.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HYBRID_MAX_DEPTHS = 16 };

enum flag_id hybrid_flag(const struct megatron_flags *f)
{
    if (flags_given(f, FLAG_HYBRID_LAYER_PATTERN))
        return FLAG_HYBRID_LAYER_PATTERN;
    return flags_given(f, FLAG_HYBRID_OVERRIDE_PATTERN)
               ? FLAG_HYBRID_OVERRIDE_PATTERN
               : FLAG_NONE;
}

const char *hybrid_text_of(const struct megatron_flags *f)
{
    const enum flag_id id = hybrid_flag(f);
    return id == FLAG_NONE ? NULL : flags_text(f, id);
}

const char *hybrid_stages_text(const struct megatron_flags *f)
{
    const char *text = hybrid_text_of(f);
    if (hybrid_flag(f) == FLAG_NONE)
        return flags_text(f, FLAG_LAYOUT);
    return text && strchr(text, '|') ? text : NULL;
}

enum flag_id hybrid_layout_flag(const struct model *m)
{
    return model_is_hybrid(m) ? FLAG_HYBRID_LAYER_PATTERN : FLAG_LAYOUT;
}

const char *hybrid_flag_joint(const char *layout)
{
    return layout[0] == '-' ? "=" : " ";
}

/* ---- the text ---- */

/* The older flag for the layers of MTP depths, which --mtp-num-layers counts.
 */
static const char *hybrid_text(struct arena *a, const struct megatron_flags *f)
{
    const char *text = hybrid_text_of(f);
    const char *each = flags_text(f, FLAG_MTP_HYBRID_PATTERN);
    int64_t n = flags_int(f, FLAG_MTP_NUM_LAYERS, 0);
    if (!text || !each || strchr(text, '/'))
        return text;
    // what is beyond is refused by who judges ranges
    for (int64_t i = 0; text && i < n && i < HYBRID_MAX_DEPTHS; i++)
        text = arena_printf(a, "%s/%s", text, each);
    return text;
}

/* Attention with heads' own keys does not go with that with latents. */
static enum err hybrid_check_part(const char *flag, bool is_main,
                                  const struct pattern_part *part,
                                  struct err_msg *msg)
{
    char found[TEXT_BYTE_NAME];
    // bars are of the main part alone
    const size_t at = part_stranger(part, PATTERN_ALL_SYMBOLS, is_main);
    if (at < part->len)
        return err_set(msg, ERR_PARSE,
                       "--%s: got %s as %s %zu, want M G * + D - E, '|' "
                       "between stages, '/' before MTP depths",
                       flag, text_name_byte(part->p[at], found),
                       is_main ? "letter" : "MTP letter", at + 1);
    if (part_mixes(part))
        return err_set(msg, ERR_RANGE,
                       "--%s: '*' stands beside '+' or 'D', want attention of "
                       "one sort: with latents or without",
                       flag);
    return ERR_OK;
}

/* The main part, then MTP's: the first fault is told. */
static enum err hybrid_check(const char *flag, const struct pattern_parts *p,
                             struct err_msg *msg)
{
    enum err e = hybrid_check_part(flag, true, &p->main, msg);
    if (e == ERR_OK && p->differ)
        return err_set(msg, ERR_RANGE,
                       "--%s: MTP depths differ, want '/%.*s' each time", flag,
                       (int)p->mtp.len, p->mtp.p);
    if (e == ERR_OK)
        e = hybrid_check_part(flag, false, &p->mtp, msg);
    if (e == ERR_OK && (p->n_layers < 1 || p->n_layers > MODEL_MAX_LAYERS))
        return err_set(msg, ERR_RANGE, "--%s: got %d layers, want 1 to %d",
                       flag, p->n_layers, MODEL_MAX_LAYERS);
    return e;
}

/* Segments are only counted: whether they fit the stages is asked where there
 * are stages. */
static enum err hybrid_parse(struct arena *a, const char *flag,
                             struct megatron_hybrid *h, struct err_msg *msg)
{
    struct pattern_parts parts;
    if (strlen(h->text) > PATTERN_MAX_CHARS)
        return err_set(msg, ERR_RANGE,
                       "--%s: got %zu characters, want at most %d", flag,
                       strlen(h->text), PATTERN_MAX_CHARS);
    parts_read(h->text, &parts);
    enum err e = hybrid_check(flag, &parts, msg);
    if (e != ERR_OK)
        return e;
    h->symbols = part_without_bars(a, &parts.main);
    h->mtp = arena_strndup(a, parts.mtp.p, parts.mtp.len);
    if (!h->symbols || !h->mtp)
        return err_set(msg, ERR_NOMEM, "--%s: out of memory", flag);
    h->mtp = parts.n_depths ? h->mtp : NULL;
    h->n_layers = parts.n_layers;
    h->n_depths = parts.n_depths;
    h->n_segments = parts.n_segments;
    return ERR_OK;
}

/* Both names of the flag; text is NULL where there is none, and where it is not
 * known. */
enum err hybrid_read(struct arena *a, const struct megatron_flags *f,
                     struct megatron_hybrid *out, struct err_msg *msg)
{
    struct megatron_hybrid h = {.text = NULL};
    const enum flag_id id = hybrid_flag(f);
    *out = h;
    if (id == FLAG_NONE)
        return flags_given(f, FLAG_IS_HYBRID_MODEL)
                   ? err_set(msg, ERR_RANGE,
                             "--is-hybrid-model: missing "
                             "--hybrid-layer-pattern, want the symbols of its "
                             "layers")
                   : ERR_OK;
    if (id == FLAG_HYBRID_LAYER_PATTERN &&
        flags_given(f, FLAG_HYBRID_OVERRIDE_PATTERN))
        return err_set(msg, ERR_RANGE,
                       "--hybrid-override-pattern: "
                       "--hybrid-layer-pattern is given, too, want one");
    if (flags_unknown(f, id))
        return ERR_OK; // told by who asks for values
    h.text = hybrid_text(a, f);
    if (!h.text)
        return err_set(msg, ERR_NOMEM, "--%s: out of memory", flag_name(id));
    enum err e = hybrid_parse(a, flag_name(id), &h, msg);
    if (e == ERR_OK)
        *out = h;
    return e;
}

/* As if the counts had been given: from here on a hybrid model's flags read as
 * a GPT model's. What is not known of the pattern is not known of the layers.
 */
enum err hybrid_settle(struct arena *a, const struct megatron_flags *f,
                       struct megatron_hybrid *h, struct megatron_flags *out,
                       struct err_msg *msg)
{
    enum err e = hybrid_read(a, f, h, msg);
    const enum flag_id id = hybrid_flag(f);
    *out = *f;
    if (e == ERR_OK && id != FLAG_NONE && flags_unknown(f, id))
        return flags_set_unknown(out, FLAG_NUM_LAYERS, f->slot[id].unknown,
                                 msg);
    if (e != ERR_OK || !h->text)
        return e;
    out->from = f->slot[id].from;
    flags_set_int(out, FLAG_NUM_LAYERS, h->n_layers);
    flags_set_int(out, FLAG_MTP_NUM_LAYERS, h->n_depths);
    if (strpbrk(h->text, "+D"))
        flags_set_on(out, FLAG_MLA);
    out->from = f->from;
    return ERR_OK;
}

/* Bars are the layout; without them it is the even split, with or without fixed
 * ends. */
enum err hybrid_layout(struct arena *a, const struct megatron_flags *f, int pp,
                       struct layout *out, struct err_msg *msg)
{
    struct megatron_hybrid h;
    struct pattern p;
    struct err_msg why = {""};
    const int first = (int)flags_int(f, FLAG_FIRST_LAYERS, 0);
    const int last = (int)flags_int(f, FLAG_LAST_LAYERS, 0);
    enum err e = hybrid_read(a, f, &h, msg);
    if (e != ERR_OK)
        return e;
    const struct pattern_flags flags = {
        .pattern = h.text,
        .pp = pp,
        .first = flags_given(f, FLAG_FIRST_LAYERS) ? &first : NULL,
        .last = flags_given(f, FLAG_LAST_LAYERS) ? &last : NULL,
        .no_overlap_p2p = flags_given(f, FLAG_NO_OVERLAP_P2P)};
    const enum pattern_error bad = pattern_read(a, &flags, &p, &why);
    if (bad == PATTERN_NO_MEMORY)
        return err_set(msg, ERR_NOMEM, "pattern: out of memory");
    if (bad != PATTERN_OK)
        return err_set(msg, ERR_RANGE, "--%s: %s", flag_name(hybrid_flag(f)),
                       why.text);
    if (!p.covers)
        return err_set(msg, ERR_RANGE,
                       "--%s: its segments do not cover the layers once each",
                       flag_name(hybrid_flag(f)));
    return pattern_layout(a, &p, out, msg);
}

/* For another pipeline size, to which the bars do not belong. */
void hybrid_drop_bars(struct megatron_flags *f)
{
    static const struct flag_unknown lost = {"", "out of memory"};
    const enum flag_id id = hybrid_flag(f);
    const char *text = hybrid_text_of(f);
    if (!text)
        return;
    const struct pattern_part all = {text, strlen(text)};
    char *bare = part_without_bars(f->arena, &all);
    // where it was given, and when, stays
    f->slot[id].value.text = bare;
    f->slot[id].known = bare != NULL;
    f->slot[id].unknown = bare ? NULL : &lost;
}

/* ---- the model ---- */

static bool hybrid_has(const struct megatron_hybrid *h, char symbol)
{
    return strchr(h->symbols, symbol) || (h->mtp && strchr(h->mtp, symbol));
}

/* What Megatron asserts (ssm/mamba_mixer.py). Without a number of heads they
 * are twice as wide as the hidden size. */
static enum err hybrid_set_mamba(const struct megatron_flags *f,
                                 struct model *m, struct err_msg *msg)
{
    struct mamba x = {.state_dim = flags_int(f, FLAG_MAMBA_STATE_DIM, 1),
                      .head_dim = flags_int(f, FLAG_MAMBA_HEAD_DIM, 1),
                      .n_groups = flags_int(f, FLAG_MAMBA_NUM_GROUPS, 1)};
    if (!flags_given(f, FLAG_MAMBA_NUM_HEADS) && 2 * m->hidden % x.head_dim)
        return err_set(msg, ERR_RANGE,
                       "--mamba-head-dim: got %lld, want a divisor of twice "
                       "--hidden-size %lld, or give --mamba-num-heads",
                       (long long)x.head_dim, (long long)m->hidden);
    x.n_heads = flags_int(f, FLAG_MAMBA_NUM_HEADS, 2 * m->hidden / x.head_dim);
    const struct {
        const char *what, *of;
        int64_t n, among;
    } shares[] = {
        {"--mamba-num-heads", "--tensor-model-parallel-size", x.n_heads,
         m->par.tp},
        {"--mamba-num-groups", "--tensor-model-parallel-size", x.n_groups,
         m->par.tp},
        {"--mamba-num-heads", "--mamba-num-groups", x.n_heads, x.n_groups},
    };
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        if (shares[i].n % shares[i].among)
            return err_set(msg, ERR_RANGE,
                           "%s %lld is not a multiple of %s %lld",
                           shares[i].what, (long long)shares[i].n, shares[i].of,
                           (long long)shares[i].among);
    m->mamba = x;
    return ERR_OK;
}

static enum err hybrid_check_parts(const struct megatron_hybrid *h,
                                   const struct model *m, struct err_msg *msg)
{
    if (hybrid_has(h, 'E') && !m->n_experts)
        return err_set(msg, ERR_RANGE,
                       "--num-experts: missing, the pattern has layers E");
    if (hybrid_has(h, 'D') && m->layer_lean)
        return err_set(msg, ERR_RANGE,
                       "--dsa-indexer-topk-freq: layers D that share the top-k "
                       "of another one are not counted, want 1");
    return ERR_OK;
}

/* Letters are checked already; sizes of their parts are not. */
enum err hybrid_set_model(const struct megatron_hybrid *h,
                          const struct megatron_flags *f, struct model *m,
                          struct err_msg *msg)
{
    uint8_t *moe = arena_alloc(f->arena, (size_t)h->n_layers, 1);
    if (!moe)
        return err_set(msg, ERR_NOMEM, "model: out of memory");
    for (int i = 0; i < h->n_layers; i++)
        moe[i] = h->symbols[i] == 'E';
    m->layer_moe = moe;
    m->symbols = h->symbols;
    m->mtp_symbols = h->mtp;
    enum err e = hybrid_check_parts(h, m, msg);
    if (e == ERR_OK && hybrid_has(h, 'M'))
        e = hybrid_set_mamba(f, m, msg);
    return e;
}

/* ---- ratios ---- */

// where a pattern comes from that nobody wrote
static const char ratios_from[] = "computed";

static const enum flag_id ratios[] = {FLAG_HYBRID_ATTENTION_RATIO,
                                      FLAG_HYBRID_MLP_RATIO};
enum { N_RATIOS = sizeof ratios / sizeof ratios[0] };

/* Makes every so many Mamba layers one of another kind, the last ones of each
 * section. */
static void ratios_spread(char *symbols, char kind, double section)
{
    double left = section;
    for (char *p = symbols; *p; p++) {
        if (*p != 'M')
            continue;
        if (left < 0.5) {
            *p = kind;
            left += section;
        } else {
            left -= 1;
        }
    }
}

/* core 0.16's megatron/core/ssm/mamba_hybrid_layer_allocation.py: attention
 * between sections of Mamba, then MLPs among what is left of Mamba. */
static char *ratios_symbols(struct arena *a, int n, double attention,
                            double mlp)
{
    // Python rounds halves to the even number, too
    const int n_attention = (int)nearbyint(n * attention);
    const int n_mlp = (int)nearbyint(n * mlp);
    char *out = arena_alloc(a, (size_t)n + 1, 1);
    if (!out)
        return NULL;
    memset(out, 'M', (size_t)n);
    ratios_spread(out, '*', (double)(n - n_attention) / (n_attention + 1));
    if (n_mlp > 0)
        ratios_spread(out, '-', (double)(n - n_attention - n_mlp) / n_mlp);
    return out;
}

static int ratios_count(const char *text, char symbol)
{
    int n = 0;
    for (; *text && *text != '/'; text++)
        n += *text == symbol;
    return n;
}

static enum err ratios_write(struct megatron_flags *f, struct account *to,
                             const char *symbols, struct err_msg *msg)
{
    char line[256];
    const char *before = f->from;
    f->from = ratios_from;
    enum err e = flags_set(f, FLAG_HYBRID_OVERRIDE_PATTERN, symbols, msg);
    f->from = before;
    snprintf(line, sizeof line,
             "--hybrid-attention-ratio %g, --hybrid-mlp-ratio %g: layers are "
             "%.120s, as Megatron up to core 0.16 spreads them",
             flags_real(f, FLAG_HYBRID_ATTENTION_RATIO, 0),
             flags_real(f, FLAG_HYBRID_MLP_RATIO, 0), symbols);
    account_add(to, &to->assumed, line);
    return e;
}

/* A pattern answers for ratios that are not known, and the newer one for all:
 * no release takes both. */
static void ratios_answer(struct megatron_flags *f)
{
    const enum flag_id id = hybrid_flag(f);
    for (int i = 0; i < N_RATIOS && id != FLAG_NONE; i++)
        if (id == FLAG_HYBRID_LAYER_PATTERN || flags_unknown(f, ratios[i]))
            flags_clear(f, ratios[i]);
}

enum err hybrid_of_ratios(struct megatron_flags *f, struct account *to,
                          struct err_msg *msg)
{
    ratios_answer(f);
    const double attention = flags_real(f, ratios[0], 0);
    const double mlp = flags_real(f, ratios[1], 0);
    const int n = (int)flags_int(f, FLAG_NUM_LAYERS, 0);
    for (int i = 0; i < N_RATIOS; i++)
        if (flags_unknown(f, ratios[i]))
            return flags_set_unknown(f, FLAG_HYBRID_OVERRIDE_PATTERN,
                                     f->slot[ratios[i]].unknown, msg);
    if (!(attention >= 0 && mlp >= 0 && attention + mlp <= 1))
        return err_set(msg, ERR_RANGE,
                       "--hybrid-attention-ratio, --hybrid-mlp-ratio: got %g "
                       "and %g, want shares that are at most 1 together",
                       attention, mlp);
    // a number of layers that is not known is asked for elsewhere
    if (attention + mlp <= 0 || n < 1 || n > MODEL_MAX_LAYERS ||
        hybrid_flag(f) != FLAG_NONE)
        return ERR_OK;
    const char *symbols = ratios_symbols(f->arena, n, attention, mlp);
    if (!symbols)
        return err_set(msg, ERR_NOMEM, "a pattern: out of memory");
    return ratios_write(f, to, symbols, msg);
}

bool hybrid_is_of_ratios(const struct megatron_flags *f)
{
    const char *from = f->slot[FLAG_HYBRID_OVERRIDE_PATTERN].from;
    return flags_given(f, FLAG_HYBRID_OVERRIDE_PATTERN) && from &&
           strcmp(from, ratios_from) == 0;
}

enum err hybrid_check_ratios(const struct megatron_flags *f,
                             struct err_msg *msg)
{
    const char *text = flags_text(f, FLAG_HYBRID_OVERRIDE_PATTERN);
    const struct pattern_part all = {text ? text : "", text ? strlen(text) : 0};
    const char *bare = part_without_bars(f->arena, &all);
    const int n = bare ? (int)strcspn(bare, "/") : 0;
    const char *want = ratios_symbols(f->arena, n, flags_real(f, ratios[0], 0),
                                      flags_real(f, ratios[1], 0));
    if (!bare || !want)
        return err_set(msg, ERR_NOMEM, "a pattern: out of memory");
    for (const char *p = "*-"; n && *p; p++)
        if (ratios_count(bare, *p) != ratios_count(want, *p))
            return err_set(msg, ERR_RANGE,
                           "--hybrid-override-pattern has %d layers '%c', and "
                           "the ratios of layers make %d",
                           ratios_count(bare, *p), *p, ratios_count(want, *p));
    return ERR_OK;
}

/* ---- beside it ---- */

/* Both names of the module, as main and older releases have it; a list may be
 * written with brackets. */
bool hybrid_has_own_spec(const struct megatron_flags *f)
{
    static const char *const own[] = {"hybrid_stack_spec", "mamba_stack_spec"};
    const char *text = flags_text(f, FLAG_SPEC);
    if (!text || (!strstr(text, "hybrid_layer_specs") &&
                  !strstr(text, "mamba_layer_specs")))
        return false;
    size_t len = strlen(text);
    while (len && strchr("]'\", ", text[len - 1]))
        len--;
    size_t begin = len;
    while (begin && !strchr("['\", .", text[begin - 1]))
        begin--;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strlen(own[i]) == len - begin &&
            memcmp(own[i], text + begin, len - begin) == 0)
            return true;
    return false;
}

/* Without a "/" the depths are not built (arguments.py). */
static void hybrid_say_mtp(struct account *to, const struct megatron_flags *f,
                           const struct megatron_hybrid *h)
{
    char line[200];
    const int64_t given = flags_int(f, FLAG_MTP_NUM_LAYERS, 0);
    if (!flags_given(f, FLAG_MTP_NUM_LAYERS) || given == h->n_depths)
        return;
    if (h->mtp)
        snprintf(line, sizeof line,
                 "--mtp-num-layers %lld: the pattern has %d MTP depths, which "
                 "Megatron takes",
                 (long long)given, h->n_depths);
    else
        snprintf(
            line, sizeof line,
            "--mtp-num-layers %lld: the pattern has no MTP depth ('/'), so "
            "that Megatron builds none",
            (long long)given);
    account_add(to, &to->warnings, line);
}

/* What Megatron itself would warn of. */
void hybrid_say(struct account *to, const struct megatron_flags *f)
{
    struct megatron_hybrid h;
    struct err_msg msg;
    char line[200];
    if (hybrid_read(f->arena, f, &h, &msg) != ERR_OK || !h.text)
        return;
    if (hybrid_flag(f) == FLAG_HYBRID_OVERRIDE_PATTERN &&
        !hybrid_is_of_ratios(f))
        account_add(to, &to->warnings,
                    "--hybrid-override-pattern: since core 0.17 the same is "
                    "--hybrid-layer-pattern");
    const int64_t layers = flags_int(f, FLAG_NUM_LAYERS, h.n_layers);
    if (layers != h.n_layers) {
        snprintf(line, sizeof line,
                 "--num-layers %lld: the pattern has %d layers, which Megatron "
                 "takes",
                 (long long)layers, h.n_layers);
        account_add(to, &to->warnings, line);
    }
    hybrid_say_mtp(to, f, &h);
}
