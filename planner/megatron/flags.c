#include "flags.h"

#include "base/text.h"

#include <string.h>

static const struct flag {
    const char *name;
    enum flag_type type;
    const char *standard; // default, "" for none
    enum flag_effect effect;
} flags[N_FLAGS] = {
#define FLAG_ROW(id, name, type, def, fx) {name, type, def, fx},
    MEGATRON_FLAG_TABLE(FLAG_ROW)
#undef FLAG_ROW
};

enum flag_id flag_by_name(const char *name, size_t len)
{
    for (int i = 0; i < N_FLAGS; i++)
        if (strlen(flags[i].name) == len &&
            memcmp(flags[i].name, name, len) == 0)
            return (enum flag_id)i;
    return NO_FLAG;
}

const char *flag_name(enum flag_id id)
{
    return flags[id].name;
}

enum flag_type flag_type(enum flag_id id)
{
    return flags[id].type;
}

enum flag_effect flag_effect(enum flag_id id)
{
    return flags[id].effect;
}

const char *flag_nearest(const char *word)
{
    const char *names[N_FLAGS];
    for (int i = 0; i < N_FLAGS; i++)
        names[i] = flags[i].name;
    return text_nearest(word, names, N_FLAGS);
}

static bool value_fits(enum flag_type type, const char *text)
{
    int64_t i;
    double d;
    if (type == INT)
        return text_to_int64(text, &i);
    if (type == REAL)
        return text_to_double(text, &d);
    return true;
}

/* Older names of the same thing. */
static enum flag_id flags_modern(enum flag_id id)
{
    return id == ENCODER_NUM_LAYERS   ? NUM_LAYERS
           : id == ENCODER_SEQ_LENGTH ? SEQ_LENGTH
           : id == OLD_TP             ? TP
                                      : id;
}

enum err flags_set(struct megatron_flags *f, enum flag_id id, const char *text,
                   struct err_msg *msg)
{
    if (!value_fits(flags[id].type, text))
        return err_set(msg, ERR_PARSE, "%s%s--%s: got '%s', want %s", f->where,
                       *f->where ? ": " : "", flags[id].name, text,
                       flags[id].type == INT ? "an integer" : "a number");
    const char *copy = arena_strdup(f->arena, text);
    if (!copy)
        return err_set(msg, ERR_NOMEM, "flags: out of memory");
    f->text[flags_modern(id)] = copy;
    return ERR_OK;
}

bool flags_given(const struct megatron_flags *f, enum flag_id id)
{
    return f->text[id] != NULL;
}

const char *flags_text(const struct megatron_flags *f, enum flag_id id)
{
    if (f->text[id])
        return f->text[id];
    return *flags[id].standard ? flags[id].standard : NULL;
}

int64_t flags_number(const struct megatron_flags *f, enum flag_id id,
                     int64_t other)
{
    int64_t v = other;
    const char *text = flags_text(f, id);
    return text && text_to_int64(text, &v) ? v : other;
}

bool flags_is(const struct megatron_flags *f, enum flag_id id,
              const char *wanted)
{
    const char *text = flags_text(f, id);
    return text && strcmp(text, wanted) == 0;
}

enum err flags_check_ranges(const struct megatron_flags *f, struct err_msg *msg)
{
    static const struct {
        enum flag_id id;
        bool required;
        int64_t lo, hi;
    } want[] = {
        {NUM_LAYERS, true, 1, MODEL_MAX_LAYERS},
        {HIDDEN_SIZE, true, 1, 1 << 20},
        {NUM_ATTENTION_HEADS, true, 1, 1 << 16},
        {FFN_HIDDEN_SIZE, false, 1, 1 << 22},
        {NUM_QUERY_GROUPS, false, 1, 1 << 16},
        {KV_CHANNELS, false, 1, 1 << 16},
        {Q_LORA_RANK, false, 1, 1 << 16},
        {KV_LORA_RANK, false, 1, 1 << 16},
        {QK_HEAD_DIM, false, 1, 1 << 14},
        {QK_POS_EMB_HEAD_DIM, false, 0, 1 << 14},
        {V_HEAD_DIM, false, 1, 1 << 14},
        {MOE_LATENT_SIZE, false, 1, 1 << 20},
        {VOCAB_SIZE, false, 1, 1 << 24},
        {PADDED_VOCAB_SIZE, false, 1, 1 << 24},
        {MAKE_VOCAB_DIVISIBLE, false, 1, 1 << 20},
        {MAX_POSITION_EMBEDDINGS, false, 1, 1 << 26},
        {NUM_EXPERTS, false, 1, 1 << 16},
        {MOE_FFN_HIDDEN_SIZE, false, 1, 1 << 22},
        {MOE_ROUTER_TOPK, false, 1, 1 << 12},
        {MOE_SHARED_EXPERT, false, 0, 1 << 22},
        {MTP_NUM_LAYERS, false, 0, 16},
        {TP, false, 1, 1 << 12},
        {PP, false, 1, 1 << 10},
        {VPP, false, 1, 1 << 10},
        {LAYERS_PER_VPP, false, 1, MODEL_MAX_LAYERS},
        {FIRST_LAYERS, false, 1, MODEL_MAX_LAYERS},
        {LAST_LAYERS, false, 1, MODEL_MAX_LAYERS},
        {CP, false, 1, 1 << 12},
        {EP, false, 1, 1 << 12},
        {ETP, false, 1, 1 << 12},
        {WORLD_SIZE, false, 1, 1 << 24},
        {DIST_OPT_INSTANCES, false, 1, 1 << 12},
        {MICRO_BATCH_SIZE, false, 1, 1 << 16},
        {GLOBAL_BATCH_SIZE, false, 1, 1 << 24},
        {SEQ_LENGTH, false, 1, 1 << 26},
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const char *name = flags[want[i].id].name;
        if (!flags_given(f, want[i].id)) {
            if (want[i].required)
                return err_set(msg, ERR_PARSE, "%s%smodel: --%s: missing",
                               f->where, *f->where ? ": " : "", name);
            continue;
        }
        int64_t v = flags_number(f, want[i].id, 0);
        if (v < want[i].lo || v > want[i].hi)
            return err_set(msg, ERR_RANGE,
                           "%s%s--%s: got %lld, want %lld to %lld", f->where,
                           *f->where ? ": " : "", name, (long long)v,
                           (long long)want[i].lo, (long long)want[i].hi);
    }
    return ERR_OK;
}
