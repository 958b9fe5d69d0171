/* Hybrid patterns: closed cases in Megatron's order, then random ones against a
 * plain restatement of its checks (below), then what is made of a pattern. */
#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "pattern/lines.h"
#include "pattern/pattern.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char VECTORS[] = "../shared/vectors/hybrid_vectors.jsonl";

/* ---- closed cases ---- */

/* Pattern, pipeline size, error. */
static const struct {
    const char *text;
    int pp;
    enum pattern_error error;
} cases[] = {
    {"M*M*", 1, PATTERN_OK},         {"M*|M*", 2, PATTERN_OK},
    {"|M*M*|", 3, PATTERN_OK},       {"+DMG-E", 1, PATTERN_OK},
    {"*E/+E", 1, PATTERN_OK},        {"*/", 1, PATTERN_OK},
    {"*//", 1, PATTERN_OK},          {"M*M", 2, PATTERN_LAYERS_DIVISIBLE},
    {"M*|M|M", 2, PATTERN_SEGMENTS}, {"M*|M", 1, PATTERN_VIRTUAL_PP2},
    {"M *", 1, PATTERN_MAIN_SYMBOL}, {"M\xc3\xa9", 1, PATTERN_MAIN_SYMBOL},
    {"M*3", 1, PATTERN_MAIN_SYMBOL}, {"*+", 1, PATTERN_MIX},
    {"D|*", 2, PATTERN_MIX},         {"M/M/*", 1, PATTERN_MTP_DIFFER},
    {"M//*", 1, PATTERN_MTP_DIFFER}, {"M/*|*", 1, PATTERN_MTP_SYMBOL},
    {"M/*D", 1, PATTERN_MTP_MIX},    {"", 1, PATTERN_NO_LAYERS},
    {"|", 2, PATTERN_NO_LAYERS},     {"/M", 1, PATTERN_NO_LAYERS},
};

Test(pattern, checks_in_megatrons_order)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a;
        struct pattern p;
        struct err_msg msg;
        arena_init(&a);
        const struct pattern_flags f = {.pattern = cases[i].text,
                                        .pp = cases[i].pp};
        enum pattern_error e = pattern_read(&a, &f, &p, &msg);
        cr_expect_eq(e, cases[i].error, "'%s': got %s, want %s", cases[i].text,
                     pattern_error_id(e), pattern_error_id(cases[i].error));
        arena_clear(&a);
    }
}

static enum pattern_error
read_with(struct arena *a, const struct pattern_flags *f, struct pattern *p)
{
    struct err_msg msg;
    return pattern_read(a, f, p, &msg);
}

Test(pattern, flags_beside_it)
{
    static const int zero = 0, two = 2;
    struct arena a;
    struct pattern p;
    arena_init(&a);
    const struct {
        struct pattern_flags f;
        enum pattern_error e;
    } all[] = {
        {{.pattern = "M", .override = "M", .pp = 1}, PATTERN_BOTH},
        {{.override = "M*", .pp = 1}, PATTERN_OK},
        {{.pattern = "M|M", .pp = 2, .first = &two}, PATTERN_FIRST_WITH_PIPES},
        {{.pattern = "M|M", .pp = 2, .last = &two}, PATTERN_LAST_WITH_PIPES},
        {{.pattern = "M", .pp = 1, .first = &zero}, PATTERN_FIRST_POSITIVE},
        {{.pattern = "M", .pp = 1, .last = &zero}, PATTERN_LAST_POSITIVE},
        {{.pattern = "MMM", .pp = 2, .first = &two}, PATTERN_OK},
        {{.pattern = "MM", .pp = 2, .first = &two}, PATTERN_MIDDLE_MISMATCH},
        {{.pattern = "MMMMM", .pp = 3, .first = &two},
         PATTERN_MIDDLE_DIVISIBLE},
        {{.pattern = "M", .pp = 1, .layout = true, .virtual_stages = true},
         PATTERN_VIRTUAL_STAGES},
        {{.pattern = "M/M", .pp = 1, .positions = "yarn"},
         PATTERN_MTP_POSITIONS},
        {{.pattern = "M/M", .pp = 1, .positions = "none"}, PATTERN_OK},
        {{.pattern = "M", .pp = 1, .mtp_num_layers = 1, .positions = "yarn"},
         PATTERN_MTP_POSITIONS},
        {{.pattern = "M|M|M|M", .pp = 2, .no_overlap_p2p = true},
         PATTERN_VIRTUAL_PP3},
        {{.pattern = "M+", .pp = 1, .symbols = "MG*D-E"}, PATTERN_MAIN_SYMBOL},
        {{.pattern = "M/+", .pp = 1, .symbols = "MG*D-E"}, PATTERN_MTP_SYMBOL},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        enum pattern_error e = read_with(&a, &all[i].f, &p);
        cr_expect_eq(e, all[i].e, "case %zu: got %s, want %s", i,
                     pattern_error_id(e), pattern_error_id(all[i].e));
    }
    arena_clear(&a);
}

Test(pattern, flags_of_old_are_joined)
{
    struct arena a;
    struct pattern p;
    arena_init(&a);
    struct pattern_flags f = {
        .pattern = "M*", .mtp_override = "M/*", .mtp_num_layers = 2, .pp = 1};
    cr_assert_eq(read_with(&a, &f, &p), PATTERN_MTP_DIFFER);
    f.mtp_override = "M/M";
    cr_assert_eq(read_with(&a, &f, &p), PATTERN_OK);
    cr_assert(p.n_depths == 4 && strcmp(p.mtp, "M") == 0);
    // with a slash of its own the pattern says it all
    f.pattern = "M*/*";
    cr_assert_eq(read_with(&a, &f, &p), PATTERN_OK);
    cr_assert(p.n_depths == 1 && strcmp(p.mtp, "*") == 0);
    // a GPT model with both flags of old becomes a hybrid one without layers
    f.pattern = NULL;
    cr_assert(pattern_is_given(&f));
    cr_assert_eq(read_with(&a, &f, &p), PATTERN_NO_LAYERS);
    f.mtp_num_layers = 0;
    cr_assert_not(pattern_is_given(&f));
    arena_clear(&a);
}

/* Six layers over three ranks, ends of four: the middle has -2 layers, which
 * divide. */
Test(pattern, segments_that_do_not_cover)
{
    static const int four = 4;
    struct arena a;
    struct pattern p;
    arena_init(&a);
    const struct pattern_flags f = {
        .pattern = "M*-EG+", .pp = 3, .first = &four, .last = &four};
    const struct pattern_flags good = {
        .pattern = "M*-EG*", .pp = 3, .first = &four, .last = &four};
    cr_assert_eq(read_with(&a, &f, &p), PATTERN_MIX);
    cr_assert_eq(read_with(&a, &good, &p), PATTERN_OK);
    cr_assert_not(p.covers);
    cr_assert_str_eq(p.segment[0], "M*-E");
    cr_assert_str_eq(p.segment[1], "");
    cr_assert_str_eq(p.segment[2], "-EG*");
    arena_clear(&a);
}

/* Ends of two and eleven layers of ten leave -3 from place 2 on: the slice ends
 * at place -1, which is Python's name of the last one. */
Test(pattern, a_slice_that_ends_before_the_list_counts_from_its_end)
{
    static const int two = 2, eleven = 11;
    struct arena a;
    struct pattern p;
    arena_init(&a);
    const struct pattern_flags f = {
        .pattern = "M*-EG*M-EM", .pp = 3, .first = &two, .last = &eleven};
    cr_assert_eq(read_with(&a, &f, &p), PATTERN_OK);
    cr_assert_not(p.covers);
    cr_assert_str_eq(p.segment[0], "M*");
    cr_assert_str_eq(p.segment[1], "-EG*M-E");
    arena_clear(&a);
}

Test(pattern, hostile_ones_are_bounded)
{
    struct arena a;
    struct pattern p;
    arena_init(&a);
    char *text = arena_alloc(&a, PATTERN_MAX_CHARS + 2, 1);
    memset(text, 'M', PATTERN_MAX_CHARS);
    struct pattern_flags f = {.pattern = text, .pp = 1};
    cr_assert_eq(read_with(&a, &f, &p), PATTERN_OK);
    text[PATTERN_MAX_CHARS] = 'M';
    cr_assert_eq(read_with(&a, &f, &p), PATTERN_TOO_LARGE);
    f = (struct pattern_flags){.pattern = "M",
                               .mtp_override = "M",
                               .mtp_num_layers = 1 << 20,
                               .pp = 1};
    cr_assert_eq(read_with(&a, &f, &p), PATTERN_TOO_LARGE);
    arena_clear(&a);
}

Test(pattern, before_0_17_it_is_a_list_of_layers)
{
    static const int four = 4;
    struct arena a;
    struct pattern p;
    struct err_msg msg;
    arena_init(&a);
    const struct {
        const char *text;
        int pp;
        bool virtual;
        enum pattern_error e;
    } all[] = {{"M*-M", 2, false, PATTERN_OK},
               {"M*-M", 3, false, PATTERN_OLD_DIVISIBLE},
               {"M*-", 2, false, PATTERN_OLD_LENGTH},
               {"M*|M", 2, false, PATTERN_OLD_SYMBOL},
               {"M*-E", 2, false, PATTERN_OLD_SYMBOL},
               {"M*-M", 2, true, PATTERN_OLD_VIRTUAL}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const struct pattern_flags f = {.override = all[i].text,
                                        .symbols = "M*-",
                                        .pp = all[i].pp,
                                        .num_layers = &four,
                                        .virtual_stages = all[i].virtual};
        enum pattern_error e = pattern_read_old(&a, &f, &p, &msg);
        cr_expect_eq(e, all[i].e, "'%s': got %s", all[i].text,
                     pattern_error_id(e));
    }
    cr_assert(p.covers && p.n_segments == 2);
    cr_assert_str_eq(p.segment[1], "-M");
    arena_clear(&a);
}

/* ---- an independent restatement ---- */

/* The checks once more, written from Megatron's code for one text at a time:
 * the name of the first that fails, "" for none. Splits by counting. */
struct plain {
    const char *text;
    int pp, first, last; // -1: not given
    bool no_overlap;
};

static int count_of(const char *text, size_t n, char c)
{
    int k = 0;
    for (size_t i = 0; i < n; i++)
        k += text[i] == c;
    return k;
}

static const char *plain_symbols(const char *text, size_t n,
                                 const char *letters, const char *bad,
                                 const char *mix)
{
    for (size_t i = 0; i < n; i++)
        if (!memchr(letters, text[i], strlen(letters)))
            return bad;
    return count_of(text, n, '*') &&
                   count_of(text, n, '+') + count_of(text, n, 'D')
               ? mix
               : "";
}

/* Python's list(text[main:].split("/"))[1:] one after the other. */
static const char *plain_mtp(const char *slash)
{
    const char *parts[64];
    size_t lens[64];
    int n = 0;
    bool any = false;
    for (const char *p = slash; p; p = strchr(p + 1, '/')) {
        parts[n] = p + 1;
        lens[n] = strcspn(p + 1, "/");
        any = any || lens[n];
        n++;
    }
    if (!any)
        return "";
    for (int i = 1; i < n; i++)
        if (lens[i] != lens[0] || memcmp(parts[i], parts[0], lens[0]) != 0)
            return "mtp_differ";
    return plain_symbols(parts[0], lens[0], "MG*D+-E", "mtp_symbol",
                         "mtp_attention_mla_mix");
}

static const char *plain_ends(const struct plain *q, int layers)
{
    int left = layers, stages = q->pp;
    if (q->first == 0)
        return "first_not_positive";
    if (q->first > 0)
        left -= q->first, stages--;
    if (q->last == 0)
        return "last_not_positive";
    if (q->last > 0)
        left -= q->last, stages--;
    if ((left != 0) != (stages != 0))
        return "middle_mismatch";
    if (stages != 0 && left % stages != 0)
        return "middle_not_divisible";
    return "";
}

static const char *plain_read(const struct plain *q)
{
    const size_t n = strcspn(q->text, "/");
    const int bars = count_of(q->text, n, '|'), layers = (int)n - bars;
    const char *e = plain_symbols(q->text, n, "MG*D+-E|", "main_symbol",
                                  "attention_mla_mix");
    if (*e)
        return e;
    if (bars && q->first >= 0)
        return "first_with_pipes";
    if (bars && q->last >= 0)
        return "last_with_pipes";
    if ((bars || q->pp == 1) && (bars + 1) % q->pp)
        return "segments_not_divisible";
    e = q->text[n] ? plain_mtp(q->text + n) : "";
    if (*e)
        return e;
    if (bars + 1 > q->pp && q->pp == 1 && !q->no_overlap)
        return "virtual_needs_pp2";
    if (bars + 1 > q->pp && q->pp < 3 && q->no_overlap)
        return "virtual_needs_pp3";
    bool ends = q->first >= 0 || q->last >= 0;
    e = ends ? plain_ends(q, layers) : "";
    if (*e)
        return e;
    if (!layers)
        return "no_layers";
    return !bars && !ends && layers % q->pp ? "layers_not_divisible" : "";
}

static size_t below(uint64_t *state, size_t n)
{
    return random_next(state) % n;
}

/* Mostly good, and wrong in each of the ways. */
static const char *random_text(struct arena *a, uint64_t *r)
{
    static const char letters[] = "MMM***EEE---GD+||||//x";
    char text[40];
    size_t n = below(r, 14), sort = below(r, 3);
    for (size_t i = 0; i < n; i++)
        text[i] = letters[below(r, sort ? 19 : sizeof letters - 1)];
    for (size_t i = 0; i < n && sort == 2; i++)
        if (strchr("D+", text[i]))
            text[i] = '*';
    text[n] = '\0';
    static const char *const tails[] = {"",     "/*E", "/*E/*E", "//",
                                        "/M/*", "/*|", "/*D",    "/"};
    return arena_printf(a, "%s%s", text, tails[below(r, 8)]);
}

/* Every segment is the next piece of main, where they cover. */
static void check_segments(const struct pattern *p, const char *text)
{
    size_t at = 0;
    for (int s = 0; s < p->n_segments && p->covers; s++) {
        size_t n = strlen(p->segment[s]);
        cr_assert_eq((size_t)p->offset[s], at, "'%s'", text);
        cr_assert(strncmp(p->main + at, p->segment[s], n) == 0, "'%s'", text);
        at += n;
    }
    cr_assert(!p->covers || at == (size_t)p->n_layers, "'%s'", text);
}

enum { N_RANDOM = 60000 };

Test(pattern, agrees_with_a_plain_restatement)
{
    uint64_t r = 20261201;
    int n_ok = 0;
    for (int i = 0; i < N_RANDOM; i++) {
        struct arena a;
        struct pattern p;
        struct err_msg msg;
        arena_init(&a);
        struct plain q = {random_text(&a, &r), 1 + (int)below(&r, 4), -1, -1,
                          below(&r, 4) == 0};
        if (below(&r, 4) == 0)
            q.first = (int)below(&r, 6);
        if (below(&r, 4) == 0)
            q.last = (int)below(&r, 6);
        const struct pattern_flags f = {.pattern = q.text,
                                        .pp = q.pp,
                                        .first = q.first < 0 ? NULL : &q.first,
                                        .last = q.last < 0 ? NULL : &q.last,
                                        .no_overlap_p2p = q.no_overlap};
        enum pattern_error e = pattern_read(&a, &f, &p, &msg);
        cr_assert_str_eq(pattern_error_id(e), plain_read(&q),
                         "'%s' on %d, %d, %d", q.text, q.pp, q.first, q.last);
        if (e == PATTERN_OK)
            check_segments(&p, q.text);
        n_ok += e == PATTERN_OK;
        arena_clear(&a);
    }
    cr_assert_gt(n_ok, N_RANDOM / 20);
}

/* ---- what is made of it ---- */

Test(pattern, is_a_layout_and_back)
{
    struct arena a;
    struct pattern p, again;
    struct layout l;
    arena_init(&a);
    const struct pattern_flags f = {.pattern = "M*|ME||*/*E/*E", .pp = 2};
    cr_assert_eq(read_with(&a, &f, &p), PATTERN_OK);
    cr_assert_eq(pattern_layout(&a, &p, &l, NULL), ERR_OK);
    cr_assert_str_eq(l.units[0], "Ett");
    cr_assert_str_eq(l.units[2], "");
    cr_assert_str_eq(l.units[3], "tmmL");
    cr_assert_str_eq(pattern_text(&a, &p), f.pattern);
    // bars are written for a pattern that has none
    const struct pattern_flags even = {.pattern = "M*ME", .pp = 2};
    cr_assert_eq(read_with(&a, &even, &again), PATTERN_OK);
    cr_assert_str_eq(pattern_text(&a, &again), "M*|ME");
    arena_clear(&a);
}

Test(pattern, errors_have_a_place)
{
    static const struct {
        const char *text;
        enum pattern_error e;
        int at; // -1: none
    } all[] = {
        {"M|xM", PATTERN_MAIN_SYMBOL, 2},   {"M*|D", PATTERN_MIX, 3},
        {"M/*x/*x", PATTERN_MTP_SYMBOL, 3}, {"M/*|/*|", PATTERN_MTP_SYMBOL, 3},
        {"M/M/*", PATTERN_MTP_DIFFER, 4},   {"M/*+", PATTERN_MTP_MIX, 3},
        {"M*M", PATTERN_SEGMENTS, -1},      {"", PATTERN_NO_LAYERS, -1}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        size_t byte = 0;
        bool found = pattern_error_place(all[i].text, NULL, all[i].e, &byte);
        cr_expect_eq(found ? (int)byte : -1, all[i].at, "'%s': got %d",
                     all[i].text, found ? (int)byte : -1);
    }
}

Test(pattern, words_that_are_one)
{
    cr_assert(pattern_is_word("*E|*E") && pattern_is_word("M"));
    cr_assert(pattern_is_word("/") && pattern_is_word("E|-"));
    cr_assert_not(pattern_is_word("Et|tL") || pattern_is_word("E|"));
    cr_assert_not(pattern_is_word("") || pattern_is_word("Et*3"));
}

Test(pattern, warns_of_flags_that_it_overrides)
{
    static const int three = 3;
    struct arena a;
    struct pattern p;
    const char *texts[PATTERN_MAX_WARNINGS];
    arena_init(&a);
    const struct pattern_flags f = {
        .override = "M*", .pp = 2, .num_layers = &three, .mtp_num_layers = 1};
    cr_assert_eq(read_with(&a, &f, &p), PATTERN_OK);
    // the layers, no MTP, the old name, no bars
    cr_assert_eq(pattern_warnings(&a, &f, &p, texts), 4);
    const struct pattern_flags good = {.pattern = "M|*/M", .pp = 2};
    cr_assert_eq(read_with(&a, &good, &p), PATTERN_OK);
    cr_assert_eq(pattern_warnings(&a, &good, &p, texts), 0);
    arena_clear(&a);
}

/* ---- vectors ---- */

static void check_vector(const char *line)
{
    static const char *const keys[] = {
        "valid",      "error", "where",    "vpp",    "num_layers", "mtp",
        "mtp_depths", "mla",   "segments", "covers", "offsets"};
    struct arena a;
    struct err_msg msg;
    struct reader_doc in;
    struct writer_doc out;
    struct pattern_line asked;
    cJSON *want = cJSON_Parse(line);
    arena_init(&a);
    struct reader top = reader_open_text(&in, &a, line, "vectors", &msg);
    cr_assert(pattern_line_is(top));
    pattern_line_read(top, NULL, &asked);
    cr_assert_eq(reader_close(&in), ERR_OK, "%s", msg.text);
    cr_assert_eq(pattern_line_answer(&a, &asked, writer_open(&out), &msg),
                 ERR_OK);
    cJSON *got = writer_close(&out);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        cr_expect(cJSON_Compare(json_get(want, keys[i]), json_get(got, keys[i]),
                                true) ||
                      (!json_get(want, keys[i]) && !json_get(got, keys[i])),
                  "%s of %s", keys[i], line);
    cJSON_Delete(want);
    cJSON_Delete(got);
    arena_clear(&a);
}

Test(pattern, agrees_with_the_shared_vectors)
{
    struct arena a;
    struct text_span text;
    struct err_msg msg;
    int n = 0;
    arena_init(&a);
    if (text_read_file(&a, VECTORS, 1 << 20, &text, &msg) != ERR_OK)
        cr_skip_test("shared vectors are not here: %s", VECTORS);
    for (char *rest = text.data, *line; (line = strtok_r(rest, "\n", &rest));
         n++)
        check_vector(line);
    cr_assert_eq(n, 120);
    arena_clear(&a);
}
