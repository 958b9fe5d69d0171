/*
 * grammar: what a text of a manifest may be made of that becomes a word of a
 * command line, a line of a job's script or a part of a path. Everything is
 * quoted where it is used; a grammar refuses what quotes cannot keep apart: a
 * newline leaves a line of #SBATCH or a comment, a leading '-' makes an operand
 * an option, and what is no commit or no name would fail in a job that is
 * already paid for.
 *
 * In: texts as the manifest holds them. Out: yes or no, and what is wanted in
 * words. Sized for the few hundred words of a manifest.
 */
#ifndef MANIFEST_GRAMMAR_H
#define MANIFEST_GRAMMAR_H

#include "base/reader.h"

#include <stdbool.h>

/* id, what is wanted, in words for messages */
#define GRAMMAR_TABLE(X)                                                       \
    X(GRAMMAR_LINE, "one line without control characters")                     \
    X(GRAMMAR_OPERAND, "one line that does not begin with '-'")                \
    X(GRAMMAR_COMMIT, "a commit: 7 to 64 hexadecimal digits")                  \
    X(GRAMMAR_NAME, "a name of a-z A-Z 0-9 . _ - + @")                         \
    X(GRAMMAR_NAMES, "names of a-z A-Z 0-9 . _ - + @, commas between")         \
    X(GRAMMAR_ID, "letters and digits")                                        \
    X(GRAMMAR_MODULE, "a module of a-z A-Z 0-9 . _ - + @ / : =")               \
    X(GRAMMAR_MOUNT, "SOURCE:TARGET or SOURCE:TARGET:OPTION, without blanks, " \
                     "commas and characters of a shell")                       \
    X(GRAMMAR_IMAGE, "an image of a-z A-Z 0-9 . _ - + @ / : # = ~")            \
    X(GRAMMAR_BUCKET, "hf://buckets/NAME/BUCKET")                              \
    X(GRAMMAR_ADDRESS, "host:port")                                            \
    X(GRAMMAR_ASSIGNMENT, "NAME=value, the name of a-z A-Z 0-9 _")             \
    X(GRAMMAR_BELOW, "a path below the folder, without '..'")

enum grammar {
#define GRAMMAR_ENUM(id, wanted) id,
    GRAMMAR_TABLE(GRAMMAR_ENUM)
#undef GRAMMAR_ENUM
};

/* Whether the text is of the grammar; the empty text is of GRAMMAR_LINE only.
 */
bool grammar_fits(enum grammar g, const char *text);

/* What is wanted, for "got X, want Y". */
const char *grammar_wanted(enum grammar g);

/* Holds a manifest's sections `launcher`, `trainer` and `hardware`, and its
 * model's path, against their grammars: the first text that is not of its own
 * is ERR_PARSE in the document, with its place. */
void grammar_check(struct reader top);

#endif
