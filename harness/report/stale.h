/*
 * stale: are the files that a report consists of those that the data give? Each
 * is compared, byte by byte, with one made anew beside it.
 *
 * Another gnuplot draws other bytes, another font or cairo other PDF: where the
 * kept figures say that they are of another version, or no PDF at all is equal,
 * only names are compared.
 */
#ifndef REPORT_STALE_H
#define REPORT_STALE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdio.h>

/* Where lines go, and how many there were. */
struct stale {
    FILE *out;
    int n;
};

/* Prints a line when the kept file is not the made one, also when it is
 * missing. ERR_PARSE when `made` cannot be read. */
struct stale_pair {
    const char *kept, *made;
};
enum err stale_file(struct arena *a, const struct stale_pair *p,
                    struct stale *s, struct err_msg *msg);

/* The same of all files of two folders of figures; also a line for a kept one
 * that nobody makes. */
enum err stale_figures(struct arena *a, const struct stale_pair *p,
                       struct stale *s, struct err_msg *msg);

#endif
