/*
 * lines: hybrid patterns in batches, a JSON object a line: what is asked of a
 * pattern or of a translation, and the members of the answer. The form of both
 * is fixed, other programs read it:
 *
 *     {"pattern": "M*|M*", "pp": 2, "flags": {"first": 1}}
 *     {"dir": "layout_to_pattern", "layout": "Et|tL", "pp": 2, "moe": "de",
 *      "attention": "*"}
 *     {"dir": "pattern_to_layout", "pattern": "*-|*E", "pp": 2}
 *
 * Sized for lines of some KB.
 */
#ifndef PATTERN_LINES_H
#define PATTERN_LINES_H

#include "base/arena.h"
#include "base/err.h"
#include "base/reader.h"
#include "base/writer.h"
#include "pattern.h"

#include <stdbool.h>

/* ---- what Megatron makes of a pattern ---- */

struct pattern_line {
    const struct core_version *core; // NULL: main of August 2026
    struct pattern_flags flags;
    int num_layers, first, last; // that the flags may point to
};

/* Is the line about a pattern? Also about one that is null. */
bool pattern_line_is(struct reader top);

/* Reads pattern, pp and flags; keys beside them are let pass, in the flags they
 * are errors. `core` (or NULL) is what the line is judged by. The result points
 * into *out and into the reader's arena. */
void pattern_line_read(struct reader top, const struct core_version *core,
                       struct pattern_line *out);

/* Writes the members of the answer. ERR_NOMEM is the only error. */
enum err pattern_line_answer(struct arena *a, struct pattern_line *line,
                             struct writer to, struct err_msg *msg);

/* What is known of a pattern: vpp to offsets; p is NULL where Megatron refuses
 * it. */
void pattern_write(struct writer to, const struct pattern *p);

/* ---- translations ---- */

/* Answers one line of `translate --batch`. ERR_PARSE for a line of another
 * form, ERR_RANGE for a value out of bounds, ERR_NOMEM; what cannot be
 * translated is an answer. */
enum err translate_line_answer(struct arena *a, struct reader top,
                               struct writer to, struct err_msg *msg);

#endif
