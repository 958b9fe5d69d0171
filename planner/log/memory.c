#include "memory.h"

#include "field.h"
#include "step.h"

#include <math.h>
#include <string.h>

/* Of several prefixes on a line that two writers shared the last one counts. */
static bool memory_rank(struct log_text before, int *out)
{
    static const char word[] = "[Rank ";
    const char *last = NULL;
    struct log_text t = before;
    for (const char *at; (at = logline_find(t, word)) != NULL;) {
        last = at;
        t = logline_from(t, at + sizeof word - 1);
    }
    if (!last)
        return false;
    t = logline_from(before, last + sizeof word - 1);
    int64_t rank = 0;
    if (!logline_take_int(&t, &rank) || rank >= LOG_MAX_RANKS)
        return false;
    *out = (int)rank;
    return t.n && *t.p == ']';
}

/* 9e15 is below 2^53, up to which doubles hold every integer. */
static bool memory_bytes(const struct log_field *f, double unit, int64_t *out)
{
    double v = 0;
    if (!logfield_value(f->value, FIELD_PLAIN, &v) ||
        !(v >= 0 && v * unit < 9e15))
        return false;
    *out = llround(v * unit);
    return true;
}

struct memory_form {
    const char *unit; // behind "memory ("
    double bytes;
    const char *now, *max, *last; // names as logfield_name() gives them
};

/* Megatron's MB are MiB, Bridge's GB are 1e9 bytes. */
static const struct memory_form memory_forms[] = {
    {"MB)", 1024.0 * 1024.0, "allocated", "maxallocated", "maxreserved"},
    {"MiB)", 1024.0 * 1024.0, "allocated", "maxallocated", "maxreserved"},
    {"GiB)", 1024.0 * 1024.0 * 1024.0, "allocated", "maxallocated",
     "maxreserved"},
    {"GB)", 1e9, "memallocatedgigabytes", "memmaxallocatedgigabytes",
     "memallocatedcount"},
};

/* The text behind "memory (MB)" and its rank; NULL for other lines. */
static const struct memory_form *memory_start(struct log_text line, int *rank,
                                              struct log_text *rest)
{
    static const char word[] = "memory";
    const char *at = logline_find(line, word);
    if (!at)
        return NULL;
    *rest = logline_from(line, at + sizeof word - 1);
    logline_skip_blanks(rest);
    if (!logline_starts(*rest, "("))
        return NULL;
    *rest = logline_from(*rest, rest->p + 1);
    struct log_text before = {line.p, (size_t)(at - line.p)};
    for (size_t i = 0; i < sizeof memory_forms / sizeof memory_forms[0]; i++) {
        if (logline_starts(*rest, memory_forms[i].unit))
            return memory_rank(before, rank) ? &memory_forms[i] : NULL;
    }
    return NULL;
}

/* Ranks may write their reports into one line. */
struct log_text logmemory_first(struct log_text line, struct log_text *rest)
{
    static const char word[] = "memory";
    const char *at = logline_find(line, word);
    *rest = (struct log_text){line.p, 0};
    if (!at)
        return line;
    const char *next =
        logline_find(logline_from(line, at + sizeof word - 1), "[Rank ");
    if (!next)
        return line;
    *rest = logline_from(line, next);
    return (struct log_text){line.p, (size_t)(next - line.p)};
}

bool logmemory_read(struct log_text line, bool cut, struct log_memory *out)
{
    struct log_text rest;
    const struct memory_form *form = memory_start(line, &out->rank, &rest);
    bool has_now = false, has_max = false;
    struct log_field f;
    while (form && logfield_next(&rest, &f) && !(has_now && has_max)) {
        if (cut && !f.ended)
            continue;
        const struct log_name name = logfield_name(f.name);
        if (strcmp(name.text, form->now) == 0)
            has_now = memory_bytes(&f, form->bytes, &out->allocated_bytes);
        else if (strcmp(name.text, form->max) == 0)
            has_max = memory_bytes(&f, form->bytes, &out->max_allocated_bytes);
    }
    return has_now && has_max;
}

/* "[Rank 3] (after 2 iter" */
static bool is_start(struct log_text line)
{
    static const char word[] = "[Rank ";
    struct log_text t = logline_trim(line);
    int64_t rank = 0;
    if (!logline_starts(t, word) || memchr(t.p, '|', t.n))
        return false;
    t = logline_from(t, t.p + sizeof word - 1);
    return t.n == 0 ||
           (logline_take_int(&t, &rank) &&
            (t.n == 0 || logline_equals(t, "]") || logline_starts(t, "] (")));
}

bool logmemory_is_open(struct log_text line)
{
    struct log_text rest;
    int rank = 0;
    const struct memory_form *form = memory_start(line, &rank, &rest);
    struct log_field f;
    if (!form)
        return is_start(line);
    while (logfield_next(&rest, &f)) {
        if (strcmp(logfield_name(f.name).text, form->last) == 0)
            return false;
    }
    return true;
}
