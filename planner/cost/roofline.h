/*
 * roofline: costs without a profile, from what a unit does (cost/work) and what
 * a card can do (cost/card). A product takes its FLOPs at the card's rate or
 * its bytes at the memory's, whichever is longer; other kernels their bytes;
 * messages their bytes at the links'; each kernel that is started a constant.
 * How much of a data sheet's peak each class of kernels reaches is a handful of
 * constants for all cards, fitted on public step times (calibrate/roofline_fit,
 * `moe-bench roofline --rows`).
 *
 * An estimate for planning before the first run: it says more than FLOPs, and
 * less than a profile. Thousands of units a second.
 */
#ifndef COST_ROOFLINE_H
#define COST_ROOFLINE_H

#include "card.h"
#include "cost.h"
#include "work.h"

/* identifier, name, least value that is possible, what it is. Those that are
 * not seconds are times over the data sheet's: 1 / share of the peak. */
#define ROOFLINE_TABLE(X)                                                      \
    X(ROOFLINE_PRODUCT, "product", 1, "products of 16 bits, over their peak")  \
    X(ROOFLINE_FP8, "fp8", 1, "products of FP8, over their peak")              \
    X(ROOFLINE_EXPERTS, "experts", 1,                                          \
      "grouped products of experts, over other products of their precision")   \
    X(ROOFLINE_ODD, "odd", 1,                                                  \
      "products with a width that is no multiple of 64, over others")          \
    X(ROOFLINE_BYTES, "bytes", 1 / 0.95,                                       \
      "bytes of memory and links, over their peak")                            \
    X(ROOFLINE_KERNEL, "kernel_s", 0, "seconds to start a kernel")             \
    X(ROOFLINE_NETWORK, "network", 0,                                          \
      "bytes of gradients that leave a node, over the network's peak; not "    \
      "part of a unit")

enum roofline_price {
#define ROOFLINE_ENUM(id, name, least, help) id,
    ROOFLINE_TABLE(ROOFLINE_ENUM)
#undef ROOFLINE_ENUM
        N_ROOFLINE
};

struct roofline {
    double price[N_ROOFLINE];
};

/* The fitted constants. */
extern const struct roofline ROOFLINE_FITTED;

const char *roofline_name(enum roofline_price p);
const char *roofline_help(enum roofline_price p);
double roofline_least(enum roofline_price p);

/* Seconds of one pass of a unit on one rank of the model's. */
double roofline_pass_s(const struct roofline *r, const struct card *c,
                       const struct parallel *par, const struct work_pass *w);

/* Costs of every unit kind that the model has: source analytic, recompute
 * included, transfers free, no standard errors. */
void roofline_costs(const struct roofline *r, const struct card *card,
                    const struct model *m, struct cost *out);

/* A model that reads and trains as Megatron would: ERR_MODEL for recompute by
 * blocks, which makes layers of one kind differ. */
enum err roofline_check(const struct model *m, const char *where,
                        struct err_msg *msg);

#endif
