#include "told.h"

#include "runlog.h"
#include "step.h"

#include <math.h>
#include <string.h>

void logtold_init(struct log_told *t)
{
    *t = (struct log_told){.p2p_latency_s = NAN, .p2p_bytes_per_s = NAN};
}

/* Another run begins. */
static void keep_padding(struct log_told *t)
{
    const int64_t now = t->padded_vocab;
    t->two_before |= now && t->padded_before && now != t->padded_before;
    if (now)
        t->padded_before = now;
    if (t->two_before)
        t->padded_before = 0;
    t->padded_vocab = 0;
}

/* Only lines of the stream that began the dump: other ranks write between them.
 */
enum log_told_kind logtold_argument(struct log_told *t, struct log_text body,
                                    const struct log_prefix *prefix,
                                    struct log_field *out)
{
    if (t->in_arguments && prefix->stream == t->stream) {
        if (logline_find(body, "- end of arguments -")) {
            t->in_arguments = false;
            return TOLD_LINE;
        }
        return logstep_argument(body, out) ? TOLD_ARGUMENT : TOLD_NOTHING;
    }
    if (!logline_find(body, "--- arguments ---"))
        return TOLD_NOTHING;
    t->in_arguments = t->has_arguments = t->new_run = true;
    t->stream = prefix->stream;
    keep_padding(t);
    return TOLD_DUMP;
}

/* "moe-train: clock wall | ranks 4 | ..." and "moe-train: p2p ..." */
bool logtold_banner(struct log_told *t, struct log_text body)
{
    static const char clock[] = RUNLOG_BANNER ": clock ";
    const char *at = logline_find(body, clock);
    if (at) {
        struct log_text rest = logline_from(body, at + sizeof clock - 1);
        struct log_text name = logline_take_name(&rest);
        if (name.n < sizeof t->clock) {
            memset(t->clock, 0, sizeof t->clock);
            memcpy(t->clock, name.p, name.n);
        }
        t->is_moe_train = t->new_run = true;
        return true;
    }
    double us = 0, mb_per_s = 0;
    if (!logline_number_after(body,
                              RUNLOG_BANNER ": p2p latency (us): ", &us) ||
        !logline_number_after(body, "bandwidth (MB/s): ", &mb_per_s))
        return false;
    t->p2p_latency_s = us * 1e-6;
    t->p2p_bytes_per_s = mb_per_s * 1e6;
    return true;
}

/* " > padded vocab (size: 128000) with 256 dummy tokens (new size: 128256)":
 * Megatron dumps its arguments before it builds the tokenizer, so that the size
 * of the embedding is in no argument, only in this line. */
bool logtold_padding(struct log_told *t, struct log_text body, bool cut)
{
    static const char mark[] = "dummy tokens (new size: ";
    const char *at = cut ? NULL : logline_find(body, mark);
    int64_t size = 0;
    if (!at)
        return false;
    struct log_text rest = logline_from(body, at + sizeof mark - 1);
    if (logline_take_int(&rest, &size))
        t->padded_vocab = size;
    return true;
}

bool logtold_is_end(struct log_text body)
{
    return logline_find(body, "[after training is done]") ||
           logline_find(body, "[exiting program ");
}
