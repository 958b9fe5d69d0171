/*
 * convert: flags from JSON and to an argument vector. Model files, manifests'
 * inline models and cases of the memory corpus all state flags as JSON values;
 * the harness writes them out again for the trainer's command line.
 */
#ifndef MEGATRON_CONVERT_H
#define MEGATRON_CONVERT_H

#include "base/arena.h"
#include "base/err.h"
#include "flags.h"

#include <cjson/cJSON.h>

/* What a JSON value says of a flag. */
enum flag_json {
    FLAG_JSON_OFF,   // null or false: not given
    FLAG_JSON_ON,    // true
    FLAG_JSON_WORD,  // *text is the value as a command line has it
    FLAG_JSON_WORDS, // *text is several of them, parted by spaces
    FLAG_JSON_BAD    // an object, or a mixed list
};

/* Reads the value; *text is owned by the arena or the tree, and NULL when out
 * of memory or where there is none. A number is written with as few digits as
 * give it back, a list of numbers as [1,1,0]; a list of strings is words. */
enum flag_json flag_from_json(struct arena *a, const cJSON *item,
                              const char **text);

/* The number in as few digits as give it back; NULL when out of memory. */
const char *flag_number_text(struct arena *a, double value);

/* Words of a command line; n of them. */
struct flag_words {
    const char **word;
    int n;
};

/* Writes the flags that were given, and those without a row that were kept, in
 * the order in which they were given: --name, and the values. Flags of
 * `without` (ends with FLAG_NONE) are left out. Owned by the arena.
 * ERR_NOMEM. */
enum err flags_to_argv(struct arena *a, const struct megatron_flags *f,
                       const enum flag_id *without, struct flag_words *out,
                       struct err_msg *msg);

#endif
