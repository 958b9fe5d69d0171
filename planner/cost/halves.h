/*
 * halves: costs of whole decoder layers as costs of their halves, attention and
 * MLP or experts, for a model that is planned with cuts inside its layers
 * (model/as_hybrid) and was profiled without. Halves add up to the layer that
 * was measured; only their share of it is assumed, by FLOPs.
 */
#ifndef COST_HALVES_H
#define COST_HALVES_H

#include "cost.h"

/* Does the file have costs of a symbol, so that nothing is to be split? */
bool cost_has_symbols(const struct cost *c);

/* Costs of the symbols of `hybrid`, made from `gpt` by model_as_hybrid(), out
 * of the layers' costs `c` of `gpt`: the cheapest kind of layer is split by
 * FLOPs, each other half is what a kind of layer has besides (a fourth kind,
 * whose halves are known by then, is their sum; one that shares no half with
 * those is split by FLOPs itself). Standard errors keep their share.
 * Fingerprint and fitted layouts stay those of `c`. ERR_MODEL where a half
 * comes out below 0: layers that were measured so different have no common
 * halves. */
enum err cost_split_layers(const struct cost *c, const struct model *gpt,
                           const struct model *hybrid, struct cost *out,
                           struct err_msg *msg);

#endif
