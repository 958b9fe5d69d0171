#include "names.h"

#include <string.h>

struct known_field {
    const char *name; // as logfield_name() gives it
    struct log_known known;
};

/* The same fact by the names of Megatron-LM, Megatron-DeepSpeed, NeMo, GPT-NeoX
 * and ms-swift. "gloabl" is as MindSpeed's logs have it. */
static const struct known_field known_fields[] = {
    {"trainspeedsit", {FACT_MEAN_STEP, FIELD_SECONDS, LOG_SWIFT}},
    {"lmloss", {FACT_LOSS, FIELD_PLAIN, LOG_UNKNOWN}},
    {"reducedtrainloss", {FACT_LOSS, FIELD_PLAIN, LOG_NEMO}},
    {"trainloss", {FACT_OTHER_LOSS, FIELD_PLAIN, LOG_UNKNOWN}},
    {"loss", {FACT_OTHER_LOSS, FIELD_PLAIN, LOG_UNKNOWN}},
    {"numberofskippediterations", {FACT_SKIPPED, FIELD_COUNT, LOG_UNKNOWN}},
    {"numberofnaniterations", {FACT_NAN, FIELD_COUNT, LOG_UNKNOWN}},
    {"referenceburstms", {FACT_REFERENCE, FIELD_TIME, LOG_UNKNOWN}},
    {"approxflopspergpu", {FACT_TFLOPS, FIELD_FLOPS, LOG_NEOX}},
    {"consumedsamples", {FACT_SAMPLES, FIELD_COUNT, LOG_UNKNOWN}},
    {"consumedtokens", {FACT_TOKENS, FIELD_COUNT, LOG_UNKNOWN}},
    {"globalbatchsize", {FACT_BATCH, FIELD_COUNT, LOG_UNKNOWN}},
    {"gloablbatchsize", {FACT_BATCH, FIELD_COUNT, LOG_UNKNOWN}},
};

/* "mtp_1 loss", or "mtp loss" where there is one depth; -1 for other names. */
static int mtp_depth(const char *name)
{
    if (strncmp(name, "mtp", 3) != 0)
        return -1;
    bool numbered = name[3] >= '1' && name[3] <= '0' + LOG_MAX_MTP;
    return strcmp(name + 3 + numbered, "loss") != 0 ? -1
           : numbered                               ? name[3] - '1'
                                                    : 0;
}

/* Names of a step's time, without the unit at the end; `alone`: also without
 * any, when the value must have it. */
struct time_name {
    const char *name;
    bool alone;
    enum log_dialect in_seconds;
};

static const struct time_name time_names[] = {
    {"elapsedtimeperiteration", true, LOG_DEEPSPEED},
    {"elapsedtimeperstep", true, LOG_UNKNOWN},
    {"timeperiteration", true, LOG_UNKNOWN},
    {"timeperstep", true, LOG_UNKNOWN},
    {"iterationtime", true, LOG_UNKNOWN},
    {"itertime", true, LOG_UNKNOWN},
    {"trainsteptimingin", false, LOG_NEMO},
    {"steptime", false, LOG_UNKNOWN}, // alone it is Bridge's "Step Time"
};

/* "elapsedtimeperiterationms": an unknown unit is left to be said with the
 * value, which then is not understood. */
static bool find_time(const char *name, struct log_known *out)
{
    static const char *const seconds[] = {"s", "sec", "secs", "seconds"};
    static const char *const millis[] = {"ms", "msec", "milliseconds"};
    for (size_t i = 0; i < sizeof time_names / sizeof time_names[0]; i++) {
        const struct time_name *t = &time_names[i];
        size_t n = strlen(t->name);
        if (name[0] != t->name[0] || strncmp(name, t->name, n) != 0)
            continue;
        *out = (struct log_known){.fact = FACT_STEP, .unit = FIELD_UNSAID};
        for (size_t k = 0; k < 4; k++) {
            if (strcmp(name + n, seconds[k]) == 0) {
                out->unit = FIELD_SECONDS;
                out->dialect = t->in_seconds;
            }
        }
        for (size_t k = 0; k < 3; k++)
            out->unit =
                strcmp(name + n, millis[k]) == 0 ? FIELD_TIME : out->unit;
        return t->alone || out->unit != FIELD_UNSAID;
    }
    return false;
}

/* A loss by another name, as forks print it; terms that are added to the loss
 * are written with an underscore and are not the loss. */
static bool is_other_loss(struct log_text name)
{
    static const char tail[] = " loss";
    const size_t n = sizeof tail - 1;
    return name.n > n && memcmp(name.p + name.n - n, tail, n) == 0 &&
           !logline_starts(name, "mtp");
}

/* Throughput has a dozen names: those with "tflop", and tokens per second of
 * one GPU, NPU or device or of them all. */
static bool find_throughput(const char *name, struct log_known *out)
{
    const char *t = strchr(name, 't');
    while (t && t[1] != 'f' && t[1] != 'o') // "tflop", "token"
        t = strchr(t + 1, 't');
    if (!t)
        return false;
    const char *tokens = strstr(name, "token");
    bool per_second =
        tokens &&
        (strstr(tokens, "tokenss") == tokens || strstr(tokens, "persec") ||
         strstr(tokens, "tokenspergputokenss") || strstr(tokens, "tokenpers"));
    bool of_one =
        strstr(name, "gpu") || strstr(name, "npu") || strstr(name, "device");
    *out = (struct log_known){.unit = FIELD_PLAIN};
    if (strstr(name, "tflop")) {
        out->fact = FACT_TFLOPS;
        out->unit = FIELD_FLOPS;
    } else {
        out->fact = of_one ? FACT_TOKENS_S : FACT_ALL_TOKENS_S;
    }
    return strstr(name, "tflop") || per_second;
}

bool lognames_find(struct log_text name, struct log_known *out)
{
    const struct log_name squeezed = logfield_name(name);
    for (size_t i = 0; i < sizeof known_fields / sizeof known_fields[0]; i++) {
        if (squeezed.text[0] == known_fields[i].name[0] &&
            strcmp(squeezed.text, known_fields[i].name) == 0) {
            *out = known_fields[i].known;
            return true;
        }
    }
    int depth = mtp_depth(squeezed.text);
    if (depth >= 0 || is_other_loss(name)) {
        *out = (struct log_known){
            .fact = depth < 0 ? FACT_OTHER_LOSS : FACT_MTP + (unsigned)depth};
        return true;
    }
    return find_time(squeezed.text, out) || find_throughput(squeezed.text, out);
}
