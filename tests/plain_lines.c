/*
 * How it works: plain_lines_take() asks in turn whether a line is of the open
 * timer block (plain_blocks), of the arguments dump, or tells of something new;
 * what nothing knows may be the rest of a wrapped iteration line. Everything is
 * appended to lists.
 */
#include "plain_lines.h"

#include "plain_blocks.h"

#include "log/format.h"
#include "log/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// of arguments, as many and as long as the product keeps
enum { MAX_ARGUMENTS = 4096, MAX_ARGUMENT = 65536 };

void *plain_lines_add(struct log_list *l, size_t size)
{
    void *item = log_list_add(l, size);
    if (!item)
        abort(); // of tests only
    return item;
}

struct plain_iteration *plain_lines_current(struct plain *p)
{
    struct plain_iteration *it = (void *)p->iterations.data;
    return p->iterations.n ? &it[p->iterations.n - 1] : NULL;
}

/* ---- iterations ---- */

static void plain_quote(char *out, struct log_text line)
{
    size_t n = 0;
    line = logline_trim(line);
    for (; n < line.n && n < PLAIN_QUOTE - 1; n++)
        out[n] = line.p[n] < ' ' || line.p[n] > '~' ? '?' : line.p[n];
    out[n] = '\0';
}

static void plain_set(struct plain *p, struct plain_iteration *it,
                      const struct log_step *step, bool cut)
{
    double tflops = it->step.it.tflops;
    bool same = it->nth_set && !it->closed &&
                it->step.it.iteration == step->it.iteration;
    it->nth_set = true;
    it->step = *step;
    if (same && isnan(step->it.tflops))
        it->step.it.tflops = tflops;
    plain_quote(it->bad, step->bad);
    if (p->told.is_moe_train)
        it->step.dialect = LOG_MOE_TRAIN;
    else if (p->is_bridge && step->dialect == LOG_MEGATRON)
        it->step.dialect = LOG_BRIDGE;
    it->cut = cut && !step->whole;
    p->dialect = it->step.dialect;
    p->total = step->total;
    p->seen_loss = p->seen_loss || !isnan(step->it.loss);
    p->seen_time = p->seen_time || !isnan(step->it.step_ms) || step->it.unread;
    p->tail_cut = p->tail_cut || it->cut;
}

static void plain_on_step(struct plain *p, const struct log_step *step,
                          bool cut)
{
    const struct plain_iteration *last = plain_lines_current(p);
    int64_t before = last ? last->step.it.iteration : -1;
    bool goes_on = last && !p->told.new_run;
    if (goes_on && before == step->it.iteration &&
        (last->step.it.step_ms == step->it.step_ms || isnan(step->it.step_ms)))
        return; // printed twice, to stdout and stderr
    p->block.followed = true;
    plain_blocks_close(p, false);
    if (!goes_on || step->it.iteration <= before) {
        p->section++;
        p->n_logged = 0;
        p->told.new_run = p->seen_loss = p->ended = false;
        if (p->section > 0)
            logfail_init(&p->fail);
    }
    struct plain_iteration *it = plain_lines_add(&p->iterations, sizeof *it);
    it->dump = p->dump;
    it->nth = ++p->n_logged;
    plain_set(p, it, step, cut);
    it->step.it.section = p->section;
}

/* Bridge's lines alone have no numbers: they are counted. */
static void plain_flush_pending(struct plain *p)
{
    if (!p->has_pending || p->numbered)
        return;
    p->has_pending = false;
    p->n_step_times = p->told.new_run ? 1 : p->n_step_times + 1;
    p->pending.it.iteration = p->n_step_times;
    plain_on_step(p, &p->pending, false);
}

static bool plain_step_times(struct plain *p, struct log_text body)
{
    bool any = false;
    struct log_step step;
    while (logformat_next_step_time(&body, &step)) {
        plain_flush_pending(p);
        p->pending = step;
        p->has_pending = p->is_bridge = any = true;
    }
    return any;
}

static void plain_numbered(struct plain *p, struct log_step *step, bool cut)
{
    if (p->has_pending && isnan(step->it.tflops))
        step->it.tflops = p->pending.it.tflops;
    p->numbered = true;
    p->has_pending = false;
    plain_on_step(p, step, cut);
}

static bool plain_iterations(struct plain *p, struct log_text body,
                             uint64_t stream, bool cut)
{
    struct log_text rest = body;
    struct log_step step;
    bool any = false;
    if (!logline_find(body, "|") && !logline_find(body, "/") &&
        !logline_find(body, "{") && !logline_find(body, "="))
        return false;
    while (logstep_next(&rest, cut, &step)) {
        plain_numbered(p, &step, cut);
        any = true;
    }
    if (!any)
        return false;
    if (!p->step_line[0])
        plain_quote(p->step_line, body);
    p->told.in_arguments = false;
    p->wrap.kind = WRAP_NONE;
    if (!step.closed && !cut && !plain_lines_current(p)->closed)
        logwrap_start(&p->wrap, WRAP_STEP, body, stream);
    return true;
}

/* The next piece of an iteration line. */
static void plain_join(struct plain *p, struct log_text piece, bool cut)
{
    struct plain_iteration *it = plain_lines_current(p);
    const char *next = logstep_find_next(logwrap_text(&p->wrap));
    if (next)
        logwrap_restart(&p->wrap, next);
    struct log_text joined = logwrap_text(&p->wrap);
    struct log_step step;
    if (!logstep_next(&joined, cut, &step))
        return;
    if (p->wrap.kind == WRAP_OPEN) {
        p->wrap.kind = WRAP_STEP;
        if (!p->step_line[0])
            plain_quote(p->step_line, logwrap_text(&p->wrap));
        plain_numbered(p, &step, cut);
        logwrap_accept(&p->wrap);
    } else {
        const struct log_step *old = &it->step;
        int n_bad = step.bad_end ? step.n_bad - 1 : step.n_bad;
        bool more = step.n_known > old->n_known || step.whole ||
                    logline_find(piece, "|") || p->wrap.number;
        if (!it->closed && step.it.iteration == old->it.iteration &&
            n_bad <= old->n_bad && more) {
            int section = old->it.section;
            plain_set(p, it, &step, cut);
            it->step.it.section = section;
            logwrap_accept(&p->wrap);
        }
    }
    it = plain_lines_current(p);
    if (it->step.closed || it->closed)
        p->wrap.kind = WRAP_NONE;
}

/* The end of a line that is wrapped, and whose rest cannot be found. */
static void plain_doubt(struct plain *p)
{
    struct plain_iteration *it = plain_lines_current(p);
    struct log_text all = {p->wrap.text, p->wrap.n_sure};
    struct log_text text = all, trimmed = logline_trim(all);
    struct log_step step;
    p->wrap.kind = WRAP_NONE;
    if ((trimmed.n && trimmed.p[trimmed.n - 1] == '|') || it->closed ||
        !logstep_next(&text, true, &step) ||
        step.it.iteration != it->step.it.iteration ||
        step.n_known == it->step.n_known)
        return;
    if (!step.n_bad) {
        step.bad = all;
        if (all.n > 60)
            step.bad = (struct log_text){all.p + all.n - 60, 60};
    }
    step.it.unread = true;
    int section = it->step.it.section;
    plain_set(p, it, &step, false);
    it->step.it.section = section;
}

static bool plain_memory_of(struct plain *p, struct log_text line, bool cut);

static void plain_wrapped(struct plain *p, struct log_text body,
                          uint64_t stream, bool cut)
{
    enum log_wrap_kind kind = p->wrap.kind;
    bool more = logwrap_add(&p->wrap, body, stream);
    if (more && (kind == WRAP_STEP || kind == WRAP_OPEN))
        plain_join(p, body, cut);
    bool joined = more && p->wrap.n_sure == p->wrap.n;
    if (kind == WRAP_STEP && p->wrap.kind != WRAP_NONE && !joined &&
        logline_find(body, "|"))
        plain_doubt(p);
    if (more && kind == WRAP_MEMORY) {
        plain_memory_of(p, logwrap_text(&p->wrap), cut);
        if (!logmemory_is_open(logwrap_text(&p->wrap)))
            p->wrap.kind = WRAP_NONE;
    }
    if (p->wrap.kind == WRAP_OPEN && more && p->wrap.n_pieces > 8)
        p->wrap.kind = WRAP_NONE;
    if (p->wrap.kind == WRAP_NONE && logstep_is_open(body))
        logwrap_start(&p->wrap, WRAP_OPEN, body, stream);
}

/* ---- other lines ---- */

static bool plain_header(struct plain *p, struct log_text body, uint64_t stream,
                         bool cut)
{
    static const char single[] = "time (ms) |", tail[] = "across ranks (ms):";
    enum log_block_form form = logblock_header(body);
    const char *at = logline_find(body, single);
    if (form == BLOCK_NONE && at && cut) {
        p->tail_cut = true;
    } else if (form != BLOCK_NONE || at) {
        plain_flush_pending(p);
        plain_blocks_open(p, form == BLOCK_NONE ? BLOCK_MINMAX : form, stream);
    }
    if (form != BLOCK_NONE) {
        const char *rows = logline_find(body, tail) + sizeof tail - 1;
        plain_blocks_rows(&p->block, logline_from(body, rows));
    } else if (at && !cut) {
        plain_blocks_single_line(&p->block,
                                 logline_from(body, at + sizeof single - 1));
        plain_blocks_close(p, false);
    }
    return form != BLOCK_NONE || at;
}

/* The last line of a rank stands, and a later run replaces an earlier one. */
static bool plain_memory_of(struct plain *p, struct log_text line, bool cut)
{
    struct log_memory m;
    int section = p->section < 0 ? 0 : p->section;
    if (!logmemory_read(line, cut, &m))
        return false;
    p->has_memory = true;
    p->memory_section = section;
    struct plain_rank_memory *all = (void *)p->memory.data;
    for (size_t i = 0; i < p->memory.n; i++)
        if (all[i].section == section && all[i].memory.rank == m.rank) {
            all[i].memory = m;
            return true;
        }
    struct plain_rank_memory *item = plain_lines_add(&p->memory, sizeof *item);
    *item = (struct plain_rank_memory){m, section};
    return true;
}

static bool plain_memory(struct plain *p, struct log_text body, uint64_t stream,
                         bool cut)
{
    if (!logline_find(body, "[Rank "))
        return false;
    bool any = false;
    struct log_text rest = body, one;
    do {
        one = logmemory_first(rest, &rest);
        any = plain_memory_of(p, one, cut && !rest.n) || any;
    } while (rest.n);
    p->is_bridge = p->is_bridge || logline_find(body, "memory (GB)");
    bool open = !cut && logmemory_is_open(one);
    if (open)
        logwrap_start(&p->wrap, WRAP_MEMORY, one, stream);
    return any || open;
}

static bool plain_arguments(struct plain *p, struct log_text body,
                            const struct log_prefix *prefix)
{
    struct log_field f;
    enum log_told_kind kind = logtold_argument(&p->told, body, prefix, &f);
    if (kind == TOLD_DUMP) {
        p->dump++;
        p->n_arguments = 0;
    }
    if (kind == TOLD_ARGUMENT && p->n_arguments < MAX_ARGUMENTS &&
        f.value.n <= MAX_ARGUMENT) {
        struct plain_argument *to = plain_lines_add(&p->arguments, sizeof *to);
        to->arg.name = arena_strndup(p->arena, f.name.p, f.name.n);
        to->arg.value = arena_strndup(p->arena, f.value.p, f.value.n);
        to->dump = p->dump;
        p->n_arguments++;
    }
    return kind != TOLD_NOTHING;
}

/* Everything that one line may tell; two writers may have shared it. */
static bool plain_events(struct plain *p, struct log_text body, uint64_t stream,
                         bool cut)
{
    const char *time = logline_find(body, "Step Time");
    const char *bar = logline_find(body, "|");
    bool before = time && (!bar || time < bar);
    bool any = before && plain_step_times(p, body);
    any = plain_iterations(p, body, stream, cut) || any;
    if (time && !before)
        any = plain_step_times(p, body) || any;
    if (logline_find(body, "("))
        any = plain_memory(p, body, stream, cut) || any;
    any = plain_header(p, body, stream, cut) || any;
    any = logtold_padding(&p->told, body, cut) || any;
    if (logtold_is_end(body)) {
        p->ended = any = true;
        logfail_init(&p->fail);
    }
    if (logtold_banner(&p->told, body)) {
        any = true;
        if (p->told.is_moe_train)
            p->dialect = LOG_MOE_TRAIN;
    }
    return any;
}

/* Before the first iteration: a line of a program that is not read. */
static void plain_unread(struct plain *p, struct log_text body)
{
    const char *name = p->iterations.n ? NULL : logformat_unread(body);
    bool known = p->unread_name && p->unread_name[0] != 'u';
    if (!name || known || (p->unread_name && name[0] == 'u'))
        return;
    p->unread_name = name;
    plain_quote(p->unread_line, body);
}

static void plain_part(struct plain *p, struct log_text body,
                       const struct log_prefix *prefix, bool cut)
{
    if (plain_blocks_take(p, body, prefix->stream, cut))
        return;
    if (plain_arguments(p, body, prefix)) {
        p->tail_cut = p->tail_cut || (cut && p->told.in_arguments);
        return;
    }
    p->wrap.fresh = false;
    if (!plain_events(p, body, prefix->stream, cut)) {
        plain_wrapped(p, body, prefix->stream, cut);
        plain_unread(p, body);
    } else if (!p->wrap.fresh) {
        p->wrap.kind = WRAP_NONE;
    }
    logfail_look(&p->fail, body, prefix);
}

/* Bytes before the next iteration that is glued behind something. */
static size_t plain_glued(const struct plain *p, struct log_text body)
{
    const char *first = logstep_find(body);
    if (!first || !logline_find(body, "|"))
        return 0;
    struct log_text before = {body.p, (size_t)(first - body.p)};
    if (p->wrap.kind != WRAP_NONE && logline_find(before, "|"))
        return before.n;
    const char *next = logstep_find_next(body);
    return next ? (size_t)(next - body.p) : 0;
}

void plain_lines_take(struct plain *p, struct log_text line, bool cut)
{
    struct log_prefix prefix;
    struct log_text body = logprefix_body(line, &prefix);
    if (logline_trim(body).n == 0)
        return;
    for (size_t n; (n = plain_glued(p, body)) > 0;) {
        plain_part(p, (struct log_text){body.p, n}, &prefix, false);
        body = logline_from(body, body.p + n);
    }
    plain_part(p, body, &prefix, cut);
}

void plain_lines_flush(struct plain *p)
{
    plain_blocks_flush_row(p);
    plain_flush_pending(p);
}
