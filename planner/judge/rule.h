/*
 * rule: what the parts of judge share: the launch being judged with its
 * sizes, and how a rule tells what it found. A rule is a row of one of the
 * tables below; it is asked only when its flags are known, so that its function
 * compares numbers and nothing else.
 *
 * Sized for some sixty rules.
 */
#ifndef JUDGE_RULE_H
#define JUDGE_RULE_H

#include "judge.h"

/* Sizes as the flags or Megatron's defaults say; 0: not known, or none. */
struct judge_sizes {
    int64_t layers, mtp, experts;
    int64_t tp, pp, cp, ep, etp, world, dp;
    int64_t vpp; // 1: no virtual stages; 0: their flags are refused
    int64_t mbs, gbs, seq;
};

struct judge_rule;

struct judge {
    struct arena *arena;
    const struct megatron_flags *f;
    const struct core_version *core;
    int minor; // of the version: 16 of 0.16
    bool launch;
    bool hybrid; // a pattern decides the split
    struct judge_sizes n;
    const struct judge_rule *rule; // that is being asked
    struct account said;           // its warnings become the verdict's
    const char *unjudged[N_FLAGS]; // names of rules that lack the flag
    struct judge_verdict *out;
    struct judge_refusal *last;
    bool nomem;
};

/* Lists end with FLAG_NONE; NULL: none. */
struct judge_rule {
    const char *name, *source;
    void (*ask)(struct judge *j);
    const enum flag_id *when;  // only where one of these is given
    const enum flag_id *needs; // values without which there is no question
    const enum flag_id *uses;  // must not be unknown
};
#define JUDGE_FLAGS(...) ((const enum flag_id[]){__VA_ARGS__, FLAG_NONE})

/* The tables, each in Megatron's order; they end with a row without a name.
 * Rules on pattern and split come first: they give the virtual stages. Those of
 * PATTERN are of hybrid models alone, those of SPLIT and OVERLAP of GPT models.
 */
extern const struct judge_rule JUDGE_PATTERN[], JUDGE_SPLIT[], JUDGE_STAGES[],
    JUDGE_RANKS[], JUDGE_BATCH[], JUDGE_OVERLAP[], JUDGE_BESIDE[], JUDGE_REST[];

/* ---- for the rules ---- */

/* Megatron refuses the launch by the rule being asked. */
void judge_refuse(struct judge *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Megatron takes it, but the user should know. */
void judge_warn(struct judge *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Refusal whose wording is the caller's already. */
void judge_refuse_text(struct judge *j, const char *text);

/* The flag's value where it is known and within the bounds of its row, else
 * `other`. */
int64_t judge_int(const struct judge *j, enum flag_id id, int64_t other);

/* Is the switch on, or the value given? */
bool judge_on(const struct judge *j, enum flag_id id);

/* Is the word one of those that the flag was given, parted by blanks or
 * commas? */
bool judge_has_word(const struct judge *j, enum flag_id id, const char *word);

/* Does the interleaved schedule run? Before 0.14 also with one virtual stage,
 * where a flag states it. */
bool judge_interleaves(const struct judge *j);

/* Type of the position embedding; the switch of old wins. */
const char *judge_position(const struct judge *j);

/* "--name", for messages; owned by the arena, "" when out of memory. */
const char *judge_flag(struct judge *j, enum flag_id id);

/* "8 or 12": the multiples of `step` next to `v`, above 0. */
const char *judge_multiples(struct judge *j, int64_t v, int64_t step);

/* The option or flag that gives a value: "--pp N". */
const char *judge_option(struct judge *j, enum flag_id id);

#endif
