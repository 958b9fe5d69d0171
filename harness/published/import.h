/*
 * import: rows of others' step times into a dataset of the repository. What
 * was imported before stays; a row with an id that is there is replaced.
 *
 * From a CSV file in the columns of calibrate/step_table; from an MLPerf log;
 * from a file of golden values of Megatron-LM's functional tests. The last two
 * hold times and hardly a word of the model, so that the caller gives the other
 * columns. Facts and figures only: no text of a log is kept.
 */
#ifndef PUBLISHED_IMPORT_H
#define PUBLISHED_IMPORT_H

#include "dataset.h"
#include "import_logs.h"

#include <stddef.h>

/* Columns of rows.csv behind `format`, in their order. */
extern const char *const PUBLISHED_COLUMNS[];
extern const size_t PUBLISHED_N_COLUMNS;

/* Rows over PUBLISHED_COLUMNS; NULL or "" for an empty field. */
struct import_rows {
    const char **field; // n x PUBLISHED_N_COLUMNS
    size_t n;
};

/* Place of a column; ERR_PARSE with the nearest for one that is unknown. */
enum err import_column(const char *name, size_t *out, struct err_msg *msg);

/* Rows of a CSV file whose `ref` begins with `ref` (NULL: all); the caller's
 * source goes into their column `source`. Columns that are not known are an
 * error, those that miss are empty. ERR_PARSE also for no row. */
struct import_csv {
    const char *path, *source, *ref;
};
enum err import_csv(struct arena *a, const struct import_csv *from,
                    struct import_rows *out, struct err_msg *msg);

/* One row of times: the columns that the caller gives as COLUMN=VALUE, the
 * times' own, and `ref`. ERR_PARSE for an unknown column, one given twice, or
 * no id. */
struct import_row {
    const char *const *given;
    int n_given;
    const char *source, *ref;
};
enum err import_row_of(struct arena *a, const struct import_row *from,
                       const struct import_times *times,
                       struct import_rows *out, struct err_msg *msg);

/* Adds the rows to the dataset's rows.csv (made where it is missing) and
 * writes its dataset.json. ERR_PARSE for a row without id, ref or step_s. */
enum err import_write(struct arena *a, const char *dir,
                      const struct published_dataset *d,
                      const struct import_rows *rows, struct err_msg *msg);

#endif
