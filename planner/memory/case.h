/*
 * case: one training run described by flags as a map, as `memory
 * --batch` and the corpus of Megatron-LM's CI measurements give it: to a
 * model, a layout and the memory of every rank; or to the reason why memory is
 * not predicted.
 */
#ifndef MEMORY_CASE_H
#define MEMORY_CASE_H

#include "assumed.h"
#include "megatron/account.h"
#include "megatron/args.h"
#include "memory.h"

#include <cjson/cJSON.h>

struct memory_case_input {
    const cJSON *flags; // {"--name": value}, true for a switch
    const char *platform;
    int64_t world_size;        // 0: not known
    int64_t padded_vocab_size; // 0: from the flags
    // CUBLAS_WORKSPACE_CONFIG=:4096:8 is known to be in force although
    // --deterministic-mode does not say so
    bool workspace_configured;
};

struct memory_case {
    const char *refusal; // NULL: supported
    bool batch_stated;   // the global batch size
    struct model model;
    struct layout layout;
    enum platform platform;
    const struct memory_rank *ranks; // layout.pp of them
    struct memory_assumed assumed;
    const struct account *account; // what reading the flags said
};

/* Owned by the arena. What cannot be predicted is a refusal; an error is
 * returned for flags that are no map (ERR_PARSE) and for lack of memory. */
enum err memory_case_predict(struct arena *a,
                             const struct memory_case_input *in,
                             struct memory_case *out, struct err_msg *msg);

#endif
