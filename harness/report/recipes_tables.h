/*
 * recipes_tables: what recipes.csv says, as Markdown: the planner's layouts
 * beside public ones with costs by FLOPs, and how far the public ones are
 * behind while MTP layer and loss head cost other multiples of a layer.
 *
 * A gap is one number where the optimum is proved, else "lo to hi": it is at
 * least the distance to the planner's layout and at most that to the bound.
 */
#ifndef REPORT_RECIPES_TABLES_H
#define REPORT_RECIPES_TABLES_H

#include "base/csv.h"

#include <stdio.h>

/* A row a layout of every way, costs by FLOPs. */
void recipes_tables_print(FILE *out, const struct csv *t);

/* A row a way, EP overlap and m/t; a column an L/t: the gap of the layout that
 * stands for public practice, then memory of both. */
void recipes_tables_print_ratios(FILE *out, const struct csv *t);

#endif
