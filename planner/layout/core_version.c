/*
 * How it works: one row a version. A row says what differs, not how: the two
 * rules about m are written once, in core_version_refuses(). Of what is
 * proposed the checks of today are asked once the proposal's own has passed.
 */
#include "core_version.h"

#include "base/arena.h"

#include <string.h>

// columns as in the struct: minor, has_layout, mtp, symbols, has_pattern,
// proposals, frees_mtp_logits; 0.12 has no flag; 0.13 raises
// NotImplementedError for an m in a layout; the assertion of 0.14 never fires;
// that of 0.15 does; from 0.16 on m may stand alone
static const struct core_version versions[] = {
    {"0.12", 12, false, CORE_MTP_REFUSED, "M*-", false, false, false},
    {"0.13", 13, true, CORE_MTP_REFUSED, "M*-", false, false, false},
    {"0.14", 14, true, CORE_MTP_UNCHECKED, "M*-", false, false, false},
    {"0.15", 15, true, CORE_MTP_WITH_LOSS, "M*-", false, false, false},
    {"0.16", 16, true, CORE_MTP_ANYWHERE, "M*-E", false, false, false},
    {"0.17", 17, true, CORE_MTP_ANYWHERE, "MG*-E", true, false, true},
    {"0.18", 18, true, CORE_MTP_ANYWHERE, "MG*D-E", true, false, true},
    {"0.19", 19, true, CORE_MTP_ANYWHERE, "MG*D+-E", true, false, true},
    {"0.20", 20, true, CORE_MTP_ANYWHERE, "MG*D+-E", true, false, true},
    {"dev", 20, true, CORE_MTP_ANYWHERE, "MG*D+-E", true, true, true},
};
// 0.16: the first that means to accept every valid layout
enum {
    N_CORE_VERSIONS = sizeof versions / sizeof versions[0],
    CORE_VERSION_DEFAULT = 4,
    CORE_VERSION_PATTERNS = 7
};

/* A name with a patch level has the row of its minor version; "0.1" must not
 * find "0.12", so what follows the row's name must be a dot or nothing. */
enum err core_version_find(const char *name, const struct core_version **out,
                           struct err_msg *msg)
{
    *out = &versions[CORE_VERSION_DEFAULT];
    if (!name)
        return ERR_OK;
    for (int i = 0; i < N_CORE_VERSIONS; i++) {
        size_t n = strlen(versions[i].name);
        if (strncmp(versions[i].name, name, n) == 0 &&
            (name[n] == '\0' || name[n] == '.')) {
            *out = &versions[i];
            return ERR_OK;
        }
    }
    return err_set(msg, ERR_RANGE,
                   "core version: got '%s', want %s to %s, or %s", name,
                   versions[0].name, versions[N_CORE_VERSIONS - 2].name,
                   versions[N_CORE_VERSIONS - 1].name);
}

const struct core_version *core_version_of_patterns(void)
{
    return &versions[CORE_VERSION_PATTERNS];
}

/* ---- proposals ---- */

/* One L a loss, that of the main model and one for each MTP depth, in stages
 * behind the last layer and the last m. */
static bool core_version_splits_loss(const struct layout *l, int n_mtp)
{
    int n_loss = 0;
    for (int s = 0; s < l->n_stages; s++)
        for (const char *u = l->units[s]; *u; u++) {
            if (n_loss && *u != 'L')
                return false;
            n_loss += *u == 'L';
        }
    return n_mtp && n_loss == 1 + n_mtp;
}

/* The layout with the last one of its L alone; NULL when out of memory. */
static const char **core_version_one_loss(struct arena *a,
                                          const struct layout *l)
{
    int last = l->n_stages - 1;
    const char **units = arena_alloc(a, (size_t)l->n_stages, sizeof *units);
    while (last && !*l->units[last])
        last--;
    for (int s = 0; units && s < l->n_stages; s++) {
        char *out = arena_alloc(a, strlen(l->units[s]) + 1, 1);
        units[s] = out;
        if (!out)
            return NULL;
        for (const char *u = l->units[s]; *u; u++)
            if (*u != 'L' || (s == last && !u[1]))
                *out++ = *u;
    }
    return units;
}

/* The checks behind the count of L, on a layout with one. */
static enum layout_error core_version_behind_loss(const struct layout *l,
                                                  int n_layers, int n_mtp,
                                                  struct err_msg *msg)
{
    struct arena a;
    arena_init(&a);
    struct layout one = *l;
    enum layout_error e = LAYOUT_NO_MEMORY;
    one.units = core_version_one_loss(&a, l);
    if (one.units)
        e = layout_validate(&one, n_layers, n_mtp, msg);
    else
        err_set(msg, ERR_NOMEM, "layout: out of memory");
    arena_clear(&a);
    return e;
}

enum layout_error core_version_validate(const struct core_version *v,
                                        const struct layout *l, int n_layers,
                                        int n_mtp, struct err_msg *msg)
{
    enum layout_error e = layout_validate(l, n_layers, n_mtp, msg);
    if (v->proposals && e == LAYOUT_L_COUNT &&
        core_version_splits_loss(l, n_mtp))
        e = core_version_behind_loss(l, n_layers, n_mtp, msg);
    // the last check of all
    return v->proposals && e == LAYOUT_M_SPLIT ? LAYOUT_OK : e;
}

/* 0.14 lets it pass without meaning to: what runs is what counts. */
bool core_version_parts_mtp(const struct core_version *v)
{
    return v->mtp == CORE_MTP_UNCHECKED || v->mtp == CORE_MTP_ANYWHERE;
}

bool core_version_refuses(const struct core_version *v, const struct layout *l,
                          struct core_refusal *out)
{
    int mtp = layout_mtp_stage(l);
    bool with_loss =
        mtp == l->n_stages - 1 && mtp >= 0 && layout_stage(l, mtp).n_loss;
    if (!v->has_layout)
        *out = (struct core_refusal){
            "unrecognized arguments: --pipeline-model-parallel-layout",
            "this version has no flag for a layout"};
    else if (mtp >= 0 && v->mtp == CORE_MTP_REFUSED)
        *out = (struct core_refusal){
            "NotImplementedError: MTP layer is not supported for flexible "
            "pipeline layout",
            "this version takes no m in a layout"};
    else if (mtp >= 0 && v->mtp == CORE_MTP_WITH_LOSS && !with_loss)
        *out = (struct core_refusal){
            "AssertionError: MTP layers must be in the last stage together "
            "with Loss stage.",
            "this version wants every m in the last stage, with L"};
    else
        return false;
    return true;
}
