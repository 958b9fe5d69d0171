/*
 * removed: what was taken out of logs and launch files, so that a contributor
 * sees it before anything is written, and a manifest can say how much there was
 * of each kind. Kinds are guesses for people: everything that is no known word
 * goes, whatever it is called here.
 *
 * Sized for logs of some 100 MB: each text is kept once, up to
 * REMOVED_MOST_TEXTS of them; more are counted.
 */
#ifndef CONTRIBUTE_REMOVED_H
#define CONTRIBUTE_REMOVED_H

#include "base/arena.h"
#include "log/line.h"

#include <stdbool.h>
#include <stdio.h>

enum { REMOVED_MOST_TEXTS = 1 << 15 };

/* identifier, name, what is shown as */
#define REMOVED_KIND_TABLE(X)                                                  \
    X(REMOVED_SECRET, "secrets", "keys, tokens and passwords")                 \
    X(REMOVED_ADDRESS, "addresses", "mail, network and hardware addresses")    \
    X(REMOVED_PATH, "paths", "files and folders")                              \
    X(REMOVED_HOST, "names", "names of machines, jobs, people and projects")   \
    X(REMOVED_NUMBER, "numbers", "numbers that no figure needs")               \
    X(REMOVED_WORD, "words", "words that no figure needs")

enum removed_kind {
#define REMOVED_ENUM(id, name, help) id,
    REMOVED_KIND_TABLE(REMOVED_ENUM)
#undef REMOVED_ENUM
        N_REMOVED_KINDS
};

struct removed_text {
    enum removed_kind kind;
    const char *text;
    int number; // from 1, in the order of finding
};

struct removed {
    struct arena *arena;
    struct removed_text **slot; // by hash; NULL: free
    struct removed_text *text;  // in the order of finding
    int n_texts;
    size_t count[N_REMOVED_KINDS]; // all occurrences
    size_t n_lines, n_kept;        // of logs: read, and kept
    bool failed;                   // out of memory
};

/* Nothing removed yet; texts are owned by the arena. */
void removed_init(struct removed *r, struct arena *a);

/* Notes one; `secret` says that it stands where secrets stand. Returns its
 * number, the same for the same text; 0 where there are too many. */
int removed_note(struct removed *r, struct log_text text, bool secret);

/* Notes everything of a launch file or an environment that would be removed
 * from a log: for the list alone, the file itself is not kept. */
void removed_note_file(struct removed *r, struct log_text text);

/* "secrets", ... as manifests have it. */
const char *removed_kind_name(enum removed_kind k);

/* The list, by kind: counts, and up to `most` texts of each; secrets are shown
 * by their first letters. */
void removed_print(const struct removed *r, int most, FILE *out);

#endif
