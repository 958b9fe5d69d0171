#include "doctor/rate.h"
#include "small_model.h"

#include <criterion/criterion.h>
#include <math.h>

Test(doctor_rate, a_step_is_three_forwards_of_every_unit_and_micro_batch)
{
    struct model m = small_model();
    double forward = model_unit_fwd_flops(&m, KIND_L) +
                     model_unit_fwd_flops(&m, KIND_M) +
                     8 * model_unit_fwd_flops(&m, KIND_T);
    cr_assert_float_eq(rate_step_flops(&m, 4), 12 * forward, 1e-6 * forward);
    // four sequences as two micro-batches are the same work
    m.batch.micro_batch = 2;
    cr_assert_float_eq(rate_step_flops(&m, 4), 12 * forward, 1e-6 * forward);
}

Test(doctor_rate, is_of_one_gpu_and_one_peak)
{
    const struct model m = small_model();
    const struct card *card;
    struct err_msg msg;
    struct rate r;
    cr_assert_eq(card_find("H200", "test", &card, &msg), ERR_OK);
    struct rate_question q = {.model = &m,
                              .step_s = 2,
                              .sequences = 8,
                              .seq_tokens = 100,
                              .world = 4,
                              .card = card};
    rate_work_out(&q, &r);
    cr_assert_float_eq(r.tokens_per_s, 100, 1e-9);
    cr_assert_float_eq(r.flops_per_s, rate_step_flops(&m, 8) / 8, 1);
    cr_assert_float_eq(r.mfu * card->flops16, r.flops_per_s,
                       1e-9 * r.flops_per_s);
    q.peak_flops = 1e12;
    rate_work_out(&q, &r);
    cr_assert_float_eq(r.mfu * 1e12, r.flops_per_s, 1e-9 * r.flops_per_s);
    cr_assert_str_eq(r.peak_source, "as given");
}

Test(doctor_rate, what_is_not_known_is_no_number)
{
    const struct model m = small_model();
    struct rate r;
    rate_work_out(
        &(struct rate_question){
            .model = &m, .step_s = 2, .sequences = 8, .seq_tokens = 100},
        &r);
    cr_assert(isnan(r.tokens_per_s) && isnan(r.flops_per_s) && isnan(r.mfu));
    rate_work_out(
        &(struct rate_question){
            .step_s = 2, .sequences = 8, .seq_tokens = 100, .world = 4},
        &r);
    cr_assert_float_eq(r.tokens_per_s, 100, 1e-9);
    cr_assert(isnan(r.flops_per_s) && isnan(r.mfu) && !r.peak_source);
}
