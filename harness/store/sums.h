/*
 * sums: the hashes of a folder's files, in the file SHA256SUMS of it as
 * sha256sum writes one, so that a reader can also check them by hand. A folder
 * is as it was made when every file is listed, every listed file is there, and
 * all hashes agree. Left aside are what people put beside a dataset: report.md
 * and figures/, which 'moe-bench report' makes.
 *
 * Sized for some hundred files of some MB.
 */
#ifndef STORE_SUMS_H
#define STORE_SUMS_H

#include "base/arena.h"
#include "base/err.h"

#define SUMS_FILE "SHA256SUMS"

/* Writes DIR/SHA256SUMS over all files below DIR, flushed to the disk. ERR_IO
 * when it cannot be written, ERR_RANGE for a link or a device among them. */
enum err sums_write(struct arena *a, const char *dir, struct err_msg *msg);

/* ERR_MODEL names the first file that is missing, changed or not listed, or
 * says that there is no list; ERR_PARSE where that file is a packed log. */
enum err sums_check(struct arena *a, const char *dir, struct err_msg *msg);

/* ERR_MODEL names a file below DIR that the list does not hold, whatever the
 * others hold: what replacing the folder would lose. A folder without a list
 * passes. */
enum err sums_only_listed(struct arena *a, const char *dir,
                          struct err_msg *msg);

#endif
