/*
 * How it works: sizes of the table are put into the slots of their flags; what
 * has no flag is read by plan's settings. A size of 0 was not given: every such
 * flag is at least 1.
 */
#include "overrides.h"

#include "hybrid.h"

static const struct {
    enum flag_id flag;
    const char *option, *key;
} overrides[N_OVERRIDES] = {
#define OVERRIDE_ROW(id, flag, option, key) {flag, option, key},
    OVERRIDE_TABLE(OVERRIDE_ROW)
#undef OVERRIDE_ROW
};

enum flag_id override_flag(enum override_id id)
{
    return overrides[id].flag;
}

const char *override_option(enum override_id id)
{
    return overrides[id].option;
}

const char *override_key(enum override_id id)
{
    return overrides[id].key;
}

/* A split says nothing about another number of stages. */
static void overrides_drop_split(const struct overrides *o,
                                 struct megatron_flags *f)
{
    // the same number of stages leaves the source's split as it is
    int64_t pp = o->size[OVERRIDE_PP];
    if (!o->size[OVERRIDE_VPP] && (!pp || pp == flags_int(f, FLAG_PP, 1)))
        return;
    // where the source states no PP, its stages speak of the option's, and
    // whether they fit is judged by who reads them
    if (o->size[OVERRIDE_VPP] || flags_given(f, FLAG_PP)) {
        flags_clear(f, FLAG_LAYOUT);
        hybrid_drop_bars(f);
    }
    flags_clear(f, FLAG_LAYERS_PER_VPP);
    flags_clear(f, FLAG_VPP);
}

/* Another number of stages makes what the source says of the split void, so
 * that it goes first. */
void overrides_apply(const struct overrides *o, struct megatron_flags *f)
{
    const char *before = f->from;
    overrides_drop_split(o, f);
    f->from = "option";
    for (int i = 0; i < N_OVERRIDES; i++)
        if (overrides[i].flag != FLAG_NONE && o->size[i])
            flags_set_int(f, overrides[i].flag, o->size[i]);
    f->from = before;
}
