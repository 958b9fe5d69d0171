/*
 * form_check: whether dataset.json and manifest.json of a contributed folder
 * are in the form that `contribute` writes: keys at every level, dates, counts
 * and choices, and sentences in one plain line. What tells the same as the
 * folder's name, its rows or its runs must tell the same, so that a file that
 * was edited shows, and names and markup find no place.
 *
 * Sized for some hundred runs.
 */
#ifndef CONTRIBUTE_FORM_CHECK_H
#define CONTRIBUTE_FORM_CHECK_H

#include "contribution.h"

#include "base/reader.h"
#include "published/dataset.h"

/* Reads all of manifest.json that decides nothing; fails `top` at the first
 * member of another form. The contribution has its card and whether it is an
 * example. */
void form_check_manifest(struct reader top, const struct contribution *c);

/* The folder's name and dataset.json, from the runs as they were read.
 * ERR_MODEL with what is there and what these runs make; ERR_NOMEM. */
enum err form_check_dataset(const struct contribution *c, const char *dir,
                            const struct published_dataset *d,
                            struct err_msg *msg);

#endif
