/*
 * compare: what a plan from FLOPs, from the roofline and from measured costs
 * differ in. For each case every kind of costs picks a layout, and every pick
 * is priced by every kind: how much slower it is than the best that these
 * costs know. Cases are the article's studies, whose published unit costs
 * stand for measured ones, and the ways of manifests that only plan, beside
 * their public recipes; these have no measured costs. One chunk order a way,
 * no EP overlap, ideal transfers where nothing is measured.
 *
 * Sized for some dozen cases of seconds each.
 */
#ifndef STUDY_COMPARE_H
#define STUDY_COMPARE_H

#include "base/arena.h"
#include "base/err.h"
#include "manifest/manifest.h"

/* Whose costs. */
enum compare_by {
    COMPARE_FLOPS,
    COMPARE_ROOFLINE,
    COMPARE_MEASURED,
    N_COMPARE
};

/* "flops", "roofline", "measured". */
const char *compare_name(enum compare_by b);

/* A layout of a case. NAN: the case has no such costs. */
struct compare_row {
    const char *experiment, *card;
    int pp, vpp;
    const char *who; // a name of the above, "recipe", "default"
    const char *layout;
    double slower_pct[N_COMPARE]; // than the best of those costs
    const char *proof;            // of its own search; "" of a layout given
    double m_over_t, l_over_t;    // by its own costs; NAN of a layout given
};

struct compare_rows {
    struct compare_row *row;
    int n;
};

/* All cases of one manifest, appended; the list is made anew. A search of a
 * larger space ends after `limit_s` seconds with what it has. ERR_PARSE for a
 * card that is not known. */
enum err compare_manifest(struct arena *a, const struct manifest *mf,
                          double limit_s, struct compare_rows *to,
                          struct err_msg *msg);

/* DIR/plans.csv. */
enum err compare_write(const struct compare_rows *rows, const char *dir,
                       struct err_msg *msg);

#endif
