/*
 * state: variables as they stand at a place of the script. A value is never
 * changed once it is set, so that a copy of the state is a copy of pointers.
 * Functions, positional parameters, the folder and files that the script writes
 * are variables too, under names that no script can write; so everything is
 * copied and merged alike.
 *
 * A value may be a choice: one of several, decided by a question that was not
 * answered yet. Reading it answers the question for this way.
 */
#ifndef SCRIPT_STATE_H
#define SCRIPT_STATE_H

#include "core.h"

struct bash_node;

enum {
    BASH_EXPORTED = 1,
    BASH_INTEGER = 2,
    BASH_LOWER = 4,
    BASH_UPPER = 8,
    BASH_REFERENCE = 16,
    BASH_READONLY = 32,
    BASH_ASSOCIATIVE = 64,
    BASH_LIST = 128 // an array
};

/* An element; of a value that is no array there is one, or none. */
struct bash_item_of {
    const char *text, *key; // key: of associative arrays
    int64_t index;
    bool ghost;       // a word that vanished since its variable is not set
    bool loose;       // holds a mark that stood outside of quotes
    const char *file; // where it was written
    int line;
};

/* Elements that grow at their end. A value is never changed, but what stands
 * behind its own n elements is nobody's until `used` passes it. */
struct bash_room {
    struct bash_item_of *item;
    size_t used, cap;
};

struct bash_choice {
    struct bash_question *question;
    const struct bash_var *const *side; // NULL: not set there
};

struct bash_var {
    unsigned flags;
    const struct bash_item_of *item;
    size_t n;
    const struct bash_node *body; // of a function
    const char *file;             // where the function stands
    const struct bash_choice *choice;
    struct bash_room *room; // of `item`, where it can grow; or NULL
};

struct bash_saved; // values that local hides

struct bash_state {
    const struct bash_var **var; // by symbol
    size_t n, cap;
    const struct bash_saved *saved;
    struct bash_status status;
    unsigned options;   // set -e and others
    const char *unread; // a file that is not there and may set variables
    struct bash_state *next_free;
};

enum {
    BASH_OPT_ERREXIT = 1,   // set -e
    BASH_OPT_ALLEXPORT = 2, // set -a
    BASH_OPT_EXTGLOB = 4,
    BASH_OPT_NOUNSET = 8,  // set -u
    BASH_OPT_PIPEFAIL = 16 // set -o pipefail
};

/* Names of what is no variable. */
#define BASH_POSITIONAL "\x03@"
#define BASH_FOLDER "\x03cwd"
#define BASH_FUNCTION_PREFIX "\x05"
#define BASH_FILE_PREFIX "\x04"

/* ---- states ---- */

void bash_state_open(struct bash *sh); // an empty one, of this way
struct bash_state *bash_state_copy(struct bash *sh);
void bash_state_drop(struct bash *sh, struct bash_state *copy);
void bash_state_restore(struct bash *sh, const struct bash_state *from);

/* A subshell: what it sets is gone after it, but for its status and the files
 * that it wrote. */
struct bash_state *bash_subshell_begin(struct bash *sh);
void bash_subshell_end(struct bash *sh, struct bash_state *outer);

/* Drops what another program does not see: all but exported variables and
 * files. */
void bash_state_only_exported(struct bash *sh);

/* True when all values are equal. */
bool bash_state_equal(const struct bash_state *a, const struct bash_state *b);

/* Values of states that differ become choices of `q` (unknown where q is NULL,
 * for `why`); the first state becomes the current one. */
void bash_state_merge(struct bash *sh, struct bash_question *q,
                      struct bash_state *const *side, size_t n);
void bash_state_blur(struct bash *sh, const struct bash_state *before,
                     const char *text, const char *why);

/* ---- variables ---- */

/* The value, choices decided; NULL: not set (but it may be declared: n = 0). */
const struct bash_var *bash_get(struct bash *sh, const char *name);

/* The same with choices as they are; the question of one. */
const struct bash_var *bash_peek(struct bash *sh, const char *name);
const char *bash_choice_text(const struct bash_var *v);

/* Text of a plain value or element 0; NULL: not set. */
const char *bash_get_text(struct bash *sh, const char *name);

/* Element by index (negative from the end) or key; NULL: none. */
const struct bash_item_of *bash_element(const struct bash_var *v, int64_t index,
                                        const char *key);

/* The mark that makes the element at `index` (of an associative array: any)
 * unknown: an element at or before it is unknown and may be no word or several.
 * NULL where the index can be counted on. */
const char *bash_loose_mark(struct bash *sh, const struct bash_var *v,
                            int64_t index);

/* An element was set, which one is not known: all are unknown from now on. */
void bash_blur_elements(struct bash *sh, const char *name, const char *mark);

/* Elements that bash counts. */
size_t bash_count(const struct bash_var *v);

void bash_put_var(struct bash *sh, const char *name, const struct bash_var *v);
void bash_set(struct bash *sh, const char *name, const char *text);
void bash_set_element(struct bash *sh, const char *name, const char *key,
                      int64_t index, const char *text);
void bash_unset_var(struct bash *sh, const char *name);
void bash_unset_element(struct bash *sh, const char *name, const char *key,
                        int64_t index);
void bash_set_flags(struct bash *sh, const char *name, unsigned on,
                    unsigned off);

/* Hides the value until the function returns (bash_saved_mark()). */
void bash_make_local(struct bash *sh, const char *name);
const struct bash_saved *bash_saved_mark(const struct bash *sh);
void bash_saved_undo(struct bash *sh, const struct bash_saved *mark);

/* Calls `fn` for each name that is set, in order of first use. */
typedef void bash_each_fn(struct bash *sh, const char *name,
                          const struct bash_var *v, void *to);
void bash_each(struct bash *sh, bash_each_fn *fn, void *to);

/* True for a name that bash takes. */
bool bash_is_name(const char *text, size_t n);

#endif
