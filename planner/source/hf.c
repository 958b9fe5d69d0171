/*
 * How it works: the object of the language model is found, its type gives the
 * family (hf_families), and readers of each part turn keys into flags
 * (hf_attention, hf_experts). What all families share is here.
 */
#include "hf.h"

#include "base/text.h"
#include "hf_attention.h"
#include "hf_experts.h"
#include "hf_hybrid.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

/* ---- the language model among other parts ---- */

static const char *const nests[] = {"text_config", "language_config",
                                    "llm_config", "thinker_config"};

/* Adds to the names: "vision_config, audio_config". */
static void tell_other_parts(const struct hf *outer, const cJSON *inner)
{
    char names[300] = "";
    for (const cJSON *c = outer->at.item->child; c; c = c->next) {
        size_t n = strlen(names);
        if (cJSON_IsObject(c) && text_ends(c->string, "_config") &&
            c != inner && strcmp(c->string, "quantization_config") != 0)
            snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "",
                     c->string);
    }
    if (*names)
        hf_warn(outer, names,
                "%s: not counted; the numbers are of the language model alone",
                names);
}

/* The object within that holds the language model; absent: it is this one. */
static struct reader language_of(struct reader at)
{
    for (size_t i = 0; i < sizeof nests / sizeof nests[0]; i++)
        if (json_get(at.item, nests[i]))
            return reader_object(at, nests[i]);
    return (struct reader){at.doc, NULL, ""};
}

/* As deep as it is: thinker_config.text_config of Qwen3-Omni. */
static void enter_language(struct hf *h)
{
    struct reader inner = language_of(h->at);
    for (; reader_is_there(inner); inner = language_of(inner))
        h->at = inner;
}

/* ---- the type ---- */

/* By model_type and not by architectures: a fork of a model keeps the type. But
 * Ling 2.0 kept Ling's type and has a router and norms of its own. */
static const char *type_of(const struct reader at, const char *outer)
{
    const cJSON *type = json_get(at.item, "model_type");
    const cJSON *list = json_get(at.item, "architectures");
    const cJSON *class = cJSON_IsArray(list) ? list->child : NULL;
    const char *name = cJSON_IsString(type) ? type->valuestring : outer;
    bool ling = strcmp(name, "bailing_moe") == 0 && cJSON_IsString(class);
    if (ling && text_starts(class->valuestring, "BailingMoeV2_5"))
        return "bailing_moe_v2_5";
    if (ling && text_starts(class->valuestring, "BailingMoeV2"))
        return "bailing_moe_v2";
    if (ling && text_starts(class->valuestring, "BailingMoeLinear"))
        return "bailing_moe_linear";
    return name;
}

static void find_family(struct hf *h, const struct reader outer)
{
    const char *type = type_of(h->at, type_of(outer, ""));
    const char *lack = hf_family_lack(type);
    h->family = hf_family_find(type);
    if (h->family)
        return;
    if (lack)
        hf_refuse(h, "model_type", "%.60s cannot be counted: %s", type, lack);
    const char *all = hf_family_names(h->at.doc->a);
    struct reader_doc *doc = h->at.doc;
    if (doc->err == ERR_OK)
        doc->err = err_set(doc->msg, all ? ERR_RANGE : ERR_NOMEM,
                           "%.200s: model_type: got '%.60s', want one of: %s",
                           doc->file, type, all ? all : "");
}

/* ---- parts ---- */

/* A vision model may say it outside; where both say it and differ the classes
 * of transformers do not agree on which one counts. */
static bool is_tied(const struct hf *h, const struct reader outer)
{
    const struct hf whole = {.at = outer, .args = h->args};
    const char key[] = "tie_word_embeddings";
    bool other = hf_switch(&whole, key, hf_part(h, HF_TIED));
    bool tied = hf_switch(h, key, other);
    if (hf_has(&whole, key) && tied != other)
        hf_refuse(h, key, "got %s, and outside of it %s: want both the same",
                  tied ? "true" : "false", other ? "true" : "false");
    return tied;
}

/* Published models of these types have gated MLPs and rotary positions without
 * saying so: Megatron's flags must. Hybrid ones have neither. */
static void read_widths(struct hf *h, const struct reader outer)
{
    const struct hf_keys *k = h->family->keys;
    const struct {
        const char *key;
        enum flag_id flag;
    } same[] = {{k->hidden, FLAG_HIDDEN_SIZE},
                {k->heads, FLAG_NUM_ATTENTION_HEADS},
                {"vocab_size", FLAG_PADDED_VOCAB_SIZE}};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        hf_set(h, same[i].key, same[i].flag, hf_need(h, same[i].key));
    hf_on(h, FLAG_DISABLE_BIAS_LINEAR);
    if (!is_tied(h, outer))
        hf_on(h, FLAG_UNTIE);
    if (hf_part(h, HF_HYBRID)) {
        hf_hybrid_read_pattern(h);
        hf_hybrid_read_parts(h);
        return;
    }
    hf_on(h, FLAG_SWIGLU);
    hf_on(h, FLAG_USE_ROTARY);
    hf_set(h, k->layers, FLAG_NUM_LAYERS, hf_need(h, k->layers));
    // within the flag's range, or an error is kept
    if (reader_is_ok(h->at))
        h->n_layers = (int)hf_need(h, k->layers);
}

/* ---- what is not in the numbers, or is ---- */

/* Llama 4 attends within chunks in most layers, for which there is no flag. */
static void tell_chunks(const struct hf *h)
{
    int64_t chunk = hf_int(h, "attention_chunk_size", 0, 0);
    if (chunk)
        hf_warn(h, "attention_chunk_size",
                "attention_chunk_size: operations are counted as if all layers "
                "attended to all tokens, which holds up to %lld tokens",
                (long long)chunk);
}

static void tell_all(const struct hf *h, const struct reader top)
{
    struct hf outer = {.at = top, .args = h->args};
    for (struct reader inner; outer.at.item != h->at.item; outer.at = inner) {
        inner = language_of(outer.at);
        tell_other_parts(&outer, inner.item);
    }
    if (flags_given(megatron_args_flags(h->args), FLAG_COUNT_EXPERT_BIAS))
        hf_warn(h, "count-expert-bias",
                "parameters are with the routers' correction biases, which "
                "Megatron keeps as buffers");
    tell_chunks(h);
}

enum err source_hf_read(struct arena *a, const cJSON *config, const char *where,
                        struct megatron_args *args, struct err_msg *msg)
{
    struct reader_doc doc = {.a = a, .file = where, .msg = msg};
    const struct reader top = {&doc, config, ""};
    struct hf h = {.at = top, .args = args};
    doc.err = megatron_args_where(args, where, msg);
    enter_language(&h);
    if (doc.err == ERR_OK)
        find_family(&h, top);
    if (doc.err == ERR_OK)
        read_widths(&h, top);
    if (doc.err == ERR_OK)
        hf_attention_read(&h);
    if (doc.err == ERR_OK)
        hf_experts_read(&h);
    if (doc.err == ERR_OK)
        tell_all(&h, top);
    // the tree is the caller's
    return doc.err;
}
