/*
 * told: what lines outside of iterations tell of the run as a whole: the dump
 * of arguments, the padded vocabulary behind it, moe-train's banner, the
 * program's last words.
 */
#ifndef LOG_TOLD_H
#define LOG_TOLD_H

#include "prefix.h"

#include <stdbool.h>
#include <stdint.h>

struct log_told {
    bool in_arguments, has_arguments;
    uint64_t stream; // of the writer of the dump
    bool is_moe_train;
    bool new_run; // a dump or a banner came; for the caller to take back
    char clock[16];
    double p2p_latency_s, p2p_bytes_per_s; // NAN where not stated
    int64_t padded_vocab;                  // 0: not told
    int64_t padded_before; // by runs before the last dump; 0: not told, or two
    bool two_before;       // of which there were
};

/* Nothing told yet. */
void logtold_init(struct log_told *t);

enum log_told_kind { TOLD_NOTHING, TOLD_DUMP, TOLD_ARGUMENT, TOLD_LINE };

/* A dump's first line (TOLD_DUMP), one of its arguments, which goes to `out`
 * and lies in `body`, or any other line of it (TOLD_LINE). */
enum log_told_kind logtold_argument(struct log_told *t, struct log_text body,
                                    const struct log_prefix *prefix,
                                    struct log_field *out);

/* moe-train's banner and its link; the size of the vocabulary. True when
 * `body` told of them; `cut` as for logstep_next(). */
bool logtold_banner(struct log_told *t, struct log_text body);
bool logtold_padding(struct log_told *t, struct log_text body, bool cut);

/* True for what Megatron prints at its end. */
bool logtold_is_end(struct log_text body);

#endif
