/*
 * review: a contributed folder read again, from its files alone: formats and
 * hashes, consent, layouts against Megatron's rules, the checks of `checks`,
 * the logs (that they hold nothing but what a contributed log may, and give the
 * figures of their rows), the fit from its own rows, and the error of each
 * layout predicted from the others.
 *
 * Seconds; sized for some hundred rows.
 */
#ifndef CONTRIBUTE_REVIEW_H
#define CONTRIBUTE_REVIEW_H

#include "checks.h"
#include "contribution.h"
#include "published/score.h"

/* A layout, predicted from the rows of all others. */
struct review_row {
    const struct contribution_run *run;
    double pred_s; // NAN: not predicted
    const char *why;
};

struct review {
    struct contribution of;
    struct checks checks;
    bool fitted;           // unit costs could be made of its rows
    const char *why;       // why not
    double fwd_s[N_KINDS]; // of a micro-batch of one unit, by that fit
    enum unit_kind kinds[N_KINDS];
    int n_kinds;
    struct review_row *row; // of those to be fitted
    int n;
    struct published_score score; // of these rows
};

/* True for a folder that says it is one: manifest.json of CONTRIBUTED_FORMAT.
 */
bool review_is(struct arena *a, const char *dir);

/* Reads and judges the folder. ERR_PARSE for a file that is damaged or of
 * another format, ERR_MODEL for one that was changed or holds what it must not;
 * checks that answer no are in out->checks. Owned by the arena. */
enum err review_read(struct arena *a, const char *dir, struct review *out,
                     struct err_msg *msg);

#endif
