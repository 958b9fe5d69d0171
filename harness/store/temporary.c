#include "temporary.h"

#include "base/file.h"
#include "ending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum err temporary_make(struct arena *a, const char *name,
                        struct temporary *out, struct err_msg *msg)
{
    char *path = file_temporary_name(a, name);
    out->path = NULL;
    if (!path)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", name);
    ending_hold(&out->ending);
    if (mkdtemp(path)) {
        out->path = path;
        return ERR_OK;
    }
    const enum err e =
        err_set(msg, ERR_IO, "%s: cannot make a folder: %s; set TMPDIR", path,
                strerror(errno));
    ending_release(&out->ending);
    return e;
}

void temporary_remove(struct temporary *t)
{
    if (!t->path)
        return;
    file_remove_tree(t->path);
    t->path = NULL;
    ending_release(&t->ending);
}
