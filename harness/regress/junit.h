/*
 * junit: what validate found as JUnit XML, a testcase for each dataset and
 * bound, for CI systems that show such files. A figure that has nothing to be
 * compared with is skipped, not passed. The file holds no time, so the same
 * figures give the same bytes.
 */
#ifndef REGRESS_JUNIT_H
#define REGRESS_JUNIT_H

#include "base/arena.h"
#include "base/err.h"
#include "compare.h"
#include "verdict.h"

enum junit_result { JUNIT_PASSED, JUNIT_FAILED, JUNIT_SKIPPED, JUNIT_ERROR };

struct junit_case {
    const char *dataset, *name;
    enum junit_result result;
    const char *text; // of what did not pass, one line
    struct junit_case *next;
};

/* Cases in the order they were added. */
struct junit {
    struct arena *a;
    struct junit_case *first, **end;
    int n, n_of[JUNIT_ERROR + 1];
    bool failed; // memory ran out
};

/* No cases yet; what is added is owned by the arena. */
void junit_begin(struct junit *j, struct arena *a);

/* Adds one case; a text of NULL counts as memory that ran out. */
void junit_add(struct junit *j, const struct junit_case *c);

/* A case a mark, and one each for lost layouts and what is not known. */
void junit_verdict(struct junit *j, const char *dataset,
                   const struct verdict *v);

/* The same of a comparison with the session `then`. */
void junit_comparison(struct junit *j, const char *then,
                      const struct comparison *c);

/* Writes the file, beside it and renamed. What XML cannot hold (control
 * characters, bytes that are no UTF-8) is written as '?'. ERR_RANGE where a
 * file of another kind is there: that is somebody's. ERR_IO, ERR_NOMEM. */
enum err junit_write(const struct junit *j, const char *path,
                     struct err_msg *msg);

#endif
