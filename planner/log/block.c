/*
 * How it works. There are two readers of a block. logblock_take() reads one
 * line of any form and is asked first for every form of row. Rows of ranks
 * are more than nine tenths of a large log, and alike but for two numbers:
 * logblock_take_rows() takes them in a row without cutting lines, as long as
 * each begins with the same bytes as the one before. It knows two forms of
 * values and gives up at anything else, which logblock_take() then judges; so
 * the fast way never decides what a line means. tests/plain_log.c does without
 * it and must come to the same numbers.
 */
#include "block.h"

#include "row.h"
#include "runlog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void logblock_clear(struct log_block *b)
{
    free(b->rows);
    *b = (struct log_block){0};
}

/* Megatron writes three headers, and other lines speak of ranks as well: the
 * common end is looked for first, since it is rare. */
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

/* The next timer, which keeps the name that the last block had in this place
 * until it is written over: see fast_name(). */
static struct log_block_timer *start_timer(struct log_block *b)
{
    struct log_block_timer *t = &b->timers[b->n_timers++];
    t->first_row = b->n_rows;
    t->n_rows = 0;
    b->has_timer = true;
    return t;
}

/* NULL for one too many or too long a name: its rows then are nobody's. */
static struct log_block_timer *add_timer(struct log_block *b,
                                         struct log_text name)
{
    b->has_timer = false;
    if (b->n_timers == BLOCK_MAX_TIMERS || name.n >= BLOCK_NAME)
        return NULL;
    struct log_block_timer *t = start_timer(b);
    memcpy(t->name, name.p, name.n);
    t->name[name.n] = '\0';
    t->n_line = 0;
    return t;
}

/* Bounded: a log that never ends must not take all memory. */
static bool block_make_room(struct log_block *b)
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

/* Counts the row also where it has no timer, since the number of lines tells
 * whether the last block of a log is as long as the one before. */
static inline void block_add_row(struct log_block *b, int rank, double ms)
{
    b->n_lines++;
    if (!b->has_timer || !block_make_room(b))
        return;
    b->rows[b->n_rows++] = (struct log_row){rank, ms};
    b->timers[b->n_timers - 1].n_rows++;
}

/* A row without a sound value counts as a line, and has no time. */
static void block_add(struct log_block *b, const struct log_rowtext *row)
{
    if (row->kind == LOGROW_NAME) {
        add_timer(b, row->name);
    } else if (row->kind == LOGROW_RANK) {
        if (row->sound)
            block_add_row(b, row->rank, row->max_ms);
    } else {
        b->n_lines++;
        struct log_block_timer *timer =
            row->sound ? add_timer(b, row->name) : NULL;
        if (timer) {
            timer->min_ms = row->min_ms;
            timer->max_ms = row->max_ms;
        }
    }
}

bool logblock_is_open_row(const struct log_block *b, struct log_text body)
{
    return (b->form == BLOCK_MINMAX || b->form == BLOCK_MAX) &&
           logrow_is_open(body);
}

/* The first byte becomes the lowest. */
static uint64_t block_load8(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

/* Remembers what a row starts with, up to its rank's number. */
static void keep_head(struct log_block *b, struct log_text line,
                      const struct log_prefix *prefix)
{
    const char *at = logline_find(line, "rank ");
    size_t n = at ? (size_t)(at - line.p) + 4 : 0;
    b->has_head = prefix->fixed && n >= 8 && n < sizeof b->head;
    if (!b->has_head)
        return;
    b->n_head = n;
    memcpy(b->head, line.p, n);
    b->head_first = block_load8(line.p);
    b->head_last = block_load8(line.p + n - 8);
}

/* Only what the file has, byte for byte, can be met again. */
static void block_keep_line(struct log_block *b, struct log_text line)
{
    struct log_block_timer *t = &b->timers[b->n_timers - 1];
    bool is_name = line.n && line.p[line.n - 1] == ':';
    if (!is_name || line.n + 1 > BLOCK_LINE)
        return;
    memcpy(t->line, line.p, line.n);
    t->line[line.n] = '\n';
    t->n_line = line.n + 1;
}

bool logblock_take(struct log_block *b, struct log_text line,
                   struct log_text body, const struct log_prefix *prefix)
{
    struct log_text t = logline_trim(body);
    struct log_rowtext row;
    bool per_rank = b->form == BLOCK_ALL;
    if (!logrow_take(&t, per_rank, &row))
        return false;
    b->followed = false;
    bool glued = t.n > 0;
    do
        block_add(b, &row);
    while (t.n && logrow_take(&t, per_rank, &row));
    if (glued)
        return true;
    if (b->form == BLOCK_ALL && !b->has_head)
        keep_head(b, line, prefix);
    if (row.kind == LOGROW_NAME && b->has_timer && prefix->fixed)
        block_keep_line(b, line);
    return true;
}

void logblock_take_single_line(struct log_block *b, struct log_text body)
{
    struct log_rowtext row;
    while (logrow_next_of_line(&body, &row))
        block_add(b, &row);
}

/* ---- rows at full speed: eight bytes at a time ---- */

static const uint64_t every_byte = 0x0101010101010101u;

/* Bits before the first byte of `w` below 16, such as a newline; 64 when
 * there is none. */
static unsigned bits_before_end(uint64_t w)
{
    uint64_t printable = w | w << 1 | w << 2; // bit 6 of bytes from 16 on
    uint64_t hit = ~printable & (every_byte * 0x40);
    return hit ? (unsigned)__builtin_ctzll(hit) - 6 : 64;
}

/* Number of eight digits, first digit in the lowest byte: pairs of digits, then
 * fours, then all are joined by products of which the wanted parts meet in the
 * upper half of the word. */
static uint64_t eight_digits(uint64_t w)
{
    w = w * 10 + (w >> 8); // pairs
    return ((w & 0x000000ff000000ffu) * 0x000f424000000064u +
            ((w >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
           32;
}

/* True when a byte of digits, less '0' each, is not 0 to 9. A carry out of a
 * byte does no harm: such a byte is found by its own highest bit. */
static bool has_non_digit(uint64_t digits)
{
    return ((digits | (digits + every_byte * 0x76)) & (every_byte * 0x80)) != 0;
}

/* Megatron's "1234.56": digits, a point, two digits and a newline within
 * eight bytes. The branches do not depend on the number of digits, which no
 * processor can foresee. Returns the text's length, 0 for any other. */
static unsigned short_value(const char *p, double *out)
{
    uint64_t w = block_load8(p);
    unsigned end = bits_before_end(w);
    if (end > 56 || end < 32 || p[end / 8] != '\n')
        return 0;
    w <<= 64 - end; // the last digit into the highest byte
    uint64_t digits = (w & 0xffff000000000000u) | (w & 0xffffffffffu) << 8;
    digits ^= every_byte * '0' << (72 - end);
    if ((w >> 40 & 0xff) != '.' || has_non_digit(digits))
        return 0;
    *out = (double)(int64_t)eight_digits(digits) / 100;
    return end / 8;
}

/* Any number of up to 15 digits with a point. */
static unsigned long_value(const char *text, double *out)
{
    static const double scale[] = {1.,  1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
    const char *p = text;
    uint64_t v = 0;
    for (unsigned d; (d = (unsigned)*p - '0') < 10; p++)
        v = v * 10 + d;
    if (*p != '.' || p == text)
        return 0;
    const char *point = p++;
    for (unsigned d; (d = (unsigned)*p - '0') < 10; p++)
        v = v * 10 + d;
    if (p - text > 15 || *p != '\n')
        return 0;
    *out = (double)v / scale[p - point - 1];
    return (unsigned)(p - text);
}

/* The "  0: " of a row. Its length hardly changes from row to row, so plain
 * branches, which are foreseen, beat arithmetic here. */
static unsigned take_rank(const char *text, int *out)
{
    const char *p = text;
    while (*p == ' ')
        p++;
    const char *digits = p;
    unsigned rank = 0;
    for (unsigned d; (d = (unsigned)*p - '0') < 10; p++)
        rank = rank * 10 + d;
    if (p == digits || p - digits > 6 || rank >= LOG_MAX_RANKS || p[0] != ':' ||
        p[1] != ' ')
        return 0;
    *out = (int)rank;
    return (unsigned)(p - text) + 2;
}

/* The text of the row before, to foresee the next: ranks go up by one, so of
 * "  7: " only one digit changes, nine times of ten. */
struct rank_text {
    uint64_t text, mask, step;
    unsigned len;
    int rank;
};

/* What the next row probably begins with: eight bytes at once are compared, and
 * the rank's last digit is one more. */
static void block_foresee(struct rank_text *r, const char *p)
{
    if (r->len > 8)
        r->len = 0;
    if (!r->len)
        return;
    r->mask = ~(uint64_t)0 >> (64 - 8 * r->len);
    r->step = (uint64_t)1 << (8 * r->len - 24); // the digit before ": "
    r->text = block_load8(p) & r->mask;
}

/* What follows "rank" in a row; its length, or 0 when it is anything else. */
static inline unsigned fast_row(const char *p, struct rank_text *r,
                                struct log_row *out)
{
    r->text += r->step;
    unsigned n = r->len;
    if (n && (block_load8(p) & r->mask) == r->text && r->rank % 10 != 9) {
        r->rank++;
    } else {
        n = take_rank(p, &r->rank);
        if (!n)
            return 0;
        r->len = n;
        block_foresee(r, p);
    }
    out->rank = r->rank;
    unsigned m = short_value(p + n, &out->ms);
    if (!m)
        m = long_value(p + n, &out->ms);
    return m ? n + m + 1 : 0;
}

/* True when `p` has the bytes that the last row started with. */
static inline bool has_head(const struct log_block *b, const char *p)
{
    return block_load8(p) == b->head_first &&
           block_load8(p + b->n_head - 8) == b->head_last &&
           (b->n_head <= 16 || memcmp(p, b->head, b->n_head) == 0);
}

/* Rows that were read ahead and start at *at; 0 when there are none. */
static size_t rows_ahead(const struct log_block *b, const char **at)
{
    struct log_runs *a = b->ahead;
    while (a->next < a->n && a->run[a->next].start < *at)
        a->next++;
    if (a->next == a->n)
        return 0;
    const struct log_run *run = &a->run[a->next];
    // two writers' rows may follow one another: only those of this block's are
    // taken, and one row tells for its run
    if (run->start != *at || run->n_rows > b->cap_rows - b->n_rows ||
        run->n_head != b->n_head || !has_head(b, run->start))
        return 0;
    memcpy(b->rows + b->n_rows, a->rows + run->first_row,
           run->n_rows * sizeof *b->rows);
    *at = run->end;
    return run->n_rows;
}

/* As many rows as fit into rows[0..room). */
static size_t fast_rows(struct log_block *b, const char **at, const char *end)
{
    const size_t n_head = b->n_head;
    struct log_row *rows = b->rows + b->n_rows;
    const size_t room = b->cap_rows - b->n_rows;
    const char *p = *at;
    size_t n = 0;
    struct rank_text foreseen = {.len = 0};
    if (b->ahead && (n = rows_ahead(b, at)) > 0)
        return n;
    while (n < room && p < end && has_head(b, p)) {
        unsigned len = fast_row(p + n_head, &foreseen, &rows[n]);
        if (!len)
            break;
        p += n_head + len;
        n++;
    }
    *at = p;
    return n;
}

/* The name that the last block had in this place. */
static const char *fast_name(struct log_block *b, const char *p,
                             const char *end)
{
    if (b->n_timers == BLOCK_MAX_TIMERS)
        return NULL;
    const struct log_block_timer *t = &b->timers[b->n_timers];
    if (!t->n_line || (size_t)(end - p) < t->n_line ||
        memcmp(p, t->line, t->n_line) != 0)
        return NULL;
    start_timer(b);
    return p + t->n_line;
}

const char *logblock_take_rows(struct log_block *b, const char *p,
                               const char *end)
{
    if (b->form != BLOCK_ALL || !b->has_head || b->followed)
        return p;
    for (const char *next = p; next; p = next) {
        if (b->has_timer && block_make_room(b)) {
            size_t n = fast_rows(b, &p, end);
            b->n_rows += n;
            b->n_lines += n;
            b->timers[b->n_timers - 1].n_rows += n;
        }
        next = fast_name(b, p, end);
        if (!next)
            return p;
    }
    return p;
}

/* ---- reading ahead ---- */

void logblock_runs_clear(struct log_runs *r)
{
    free(r->run);
    *r = (struct log_runs){0};
}

/* False when out of memory: the rest of the piece is then read without help. */
static bool block_add_run(struct log_runs *r, struct log_run run)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 256;
        struct log_run *bigger = realloc(r->run, cap * sizeof *bigger);
        if (!bigger)
            return false;
        r->run = bigger;
        r->cap = cap;
    }
    r->run[r->n++] = run;
    return true;
}

/* Learns what comes before a rank's number, if this line looks like a row. */
static void learn_head(struct log_block *b, struct log_text line)
{
    if (line.n > sizeof b->head)
        line.n = sizeof b->head;
    const char *at = logline_find(line, "rank ");
    if (at && at - line.p >= 4)
        keep_head(b, line, &(struct log_prefix){.fixed = true});
}

void logblock_look_ahead(struct log_block *b, const char *p, const char *end,
                         struct log_runs *out)
{
    out->n = out->next = b->n_rows = 0;
    while (p < end) {
        const char *start = p;
        size_t first = b->n_rows, n = 0;
        if (b->has_head && block_make_room(b))
            n = fast_rows(b, &p, end);
        b->n_rows += n;
        const struct log_run run = {start, p, first, n, b->n_head};
        if (n && !block_add_run(out, run))
            break;
        if (n)
            continue;
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        if (!nl)
            break;
        if (!b->has_head || !has_head(b, p))
            learn_head(b, (struct log_text){p, (size_t)(nl - p)});
        p = nl + 1;
    }
    out->rows = b->rows;
}

/* Timers of other parts (validation, saving) come in blocks of their own, after
 * no iteration. */
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
