#include "wrap.h"

#include <string.h>

enum { WRAP_MAX_PIECES = 64 };

void logwrap_start(struct log_wrap *w, enum log_wrap_kind kind,
                   struct log_text body, uint64_t stream)
{
    w->kind = body.n < LOG_MAX_WRAP ? kind : WRAP_NONE;
    w->fresh = w->kind != WRAP_NONE;
    w->stream = stream;
    w->n = w->n_pieces = 0;
    if (w->kind == WRAP_NONE)
        return;
    memcpy(w->text, body.p, body.n);
    w->n = body.n;
}

bool logwrap_add(struct log_wrap *w, struct log_text body, uint64_t stream)
{
    if (w->kind == WRAP_NONE || (stream != w->stream && stream != 0))
        return false;
    if (body.n > LOG_MAX_WRAP - w->n || ++w->n_pieces > WRAP_MAX_PIECES) {
        w->kind = WRAP_NONE;
        return false;
    }
    memcpy(w->text + w->n, body.p, body.n);
    w->n += body.n;
    return true;
}

struct log_text logwrap_text(const struct log_wrap *w)
{
    return (struct log_text){w->text, w->n};
}

bool logwrap_is_number(const struct log_wrap *w, struct log_text body)
{
    static const char bytes[] = "0123456789.eE+-";
    size_t before = w->n - body.n, n = 0;
    bool in_number =
        before && w->text[before - 1] && strchr(bytes, w->text[before - 1]);
    while (n < body.n && body.p[n] && strchr(bytes, body.p[n]))
        n++;
    return in_number && n &&
           logline_trim(logline_from(body, body.p + n)).n == 0;
}
