/*
 * How it works: dataset.json follows from the runs, so it is made again and
 * compared. Sentences of manifest.json change with the program's version and
 * are not compared: they may hold letters, digits and plain signs, none that
 * markup or an address needs.
 */
#include "form_check.h"

#include "checks.h"
#include "pack.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { FORM_SENTENCE_BYTES = 300, FORM_VERSION_BYTES = 12 };

static const struct json_range form_count = {0, 1 << 30};

/* ---- texts ---- */

/* A 0 of the form is any digit. */
static bool has_form(const char *text, const char *form)
{
    for (; *text && *form; text++, form++)
        if (*form == '0' ? !isdigit((unsigned char)*text) : *text != *form)
            return false;
    return !*text && !*form;
}

static void form_text(struct reader at, const char *key, const char *form)
{
    const char *text = NULL;
    reader_text(at, key, &text);
    if (text && !has_form(text, form))
        reader_fail_at(at, key, ERR_PARSE,
                       "got '%.40s', want the form '%s' with digits", text,
                       form);
}

/* Where only one text can stand. */
static void form_same(struct reader at, const char *key, const char *want)
{
    const char *text = NULL;
    reader_text(at, key, &text);
    if (text && (!want || strcmp(text, want) != 0))
        reader_fail_at(at, key, ERR_PARSE, "got '%.40s', want %s%s%s", text,
                       want ? "'" : "", want ? want : "none", want ? "'" : "");
}

static bool is_sentence(const char *text)
{
    const size_t n = strlen(text);
    for (const char *p = text; *p; p++)
        if (*p < ' ' || *p > '~' || strchr("<>`@\\{}$", *p))
            return false;
    return n > 0 && n <= FORM_SENTENCE_BYTES;
}

static void form_sentence_here(struct reader at, const char *text)
{
    if (text && !is_sentence(text))
        reader_fail(at, ERR_PARSE,
                    "got '%.40s', want one line of at most %d plain letters, "
                    "digits and signs",
                    text, FORM_SENTENCE_BYTES);
}

static void form_sentence(struct reader at, const char *key)
{
    const char *text = NULL;
    reader_text(at, key, &text);
    form_sentence_here(reader_get(at, key), text);
}

static void form_sentences(struct reader top, const char *key)
{
    for (struct reader s = reader_first(reader_list(top, key)); s.item;
         s = reader_next(s)) {
        const char *text = NULL;
        reader_text_here(s, &text);
        form_sentence_here(s, text);
    }
}

/* ---- the manifest ---- */

static void form_version(struct reader top)
{
    static const char start[] = "moe-bench ";
    const char *text = NULL;
    reader_text(top, "made_by", &text);
    const char *version = text && strncmp(text, start, sizeof start - 1) == 0
                              ? text + sizeof start - 1
                              : "";
    const size_t n = strlen(version);
    if (text && (n == 0 || n > FORM_VERSION_BYTES ||
                 strspn(version, "0123456789.") != n))
        reader_fail_at(top, "made_by", ERR_PARSE,
                       "got '%.40s', want '"
                       "%s"
                       "' and a version",
                       text, start);
}

static void form_hardware(struct reader top, const struct contribution *c)
{
    static const char *const keys[] = {"gpu", "card", "n_gpus",
                                       "gpus_per_node"};
    struct reader h = reader_object(top, "hardware");
    reader_keys(h, keys, sizeof keys / sizeof keys[0]);
    form_same(h, "card", c->card ? c->card->name : NULL);
}

static void form_consent(struct reader top)
{
    static const char *const keys[] = {"licence", "sentence", "given_utc"};
    struct reader o = reader_object(top, "consent");
    reader_keys(o, keys, sizeof keys / sizeof keys[0]);
    form_text(o, "given_utc", "0000-00-00T00:00:00Z");
}

static void form_series(struct reader top)
{
    static const char *const keys[] = {"planned", "n_stated", "n_rows",
                                       "without_step"};
    static const char *const lost_keys[] = {"run", "why"};
    struct reader s = reader_object(top, "series");
    reader_keys(s, keys, sizeof keys / sizeof keys[0]);
    for (struct reader r = reader_first(reader_list(s, "without_step")); r.item;
         r = reader_next(r)) {
        reader_keys(r, lost_keys, sizeof lost_keys / sizeof lost_keys[0]);
        form_sentence(r, "run");
        form_sentence(r, "why");
    }
}

static void form_checks(struct reader top)
{
    static const char *const keys[] = {"name", "answer", "text"};
    const char *names[N_CHECKS], *answers[N_CHECK_ANSWERS];
    int found = 0;
    for (int i = 0; i < N_CHECKS; i++)
        names[i] = check_name((enum check_id)i);
    for (int i = 0; i < N_CHECK_ANSWERS; i++)
        answers[i] = check_answer_name((enum check_answer)i);
    for (struct reader r = reader_first(reader_list(top, "checks")); r.item;
         r = reader_next(r)) {
        reader_keys(r, keys, sizeof keys / sizeof keys[0]);
        reader_choice(r, "name", names, N_CHECKS, &found);
        reader_choice(r, "answer", answers, N_CHECK_ANSWERS, &found);
        form_sentence(r, "text");
    }
}

static void form_removed(struct reader top)
{
    const char *keys[N_REMOVED_KINDS + 2] = {"log_lines", "log_lines_kept"};
    struct reader o = reader_object(top, "removed");
    int64_t n = 0;
    for (int k = 0; k < N_REMOVED_KINDS; k++)
        keys[k + 2] = removed_kind_name((enum removed_kind)k);
    reader_keys(o, keys, N_REMOVED_KINDS + 2);
    for (int k = 0; k < N_REMOVED_KINDS + 2; k++)
        reader_int64(o, keys[k], form_count, &n);
}

static void form_runs(struct reader top)
{
    static const char *const keys[] = {"id", "log", "no_log_because", "profile",
                                       "timers"};
    int n = 0;
    bool is = false;
    for (struct reader r = reader_first(reader_list(top, "runs")); r.item;
         r = reader_next(r)) {
        char id[24], log[48];
        snprintf(id, sizeof id, "run-%02d", ++n);
        snprintf(log, sizeof log, "logs/%s.txt.gz", id);
        reader_keys(r, keys, sizeof keys / sizeof keys[0]);
        reader_require(r, "id", id);
        form_same(r, "id", id);
        form_same(r, "log", log);
        form_sentence(r, "no_log_because");
        reader_bool(r, "profile", &is);
        reader_bool(r, "timers", &is);
    }
}

void form_check_manifest(struct reader top, const struct contribution *c)
{
    static const char *const sources[] = {"measured", "emulated"};
    static const char *const clocks[] = {"wall", "cpu", "flops"};
    int found = 0;
    form_version(top);
    form_same(top, "example", c->example ? CONTRIBUTED_EXAMPLE : NULL);
    form_text(top, "date", "0000-00-00");
    reader_choice(top, "source", sources, 2, &found);
    reader_choice(top, "clock", clocks, 3, &found);
    form_hardware(top, c);
    form_consent(top);
    form_series(top);
    form_checks(top);
    form_sentences(top, "missing");
    form_sentences(top, "computable");
    form_removed(top);
    form_runs(top);
}

/* ---- dataset.json ---- */

/* "-2" and so on: of the same day and hardware. */
static bool is_numbered(const char *name, const char *base)
{
    const size_t n = strlen(base);
    if (strncmp(name, base, n) != 0)
        return false;
    name += n;
    return !*name || (*name == '-' && name[1] &&
                      strspn(name + 1, "0123456789") == strlen(name + 1));
}

enum err form_check_dataset(const struct contribution *c, const char *dir,
                            const struct published_dataset *d,
                            struct err_msg *msg)
{
    struct published_dataset own;
    struct contribution unnamed = *c;
    unnamed.name = NULL;
    const char *base = contribution_name(&unnamed);
    if (!base || pack_dataset(c, &own) != ERR_OK)
        return err_set(msg, ERR_NOMEM, "contributed: out of memory");
    if (!is_numbered(c->name, base))
        return err_set(msg, ERR_MODEL,
                       "%s: got the name '%s', and its hardware and date make "
                       "'%s'",
                       dir, c->name, base);
    const char *const pairs[][3] = {
        {"source", d->source, own.source},
        {"title", d->title, own.title},
        {"repository", d->repository, own.repository},
        {"commit", d->commit, own.commit},
        {"url", d->url, own.url},
        {"note", d->note, own.note}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (strcmp(pairs[i][1], pairs[i][2]) != 0)
            return err_set(msg, ERR_MODEL,
                           "%s/dataset.json: %s: got '%.60s', and its runs "
                           "make '%.60s'",
                           dir, pairs[i][0], pairs[i][1], pairs[i][2]);
    return ERR_OK;
}
