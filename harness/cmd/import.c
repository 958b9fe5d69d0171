/*
 * moe-bench import: step times that others published, into results/published/.
 * What is imported names where it is from and under what licence; nothing is
 * downloaded.
 */
#include "published/import.h"
#include "cmd.h"

#include <stdio.h>
#include <string.h>

/* What a dataset says of itself: as given, and as it said before. */
static enum err describe(struct cmd *c, const char *dir,
                         struct published_dataset *out)
{
    struct published_dataset d = {"", "", "", "", "", "", ""};
    struct {
        enum cmd_option option;
        const char **to;
    } const list[] = {{OPT_SOURCE, &d.source},
                      {OPT_TITLE, &d.title},
                      {OPT_REPOSITORY, &d.repository},
                      {OPT_COMMIT, &d.commit},
                      {OPT_LICENCE, &d.licence},
                      {OPT_URL, &d.url},
                      {OPT_NOTE, &d.note}};
    if (published_dataset_read(&c->arena, dir, &d, NULL) != ERR_OK)
        d = (struct published_dataset){"", "", "", "", "", "", ""};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (cmd_given(c, list[i].option))
            *list[i].to = cmd_text(c, list[i].option);
    *out = d;
    if (*d.licence && *d.repository)
        return ERR_OK;
    return err_set(&c->msg, ERR_PARSE,
                   "import: want --licence (one of %s) and --repository: "
                   "figures without a source are not kept",
                   published_licences(&c->arena));
}

typedef enum err (*times_reader)(struct arena *a, const char *path,
                                 struct import_times *out, struct err_msg *msg);

/* A log's times as one row; what a log does not say of the run (--column) is
 * the importer's to state, and goes into the columns as it stands. */
static enum err rows_of_log(struct cmd *c, const char *path, times_reader read,
                            struct import_rows *out)
{
    struct import_times times;
    const char **given =
        arena_alloc(&c->arena, (size_t)c->line.n_uses + 1, sizeof *given);
    if (!given)
        return err_set(&c->msg, ERR_NOMEM, "import: out of memory");
    const struct import_row row = {
        .given = given,
        .n_given = options_each(&c->line, OPT_COLUMN, given),
        .source = cmd_text(c, OPT_SOURCE),
        .ref = cmd_text(c, OPT_REF)};
    const enum err e = read(&c->arena, path, &times, &c->msg);
    return e == ERR_OK ? import_row_of(&c->arena, &row, &times, out, &c->msg)
                       : e;
}

/* Three sorts of files, which end in the same rows. */
static enum err rows_of(struct cmd *c, const char *kind, const char *path,
                        struct import_rows *out)
{
    if (strcmp(kind, "csv") == 0) {
        const struct import_csv from = {path, cmd_text(c, OPT_SOURCE),
                                        cmd_text(c, OPT_REF)};
        return import_csv(&c->arena, &from, out, &c->msg);
    }
    if (strcmp(kind, "mllog") == 0)
        return rows_of_log(c, path, import_mllog, out);
    if (strcmp(kind, "golden") == 0)
        return rows_of_log(c, path, import_golden, out);
    return err_set(&c->msg, ERR_PARSE,
                   "import: got '%s', want csv, mllog or golden", kind);
}

/* The data set is described before a row is read: what may not be kept is
 * refused without a look at it. */
static enum err bench_import_run(struct cmd *c)
{
    struct published_dataset d;
    struct import_rows rows;
    const char *dir = cmd_text(c, OPT_TO);
    if (c->line.n_operands < 2)
        return err_set(&c->msg, ERR_PARSE,
                       "import: want csv, mllog or golden, and a file");
    if (!cmd_given(c, OPT_SOURCE))
        return err_set(&c->msg, ERR_PARSE, "import: --source is missing");
    if (!dir)
        dir = arena_printf(&c->arena, PUBLISHED_ROOT "/%s",
                           cmd_text(c, OPT_SOURCE));
    if (!dir)
        return err_set(&c->msg, ERR_NOMEM, "import: out of memory");
    enum err e = describe(c, dir, &d);
    if (e == ERR_OK)
        e = rows_of(c, c->line.operands[0], c->line.operands[1], &rows);
    if (e == ERR_OK)
        e = import_write(&c->arena, dir, &d, &rows, &c->msg);
    if (e == ERR_OK)
        printf("%s: %zu rows from %s\n", dir, rows.n, c->line.operands[1]);
    return e;
}

static const int takes[] = {OPT_SOURCE, OPT_LICENCE, OPT_REPOSITORY, OPT_COMMIT,
                            OPT_TITLE,  OPT_URL,     OPT_NOTE,       OPT_REF,
                            OPT_COLUMN, OPT_TO,      OPT_HELP,       N_OPTIONS};

const struct command CMD_IMPORT = {
    .name = "import",
    .run = bench_import_run,
    .synopsis = "import csv|mllog|golden FILE --source NAME [option...]",
    .summary = "step times that others published, into results/published/",
    .help =
        "Adds rows to the dataset results/published/NAME (rows.csv, "
        "dataset.json; what\n"
        "they hold is in results/README.md); a row whose id is there is "
        "replaced.\n"
        "  csv     rows with named columns\n"
        "  mllog   one row: the median step of an MLPerf log (:::MLLOG lines; "
        "step times\n"
        "          of tracked_stats, else blocks over their steps)\n"
        "  golden  one row: the median of iteration-time in a file of golden "
        "values of\n"
        "          Megatron-LM's functional tests\n"
        "A log says hardly a word of its model: --column gives the row's id "
        "and sizes.\n",
    .closing =
        "example: moe-bench import mllog result_0.txt --source mlperf \\\n"
        "    --licence Apache-2.0 --repository mlcommons/training_results_v4.0 "
        "\\\n"
        "    --ref 'mlcommons/training_results_v4.0:result_0.txt' \\\n"
        "    --column id=run-0 --column use=fit --column group=gpt3 --column "
        "pp=8\n",
    .options = takes,
    .max_operands = 2};
