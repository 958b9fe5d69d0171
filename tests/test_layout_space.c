#include "layout/space.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long count(int n, int k, int pp, int vpp, enum space_kind kind)
{
    char text[SPACE_COUNT_BYTES];
    struct err_msg msg;
    const struct layout_space s = {n, k, pp, vpp, kind, true};
    cr_assert_eq(layout_space_count(&s, text, &msg), ERR_OK);
    return strtol(text, NULL, 10);
}

Test(layout_space, article_has_816_1140_and_1540)
{
    cr_assert_eq(count(16, 1, 4, 1, SPACE_NO_EMPTY_STAGE), 816);
    cr_assert_eq(count(16, 1, 4, 1, SPACE_EMPTY_STAGES), 1140);
    cr_assert_eq(count(16, 1, 4, 1, SPACE_ANY), 1540);
}

/* Brute force: every way to cut the unit sequence into stages, judged by the
 * validator. */
struct brute {
    struct arena arena;
    int n, k, pp, vpp;
    long any, ends_pinned, no_empty;
};

static void judge(struct brute *b, const int *cut, const char *units, int len)
{
    int stages = b->pp * b->vpp, at = 0;
    const char *text[16];
    bool empty = false;
    for (int s = 0; s < stages; s++) {
        int end = s == stages - 1 ? len : cut[s];
        text[s] = arena_strndup(&b->arena, units + at, (size_t)(end - at));
        empty = empty || end == at;
        at = end;
    }
    struct layout l = {b->pp, b->vpp, stages, text};
    struct err_msg msg;
    if (layout_validate(&l, b->n, b->k, &msg) != LAYOUT_OK)
        return;
    b->any++;
    bool pinned = strchr(text[0], 'E') && strchr(text[stages - 1], 'L');
    b->ends_pinned += pinned;
    b->no_empty += pinned && !empty;
}

static void cut_all(struct brute *b, int *cut, int s, const char *units,
                    int len)
{
    if (s == b->pp * b->vpp - 1) {
        judge(b, cut, units, len);
        return;
    }
    for (cut[s] = s ? cut[s - 1] : 0; cut[s] <= len; cut[s]++)
        cut_all(b, cut, s + 1, units, len);
}

Test(layout_space, counts_agree_with_brute_force)
{
    static const int cases[][4] = {{1, 0, 1, 1}, {1, 1, 1, 1}, {3, 0, 2, 1},
                                   {3, 1, 2, 1}, {4, 2, 3, 1}, {3, 1, 2, 2},
                                   {4, 0, 2, 2}, {3, 2, 2, 2}, {2, 1, 3, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct brute b = {.n = cases[i][0],
                          .k = cases[i][1],
                          .pp = cases[i][2],
                          .vpp = cases[i][3]};
        char units[32] = "E";
        int cut[16];
        arena_init(&b.arena);
        memset(units + 1, 't', (size_t)b.n);
        memset(units + 1 + b.n, 'm', (size_t)b.k);
        units[1 + b.n + b.k] = 'L';
        cut_all(&b, cut, 0, units, b.n + b.k + 2);
        cr_expect_eq(count(b.n, b.k, b.pp, b.vpp, SPACE_ANY), b.any, "%zu", i);
        cr_expect_eq(count(b.n, b.k, b.pp, b.vpp, SPACE_EMPTY_STAGES),
                     b.ends_pinned, "%zu", i);
        cr_expect_eq(count(b.n, b.k, b.pp, b.vpp, SPACE_NO_EMPTY_STAGE),
                     b.no_empty, "%zu", i);
        arena_clear(&b.arena);
    }
}

struct seen {
    long n;
    const struct layout_space *space;
    char last[128];
};

static enum err visit(void *data, const struct layout *l)
{
    struct seen *s = data;
    struct err_msg msg;
    char now[128] = "";
    s->n++;
    for (int i = 0; i < l->n_stages; i++)
        strncat(strncat(now, l->units[i], 40), "|", 2);
    cr_assert_eq(layout_validate(l, s->space->n_layers, s->space->n_mtp, &msg),
                 LAYOUT_OK, "%s: %s", now, msg.text);
    cr_assert_str_neq(now, s->last, "visited twice");
    memcpy(s->last, now, sizeof now);
    return ERR_OK;
}

Test(layout_space, walk_visits_what_is_counted)
{
    for (int kind = SPACE_NO_EMPTY_STAGE; kind <= SPACE_EMPTY_STAGES; kind++)
        for (int k = 0; k <= 2; k++)
            for (int pp = 1; pp <= 4; pp++) {
                struct arena a;
                struct err_msg msg;
                const struct layout_space s = {
                    6, k, pp, 1, (enum space_kind)kind, true};
                struct seen seen = {.space = &s};
                arena_init(&a);
                cr_assert_eq(layout_space_each(&a, &s, visit, &seen, &msg),
                             ERR_OK);
                cr_expect_eq(seen.n, count(6, k, pp, 1, s.kind),
                             "kind %d k %d pp %d", kind, k, pp);
                arena_clear(&a);
            }
}

static enum err count_visit(void *data, const struct layout *l)
{
    (void)l;
    ++*(long *)data;
    return ERR_OK;
}

/* Nearly all beginnings leave too few layers there: a walk that tries them
 * takes 2^pp steps. */
Test(layout_space, a_walk_near_a_layer_a_stage_ends_at_once, .timeout = 60)
{
    static const int cases[][3] = {{32, 0, 32}, {32, 0, 33}, {61, 1, 61},
                                   {61, 1, 63}, {61, 0, 60}, {100, 1, 100}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int *c = cases[i];
        struct arena a;
        struct err_msg msg;
        const struct layout_space s = {
            c[0], c[1], c[2], 1, SPACE_NO_EMPTY_STAGE, true};
        long n = 0;
        arena_init(&a);
        cr_assert_eq(layout_space_each(&a, &s, count_visit, &n, &msg), ERR_OK);
        cr_expect_eq(n, count(c[0], c[1], c[2], 1, s.kind), "case %zu: %ld", i,
                     n);
        arena_clear(&a);
    }
}

Test(layout_space, large_counts_are_exact)
{
    char text[SPACE_COUNT_BYTES];
    struct err_msg msg;
    struct layout_space s = {61, 1, 16, 2, SPACE_NO_EMPTY_STAGE, true};
    cr_assert_eq(layout_space_count(&s, text, &msg), ERR_OK);
    cr_assert_str_eq(text, "916312070471295267"); // C(62,31) + C(62,30)
    s = (struct layout_space){125, 0, 64, 1, SPACE_NO_EMPTY_STAGE, true};
    cr_assert_eq(layout_space_count(&s, text, &msg), ERR_OK);
    cr_assert_str_eq(text,
                     "6034934435761406706427864636568328000"); // C(126,63)
    s.n_layers = 400;
    s.pp = 200;
    cr_assert_eq(layout_space_count(&s, text, &msg), ERR_RANGE);
}
