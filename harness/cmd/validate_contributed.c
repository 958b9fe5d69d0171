/*
 * How it works: the folder is read by contribute/review; here its parts are
 * printed in the order in which a reviewer asks: is it whole, what was doubted,
 * what do its rows give, how far off are they beside other data.
 */
#include "validate_contributed.h"

#include "contribute/pack.h"
#include "contribute/review.h"
#include "published/dataset.h"
#include "report/validate_published.h"
#include "validate_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CONTRIBUTED_PUBLISHED "results/published"

bool validate_contributed_is(struct arena *a, const char *dir)
{
    return review_is(a, dir);
}

/* Empty where nothing was contributed yet. */
enum err validate_contributed_list(struct arena *a, const char ***dirs, int *n,
                                   struct err_msg *msg)
{
    struct published_list list = {NULL, 0};
    const enum err e = published_list(a, CONTRIBUTED_ROOT, &list, msg);
    *dirs = list.dir;
    *n = list.n;
    return e;
}

/* ---- printing ---- */

/* Unit costs of the fit of all rows. */
static void print_fit(const struct review *r)
{
    if (!r->fitted) {
        printf("fit: none, %s\n", r->why);
        return;
    }
    printf("fit of its own rows, forward ms of a micro-batch:");
    for (int k = 0; k < r->n_kinds; k++)
        printf(" %s %.4g", kind_name(r->kinds[k]), r->fwd_s[k] * 1e3);
    printf("\n");
}

/* Every row with the prediction that did not know its layout. */
static void print_rows(const struct review *r)
{
    printf("%-8s %-28s %12s %16s %8s\n", "run", "layout", "measured ms",
           "from the others", "error %");
    for (int i = 0; i < r->n; i++) {
        const struct review_row *x = &r->row[i];
        printf("%-8s %-28s %12.3f", x->run->id, x->run->layout,
               x->run->step_s * 1e3);
        if (isfinite(x->pred_s))
            printf(" %16.3f %8.2f\n", x->pred_s * 1e3,
                   100 * (x->pred_s / x->run->step_s - 1));
        else
            printf(" %16s %8s  %s\n", "-", "-", x->why);
    }
}

/* What passed is not told again. */
static void print_checks(const struct review *r)
{
    for (int i = 0; i < N_CHECKS; i++)
        if (r->checks.answer[i] != CHECK_YES)
            printf("%s: %s: %s\n", check_name((enum check_id)i),
                   check_answer_name(r->checks.answer[i]), r->checks.text[i]);
    if (isfinite(r->checks.mfu_lo))
        printf("MFU %.1f%% to %.1f%%\n", 100 * r->checks.mfu_lo,
               100 * r->checks.mfu_hi);
}

/* Errors of the public datasets, in the same columns. */
static enum err print_beside(struct arena *a, const struct review *r,
                             struct err_msg *msg)
{
    struct validate_sources v;
    const enum err e = validate_published(a, CONTRIBUTED_PUBLISHED, &v, msg);
    if (e != ERR_OK)
        return e;
    puts("");
    validate_rows_print_head();
    validate_rows_print_score(&r->score, (double)NAN);
    for (int i = 0; i < v.n; i++)
        validate_rows_print_score(&v.source[i].score, (double)NAN);
    return ERR_OK;
}

/* ---- a folder ---- */

/* For a baseline: the experiment is the folder, the role its run. */
static enum err make_rows(struct arena *a, const struct review *r,
                          struct validate_rows *out, struct err_msg *msg)
{
    struct validate_row *row = arena_alloc(a, (size_t)r->n + 1, sizeof *row);
    const char *name =
        r->n ? arena_printf(a, "contributed/%s", r->score.source) : "";
    if (!row || !name)
        return err_set(msg, ERR_NOMEM, "validate: out of memory");
    *out = (struct validate_rows){row, 0};
    for (int i = 0; i < r->n; i++) {
        const struct review_row *x = &r->row[i];
        if (!isfinite(x->pred_s))
            continue;
        struct validate_row *to = &row[out->n++];
        *to = validate_row_of_step(x->pred_s * 1e3, x->run->step_s * 1e3);
        to->experiment = name;
        to->role = x->run->id;
        to->layout = x->run->layout;
    }
    return ERR_OK;
}

/* For a file of JUnit: all checks as one case, with the first that answers no.
 */
static struct junit_case make_case(struct arena *a, const char *dir,
                                   const struct review *r)
{
    struct junit_case c = {.dataset = arena_strdup(a, dir),
                           .name = "checks of a contributed dataset",
                           .text = ""};
    for (int i = 0; i < N_CHECKS && c.result == JUNIT_PASSED; i++)
        if (r->checks.answer[i] == CHECK_NO) {
            c.result = JUNIT_FAILED;
            c.text = arena_printf(a, "%s: %s", check_name((enum check_id)i),
                                  r->checks.text[i]);
        }
    return c;
}

/* What the contributor was told is asked again, from the files alone. */
enum err validate_contributed(struct arena *a, const char *dir, bool beside,
                              struct validate_contributed *out,
                              struct err_msg *msg)
{
    struct review r;
    enum err e = review_read(a, dir, &r, msg);
    if (e != ERR_OK)
        return e;
    out->ok = checks_pass(&r.checks);
    out->checks = make_case(a, dir, &r);
    printf("\ncontributed %s: %d runs on %d x %s, %s%s\n", dir, r.of.n,
           r.of.n_gpus, r.of.gpu, r.of.source,
           r.of.example ? " (an example)" : "");
    print_checks(&r);
    print_fit(&r);
    print_rows(&r);
    e = make_rows(a, &r, &out->rows, msg);
    if (e == ERR_OK && beside)
        e = print_beside(a, &r, msg);
    if (e == ERR_OK)
        printf("%s: %s\n", dir, out->ok ? "ok" : "a check answers no");
    return e;
}
