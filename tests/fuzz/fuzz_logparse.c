/* Any bytes are read without a fault, and what is called usable is sound. The
 * fast reader says what the plain one says: read at once, and by the second
 * thread in pieces and lines so short that any input crosses their ends. */
#include "../plain_log.h"
#include "log/ahead.h"
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

static void check_facts(const struct runlog *log)
{
    double ms[4], se_ms[4];
    check_iterations(log);
    check_timers(log);
    for (size_t i = 1; i < log->n_memory; i++)
        require(log->memory[i - 1].rank < log->memory[i].rank);
    runlog_timer_mean(log, "forward-compute", ms, se_ms, 4);
}

static void check_way(const void *data, size_t len,
                      const struct log_piece_sizes *sizes)
{
    struct arena a;
    struct runlog log, plain;
    const struct log_input in = {
        .data = data, .len = len, .where = "log", .sizes = sizes};
    arena_init(&a);
    enum err e = logparse_read_input(&a, &in, &log, NULL);
    enum err want = plain_log_read(&a, data, len, sizes->max_line, &plain);
    if (e != ERR_RANGE) // timers of more than 1 GB
        require(e == want);
    if (e == ERR_OK) {
        check_facts(&log);
        require(!plain_log_difference(&log, &plain));
    }
    arena_clear(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct log_piece_sizes at_once = {1 << 18, 1 << 20, SIZE_MAX};
    static const struct log_piece_sizes by_thread = {96, 1 << 20, 0};
    static const struct log_piece_sizes short_lines = {40, 160, 0};
    struct log_text text = {(const char *)data, len};
    check_way(text.p, text.n, &at_once);
    check_way(text.p, text.n, &by_thread);
    check_way(text.p, text.n, &short_lines);
    return 0;
}
