/* Names and values of fields: what is understood, and what must not be. */
#include "log/field.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct log_text text_of(const char *s)
{
    return (struct log_text){s, strlen(s)};
}

struct value_case {
    const char *text;
    enum field_unit unit;
    double want; // NAN: not understood
};

static const struct value_case values[] = {
    {"12.5", FIELD_TIME, 12.5},
    {" 12.5 ", FIELD_TIME, 12.5},
    {"12.5 ms", FIELD_TIME, 12.5},
    {"12.5s", FIELD_TIME, NAN}, // the name says ms
    {"12.5", FIELD_SECONDS, 12500},
    {"12.5ms", FIELD_SECONDS, NAN},
    {"12.5", FIELD_UNSAID, NAN},
    {"12.5s", FIELD_UNSAID, 12500},
    {"1,012.5 ms", FIELD_UNSAID, 1012.5},
    {"11.5K", FIELD_TIME, 11500},
    {"11.5k", FIELD_TIME, 11500},
    {"1.25M", FIELD_PLAIN, 1.25e6},
    {"2G", FIELD_PLAIN, 2e9},
    {"11.5KB", FIELD_TIME, NAN},
    {"11.5Q", FIELD_TIME, NAN},
    {"1,951.25", FIELD_TIME, 1951.25},
    {"1,234,567", FIELD_TIME, 1234567},
    {"-1,234.5", FIELD_PLAIN, -1234.5},
    {"1,95.1", FIELD_TIME, NAN},
    {"1.951,1", FIELD_TIME, NAN},
    {"11,5", FIELD_TIME, NAN},
    {"1 951.1", FIELD_TIME, NAN},
    {"12:30", FIELD_TIME, NAN},
    {"1m 3s", FIELD_TIME, NAN},
    {"0x1F", FIELD_TIME, NAN},
    {"1.2.3", FIELD_TIME, NAN},
    {"", FIELD_TIME, NAN},
    {"100.5/99.5", FIELD_TIME, 100.5},
    {"100.5 (avg 99.5)", FIELD_TIME, 100.5},
    {"100.5(99.5)", FIELD_TIME, NAN},
    {"71.25 [2026-01-01", FIELD_FLOPS, 71.25},
    {"71.25[default7]:", FIELD_FLOPS, 71.25},
    {"150.5TFLOPS", FIELD_FLOPS, 150.5},
    {"942.5MODEL_TFLOP/s/GPU", FIELD_FLOPS, 942.5},
    {"1.5PFLOPS", FIELD_FLOPS, 1500},
    {"71.25 apples", FIELD_FLOPS, NAN},
    {"1.05E+01", FIELD_PLAIN, 10.5},
    {"1.05E+", FIELD_PLAIN, NAN},
    {"1E400", FIELD_PLAIN, INFINITY},
    {"-inf", FIELD_PLAIN, -INFINITY},
    {"3", FIELD_COUNT, 3},
    {"3.5", FIELD_COUNT, NAN},
    {"-3", FIELD_COUNT, NAN},
};

Test(logfield, reads_a_value_wholly_or_not_at_all)
{
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct value_case *c = &values[i];
        double v = -1;
        bool ok = logfield_value(text_of(c->text), c->unit, &v);
        cr_expect_eq(ok, !isnan(c->want), "'%s' of unit %d", c->text, c->unit);
        bool same = !ok || (v <= c->want && v >= c->want);
        cr_expect(same, "'%s': %g, want %g", c->text, v, c->want);
    }
    double v = 0;
    cr_expect(logfield_value(text_of("NaN"), FIELD_PLAIN, &v) && isnan(v));
}

/* The short way of reading numbers rounds as strtod() does. */
Test(logfield, numbers_are_those_of_strtod)
{
    static const char *const texts[] = {"0.1",      "123456789012345",
                                        "1.05E+01", "9.999999E-05",
                                        "4.35",     "1e22",
                                        "1e23",     "3.E5",
                                        "0.000001", "2.5e-22",
                                        "1e-400",   "12345678901234567890.5",
                                        "00012.50", "8388608.0"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct log_text t = text_of(texts[i]);
        double v = 0, want = strtod(texts[i], NULL);
        cr_expect(logline_take_number(&t, &v), "%s", texts[i]);
        cr_expect(v <= want && v >= want, "%s: %.17g", texts[i], v);
        cr_expect_eq(t.n, 0, "%s leaves %zu", texts[i], t.n);
    }
}

Test(logfield, names_are_their_letters_and_digits)
{
    static const char *const same[] = {
        "elapsed time per iteration (ms)", "elapsed_time_per_iteration_ms",
        "elapsed timeper iteration (ms)", "Elapsed-Time-Per-Iteration (ms)"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        cr_expect_str_eq(logfield_name(text_of(same[i])).text,
                         "elapsedtimeperiterationms");
}

/* "name=value;" of all fields of `text`, for comparison. */
static void expect_fields(const char *text, bool dict, const char *want)
{
    char got[512] = "";
    struct log_text rest = text_of(text);
    struct log_field f;
    size_t n = 0;
    while (dict ? logfield_next_of_dict(&rest, &f) : logfield_next(&rest, &f))
        n += (size_t)snprintf(got + n, sizeof got - n, "%.*s=%.*s;",
                              (int)f.name.n, f.name.p, (int)f.value.n,
                              f.value.p);
    cr_expect_str_eq(got, want, "%s: %s", text, got);
}

Test(logfield, fields_have_bars_commas_or_blanks_between_them)
{
    expect_fields(" a b: 1 | text | c: 2:3 |", false, "a b=1;c=2:3;");
    expect_fields("a=1 | b = 2", false, "a=1;b=2;");
    expect_fields("a: 1,234.5, b: 2", false, "a=1,234.5;b=2;");
    expect_fields("a=1 b=2  c=3", false, "a=1;b=2;c=3;");
    expect_fields("a=1; b=2", false, "a=1;b=2;");
    expect_fields("'a': 1, \"b, c\": '2, 3', 'd'", true, "a=1;b, c=2, 3;");
    expect_fields("", false, "");
    expect_fields("", true, "");
}
