#include "log_check.h"

#include "base/text.h"
#include "calibrate/fit_check.h"
#include "store/oplog.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LOG_CHECK_BATCH "global batch size:"

/* Profile runs have one chunk a rank, as context_of_profile() has it. */
static struct model log_check_model(const struct model *m,
                                    const struct run_record *run)
{
    struct model of_run = *m;
    if (run->round == 0) {
        of_run.par.vpp = 1;
        of_run.overlap_moe_comm = false;
    }
    return of_run;
}

/* A log that names its arguments must be of the model and layout that the run
 * was asked for; one that names none tells nothing. */
enum err log_check(struct arena *a, const struct model *m,
                   const struct run_record *run, struct err_msg *msg)
{
    struct model of_run = log_check_model(m, run);
    struct fit_run r = {.layout_text = run->layout, .log = &run->log};
    if (run->log.n_arguments == 0)
        return ERR_OK;
    enum err e = layout_read(a, run->layout, &of_run, &r.layout, msg);
    return e == ERR_OK ? fit_check_same(a, &of_run, &r, msg) : e;
}

/* Read only to be checked: what is found damaged when figures are drawn can no
 * longer be run again. */
enum err log_check_operations(struct arena *a, const struct model *m,
                              const struct run_record *run, struct err_msg *msg)
{
    struct oplog ops;
    struct layout l = {0};
    struct stat st;
    struct arena scratch;
    struct model of_run = log_check_model(m, run);
    const char *path = arena_printf(a, "%s/ops.csv", run->folder);
    if (!path)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", run->run_id);
    if (lstat(path, &st) != 0)
        return ERR_OK;
    if (!S_ISREG(st.st_mode))
        return err_set(msg, ERR_PARSE, "ops.csv: not a plain file");
    arena_init(&scratch);
    enum err e = layout_read(&scratch, run->layout, &of_run, &l, msg);
    const struct oplog_shape shape = {l.n_stages, (int)m->batch.n_microbatches,
                                      m->par.dp};
    if (e == ERR_OK)
        e = oplog_read(&scratch, path, shape, &ops, msg);
    arena_clear(&scratch);
    return e;
}

enum err log_check_all(struct arena *a, const struct model *m,
                       struct run_list *runs, struct err_msg *msg)
{
    for (size_t i = 0; i < runs->n; i++) {
        struct run_record *r = &runs->run[i];
        struct err_msg why;
        enum err e = r->status == RUN_VALID ? log_check(a, m, r, &why) : ERR_OK;
        if (e == ERR_OK)
            continue;
        const char *reason = arena_strdup(a, why.text);
        if (e == ERR_NOMEM || !reason)
            return err_set(msg, ERR_NOMEM, "%s: out of memory", r->folder);
        r->status = RUN_INVALID;
        r->reason = r->changed = reason;
    }
    return ERR_OK;
}

int64_t log_check_batch(const char *line)
{
    const char *at = strstr(line, LOG_CHECK_BATCH);
    return at ? strtoll(at + strlen(LOG_CHECK_BATCH), NULL, 10) : 0;
}
