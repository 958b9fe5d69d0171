/*
 * lines: the record of a run, one JSON object a line, one line a call of a
 * launcher:
 *
 *     {"program":"torchrun","argv":["torchrun","train.py","--seq","8"],
 *      "env":{"WORLD_SIZE":"8"},"outer":["srun","-N2"],
 *      "job":["--nodes=2"],"piped":false,"elsewhere":false}
 *
 * Stand-ins write lines side by side while the script runs, which could write
 * there, too; so the reader trusts nothing and names the line that is wrong.
 * Workload: some calls of some hundred words; the bounds below keep a hostile
 * record under 100 MB of memory.
 */
#ifndef RECORD_LINES_H
#define RECORD_LINES_H

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

#include <stdbool.h>

enum {
    RECORD_MAX_BYTES = 16 << 20,     // of all lines
    RECORD_MAX_LINE_BYTES = 1 << 20, // of one line with its end
    RECORD_MAX_CALLS = 4096,
    RECORD_MAX_WORDS = 8192,       // of a call
    RECORD_MAX_ALL_WORDS = 1 << 18 // of all calls
};

struct record_setting {
    const char *name, *value;
};

struct record_words {
    const char *const *word;
    int n;
};

/* A call of a launcher, as it was made. */
struct record_call {
    const char *program;              // its name without a folder
    struct record_words argv;         // program and arguments
    const struct record_setting *env; // those that say how many ranks there are
    int n_env;
    struct record_words
        outer;               // srun, mpirun in front of it, with their options
    struct record_words job; // options of sbatch that size the job
    bool elsewhere;          // would have started work on another machine
    bool piped;              // something may read what it would print
};

struct record_calls {
    struct record_call *call; // in the order of their lines
    int n;
    bool cut; // there were more than the bounds allow; these are the first
};

/* The call as one line with its end, owned by the arena; NULL when out of
 * memory. */
const char *record_line(struct arena *a, const struct record_call *call);

/* Words as a JSON list on one line, and back, for an environment variable.
 * NULL when out of memory; ERR_PARSE (begins with `where`) for what is none or
 * has more than RECORD_MAX_WORDS. */
const char *record_words_text(struct arena *a, struct record_words words);
enum err record_words_read(struct arena *a, const char *text, const char *where,
                           struct record_words *out, struct err_msg *msg);

/* Reads a record; the text is changed. ERR_PARSE names the line that is no
 * call: "WHERE:LINE: ...". Calls behind the bounds are left out, with `cut`.
 * Owned by the arena. */
enum err record_lines_read(struct arena *a, struct text_span text,
                           const char *where, struct record_calls *out,
                           struct err_msg *msg);

#endif
