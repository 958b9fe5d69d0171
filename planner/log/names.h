/*
 * names: which fact of an iteration a field's name stands for, and in which
 * unit, by the names that Megatron-LM and its relatives print.
 */
#ifndef LOG_NAMES_H
#define LOG_NAMES_H

#include "field.h"
#include "step.h"

#include <stdbool.h>

enum log_fact {
    FACT_STEP, // ms
    FACT_LOSS,
    FACT_SKIPPED, // iterations skipped, of this interval
    FACT_NAN,     // iterations with NaN
    FACT_REFERENCE,
    FACT_TFLOPS,
    FACT_TOKENS_S, // of a GPU
    FACT_ALL_TOKENS_S,
    FACT_SAMPLES,
    FACT_TOKENS,
    FACT_BATCH,
    FACT_OTHER_LOSS,
    FACT_MEAN_STEP, // since the start
    FACT_MTP,       // loss of depth 1, and so on
    N_FACTS = FACT_MTP + LOG_MAX_MTP
};

struct log_known {
    enum log_fact fact;
    enum field_unit unit;
    enum log_dialect dialect; // LOG_UNKNOWN: says nothing of it
};

/* False when the name is none that is known here; such fields are no error. */
bool lognames_find(struct log_text name, struct log_known *out);

#endif
