/*
 * How it works. Prefixes are taken off in a loop, since containers, schedulers
 * and mpirun put them before one another in any order. Their bytes, less time
 * stamps, are hashed to the number of the stream, by which lines of one writer
 * are told from another's.
 */
#include "prefix.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_one_of(char c, const char *bytes)
{
    return c != '\0' && strchr(bytes, c) != NULL;
}

static size_t count_digits(struct log_text t, size_t at)
{
    size_t n = 0;
    while (at + n < t.n && is_digit(t.p[at + n]))
        n++;
    return n;
}

static bool is_at(struct log_text t, size_t at, char c)
{
    return at < t.n && t.p[at] == c;
}

/* ---- prefixes: each returns the bytes it takes, 0: none ---- */

/* Bytes of 2026-01-02T03:04:05.678901234Z, of 2026-01-02 03:04:05,678 and the
 * like at `at`; 0 for none. */
static size_t date_length(struct log_text t, size_t at)
{
    static const char shape[] = "0000-00-00 00:00:00";
    const size_t n = sizeof shape - 1;
    if (t.n < at + n)
        return 0;
    for (size_t i = 0; i < n; i++) {
        char c = t.p[at + i];
        bool fits = shape[i] == '0' ? is_digit(c)
                                    : c == shape[i] || (i == 10 && c == 'T');
        if (!fits)
            return 0;
    }
    size_t end = at + n;
    while (end < t.n && (is_digit(t.p[end]) || is_one_of(t.p[end], ".,Z+-:")))
        end++;
    return end - at;
}

/* A time and a blank; "[time]" only with another bracket behind it, since
 * Megatron writes such times itself. */
static size_t take_timestamp(struct log_text t, struct log_prefix *out)
{
    bool bracket = is_at(t, 0, '[');
    size_t n = date_length(t, bracket);
    bool ends = bracket ? is_at(t, n + 1, ']') && is_at(t, n + 2, '[')
                        : is_at(t, n, ' ');
    if (!n || !ends)
        return 0;
    out->fixed = false;
    return bracket ? n + 2 : n + 1;
}

/* Bytes of a logger's level at `at`, 0 for none. */
static size_t level_length(struct log_text t, size_t at)
{
    static const char *const levels[] = {"INFO",  "WARNING",  "WARN",
                                         "ERROR", "CRITICAL", "DEBUG"};
    if (at >= t.n)
        return 0;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (logline_starts(logline_from(t, t.p + at), levels[i]))
            return strlen(levels[i]);
    }
    return 0;
}

/* Bytes of a module's or a file's name, with colons and a line's number. */
static size_t module_length(struct log_text t, size_t at)
{
    size_t n = 0;
    while (at + n < t.n && (is_alpha(t.p[at + n]) || is_digit(t.p[at + n]) ||
                            is_one_of(t.p[at + n], "._-/:<>")))
        n++;
    return n;
}

/* Python's "INFO:megatron.training:". */
static size_t take_root_level(struct log_text t)
{
    size_t at = level_length(t, 0);
    if (!at || !is_at(t, at++, ':'))
        return 0;
    size_t n = module_length(t, at);
    const char *colon = n ? memchr(t.p + at, ':', n) : NULL;
    return colon ? (size_t)(colon - t.p) + 1 : 0;
}

/* Bytes of "[training:88] - " or "module:log:12 - " at `at`, 0 for none. */
static size_t source_length(struct log_text t, size_t at)
{
    size_t start = at + is_at(t, at, ' ');
    bool bracket = is_at(t, start, '[');
    size_t n = module_length(t, start + bracket);
    bool colon = n && memchr(t.p + start + bracket, ':', n);
    size_t end = start + bracket + n;
    bool dashed = is_at(t, end, ' ') && is_at(t, end + 1, '-');
    bool fits = colon && (bracket ? is_at(t, end, ']') : dashed);
    return fits ? end + bracket - at : 0;
}

/* "- INFO - ", "| INFO     | module:log:12 - ", "[INFO][training:88] - ". */
static size_t take_level(struct log_text t)
{
    bool bracket = is_at(t, 0, '[');
    bool sign = (is_at(t, 0, '-') || is_at(t, 0, '|')) && is_at(t, 1, ' ');
    size_t at = bracket ? 1 : 2;
    size_t n = bracket || sign ? level_length(t, at) : 0;
    if (!n)
        return 0;
    at += n;
    while (is_at(t, at, ' '))
        at++;
    if (at == t.n || !is_one_of(t.p[at], bracket ? "]" : "-|"))
        return 0;
    at++;
    at += source_length(t, at);
    if (is_at(t, at, ' ') && is_at(t, at + 1, '-') && is_at(t, at + 2, ' '))
        at += 2;
    return at + is_at(t, at, ' ');
}

/* -1 for what is too long to be a rank. */
static int small_int(struct log_text t, size_t at, size_t n)
{
    struct log_text digits = {t.p + at, n};
    int64_t v = -1;
    bool ok = n <= 7 && logline_take_int(&digits, &v);
    return ok ? (int)v : -1;
}

/* torchrun's [default3]: (of --tee, whose number is that of the node), [rank3]:
 * and mpirun's [1,3]<stdout>: (job, rank), mpiexec's [3]: */
static size_t take_bracket(struct log_text t, struct log_prefix *out)
{
    if (!is_at(t, 0, '['))
        return 0;
    size_t at = 1;
    while (at < t.n && (is_alpha(t.p[at]) || t.p[at] == '_'))
        at++;
    bool named = at > 1;
    bool is_rank = named && at == 5 && memcmp(t.p + 1, "rank", 4) == 0;
    size_t job = named ? 0 : count_digits(t, at);
    if (job && is_at(t, at + job, ','))
        at += job + 1;
    else if (!named && !is_at(t, at + job, ']'))
        return 0;
    size_t n = count_digits(t, at);
    int number = small_int(t, at, n);
    at += n;
    if (number < 0 || !is_at(t, at++, ']'))
        return 0;
    struct log_text rest = {t.p + at, t.n - at};
    if (!named)
        at +=
            logline_starts(rest, "<stdout>") || logline_starts(rest, "<stderr>")
                ? 8
                : 0;
    if (!is_at(t, at, ':'))
        return 0;
    if (named && !is_rank)
        out->local_rank = number;
    else
        out->rank = number;
    return at + 1;
}

/* srun -l's "6: " (also " 6: "), grep -n's "1078:[" */
static size_t take_number(struct log_text t, struct log_prefix *out)
{
    size_t at = 0;
    while (at < 4 && is_at(t, at, ' '))
        at++;
    size_t n = count_digits(t, at);
    size_t colon = at + n;
    if (n == 0 || !is_at(t, colon, ':'))
        return 0;
    if (is_at(t, colon + 1, '[') && at == 0) {
        out->fixed = false;
        return colon + 1;
    }
    if (!is_at(t, colon + 1, ' ') && t.n > colon + 1)
        return 0;
    out->rank = small_int(t, at, n);
    return colon + (t.n > colon + 1 ? 2 : 1);
}

/* nemo-run's "name/0 " and "# name/0 " */
static size_t take_replica(struct log_text t)
{
    size_t at = logline_starts(t, "# ") ? 2 : 0;
    if (at >= t.n || !is_alpha(t.p[at]))
        return 0;
    while (at < t.n &&
           (is_alpha(t.p[at]) || is_digit(t.p[at]) || strchr("_.-", t.p[at])) &&
           t.p[at])
        at++;
    if (!is_at(t, at, '/'))
        return 0;
    size_t n = count_digits(t, at + 1);
    return n && is_at(t, at + 1 + n, ' ') ? at + n + 2 : 0;
}

/* pdsh's "worker-0: " and docker compose's "gpu-3| ": a host's name, which has
 * letters and a digit. */
static size_t take_host(struct log_text t)
{
    size_t at = 0, n_letters = 0;
    bool digit = false;
    while (at < t.n && (is_alpha(t.p[at]) || is_digit(t.p[at]) ||
                        t.p[at] == '-' || t.p[at] == '.')) {
        digit = digit || is_digit(t.p[at]);
        n_letters += is_alpha(t.p[at]);
        at++;
    }
    bool named = at && is_alpha(t.p[0]) && digit && n_letters > 1;
    bool ends = is_at(t, at, ':') || is_at(t, at, '|');
    return named && ends && is_at(t, at + 1, ' ') ? at + 2 : 0;
}

/* Ray's "(Worker pid=33, ip=10.0.0.1) ", kubectl's "[pod/name/container] " and
 * "pod/name ". */
static size_t take_pod(struct log_text t)
{
    bool ray = is_at(t, 0, '('), bracket = is_at(t, 0, '[');
    struct log_text name = {t.p + (ray || bracket), 0};
    size_t end = 0;
    while (end < t.n && end < 120 &&
           !is_one_of(t.p[end], bracket ? "]" : ")") &&
           (ray || t.p[end] != ' '))
        end++;
    name.n = end > 0 ? end - (ray || bracket) : 0;
    bool closed = ray ? is_at(t, end, ')') : !bracket || is_at(t, end, ']');
    bool fits = ray ? logline_find(name, " pid=") != NULL
                    : logline_starts(name, "pod/");
    size_t past = end + (ray || bracket);
    return closed && fits && is_at(t, past, ' ') ? past + 1 : 0;
}

/* FNV-1a: two prefixes of one log hardly ever have the same hash, and nothing
 * worse than a row in the wrong block comes of it. */
static uint64_t line_mix(uint64_t h, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 1099511628211u; // its prime
    return h;
}

/* Markdown's "> " of a quotation. */
static size_t take_quote(struct log_text t)
{
    size_t at = 0;
    while (is_at(t, at, ' ') && at < 3)
        at++;
    return is_at(t, at, '>') && is_at(t, at + 1, ' ') ? at + 2 : 0;
}

/* The next prefix; `told` is false for what does not tell one writer from
 * another: times, loggers and line numbers. */
static size_t take_prefix(struct log_text t, struct log_prefix *out, bool *told)
{
    size_t n = take_timestamp(t, out);
    if (!n)
        n = take_level(t);
    if (!n)
        n = take_root_level(t);
    if (!n)
        n = take_quote(t);
    *told = n == 0;
    if (!n)
        n = take_bracket(t, out);
    if (!n) {
        n = take_number(t, out);
        *told = !n || t.p[n - 1] != ':' || !is_digit(t.p[0]); // grep -n
    }
    if (!n)
        n = take_replica(t);
    if (!n)
        n = take_pod(t);
    return n ? n : take_host(t);
}

struct log_text logprefix_body(struct log_text line, struct log_prefix *out)
{
    *out = (struct log_prefix){.fixed = true, .rank = -1, .local_rank = -1};
    struct log_text t = line;
    // six prefixes are more than launchers, containers and schedulers pile up
    for (int i = 0; i < 6 && t.n; i++) {
        bool told = true;
        size_t n = take_prefix(t, out, &told);
        if (!n)
            break;
        if (told)
            out->stream = line_mix(out->stream + 1, t.p, n);
        t = logline_from(t, t.p + n);
    }
    out->length = line.n - t.n;
    return t;
}
