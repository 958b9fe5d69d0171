/*
 * validate_session: what moe-bench validate does with the figures once it has
 * them: leaves a line in the history, compares with an earlier one, refuses
 * bounds of nothing.
 */
#ifndef CMD_VALIDATE_SESSION_H
#define CMD_VALIDATE_SESSION_H

#include "regress/compare.h"
#include "regress/junit.h"

/* One session's figures, a line a dataset, and what they are judged by. */
struct validate_session {
    struct arena *a;
    const char *history; // file
    struct history_session now;
    struct bounds bounds;
    struct history_session then; // of --against; no lines: none
    struct junit junit;
};

/* Reads the bounds (a file that nobody named may be missing) and looks up what
 * is compared: `against` NULL: nothing, "THEN..NOW": both from the history. */
struct validate_files {
    const char *bounds, *history, *against;
    bool bounds_named;
};
enum err validate_session_begin(struct validate_session *s,
                                const struct validate_files *files,
                                struct err_msg *msg);

/* Adds the line of a dataset whose figures are known. */
enum err validate_session_add(struct validate_session *s,
                              const struct validate_rows *rows,
                              struct err_msg *msg);

/* ERR_PARSE for bounds of a dataset that is in neither session, not in the
 * baseline and not below results/. */
enum err validate_session_check(const struct validate_session *s,
                                const struct validate_rows *baseline,
                                struct err_msg *msg);

/* Prints the comparison with `then` and makes cases of it; *worse is set when
 * it is. */
enum err validate_session_compare(struct validate_session *s, bool whole,
                                  bool *worse, struct err_msg *msg);

/* Adds the session to the history and says so. */
enum err validate_session_record(struct validate_session *s, const char *reason,
                                 struct err_msg *msg);

#endif
