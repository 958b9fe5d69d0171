/*
 * sets: the datasets below a folder, each added to the page: what it holds
 * tells what it is. A folder with layouts.csv is an experiment, with
 * recipes.csv one that only plans, with rows.csv step times of others;
 * memory.csv is memory of Megatron's CI. Other CSV files of ours (studies,
 * constants, plans, errors) are shown as they are. Folders below are looked
 * through in the order of their names, SETS_DEPTH levels; links, runs/ and
 * models/ are not.
 */
#ifndef PAGE_SETS_H
#define PAGE_SETS_H

#include "sheet.h"

enum { SETS_DEPTH = 4 };

/* Adds all that is in `dir` and below; a folder that is not there has nothing.
 * A published dataset (SHA256SUMS) must be as it was made: ERR_MODEL or
 * ERR_PARSE name the first file that is not; ERR_PARSE a damaged table. */
enum err sets_add(struct sheet *s, const char *dir, struct err_msg *msg);

#endif
