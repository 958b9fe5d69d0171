/*
 * How it works: a value begins as its flag's slot (given, default, unknown);
 * those that other values decide are then worked out in the order of their
 * dependence. A value that needs an unknown one is unknown for the same
 * reason.
 */
#include "values.h"

#include "hybrid.h"
#include "model.h"
#include "model/layer_freq.h"

#include <string.h>

enum demand { VALUE_NEVER, VALUE_STATED, VALUE_NEEDED };

static const struct {
    const char *key, *option;
    enum demand demand;
} table[N_VALUES] = {
#define VALUE_ROW(id, key, option, demand) {key, option, VALUE_##demand},
    VALUE_TABLE(VALUE_ROW)
#undef VALUE_ROW
};

const char *value_key(enum value_id id)
{
    return table[id].key;
}

const char *value_option(enum value_id id)
{
    return table[id].option;
}

bool value_decides(enum value_id id, const struct value *v)
{
    if (v->is != VALUE_UNKNOWN || v->derived)
        return false;
    return table[id].demand == VALUE_NEEDED ||
           (table[id].demand == VALUE_STATED && v->stated);
}

/* ---- from a slot ---- */

static const struct value values_not_stated = {
    .is = VALUE_UNKNOWN, .where = "", .why = "not stated"};

static struct value values_computed(int64_t whole)
{
    return (struct value){
        .is = VALUE_WHOLE, .whole = whole, .from = "computed"};
}

static struct value values_default(int64_t whole)
{
    return (struct value){.is = VALUE_WHOLE, .whole = whole, .from = "default"};
}

static struct value values_of_unknown(const struct flag_unknown *u)
{
    return (struct value){
        .is = VALUE_UNKNOWN, .where = u->where, .why = u->why, .stated = true};
}

/* The slot of an integer; `other` where it has neither value nor default. */
static struct value values_slot(const struct megatron_flags *f, enum flag_id id,
                                struct value other)
{
    const struct flag_slot *slot = &f->slot[id];
    if (slot->unknown)
        return values_of_unknown(slot->unknown);
    if (!slot->known)
        return other;
    struct value v = values_default(slot->value.whole);
    if (slot->turn)
        v.from = *slot->from ? slot->from : "flag";
    return v;
}

static bool values_whole(const struct value *v)
{
    return v->is == VALUE_WHOLE;
}

/* The first of the values that is not a number, for what depends on both. */
static struct value values_missing(const struct value *a, const struct value *b)
{
    struct value v = values_whole(a) ? *b : *a;
    if (v.is == VALUE_ABSENT)
        v = values_not_stated;
    v.derived = true;
    return v;
}

/* A value that is another one's where it is not given. */
static struct value values_like(const struct value *other)
{
    return values_whole(other) ? *other : values_missing(other, other);
}

/* ---- the model ---- */

/* Megatron's defaults are computed here from values that may be unknown: then
 * the result is unknown for the same reason, and not a number. */
static void values_widths(const struct megatron_flags *f, struct value *v)
{
    v[VALUE_LAYERS] = values_slot(f, FLAG_NUM_LAYERS, values_not_stated);
    v[VALUE_HIDDEN] = values_slot(f, FLAG_HIDDEN_SIZE, values_not_stated);
    v[VALUE_HEADS] =
        values_slot(f, FLAG_NUM_ATTENTION_HEADS, values_not_stated);
    // Megatron ignores the groups without the switch
    v[VALUE_GROUPS] = values_like(&v[VALUE_HEADS]);
    if (f->slot[FLAG_GROUP_QUERY_ATTENTION].unknown)
        v[VALUE_GROUPS] =
            values_of_unknown(f->slot[FLAG_GROUP_QUERY_ATTENTION].unknown);
    else if (flags_given(f, FLAG_GROUP_QUERY_ATTENTION))
        v[VALUE_GROUPS] =
            values_slot(f, FLAG_NUM_QUERY_GROUPS, values_not_stated);
    else if (values_whole(&v[VALUE_GROUPS]))
        v[VALUE_GROUPS].from = "default";
    struct value kv = values_missing(&v[VALUE_HIDDEN], &v[VALUE_HEADS]);
    if (values_whole(&v[VALUE_HIDDEN]) && values_whole(&v[VALUE_HEADS]))
        kv = values_default(v[VALUE_HEADS].whole > 0
                                ? v[VALUE_HIDDEN].whole / v[VALUE_HEADS].whole
                                : 0);
    v[VALUE_KV_CHANNELS] = values_slot(f, FLAG_KV_CHANNELS, kv);
    struct value ffn = values_like(&v[VALUE_HIDDEN]);
    if (f->slot[FLAG_SWIGLU].unknown)
        ffn = values_of_unknown(f->slot[FLAG_SWIGLU].unknown);
    if (values_whole(&ffn))
        ffn = values_default(megatron_default_ffn(f, ffn.whole));
    v[VALUE_FFN] = values_slot(f, FLAG_FFN_HIDDEN_SIZE, ffn);
}

/* Given, with a value that Megatron would not take. */
static enum err values_refused(struct arena *a, const struct flag_slot *slot,
                               const struct err_msg *why, struct value *out,
                               struct err_msg *msg)
{
    const char *text = arena_strdup(a, why->text);
    if (!text)
        return err_set(msg, ERR_NOMEM, "values: out of memory");
    const struct flag_unknown u = {slot->turn ? slot->from : "", text};
    *out = values_of_unknown(&u);
    return ERR_OK;
}

/* How many layers have experts. */
static enum err values_moe_layers(struct arena *a,
                                  const struct megatron_flags *f,
                                  struct value *v, struct err_msg *msg)
{
    const struct flag_slot *slot = &f->slot[FLAG_MOE_LAYER_FREQ];
    const struct value *layers = &v[VALUE_LAYERS];
    v[VALUE_MOE_LAYERS] =
        slot->unknown ? values_of_unknown(slot->unknown) : values_like(layers);
    if (slot->unknown || !values_whole(layers))
        return ERR_OK;
    if (layers->whole < 1 || layers->whole > MODEL_MAX_LAYERS)
        return ERR_OK; // out of range: told by who judges ranges
    int n = (int)layers->whole, count = 0;
    uint8_t *moe = arena_alloc(a, (size_t)n, 1);
    if (!moe)
        return err_set(msg, ERR_NOMEM, "values: out of memory");
    struct err_msg why;
    if (layer_freq_expand(slot->value.text, n, moe, &why) != ERR_OK)
        return values_refused(a, slot, &why, &v[VALUE_MOE_LAYERS], msg);
    for (int i = 0; i < n; i++)
        count += moe[i];
    v[VALUE_MOE_LAYERS] = values_default(count);
    if (slot->turn)
        v[VALUE_MOE_LAYERS].from = *slot->from ? slot->from : "flag";
    return ERR_OK;
}

/* A dense model has none of these values. */
static enum err values_experts(struct arena *a, const struct megatron_flags *f,
                               const struct megatron_hybrid *h, struct value *v,
                               struct err_msg *msg)
{
    static const struct value none = {.is = VALUE_ABSENT};
    v[VALUE_MTP] = values_slot(f, FLAG_MTP_NUM_LAYERS, values_default(0));
    v[VALUE_EXPERTS] = values_slot(f, FLAG_NUM_EXPERTS, none);
    v[VALUE_MOE_FFN] = v[VALUE_TOPK] = v[VALUE_MOE_LAYERS] = v[VALUE_EXPERTS];
    for (int i = VALUE_MOE_FFN; i <= VALUE_MOE_LAYERS; i++)
        v[i].derived = i != VALUE_EXPERTS;
    if (!values_whole(&v[VALUE_EXPERTS]) || !v[VALUE_EXPERTS].whole)
        return ERR_OK;
    v[VALUE_MOE_FFN] =
        values_slot(f, FLAG_MOE_FFN_HIDDEN_SIZE, values_like(&v[VALUE_FFN]));
    v[VALUE_TOPK] = values_slot(f, FLAG_MOE_ROUTER_TOPK, values_not_stated);
    if (!h->text)
        return values_moe_layers(a, f, v, msg);
    v[VALUE_MOE_LAYERS] = v[VALUE_LAYERS];
    v[VALUE_MOE_LAYERS].whole = 0;
    for (const char *s = h->symbols; *s; s++)
        v[VALUE_MOE_LAYERS].whole += *s == 'E';
    return ERR_OK;
}

/* Padding needs the tokens, or the padded size itself. */
static void values_vocab(const struct megatron_flags *f, struct value *v)
{
    static const enum flag_id parts[] = {FLAG_VOCAB_SIZE, FLAG_TOKENIZER_TYPE,
                                         FLAG_MAKE_VOCAB_DIVISIBLE};
    struct value other = values_not_stated;
    other.why = "the tokenizer's size is not in the flags (a log says it: "
                "'padded vocab ... new size: N')";
    int64_t padded = values_whole(&v[VALUE_TP]) && v[VALUE_TP].whole > 0
                         ? megatron_padded_vocab(f, v[VALUE_TP].whole)
                         : 0;
    for (int i = 0; i < 3; i++)
        if (f->slot[parts[i]].unknown) {
            other = values_of_unknown(f->slot[parts[i]].unknown);
            padded = 0;
        }
    if (padded)
        other = values_computed(padded);
    else if (other.why && !values_whole(&v[VALUE_TP]) &&
             flags_given(f, FLAG_VOCAB_SIZE))
        other = values_like(&v[VALUE_TP]);
    v[VALUE_VOCAB] = values_slot(f, FLAG_PADDED_VOCAB_SIZE, other);
}

/* ---- ranks and batch ---- */

/* a / b where both are known and divide, else unknown. */
static struct value values_ratio(const struct value *a, const struct value *b,
                                 const char *uneven)
{
    if (!values_whole(a) || !values_whole(b))
        return values_missing(a, b);
    struct value v = values_not_stated;
    v.why = uneven;
    return b->whole > 0 && a->whole % b->whole == 0
               ? values_computed(a->whole / b->whole)
               : v;
}

static struct value values_product(const struct value *a, const struct value *b)
{
    int64_t product = 0;
    if (!values_whole(a) || !values_whole(b))
        return values_missing(a, b);
    if (__builtin_mul_overflow(a->whole, b->whole, &product))
        return values_not_stated;
    return values_computed(product);
}

/* Several flags say it; where any of those given is unknown, so is the number.
 */
static enum err values_virtual(struct arena *a, const struct megatron_flags *f,
                               struct value *v, struct err_msg *msg)
{
    static const enum flag_id given[] = {
        FLAG_VPP, FLAG_LAYOUT, FLAG_LAYERS_PER_VPP, FLAG_HYBRID_LAYER_PATTERN,
        FLAG_HYBRID_OVERRIDE_PATTERN};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        if (f->slot[given[i]].unknown) {
            v[VALUE_VPP] = values_of_unknown(f->slot[given[i]].unknown);
            return ERR_OK;
        }
    int chunks = 1;
    enum err e = ERR_OK;
    bool sizes = values_whole(&v[VALUE_PP]) && values_whole(&v[VALUE_LAYERS]) &&
                 v[VALUE_PP].whole > 0 && v[VALUE_PP].whole <= 1 << 10;
    if (sizes)
        e = megatron_virtual_stages(a, f, &chunks, msg);
    else if (flags_given(f, FLAG_LAYOUT) || flags_given(f, FLAG_LAYERS_PER_VPP))
        v[VALUE_VPP] = values_missing(&v[VALUE_PP], &v[VALUE_LAYERS]);
    if (sizes || v[VALUE_VPP].is != VALUE_UNKNOWN)
        v[VALUE_VPP] = values_slot(f, FLAG_VPP, values_computed(chunks));
    return e;
}

static struct value values_pattern(const struct megatron_flags *f)
{
    const enum flag_id id = hybrid_flag(f);
    if (id == FLAG_NONE)
        return (struct value){.is = VALUE_ABSENT};
    if (flags_unknown(f, id))
        return values_of_unknown(f->slot[id].unknown);
    return (struct value){
        .is = VALUE_TEXT, .text = flags_text(f, id), .from = f->slot[id].from};
}

/* DP is what the world leaves; a world that does not divide leaves none, with
 * the reason. */
static enum err values_ranks(struct arena *a, const struct megatron_flags *f,
                             struct value *v, struct err_msg *msg)
{
    static const struct value none = {.is = VALUE_ABSENT};
    v[VALUE_TP] = values_slot(f, FLAG_TP, values_not_stated);
    v[VALUE_PP] = values_slot(f, FLAG_PP, values_not_stated);
    v[VALUE_CP] = values_slot(f, FLAG_CP, values_not_stated);
    v[VALUE_EP] = values_slot(f, FLAG_EP, values_not_stated);
    v[VALUE_ETP] = values_slot(f, FLAG_ETP, values_like(&v[VALUE_TP]));
    v[VALUE_WORLD] = values_slot(f, FLAG_WORLD_SIZE, values_not_stated);
    struct value one = values_product(&v[VALUE_TP], &v[VALUE_PP]);
    one = values_product(&one, &v[VALUE_CP]);
    v[VALUE_DP] = values_ratio(&v[VALUE_WORLD], &one,
                               "TP x PP x CP do not divide the world size");
    v[VALUE_LAYOUT] = none;
    v[VALUE_PATTERN] = values_pattern(f);
    if (f->slot[FLAG_LAYOUT].unknown)
        v[VALUE_LAYOUT] = values_of_unknown(f->slot[FLAG_LAYOUT].unknown);
    else if (flags_given(f, FLAG_LAYOUT))
        v[VALUE_LAYOUT] = (struct value){.is = VALUE_TEXT,
                                         .text = flags_text(f, FLAG_LAYOUT),
                                         .from = f->slot[FLAG_LAYOUT].from};
    return values_virtual(a, f, v, msg);
}

/* One micro-batch a replica where no global batch is given, as in Megatron. */
static void values_batch(const struct megatron_flags *f, struct value *v)
{
    v[VALUE_MICRO_BATCH] =
        values_slot(f, FLAG_MICRO_BATCH_SIZE, values_not_stated);
    struct value one = values_product(&v[VALUE_MICRO_BATCH], &v[VALUE_DP]);
    v[VALUE_GLOBAL_BATCH] = values_slot(f, FLAG_GLOBAL_BATCH_SIZE, one);
    v[VALUE_MICROBATCHES] =
        values_ratio(&v[VALUE_GLOBAL_BATCH], &one,
                     "micro-batch x DP does not divide the global batch");
    v[VALUE_SEQ] = values_slot(f, FLAG_SEQ_LENGTH, values_not_stated);
}

/* Of flags in which a pattern has spoken; the checks of what was given come
 * first, as for any model. */
static enum err values_all(struct arena *a, const struct megatron_flags *f,
                           const struct megatron_hybrid *h,
                           struct value out[N_VALUES], struct err_msg *msg)
{
    values_widths(f, out);
    enum err e = values_ranks(a, f, out, msg);
    if (e == ERR_OK)
        e = values_experts(a, f, h, out, msg);
    if (e != ERR_OK)
        return e;
    values_vocab(f, out);
    values_batch(f, out);
    return ERR_OK;
}

enum err values_read(struct arena *a, const struct megatron_flags *f,
                     struct value out[N_VALUES], struct err_msg *msg)
{
    struct megatron_hybrid h;
    struct megatron_flags own;
    memset(out, 0, N_VALUES * sizeof *out);
    enum err e = flags_check_given(f, msg);
    if (e == ERR_OK)
        e = hybrid_settle(a, f, &h, &own, msg);
    return e == ERR_OK ? values_all(a, &own, &h, out, msg) : e;
}
