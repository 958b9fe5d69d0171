/*
 * How it works: one table, three columns; a name is looked up by walking it.
 */
#include "role.h"

#include "base/text.h"

#include <string.h>

static const char *const role_names[] = {
#define ROLE_NAME(id, name, help) name,
    ROLE_TABLE(ROLE_NAME)
#undef ROLE_NAME
};

static const char *const role_helps[] = {
#define ROLE_HELP(id, name, help) help,
    ROLE_TABLE(ROLE_HELP)
#undef ROLE_HELP
};

const char *role_name(enum role role)
{
    return role_names[role];
}

const char *role_help(enum role role)
{
    return role_helps[role];
}

/* `where` begins the message: a manifest and its item, or an option. */
enum err role_from_name(const char *where, const char *name, enum role *out,
                        struct err_msg *msg)
{
    for (int i = 0; i < N_ROLES; i++)
        if (strcmp(role_names[i], name) == 0) {
            *out = (enum role)i;
            return ERR_OK;
        }
    const char *near = text_nearest(name, role_names, N_ROLES);
    return err_set(msg, ERR_PARSE,
                   "%s: role: got '%s', want one of pick, default, "
                   "count-based, flops-pick, neighbour, standalone-mtp, "
                   "two-bottlenecks, whole-layers, repeat, layout%s%s%s",
                   where, name, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}
