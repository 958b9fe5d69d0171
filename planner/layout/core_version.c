/*
 * How it works: one row a version. A row says what differs, not how: the two
 * rules about m are written once, in core_version_refuses().
 */
#include "core_version.h"

#include <string.h>

// 0.12 has no flag; 0.13 raises NotImplementedError for an m in a layout; the
// assertion of 0.14 never fires; that of 0.15 does; from 0.16 on m may stand
// alone
static const struct core_version versions[] = {
    {"0.12", false, CORE_MTP_REFUSED, false},
    {"0.13", true, CORE_MTP_REFUSED, false},
    {"0.14", true, CORE_MTP_UNCHECKED, false},
    {"0.15", true, CORE_MTP_WITH_LOSS, false},
    {"0.16", true, CORE_MTP_ANYWHERE, false},
    {"0.17", true, CORE_MTP_ANYWHERE, true},
    {"0.18", true, CORE_MTP_ANYWHERE, true},
    {"0.19", true, CORE_MTP_ANYWHERE, true},
    {"0.20", true, CORE_MTP_ANYWHERE, true},
};
// 0.16: the first that means to accept every valid layout
enum {
    N_CORE_VERSIONS = sizeof versions / sizeof versions[0],
    CORE_VERSION_DEFAULT = 4
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
    return err_set(msg, ERR_RANGE, "core version: got '%s', want %s to %s",
                   name, versions[0].name, versions[N_CORE_VERSIONS - 1].name);
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
