#include "base/random.h"
#include "base/text.h"
#include "layout/layout.h"
#include "pattern/checkpoint.h"
#include "pattern/lines.h"
#include "pattern/translate.h"

#include <criterion/criterion.h>
#include <string.h>

static const char VECTORS[] =
    "../shared/vectors/hybrid_translation_vectors.jsonl";

/* ---- closed cases ---- */

/* Of a layout that is valid as it stands. */
static enum translate_error to_pattern(struct arena *a, const char *text,
                                       int pp, struct gpt_layers layers,
                                       const char **out)
{
    struct layout l;
    struct err_msg msg;
    int n_mtp = 0;
    for (const char *p = text; *p; p++)
        n_mtp += *p == 'm';
    const struct layout_question q = {text, pp, (int)strlen(layers.moe), n_mtp};
    cr_assert_eq(layout_read_question(a, &q, &l, &msg), ERR_OK, "%s", msg.text);
    return translate_to_pattern(a, &l, &layers, out, &msg);
}

static enum translate_error to_layout(struct arena *a, const char *text, int pp,
                                      const char **out,
                                      struct gpt_layers *layers)
{
    struct pattern p;
    struct layout l;
    struct err_msg msg;
    const struct pattern_flags f = {.pattern = text, .pp = pp};
    cr_assert_eq(pattern_read(a, &f, &p, &msg), PATTERN_OK, "%s", msg.text);
    enum translate_error e = translate_to_layout(a, &p, &l, layers, &msg);
    *out = e == TRANSLATE_OK ? translate_plain(a, &l) : "";
    return e;
}

Test(translate, layouts_with_and_without_a_pattern)
{
    static const struct {
        const char *layout;
        int pp;
        struct gpt_layers layers;
        const char *pattern;
        enum translate_error e;
    } all[] = {
        {"Et|tL", 2, {"de", "**"}, "*-|*E", TRANSLATE_OK},
        {"E|tt|mL", 3, {"ee", "++"}, "|+E+E|/+E", TRANSLATE_OK},
        {"Et|tL", 2, {"dd", "G*"}, "G-|*-", TRANSLATE_OK},
        {"Ett|m|L", 3, {"ee", "**"}, "", TRANSLATE_MTP},
        {"|Et|t|tL", 2, {"eee", "***"}, "", TRANSLATE_FIRST},
        {"Et|tt|tL|", 2, {"eeee", "****"}, "", TRANSLATE_LAST},
        {"E|L", 2, {"", ""}, "", TRANSLATE_NO_LAYERS},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct arena a;
        const char *got = "";
        arena_init(&a);
        enum translate_error e =
            to_pattern(&a, all[i].layout, all[i].pp, all[i].layers, &got);
        cr_expect_eq(e, all[i].e, "%s: %s", all[i].layout,
                     translate_error_id(e));
        cr_expect_str_eq(got, all[i].pattern, "%s", all[i].layout);
        arena_clear(&a);
    }
}

/* Both ways to write a layout of a hybrid model, and what has no pattern. */
Test(translate, layouts_of_hybrid_models_are_read_both_ways)
{
    static const struct {
        const char *symbols, *mtp, *text, *want; // NULL: refused
    } all[] = {
        {"*E*E*E", NULL, "Et*2|tL", "*E*E|*E"},
        {"*E*E*E", NULL, "*E*|E*E", "*E*|E*E"},
        {"+-DE", "DE", "E|ttmL", "|+-DE/DE"},
        {"*E*E", NULL, "Ett|L,|", NULL},  // the loss is not last
        {"*E*E", "*E", "Ett|m|L|", NULL}, // MTP away from the loss
        {"*E*E", NULL, "Et|ttL", NULL},   // a layer too many
        {"M*ME", NULL, "Et|tL", NULL},    // no pairs
        {"*E*", NULL, "Et|L", NULL},      // half a pair
        {"*E*E", NULL, "*E|*X", NULL},    // neither
        {"*E*E", NULL, "Ett|L|", NULL},   // three stages of two ranks
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct arena a;
        struct layout l;
        struct err_msg msg = {""};
        struct model m = {.n_layers = (int)strlen(all[i].symbols),
                          .n_mtp = all[i].mtp ? 1 : 0,
                          .symbols = all[i].symbols,
                          .mtp_symbols = all[i].mtp,
                          .par = {.pp = 2, .vpp = 1}};
        arena_init(&a);
        const enum err e = translate_read(&a, all[i].text, &m, &l, &msg);
        cr_expect_eq(e, all[i].want ? ERR_OK : ERR_RANGE, "%s of %s: %s",
                     all[i].text, all[i].symbols, msg.text);
        cr_expect(e == ERR_OK || *msg.text);
        if (e == ERR_OK && all[i].want)
            cr_expect_str_eq(layout_text(&a, &l, &m), all[i].want);
        arena_clear(&a);
    }
}

Test(translate, patterns_with_and_without_a_layout)
{
    static const struct {
        const char *pattern;
        int pp;
        const char *layout;
        enum translate_error e;
    } all[] = {
        {"*-*E|*E", 2, "Ett|tL", TRANSLATE_OK},
        {"*-*E*E*E", 2, "Ett|ttL", TRANSLATE_OK},
        {"GE*E/*E", 1, "EttmL", TRANSLATE_OK},
        {"*E-", 1, "", TRANSLATE_NOT_GPT},
        {"E*", 1, "", TRANSLATE_NOT_GPT},
        {"*M", 1, "", TRANSLATE_NOT_GPT},
        {"+EDE", 1, "", TRANSLATE_MIXED},
        {"GE+E", 1, "", TRANSLATE_MIXED},
        {"*-*E/*-", 1, "", TRANSLATE_MTP_DIFFERS},
        {"*E*|E", 2, "", TRANSLATE_CUT},
        {"*E*E*E", 2, "", TRANSLATE_CUT},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct arena a;
        struct gpt_layers layers;
        const char *got;
        arena_init(&a);
        enum translate_error e =
            to_layout(&a, all[i].pattern, all[i].pp, &got, &layers);
        cr_expect_eq(e, all[i].e, "%s: %s", all[i].pattern,
                     translate_error_id(e));
        cr_expect_str_eq(got, all[i].layout, "%s", all[i].pattern);
        arena_clear(&a);
    }
}

Test(translate, lists_of_layers)
{
    struct arena a;
    arena_init(&a);
    cr_assert_str_eq(translate_freq(&a, "dddee", 'e'), "([0]*3+[1]*2)");
    cr_assert_str_eq(translate_freq(&a, "G", 'G'), "([1]*1)");
    cr_assert_str_eq(translate_freq(&a, "*G*", 'G'), "([0]*1+[1]*1+[0]*1)");
    arena_clear(&a);
}

/* ---- there and back ---- */

enum { N_ROUND_TRIPS = 5000 };

static size_t below(uint64_t *state, size_t n)
{
    return random_next(state) % n;
}

/* Any layout that a pattern can say comes back as it was, with its layers. */
Test(translate, there_and_back)
{
    uint64_t r = 20261202;
    for (int i = 0; i < N_ROUND_TRIPS; i++) {
        struct arena a;
        struct gpt_layers back;
        char text[80] = "E", moe[40] = "";
        size_t n = 1 + below(&r, 12), len = 1;
        for (size_t t = 0; t < n; t++) {
            while (below(&r, 3) == 0 && len < 50)
                text[len++] = '|';
            text[len++] = 't';
            moe[t] = below(&r, 2) ? 'e' : 'd';
        }
        for (size_t bars = below(&r, 3); bars; bars--)
            text[len++] = '|';
        for (size_t m = below(&r, 3); m; m--)
            text[len++] = 'm';
        text[len] = 'L';
        int stages = 1;
        for (size_t k = 0; k < len; k++)
            stages += text[k] == '|';
        arena_init(&a);
        char attention[40] = "";
        memset(attention, "*+D"[below(&r, 3)], n);
        const char *pattern = "", *again;
        const struct gpt_layers layers = {moe, attention};
        cr_assert_eq(to_pattern(&a, text, stages, layers, &pattern),
                     TRANSLATE_OK, "%s", text);
        cr_assert_eq(to_layout(&a, pattern, stages, &again, &back),
                     TRANSLATE_OK, "%s", pattern);
        cr_assert_str_eq(again, text);
        cr_assert_str_eq(back.moe, moe);
        cr_assert_str_eq(back.attention, attention);
        arena_clear(&a);
    }
}

/* ---- checkpoints ---- */

Test(checkpoint, what_a_pattern_can_follow)
{
    static const struct {
        const char *pattern;
        enum checkpoint_reason r;
    } all[] = {{"*-*-", CHECKPOINT_LOADS},   {"M*EM*E", CHECKPOINT_LOADS},
               {"*E*E/*E", CHECKPOINT_MTP},  {"+E+E", CHECKPOINT_SYMBOLS},
               {"GE*E", CHECKPOINT_SYMBOLS}, {"*-*E", CHECKPOINT_MIXED},
               {"**E", CHECKPOINT_COUNTS},   {"MM", CHECKPOINT_COUNTS},
               {"*E*E/+D", CHECKPOINT_MTP}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct arena a;
        struct pattern p;
        struct err_msg msg;
        arena_init(&a);
        const struct pattern_flags f = {.pattern = all[i].pattern, .pp = 1};
        cr_assert_eq(pattern_read(&a, &f, &p, &msg), PATTERN_OK);
        enum checkpoint_reason r = checkpoint_of_gpt(&p);
        cr_expect_eq(r, all[i].r, "%s: %s", all[i].pattern, checkpoint_text(r));
        arena_clear(&a);
    }
}

/* ---- vectors ---- */

static void check_vector(const char *line)
{
    static const char *const keys[2][6] = {
        {"pattern", "error", "vpp", "segments", "mtp", "mtp_depths"},
        {"layout", "moe", "attention", "error", "error", "error"}};
    struct arena a;
    struct err_msg msg;
    struct reader_doc in;
    struct writer_doc out;
    cJSON *want = cJSON_Parse(line);
    int dir = json_get(want, "dir")->valuestring[0] == 'p';
    arena_init(&a);
    struct reader top = reader_open_text(&in, &a, line, "vectors", &msg);
    cr_assert_eq(translate_line_answer(&a, top, writer_open(&out), &msg),
                 ERR_OK, "%s", msg.text);
    cr_assert_eq(reader_close(&in), ERR_OK);
    cJSON *got = writer_close(&out);
    for (size_t i = 0; i < 6; i++)
        cr_expect(cJSON_Compare(json_get(want, keys[dir][i]),
                                json_get(got, keys[dir][i]), true),
                  "%s of %s", keys[dir][i], line);
    cJSON_Delete(want);
    cJSON_Delete(got);
    arena_clear(&a);
}

Test(translate, agrees_with_the_shared_vectors)
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
    cr_assert_eq(n, 30);
    arena_clear(&a);
}
