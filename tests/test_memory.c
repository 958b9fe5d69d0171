#include "memory.h"
#include "small_model.h"

#include <criterion/criterion.h>

static void read(struct arena *a, const struct model *m, const char *text,
                 struct layout *l)
{
    struct err_msg msg;
    arena_init(a);
    cr_assert_eq(layout_read(a, text, m, m->par.pp, l, &msg), ERR_OK, "%s",
                 msg.text);
}

Test(memory, stages_hold_the_model_and_the_embedding_copies)
{
    struct arena a;
    struct layout l;
    struct model m = small_model();
    int64_t sum = 0, table = m.padded_vocab * m.hidden;
    int64_t all = model_total_params(&m) + model_mtp_params(&m);
    read(&a, &m, "Et*2|t*3|t*3|mL", &l);
    for (int s = 0; s < 4; s++)
        sum += memory_stage_params(&m, &l, s);
    cr_assert_eq(sum, all + table, "tied output layer: one copy");
    arena_clear(&a);
    read(&a, &m, "Et*2|t*3|t*3m|L", &l);
    sum = 0;
    for (int s = 0; s < 4; s++)
        sum += memory_stage_params(&m, &l, s);
    cr_assert_eq(sum, all + 2 * table, "standalone MTP: one more");
    arena_clear(&a);
    m.tied = false;
    read(&a, &m, "Et*2|t*3|t*3|mL", &l);
    sum = 0;
    for (int s = 0; s < 4; s++)
        sum += memory_stage_params(&m, &l, s);
    cr_assert_eq(sum, all + table + table,
                 "untied: the output layer's own, and a copy for MTP");
    arena_clear(&a);
}

Test(memory, peak_is_static_plus_what_is_in_flight)
{
    struct arena a;
    struct layout l;
    struct model m = small_model();
    struct memory_stage one, four;
    read(&a, &m, "Et*2|t*3|t*3|mL", &l);
    memory_stage(&m, &l, 1, 1, &MEMORY_MEGATRON, &one);
    memory_stage(&m, &l, 1, 4, &MEMORY_MEGATRON, &four);
    cr_assert_eq(one.static_bytes, 18 * one.params);
    cr_assert_eq(four.peak_bytes - one.peak_bytes, 3 * one.activation_bytes);
    cr_assert_gt(one.activation_bytes, 0);
    memory_stage(&m, &l, 1, 1, &MEMORY_MOE_TRAIN, &one);
    cr_assert_eq(one.static_bytes, 16 * one.params);
    arena_clear(&a);
}

Test(memory, only_the_loss_stage_has_a_head)
{
    struct arena a;
    struct layout l;
    struct model m = small_model();
    struct memory_stage s;
    read(&a, &m, "Et*2|t*3|t*3|mL", &l);
    memory_stage(&m, &l, 0, 1, &MEMORY_MEGATRON, &s);
    cr_assert_eq(s.head_bytes, 0);
    memory_stage(&m, &l, 3, 1, &MEMORY_MEGATRON, &s);
    cr_assert_eq(s.head_bytes, 2 * 32 * 512 * 6); // two passes, 6 bytes a logit
    arena_clear(&a);
}
