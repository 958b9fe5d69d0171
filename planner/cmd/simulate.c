/* moe-layout simulate: one layout's step as a timeline, or many from a file. */
#include "simulate.h"
#include "base/json.h"
#include "base/text.h"
#include "cmd.h"
#include "plan/timeline.h"

#include <string.h>

/* ---- one layout ---- */

/* Paints one event: forward as the micro-batch's last digit, backward as a
 * letter, an exchange as '-'. */
static void paint(char *line, int width, double step_s,
                  const struct sim_event *e)
{
    int from = (int)(e->start_s / step_s * width);
    int to = (int)(e->end_s / step_s * width);
    char c = e->kind == OP_FORWARD    ? (char)('0' + e->mb % 10)
             : e->kind == OP_BACKWARD ? (char)('a' + e->mb % 10)
                                      : '-';
    for (int i = from; i < to && i < width; i++)
        if (e->kind != OP_EXCHANGE || line[i] == '.')
            line[i] = c;
}

static enum err print_timeline(struct cmd *c, const struct sim_result *r,
                               int pp, int width)
{
    char *line = arena_alloc(&c->arena, (size_t)width + 1, 1);
    if (!line)
        return err_set(&c->msg, ERR_NOMEM, "simulate: out of memory");
    for (int rank = 0; rank < pp; rank++) {
        memset(line, '.', (size_t)width);
        for (int i = 0; i < r->n_events; i++)
            if (r->events[i].rank == rank)
                paint(line, width, r->step_s, &r->events[i]);
        printf("rank %2d |%s| busy %5.1f%%\n", rank, line,
               100 * r->busy_s[rank] / r->step_s);
    }
    printf("digits: forward of a micro-batch; letters: its backward; - "
           "exchange; . idle\n");
    return ERR_OK;
}

static void print_stages(const struct plan *p)
{
    printf("%-6s %-22s %12s %12s %10s\n", "stage", "units", "forward ms",
           "backward ms", "in flight");
    for (int s = 0; s < p->n_stages; s++)
        printf("%-6d %-22s %12.4f %12.4f %10d\n", s, p->stages[s].units,
               p->stages[s].fwd_s * 1e3, p->stages[s].bwd_s * 1e3,
               p->stages[s].in_flight);
}

static enum err print_simulation(struct cmd *c, const struct plan_context *ctx,
                                 const struct plan *p,
                                 const struct sim_result *r)
{
    int64_t width = 100;
    enum err e = cmd_int(c, OPT_WIDTH, 10, 10000, &width);
    if (e != ERR_OK)
        return e;
    printf("%s: step %.3f ms [%.3f, %.3f]: pipeline %.3f ms, outside it %.3f "
           "ms (%s transfers, %d micro-batches)\n",
           p->layout, p->pred_step_s * 1e3, p->pred_lo_s * 1e3,
           p->pred_hi_s * 1e3, r->step_s * 1e3,
           (p->pred_step_s - r->step_s) * 1e3, p2p_mode_name(ctx->mode),
           ctx->n_mb);
    print_stages(p);
    return print_timeline(c, r, p->n_stages, (int)width);
}

static enum err write_trace(struct cmd *c, const struct sim_result *r, int pp)
{
    cJSON *tree = timeline_trace(r, pp);
    char *text = tree ? cJSON_PrintUnformatted(tree) : NULL;
    cJSON_Delete(tree);
    if (!text)
        return err_set(&c->msg, ERR_NOMEM, "simulate: out of memory");
    enum err e =
        text_write_file(c->option[OPT_TRACE], text, strlen(text), &c->msg);
    cJSON_free(text);
    return e;
}

static enum err write_files(struct cmd *c, const struct plan *p,
                            const struct sim_result *r)
{
    enum err e = ERR_OK;
    if (c->option[OPT_TRACE])
        e = write_trace(c, r, p->n_stages);
    if (e != ERR_OK || !c->option[OPT_GANTT])
        return e;
    const char *svg = timeline_svg(&c->arena, r, p->n_stages, p->layout);
    if (!svg)
        return err_set(&c->msg, ERR_NOMEM, "simulate: out of memory");
    return text_write_file(c->option[OPT_GANTT], svg, strlen(svg), &c->msg);
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
    if (e == ERR_OK && c->n_args != 1)
        e = err_set(&c->msg, ERR_PARSE,
                    "simulate: want MODEL and one LAYOUT in quotes");
    if (e == ERR_OK)
        e = cmd_context(c, &m, &cost, &schedule, &ctx);
    if (e == ERR_OK)
        e = layout_read(&c->arena, c->args[0], &m.model, m.model.par.pp, &l,
                        &c->msg);
    if (e == ERR_OK && l.vpp > 1)
        e = err_set(&c->msg, ERR_RANGE,
                    "simulate: layout '%s' has %d chunks a rank, this version "
                    "simulates one",
                    c->args[0], l.vpp);
    if (e == ERR_OK)
        e = plan_predict(&c->arena, &ctx, &l, &p, &c->msg);
    if (e == ERR_OK)
        e = plan_simulate(&c->arena, &ctx, &l, &r, &c->msg);
    if (e == ERR_OK)
        e = write_files(c, &p, &r);
    if (e != ERR_OK)
        return e;
    if (!cmd_given(c, OPT_JSON))
        return print_simulation(c, &ctx, &p, &r);
    cJSON *tree = plan_to_json(&p);
    cJSON_AddStringToObject(tree, "p2p", p2p_mode_name(ctx.mode));
    return json_print_and_delete(tree, true, stdout, &c->msg);
}

/* ---- the command ---- */

static enum err run(struct cmd *c)
{
    if (cmd_given(c, OPT_BATCH))
        return cmd_each_line(c, c->option[OPT_BATCH], simulate_batch_line);
    return simulate_one(c);
}

static const enum cmd_option takes[] = {
    OPT_PP,    OPT_VPP,   OPT_COSTS, OPT_GBS,  OPT_P2P,  OPT_WIDTH, OPT_TRACE,
    OPT_GANTT, OPT_BATCH, OPT_MBS,   OPT_SEQ,  OPT_TP,   OPT_CP,    OPT_EP,
    OPT_ETP,   OPT_WORLD, OPT_JSON,  OPT_HELP, N_OPTIONS};

const struct command CMD_SIMULATE = {
    .name = "simulate",
    .run = run,
    .synopsis = "simulate MODEL LAYOUT --pp N --gbs B --costs costs.json "
                "[--trace t.json] [--gantt g.svg] | simulate --batch FILE",
    .help =
        "Predicts one layout and draws its step as a timeline.\nWith --batch: "
        "objects {id, P, V, M, N, fwd, bwd, act, lat, bytes, bw}, times in "
        "microseconds.\nExample: moe-layout simulate model.json "
        "'Et*5|t*6|t*5|mL' --pp 4 --gbs 16 --costs costs.json",
    .options = takes,
    .takes_model = true,
    .takes_layout = true,
};
