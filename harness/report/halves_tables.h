/*
 * halves_tables: what cuts between attention and MLP or experts gain over cuts
 * between whole layers, of all datasets that planned both (recipes.csv with
 * rows "whole-layers"), as Markdown.
 *
 * In: the folder of all datasets (results/reference). Milliseconds and percent;
 * a gain is the whole-layer step over the other, minus one. Sized for some
 * dozens of rows.
 */
#ifndef REPORT_HALVES_TABLES_H
#define REPORT_HALVES_TABLES_H

#include "sources.h"

#include <stdio.h>

/* A row a split of every such dataset. Where one of the two optima is not
 * proved the gain is a range: the whole-layer step may be as low as its bound,
 * the other's as low as that one's. */
enum err halves_tables_print(struct arena *a,
                             const struct report_source *source, FILE *out,
                             struct err_msg *msg);

#endif
