/*
 * How it works: the text is cut at "/" into the decoder and one part for each
 * MTP depth, and loses its pipes; everything else is a flag's slot that takes
 * the value which the pattern gives.
 */
#include "hybrid.h"

#include "base/text.h"

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

/* ---- the text ---- */

/* The older flag for the layers of MTP depths, which --mtp-num-layers counts.
 */
static const char *hybrid_text(struct arena *a, const struct megatron_flags *f)
{
    const char *text = flags_text(f, hybrid_flag(f));
    const char *each = flags_text(f, FLAG_MTP_HYBRID_PATTERN);
    int64_t n = flags_int(f, FLAG_MTP_NUM_LAYERS, 0);
    if (!text || !each || strchr(text, '/'))
        return text;
    // what is beyond is refused by who judges ranges
    for (int64_t i = 0; text && i < n && i < HYBRID_MAX_DEPTHS; i++)
        text = arena_printf(a, "%s/%s", text, each);
    return text;
}

/* Symbols up to the end or a "/", without the pipes, into `to`. */
static enum err hybrid_part(const char *flag, const char *part, char *to,
                            struct err_msg *msg)
{
    const char *p = part;
    for (; *p && *p != '/'; p++) {
        if (kind_of_symbol(*p) != N_KINDS)
            *to++ = *p;
        else if (*p != '|')
            return err_set(msg, ERR_PARSE,
                           "--%s: got '%c' at letter %d, want symbols of M G * "
                           "+ D - E, '|' between stages and '/' before MTP "
                           "depths",
                           flag, *p, (int)(p - part) + 1);
    }
    *to = '\0';
    return ERR_OK;
}

/* Heads with keys of their own and latents do not mix (validate_pattern() in
 * models/hybrid/hybrid_layer_allocation.py). */
static enum err hybrid_check_mix(const char *flag, const char *symbols,
                                 struct err_msg *msg)
{
    if (!strchr(symbols, '*') || !strpbrk(symbols, "+D"))
        return ERR_OK;
    return err_set(msg, ERR_RANGE,
                   "--%s: '*' stands beside '+' or 'D', want attention of one "
                   "sort: with latents or without",
                   flag);
}

/* Parts behind the decoder: all the same, or all empty. */
static enum err hybrid_read_mtp(struct arena *a, const char *flag,
                                const char *rest, struct megatron_hybrid *out,
                                struct err_msg *msg)
{
    const size_t len = *rest ? strcspn(rest + 1, "/") : 0;
    char *each = arena_strndup(a, *rest ? rest + 1 : rest, len);
    if (!each)
        return err_set(msg, ERR_NOMEM, "--%s: out of memory", flag);
    for (const char *p = rest; *p; p += 1 + len, out->n_depths++)
        if (strcspn(p + 1, "/") != len || memcmp(p + 1, each, len) != 0)
            return err_set(msg, ERR_RANGE,
                           "--%s: MTP depth %d differs from the first one, "
                           "want '/%s' again",
                           flag, out->n_depths + 1, each);
    if (strchr(each, '|'))
        return err_set(msg, ERR_PARSE,
                       "--%s: got '|' in an MTP depth, want symbols", flag);
    if (!*each) {
        out->n_depths = 0;
        return ERR_OK;
    }
    out->mtp = each;
    enum err e = hybrid_part(flag, each, each, msg);
    return e == ERR_OK ? hybrid_check_mix(flag, each, msg) : e;
}

static enum err hybrid_parse(struct arena *a, const char *flag,
                             struct megatron_hybrid *out, struct err_msg *msg)
{
    const size_t len = strlen(out->text);
    char *symbols = arena_alloc(a, len + 1, 1);
    if (!symbols)
        return err_set(msg, ERR_NOMEM, "--%s: out of memory", flag);
    enum err e = hybrid_part(flag, out->text, symbols, msg);
    if (e == ERR_OK)
        e = hybrid_check_mix(flag, symbols, msg);
    if (e != ERR_OK)
        return e;
    const size_t main_len = strcspn(out->text, "/");
    out->symbols = symbols;
    out->n_segments = 1;
    for (size_t i = 0; i < main_len; i++)
        out->n_segments += out->text[i] == '|';
    size_t n = strlen(symbols);
    if (n < 1 || n > MODEL_MAX_LAYERS)
        return err_set(msg, ERR_RANGE, "--%s: got %zu layers, want 1 to %d",
                       flag, n, MODEL_MAX_LAYERS);
    out->n_layers = (int)n;
    return hybrid_read_mtp(a, flag, out->text + main_len, out, msg);
}

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

void hybrid_drop_pipes(struct megatron_flags *f)
{
    static const struct flag_unknown lost = {"", "out of memory"};
    const enum flag_id id = hybrid_flag(f);
    const char *text = id == FLAG_NONE ? NULL : flags_text(f, id);
    if (!text)
        return;
    char *bare = arena_strdup(f->arena, text);
    char *to = bare;
    for (; to && *text; text++)
        if (*text != '|')
            *to++ = *text;
    if (to)
        *to = '\0';
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

/* ---- beside it ---- */

/* Both names of the module, as main and older releases have it; a list may be
 * written with brackets. */
bool hybrid_has_own_spec(const struct megatron_flags *f)
{
    static const char *const own[] = {"hybrid_stack_spec", "mamba_stack_spec"};
    const char *text = flags_text(f, FLAG_SPEC);
    if (hybrid_flag(f) == FLAG_NONE || !text)
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

void hybrid_say(struct account *to, const struct megatron_flags *f)
{
    struct megatron_hybrid h;
    struct err_msg msg;
    char line[200];
    if (hybrid_read(f->arena, f, &h, &msg) != ERR_OK || !h.text)
        return;
    if (hybrid_flag(f) == FLAG_HYBRID_OVERRIDE_PATTERN)
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
