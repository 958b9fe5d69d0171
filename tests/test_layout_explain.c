#include "layout/explain.h"

#include <criterion/criterion.h>
#include <string.h>

/* text, PP, layers, MTP, and the text with a caret before the place */
static const struct {
    const char *text;
    int pp, layers, mtp;
    const char *marked;
} places[] = {
    {"Et|tx|L", 3, 2, 0, "Et|t^x|L"},
    {"Et|t*2\xc3\xa9|L", 3, 2, 0, "Et|t*2^\xc3\xa9|L"},
    {"Et|L", 3, 1, 0, "Et|^L"},
    {"t|EL", 2, 1, 0, "^t|EL"},
    {"E|Lt|", 3, 1, 0, "E|L^t|"},
    {"EtE|L", 2, 1, 0, "Et^E|L"},
    {"EtL|L", 2, 1, 0, "EtL|^L"},
    {"Et*3|t*3|L", 3, 5, 0, "Et*3|^t*3|L"},
    {"E(tt|)*3L", 4, 5, 0, "E(t^t|)*3L"},
    {"Et|L", 2, 2, 0, "E^t|L"},
    {"Et|mmL", 2, 1, 1, "Et|m^mL"},
    {"Et|L", 2, 1, 1, "Et|^L"},
    {"E,t,|m|t,L", 3, 2, 1, "E,t,|m|^t,L"},
    {"E|ttm||L", 2, 2, 1, "E|tt^m||L"},
    {"Et|m|mL", 3, 1, 2, "Et|m|^mL"},
    {"Et|m|L", 3, 1, 1, "Et|^m|L"}, // valid: the first m
};

static enum layout_error error_of(struct arena *a,
                                  const struct layout_question *q)
{
    struct layout l;
    enum layout_error e = layout_parse(a, q->text, q->pp, &l, NULL);
    return e == LAYOUT_OK ? layout_validate(&l, q->n_layers, q->n_mtp, NULL)
                          : e;
}

Test(layout_explain, the_caret_is_under_what_is_wrong)
{
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct arena a;
        size_t byte = 0;
        arena_init(&a);
        const struct layout_question q = {places[i].text, places[i].pp,
                                          places[i].layers, places[i].mtp};
        enum layout_error e = error_of(&a, &q);
        cr_expect(layout_error_place(&q, e, &byte), "%s", q.text);
        cr_expect_eq(byte,
                     (size_t)(strchr(places[i].marked, '^') - places[i].marked),
                     "'%s' (%s): byte %zu", q.text, layout_error_id(e), byte);
        arena_clear(&a);
    }
}

Test(layout_explain, what_grows_too_large_is_pointed_at)
{
    size_t byte = 0;
    const struct layout_question q = {"Et|t*99999999|L", 3, 2, 0};
    cr_assert(layout_error_place(&q, LAYOUT_TOO_LARGE, &byte));
    cr_assert_eq(byte, 3);
    const struct layout_question group = {"E(tt|)*99999999L", 3, 2, 0};
    cr_assert(layout_error_place(&group, LAYOUT_TOO_LARGE, &byte));
    cr_assert_eq(byte, 2);
}

Test(layout_explain, an_empty_string_has_no_place)
{
    size_t byte = 7;
    const struct layout_question q = {"", 1, 0, 0};
    cr_assert_not(layout_error_place(&q, LAYOUT_EMPTY, &byte));
    cr_assert_eq(byte, 7);
}

Test(layout_explain, the_caret_counts_characters_not_bytes)
{
    struct arena a;
    arena_init(&a);
    cr_assert_str_eq(layout_caret(&a, "E\xc3\xa9x", 3), "  E\xc3\xa9x\n    ^");
    cr_assert_str_eq(layout_caret(&a, "E\tx", 2), "  E?x\n    ^");
    arena_clear(&a);
}

Test(layout_explain, every_error_has_megatrons_words)
{
    for (int e = LAYOUT_BAD_CHAR; e <= LAYOUT_M_SPLIT; e++)
        cr_expect_gt(strlen(layout_megatron_words((enum layout_error)e)), 10);
}
