/*
 * overrides: what a manifest says in place of the model's source: the keys
 * that megatron/overrides.h names, such as parallel.pp and trainer.core. The
 * sections `parallel` and `batch` hold nothing else but parallel.ep_overlap, a
 * switch of measured runs only, which manifest reads.
 */
#ifndef MANIFEST_OVERRIDES_H
#define MANIFEST_OVERRIDES_H

#include "base/reader.h"
#include "megatron/overrides.h"

/* Reads them from a manifest's top object; errors stay in its document:
 * ERR_PARSE for a section that is no object, an unknown key or a wrong type,
 * ERR_RANGE for a size outside of its flag's range. Texts are owned by the
 * document's arena. */
void manifest_overrides(struct reader top, struct overrides *out);

#endif
