/*
 * source: reads a model from a file of any of five forms, told apart by
 * content: a model file, a Hugging Face config.json, a YAML file with
 * MODEL_ARGS, a log with a dump of arguments, a launch script. (The sixth form,
 * flags on the command line, needs no file.)
 */
#ifndef MEGATRON_SOURCE_H
#define MEGATRON_SOURCE_H

#include "args.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

enum source_form {
    SOURCE_MODEL,
    SOURCE_HF,
    SOURCE_YAML,
    SOURCE_LOG,
    SOURCE_SCRIPT
};

/* What the first bytes of a file look like; for JSON, SOURCE_MODEL. */
enum source_form model_source_form(const char *text);

/* Reads the file at `path` into `args`; warnings go where
 * megatron_args_on_warning() said. A log may be of any size, other forms at
 * most 32 MB. */
enum err model_source_read(struct arena *a, const char *path,
                           struct megatron_args *args, struct err_msg *msg);

/* The same of a text in memory; `where` stands for the path in messages. */
enum err model_source_read_text(struct arena *a, const struct text_span *text,
                                const char *where, struct megatron_args *args,
                                struct err_msg *msg);

#endif
