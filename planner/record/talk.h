/*
 * talk: what a script says on both its outputs, handed on to our standard error
 * as it comes. Lines that tell of a file or a command that was not there are
 * kept: a launch behind them may lack what those would have given. Memory is a
 * line's, however much is said.
 */
#ifndef RECORD_TALK_H
#define RECORD_TALK_H

#include <stdbool.h>

enum { TALK_LINE_BYTES = 512, TALK_MAX_KEPT = 3 };

struct talk {
    int in, out;                // ends of a pipe: ours, and the script's
    char line[TALK_LINE_BYTES]; // that is being said; its end is cut
    int len;
    char kept[TALK_MAX_KEPT][TALK_LINE_BYTES];
    int n_kept, n_missing; // missing: also those that are not kept
};

/* False when there can be no pipe. */
bool talk_open(struct talk *t);

/* Looks at the bytes as if the script had said them. */
void talk_hear(struct talk *t, const char *text, int len);

/* Hands on what can be read without waiting; false when nothing came. Our end
 * is closed when all others are. */
bool talk_pass(struct talk *t);

/* Closes both ends. */
void talk_close(struct talk *t);

#endif
