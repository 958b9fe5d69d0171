/*
 * scratch: the folder of a session, in TMPDIR (/tmp): `bin` with the stand-ins,
 * `record` where they write, `here` where the script runs. Made anew for every
 * session, readable by its user alone.
 */
#ifndef RECORD_SCRATCH_H
#define RECORD_SCRATCH_H

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

#include <stdbool.h>

struct scratch {
    const char *folder, *bin, *record, *here; // absolute paths
    int fd; // of the record, held open: a script may replace the file
};

/* The path with the current folder in front where it is relative; links stay.
 * NULL when out of memory or when that folder is gone. Owned by the arena. */
const char *scratch_absolute(struct arena *a, const char *path);

/* Makes it. ERR_IO says what could not be made; nothing is left then. */
enum err scratch_make(struct arena *a, struct scratch *out,
                      struct err_msg *msg);

/* The bytes of the record, owned by the arena; *cut when a stand-in could not
 * note its call, or the record is longer than stand-ins make it. ERR_IO. */
enum err scratch_read(struct arena *a, const struct scratch *s,
                      struct text_span *out, bool *cut, struct err_msg *msg);

/* Removes it with all that is in it. */
void scratch_remove(struct scratch *s);

#endif
