/*
 * facts: what a log told, as plain data, and the parts that both readers
 * of logs (logparse keeps all, logmeans averages) collect alike: memory lines,
 * the arguments dump, lists that grow, running means.
 */
#ifndef LOG_FACTS_H
#define LOG_FACTS_H

#include "base/arena.h"
#include "scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One timer of one iteration: per rank, or the extremes over ranks. */
struct log_timer {
    int64_t iteration; // 0: of no iteration (start-up, checkpoint)
    const char *name;
    bool per_rank;
    int n_ranks;           // entries of rank_ms
    const double *rank_ms; // NAN where the rank was not listed
    double min_ms, max_ms; // of a minmax block (max block: min is NAN)
    int section;
};

struct log_argument { // of the arguments dump
    const char *name, *value;
};

struct runlog {
    const char *dialect; // "moe-train", "megatron-core-0.16", ...
    const char *clock;   // moe-train: "wall", "cpu", "flops"; else NULL
    const struct log_iteration *iterations;
    size_t n_iterations;
    const struct log_timer *timers; // in order of the log
    size_t n_timers;
    const struct log_memory *memory; // by rank
    size_t n_memory;
    const struct log_argument *arguments; // of the run that counts
    size_t n_arguments;
    int64_t padded_vocab;                  // said behind the dump, 0: not said
    double p2p_latency_s, p2p_bytes_per_s; // NAN where not stated
    enum log_failure failure;
    int failure_rank;            // -1: not stated
    const char *const *notes;    // the first lines that are not understood
    size_t n_notes, n_all_notes; // of these, and of all
    int n_sections;
    int used_section; // the one that means are of, -1: no usable iteration
};

struct log_list { // items of one size
    char *data;   // heap, freed by the owner
    size_t n, cap;
};

/* Room for one more item of `size` bytes, zeroed; NULL when out of memory. */
void *log_list_add(struct log_list *l, size_t size);

/* A copy owned by the arena, NULL when out of memory. */
void *log_list_to_arena(struct arena *a, const struct log_list *l, size_t size);

struct log_facts {
    struct arena *arena;
    struct log_list memory, arguments, notes;
    int memory_section;
    bool failed; // out of memory
    // a file may end in a run that died: the dump and the memory lines of the
    // run that counts, whose iterations are the last usable ones, are set aside
    struct log_list arguments_before, arguments_used;
    struct log_list memory_before, memory_used;
    int dump, dump_before, dump_used; // their numbers in the file, from 1
    int memory_before_section, memory_used_section; // from 1, as below
    int section, section_dump;   // of the last iteration; and its dump
    int used_section, used_dump; // of the last usable one; 0: none
};

/* Notes a memory line; the last of a rank stands, and lines of a later
 * section replace all of an earlier one. */
void logfacts_memory(struct log_facts *f, int section,
                     const struct log_memory *m);
/* A dump begins: what follows replaces the one before, but for the run that
 * counts. */
void logfacts_arguments(struct log_facts *f);
void logfacts_argument(struct log_facts *f, const struct log_field *field);

/* An iteration: the dump before it, and the memory lines of its section, are of
 * its run. */
void logfacts_iteration(struct log_facts *f, const struct log_iteration *it);

/* Keeps the first LOG_MAX_NOTES lines that are not understood. */
enum { LOG_MAX_NOTES = 8 };
void logfacts_note(struct log_facts *f, const char *text);

/* Everything of a runlog but iterations and timers; false when out of
 * memory. */
bool logfacts_finish(struct log_facts *f, const struct log_summary *sum,
                     struct runlog *out);
void logfacts_clear(struct log_facts *f);

struct log_running { // sums of x - shift, where shift is the first x
    double shift, sum, squares;
    size_t n;
};

static inline void log_running_add(struct log_running *r, double x)
{
    if (r->n++ == 0)
        r->shift = x;
    double d = x - r->shift;
    r->sum += d;
    r->squares += d * d;
}

/* Mean and standard error of the mean are NAN where there are too few. */
double log_running_mean(const struct log_running *r);
double log_running_se(const struct log_running *r);

#endif
