#include "log/ahead.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct log_piece_sizes SMALL = {64, 256, 1024};

static FILE *file_with(const char *text, size_t len)
{
    FILE *f = tmpfile();
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(text, 1, len, f), len);
    rewind(f);
    return f;
}

/* All pieces joined are the file, and each but the last ends a line. */
static void check_pieces(const char *text, size_t len)
{
    FILE *f = file_with(text, len);
    struct logahead *a = logahead_start(f, &SMALL);
    cr_assert_not_null(a);
    size_t at = 0;
    for (bool last = false; !last;) {
        const struct log_piece *p = logahead_next(a);
        cr_assert_leq(at + p->len, len);
        cr_assert_eq(memcmp(p->buf, text + at, p->len), 0, "at %zu", at);
        at += p->len;
        last = p->last;
        if (!last && !p->cut)
            cr_assert_eq(p->buf[p->len - 1], '\n');
        for (int i = 0; i < LOGBLOCK_SLACK; i++)
            cr_assert_eq(p->buf[p->len + (size_t)i], 0);
    }
    cr_assert_eq(at, len);
    logahead_stop(a);
    fclose(f);
}

static char *lines_of(size_t n_lines, size_t longest)
{
    char *text = calloc(n_lines, longest + 1), *p = text;
    for (size_t i = 0; i < n_lines; i++) {
        size_t n = (i * 7919) % longest;
        memset(p, 'a' + (char)(i % 26), n);
        p[n] = '\n';
        p += n + 1;
    }
    return text;
}

Test(logahead, pieces_are_the_file_in_whole_lines)
{
    char *text = lines_of(3000, 100);
    size_t len = strlen(text);
    cr_assert_gt(len, SMALL.thread_bytes, "large: with the thread");
    check_pieces(text, len);
    check_pieces(text, len - 1); // the last line without its newline
    check_pieces(text, 500);     // small: without the thread
    check_pieces(text, 0);
    free(text);
}

Test(logahead, lines_beyond_the_limit_are_cut_and_told)
{
    char text[4000];
    memset(text, 'x', sizeof text);
    text[1000] = text[3900] = '\n';
    check_pieces(text, sizeof text);
}

Test(logahead, rows_of_ranks_are_read_with_the_piece)
{
    char text[8192] = "times across ranks (ms):\n  forward-compute:\n";
    size_t n = strlen(text);
    for (int r = 0; r < 200; r++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "     rank %2d: %d.25\n", r, 100 + r);
    FILE *f = file_with(text, n);
    struct logahead *a = logahead_start(f, &SMALL);
    size_t rows = 0;
    for (bool last = false; !last;) {
        const struct log_piece *p = logahead_next(a);
        for (size_t i = 0; i < p->runs.n; i++)
            for (size_t k = 0; k < p->runs.run[i].n_rows; k++) {
                const struct log_row *row =
                    &p->runs.rows[p->runs.run[i].first_row + k];
                cr_assert_float_eq(row->ms, 100.25 + row->rank, 0);
                rows++;
            }
        last = p->last;
    }
    cr_assert_gt(rows, 150, "got %zu", rows);
    logahead_stop(a);
    fclose(f);
}

Test(logahead, may_be_stopped_in_the_middle)
{
    char *text = lines_of(3000, 100);
    for (int taken = 0; taken < 4; taken++) {
        FILE *f = file_with(text, strlen(text));
        struct logahead *a = logahead_start(f, &SMALL);
        for (int i = 0; i < taken; i++)
            logahead_next(a);
        logahead_stop(a);
        fclose(f);
    }
    logahead_stop(NULL);
    free(text);
}
