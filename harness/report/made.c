/*
 * How it works: a dataset keeps its manifest, a folder of results keeps one in
 * each run's folder, with the words that the run was started by. Rounds repeat
 * the words of the first, so a role and layout is shown once.
 */
#include "made.h"

#include "cells.h"
#include "launch/words.h"
#include "manifest/manifest.h"
#include "summary.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MADE_MAX_WORDS = 4096 }; // of a command

static enum err made_no_memory(const struct report_source *source,
                               struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "%s: out of memory", source->dir);
}

/* NULL: there is none. */
static const char *manifest_path(struct arena *a,
                                 const struct report_source *source)
{
    const char *own = arena_printf(a, "%s/manifest.json", source->dir);
    struct csv runs;
    if (!own || access(own, R_OK) == 0)
        return own;
    if (!report_source_has(a, source, "runs.csv") ||
        report_source_read(a, source,
                           &(struct source_file){"runs.csv", "run_id"}, &runs,
                           NULL) != ERR_OK ||
        runs.n_rows == 0)
        return NULL;
    const char *path = arena_printf(a, "%s/runs/%s/manifest.json", source->dir,
                                    csv_text(&runs, 0, "run_id"));
    return path && access(path, R_OK) == 0 ? path : NULL;
}

/* Results without a manifest have no question, which is no error. */
enum err made_question(struct arena *a, const struct report_source *source,
                       const char **out, struct err_msg *msg)
{
    const char *path = manifest_path(a, source);
    struct manifest mf;
    *out = "";
    if (!path)
        return ERR_OK;
    enum err e = manifest_read(a, path, &mf, msg);
    if (e == ERR_OK && mf.question)
        *out = mf.question;
    return e;
}

/* summary_accept()'s lines as a list. */
static void print_list(FILE *out, const char *lines)
{
    static const char WHOSE[] = "accept: ";
    while (*lines) {
        const size_t n = strcspn(lines, "\n");
        const size_t skip =
            strncmp(lines, WHOSE, strlen(WHOSE)) == 0 ? strlen(WHOSE) : 0;
        fprintf(out, "- %.*s\n", (int)(n - skip), lines + skip);
        lines += n + (lines[n] == '\n');
    }
}

/* Judged again by the manifest that lies beside the results, not by what a run
 * said then. */
enum err made_verdicts(struct arena *a, const struct report_source *source,
                       FILE *out, struct err_msg *msg)
{
    const char *path = manifest_path(a, source);
    struct manifest mf;
    struct summary s;
    char *lines = NULL;
    size_t len = 0;
    if (!path) {
        fputs("No manifest is beside these results, so nothing is judged.\n",
              out);
        return ERR_OK;
    }
    enum err e = manifest_read(a, path, &mf, msg);
    if (e == ERR_OK)
        e = summary_read(a, source->dir, &s, msg);
    FILE *f = e == ERR_OK ? open_memstream(&lines, &len) : NULL;
    if (e != ERR_OK || !f)
        return e != ERR_OK ? e : made_no_memory(source, msg);
    const bool all = summary_accept(&s, &mf.accept, f);
    if (fclose(f) != 0)
        e = made_no_memory(source, msg);
    else if (len == 0)
        fputs("The manifest sets no bound (`accept`).\n", out);
    else {
        fprintf(out, "**%s**\n\n",
                all ? "Every bound of the manifest is kept."
                    : "A bound of the manifest is missed.");
        print_list(out, lines);
    }
    free(lines);
    return e;
}

/* The words in one file of a run, none where it is not there. */
static enum err read_words(struct arena *a, const char *path, struct words *out,
                           struct err_msg *msg)
{
    *out = (struct words){NULL, 0};
    if (access(path, R_OK) != 0)
        return ERR_OK;
    const enum err e = words_read(a, path, out, msg);
    out->n = out->n < MADE_MAX_WORDS ? out->n : MADE_MAX_WORDS;
    return e;
}

/* The words name the folder that the run had before it was whole. */
static const char *final_name(struct arena *a, const char *word)
{
    static const char BEFORE[] = "/.tmp-";
    const char *at = strstr(word, BEFORE);
    if (!at)
        return word;
    return arena_printf(a, "%.*s/%s", (int)(at - word), word,
                        at + strlen(BEFORE));
}

/* A row of runs.csv. */
struct run_row {
    const struct csv *runs;
    size_t row;
};

/* The environment that was recorded, then the words: a line for a shell. The
 * first one opens the code block. */
static enum err print_command_of(struct arena *a,
                                 const struct report_source *source,
                                 struct run_row at, FILE *out,
                                 struct err_msg *msg)
{
    const char *folder = arena_printf(a, "%s/runs/%s", source->dir,
                                      csv_text(at.runs, at.row, "run_id"));
    const char *argv = folder ? arena_printf(a, "%s/argv.json", folder) : NULL;
    const char *env = argv ? arena_printf(a, "%s/env.json", folder) : NULL;
    struct words words, set;
    if (!env)
        return made_no_memory(source, msg);
    enum err e = read_words(a, argv, &words, msg);
    if (e == ERR_OK)
        e = read_words(a, env, &set, msg);
    struct build b = build_new(a);
    for (int i = 0; e == ERR_OK && i < words.n; i++)
        build_add(&b, final_name(a, words.word[i]));
    if (e == ERR_OK)
        e = build_words(&b, source->dir, &words, msg);
    if (e != ERR_OK || words.n == 0)
        return e;
    fprintf(out, "%s# %s, round %s\n", ftell(out) == 0 ? "```sh\n" : "",
            csv_text(at.runs, at.row, "role"),
            csv_text(at.runs, at.row, "round"));
    launch_print_assignments(out, &set);
    if (set.n > 0)
        putc(' ', out);
    launch_print_words(out, &words);
    putc('\n', out);
    return ERR_OK;
}

/* Rounds repeat the commands of the first. */
static bool is_repeated(const struct csv *runs, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (csv_is(runs, i, "role", csv_text(runs, row, "role")) &&
            csv_is(runs, i, "layout", csv_text(runs, row, "layout")))
            return true;
    return false;
}

/* One block for all; a data set of which no run kept its words has none. */
enum err made_commands(struct arena *a, const struct report_source *source,
                       FILE *out, struct err_msg *msg)
{
    struct csv runs;
    enum err e = report_source_read(
        a, source, &(struct source_file){"runs.csv", "status"}, &runs, msg);
    if (e != ERR_OK)
        return e;
    const long before = ftell(out);
    for (size_t i = 0; e == ERR_OK && i < runs.n_rows; i++)
        if (!is_repeated(&runs, i))
            e = print_command_of(a, source, (struct run_row){&runs, i}, out,
                                 msg);
    if (ftell(out) > before)
        fputs("```\n", out);
    return e;
}
