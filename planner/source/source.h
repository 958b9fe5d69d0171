/*
 * source: reads a model from a file of any of five forms, told apart by
 * content: a model file, a Hugging Face config.json, a YAML file with
 * MODEL_ARGS, a log with a dump of arguments, a launch script. (The sixth form,
 * flags on the command line, needs no file.)
 */
#ifndef MEGATRON_SOURCE_H
#define MEGATRON_SOURCE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "megatron/args.h"

enum source_form {
    SOURCE_MODEL,
    SOURCE_HF,
    SOURCE_YAML,
    SOURCE_LOG,
    SOURCE_SCRIPT
};

/* What is asked of a source beside its path. Only a script starts several
 * launches, and only a script or a YAML file has variables. */
struct source_request {
    const char *path;         // for messages where the text is in memory
    int launch;               // of several, counted from 1; 0: the only one
    const char *const *set;   // NAME=VALUE of the environment
    const char *const *words; // positional parameters of the script
    int n_set, n_words;
};

/* What the first bytes of a file look like; for JSON, SOURCE_MODEL. */
enum source_form model_source_form(const char *text);

/* Reads the file into `args`, and into its account which form it has and what
 * was assumed; warnings go where megatron_args_on_warning() said. Values that
 * are not known are left so in their slots, to be given by options. A log may
 * be of any size, other forms at most 32 MB. Of several launches the one asked
 * for; without a request for one ERR_RANGE lists them, unless all say the
 * same. */
enum err model_source_read(struct arena *a, const struct source_request *req,
                           struct megatron_args *args, struct err_msg *msg);

/* The same of a text in memory. */
enum err model_source_read_text(struct arena *a, const struct text_span *text,
                                const struct source_request *req,
                                struct megatron_args *args,
                                struct err_msg *msg);

#endif
