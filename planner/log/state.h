/*
 * state: what the lines of a log mean together, whoever cut them: which
 * iteration a timer block belongs to, where a run ends and the next begins,
 * what is warm-up, what was cut, how it all ended. One line in, events out; the
 * memory is that of one timer block.
 *
 * Order of the events of one iteration: iteration, then its timers. Both come
 * when the next line has shown that the timer block is whole. A block belongs
 * to an iteration when it holds forward-backward or forward-compute, follows
 * its line and is the first that does; others have iteration 0.
 *
 * Bridge prints a line of the step's time before Megatron's line of the same
 * iteration; where it prints that alone, its steps are numbered as they come.
 *
 * A file may hold several runs: a section starts where the iteration counter
 * does not go up, and at the first iteration after a new arguments dump or a
 * new banner of moe-train. Warm-up counts anew in each section.
 */
#ifndef LOG_STATE_H
#define LOG_STATE_H

#include "base/err.h"
#include "block.h"
#include "fail.h"
#include "memory.h"
#include "step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One timer of a block; everything in it dies with the call. */
struct log_timer_event {
    int64_t iteration; // 0: of no iteration
    int section;
    bool usable; // of its iteration
    const char *name;
    bool per_rank;
    const struct log_row *rows; // as listed, when per_rank
    size_t n_rows;
    double min_ms, max_ms; // otherwise; min NAN for a max block
};

/* Who is told. Each may be NULL. */
struct log_sink {
    void *data;
    void (*iteration)(void *data, const struct log_iteration *it);
    void (*timer)(void *data, const struct log_timer_event *t);
    void (*memory)(void *data, int section, const struct log_memory *m);
    /* A new arguments dump starts: what came before is of an older run. */
    void (*arguments)(void *data);
    void (*argument)(void *data, const struct log_field *f);
    /* A line that is not understood, and what of it. */
    void (*note)(void *data, const char *text);
};

/* What is known at the end of the log, of all of it or of its last run. */
struct log_summary {
    enum log_dialect dialect;
    char clock[16];                        // of moe-train, else ""
    double p2p_latency_s, p2p_bytes_per_s; // NAN where not stated
    enum log_failure failure;
    int failure_rank; // -1: not stated
    int n_sections;
    int64_t n_iterations;  // logged in all sections
    int64_t total;         // iterations that the last run was to make, 0
    int64_t padded_vocab;  // told behind the last dump of arguments, 0: not
    int64_t padded_before; // by the runs before it, where they all say the same
    size_t n_notes;        // lines that are not understood
    bool has_timers;       // any timer block, also one of no iteration
    bool ended;            // the program said so
};

struct logstate;

/* The state before the first line; NULL when out of memory. `sink` must outlive
 * it. logstate_free(NULL) is legal. */
struct logstate *logstate_new(const struct log_sink *sink);
void logstate_free(struct logstate *s);

/* Takes whole lines from [p, end) as long as they are names and rows of the
 * open block, the bulk of a large log, and returns where it stopped. `ahead`
 * are the rows of that text which a second thread has read, or none. The bytes
 * from `end` on must be zero for at least LOGBLOCK_SLACK bytes. */
const char *logstate_take_rows(struct logstate *s, struct log_runs *ahead,
                               const char *p, const char *end);

/* Takes one line without its newline, CR and escape sequences. `cut`: the text
 * ends within it. */
void logstate_take(struct logstate *s, struct log_text line, bool cut);

/* True once a line was of a training log. */
bool logstate_is_of_training(const struct logstate *s);

/* No line follows: tells the sink of what was held back and fills the summary.
 * ERR_PARSE when no line was of a training log, ERR_NOMEM; `where` begins the
 * message. */
enum err logstate_finish(struct logstate *s, const char *where,
                         struct log_summary *out, struct err_msg *msg);

#endif
