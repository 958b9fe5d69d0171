/*
 * role: why a layout is measured. One table gives id, name and help; the name
 * stands in manifests, CSV files and run folders.
 */
#ifndef MANIFEST_ROLE_H
#define MANIFEST_ROLE_H

#include "base/err.h"

/* id, name in manifests and CSV, help */
#define ROLE_TABLE(X)                                                          \
    X(ROLE_PICK, "pick", "the planner's fastest layout")                       \
    X(ROLE_DEFAULT, "default", "Megatron's default split")                     \
    X(ROLE_COUNT_BASED, "count-based", "every unit counted as one")            \
    X(ROLE_FLOPS_PICK, "flops-pick", "the pick of costs taken from FLOPs")     \
    X(ROLE_NEIGHBOUR, "neighbour",                                             \
      "the pick with one unit moved; again: the next fastest such")            \
    X(ROLE_STANDALONE_MTP, "standalone-mtp",                                   \
      "the fastest layout with MTP on a stage of its own")                     \
    X(ROLE_TWO_BOTTLENECKS, "two-bottlenecks",                                 \
      "the fastest layout with two equally slow stages")                       \
    X(ROLE_WHOLE_LAYERS, "whole-layers",                                       \
      "hybrid model: the fastest without a cut inside a layer")                \
    X(ROLE_REPEAT, "repeat", "the default once more, for the noise")           \
    X(ROLE_LAYOUT, "layout", "the layout string given beside the role")

enum role {
#define ROLE_ENUM(id, name, help) id,
    ROLE_TABLE(ROLE_ENUM)
#undef ROLE_ENUM
        N_ROLES
};

const char *role_name(enum role role);
const char *role_help(enum role role);

/* ERR_PARSE names the nearest role. */
enum err role_from_name(const char *where, const char *name, enum role *out,
                        struct err_msg *msg);

#endif
