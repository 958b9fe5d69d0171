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
    w->n = w->n_sure = body.n;
}

void logwrap_restart(struct log_wrap *w, const char *at)
{
    size_t before = (size_t)(at - w->text);
    memmove(w->text, at, w->n - before);
    w->n = w->n_sure = w->n - before;
    w->n_pieces = 0;
    w->kind = WRAP_OPEN;
}

void logwrap_accept(struct log_wrap *w)
{
    w->n_sure = w->n;
}

static bool is_of_number(char c)
{
    return c && strchr("0123456789.eE+-", c);
}

/* Some prefixes end in a blank, and copies are indented. Within a number blanks
 * are not of the text: no two numbers of a line have nothing else between. */
static struct log_text without_blanks(const struct log_wrap *w,
                                      struct log_text body)
{
    struct log_text rest = body;
    logline_skip_blanks(&rest);
    bool inside = w->n && is_of_number(w->text[w->n - 1]) && rest.n &&
                  is_of_number(*rest.p);
    return inside ? rest : body;
}

/* A line that goes on for too long was none that a terminal broke: it is given
 * up. */
bool logwrap_add(struct log_wrap *w, struct log_text body, uint64_t stream)
{
    if (w->kind == WRAP_NONE || (stream != w->stream && stream != 0))
        return false;
    body = without_blanks(w, body);
    if (body.n > LOG_MAX_WRAP - w->n || ++w->n_pieces > WRAP_MAX_PIECES) {
        w->kind = WRAP_NONE;
        return false;
    }
    memcpy(w->text + w->n, body.p, body.n);
    w->number = w->n && is_of_number(w->text[w->n - 1]);
    w->n += body.n;
    size_t n = 0;
    while (n < body.n && is_of_number(body.p[n]))
        n++;
    w->number =
        w->number && n && logline_trim(logline_from(body, body.p + n)).n == 0;
    return true;
}

struct log_text logwrap_text(const struct log_wrap *w)
{
    return (struct log_text){w->text, w->n};
}
