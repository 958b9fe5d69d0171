/*
 * own_files: which files a contributed folder may have. What nobody reads,
 * nobody has looked through, so nothing else may lie there.
 */
#ifndef CONTRIBUTE_OWN_FILES_H
#define CONTRIBUTE_OWN_FILES_H

#include "base/arena.h"
#include "base/err.h"

enum { N_OWN_FILES = 4 };

/* The folder by a path that ends in its own name: without a slash behind it,
 * and in full for `.`, `..` and a link, which has another name. NULL when out
 * of memory. */
const char *own_folder(struct arena *a, const char *dir);

/* Those at the top that hold data, `i` below N_OWN_FILES. */
const char *own_file_name(int i);

/* Are there, beside the sums, only those and the logs of `n_rows` rows?
 * ERR_MODEL names the first other one. */
enum err own_files_check(struct arena *a, const char *dir, size_t n_rows,
                         struct err_msg *msg);

#endif
