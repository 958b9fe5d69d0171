/*
 * account: what a reader of sources found beside the values of flags, so that
 * no command keeps it to itself: which form the source has, which launch of a
 * script was taken, what was assumed where nothing was stated, what the user
 * is warned of, and flags that change the model or its memory in a way that
 * this program does not understand. Lines are kept once each, in the order in
 * which they were found; all texts are copied into the arena.
 *
 * Sized for some ten lines of each kind.
 */
#ifndef MEGATRON_ACCOUNT_H
#define MEGATRON_ACCOUNT_H

#include "base/arena.h"
#include "base/err.h"
#include "flags.h"

#include <stdbool.h>

struct account_line {
    const char *text;
    const struct account_line *next;
};

/* Lines in order, the first one first. */
struct account_list {
    struct account_line *first, *last;
    int n;
};

/* The launch that was read, of `of` that the script starts; program NULL: the
 * source is no script. */
struct account_launch {
    const char *program; // "torchrun", as the script names it
    const char *file;    // where its first word stands
    int line;
    int number, of; // counted from 1
    bool ask;       // they differ, and none was asked for
};

struct account {
    struct arena *arena;
    const char *source; // "script", "yaml", "hf", "log", "flags" or "model"
    struct account_launch launch;
    struct account_list launches; // one line each, where there are several
    struct account_list warnings, assumed;
    struct account_list changes; // names of flags, with their dashes
    struct account_list reasons; // of each of these, what is known of it
};

/* Empty; texts will be owned by the arena. */
void account_init(struct account *to, struct arena *a);

/* A copy with lists of its own, so that what is added to one is not in the
 * other; texts are shared. False when out of memory. */
bool account_copy(struct arena *a, const struct account *from,
                  struct account *out);

/* Adds the line unless the list has it. Short of memory the line is lost. */
void account_add(struct account *to, struct account_list *list,
                 const char *text);

/* Does the list hold the text? */
bool account_has(const struct account_list *list, const char *text);

/* A flag that changes what is read and is not understood; `reason` says what
 * is known of it and what can be given instead. */
void account_change(struct account *to, const char *flag, const char *reason);

/* ERR_RANGE that lists the launches, where one of several has to be asked
 * for. */
enum err account_ask_launch(const struct account *from, const char *where,
                            struct err_msg *msg);

/* ERR_RANGE that names all such flags, the reason of the first, and
 * --ignore-unknown. */
enum err account_refuse_changes(const struct account *from, const char *where,
                                struct err_msg *msg);

/* Says, as assumed, which of Megatron's defaults decide the model where nothing
 * was given (widths of MLPs and experts, experts of a token, MLA's ranks, the
 * token that NullTokenizer adds, what is counted of the router), and warns of
 * key heads without the switch that they need. Called once, when all sources
 * were read. */
void account_say_defaults(struct account *to, const struct megatron_flags *f);

#endif
