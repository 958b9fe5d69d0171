/*
 * How it works. An iteration line is found by the word "iteration" with a
 * number and a slash behind it; what follows are fields, of which a table says
 * which ones we know and in which unit, whoever prints them. Fields by other
 * names are passed over, never an error; a known one whose value is not wholly
 * understood is kept as `bad`. What stands before the word, and which fields
 * there are, tells the dialect. A Python dict or a JSON object has the same
 * fields between braces; other texts are logformat's.
 */
#include "step.h"

#include "field.h"
#include "format.h"
#include "names.h"
#include "runlog.h"

#include <math.h>
#include <string.h>

const char *log_dialect_name(enum log_dialect d)
{
    static const char *const names[] = {
        [LOG_UNKNOWN] = "unknown",
        [LOG_MOE_TRAIN] = RUNLOG_BANNER,
        [LOG_MEGATRON_UNDATED] = "megatron-undated",
        [LOG_MEGATRON] = "megatron",
        [LOG_CORE_016] = "megatron-core-0.16",
        [LOG_DEEPSPEED] = "megatron-deepspeed",
        [LOG_PRIMUS] = "primus",
        [LOG_BRIDGE] = "megatron-bridge",
        [LOG_NEMO] = "nemo",
        [LOG_SWIFT] = "ms-swift",
        [LOG_NEOX] = "gpt-neox",
        [LOG_DEEPSPEED_ENGINE] = "deepspeed",
        [LOG_MINDFORMERS] = "mindformers",
        [LOG_JSON] = "json",
    };
    return names[d];
}

/* ---- fields of an iteration line ---- */

struct facts {
    double value[N_FACTS]; // 0 where not given
    bool given[N_FACTS];
    int n_known, n_bad;
    struct log_text bad;
    bool bad_step, bad_loss, bad_count, bad_end;
    enum log_dialect dialect;
};

/* The first one is quoted; which sorts there are decides whether the iteration
 * can be used. */
static void note_bad(struct facts *f, const struct log_field *field,
                     enum log_fact fact)
{
    const char *end = field->value.p + field->value.n;
    if (f->n_bad++ == 0)
        f->bad =
            (struct log_text){field->name.p, (size_t)(end - field->name.p)};
    f->bad_end = !field->ended;
    f->bad_step = f->bad_step || fact == FACT_STEP;
    f->bad_loss = f->bad_loss || fact == FACT_LOSS || fact == FACT_OTHER_LOSS;
    f->bad_count = f->bad_count || fact == FACT_SKIPPED || fact == FACT_NAN;
}

/* The first of two fields for one fact stands. A name without a value is a
 * line that goes on elsewhere. */
static void add_field(struct facts *f, const struct log_field *field)
{
    struct log_known known;
    double v = 0;
    if (!field->value.n || !lognames_find(field->name, &known) ||
        f->given[known.fact])
        return;
    f->n_known++;
    if (!logfield_value(field->value, known.unit, &v)) {
        note_bad(f, field, known.fact);
        return;
    }
    f->value[known.fact] = v;
    f->given[known.fact] = true;
    if (known.dialect != LOG_UNKNOWN)
        f->dialect = known.dialect;
}

/* A field without a bar behind it may be half a number where the line is cut.
 */
static struct facts read_fields(struct log_text rest, bool cut)
{
    struct facts f = {.n_bad = 0};
    struct log_field field;
    while (logfield_next(&rest, &field)) {
        if (field.ended || !cut)
            add_field(&f, &field);
    }
    return f;
}

static double fact_or_nan(const struct facts *f, enum log_fact fact)
{
    bool is_number =
        f->given[fact] && isfinite(f->value[fact]) && f->value[fact] >= 0;
    return is_number ? f->value[fact] : (double)NAN;
}

static void set_throughput(struct log_iteration *it, const struct facts *f)
{
    for (int d = 0; d < LOG_MAX_MTP; d++) {
        bool given = f->given[FACT_MTP + (unsigned)d];
        it->mtp_loss[d] =
            given ? f->value[FACT_MTP + (unsigned)d] : (double)NAN;
        it->n_mtp = given ? d + 1 : it->n_mtp;
    }
    it->tflops = fact_or_nan(f, FACT_TFLOPS);
    it->tokens_per_s = fact_or_nan(f, FACT_TOKENS_S);
    it->all_tokens_per_s = fact_or_nan(f, FACT_ALL_TOKENS_S);
    it->samples = (int64_t)f->value[FACT_SAMPLES];
    it->tokens = (int64_t)f->value[FACT_TOKENS];
    it->global_batch = (int64_t)f->value[FACT_BATCH];
}

/* Megatron leaves the loss out when it is NaN and when all iterations of the
 * interval were skipped: without a loss and not skipped means NaN. Where some
 * were skipped the loss is the mean of the others. */
static void set_iteration(struct log_step *out, const struct facts *f,
                          bool whole)
{
    struct log_iteration *it = &out->it;
    bool has_loss = f->given[FACT_LOSS] || f->given[FACT_OTHER_LOSS];
    double loss = f->value[f->given[FACT_LOSS] ? FACT_LOSS : FACT_OTHER_LOSS];
    bool missing = !has_loss && !f->bad_loss;
    it->step_ms = fact_or_nan(f, FACT_STEP);
    it->reference_ms = fact_or_nan(f, FACT_REFERENCE);
    it->skipped = f->value[FACT_SKIPPED] > 0;
    bool told = f->value[FACT_NAN] > 0 || (has_loss && !isfinite(loss));
    it->nan = told || (missing && !it->skipped && whole);
    it->loss = has_loss && isfinite(loss) ? loss : (double)NAN;
    it->unread = f->bad_step || f->bad_count;
    out->nan_told = told || (it->nan && f->given[FACT_NAN]);
    out->n_known = f->n_known;
    out->n_bad = f->n_bad;
    out->bad = f->bad;
    out->bad_end = f->bad_end;
    set_throughput(it, f);
}

void logstep_init(struct log_step *out)
{
    *out = (struct log_step){.total = 0};
    const struct facts f = {.n_bad = 0};
    set_iteration(out, &f, false);
}

/* ---- where an iteration starts ---- */

struct place {
    const char *word;      // "iteration"
    struct log_text after; // text after "iteration N/M"
    int64_t number, total;
    bool weak; // no bar follows, no total, or another word: fields must tell
};

/* The words before the numbers; Megatron's own is the first. */
static const char *const place_words[] = {"iteration", "Iteration", "iter",
                                          "step", "Step"};

static void skip_one_of(struct log_text *t, const char *bytes)
{
    logline_skip_blanks(t);
    if (t->n && *t->p && strchr(bytes, *t->p))
        *t = logline_from(*t, t->p + 1);
    logline_skip_blanks(t);
}

/* "  3/  10 |", "=3/10, ", ": 3 |", " [3/10] |". */
static bool read_place(struct log_text t, struct place *out)
{
    skip_one_of(&t, ":=");
    bool bracket = logline_starts(t, "[");
    skip_one_of(&t, "[");
    if (!logfield_take_int(&t, &out->number))
        return false;
    logline_skip_blanks(&t);
    out->total = 0;
    bool has_total = t.n && *t.p == '/';
    if (has_total) {
        skip_one_of(&t, "/");
        if (!logfield_take_int(&t, &out->total))
            return false;
    }
    if (bracket)
        skip_one_of(&t, "]");
    bool blank = t.n && *t.p == ' ';
    logline_skip_blanks(&t);
    out->after = t;
    out->weak = !has_total || !t.n || *t.p != '|';
    return t.n && (blank || (*t.p && strchr("|,;", *t.p)));
}

/* In "elapsed_time_per_iteration: 5" the word is the end of another name. */
static bool is_word(struct log_text t, const char *at)
{
    static const char per[] = "per ";
    const size_t n = sizeof per - 1, before = (size_t)(at - t.p);
    char c = before ? at[-1] : ' ';
    bool inside = c == '_' || c == '\'' || c == '"' || (c >= 'a' && c <= 'z');
    return !inside && (before < n || memcmp(at - n, per, n) != 0);
}

/* The word also stands in other texts ("elapsed time per iteration"): it counts
 * where the numbers follow. */
static bool find_place(struct log_text t, struct place *out)
{
    static const char word[] = "iteration";
    const struct log_text line = t;
    const char *at;
    while ((at = logline_find(t, word)) != NULL) {
        t = logline_from(t, at + sizeof word - 1);
        out->word = at;
        if (is_word(line, at) && read_place(t, out))
            return true;
    }
    return false;
}

/* The word that ends at `end`, or NULL. */
static const char *word_before(struct log_text t, const char *end)
{
    for (size_t i = 0; i < sizeof place_words / sizeof place_words[0]; i++) {
        size_t n = strlen(place_words[i]);
        if ((size_t)(end - t.p) >= n && end[-1] == place_words[i][n - 1] &&
            memcmp(end - n, place_words[i], n) == 0)
            return end - n;
    }
    return NULL;
}

/* The same where a total follows, and fast: slashes are rare in a line. */
static bool find_total(struct log_text t, struct place *out)
{
    const char *slash;
    struct log_text rest = t;
    while (rest.n && (slash = memchr(rest.p, '/', rest.n)) != NULL) {
        rest = logline_from(rest, slash + 1);
        const char *p = slash;
        while (p > t.p && p[-1] && strchr(" 0123456789,_:=[", p[-1]))
            p--;
        out->word = p == slash ? NULL : word_before(t, p);
        if (!out->word || !is_word(t, out->word) ||
            !read_place(logline_from(t, p), out) || !out->total)
            continue;
        out->weak = out->weak || *out->word != 'i' || out->word[4] != 'a';
        return true;
    }
    return false;
}

bool logstep_is_open(struct log_text line)
{
    static const char word[] = "iteration";
    struct log_text t = logline_trim(line);
    size_t n = t.n, part = 0;
    struct place at;
    if (find_total(line, &at))
        return true;
    // "... iteration  1/ "
    while (n && t.p[n - 1] && strchr(" 0123456789/=:", t.p[n - 1]))
        n--;
    if (n >= sizeof word - 1 &&
        memcmp(t.p + n - (sizeof word - 1), word, sizeof word - 1) == 0)
        return is_word(t, t.p + n - (sizeof word - 1));
    // "[2026-01-02 03:04:05] itera"
    const char *date = t.n && *t.p == '[' ? memchr(t.p, ']', t.n) : NULL;
    if (date)
        t = logline_trim(logline_from(t, date + 1));
    while (part < t.n && part < sizeof word - 1 && t.p[part] == word[part])
        part++;
    return part == t.n && (part > 2 || (date && part));
}

/* What stands right before the word: "[2026-01-02 03:04:05.678901] ". */
static enum log_dialect dialect_before(struct log_text line, const char *word)
{
    struct log_text before = {line.p, (size_t)(word - line.p)};
    if (logline_find(before, "[rank-"))
        return LOG_PRIMUS;
    size_t n = before.n;
    while (n && before.p[n - 1] == ' ')
        n--;
    if (n < 9 || before.p[n - 1] != ']')
        return LOG_MEGATRON_UNDATED;
    return before.p[n - 8] == '.' ? LOG_CORE_016 : LOG_MEGATRON;
}

/* ---- dicts ---- */

/* "'iteration': '10/100'", and the same number by other keys. */
static bool dict_place(const struct log_field *field, struct log_step *out)
{
    static const char *const keys[] = {"iteration", "globalstepmaxsteps",
                                       "globalstep", "step"};
    const struct log_name name = logfield_name(field->name);
    struct log_text t = field->value;
    int64_t number = 0, total = 0;
    size_t i = 0;
    while (i < 4 && strcmp(keys[i], name.text) != 0)
        i++;
    if (i == 4 || !logfield_take_int(&t, &number))
        return false;
    if (t.n && *t.p == '/') {
        skip_one_of(&t, "/");
        if (!logfield_take_int(&t, &total))
            return false;
    }
    out->it.iteration = number;
    out->total = total;
    return t.n == 0;
}

/* ms-swift: {'loss': 1.2, 'iteration': '10/100', 'train_speed(s/it)': 1.5}. Its
 * speed is the mean since the start, which is no step's time. */
static bool read_dict(struct log_text dict, struct log_step *out)
{
    struct facts f = {.n_bad = 0};
    struct log_field field;
    bool placed = false;
    *out =
        (struct log_step){.whole = true, .closed = true, .dialect = LOG_JSON};
    while (logfield_next_of_dict(&dict, &field)) {
        placed = dict_place(&field, out) || placed;
        add_field(&f, &field);
    }
    out->cumulative = f.given[FACT_MEAN_STEP] && !f.given[FACT_STEP];
    if (out->cumulative) {
        f.value[FACT_STEP] = f.value[FACT_MEAN_STEP];
        f.given[FACT_STEP] = true;
    }
    if (f.given[FACT_MEAN_STEP])
        out->dialect = LOG_SWIFT;
    set_iteration(out, &f, true);
    return placed && (f.given[FACT_STEP] || f.bad_step);
}

/* The next dict with an iteration in it. */
static bool next_dict(struct log_text *rest, struct log_step *out)
{
    struct log_text t = *rest;
    const char *at;
    while (t.n && (at = memchr(t.p, '{', t.n)) != NULL) {
        struct log_text dict = logline_from(t, at + 1);
        const char *end = dict.n ? memchr(dict.p, '}', dict.n) : NULL;
        if (!end)
            return false;
        dict.n = (size_t)(end - dict.p);
        t = logline_from(t, end + 1);
        struct log_text start = logline_trim(dict);
        bool quoted = start.n && (*start.p == '\'' || *start.p == '"');
        if (quoted && read_dict(dict, out)) {
            *rest = t;
            return true;
        }
    }
    return false;
}

/* ---- public ---- */

/* `whole`: up to the last field that its dialect prints, so that no field is
 * missing only because the writer was stopped. */
static bool step_read_line(struct log_text line, const struct place *at,
                           bool cut, struct log_step *out)
{
    struct facts f = read_fields(at->after, cut);
    bool has_step = f.given[FACT_STEP] || f.bad_step;
    bool has_end =
        f.given[FACT_LOSS] || f.given[FACT_OTHER_LOSS] || f.given[FACT_SKIPPED];
    bool any = has_step || f.given[FACT_LOSS] || f.given[FACT_SKIPPED];
    if (at->weak ? !has_step && !(at->total && f.given[FACT_LOSS])
                 : !any && !cut)
        return false;
    out->dialect = f.dialect ? f.dialect : dialect_before(line, at->word);
    struct log_text tail = logline_trim(at->after);
    bool closed = tail.n && tail.p[tail.n - 1] == '|';
    bool ended = closed || f.dialect == LOG_NEMO || f.dialect == LOG_DEEPSPEED;
    // Megatron-DeepSpeed prints more behind it, others nothing
    out->closed = closed && f.given[FACT_NAN] && !f.given[FACT_TOKENS] &&
                  f.dialect != LOG_DEEPSPEED;
    out->whole =
        f.given[FACT_NAN] || (ended && f.given[FACT_STEP] && has_end && !cut);
    set_iteration(out, &f, out->whole);
    return true;
}

/* With the date before the word, if there is one. */
const char *logstep_find(struct log_text t)
{
    struct place at;
    if (!find_total(t, &at))
        return NULL;
    const char *p = at.word;
    while (p > t.p && p[-1] == ' ')
        p--;
    if (p == t.p || p[-1] != ']')
        return at.word;
    while (p > t.p && *p != '[')
        p--;
    return *p == '[' ? p : at.word;
}

const char *logstep_find_next(struct log_text t)
{
    struct place first;
    return find_total(t, &first) ? logstep_find(first.after) : NULL;
}

/* A dictionary first, for its text may hold any of the other forms. */
bool logstep_next(struct log_text *rest, bool cut, struct log_step *out)
{
    struct place at = {0};
    struct log_text all = *rest;
    if (memchr(rest->p, '{', rest->n) && next_dict(rest, out))
        return true;
    while (find_total(*rest, &at) || find_place(*rest, &at)) {
        struct log_text line = *rest;
        *rest = at.after;
        *out = (struct log_step){.total = at.total};
        out->it.iteration = at.number;
        if (step_read_line(line, &at, cut, out))
            return true;
    }
    *rest = all;
    return logformat_next(rest, cut, out);
}

/* GPT-NeoX says behind dots where a value is from: "64......default". */
static struct log_text without_origin(struct log_text value)
{
    const char *dots = logline_find(value, ".....");
    if (dots)
        value.n = (size_t)(dots - value.p);
    return value;
}

bool logstep_argument(struct log_text line, struct log_field *out)
{
    struct log_text t = line;
    logline_skip_blanks(&t);
    out->name = logline_take_name(&t);
    if (!out->name.n || !logline_starts(t, " ."))
        return false;
    logline_skip_blanks(&t);
    while (t.n && *t.p == '.')
        t = (struct log_text){t.p + 1, t.n - 1};
    if (t.n && *t.p != ' ')
        return false;
    logline_skip_blanks(&t);
    while (t.n && strchr(" \t\r", t.p[t.n - 1]))
        t.n--;
    out->value = without_origin(t);
    out->ended = true;
    return true;
}
