/*
 * foreign: flags that Megatron-LM main does not have, or has and that are not
 * modelled here, though they change the model, its memory or its ranks: those
 * of forks (MindSpeed-LLM, Pai-Megatron-Patch, Megatron-DeepSpeed, ms-swift,
 * Primus), of older releases, and names of Hugging Face used as flags. Each row
 * says what is known of the flag: another name for one of ours with the same
 * value, a change that stops commands, or an effect that is warned of. For
 * flags that nobody knows, their words tell whether they speak of the model.
 *
 * In: names with dashes. Sized for some hundred rows, looked up for each word
 * of a command line of a hundred words.
 */
#ifndef MEGATRON_FOREIGN_H
#define MEGATRON_FOREIGN_H

#include "account.h"
#include "flags.h"
#include "names.h"

#include <stdbool.h>
#include <stddef.h>

enum foreign_kind {
    FOREIGN_SAME,   // another name of `flag`, with the same value
    FOREIGN_CHANGE, // changes what is read: goes to the account's changes
    FOREIGN_WARN    // changes bytes or times a little: warned of
};

/* A row of the table. */
struct foreign_flag {
    const char *name; // without dashes in front
    enum foreign_kind kind;
    enum known_values values; // behind it on a command line
    enum flag_id flag;        // SAME: ours; CHANGE: what to give instead, or
                              // FLAG_NONE
    const char *harmless;     // a value with which it changes nothing, or NULL
    const char *text; // what it does and what to give instead; "" of SAME
};

/* All rows, *n of them. */
const struct foreign_flag *foreign_rows(size_t *n);

/* The row of that name (`len` bytes), or NULL. */
const struct foreign_flag *foreign_find(const char *name, size_t len);

/* Does the value (NULL: none is given) leave everything as it is? So do those
 * that say no in any flag: false, None, null, and the row's own; numbers are
 * compared as such. */
bool foreign_is_harmless(const struct foreign_flag *flag, const char *value);

/* Does the name of a flag that is in no table speak of the model, its ranks or
 * its memory ("n-dense-heads"), and not of logs, data, rates, files or kernels
 * ("log-moe-stats")? */
bool foreign_speaks_of_model(const char *name, size_t len);

/* Takes changes out of the account whose Megatron flag the user gave by option
 * or behind "--": that is the answer to what was asked. They become
 * warnings. The layers that Megatron builds of a pattern's symbols are no
 * change of it. Called once, when all sources were read. */
void foreign_settle(struct account *account, const struct megatron_flags *f);

#endif
