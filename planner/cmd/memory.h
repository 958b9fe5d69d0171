/*
 * memory: the three things that the memory command does, each in a file of its
 * own: one layout's table (memory.c), many cases (memory_batch.c), comparison
 * with a corpus of measurements (memory_corpus.c).
 */
#ifndef PLANNER_CMD_MEMORY_H
#define PLANNER_CMD_MEMORY_H

#include "cmd.h"

/* --batch FILE: one case a line in, one prediction a line out. */
enum err cmd_memory_batch(struct cmd *c);

/* --corpus DIR: errors by case and in total; -o writes the table as CSV. */
enum err cmd_memory_corpus(struct cmd *c);

#endif
