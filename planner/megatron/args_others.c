/*
 * How it works: what is told of flags that are not ours or not modelled: a
 * warning each, and a change of the account where the model may be another one
 * than the one that is read.
 */
#include "args.h"

#include "base/text.h"
#include "foreign.h"
#include "names.h"

#include <stdio.h>
#include <string.h>

// flags that nobody knows: those that get a suggestion, and those that are
// named
enum { ARGS_MAX_NEAREST = 100, ARGS_MAX_UNKNOWN = 1000 };

/* A change is told of as well: what refuses it names the first reason only. */
static void args_change(struct megatron_args *args, const char *flag,
                        const char *reason)
{
    char line[400];
    account_change(megatron_args_account(args), flag, reason);
    snprintf(line, sizeof line, "%.100s: %s", flag, reason);
    megatron_args_warn(args, flag, line);
}

void megatron_args_warn_row(struct megatron_args *args, enum flag_id id)
{
    char line[256], flag[NAMES_MAX_BYTES + 2];
    snprintf(flag, sizeof flag, "--%s", flag_name(id));
    if (flag_effect(id) == FLAG_FX_CHANGES)
        args_change(args, flag, "the model that it makes is not sized here");
    if (flag_effect(id) != FLAG_FX_UNMODELLED)
        return;
    snprintf(line, sizeof line,
             "%s: what it changes is not modelled, sizes and costs are those "
             "without it",
             flag);
    megatron_args_warn(args, flag_name(id), line);
}

void megatron_args_nearest(const char *word, char name[NAMES_MAX_BYTES])
{
    char known[NAMES_MAX_BYTES];
    megatron_known_nearest(word, known);
    const char *pair[2] = {flag_nearest(word), known};
    const char *best = pair[0] ? text_nearest(word, pair, 2) : known;
    snprintf(name, NAMES_MAX_BYTES, "%s", best ? best : "");
}

/* ---- flags that are not ours ---- */

/* The row's flag, and what comes with it: a number of key heads means groups
 * of queries, which Megatron has a switch for. */
static void args_same(struct megatron_args *args,
                      const struct foreign_flag *row, const char *spelled)
{
    char line[256];
    snprintf(line, sizeof line, "%.100s is read as Megatron's --%s", spelled,
             flag_name(row->flag));
    megatron_args_warn(args, spelled, line);
    megatron_args_warn_row(args, row->flag);
    if (row->flag == FLAG_NUM_QUERY_GROUPS)
        flags_set_on(megatron_args_flags(args), FLAG_GROUP_QUERY_ATTENTION);
}

void megatron_args_foreign(struct megatron_args *args,
                           const struct foreign_flag *row,
                           const struct args_value *value)
{
    char line[400];
    if (foreign_is_harmless(row, value->text))
        return;
    if (row->kind == FOREIGN_SAME)
        args_same(args, row, value->spelled);
    else if (row->kind == FOREIGN_CHANGE)
        args_change(args, value->spelled, row->text);
    else {
        snprintf(line, sizeof line, "%.100s: not modelled: %s", value->spelled,
                 row->text);
        megatron_args_warn(args, value->spelled, line);
    }
}

/* A row that the name abbreviates, or FLAG_NONE: Megatron's parser takes no
 * abbreviations, other parsers do. */
static enum flag_id args_abbreviated(const char *name)
{
    const size_t len = strlen(name);
    for (int i = 0; i < N_FLAGS && len > 3; i++)
        if (strncmp(flag_name((enum flag_id)i), name, len) == 0)
            return (enum flag_id)i;
    return FLAG_NONE;
}

/* In the spelling of the source: a model's keys have underscores. */
void megatron_args_nobody_knows(struct megatron_args *args, const char *name,
                                const char *spelled)
{
    char line[400], near[NAMES_MAX_BYTES] = "";
    struct account *account = megatron_args_account(args);
    // a search among a thousand names each: no file of a user's has as many
    if (account->warnings.n < ARGS_MAX_NEAREST)
        megatron_args_nearest(name, near);
    if (account->warnings.n >= ARGS_MAX_UNKNOWN) {
        account_change(account, "more flags",
                       "there are more of them than any launch has");
        return;
    }
    snprintf(line, sizeof line, "unknown flag '%.100s'%s%s%s", spelled,
             *near ? ", did you mean '--" : "", near, *near ? "'?" : "");
    megatron_args_warn(args, spelled, line);
    enum flag_id id = args_abbreviated(name);
    if (id != FLAG_NONE)
        snprintf(line, sizeof line,
                 "Megatron takes no abbreviations: give --%s", flag_name(id));
    else if (*near)
        snprintf(line, sizeof line, "no flag of Megatron, did you mean '--%s'?",
                 near);
    else
        snprintf(line, sizeof line,
                 "nobody knows it, and its name speaks of the model or its "
                 "memory");
    if (id != FLAG_NONE || foreign_speaks_of_model(name, strlen(name)))
        account_change(account, spelled, line);
}
