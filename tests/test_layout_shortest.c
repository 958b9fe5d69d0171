#include "layout/shortest.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* text, its shortest form */
static const struct {
    const char *text;
    int pp;
    const char *shortest;
} known[] = {
    {"Et*5|t*6|t*5|mL", 4, "Et*5|t*6|t*5|mL"},
    {"Et*2|t*2|t*2mL", 3, "Ett|tt|ttmL"},
    {"E|t*3|t*3|t*3|L", 5, "E(|t*3)*3|L"},
    {"Et*3|(tt|)*29,m|L", 16, "Et(tt|)*30m|L"},
    {"E||||||L", 7, "E|*6L"},
    {"E|t|t|t|t|t|t|L", 8, "E(|t)*6|L"},
    {"E(t|tt|)*6L", 13, "E(t|tt|)*6L"},
    {"t*4|t*4", 2, "t*4|t*4"},
    {"", 1, ""},
};

static const char *shortest(struct arena *a, const char *text, int pp)
{
    struct layout l;
    cr_assert_eq(layout_parse(a, text, pp, &l, NULL), LAYOUT_OK, "%s", text);
    return layout_shortest(a, &l);
}

Test(layout_shortest, known_layouts_have_no_shorter_form)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct arena a;
        arena_init(&a);
        const char *got = shortest(&a, known[i].text, known[i].pp);
        cr_expect_eq(strlen(got), strlen(known[i].shortest), "%s: %s",
                     known[i].text, got);
        arena_clear(&a);
    }
}

static bool same(const struct layout *x, const struct layout *y)
{
    if (x->n_stages != y->n_stages)
        return false;
    for (int s = 0; s < x->n_stages; s++)
        if (strcmp(x->units[s], y->units[s]) != 0)
            return false;
    return true;
}

/* Stages of 0 to 3 layers, a digit of `code` in base 4 each. */
static const char *coded(struct arena *a, int code, int n_stages)
{
    char *text = arena_strdup(a, "E");
    for (int s = 0; s < n_stages; s++, code /= 4)
        text = arena_printf(a, "%s%.*s%s", text, code % 4, "ttt",
                            s + 1 < n_stages ? "|" : "L");
    return text;
}

Test(layout_shortest, parses_to_the_same_stages_and_never_is_longer)
{
    for (int code = 0; code < 4 * 4 * 4 * 4 * 4 * 4; code++) {
        struct arena a;
        struct layout l, again;
        arena_init(&a);
        const char *text = coded(&a, code, 6);
        cr_assert_eq(layout_parse(&a, text, 6, &l, NULL), LAYOUT_OK);
        const char *got = layout_shortest(&a, &l);
        cr_assert_eq(layout_parse(&a, got, 6, &again, NULL), LAYOUT_OK, "%s",
                     got);
        cr_assert(same(&l, &again), "%s for %s", got, text);
        cr_assert_leq(strlen(got), strlen(layout_string(&a, &l)), "%s", got);
        cr_assert_leq(strlen(got), strlen(text));
        arena_clear(&a);
    }
}

/* Every string of up to 5 characters of the grammar's alphabet, to see that
 * none of them is shorter than what is found for its own stages. */
Test(layout_shortest, no_string_of_five_characters_beats_it)
{
    static const char alphabet[] = "t|L()*23";
    enum { N = sizeof alphabet - 1, LONGEST = 5 };
    char text[LONGEST + 1] = "";
    long total = 1;
    for (int len = 1; len <= LONGEST; len++) {
        total *= N;
        for (long code = 0; code < total; code++) {
            struct arena a;
            struct layout l;
            long rest = code;
            for (int i = 0; i < len; i++, rest /= N)
                text[i] = alphabet[rest % N];
            text[len] = '\0';
            arena_init(&a);
            if (layout_parse(&a, text, 1, &l, NULL) == LAYOUT_OK)
                cr_assert_leq(strlen(layout_shortest(&a, &l)), (size_t)len,
                              "'%s' is shorter than '%s'", text,
                              layout_shortest(&a, &l));
            arena_clear(&a);
        }
    }
}
