/*
 * leaks: whether what is about to be given away holds a secret: the tables,
 * logs and records of an experiment, and its model. Names and values are those
 * of manifest/secret.h; the manifest itself was held against them when it was
 * read. One pass over the files, some 100 MB at most.
 */
#ifndef REPORT_LEAKS_H
#define REPORT_LEAKS_H

#include "experiment/experiment.h"

/* ERR_PARSE for the first file with a secret: its path, the line, what it looks
 * like and what to do; never the secret itself. ERR_OK for files that are not
 * there. */
enum err leaks_check(const struct experiment *e, struct err_msg *msg);

/* The same of one file. */
enum err leaks_check_file(const char *path, struct err_msg *msg);

#endif
