/*
 * How it works: dynamic programming from the end of the plain text: the best
 * way to write what follows place i begins with one character, a run of the
 * character there, or a group of p characters that is repeated r times. Inside
 * a group runs are written one by one, so its length is a sum over them.
 */
#include "shortest.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// the table has a cell for each pair of places: 4.5 MB of 16-bit numbers
enum { SHORTEST_MAX_TEXT = 1500 };

struct choice {
    int cost;        // characters for everything from here on
    int part, times; // of a group; times 1: a run of `part` characters
};

struct search {
    const char *text;
    int n;
    struct choice *best; // n + 1
    uint16_t *equal;     // equal[i*n+p]: how far text repeats after p, from i
};

static int shortest_digits(int v)
{
    int n = 1;
    for (; v >= 10; v /= 10)
        n++;
    return n;
}

/* Characters for a run of k equal ones: "ttt" or "t*3", whichever is shorter.
 */
static int run_cost(int k)
{
    return k < 2 + shortest_digits(k) ? k : 2 + shortest_digits(k);
}

/* Bellman's step: a first move and the best of what follows it. */
static void shortest_consider(struct search *s, int i, struct choice c)
{
    c.cost += s->best[i + c.part * c.times].cost;
    if (c.cost < s->best[i].cost)
        s->best[i] = c;
}

/* Groups of text[i..i+p), whose own length in writing is `inner`. Of 2 to the
 * most repeats each is tried: the text behind may go better with fewer. */
static void consider_groups(struct search *s, int i, int p, int inner)
{
    int most = 1 + s->equal[i * s->n + p] / p;
    for (int times = 2; times <= most; times++)
        shortest_consider(
            s, i,
            (struct choice){inner + 3 + shortest_digits(times), p, times});
}

/* Tries every first move at place i; places behind it are decided already. */
static void shortest_choose(struct search *s, int i)
{
    int run = 1, inner = 0, last = 0;
    s->best[i].cost = INT32_MAX;
    while (i + run < s->n && s->text[i + run] == s->text[i])
        run++;
    for (int k = 1; k <= run; k++)
        shortest_consider(s, i, (struct choice){run_cost(k), k, 1});
    // `inner` is the length of all runs of the part but the last one
    for (int p = 1; 2 * p <= s->n - i; p++) {
        bool goes_on = p > 1 && s->text[i + p - 1] == s->text[i + p - 2];
        inner += goes_on || p == 1 ? 0 : run_cost(last);
        last = goes_on ? last + 1 : 1;
        consider_groups(s, i, p, inner + run_cost(last));
    }
}

/* equal[i][p] from equal[i+1][p]: if text[i] is text[i+p], the repeat that
 * starts one further on is one longer here. */
static void find_repeats(struct search *s)
{
    for (int p = 1; p < s->n; p++)
        for (int i = s->n - p - 1; i >= 0; i--) {
            int more = i + 1 < s->n - p ? s->equal[(i + 1) * s->n + p] : 0;
            s->equal[i * s->n + p] =
                (uint16_t)(s->text[i] == s->text[i + p] ? more + 1 : 0);
        }
}

/* Writes runs of text[i..i+n) to the end of `out`. */
static char *shortest_write_runs(struct arena *a, char *out, const char *text,
                                 int n)
{
    while (n > 0 && out) {
        int run = 1;
        while (run < n && text[run] == text[0])
            run++;
        out = run < 2 + shortest_digits(run)
                  ? arena_printf(a, "%s%.*s", out, run, text)
                  : arena_printf(a, "%s%c*%d", out, *text, run);
        text += run;
        n -= run;
    }
    return out;
}

static char *write_choices(struct arena *a, const struct search *s)
{
    char *out = arena_strdup(a, "");
    for (int i = 0; i < s->n && out;) {
        const struct choice *c = &s->best[i];
        if (c->times > 1)
            out = arena_printf(a, "%s(", out);
        out = out ? shortest_write_runs(a, out, s->text + i, c->part) : NULL;
        if (c->times > 1 && out)
            out = arena_printf(a, "%s)*%d", out, c->times);
        i += c->part * c->times;
    }
    return out;
}

/* All stages with bars between them; NULL when out of memory or too long. */
static char *plain_text(struct arena *a, const struct layout *l)
{
    size_t n = 0;
    for (int s = 0; s < l->n_stages; s++)
        n += strlen(l->units[s]) + 1;
    char *text = n <= SHORTEST_MAX_TEXT ? arena_alloc(a, n, 1) : NULL;
    char *p = text;
    for (int s = 0; s < l->n_stages && text; s++) {
        size_t len = strlen(l->units[s]);
        memcpy(p, l->units[s], len);
        p += len;
        if (s + 1 < l->n_stages)
            *p++ = '|';
    }
    return text;
}

const char *layout_shortest(struct arena *a, const struct layout *l)
{
    struct search s = {.text = plain_text(a, l)};
    if (!s.text)
        return layout_string(a, l);
    s.n = (int)strlen(s.text);
    // on the heap and given back at once: the arena lives as long as the
    // command
    size_t cells = (size_t)s.n * (size_t)s.n + 1;
    s.best = arena_alloc(a, (size_t)s.n + 1, sizeof *s.best);
    s.equal = calloc(cells, sizeof *s.equal);
    char *out = NULL;
    if (s.best && s.equal) {
        find_repeats(&s);
        for (int i = s.n - 1; i >= 0; i--)
            shortest_choose(&s, i);
        out = write_choices(a, &s);
    }
    free(s.equal);
    return out;
}
