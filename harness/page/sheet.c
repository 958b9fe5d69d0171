/*
 * How it works: rows go to memory streams as HTML, details and timelines into
 * one JSON document; page joins them. What a script sorts by stands in the
 * cells as data-v, in full; what is read is rounded.
 */
#include "sheet.h"

#include "base/text.h"
#include "html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const double MIB = 1024.0 * 1024.0;

/* "378.5 ms", "2.10 s"; NULL where not finite. */
static const char *sheet_time(struct arena *a, double ms)
{
    if (!isfinite(ms))
        return NULL;
    if (fabs(ms) < 10)
        return arena_printf(a, "%.3f ms", ms);
    if (fabs(ms) < 1e3)
        return arena_printf(a, "%.1f ms", ms);
    return arena_printf(a, fabs(ms) < 1e5 ? "%.2f s" : "%.1f s", ms / 1e3);
}

const char *sheet_bytes(struct arena *a, double bytes)
{
    if (!isfinite(bytes))
        return NULL;
    return fabs(bytes) < 1024 * MIB
               ? arena_printf(a, "%.1f MiB", bytes / MIB)
               : arena_printf(a, "%.2f GiB", bytes / MIB / 1024);
}

/* NAN where one is not known. */
static double sheet_error_pct(double pred, double meas)
{
    const double x = 100 * (pred - meas) / meas;
    return isfinite(x) ? x : (double)NAN;
}

void sheet_begin(struct sheet *s, const struct sheet_set *set)
{
    s->set = *set;
}

/* A signed error to two digits: more would be noise. */
static void sheet_print_error(FILE *out, const char *class, double pct)
{
    fprintf(out, "<td class=\"n%s\"", class);
    if (isfinite(pct))
        fprintf(out, " data-v=\"%.7g\">%+.2f%%", pct, pct);
    else
        putc('>', out);
}

/* Hardware or repository, and below it where a reader finds it. */
static void sheet_print_origin(FILE *out, const struct sheet_set *d)
{
    fputs("<td>", out);
    html_text(out, d->origin);
    if (!d->url || !*d->url)
        return;
    if (d->origin && *d->origin)
        fputs("<br>", out);
    // no other scheme: "javascript:" is one
    const bool link = text_starts(d->url, "https://");
    if (link) {
        fputs("<a rel=\"noreferrer\" href=\"", out);
        html_text(out, d->url);
        fputs("\">", out);
    }
    html_text(out, d->url);
    if (link)
        fputs("</a>", out);
}

/* A dataset without comparisons has empty cells, not an error of 0. */
void sheet_end(struct sheet *s)
{
    const struct sheet_set *d = &s->set;
    const double mean =
        d->n_compared > 0 ? d->sum_error_pct / d->n_compared : (double)NAN;
    fputs("<tr>", s->sets);
    html_head(s->sets, "row", d->name);
    fputs("<td class=\"k\" data-k=\"", s->sets);
    html_text(s->sets, d->kind);
    fputs("\">", s->sets);
    html_text(s->sets, d->kind);
    html_cell(s->sets, d->what);
    sheet_print_origin(s->sets, d);
    fprintf(s->sets, "<td class=\"n\">%d<td class=\"n\">%d", d->n_rows,
            d->n_compared);
    if (isfinite(mean))
        fprintf(s->sets, "<td class=\"n\">%.2f%%<td class=\"n\">%.2f%%\n", mean,
                d->worst_error_pct);
    else
        fputs("<td><td>\n", s->sets);
    s->n_sets++;
}

/* One of the four words: the page has a colour and a shape for each. */
static const char *sheet_kind(const char *kind)
{
    static const char *const kinds[] = {SHEET_MEASURED, SHEET_EMULATED,
                                        SHEET_PUBLISHED};
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (kind && strcmp(kind, kinds[i]) == 0)
            return kinds[i];
    return SHEET_ASSUMED;
}

/* Of the step where it is known, else of memory; rows left out do not count. */
static void sheet_count(struct sheet *s, const struct sheet_row *r)
{
    double pct = sheet_error_pct(r->pred_ms, r->meas_ms);
    if (!isfinite(pct))
        pct = sheet_error_pct(r->pred_bytes, r->meas_bytes);
    s->n_rows++;
    s->set.n_rows++;
    // a run's prediction is its layout's, which counts already
    if (!isfinite(pct) || strcmp(r->status, "valid") != 0 ||
        strcmp(r->what, "run") == 0)
        return;
    s->set.n_compared++;
    s->set.sum_error_pct += fabs(pct);
    s->set.worst_error_pct = fmax(s->set.worst_error_pct, fabs(pct));
}

struct number {
    const char *class;
    double value;
    const char *text; // NULL: nothing is known
};

/* An empty cell without data-v sorts behind all others. */
static void sheet_print_number(FILE *out, struct number x)
{
    fprintf(out, "<td class=\"n%s\"", x.class);
    if (isfinite(x.value))
        fprintf(out, " data-v=\"%.9g\">%s", x.value, x.text ? x.text : "");
    else
        putc('>', out);
}

/* The classes w0, w1 and w2 leave the page on narrower and narrower screens. */
static void sheet_print_texts(struct sheet *s, const struct sheet_row *r)
{
    FILE *out = s->rows;
    fputs("<th scope=row>", out);
    html_breaking(out, *r->layout ? r->layout : r->name);
    fputs("<td class=\"w0\">", out);
    html_breaking(out, r->name);
    fputs("<td class=\"w2\">", out);
    html_text(out, r->what);
    fputs("<td class=\"w1\">", out);
    html_breaking(out, s->set.name);
    fprintf(out, "<td class=\"k w1\" data-k=\"%s\">%s", sheet_kind(r->kind),
            sheet_kind(r->kind));
    fputs("<td class=\"w2\">", out);
    html_text(out, r->status);
    if (*r->reason) {
        fputs(": <small>", out);
        html_text(out, r->reason);
        fputs("</small>", out);
    }
}

/* Cells are in the order of the template's header; the script sorts by data-v
 * where a cell has it. */
struct writer sheet_add(struct sheet *s, const struct sheet_row *r)
{
    FILE *out = s->rows;
    fputs("<tr data-s=\"", out);
    html_text(out, r->status);
    fputs("\">", out);
    sheet_print_texts(s, r);
    sheet_print_number(out, (struct number){" pred", r->pred_ms,
                                            sheet_time(s->a, r->pred_ms)});
    sheet_print_number(out, (struct number){" meas", r->meas_ms,
                                            sheet_time(s->a, r->meas_ms)});
    sheet_print_error(out, "", sheet_error_pct(r->pred_ms, r->meas_ms));
    sheet_print_number(out, (struct number){" w2", r->pred_bytes,
                                            sheet_bytes(s->a, r->pred_bytes)});
    sheet_print_number(out, (struct number){" w2", r->meas_bytes,
                                            sheet_bytes(s->a, r->meas_bytes)});
    sheet_print_error(out, " w2",
                      sheet_error_pct(r->pred_bytes, r->meas_bytes));
    putc('\n', out);
    sheet_count(s, r);
    return writer_object(s->details, NULL);
}

struct sheet_facts sheet_facts(struct sheet *s, struct writer detail)
{
    return (struct sheet_facts){s, detail, writer_list(detail, "facts")};
}

/* What is not known makes no line: older results lack many. */
void sheet_fact(struct sheet_facts *f, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    struct writer pair = writer_list(f->list, NULL);
    writer_text(pair, NULL, name);
    writer_text(pair, NULL, value);
}

/* Through a text: a double of six digits is not written with seventeen. */
void sheet_number(struct writer to, const char *key, double value)
{
    char text[32];
    if (!isfinite(value))
        return;
    snprintf(text, sizeof text, "%.6g", value);
    writer_number(to, key, strtod(text, NULL));
}
