/*
 * revision: which commit a name means, by the program git. Without git, outside
 * a checkout, or for a name that it does not know there is no answer, and that
 * is no error: callers say what they need.
 */
#ifndef REGRESS_REVISION_H
#define REGRESS_REVISION_H

#include "base/arena.h"
#include "base/err.h"

/* The full commit of a branch, tag, prefix or "HEAD~2" in *out, NULL when there
 * is none. ERR_NOMEM, or ERR_CHILD where no program can be started. */
enum err revision_resolve(struct arena *a, const char *name, const char **out,
                          struct err_msg *msg);

/* The commit of the checkout around the working folder, with "+" behind it
 * when files that figures come from (code, reference and published datasets)
 * differ from it; "unknown" where that cannot be told. Errors as above. */
enum err revision_now(struct arena *a, const char **out, struct err_msg *msg);

#endif
