/*
 * args: from Megatron's flags, or a model file with the same names in
 * snake_case, to a struct model: finds each word's row of the table in flags.h
 * and fills its slot, and tells of words that have none.
 */
#ifndef MEGATRON_ARGS_H
#define MEGATRON_ARGS_H

#include "account.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/options.h"
#include "flags.h"
#include "foreign.h"
#include "model/model.h"

#include <stdbool.h>

/* Slots of the flags, and what was warned of; opaque. */
struct megatron_args;

/* A set with every flag at Megatron's default; owned by the arena. NULL when
 * out of memory. */
struct megatron_args *megatron_args_new(struct arena *a);

/* The same flags in a set of their own, which may be changed apart; texts are
 * shared. NULL when out of memory. */
struct megatron_args *megatron_args_copy(struct arena *a,
                                         const struct megatron_args *args);

/* Told of things that the reader should know of, one line each: unknown flags
 * (each once), flags whose effect is not modelled. Without one they are
 * silent. */
typedef void (*megatron_warning)(void *data, const char *line);
void megatron_args_on_warning(struct megatron_args *args, megatron_warning warn,
                              void *data);

/* What the sources were and what was found beside the flags. Warnings go there,
 * too. */
struct account *megatron_args_account(struct megatron_args *args);

/* For readers of sources: tells `line`, once for each `name`. */
void megatron_args_warn(struct megatron_args *args, const char *name,
                        const char *line);

/* Reads the flag at line->at and its values and moves on behind them. *known is
 * false, and the line stays, when the flag is not in the table. A missing or
 * malformed value is ERR_PARSE. `--name=value` is read too. */
enum err megatron_args_take(struct megatron_args *args,
                            struct option_line *line, bool *known,
                            struct err_msg *msg);

/* Where a word of an argument vector comes from: goes into the slot of the flag
 * that it gives. A word that is not known makes its flag's value unknown; as a
 * word of its own it might hold any flags, which is assumed not to be so, and
 * said. */
struct args_origin {
    const char *from;                   // "run.sh:7"
    const struct flag_unknown *unknown; // NULL: the word is known
};

/* Reads all of argv. Flags that Megatron has and that have no effect here pass
 * silently; unknown ones are an error when `strict`, else each is reported
 * once through `warn` (NULL: as set before) with the nearest name. */
struct megatron_args_options {
    bool strict;
    megatron_warning warn;
    void *data;
    const struct args_origin *origin; // of each word of argv, or NULL
};
enum err megatron_args_read(struct megatron_args *args, char *const *argv,
                            int argc, const struct megatron_args_options *opt,
                            struct err_msg *msg);

/* ---- pieces for readers of other forms ---- */

/* What stands behind a flag or a key that is not ours. */
struct args_value {
    const char *spelled; // the flag or key as the source has it
    const char *text;    // its value, or NULL: none, or it is not known
};

/* Does with the flag what its row says: warns, or adds it to the account's
 * changes, unless its value is harmless. A FOREIGN_SAME is told of and its
 * value left to the caller. */
void megatron_args_foreign(struct megatron_args *args,
                           const struct foreign_flag *row,
                           const struct args_value *value);

/* A flag that no table has (`name` with dashes, none in front): warned of with
 * the nearest name, and a change where its name speaks of the model. */
void megatron_args_nobody_knows(struct megatron_args *args, const char *name,
                                const char *spelled);

/* Warns of a row whose effect is not modelled; its slot is filled. */
void megatron_args_warn_row(struct megatron_args *args, enum flag_id id);

/* Nearest flag of any list to a misspelt one; "" when none is near. */
void megatron_args_nearest(const char *word, char name[NAMES_MAX_BYTES]);

/* A member of a configuration, in the names of Megatron's config classes or of
 * its flags. */
struct args_key {
    const char *key;  // as the source has it, for messages
    const char *text; // value; NULL: null. Of a list: parted by blanks
    const char *list; // of a list: "[0,1,1]", else NULL
    const char *from; // "conf.yaml:7"
    const struct flag_unknown *unknown; // of the value, or NULL
    bool quiet; // no warning of a key that nobody knows and is of no model
};

/* Fills the slot of the key's flag. A switch takes true and false, also by the
 * name of what it turns off (add_bias_linear, gradient_accumulation_fusion);
 * null and false leave any other flag as it is. Keys that are not ours are
 * passed over, warned of or added to the account's changes. ERR_PARSE for a
 * value that the flag does not take; ERR_NOMEM. */
enum err megatron_args_key(struct megatron_args *args,
                           const struct args_key *key, struct err_msg *msg);

/* The flag of ours that a word ("--num_layers=4") or a key names, in any
 * spelling and by its other names, or FLAG_NONE: for readers that look for
 * launches. */
enum flag_id megatron_args_flag_of(const char *word);

/* Is there one? */
bool megatron_args_has(const char *key);

/* Is it a switch, or the name of what one turns off? */
bool megatron_args_is_switch(const char *key);

/* ---- JSON ---- */

/* Reads a model file, {"format": "moe-layout/model/1", ...}. */
enum err megatron_args_read_file(struct arena *a, struct megatron_args *args,
                                 const char *path, struct err_msg *msg);

/* The same from an object of such keys that was parsed before ("format" and
 * "comment" are passed over); `where` begins messages. */
enum err megatron_args_read_json(struct megatron_args *args,
                                 const cJSON *object, const char *where,
                                 struct err_msg *msg);

/* The flags of a memory case, {"--name": value}: true for a switch, a number,
 * or the text of a command line's word. A name without a row is passed over. */
enum err megatron_args_read_case(struct megatron_args *args,
                                 const cJSON *object, struct err_msg *msg);

/* For readers of other sources: gives the flag a value as on a command line,
 * and tells when its effect is not modelled. ERR_PARSE when the type does not
 * take the text; "true" and "True" turn a switch on, anything else off. */
enum err megatron_args_set(struct megatron_args *args, enum flag_id id,
                           const char *text, struct err_msg *msg);

/* File name for messages; copied. */
enum err megatron_args_where(struct megatron_args *args, const char *where,
                             struct err_msg *msg);

/* The slots, for reading and for filling by identifier. */
struct megatron_flags *megatron_args_flags(struct megatron_args *args);

/* Works out defaults that depend on other flags, as Megatron does, and checks
 * that the parts fit together. ERR_RANGE names the flag. */
enum err megatron_args_model(struct arena *a, const struct megatron_args *args,
                             struct model *out, struct err_msg *msg);

#endif
