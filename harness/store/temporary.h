/*
 * temporary: a folder below TMPDIR for what has to be unpacked while it is
 * read. From its making to its removal signals wait (ending).
 */
#ifndef STORE_TEMPORARY_H
#define STORE_TEMPORARY_H

#include "base/arena.h"
#include "base/err.h"

#include "ending.h"

struct temporary {
    const char *path; // NULL: there is none
    struct ending ending;
};

/* Makes TMPDIR/NAME-XXXXXX (below /tmp where TMPDIR is no full path). ERR_IO;
 * on failure there is no folder and no signal waits. Owned by the arena, and
 * removed by the caller. */
enum err temporary_make(struct arena *a, const char *name,
                        struct temporary *out, struct err_msg *msg);

/* Removes it with all that is in it, and lets signals through: one that waited
 * may end the program here. */
void temporary_remove(struct temporary *t);

#endif
