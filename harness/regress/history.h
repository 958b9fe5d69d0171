/*
 * history: the memory of validate: results/history.csv, a line a session and
 * dataset. A session is one call of validate that was told to leave its line:
 * which commit, when, why, and the marks of each dataset (marks.h, percent).
 * `measured` is a hash of the dataset's measured steps: figures of another
 * measurement cannot be compared. Lines are only ever added; the first of the
 * file is 2, behind the header.
 *
 * Designed for some thousand lines.
 */
#ifndef REGRESS_HISTORY_H
#define REGRESS_HISTORY_H

#include "base/arena.h"
#include "base/err.h"
#include "marks.h"

#define HISTORY_FORMAT "moe-bench/history/1"

/* A reason is a line for people: at most so many bytes. */
#define HISTORY_REASON_BYTES 200

struct history_line {
    const char *commit; // 40 digits, "+" behind it when files of the code or
                        // the datasets were changed; or "unknown"
    const char *date_utc, *reason, *dataset;
    const char *measured; // 12 hexadecimal digits
    struct marks marks;
};

/* The lines of one session, or those of one commit: the last of each dataset.
 */
struct history_session {
    const char *name; // for people: commit, date, reason
    struct history_line *line;
    int n;
};

struct history {
    const char *path;
    struct history_line *line;
    int n;
};

/* ERR_RANGE unless the text is one line that is not empty, of printable
 * characters. */
enum err history_check_reason(const char *reason, struct err_msg *msg);

/* Reads the file; one that is missing has no lines. ERR_PARSE names the line
 * of what cannot be read. Owned by the arena. */
enum err history_read(struct arena *a, const char *path, struct history *out,
                      struct err_msg *msg);

/* The line of a dataset's rows as they are now, without commit, date and
 * reason; ERR_MODEL when there is no row, or a step error is not known: what
 * is not known is no memory. */
enum err history_line_of(struct arena *a, const struct validate_rows *rows,
                         struct history_line *out, struct err_msg *msg);

/* Commit, date of now, and reason into all lines of the session. */
void history_sign(struct arena *a, struct history_session *s,
                  const char *commit, const char *reason);

/* Adds the session's lines, beside the file and renamed. ERR_IO, and ERR_PARSE
 * for a file that is none: nothing is changed then. */
enum err history_append(struct arena *a, const char *path,
                        const struct history_session *s, struct err_msg *msg);

/* The session that `text` names: "last", the number of a line of it, or a
 * commit: `commit` in full as git has it, or NULL for a name that git does not
 * know, which may still begin one that is recorded. ERR_PARSE lists those that
 * there are. */
struct history_name {
    const char *text, *commit;
};
enum err history_find(struct arena *a, const struct history *h,
                      struct history_name name, struct history_session *out,
                      struct err_msg *msg);

#endif
