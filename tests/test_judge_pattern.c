#include "judge_ask.h"

#define PATTERN "--hybrid-layer-pattern "
#define ROPE " --position-embedding-type rope "

/* Flags, version, the rule that refuses ("" for none). */
static const struct {
    const char *flags, *core, *rule;
} hybrids[] = {
    {PATTERN "M*|ME " PP "2", "0.19", ""},
    {PATTERN "M*|ME/*E " PP "2" ROPE, "0.17", ""},
    {PATTERN "M*|ME/*E " PP "2", "0.19", "mtp_position_embedding"},
    {PATTERN "M*|ME " PP "2", "0.16", "core_version"},
    {PATTERN "M+|ME " PP "2", "0.18", "main_symbol"},
    {PATTERN "MD|ME " PP "2", "0.18", ""},
    {PATTERN "MD|ME " PP "2", "0.17", "main_symbol"},
    {PATTERN "M*|ME " PP "2 " FIRST "2", "0.19", "first_with_pipes"},
    {PATTERN "M*ME " PP "2 " FIRST "0", "0.19", "first_not_positive"},
    {PATTERN "M*ME " PP "2 " FIRST "3", "0.19", ""},
    {PATTERN "M*-EM* " PP "3 " FIRST "4 " LAST "4", "0.19", "not_covering"},
    {PATTERN "M*|ME " PP "2 " VPP "2", "0.19", "virtual_stages_flag"},
    {PATTERN "M*|ME " PP "2 " LAYOUT "Et|tL", "0.19", "layout_flag"},
    {PATTERN "M*|ME --hybrid-override-pattern M* " PP "2", "0.19",
     "both_patterns"},
    {PATTERN "M*|ME|M|M " PP "2 --no-overlap-p2p-communication", "0.19",
     "virtual_needs_pp3"},
    {PATTERN "*E|*E " PP "2 --overlap-moe-expert-parallel-comm", "0.19",
     "EP overlap: hybrid model"},
    // rules of GPT models alone are not asked
    {PATTERN "*E|*E|*E " PP "3 --num-experts 8 --moe-layer-freq ([1]*7)",
     "0.19", ""},
    {"--hybrid-override-pattern M*-M --num-layers 4 " PP "2", "0.15", ""},
    {"--hybrid-override-pattern M*-M --num-layers 4 --is-hybrid-model", "0.14",
     ""},
    {"--hybrid-override-pattern M*-E --num-layers 4 " PP "2", "0.15",
     "main_symbol"},
    {"--hybrid-override-pattern M*-M --num-layers 4 " PP "2 " VPP "2", "0.16",
     "virtual_stages"},
    {"--hybrid-override-pattern M*-M --num-layers 4 " PP "2 " VPP "1", "0.16",
     ""},
    {"--hybrid-override-pattern M*-MM --num-layers 4", "0.16",
     "pattern_length"},
};

Test(judge_pattern, hybrid_patterns_by_version)
{
    for (size_t i = 0; i < sizeof hybrids / sizeof hybrids[0]; i++) {
        struct asked q;
        ask(&q, hybrids[i].flags, hybrids[i].core, false);
        cr_expect_eq(q.e, ERR_OK, "%s: %s", hybrids[i].flags, q.msg.text);
        const char *rule = q.v.valid || !q.v.refusals ? "" : q.v.refusals->rule;
        cr_expect_str_eq(rule, hybrids[i].rule, "%s by %s", hybrids[i].flags,
                         hybrids[i].core);
        cr_expect(q.v.valid == !*hybrids[i].rule, "%s", hybrids[i].flags);
        cr_expect(!q.v.valid || (q.v.has_layout && q.v.pattern));
        arena_clear(&q.a);
    }
}

Test(judge_pattern, a_pattern_that_is_not_known_is_asked_for)
{
    struct asked q;
    ask(&q, PATTERN "? " PP "2", "0.19", true);
    cr_assert_eq(q.e, ERR_PARSE);
    cr_assert(strstr(q.msg.text, "--hybrid-layer-pattern: run.sh:3"), "%s",
              q.msg.text);
    arena_clear(&q.a);
    // before 0.17 the number of layers is its own flag
    ask(&q, "--hybrid-override-pattern M* " PP "2", "0.16", true);
    cr_assert_eq(q.e, ERR_PARSE);
    arena_clear(&q.a);
    ask(&q, "--hybrid-override-pattern M* " PP "2", "0.17", true);
    cr_assert(q.e == ERR_OK && q.v.valid);
    cr_assert(warned(&q.v, "is deprecated"));
    arena_clear(&q.a);
}

Test(judge_pattern, proposals_are_judged_by_dev_alone)
{
    struct asked q;
    static const char two[] =
        "--num-layers 2 --mtp-num-layers 2" ROPE PP "4 " LAYOUT "Et|tm|m|L";
    ask(&q, two, "0.20", false);
    cr_assert(q.e == ERR_OK && !q.v.valid);
    cr_assert_eq(q.v.layout_error, LAYOUT_M_SPLIT);
    cr_assert(warned(&q.v, "--core dev"));
    arena_clear(&q.a);
    ask(&q, two, "dev", false);
    cr_assert(q.e == ERR_OK && q.v.valid);
    cr_assert(warned(&q.v, "in no release"));
    arena_clear(&q.a);
    ask(&q, "--num-layers 2 " PP "2 " LAYOUT "EtL|tL", "dev", false);
    cr_assert(!q.v.valid && !warned(&q.v, "proposal"));
    arena_clear(&q.a);
}

/* Two segments a rank: micro-batches come in groups of three. */
Test(judge_pattern, bars_make_virtual_stages_of_a_launch)
{
    static const char line[] =
        PATTERN "M*|ME|M|M|M|M --num-experts 8 --micro-batch-size 1 " PP
                "3 " WORLD "3 " GBS;
    struct asked q;
    for (int batch = 4; batch <= 6; batch += 2) {
        char flags[300];
        snprintf(flags, sizeof flags, "%s%d", line, batch);
        ask(&q, flags, "0.19", true);
        cr_assert_eq(q.e, ERR_OK, "%s", q.msg.text);
        cr_expect_eq(q.v.valid, batch == 6);
        cr_expect(q.v.valid || strstr(q.v.refusals->text, "in groups of 3"),
                  "%d", batch);
        arena_clear(&q.a);
    }
}
