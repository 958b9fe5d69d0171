/* model_checks: what holds of every model that was read. Header of the fuzz
 * targets only. */
#ifndef MODEL_CHECKS_H
#define MODEL_CHECKS_H

#include "model/model.h"

#include <math.h>
#include <stdlib.h>

static inline void check_model(const struct model *m)
{
    int64_t sum = 0;
    for (int k = 0; k < N_KINDS; k++) {
        enum unit_kind kind = (enum unit_kind)k;
        int n = model_unit_count(m, kind);
        double flops = n ? model_unit_fwd_flops(m, kind) : 0;
        if (n &&
            (model_unit_params(m, kind) < 0 || !isfinite(flops) || flops < 0 ||
             model_unit_active_params(m, kind) > model_unit_params(m, kind)))
            abort();
        sum += n && kind != KIND_M ? n * model_unit_params(m, kind) : 0;
    }
    if (sum != model_total_params(m) || m->par.dp < 1 ||
        m->batch.n_microbatches < 1 || m->par.vpp < 1)
        abort();
}

#endif
