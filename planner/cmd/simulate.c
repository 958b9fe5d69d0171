/*
 * moe-layout simulate: one layout's step as a timeline, or many from a file.
 *
 * How it works: the layout says how many chunks a rank has, the model's flags
 * and the options how they are ordered; plan predicts the step and simulates
 * it once more with its events, which are printed as one line of signs a rank.
 */
#include "simulate.h"
#include "base/text.h"
#include "base/writer.h"
#include "cmd.h"
#include "sim/timeline.h"

#include <math.h>
#include <string.h>

/* ---- one layout ---- */

/* An event's columns in a line of signs: [from, to). */
struct span {
    int from, to;
};

/* Both ends are rounded down, so that neighbours meet without a gap. */
static struct span span_of(const struct sim_event *e, double step_s, int width)
{
    struct span s = {(int)(e->start_s / step_s * width),
                     (int)(e->end_s / step_s * width)};
    s.to = s.to < width ? s.to : width;
    return s;
}

static char digit(int i)
{
    return (char)('0' + i % 10);
}

static char letter(int i, char first, int n)
{
    return (char)(first + i % n);
}

/* Forward as a digit, backward as a letter, both in one as a capital letter,
 * waiting as '-', and '~' where nothing is done but a message is on its way:
 * digits and letters say the micro-batch, or with several chunks a rank the
 * chunk. */
static char sign_of(const struct sim_event *e, bool by_chunk)
{
    const int fwd = by_chunk ? e->chunk : e->mb;
    const int bwd = by_chunk ? e->bwd_chunk : e->bwd_mb;
    switch (e->kind) {
    case OP_FORWARD:
    case OP_HEAD_FORWARD:
        return digit(fwd);
    case OP_BACKWARD:
        return letter(fwd, 'a', 10);
    case OP_HEAD_BACKWARD:
        return letter(bwd, 'a', 10);
    case OP_COMBINED:
    case OP_TAILS:
        return letter(fwd, 'A', 10);
    case OP_POST:
        return '~';
    default:
        return '-';
    }
}

/* Work is painted over waiting, and waiting over messages. */
static void paint(char *line, int width, double step_s,
                  const struct sim_event *e, bool by_chunk)
{
    const struct span s = span_of(e, step_s, width);
    const char c = sign_of(e, by_chunk);
    for (int i = s.from; i < s.to; i++)
        if (line[i] == '.' || (line[i] == '~' && c != '~') ||
            (c != '-' && c != '~'))
            line[i] = c;
}

static enum err print_timeline(struct cmd *c, const struct sim_result *r,
                               const struct schedule *s, int width)
{
    const bool by_chunk = s->vpp > 1;
    char *line = arena_alloc(&c->arena, (size_t)width + 1, 1);
    if (!line)
        return err_set(&c->msg, ERR_NOMEM, "simulate: out of memory");
    for (int rank = 0; rank < s->pp; rank++) {
        memset(line, '.', (size_t)width);
        for (int i = 0; i < r->n_events; i++)
            if (r->events[i].rank == rank)
                paint(line, width, r->step_s, &r->events[i], by_chunk);
        printf("rank %2d |%s| busy %5.1f%%\n", rank, line,
               100 * r->busy_s[rank] / r->step_s);
    }
    printf("digits: forward of a %s; letters: its backward; ",
           by_chunk ? "chunk" : "micro-batch");
    if (s->order.ep_overlap)
        printf("capitals: a forward of it with a backward; ");
    printf("- exchange; . idle%s\n",
           by_chunk ? "; ~ idle while a message leaves" : "");
    return ERR_OK;
}

/* A stage is a chunk of a rank where ranks have several. */
static void print_stages(const struct plan *p, int pp)
{
    const bool chunks = p->n_stages > pp;
    printf("%-6s%s %-22s %12s %12s %10s\n", "stage",
           chunks ? "  rank chunk" : "", "units", "forward ms", "backward ms",
           "in flight");
    for (int s = 0; s < p->n_stages; s++) {
        printf("%-6d", s);
        if (chunks)
            printf(" %5d %5d", s % pp, s / pp);
        printf(" %-22s %12.4f %12.4f %10d\n", p->stages[s].units,
               p->stages[s].fwd_s * 1e3, p->stages[s].bwd_s * 1e3,
               p->stages[s].in_flight);
    }
}

/* The step of the plan is what will be measured; the timeline is of the
 * pipeline, and the difference lies outside it. */
static enum err print_simulation(struct cmd *c, const struct plan_context *ctx,
                                 const struct plan *p,
                                 const struct sim_result *r)
{
    const struct order *o = &ctx->schedule->order;
    // both are sums of the same times in another order: rounding is no cost
    const double outside_s = fmax(0, p->pred_step_s - r->step_s);
    int64_t width = 100;
    enum err e = cmd_int(c, OPT_WIDTH, 10, 10000, &width);
    if (e != ERR_OK)
        return e;
    printf("%s: step %.3f ms", p->layout, p->pred_step_s * 1e3);
    if (isfinite(p->pred_lo_s))
        printf(" [%.3f, %.3f]", p->pred_lo_s * 1e3, p->pred_hi_s * 1e3);
    printf(": pipeline %.3f ms, outside it %.3f ms (%s transfers, %d "
           "micro-batches",
           r->step_s * 1e3, outside_s * 1e3, p2p_mode_name(ctx->mode),
           ctx->n_mb);
    if (o->vpp > 1)
        printf(" in groups of %d, %d chunks a rank", o->group, o->vpp);
    printf("%s)\n", o->ep_overlap ? ", EP overlap" : "");
    print_stages(p, o->pp);
    return print_timeline(c, r, ctx->schedule, (int)width);
}

/* A viewer that shows a track a rank is of no use with more, and a document
 * of so many events takes 200 MB. */
enum { SIMULATE_MAX_DRAWN = 50000 };

static enum err check_drawn(struct cmd *c, const struct order *o)
{
    bool draws = c->option[OPT_TRACE] || c->option[OPT_GANTT];
    long n = (long)o->pp * o->vpp * o->n_mb;
    if (!draws || n <= SIMULATE_MAX_DRAWN)
        return ERR_OK;
    return err_set(&c->msg, ERR_RANGE,
                   "simulate: --%s: %d ranks x %d chunks x %d micro-batches, "
                   "want at most %d in a drawing: a smaller --gbs shows the "
                   "same",
                   c->option[OPT_TRACE] ? "trace" : "gantt", o->pp, o->vpp,
                   o->n_mb, SIMULATE_MAX_DRAWN);
}

static enum err write_trace(struct cmd *c, const struct sim_result *r,
                            const struct schedule *s)
{
    cJSON *tree = timeline_trace(r, s);
    char *text = tree ? cJSON_PrintUnformatted(tree) : NULL;
    cJSON_Delete(tree);
    if (!text)
        return err_set(&c->msg, ERR_NOMEM, "simulate: out of memory");
    enum err e =
        text_write_file(c->option[OPT_TRACE], text, strlen(text), &c->msg);
    cJSON_free(text);
    return e;
}

static enum err write_files(struct cmd *c, const struct plan_context *ctx,
                            const struct plan *p, const struct sim_result *r)
{
    enum err e = ERR_OK;
    if (c->option[OPT_TRACE])
        e = write_trace(c, r, ctx->schedule);
    if (e != ERR_OK || !c->option[OPT_GANTT])
        return e;
    const char *svg = timeline_svg(&c->arena, r, ctx->schedule, p->layout);
    if (!svg)
        return err_set(&c->msg, ERR_NOMEM, "simulate: out of memory");
    return text_write_file(c->option[OPT_GANTT], svg, strlen(svg), &c->msg);
}

/* The layout says how many chunks a rank has; --vpp may only agree. */
static enum err read_layout(struct cmd *c, struct model *m, struct layout *l)
{
    enum err e = c->n_args == 1
                     ? cmd_layout(c, m, c->args[0], l)
                     : err_set(&c->msg, ERR_PARSE,
                               "simulate: want MODEL and one LAYOUT in quotes: "
                               "'moe-layout check MODEL' tells the model's "
                               "own");
    if (e != ERR_OK)
        return e;
    if (cmd_given(c, OPT_VPP) && m->par.vpp != l->vpp)
        return err_set(&c->msg, ERR_RANGE,
                       "simulate: --vpp %d: layout '%s' has %d stages, which "
                       "is %d for each of %d ranks",
                       m->par.vpp, c->args[0], l->n_stages, l->vpp, l->pp);
    m->par.vpp = l->vpp;
    return ERR_OK;
}

/* The plan, with what of the schedule it does not say. */
static enum err print_json(struct cmd *c, const struct plan_context *ctx,
                           const struct plan *p)
{
    const struct order *o = &ctx->schedule->order;
    struct writer_doc doc;
    struct writer tree = writer_open_tree(&doc, plan_to_json(p));
    writer_text(tree, "p2p", p2p_mode_name(ctx->mode));
    writer_number(tree, "vpp", o->vpp);
    writer_bool(tree, "ep_overlap", o->ep_overlap);
    if (o->vpp > 1)
        writer_number(tree, "group", o->group);
    cmd_write_account(c, tree);
    return writer_print(&doc, true, stdout, &c->msg);
}

static enum err simulate_one(struct cmd *c)
{
    struct cmd_model m;
    struct cost cost;
    struct schedule schedule;
    struct plan_context ctx = {0};
    struct layout l;
    struct plan p;
    struct sim_result r;
    enum err e = cmd_model(c, &m);
    if (e != ERR_OK)
        return e;
    cmd_order(c, &m.model);
    e = read_layout(c, &m.model, &l);
    if (e == ERR_OK)
        e = cmd_context(c, &m, &cost, &schedule, &ctx);
    if (e == ERR_OK)
        e = check_drawn(c, &ctx.schedule->order);
    if (e == ERR_OK)
        e = plan_predict(&c->arena, &ctx, &l, &p, &c->msg);
    if (e == ERR_OK)
        e = plan_simulate(&c->arena, &ctx, &l, &r, &c->msg);
    if (e == ERR_OK)
        e = write_files(c, &ctx, &p, &r);
    if (e != ERR_OK)
        return e;
    return cmd_given(c, OPT_JSON) ? print_json(c, &ctx, &p)
                                  : print_simulation(c, &ctx, &p, &r);
}

/* ---- the command ---- */

static enum err run(struct cmd *c)
{
    if (cmd_given(c, OPT_BATCH))
        return cmd_each_line(c, c->option[OPT_BATCH], simulate_batch_line);
    return simulate_one(c);
}

static const enum cmd_option takes[] = {
    OPT_PP,        OPT_VPP,    OPT_COSTS, OPT_GBS,        OPT_P2P,
    OPT_WIDTH,     OPT_TRACE,  OPT_GROUP, OPT_EP_OVERLAP, OPT_EP_SAVE,
    OPT_RECOMPUTE, OPT_GANTT,  OPT_BATCH, OPT_MBS,        OPT_SEQ,
    OPT_TP,        OPT_CP,     OPT_EP,    OPT_ETP,        OPT_WORLD,
    OPT_NODE,      OPT_HYBRID, OPT_JSON,  OPT_HELP,       N_OPTIONS};

const struct command CMD_SIMULATE = {
    .name = "simulate",
    .run = run,
    .synopsis = "simulate MODEL LAYOUT --pp N --gbs B --costs costs.json "
                "[--group N] [--ep-overlap] [--trace t.json] [--gantt g.svg] "
                "| simulate --batch FILE",
    .summary = "the step of one layout, as a timeline",
    .help =
        "Predicts one layout and draws its step as a timeline; a layout with "
        "more stages than\nranks is interleaved.\nWith --batch: objects {id, "
        "P, V, M, N, fwd, bwd, act, lat, bytes, bw}, times in\nmicroseconds; "
        "with {layers, save} of EP overlap. Every mode is answered.\nExample: "
        "moe-layout simulate model.json "
        "'Et*5|t*6|t*5|mL' --pp 4 --gbs 16 --costs costs.json",
    .options = takes,
    .takes_model = true,
    .takes_layout = true,
};
