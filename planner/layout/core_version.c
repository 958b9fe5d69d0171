#include "core_version.h"

#include <string.h>

static const struct core_version versions[] = {
    {"0.12", false, CORE_MTP_REFUSED},  {"0.13", true, CORE_MTP_REFUSED},
    {"0.14", true, CORE_MTP_UNCHECKED}, {"0.15", true, CORE_MTP_WITH_LOSS},
    {"0.16", true, CORE_MTP_ANYWHERE},  {"0.17", true, CORE_MTP_ANYWHERE},
    {"0.18", true, CORE_MTP_ANYWHERE},  {"0.19", true, CORE_MTP_ANYWHERE},
    {"0.20", true, CORE_MTP_ANYWHERE},
};
enum { N_VERSIONS = sizeof versions / sizeof versions[0], DEFAULT = 4 };

enum err core_version_find(const char *name, const struct core_version **out,
                           struct err_msg *msg)
{
    *out = &versions[DEFAULT];
    if (!name)
        return ERR_OK;
    for (int i = 0; i < N_VERSIONS; i++) {
        size_t n = strlen(versions[i].name);
        if (strncmp(versions[i].name, name, n) == 0 &&
            (name[n] == '\0' || name[n] == '.')) {
            *out = &versions[i];
            return ERR_OK;
        }
    }
    return err_set(msg, ERR_RANGE, "core version: got '%s', want %s to %s",
                   name, versions[0].name, versions[N_VERSIONS - 1].name);
}

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
