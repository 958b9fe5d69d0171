/*
 * names: flags of Megatron-LM (core 0.9 to 0.20) that change none of
 * parameters, operations, memory, parallelism, batch or schedule as far as
 * this program models them. They pass silently; what has an effect is in
 * flags. Names are those of megatron/training/arguments.py, its
 * configuration classes and post_training/arguments.py.
 */
#ifndef MEGATRON_NAMES_H
#define MEGATRON_NAMES_H

#include <stddef.h>

/* Values that a flag takes on a command line: of MANY, up to the next flag. */
enum known_values { KNOWN_NOT, KNOWN_SWITCH, KNOWN_ONE, KNOWN_MANY };

/* Whether the flag (without dashes, `len` bytes) is one of these, and how many
 * values it takes. */
enum known_values megatron_known(const char *name, size_t len);

/* Room for any flag's name and its end: the longest one of Megatron's has 60
 * characters. */
enum { NAMES_MAX_BYTES = 80 };

/* Nearest of these names to a misspelt one, copied to `name`; "" when none is
 * near. */
void megatron_known_nearest(const char *word, char name[NAMES_MAX_BYTES]);

#endif
