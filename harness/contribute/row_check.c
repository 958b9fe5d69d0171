/*
 * How it works: texts that a row may have (a role and its round, how a median
 * was made) are read into the run and written again; what is in no known form
 * is not read, and so differs.
 */
#include "row_check.h"

#include "manifest/role.h"
#include "rows.h"
#include "store/results.h"

#include <stdio.h>
#include <string.h>

/* "profile, round 0" */
static void read_role(const char *note, struct contribution_run *r)
{
    static const char *const others[] = {ROLE_PROFILE_NAME, "run"};
    char name[32];
    enum role role;
    int round = 0;
    struct err_msg ignored;
    if (sscanf(note, "%31[^,], round %d", name, &round) != 2)
        return;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(name, others[i]) == 0)
            r->role = others[i];
    if (!r->role && role_from_name("", name, &role, &ignored) == ERR_OK)
        r->role = role_name(role);
    r->round = round;
}

/* "median of 9 means of 5 iterations, 2 dropped", and without the means. */
static bool read_stat(const char *stat, struct contribution_run *r)
{
    return sscanf(stat, "median of %d means of %d iterations, %d dropped",
                  &r->n_used, &r->span, &r->n_dropped) == 3 ||
           sscanf(stat, "median of %d iterations, %d dropped", &r->n_used,
                  &r->n_dropped) == 2;
}

/* scanf() lets blanks and signs pass, so the text is made again and compared.
 */
void row_check_origin(const char *note, const char *stat,
                      struct contribution_run *r)
{
    static const char corrected[] = ", corrected for the machine's speed";
    struct contribution_run as_told = {.span = 1};
    char plain[CONTRIBUTION_STAT_BYTES];
    read_role(note, r);
    r->stat = "typed in";
    if (!read_stat(stat, &as_told) || as_told.span < 1)
        return;
    contribution_stat(&as_told, plain);
    const size_t len = strlen(plain);
    if (strncmp(stat, plain, len) != 0 ||
        (stat[len] && strcmp(stat + len, corrected) != 0))
        return;
    r->stat = stat;
    r->span = as_told.span;
}

void row_check_ref(const char *ref, struct contribution_run *r)
{
    static const char start[] = "log sha256 ";
    if (!text_starts(ref, start) ||
        strlen(ref) != sizeof start - 1 + TEXT_SHA256_HEX - 1)
        return;
    ref += sizeof start - 1;
    if (strspn(ref, "0123456789abcdef") == TEXT_SHA256_HEX - 1)
        memcpy(r->log_sha256, ref, TEXT_SHA256_HEX);
}

/* A column that nobody reads could hold anything; `format` is the first. */
static enum err check_columns(const struct csv *rows, struct err_msg *msg)
{
    for (size_t k = 0; k < rows->n_columns; k++) {
        const char *want = k == 0                     ? "format"
                           : k <= PUBLISHED_N_COLUMNS ? PUBLISHED_COLUMNS[k - 1]
                                                      : "no more";
        if (strcmp(rows->names[k], want) != 0)
            return err_set(msg, ERR_MODEL, "%s: column '%.40s', want '%s'",
                           rows->where, rows->names[k], want);
    }
    return ERR_OK;
}

/* Figures are in the runs as they were read, so that they come out as they were
 * where they are numbers at all. */
enum err row_check(const struct contribution *c, const struct csv *rows,
                   struct err_msg *msg)
{
    struct import_rows own;
    enum err e = check_columns(rows, msg);
    if (e == ERR_OK)
        e = rows_make(c, &own, msg);
    for (size_t at = 0; e == ERR_OK && at < own.n; at++)
        for (size_t k = 0; k < PUBLISHED_N_COLUMNS; k++) {
            const char *got = csv_text(rows, at, PUBLISHED_COLUMNS[k]);
            const char *want = own.field[at * PUBLISHED_N_COLUMNS + k];
            if (strcmp(got, want ? want : "") == 0)
                continue;
            return err_set(msg, ERR_MODEL,
                           "%s: %s: %s: got '%.60s', and its model, layout and "
                           "figures make '%.60s'",
                           rows->where, c->run[at].id, PUBLISHED_COLUMNS[k],
                           got, want ? want : "");
        }
    return e;
}
