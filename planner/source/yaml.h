/*
 * yaml: a YAML file with a MODEL_ARGS map of Megatron's flags, as the
 * functional tests of Megatron-LM keep them. Other keys of the document are
 * passed over.
 */
#ifndef MEGATRON_YAML_H
#define MEGATRON_YAML_H

#include "base/arena.h"
#include "base/err.h"
#include "megatron/args.h"

/* Gives `args` the flags of MODEL_ARGS: true sets a switch, false leaves it, a
 * list gives several values. ERR_PARSE names line and column. */
enum err source_yaml_read(struct arena *a, const char *text, const char *where,
                          struct megatron_args *args, struct err_msg *msg);

#endif
