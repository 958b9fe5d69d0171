/*
 * hf: a model from the config.json of Hugging Face transformers. Keys become
 * Megatron's flags; parameters that a checkpoint of that model type holds
 * beyond them (the router's correction bias, OLMoE's wide norms) are told to
 * the model by flags of our own (flags.h).
 *
 * Of a model of several parts (vision, audio, speech) the language model is
 * read, wherever its object stands, and the other parts are named as not
 * counted. Model types: those of dense Llama-like models and of MoE models
 * trained with Megatron; the list is in hf_families.c and in the message for
 * others.
 */
#ifndef MEGATRON_HF_H
#define MEGATRON_HF_H

#include "base/err.h"
#include "base/json.h"
#include "megatron/args.h"

/* Gives `args` the flags of the config. ERR_PARSE for a key that is missing or
 * of a wrong type, ERR_RANGE for a model type or feature that is not counted;
 * messages have the key's whole path. */
enum err source_hf_read(struct arena *a, const cJSON *config, const char *where,
                        struct megatron_args *args, struct err_msg *msg);

#endif
