/* The fast reader against the plain one: same text, same facts to the last bit,
 * whatever the pieces are and whoever reads them. */
#include "base/text.h"
#include "log/ahead.h"
#include "log/parse.h"
#include "plain_log.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIXTURES "tests/fixtures/logs"
#define VECTORS "../shared/vectors/logs"

enum { MAX_LINE = 1 << 20, MAX_BYTES = 1 << 24 };

/* As the product reads; a few bytes at once; the same by the second thread; and
 * the second thread with pieces that hold some blocks. */
static const struct log_piece_sizes ways[] = {
    {1 << 18, MAX_LINE, SIZE_MAX}, {7, MAX_LINE, SIZE_MAX}, {200, MAX_LINE, 0},
    {4096, MAX_LINE, 0},           {100, 300, 0}, // lines beyond 300 bytes are
                                                  // cut
};

static void compare(const char *name, struct log_text text)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct arena a;
        struct runlog fast, plain;
        arena_init(&a);
        const struct log_input in = {
            .data = text.p, .len = text.n, .where = name, .sizes = &ways[i]};
        enum err e = logparse_read_input(&a, &in, &fast, NULL);
        enum err want =
            plain_log_read(&a, text.p, text.n, ways[i].max_line, &plain);
        cr_expect_eq(e, want, "%s, way %zu: %d, plain %d", name, i, e, want);
        const char *what = e == ERR_OK && want == ERR_OK
                               ? plain_log_difference(&fast, &plain)
                               : NULL;
        cr_expect_null(what, "%s, way %zu: other %s", name, i, what);
        arena_clear(&a);
    }
}

typedef void take_log(const char *name, struct log_text text);

/* Hands every *.log of a folder to `take`; their number. */
static int each_log(const char *dir, take_log *take)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        struct arena a;
        struct text_span text;
        if (len < 4 || strcmp(e->d_name + len - 4, ".log") != 0)
            continue;
        arena_init(&a);
        const char *path = arena_printf(&a, "%s/%s", dir, e->d_name);
        cr_assert_eq(text_read_file(&a, path, MAX_BYTES, &text, NULL), ERR_OK);
        take(e->d_name, (struct log_text){text.data, text.len});
        arena_clear(&a);
        n++;
    }
    if (d)
        closedir(d);
    return n;
}

Test(plain_log, agrees_on_every_fixture)
{
    cr_expect_geq(each_log(FIXTURES, compare), 50);
}

Test(plain_log, agrees_on_the_shared_vectors)
{
    if (access(VECTORS, R_OK) != 0)
        cr_skip_test("shared vectors are not here: " VECTORS);
    cr_expect_geq(each_log(VECTORS, compare), 10);
}

/* ---- damaged logs ---- */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *state >> 33;
}

/* A few damages: a byte changed, a stretch doubled or left out. */
static size_t damage(char *text, size_t n, uint64_t *seed)
{
    static const char bytes[] = "0123456789.: |/rank\n\r\t()*-E\033[";
    for (int k = 0; k < 6 && n > 100; k++) {
        size_t at = next_random(seed) % (n - 60);
        size_t len = next_random(seed) % 50;
        switch (next_random(seed) % 4) {
        case 0: // twice
            memmove(text + at + len, text + at, n - at);
            n += len;
            break;
        case 1: // not at all
            memmove(text + at, text + at + len, n - at - len);
            n -= len;
            break;
        default:
            // the zero at its end, too
            text[at] = bytes[next_random(seed) % sizeof bytes];
        }
    }
    return n;
}

static void compare_damaged(const char *name, struct log_text text)
{
    enum { N_TRIES = 12, MAX_GROWTH = 6 * 50 };
    char *copy = malloc(text.n + MAX_GROWTH);
    cr_assert_not_null(copy);
    uint64_t seed = text.n;
    for (int i = 0; i < N_TRIES; i++) {
        memcpy(copy, text.p, text.n);
        compare(name, (struct log_text){copy, damage(copy, text.n, &seed)});
    }
    free(copy);
}

Test(plain_log, agrees_on_damaged_logs)
{
    cr_expect_geq(each_log(FIXTURES, compare_damaged), 50);
}

/* A damaged row that ends like a name must not be met again as that name. */
Test(plain_log, agrees_on_a_row_that_ends_in_a_colon)
{
    static const char text[] = "times across ranks (ms):\n"
                               "  forward-backward:\n"
                               "     rank  0: 1.50\n"
                               "     rank  1:5-compute:\n"
                               "times across ranks (ms):\n"
                               "     rank  0: 2.50\n"
                               "     rank  1:5-compute:\n"
                               "     rank  0: 3.50\n"
                               "done\n";
    compare("colon", (struct log_text){text, sizeof text - 1});
}

/* ---- made logs ---- */

struct shape {
    const char *prefix, *end;
    const char *other; // prefix of a second writer, eight rows of sixteen
    int n_ranks, places;
    double scale;
};

/* Four iterations with two timers of all ranks; values of all lengths, some
 * ranks left out, and a row now and then that is no row. */
static size_t make_log(const struct shape *s, char *text, size_t room)
{
    FILE *f = fmemopen(text, room, "w");
    uint64_t seed = (uint64_t)s->n_ranks * 7 + (uint64_t)s->places;
    for (int it = 1; it <= 4; it++) {
        fprintf(f,
                "%s iteration %d/ 4 | elapsed time per iteration (ms): %d.5 | "
                "lm loss: 1.0 | number of nan iterations: 0 |%s",
                s->prefix, it, 90 + it, s->end);
        fprintf(f, "%stimes across ranks (ms):%s", s->prefix, s->end);
        for (int t = 0; t < 2; t++) {
            fprintf(f, "%s  %s-compute:%s", s->prefix,
                    t ? "backward" : "forward", s->end);
            for (int r = 0; r < s->n_ranks; r++) {
                uint64_t x = next_random(&seed);
                double v = s->scale * (double)(x % 1000000) / 997;
                if (x % 31 == 0)
                    continue;
                char value[48];
                int n = snprintf(value, sizeof value, "%.*f", s->places, v);
                if (x % 7 == 0) // neighbours of digits, signs, letters
                    value[x / 7 % (size_t)n] = ":/x.;-e "[x / 217 % 8];
                fprintf(f, "%s     rank %2d: %s%s",
                        r % 16 < 8 ? s->prefix : s->other, r, value, s->end);
            }
        }
    }
    fprintf(f, "%s[after training is done]%s", s->prefix, s->end);
    fclose(f);
    return strlen(text);
}

Test(plain_log, agrees_on_made_logs)
{
    static const char *const prefixes[] = {
        "", "[default7]:", " 3: ", "2026-01-02T03:04:05.678Z "};
    static const char *const ends[] = {"\n", "\r\n"};
    static const int n_ranks[] = {1050, 120, 11, 40};
    static const int places[] = {0, 1, 2, 6, 13};
    enum { ROOM = 1 << 19 };
    char *text = malloc(ROOM);
    cr_assert_not_null(text);
    for (int i = 0; i < 4 * 2 * 5; i++) {
        bool two = i % 5 == 1;
        const struct shape s = {prefixes[i % 4],
                                ends[i / 4 % 2],
                                two ? "[default6]:" : prefixes[i % 4],
                                n_ranks[i % 4],
                                places[i / 8],
                                i % 3 ? 1e-2 : 1e3};
        memset(text, 0, ROOM);
        size_t n = make_log(&s, text, ROOM);
        compare("made", (struct log_text){text, n});
        compare("made, cut", (struct log_text){text, n / 2});
    }
    free(text);
}
