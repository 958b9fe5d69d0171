/*
 * core: what all of the room shares: memory and limits of one reading, marks
 * and their causes, notes, and the context of the command being read. A limit
 * that is passed, or memory that runs out, leaves the whole reading by one
 * longjmp(): all memory is of arenas, so nothing is left behind.
 *
 * Texts made while reading are of the arena `run`, which is emptied after each
 * way; what outlives a way (causes, notes, files, questions) is of `keep`.
 */
#ifndef SCRIPT_CORE_H
#define SCRIPT_CORE_H

#include "base/arena.h"
#include "base/err.h"
#include "result.h"

#include <setjmp.h>

enum {
    BASH_MAX_DEPTH = 100,     // of nesting in the text; of functions, files
    BASH_MAX_LEVELS = 1000,   // of what is being read: all of these together
    BASH_MAX_STEPS = 2000000, // commands and words, over all ways
    BASH_MAX_CALLS = 4096,    // of one way
    BASH_MAX_WAYS = 256,
    BASH_MAX_QUESTIONS = 16, // of the first way, if all ways are to be read
    BASH_MAX_FILES = 64,
    BASH_MAX_FILE_BYTES = 1 << 20,
    BASH_MAX_TEXT = 4 << 20,   // one text
    BASH_MAX_BYTES = 40 << 20, // memory of one way; of what is kept
    BASH_MAX_WORK = 200 << 20  // characters looked at, over all ways
};

enum bash_known { BASH_NO, BASH_YES, BASH_MAYBE };

enum bash_flow { BASH_GO, BASH_BREAK, BASH_CONTINUE, BASH_RETURN, BASH_EXIT };

/* A text that grows; s is always ended by a zero. */
struct bash_text {
    char *s;
    size_t n, cap;
};

/* What a command reads: lines of a known text, or nothing known (NULL). */
struct bash_stdin {
    const char *text;
    size_t pos;
};

struct bash_question;

/* An exit status, known or the answer to a question. */
struct bash_status {
    struct bash_question *doubt; // NULL: known
    bool negated;                // true: fails where the answer is 0
    int value;                   // where known
};

/* Where reading stands; saved and restored as one value. */
struct bash_context {
    const char *file; // of the command, for messages
    int line;
    int depth;
    uint32_t turn;         // tells apart rounds of loops and function calls
    int round;             // of the innermost loop, from 0
    int loops;             // that break can leave
    int functions;         // that return can leave
    int sourced;           // files that return can leave
    int condition;         // > 0: a failure does not end the script
    const char *script;    // $0
    const char *source;    // ${BASH_SOURCE[0]}
    const char *function;  // ${FUNCNAME[0]}, or NULL
    struct bash_text *out; // where output goes; NULL: nobody reads it
    struct bash_stdin *in; // NULL: not known
    const char *subst;     // text of the innermost $(...), or NULL
    int subst_line;
    const struct bash_call *outer;
    struct bash_slurm slurm;
};

struct bash_state;
struct bash_symbols;
struct bash_oracle;
struct bash_file;

struct bash_list {
    const char **text;
    size_t n, cap;
};

struct bash {
    struct arena *keep;
    struct arena run;
    size_t kept_bytes, run_bytes;
    long steps;
    size_t work;
    jmp_buf stop;
    enum err err;
    struct err_msg *msg;
    const struct bash_input *in;
    struct bash_cause *cause; // of `keep`, with the turns beside
    uint32_t *cause_turn;
    size_t n_causes, cap_causes;
    struct bash_list notes, missing;
    struct bash_context at;
    struct bash_state *st;
    struct bash_state *free_states; // copies that are no longer needed
    struct bash_symbols *symbols;
    struct bash_oracle *oracle;
    struct bash_file *files;
    int n_files;
    int n_streams;            // made by <(...)
    unsigned n_substitutions; // $(...) that were read
    enum bash_flow flow;
    int flow_n; // loops that break or continue still leaves
    const char *ended;
    int ended_line;
    const char *said; // by the last echo, for an exit right behind it
    int said_line;
    struct bash_call *call; // of this way
    size_t n_calls, cap_calls;
};

/* The script ends here, for the reason `why`, which names the file where it is
 * not the script's own. */
void bash_end(struct bash *sh, const char *why);

/* ---- limits and memory ---- */

/* Leaves the reading with a message that begins with file:line. */
_Noreturn void bash_fail(struct bash *sh, enum err code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Counts a command or word (characters looked at) against the limits. */
void bash_step(struct bash *sh);
void bash_work(struct bash *sh, size_t n);

/* One level deeper, and back; leaves beyond BASH_MAX_LEVELS. */
void bash_enter(struct bash *sh);
void bash_leave(struct bash *sh);

/* Zeroed memory of this way (that is kept); never NULL. */
void *bash_alloc(struct bash *sh, size_t count, size_t size);
void *bash_keep(struct bash *sh, size_t count, size_t size);
char *bash_strndup(struct bash *sh, const char *text, size_t n);
const char *bash_keep_text(struct bash *sh, const char *text);
char *bash_printf(struct bash *sh, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- growing texts ---- */

void bash_put(struct bash *sh, struct bash_text *to, const char *s, size_t n);
void bash_puts(struct bash *sh, struct bash_text *to, const char *s);
void bash_putc(struct bash *sh, struct bash_text *to, char c);
/* The text, "" where nothing was put. */
const char *bash_text_of(const struct bash_text *t);

/* ---- marks ---- */

/* A mark for what cannot be known here: `text` is the script's, `why` a
 * constant or kept. Texts are of this way. */
const char *bash_unknown(struct bash *sh, const char *text, const char *why);
const char *bash_unset(struct bash *sh, const char *text);

/* Bytes of the mark at `p`, 0 where none begins. */
size_t bash_mark_len(const char *p);

/* Cause of the mark at `p`. */
const struct bash_cause *bash_mark_cause(const struct bash *sh, const char *p);

/* Is what is not known one word all the same? Host names, counts and what Slurm
 * sets are; output of other commands may be none or several. */
bool bash_is_one_word(const struct bash_cause *c);

/* True when the text has a mark of kind BASH_UNKNOWN; of any kind. */
bool bash_has_unknown(const struct bash *sh, const char *text);
bool bash_has_mark(const char *text);

/* The text as bash sees it: marks of BASH_UNSET taken out, each noted where
 * `noted`. */
const char *bash_plain(struct bash *sh, const char *text, bool noted);

/* The first unknown mark of the text alone, or NULL. */
const char *bash_first_unknown(struct bash *sh, const char *text);

/* A mark's text for messages, cut to some length. */
const char *bash_readable(struct bash *sh, const char *text);

/* ---- notes ---- */

/* Adds "file:line: ..." once. */
void bash_note(struct bash *sh, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void bash_missing(struct bash *sh, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- status ---- */

void bash_set_status(struct bash *sh, int value);
bool bash_succeeded(const struct bash *sh); // known to have

#endif
