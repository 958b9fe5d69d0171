/*
 * How it works. logahead gives the log in pieces of whole lines. Rows of an
 * open timer block, most of a large log, go to logstate many at once; every
 * other line is freed of escape sequences, parted at CR, and goes there alone.
 */
#include "scan.h"

#include "base/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Pieces fit into a core's cache. A line of 1 MB is more than any writer has.
 * A second thread takes some ten microseconds to start, which 4 MB repay. */
static const struct log_piece_sizes usual_sizes = {
    .read_bytes = 1 << 18, .max_line = 1 << 20, .thread_bytes = 1 << 22};

/* Bytes through a pipe, of all; and with nothing of a training log in them. A
 * file has an end, and may begin with what thousands of ranks say of their
 * network. */
enum {
    SCAN_MAX_PIPE = 1 << 30,
    SCAN_MAX_NOTHING = 1 << 24,
    SCAN_MAX_NOTHING_FILE = 1 << 26
};

struct logscan {
    struct logstate *state;
    struct log_piece_sizes sizes;
    struct log_runs *ahead; // rows of the piece at work that a thread has read
    bool skipping;          // the rest of a line beyond sizes.max_line
    char *plain; // scratch for lines with escape sequences, of max_line bytes
    bool out_of_memory;
    long long too_long; // the bound that was passed, or 0
    bool is_file;
    int error; // of reading, errno
};

/* ---- lines ---- */

static struct log_text without_escapes(struct logscan *s, struct log_text line)
{
    if (!memchr(line.p, '\033', line.n))
        return line;
    if (!s->plain)
        s->plain = malloc(s->sizes.max_line);
    if (!s->plain) {
        s->out_of_memory = true;
        return line;
    }
    return (struct log_text){s->plain, logline_strip_ansi(line, s->plain)};
}

/* Progress bars end in CR without a newline: each part is a line. So it is at
 * zero bytes, which a file system puts where a write was lost: what stands
 * behind them is whole. */
static void scan_take_line(struct logscan *s, struct log_text line, bool cut)
{
    line = without_escapes(s, line);
    while (line.n) {
        const char *cr = memchr(line.p, '\r', line.n);
        size_t n = cr ? (size_t)(cr - line.p) : line.n;
        const char *zero = n ? memchr(line.p, '\0', n) : NULL;
        n = zero ? (size_t)(zero - line.p) : n;
        bool is_last = !cr && !zero;
        logstate_take(s->state, (struct log_text){line.p, n}, cut && is_last);
        line = logline_from(line, line.p + n + (cr && !zero));
        while (line.n && !*line.p) // there may be a megabyte of them
            line = logline_from(line, line.p + 1);
    }
}

/* Takes all whole lines of the buffer and returns how many bytes they are. */
static size_t scan_take_lines(struct logscan *s, const char *buf, size_t len)
{
    const char *p = buf;
    const char *end = buf + len;
    while (p < end) {
        if (!s->skipping)
            p = logstate_take_rows(s->state, s->ahead, p, end);
        const char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        if (!nl)
            break;
        if (!s->skipping)
            scan_take_line(s, (struct log_text){p, (size_t)(nl - p)}, false);
        s->skipping = false;
        p = nl + 1;
    }
    return (size_t)(p - buf);
}

/* What is left of a piece after its whole lines: the end of the log, or a line
 * beyond the limit, which is passed over up to its newline. */
static void scan_take_rest(struct logscan *s, struct log_text rest,
                           bool is_last, bool is_full)
{
    if ((is_last || is_full) && rest.n && !s->skipping)
        scan_take_line(s, rest, true);
    s->skipping = s->skipping || is_full;
}

/* ---- the whole log ---- */

/* A pipe may have no end. What says nothing of training is given up early: it
 * is looked at line by line, which takes the longest. */
static long long scan_too_long(const struct logscan *s,
                               const struct log_piece *p)
{
    long long nothing = p->is_file ? SCAN_MAX_NOTHING_FILE : SCAN_MAX_NOTHING;
    if (!p->is_file && p->bytes > SCAN_MAX_PIPE)
        return SCAN_MAX_PIPE;
    if (p->bytes > nothing && !logstate_is_of_training(s->state))
        return nothing;
    return 0;
}

static void scan_pieces(struct logscan *s, struct logahead *ahead)
{
    for (bool last = false; !last;) {
        struct log_piece *p = logahead_next(ahead);
        s->ahead = &p->runs;
        size_t used = scan_take_lines(s, p->buf, p->len);
        s->too_long = scan_too_long(s, p);
        s->is_file = p->is_file;
        s->error = p->error;
        last = p->last || s->too_long;
        scan_take_rest(s, (struct log_text){p->buf + used, p->len - used}, last,
                       p->cut);
    }
}

/* A stream over bytes in memory; the caller closes it. */
static FILE *scan_open_memory(const struct log_input *in)
{
    // a stream of nothing cannot be opened: an empty line stands for it
    static const char empty[] = "\n";
    const void *data = in->len ? in->data : empty;
    void *text = NULL;
    memcpy(&text, &data, sizeof text); // fmemopen takes no const
    return fmemopen(text, in->len ? in->len : 1, "r");
}

static enum err scan_stream(struct logscan *s, FILE *f, const char *where,
                            struct log_summary *out, struct err_msg *msg)
{
    struct logahead *ahead = logahead_start(f, &s->sizes);
    if (!ahead)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    scan_pieces(s, ahead);
    logahead_stop(ahead);
    // the sink hears the end also of a log that could not be read to its end
    enum err e = logstate_finish(s->state, where, out, msg);
    errno = s->error;
    if (s->error)
        return err_set(msg, ERR_PARSE, "%s: %s", where, input_why());
    if (s->too_long && !s->out_of_memory)
        return err_set(msg, ERR_PARSE, "%s: more than %lld bytes%s%s%s", where,
                       s->too_long, s->is_file ? "" : " through a pipe",
                       e == ERR_PARSE ? " and nothing of a training log" : "",
                       s->is_file ? "" : ", want a file");
    if (s->out_of_memory)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    return e;
}

enum err logscan(const struct log_input *in, const struct log_sink *sink,
                 struct log_summary *out, struct err_msg *msg)
{
    struct logscan s = {.state = logstate_new(sink),
                        .sizes = in->sizes ? *in->sizes : usual_sizes};
    FILE *f = in->file ? in->file : scan_open_memory(in);
    enum err e = s.state && f
                     ? scan_stream(&s, f, in->where, out, msg)
                     : err_set(msg, ERR_NOMEM, "%s: out of memory", in->where);
    if (f && !in->file)
        fclose(f);
    logstate_free(s.state);
    free(s.plain);
    return e;
}
