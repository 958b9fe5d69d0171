/*
 * How it works: sizes of the table are put into the slots of their flags; what
 * has no flag is read by plan's settings. A size of 0 was not given: every such
 * flag is at least 1.
 */
#include "overrides.h"

#include "hybrid.h"
#include "layout/layout.h"
#include "pattern/parts.h"

#include <string.h>

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

/* Stages that the source writes down itself; 0: none. */
static int64_t overrides_stages(const struct megatron_flags *f)
{
    const char *text = hybrid_stages_text(f);
    struct pattern_parts parts;
    struct layout l;
    if (!text || strlen(text) > PATTERN_MAX_CHARS)
        return 0;
    if (hybrid_flag(f) == FLAG_NONE)
        return layout_parse(f->arena, text, 1, &l, NULL) == LAYOUT_OK
                   ? l.n_stages
                   : 0;
    parts_read(text, &parts);
    return parts.n_segments;
}

/* A split says nothing about another number of stages. True: the stages that
 * stay are those that --vpp asks for. */
static bool overrides_drop_split(const struct overrides *o,
                                 struct megatron_flags *f)
{
    const int64_t vpp = o->size[OVERRIDE_VPP];
    const int64_t own = flags_int(f, FLAG_PP, 1);
    const int64_t pp = o->size[OVERRIDE_PP] ? o->size[OVERRIDE_PP] : own;
    const int64_t stages = overrides_stages(f);
    // where the source states no PP, its stages speak of the option's, and
    // whether they fit is judged by who reads them; one stage is one rank's
    const bool same = pp == own || (!flags_given(f, FLAG_PP) && stages != 1);
    if (vpp && same && stages == pp * vpp)
        return true;
    // the same number of stages leaves the source's split as it is
    if (!vpp && pp == own)
        return false;
    if (vpp || !same) {
        flags_clear(f, FLAG_LAYOUT);
        hybrid_drop_bars(f);
    }
    flags_clear(f, FLAG_LAYERS_PER_VPP);
    flags_clear(f, FLAG_VPP);
    return false;
}

/* Another number of stages makes what the source says of the split void, so
 * that it goes first. */
void overrides_apply(const struct overrides *o, struct megatron_flags *f)
{
    const char *before = f->from;
    const bool has_stages = overrides_drop_split(o, f);
    f->from = "option";
    for (int i = 0; i < N_OVERRIDES; i++)
        if (overrides[i].flag != FLAG_NONE && o->size[i] &&
            !(has_stages && i == OVERRIDE_VPP))
            flags_set_int(f, overrides[i].flag, o->size[i]);
    f->from = before;
}
