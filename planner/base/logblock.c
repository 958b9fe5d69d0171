#include "logblock.h"

#include "runlog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void logblock_clear(struct log_block *b)
{
    free(b->rows);
    *b = (struct log_block){0};
}

enum log_block_form logblock_header(struct log_text body)
{
    static const char all[] = RUNLOG_ALL_HEADER;
    static const char tail[] = "across ranks (ms):";
    const char *at = logline_find(body, tail);
    if (!at)
        return BLOCK_NONE;
    if (logline_find(body, all))
        return BLOCK_ALL;
    if (logline_find(body, RUNLOG_MINMAX_HEADER))
        return BLOCK_MINMAX;
    return logline_find(body, RUNLOG_MAX_HEADER) ? BLOCK_MAX : BLOCK_NONE;
}

void logblock_open(struct log_block *b, enum log_block_form form,
                   uint64_t stream)
{
    b->form = form;
    b->stream = stream;
    b->followed = b->has_timer = b->has_head = false;
    b->n_timers = b->n_rows = b->n_lines = 0;
}

static struct log_block_timer *add_timer(struct log_block *b,
                                         struct log_text name)
{
    b->has_timer = false;
    if (b->n_timers == BLOCK_MAX_TIMERS || name.n >= BLOCK_NAME)
        return NULL;
    struct log_block_timer *t = &b->timers[b->n_timers++];
    memcpy(t->name, name.p, name.n);
    t->name[name.n] = '\0';
    t->first_row = b->n_rows;
    t->n_rows = 0;
    b->has_timer = true;
    return t;
}

static bool make_room(struct log_block *b)
{
    if (b->n_rows < b->cap_rows)
        return true;
    if (b->cap_rows >= BLOCK_MAX_ROWS)
        return false;
    size_t cap = b->cap_rows ? b->cap_rows * 2 : 1024;
    struct log_row *bigger = realloc(b->rows, cap * sizeof *bigger);
    if (!bigger) {
        b->out_of_memory = true;
        return false;
    }
    b->rows = bigger;
    b->cap_rows = cap;
    return true;
}

static void add_row(struct log_block *b, int rank, double ms)
{
    b->n_lines++;
    if (!b->has_timer || !make_room(b))
        return;
    b->rows[b->n_rows++] = (struct log_row){rank, ms};
    b->timers[b->n_timers - 1].n_rows++;
}

/* A value fills the rest of its line, else it was cut or overwritten. */
static bool take_value(struct log_text *t, double *out)
{
    logline_skip_blanks(t);
    double v = 0;
    if (!logline_take_number(t, &v) || !isfinite(v) || v < 0)
        return false;
    logline_skip_blanks(t);
    *out = v;
    return true;
}

/* "     rank  0: 101.10" */
static bool take_rank_row(struct log_block *b, struct log_text t)
{
    int64_t rank = 0;
    double ms = 0;
    t = logline_from(t, t.p + 4);
    logline_skip_blanks(&t);
    if (!logline_take_int(&t, &rank) || !t.n || *t.p != ':')
        return false;
    t = logline_from(t, t.p + 1);
    if (take_value(&t, &ms) && t.n == 0 && rank < 10000000)
        add_row(b, (int)rank, ms);
    return true;
}

static bool take_all(struct log_block *b, struct log_text t)
{
    if (logline_starts(t, "rank ") && take_rank_row(b, t))
        return true;
    struct log_text name = logline_take_name(&t);
    if (!name.n || t.n != 1 || *t.p != ':')
        return false;
    add_timer(b, name);
    return true;
}

/* Names are padded with dots up to here, longer ones not at all. */
enum { NAME_WIDTH = 46 };

/* "    name ........: (1.00, 2.00)" or "    name .......: 2.00" */
static bool take_extremes(struct log_block *b, struct log_text t)
{
    struct log_text name = logline_take_name(&t);
    const char *dots = t.p;
    while (t.n && (*t.p == ' ' || *t.p == '.'))
        t = logline_from(t, t.p + 1);
    bool padded = t.p > dots + 1 && t.p[-1] == '.';
    if (!name.n || !t.n || *t.p != ':' || (!padded && name.n < NAME_WIDTH))
        return false;
    t = logline_from(t, t.p + 1);
    logline_skip_blanks(&t);
    double lo = NAN, hi = 0;
    bool pair = t.n && *t.p == '(';
    if (pair) {
        t = logline_from(t, t.p + 1);
        if (!take_value(&t, &lo) || !t.n || *t.p != ',')
            return true;
        t = logline_from(t, t.p + 1);
    }
    b->n_lines++;
    if (!take_value(&t, &hi) || (pair ? !t.n || *t.p != ')' : t.n > 0))
        return true;
    struct log_block_timer *timer = add_timer(b, name);
    if (timer) {
        timer->min_ms = lo;
        timer->max_ms = hi;
    }
    return true;
}

bool logblock_take(struct log_block *b, struct log_text line,
                   struct log_text body, const struct log_prefix *prefix)
{
    struct log_text t = logline_trim(body);
    bool taken = b->form == BLOCK_ALL ? take_all(b, t) : take_extremes(b, t);
    if (!taken)
        return false;
    b->followed = false;
    b->has_head = prefix->fixed && prefix->length < sizeof b->head;
    if (b->has_head) {
        b->n_head = prefix->length;
        memcpy(b->head, line.p, b->n_head);
    }
    return true;
}

void logblock_take_single_line(struct log_block *b, struct log_text body)
{
    struct log_field f;
    while (logline_next_field(&body, &f)) {
        double ms = 0;
        struct log_text value = f.value;
        struct log_text rest = f.name;
        struct log_text name = logline_take_name(&rest);
        if (rest.n || !name.n || !take_value(&value, &ms))
            continue;
        struct log_block_timer *t = add_timer(b, name);
        if (t)
            t->min_ms = t->max_ms = ms;
        b->n_lines++;
    }
}

/* One row at p, or NULL when it is anything else. Relies on the zero bytes
 * after the buffer instead of checking for its end. */
static const char *fast_row(struct log_block *b, const char *p)
{
    static const double scale[] = {1.,  1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
    while (*p == ' ')
        p++;
    if (memcmp(p, "rank", 4) != 0)
        return NULL;
    p += 4;
    while (*p == ' ')
        p++;
    unsigned rank = 0;
    const char *digits = p;
    for (unsigned d; (d = (unsigned)*p - '0') < 10; p++)
        rank = rank * 10 + d;
    if (p == digits || p - digits > 7 || p[0] != ':' || p[1] != ' ')
        return NULL;
    digits = p += 2;
    uint64_t v = 0;
    for (unsigned d; (d = (unsigned)*p - '0') < 10; p++)
        v = v * 10 + d;
    if (*p != '.' || p == digits)
        return NULL;
    const char *point = p++;
    for (unsigned d; (d = (unsigned)*p - '0') < 10; p++)
        v = v * 10 + d;
    if (p - digits > 15 || *p != '\n')
        return NULL;
    add_row(b, (int)rank, (double)v / scale[p - point - 1]);
    return p + 1;
}

const char *logblock_take_rows(struct log_block *b, const char *p,
                               const char *end)
{
    if (b->form != BLOCK_ALL || !b->has_head || b->followed)
        return p;
    while (p < end && memcmp(p, b->head, b->n_head) == 0) {
        const char *next = fast_row(b, p + b->n_head);
        if (!next || next > end)
            break;
        p = next;
    }
    return p;
}

bool logblock_is_of_step(const struct log_block *b)
{
    for (size_t i = 0; i < b->n_timers; i++) {
        const char *name = b->timers[i].name;
        if (strcmp(name, RUNLOG_FORWARD) == 0 ||
            strcmp(name, RUNLOG_FORWARD_BACKWARD) == 0)
            return true;
    }
    return false;
}
