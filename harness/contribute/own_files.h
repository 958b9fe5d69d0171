/*
 * own_files: which files a contributed folder may have. What nobody reads,
 * nobody has looked through, so nothing else may lie there.
 */
#ifndef CONTRIBUTE_OWN_FILES_H
#define CONTRIBUTE_OWN_FILES_H

#include "base/arena.h"
#include "base/err.h"

enum { N_OWN_FILES = 4 };

/* Those at the top that hold data, `i` below N_OWN_FILES. */
const char *own_file_name(int i);

/* Are there, beside the sums, only those and the logs of `n_rows` rows?
 * ERR_MODEL names the first other one. */
enum err own_files_check(struct arena *a, const char *dir, size_t n_rows,
                         struct err_msg *msg);

#endif
