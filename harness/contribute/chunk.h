/*
 * chunk: a word of a log's line as blanks, brackets, bars and quotes part it,
 * and whether it may be given away: a number, a date or a time, words of the
 * vocabulary that are joined by - _ or :, or one that has numbers (rank, mtp)
 * and its number.
 * Everything else is somebody's: paths, hosts, addresses, keys, names.
 *
 * Nothing here allocates; a log of 100 MB is cut in about a second.
 */
#ifndef CONTRIBUTE_CHUNK_H
#define CONTRIBUTE_CHUNK_H

#include "log/line.h"

#include <stdbool.h>

/* Takes what parts words off `rest`, then a word; an empty one at the end.
 * What was passed over lies between the old rest.p and the word's p. */
struct log_text chunk_next(struct log_text *rest);

/* May it be given away? *has_word: it holds a word of the vocabulary. */
bool chunk_is_harmless(struct log_text c, bool *has_word);

/* Of a harmless one: a date, a time, or no run of more than `most` digits. That
 * is what may stand before a line's own text, where launchers write job and
 * process numbers. */
bool chunk_is_plain(struct log_text c, size_t most);

/* Of a harmless one: several words joined by - _ or :, as names of jobs are
 * made of. */
bool chunk_is_joined(struct log_text c);

/* The letters that a layout is written with, at least one '|' or '*' in it, a
 * list of zeros and ones as in ([0]*3+[1]*58), or the symbols of a pattern. */
bool chunk_is_layout(struct log_text value);

#endif
