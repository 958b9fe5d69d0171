/*
 * other_rows: rows of what is no experiment with runs: layouts that were only
 * planned (recipes.csv), step times of others (rows.csv of a published or
 * contributed dataset, with what predicted.csv beside the datasets says of
 * them), and memory of Megatron's CI (memory.csv).
 */
#ifndef PAGE_OTHER_ROWS_H
#define PAGE_OTHER_ROWS_H

#include "base/csv.h"
#include "sheet.h"

/* Each adds the rows of one table. Costs of a plan that are by FLOPs are
 * assumed; what others measured is published. */
void other_rows_plans(struct sheet *s, const struct csv *recipes);
void other_rows_memory(struct sheet *s, const struct csv *memory);

/* `predicted` may have no rows: then nothing is predicted. */
void other_rows_steps(struct sheet *s, const struct csv *rows,
                      const struct csv *predicted);

#endif
