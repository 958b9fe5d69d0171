/*
 * page: folders of results as one HTML file that needs nothing beside it: no
 * network, no other file, and for the table no script either. The same files
 * give the same bytes: no date, no path of the machine is in it.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include "base/arena.h"
#include "base/err.h"

/* Folders, each of a dataset or of folders of them. */
struct page_sources {
    const char *const *dirs;
    int n_dirs;
};

/* The page as text, owned by the arena. ERR_PARSE where no folder holds a row;
 * errors of damaged datasets as sets_add(). */
enum err page_make(struct arena *a, const struct page_sources *from,
                   const char **out, struct err_msg *msg);

#endif
