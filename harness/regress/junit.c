/*
 * How it works: cases are a list in the order they were found; the file is
 * written at the end, whether all passed, some failed, or an error ended it.
 */
#include "junit.h"

#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

void junit_begin(struct junit *j, struct arena *a)
{
    *j = (struct junit){.a = a};
    j->end = &j->first;
}

void junit_add(struct junit *j, const struct junit_case *c)
{
    struct junit_case *own = arena_alloc(j->a, 1, sizeof *own);
    if (!own || !c->text) {
        j->failed = true;
        return;
    }
    *own = *c;
    *j->end = own;
    j->end = &own->next;
    j->n++;
    j->n_of[c->result]++;
}

/* ---- what was found ---- */

/* New marks are skipped: a reader must not take them for passed. */
static enum junit_result result_of(enum mark_state s)
{
    if (s == MARK_KEPT)
        return JUNIT_PASSED;
    return marks_is_worse(s) ? JUNIT_FAILED : JUNIT_SKIPPED;
}

/* What a mark was held to. */
struct mark_bound {
    enum mark_state state;
    double bound;
};

/* A mark that was never known is no case: nothing was asked. */
static void add_mark(struct junit *j, const struct junit_case *like,
                     enum mark m, const double both[2],
                     const struct mark_bound *held)
{
    if (held->state == MARK_NONE)
        return;
    struct junit_case c = *like;
    c.name = mark_words(m);
    c.result = result_of(held->state);
    c.text = marks_say(j->a, m, both, held->bound);
    junit_add(j, &c);
}

void junit_verdict(struct junit *j, const char *dataset,
                   const struct verdict *v)
{
    struct junit_case c = {.dataset = dataset};
    for (int m = 0; m < N_MARKS; m++) {
        const double both[2] = {v->now.pct[m], v->then.pct[m]};
        const struct mark_bound held = {v->state[m], v->bound->pct[m]};
        add_mark(j, &c, (enum mark)m, both, &held);
    }
    c.name = "all figures are known";
    c.result = *v->unknown ? JUNIT_FAILED : JUNIT_PASSED;
    c.text = v->unknown + (*v->unknown == ' ');
    junit_add(j, &c);
    c.name = "layouts of the baseline";
    c.result = v->n_lost > 0 ? JUNIT_FAILED : JUNIT_PASSED;
    c.text = arena_printf(j->a, "%d are not predicted any more", v->n_lost);
    junit_add(j, &c);
}

/* A dataset that could not be compared is one case, skipped or failed. */
static void add_comparison(struct junit *j, const char *then,
                           const struct compare_row *r)
{
    struct junit_case c = {
        .dataset = arena_printf(j->a, "%s against %s", r->dataset, then)};
    if (!c.dataset) {
        j->failed = true;
        return;
    }
    for (int m = 0; m < N_MARKS && r->kind == COMPARE_JUDGED; m++) {
        const double both[2] = {r->now->marks.pct[m], r->then->marks.pct[m]};
        const struct mark_bound held = {r->state[m], r->bound->pct[m]};
        add_mark(j, &c, (enum mark)m, both, &held);
    }
    if (r->kind == COMPARE_JUDGED)
        return;
    c.name = "the same layouts";
    c.result = r->worse ? JUNIT_FAILED : JUNIT_SKIPPED;
    c.text = r->why;
    junit_add(j, &c);
}

/* A comparison of nothing has a case of its own that fails: a CI that counts
 * failures alone would show it as passed. */
void junit_comparison(struct junit *j, const char *then,
                      const struct comparison *c)
{
    for (int i = 0; i < c->n; i++)
        add_comparison(j, then, &c->row[i]);
    const struct junit_case any = {
        .dataset = "all",
        .name = "something to compare",
        .result = c->n_judged > 0 ? JUNIT_PASSED : JUNIT_FAILED,
        .text = "no dataset has the same measurements in both sessions"};
    junit_add(j, &any);
}

/* ---- the file ---- */

/* Bytes of the character at `text`, 0 for what is no UTF-8, or what XML 1.0 has
 * no place for. */
static size_t xml_bytes(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    const bool control = *s < ' ' || *s == 127;
    const bool no_character = *s == 0xEF && s[1] == 0xBF && s[2] >= 0xBE;
    return control || no_character ? 0 : text_utf8_bytes(text);
}

/* The text as the value of an attribute. */
static void put_text(FILE *out, const char *text)
{
    while (*text) {
        const size_t n = xml_bytes(text);
        const char *name = text_entity(*text);
        if (name)
            fputs(name, out);
        else if (n)
            fwrite(text, 1, n, out);
        else
            fputc('?', out);
        text += n ? n : 1;
    }
}

static void put_attribute(FILE *out, const char *name, const char *text)
{
    fprintf(out, " %s=\"", name);
    put_text(out, text);
    fputc('"', out);
}

static void put_case(FILE *out, const struct junit_case *c)
{
    static const char *const element[] = {[JUNIT_FAILED] = "failure",
                                          [JUNIT_SKIPPED] = "skipped",
                                          [JUNIT_ERROR] = "error"};
    fputs("    <testcase", out);
    put_attribute(out, "classname", c->dataset);
    put_attribute(out, "name", c->name);
    if (c->result == JUNIT_PASSED) {
        fputs("/>\n", out);
        return;
    }
    fprintf(out, ">\n      <%s", element[c->result]);
    put_attribute(out, "message", c->text);
    fputs("/>\n    </testcase>\n", out);
}

static void put_counts(FILE *out, const struct junit *j)
{
    fprintf(out,
            " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\">\n",
            j->n, j->n_of[JUNIT_FAILED], j->n_of[JUNIT_ERROR],
            j->n_of[JUNIT_SKIPPED]);
}

/* In memory first: a text_write_file() that fails leaves an earlier file. */
enum err junit_write(const struct junit *j, const char *path,
                     struct err_msg *msg)
{
    char *text = NULL;
    size_t len = 0;
    if (!file_is_ours(path, "<?xml "))
        return err_set(msg, ERR_RANGE,
                       "%s: is there and no XML, so it is not replaced; want a "
                       "name that is free",
                       path);
    FILE *out = j->failed ? NULL : open_memstream(&text, &len);
    if (!out)
        return err_set(msg, ERR_NOMEM, "validate: out of memory");
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
    put_counts(out, j);
    fputs("  <testsuite name=\"moe-bench validate\"", out);
    put_counts(out, j);
    for (const struct junit_case *c = j->first; c; c = c->next)
        put_case(out, c);
    fputs("  </testsuite>\n</testsuites>\n", out);
    const bool ok = !ferror(out);
    const enum err e = fclose(out) == 0 && ok
                           ? text_write_file(path, text, len, msg)
                           : err_set(msg, ERR_NOMEM, "validate: out of memory");
    free(text);
    return e;
}
