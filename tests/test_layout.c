#include "base/json.h"
#include "base/text.h"
#include "layout/layout.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char VECTORS[] = "../shared/vectors/layout_vectors.jsonl";

static enum layout_error judge(struct arena *a, const char *text, int pp,
                               int layers, int mtp, struct layout *l)
{
    struct err_msg msg;
    enum layout_error e = layout_parse(a, text, pp, l, &msg);
    return e == LAYOUT_OK ? layout_validate(l, layers, mtp, &msg) : e;
}

/* Megatron's grammar, quirk by quirk: text, PP, then the stages as joined by
 * bars, or the error. */
static const struct {
    const char *text;
    int pp;
    const char *stages;
    enum layout_error error;
} grammar[] = {
    {"Et*3|t*2mL", 2, "Ettt|ttmL", LAYOUT_OK},
    {"E,t,*,3,|,L", 2, "Ettt|L", LAYOUT_OK},
    {"Et*1,0L", 1, "EttttttttttL", LAYOUT_OK},
    {"(t|)*2*3", 1, "t|t|||", LAYOUT_OK},
    {"(tt)*2*3", 1, "tttttt", LAYOUT_OK},
    {"t*(1)*2", 1, "ttttttttttt", LAYOUT_OK},
    {"E((*0t)*2L", 1, "EttL", LAYOUT_OK},
    {"E *0L", 1, "EL", LAYOUT_OK},
    {"Et|*2L", 1, "Et||L", LAYOUT_OK},
    {"t*10*2", 1, NULL, LAYOUT_BAD_CHAR},
    {"()*3", 1, NULL, LAYOUT_BAD_CHAR},
    {"*3t", 1, NULL, LAYOUT_BAD_CHAR},
    {"e|L", 1, NULL, LAYOUT_BAD_CHAR},
    {"E\xff", 1, NULL, LAYOUT_BAD_CHAR},
    {"Et*\xd9\xa3L", 1, "EtttL", LAYOUT_OK}, // an Arabic-Indic three
    {"Et*99999999999999999999999L", 1, NULL, LAYOUT_TOO_LARGE},
    {"E|t|L", 2, NULL, LAYOUT_NOT_DIVISIBLE},
    {"", 1, "", LAYOUT_OK},
};

Test(layout, follows_megatron_grammar)
{
    for (size_t i = 0; i < sizeof grammar / sizeof grammar[0]; i++) {
        struct arena a;
        struct layout l;
        struct err_msg msg;
        arena_init(&a);
        enum layout_error e =
            layout_parse(&a, grammar[i].text, grammar[i].pp, &l, &msg);
        cr_assert_eq(e, grammar[i].error, "'%s': %s", grammar[i].text,
                     layout_error_id(e));
        const char *got = "";
        for (int s = 0; e == LAYOUT_OK && s < l.n_stages; s++)
            got = arena_printf(&a, "%s%s%s", got, s ? "|" : "", l.units[s]);
        if (grammar[i].stages)
            cr_assert_str_eq(got, grammar[i].stages, "'%s'", grammar[i].text);
        arena_clear(&a);
    }
}

static const struct {
    const char *text;
    int pp, layers, mtp;
    enum layout_error error;
} checks[] = {
    {"Et*5|t*6|t*5|mL", 4, 16, 1, LAYOUT_OK},
    {"|", 1, 0, 0, LAYOUT_EMPTY},
    {"tE|L", 2, 1, 0, LAYOUT_FIRST_NOT_E},
    {"E|Lt", 2, 1, 0, LAYOUT_LAST_NOT_L},
    {"EtE|L", 2, 1, 0, LAYOUT_E_COUNT},
    {"EtL|L", 2, 1, 0, LAYOUT_L_COUNT},
    {"Et|L", 2, 2, 0, LAYOUT_T_COUNT},
    {"Et|mL", 2, 1, 2, LAYOUT_M_COUNT},
    {"Em|tL", 2, 1, 1, LAYOUT_T_AFTER_M},
    {"E|t|m|tL", 2, 2, 1, LAYOUT_T_AFTER_M},
    {"E|tm|t|L", 2, 2, 1, LAYOUT_T_AFTER_M},
    {"E|ttm||L", 2, 2, 1, LAYOUT_M_NOT_LAST_VPP},
    {"Et|m|mL", 3, 1, 2, LAYOUT_M_SPLIT},
    {"Et|m|L", 3, 1, 1, LAYOUT_OK},
};

Test(layout, validates_in_megatron_order)
{
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        struct arena a;
        struct layout l;
        arena_init(&a);
        enum layout_error e = judge(&a, checks[i].text, checks[i].pp,
                                    checks[i].layers, checks[i].mtp, &l);
        cr_assert_eq(e, checks[i].error, "'%s': got %s, want %s",
                     checks[i].text, layout_error_id(e),
                     layout_error_id(checks[i].error));
        arena_clear(&a);
    }
}

static void check_vector(const cJSON *v)
{
    struct arena a;
    struct layout l = {0};
    arena_init(&a);
    const cJSON *mtp = json_get(v, "mtp_num_layers");
    const char *text = json_get(v, "layout")->valuestring;
    enum layout_error e =
        judge(&a, text, json_get(v, "pp")->valueint,
              json_get(v, "num_layers")->valueint, mtp ? mtp->valueint : 0, &l);
    cr_expect_str_eq(layout_error_id(e), json_get(v, "error")->valuestring,
                     "'%s'", text);
    cr_expect_eq(l.vpp, json_get(v, "vpp")->valueint, "'%s'", text);
    const cJSON *stages = json_get(v, "stages");
    cr_expect_eq(l.n_stages, cJSON_GetArraySize(stages), "'%s'", text);
    const cJSON *stage;
    int s = 0;
    cJSON_ArrayForEach(stage, stages)
    {
        const cJSON *unit;
        const char *p = l.units[s++];
        cJSON_ArrayForEach(unit, stage)
            cr_expect_eq(*p++, unit->valuestring[0], "'%s'", text);
        cr_expect_eq(*p, '\0', "'%s'", text);
    }
    bool standalone = e == LAYOUT_OK && layout_mtp_standalone(&l);
    cr_expect_eq(standalone, cJSON_IsTrue(json_get(v, "mtp_standalone")),
                 "'%s'", text);
    arena_clear(&a);
}

Test(layout, agrees_with_every_shared_vector)
{
    struct arena a;
    struct text_span text;
    struct err_msg msg;
    arena_init(&a);
    if (text_read_file(&a, VECTORS, 1 << 24, &text, &msg) != ERR_OK)
        cr_skip_test("%s is not there", VECTORS);
    int n = 0;
    char *rest = text.data;
    for (char *line; (line = strtok_r(rest, "\n", &rest)); n++) {
        cJSON *v = NULL;
        cr_assert_eq(json_parse(line, VECTORS, &v, &msg), ERR_OK, "%s",
                     msg.text);
        check_vector(v);
        cJSON_Delete(v);
    }
    cr_assert_eq(n, 200);
    arena_clear(&a);
}

Test(layout, printed_string_parses_to_the_same_stages)
{
    static const char *const texts[] = {
        "Et*4|t*4|t*4|t*4mL",  "Et*4|t*5|t*5|t*2mL",    "Et*7|(t*8|)*6t*6mL",
        "Et*3|(t*4|)*14t*2mL", "Et*5|(t*4|)*13t*3|tmL", "E|t|||mmL",
    };
    static const int pp[] = {4, 4, 8, 16, 16, 5};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct arena a;
        struct layout l, again;
        struct err_msg msg;
        arena_init(&a);
        cr_assert_eq(layout_parse(&a, texts[i], pp[i], &l, &msg), LAYOUT_OK);
        const char *text = layout_string(&a, &l);
        cr_assert_eq(layout_parse(&a, text, pp[i], &again, &msg), LAYOUT_OK);
        for (int s = 0; s < l.n_stages; s++)
            cr_assert_str_eq(again.units[s], l.units[s], "%s", text);
        if (i < 5)
            cr_assert_str_eq(text, texts[i]);
        arena_clear(&a);
    }
}

Test(layout, list_names_units_as_megatron_bridge_does)
{
    struct arena a;
    struct layout l;
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(layout_parse(&a, "Et|mL", 2, &l, &msg), LAYOUT_OK);
    cr_assert_str_eq(layout_list(&a, &l),
                     "[[\"embedding\", \"decoder\"], [\"mtp\", \"loss\"]]");
    arena_clear(&a);
}

Test(layout, kinds_follow_the_layer_index)
{
    struct arena a;
    struct layout l;
    struct err_msg msg;
    static const uint8_t moe[] = {0, 1, 1, 0};
    const struct model m = {
        .n_layers = 4, .n_mtp = 1, .n_experts = 2, .layer_moe = moe};
    int k[N_KINDS];
    arena_init(&a);
    cr_assert_eq(
        layout_read_question(
            &a, &(struct layout_question){"Et|tt|tmL", 3, m.n_layers, m.n_mtp},
            &l, &msg),
        ERR_OK);
    layout_stage_kinds(&l, &m, 0, k);
    cr_assert(k[KIND_E] == 1 && k[KIND_T_DENSE] == 1 && k[KIND_T] == 0);
    layout_stage_kinds(&l, &m, 1, k);
    cr_assert(k[KIND_T] == 2 && k[KIND_T_DENSE] == 0);
    layout_stage_kinds(&l, &m, 2, k);
    cr_assert(k[KIND_T_DENSE] == 1 && k[KIND_M] == 1 && k[KIND_L] == 1);
    cr_assert_eq(layout_first_layer(&l, 2), 3);
    arena_clear(&a);
}

Test(layout, warnings_name_what_hurts)
{
    struct arena a;
    struct layout l;
    struct err_msg msg;
    const char *texts[LAYOUT_MAX_WARNINGS];
    arena_init(&a);
    layout_parse(&a, "Et*5|t*6|t*5|mL", 4, &l, &msg);
    cr_assert_eq(layout_warnings(&l, texts), 0);
    layout_parse(&a, "Et*5|t*11|m|L", 4, &l, &msg);
    cr_assert_eq(layout_warnings(&l, texts), 1);
    cr_assert_not(layout_has_empty(&l));
    layout_parse(&a, "|Et||L", 4, &l, &msg);
    cr_assert_eq(layout_warnings(&l, texts), 1);
    cr_assert(layout_has_empty(&l));
    arena_clear(&a);
}

/* Not a verdict on the layout. The arena and the expansion are mapped anew, so
 * that a limit of nothing more fails them. */
Test(layout, out_of_memory_is_no_verdict)
{
#if defined(__SANITIZE_ADDRESS__)
    cr_skip("AddressSanitizer ends a program that runs out of memory");
#else
    struct arena a;
    struct layout l;
    struct err_msg msg = {""};
    const struct model m = {.n_layers = 1};
    struct rlimit was, none;
    arena_init(&a);
    cr_assert_eq(getrlimit(RLIMIT_AS, &was), 0);
    none = was;
    none.rlim_cur = 1 << 20;
    cr_assert_eq(setrlimit(RLIMIT_AS, &none), 0);
    enum layout_error parsed = layout_parse(&a, "EtL", 1, &l, &msg);
    enum err e = layout_read_question(
        &a, &(struct layout_question){"EtL", 1, m.n_layers, m.n_mtp}, &l, &msg);
    cr_assert_eq(setrlimit(RLIMIT_AS, &was), 0);
    cr_assert_eq(parsed, LAYOUT_NO_MEMORY);
    cr_assert_eq(e, ERR_NOMEM);
    cr_assert(strstr(msg.text, "out of memory"), "%s", msg.text);
    arena_clear(&a);
#endif
}
