#include "layout/default_split.h"
#include "small_model.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Flags, then the layout or a word of Megatron's reason with what would do. */
static const struct {
    int n_layers, n_mtp, pp, vpp;
    struct default_split split;
    const char *layout, *reason, *want;
} rows[] = {
    // even
    {16, 1, 4, 1, {0}, "Et*4|t*4|t*4|t*4mL", NULL, NULL},
    {8, 0, 1, 1, {0}, "Et*8L", NULL, NULL},
    {3, 2, 3, 1, {0}, "Et|t|tm*2L", NULL, NULL},
    {8, 1, 2, 2, {0}, "Et*2|t*2|t*2|t*2mL", NULL, NULL},
    {8, 0, 2, 2, {.chunk_layers = 2}, "Et*2|t*2|t*2|t*2L", NULL, NULL},
    {61, 1, 8, 1, {0}, NULL, "not divisible", "want --num-layers 56 or 64"},
    {12, 0, 4, 2, {0}, NULL, "degree 2", "want --num-layers 8 or 16"},
    {8, 0, 1, 2, {0}, NULL, "two ranks or more", "more"},
    {8,
     0,
     2,
     1,
     {.chunk_layers = 3},
     NULL,
     "stage 3",
     "want --num-layers 6 or 12, or "
     "--num-layers-per-virtual-pipeline-stage 2 or 4"},
    {8,
     0,
     2,
     3,
     {.virtual_stages = true},
     NULL,
     "(--num-virtual-stages-per-pipeline-rank)",
     "want --num-layers 6 or 12, or "
     "--num-virtual-stages-per-pipeline-rank 2 or 4"},
    // with E or L counted
    {15, 0, 4, 1, {.count_loss = true}, "Et*4|t*4|t*4|t*3L", NULL, NULL},
    {15, 0, 4, 1, {.count_embedding = true}, "Et*3|t*4|t*4|t*4L", NULL, NULL},
    {14,
     2,
     4,
     1,
     {.count_embedding = true, .count_loss = true},
     "Et*3|t*4|t*4|t*3m*2L",
     NULL,
     NULL},
    {14,
     0,
     2,
     4,
     {.count_embedding = true, .count_loss = true},
     "Et|(t*2|)*6tL",
     NULL,
     NULL},
    {2,
     0,
     2,
     2,
     {.count_embedding = true, .count_loss = true},
     "E|t|t|L",
     NULL,
     NULL},
    {5, 0, 1, 1, {.count_embedding = true, .count_loss = true}, "Et*5L", 0, 0},
    {16,
     0,
     4,
     1,
     {.count_loss = true},
     NULL,
     "accounted for",
     "want --num-layers 15 or 19"},
    // with fixed ends
    {16, 0, 4, 1, {.first_layers = 1}, "Et|t*5|t*5|t*5L", NULL, NULL},
    {16, 0, 4, 1, {.last_layers = 1}, "Et*5|t*5|t*5|tL", NULL, NULL},
    {16,
     1,
     4,
     1,
     {.first_layers = 3, .last_layers = 3},
     "Et*3|t*5|t*5|t*3mL",
     NULL,
     NULL},
    {8, 0, 2, 1, {.first_layers = 3}, "Et*3|t*5L", NULL, NULL},
    {8, 0, 2, 1, {.first_layers = 3, .last_layers = 5}, "Et*3|t*5L", 0, 0},
    {8, 0, 1, 1, {.last_layers = 8}, "Et*8L", NULL, NULL},
    {8, 0, 1, 1, {.first_layers = 8}, "Et*8L", NULL, NULL},
    {14,
     0,
     3,
     2,
     {.first_layers = 2, .last_layers = 4},
     "Et|t*4|t*2|t|t*4|t*2L",
     NULL,
     NULL},
    {16,
     0,
     4,
     1,
     {.first_layers = 2},
     NULL,
     "14 layers between the fixed ends are not divisible by 3",
     "want --decoder-first-pipeline-num-layers 1 or 4"},
    {8,
     0,
     2,
     1,
     {.first_layers = 3, .last_layers = 3},
     NULL,
     "leave 2 layers for 0 middle stages",
     "want --decoder-first-pipeline-num-layers 5"},
    {8,
     0,
     4,
     1,
     {.first_layers = 4, .last_layers = 4},
     NULL,
     "leave 0 layers for 2 middle stages",
     "want --decoder-first-pipeline-num-layers 2"},
    {8, 0, 1, 1, {.first_layers = 5}, NULL, "leave 3 layers", "layers 8"},
    {14,
     0,
     3,
     2,
     {.first_layers = 3},
     NULL,
     "(--decoder-first-pipeline-num-layers) is not divisible",
     "want --decoder-first-pipeline-num-layers 2 or 6"},
    {14,
     0,
     3,
     4,
     {.first_layers = 4, .last_layers = 4},
     NULL,
     "and their virtual stages",
     "want --num-layers 12 or 16"},
    {16, 0, 4, 1, {.first_layers = 1, .count_loss = true}, 0, "exclude", ""},
    {8, 0, 2, 1, {.first_layers = 2, .chunk_layers = 2}, 0, "exclude", ""},
    {8, 0, 1, 1, {.first_layers = 4, .last_layers = 4}, 0, "no two ends", ""},
};

static struct model model_of(int i)
{
    struct model m = small_model();
    m.n_layers = rows[i].n_layers;
    m.n_mtp = rows[i].n_mtp;
    m.par.pp = rows[i].pp;
    m.par.vpp = rows[i].vpp;
    m.split = rows[i].split;
    return m;
}

Test(default_split, follows_megatrons_flags)
{
    for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
        struct arena a;
        struct layout l;
        struct err_msg msg = {""};
        struct model m = model_of(i);
        arena_init(&a);
        enum err e = default_split_layout(&a, &m, m.par.pp, &l, &msg);
        if (rows[i].layout) {
            cr_expect_eq(e, ERR_OK, "%d: %s", i, msg.text);
            if (e == ERR_OK)
                cr_expect_str_eq(layout_string(&a, &l), rows[i].layout, "%d",
                                 i);
        } else {
            cr_expect_eq(e, ERR_MODEL, "%d", i);
            cr_expect(strstr(msg.text, "refuses its default split"), "%s",
                      msg.text);
            cr_expect(strstr(msg.text, rows[i].reason), "%d: %s", i, msg.text);
            cr_expect(strstr(msg.text, rows[i].want), "%d: %s", i, msg.text);
        }
        arena_clear(&a);
    }
}

Test(default_split, a_layout_excludes_all_of_its_flags)
{
    static const struct default_split each[] = {
        {.first_layers = 1},       {.last_layers = 1},   {.chunk_layers = 1},
        {.count_embedding = true}, {.count_loss = true}, {.virtual_stages = 1}};
    struct model m = small_model();
    struct err_msg msg;
    cr_assert_eq(default_split_excludes(&m, &msg), ERR_OK);
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        m.split = each[i];
        cr_expect_eq(default_split_excludes(&m, &msg), ERR_MODEL, "%zu", i);
    }
}

/* ---- Megatron's rule over again, as its code asks it of each stage ---- */

enum { REFUSED = -1, MAX_STAGES = 64 };

/* Layers that rank `rank` builds in all its chunks together. */
static int rank_layers(const struct model *m, int pp, int rank)
{
    const struct default_split *s = &m->split;
    int layers = m->n_layers, stages = pp;
    if (!s->first_layers && !s->last_layers) {
        layers += (s->count_embedding ? 1 : 0) + (s->count_loss ? 1 : 0);
        return layers % pp ? REFUSED : layers / pp;
    }
    if (s->count_embedding || s->count_loss)
        return REFUSED;
    if (s->first_layers) {
        layers -= s->first_layers;
        stages--;
    }
    if (s->last_layers) {
        layers -= s->last_layers;
        stages--;
    }
    if (layers < 0 || stages < 0 || (layers == 0) != (stages == 0))
        return REFUSED;
    if (rank == pp - 1 && s->last_layers)
        return s->last_layers;
    if (rank == 0 && s->first_layers)
        return s->first_layers;
    return layers % stages ? REFUSED : layers / stages;
}

static int stage_layers(const struct model *m, int pp, int vpp, int stage)
{
    int rank = stage % pp, chunk = stage / pp;
    int n = rank_layers(m, pp, rank);
    if (n == REFUSED || n % vpp)
        return REFUSED;
    n /= vpp;
    if (m->split.count_embedding && rank == 0 && chunk == 0)
        n--;
    if (m->split.count_loss && rank == pp - 1 && chunk == vpp - 1)
        n--;
    return n;
}

static int draw(unsigned *state, int n)
{
    *state = *state * 1103515245U + 12345U;
    return (int)(*state >> 16) % n;
}

Test(default_split, is_what_each_stage_of_megatron_works_out_for_itself)
{
    unsigned state = 7;
    int n_taken = 0;
    for (int round = 0; round < 40000; round++) {
        struct model m = small_model();
        int got[MAX_STAGES], want[MAX_STAGES], sum = 0;
        int pp = 1 + draw(&state, 6), vpp = pp > 1 ? 1 + draw(&state, 3) : 1;
        bool taken = true;
        m.n_layers = 1 + draw(&state, 30);
        m.par.vpp = vpp;
        m.split.first_layers = draw(&state, 2) ? draw(&state, 9) : 0;
        m.split.last_layers = draw(&state, 2) ? draw(&state, 9) : 0;
        m.split.count_embedding = draw(&state, 4) == 0;
        m.split.count_loss = draw(&state, 4) == 0;
        for (int s = 0; s < pp * vpp; s++) {
            want[s] = stage_layers(&m, pp, vpp, s);
            taken = taken && want[s] != REFUSED;
        }
        enum err e = default_split_layers(&m, pp, got, NULL);
        cr_assert_eq(e == ERR_OK, taken,
                     "%d layers, PP %d, VPP %d, ends %d %d, counted %d %d",
                     m.n_layers, pp, vpp, m.split.first_layers,
                     m.split.last_layers, m.split.count_embedding,
                     m.split.count_loss);
        for (int s = 0; s < pp * vpp && taken; s++) {
            cr_assert_eq(got[s], want[s]);
            sum += got[s];
        }
        cr_assert_eq(sum, taken ? m.n_layers : 0);
        n_taken += taken;
    }
    cr_assert_gt(n_taken, 1000, "%d splits taken", n_taken);
}

/* What a pattern without bars is split into, and what its user can do where
 * Megatron refuses: the layers are given. */
Test(default_split, a_pattern_wants_bars_where_it_does_not_divide)
{
    static const struct {
        int pp, vpp, first;
        const char *why, *what; // NULL: taken
    } patterns[] = {
        {4, 1, 0, NULL, NULL},
        {4, 1, 4, NULL, NULL}, // 4, and 16 a rank
        {8, 1, 0, "the pattern's 52 layers are not divisible",
         "want 8 segments with '|' between them in --hybrid-layer-pattern "
         "('moe-layout plan' writes them), or --pipeline-model-parallel-size 4 "
         "or 13"},
        {4, 2, 0, "has no virtual stages", "want 8 segments with '|'"},
        {8, 1, 4, "between the fixed ends",
         "in place of the fixed ends ('moe-layout plan' writes them)"},
    };
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        struct arena a;
        struct layout l;
        struct err_msg msg = {""};
        struct model m = small_model();
        m.n_layers = 52;
        m.symbols = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME";
        m.par.vpp = patterns[i].vpp;
        m.split.first_layers = patterns[i].first;
        arena_init(&a);
        const enum err e =
            default_split_layout(&a, &m, patterns[i].pp, &l, &msg);
        cr_expect_eq(e, patterns[i].why ? ERR_MODEL : ERR_OK, "row %zu", i);
        if (patterns[i].why) {
            cr_expect_not_null(strstr(msg.text, patterns[i].why), "%s",
                               msg.text);
            cr_expect_not_null(strstr(msg.text, patterns[i].what), "%s",
                               msg.text);
            cr_expect_null(strstr(msg.text, "--num-layers"), "%s", msg.text);
        }
        arena_clear(&a);
    }
}
