/*
 * dialect_primus: a configuration of Primus: the trainer's defaults and the
 * model's file are presets of the checkout that it is part of, or stand beside
 * it; what it says itself comes on top. In: a tree. Out: slots of args. For
 * dialect_form's table only.
 */
#ifndef MEGATRON_DIALECT_PRIMUS_H
#define MEGATRON_DIALECT_PRIMUS_H

#include "base/err.h"
#include "dialect_form.h"

/* Reads the first module whose framework is Megatron; presets that are not
 * there are told of. ERR_PARSE where there is no such module. */
enum err dialect_primus(struct dialect *d);

#endif
