#include "options.h"

#include "base/text.h"

#include <string.h>

enum { MAX_ROWS = 32 };

static const struct option_row *bench_options_find(const struct options *o,
                                                   const char *word, size_t len)
{
    for (int i = 0; i < o->n_rows; i++)
        if (strlen(o->rows[i].name) == len &&
            strncmp(o->rows[i].name, word, len) == 0)
            return &o->rows[i];
    return NULL;
}

static enum err bench_options_unknown(const struct options *o, const char *word,
                                      struct err_msg *msg)
{
    const char *names[MAX_ROWS];
    int n = o->n_rows < MAX_ROWS ? o->n_rows : MAX_ROWS;
    for (int i = 0; i < n; i++)
        names[i] = o->rows[i].name;
    const char *near = text_nearest(word, names, (size_t)n);
    return err_set(msg, ERR_PARSE, "unknown option '%s'%s%s%s, try --help",
                   word, near ? ", did you mean '" : "", near ? near : "",
                   near ? "'" : "");
}

static enum err bench_options_take(const struct options *o, int argc,
                                   char **argv, int *i, struct err_msg *msg)
{
    const char *word = argv[*i], *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    const struct option_row *row = bench_options_find(o, word, len);
    if (!row)
        return bench_options_unknown(o, word, msg);
    if (row->flag && equals)
        return err_set(msg, ERR_PARSE, "option '%s' takes no value", row->name);
    if (row->flag) {
        *row->flag = true;
        return ERR_OK;
    }
    if (!equals && *i + 1 >= argc)
        return err_set(msg, ERR_PARSE, "option '%s' needs a value", row->name);
    *row->value = equals ? equals + 1 : argv[++*i];
    return ERR_OK;
}

enum err options_read(struct options *o, int argc, char **argv,
                      struct err_msg *msg)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1] != '\0') {
            enum err e = bench_options_take(o, argc, argv, &i, msg);
            if (e != ERR_OK)
                return e;
            continue;
        }
        if (o->n_operands == o->max_operands)
            return err_set(msg, ERR_PARSE,
                           "unexpected argument '%s', try "
                           "--help",
                           argv[i]);
        o->operands[o->n_operands++] = argv[i];
    }
    return ERR_OK;
}
