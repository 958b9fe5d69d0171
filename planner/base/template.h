/*
 * template: variables within the values of configurations, in the spellings of
 * shells (${NAME}, $NAME, ${NAME:-default}), of OmegaConf (${a.b}, ${.b},
 * ${oc.env:NAME,default}), of launchers (${NAME:default}), and of templates
 * ({{name}}, and {name} where it is the whole value). What a name stands for is
 * the caller's; nothing is taken from the environment, nothing is run.
 *
 * Values are some bytes long, the result at most TEMPLATE_MAX_BYTES, after
 * TEMPLATE_MAX_STEPS names: what needs more is taken as not known.
 */
#ifndef BASE_TEMPLATE_H
#define BASE_TEMPLATE_H

#include "arena.h"
#include "err.h"

enum { TEMPLATE_MAX_BYTES = 1 << 16, TEMPLATE_MAX_STEPS = 64 };

/* Where values of names come from. */
struct template_source {
    // value of the name as it stands between the braces ("a.b", "NAME"), which
    // may hold variables again; NULL: not known
    const char *(*find)(void *data, const char *name);
    // told of a default that stands in for a name
    void (*assume)(void *data, const char *name, const char *value);
    void *data;
};

struct template_text {
    const char *text;    // all variables replaced; NULL: one is not known
    const char *missing; // that one, as it stands: "${WAYS}"; else NULL
};

/* Owned by the arena. ERR_NOMEM. */
enum err template_expand(struct arena *a, const char *text,
                         const struct template_source *from,
                         struct template_text *out, struct err_msg *msg);

#endif
