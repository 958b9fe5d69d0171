/*
 * card: the accelerators whose data sheets are known, one row each: dense
 * matrix rates, memory, the links inside a domain of cards and the network
 * that leaves it. Peaks as vendors state them, without structured sparsity;
 * what kernels reach of them is cost/roofline.
 */
#ifndef COST_CARD_H
#define COST_CARD_H

#include "base/err.h"

struct card {
    const char *name;       // "H200"; variants follow it: "A100-80GB"
    double flops16, flops8; // FLOP/s of dense products, 16 bits and FP8
    double hbm_bytes_s;     // of its own memory
    double link_bytes_s;    // to the cards of its domain, one direction
    int domain;             // cards that such links join
    double net_bytes_s;     // a card's share of the network, one direction
    const char *source;     // of the figures
};

/* All cards, in the order of help texts. */
extern const struct card CARDS[];
extern const int N_CARDS;

/* The card of a name, whatever its case; its maker may stand before it ("NVIDIA
 * A100-SXM4-80GB"), and what follows the name of a row behind a blank or a dash
 * is a variant of it ("a100-80gb", "H200 SXM"). ERR_PARSE names the one that
 * may be meant and lists those known; ERR_RANGE tells of a variant whose data
 * sheet is another ("H100 PCIe"). `where` begins the message. */
enum err card_find(const char *name, const char *where, const struct card **out,
                   struct err_msg *msg);

/* A card that `name`, which is none, may be a misspelling of ("H10O",
 * "H100SXM"); NULL for other cards that there are, and where the maker is
 * named. */
const struct card *card_near(const char *name);

/* The name behind its maker's, or the same. */
const char *card_without_maker(const char *name);

#endif
