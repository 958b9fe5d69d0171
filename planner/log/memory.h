/*
 * memory: the line in which a rank tells of its memory, in bytes. Megatron's
 * MB are MiB, Bridge's GB are 1e9 bytes.
 */
#ifndef LOG_MEMORY_H
#define LOG_MEMORY_H

#include "line.h"

#include <stdbool.h>
#include <stdint.h>

struct log_memory {
    int rank;
    int64_t allocated_bytes, max_allocated_bytes;
};

/* Up to the second of the ranks' lines that several writers glued to one, and
 * what is left behind it (n 0: nothing). */
struct log_text logmemory_first(struct log_text line, struct log_text *rest);

/* "[Rank 3] (after 2 iterations) memory (MB) | ...": true when `line` has
 * both figures. Of a line that is cut the last field is not believed. */
bool logmemory_read(struct log_text line, bool cut, struct log_memory *out);

/* True when `line` begins such a line and lacks the field that ends it, or the
 * last two figures: a terminal has wrapped it. */
bool logmemory_is_open(struct log_text line);

#endif
