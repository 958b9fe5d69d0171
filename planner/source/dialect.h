/*
 * dialect: configurations of launchers that are built around Megatron, and the
 * words that they take. A form is told by its keys, and its parts that hold
 * Megatron's names are read; where sizes are in another file (a recipe, a
 * checkpoint's config.json) they are unknown, and the file is named. Files that
 * a configuration names and that stand beside it are read, too.
 *
 * Forms: Megatron's CI (MODEL_ARGS) and --yaml-cfg, Primus, FlagScale,
 * Megatron-Bridge and NeMo 2, NeMo 1, NeMo-RL, GPT-NeoX, verl, ROLL, ms-swift,
 * and any flat file of Megatron's arguments. Words: Hydra's (a.b.c=value) and
 * ms-swift's.
 *
 * In: a text or an argument vector. Out: slots of args, with the line of each
 * value, and its account. Files have some hundred lines.
 */
#ifndef MEGATRON_DIALECT_H
#define MEGATRON_DIALECT_H

#include "base/arena.h"
#include "base/err.h"
#include "megatron/args.h"

#include <stdbool.h>

/* Does the text look like a YAML configuration: every line at its margin a key,
 * a list's dash or a bracket? No script, log or JSON does. */
bool dialect_is_yaml(const char *text);

/* A YAML file; `where` is its path, for messages and for what stands beside it.
 */
struct dialect_file {
    const char *text, *where;
    const char *const *set; // NAME=VALUE for its variables: they win
    int n_set;
};

/* Reads a YAML file of any form. ERR_PARSE for what is no YAML, with line and
 * column, and for keys of no form, with those of them that stand at the top. */
enum err dialect_read_yaml(struct arena *a, const struct dialect_file *file,
                           struct megatron_args *args, struct err_msg *msg);

/* A launch's words, from its program on. */
struct dialect_words {
    char *const *argv;
    int argc;
    const struct args_origin *origin; // of each word, or NULL
};

/* Are these words of another launcher than Megatron's own: Hydra's keys with
 * dots, or ms-swift's `megatron sft`? */
bool dialect_is_words(const struct dialect_words *words);

/* Reads them. Keys that are read as Megatron's, and those that are not, are
 * named in the account; sizes that are in a checkpoint are unknown. ERR_PARSE
 * for a value that its flag does not take. */
enum err dialect_read_words(struct megatron_args *args,
                            const struct dialect_words *words,
                            struct err_msg *msg);

/* ---- shared by its parts ---- */

/* Sizes of the model that were not given are unknown: `why` says where they
 * are. ERR_NOMEM. */
enum err dialect_sizes_elsewhere(struct megatron_args *args, const char *where,
                                 const char *why, struct err_msg *msg);

/* The same of the micro-batch and the global batch, for configurations whose
 * defaults are not Megatron's. */
enum err dialect_batch_elsewhere(struct megatron_args *args, const char *where,
                                 const char *why, struct err_msg *msg);

/* ms-swift's own defaults for flags that were not given, said as assumed. */
enum err dialect_swift_defaults(struct megatron_args *args,
                                struct err_msg *msg);

/* A trainer that always shards the optimizer's state, unless it is told not to,
 * said as assumed. To be called before its words are read. */
enum err dialect_shards_state(struct megatron_args *args, const char *trainer,
                              struct err_msg *msg);

/* World size from nodes and GPUs of each, where neither is 0. */
void dialect_world(struct megatron_args *args, long long nodes, long long gpus,
                   const char *from);

#endif
