/* Any bytes are read without a fault, and what is called usable is sound. */
#include "log/parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void check_iterations(const struct runlog *log)
{
    for (size_t i = 0; i < log->n_iterations; i++) {
        const struct log_iteration *it = &log->iterations[i];
        require(it->usable == (it->dropped == NULL));
        require(!it->usable || (isfinite(it->step_ms) && it->step_ms >= 0 &&
                                !it->skipped && !it->nan));
        require(it->section >= 0 && it->section < log->n_sections);
        bool goes_on = i > 0 && it[-1].section == it->section;
        require(!goes_on || it[-1].iteration < it->iteration);
    }
}

static void check_timers(const struct runlog *log)
{
    for (size_t i = 0; i < log->n_timers; i++) {
        const struct log_timer *t = &log->timers[i];
        require(t->name[0] != '\0');
        require(!t->per_rank || t->n_ranks > 0);
        for (int r = 0; r < t->n_ranks; r++)
            require(isnan(t->rank_ms[r]) || t->rank_ms[r] >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena a;
    struct runlog log;
    arena_init(&a);
    if (logparse_read_memory(&a, data, len, &log, NULL) == ERR_OK) {
        double ms[4], se_ms[4];
        check_iterations(&log);
        check_timers(&log);
        for (size_t i = 1; i < log.n_memory; i++)
            require(log.memory[i - 1].rank < log.memory[i].rank);
        runlog_timer_mean(&log, "forward-compute", ms, se_ms, 4);
    }
    arena_clear(&a);
    return 0;
}
