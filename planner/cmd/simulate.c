/* moe-layout simulate: one layout's step as a timeline, or many from a file. */
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

/* ---- batch ---- */

struct sim_line {
    cJSON *id;
    int64_t pp, vpp, n_mb, group;
    double *fwd_s, *bwd_s, *act; // [pp]
    double lat_us, bytes, bw;
};

/* One number a stage of a line, from the array of that name. */
struct numbers {
    const cJSON *tree;
    const char *where, *key;
    int n;
};

static enum err read_numbers(struct arena *a, const struct numbers *from,
                             double **out, struct err_msg *msg)
{
    const cJSON *item = json_get(from->tree, from->key), *v;
    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != from->n)
        return err_set(msg, ERR_PARSE,
                       "%s: %s: want an array of P*V = %d numbers", from->where,
                       from->key, from->n);
    *out = arena_alloc(a, (size_t)from->n, sizeof **out);
    if (!*out)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", from->where);
    int i = 0;
    cJSON_ArrayForEach(v, item)
    {
        if (!cJSON_IsNumber(v) || v->valuedouble < 0 || v->valuedouble > 1e15)
            return err_set(msg, ERR_PARSE,
                           "%s: %s[%d]: want a number from 0 to 1e15",
                           from->where, from->key, i);
        (*out)[i++] = v->valuedouble;
    }
    return ERR_OK;
}

static enum err read_batch(struct arena *a, const cJSON *tree,
                           const char *where, struct sim_line *b,
                           struct err_msg *msg)
{
    const struct {
        const char *key;
        double hi;
        int64_t *out;
    } sizes[] = {{"P", 1024, &b->pp},
                 {"V", 1024, &b->vpp},
                 {"M", 65536, &b->n_mb},
                 {"N", 65536, &b->group}};
    const struct {
        const char *key;
        double *out;
    } numbers[] = {{"lat", &b->lat_us}, {"bytes", &b->bytes}, {"bw", &b->bw}};
    if (!cJSON_IsObject(tree))
        return err_set(msg, ERR_PARSE, "%s: want a JSON object", where);
    enum err e = ERR_OK;
    b->vpp = 1;
    for (int i = 0; i < 4 && e == ERR_OK; i++)
        e = json_opt_int(tree, where, sizes[i].key,
                         (struct json_range){1, sizes[i].hi}, sizes[i].out,
                         msg);
    if (e == ERR_OK && (!b->pp || !b->n_mb))
        e = err_set(msg, ERR_PARSE, "%s: want P and M", where);
    for (int i = 0; i < 3 && e == ERR_OK; i++)
        e = json_opt_double(tree, where, numbers[i].key,
                            (struct json_range){0, 1e15}, numbers[i].out, msg);
    struct numbers from = {tree, where, "fwd", (int)(b->pp * b->vpp)};
    if (e == ERR_OK)
        e = read_numbers(a, &from, &b->fwd_s, msg);
    from.key = "bwd";
    if (e == ERR_OK)
        e = read_numbers(a, &from, &b->bwd_s, msg);
    from.key = "act";
    if (e == ERR_OK && json_get(tree, "act"))
        e = read_numbers(a, &from, &b->act, msg);
    b->id = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(tree, "id"), 1);
    return e;
}

static void add_in_flight(cJSON *out, const struct sim_line *b,
                          const struct schedule *s)
{
    cJSON *in_flight = cJSON_AddArrayToObject(out, "max_inflight");
    cJSON *peak = cJSON_AddArrayToObject(out, "peak_act");
    for (int r = 0; r < (int)b->pp; r++) {
        int n = schedule_max_in_flight(s, r);
        cJSON_AddItemToArray(in_flight, cJSON_CreateNumber(n));
        cJSON_AddItemToArray(peak,
                             cJSON_CreateNumber(b->act ? n * b->act[r] : 0));
    }
}

/* Times stay in microseconds: the simulator knows no unit. */
static enum err add_modes(struct arena *a, cJSON *out, const struct sim_line *b,
                          const struct schedule *s, struct err_msg *msg)
{
    double *x = arena_alloc(a, (size_t)b->pp, sizeof *x);
    if (!x)
        return err_set(msg, ERR_NOMEM, "simulate: out of memory");
    for (int r = 0; r < (int)b->pp; r++)
        x[r] = b->lat_us + (b->bw > 0 ? b->bytes / b->bw : 0);
    struct sim_input in = {
        .schedule = s, .fwd_s = b->fwd_s, .bwd_s = b->bwd_s, .x_s = x};
    for (int mode = 0; mode < N_P2P_MODES; mode++) {
        struct sim_result r;
        in.mode = (enum p2p_mode)mode;
        enum err e = sim_run(a, &in, &r, msg);
        if (e != ERR_OK)
            return e;
        cJSON *item =
            cJSON_AddObjectToObject(out, p2p_mode_name((enum p2p_mode)mode));
        cJSON_AddNumberToObject(item, "step_time", r.step_s);
    }
    cJSON_AddNullToObject(out, "overlap"); // Megatron: only for V > 1
    return ERR_OK;
}

static enum err simulate_batch(struct arena *a, const struct sim_line *b,
                               cJSON *out, struct err_msg *msg)
{
    struct schedule s;
    if (b->vpp > 1) { // not "Megatron refuses it": nobody has looked
        cJSON_AddNullToObject(out, "feasible");
        cJSON_AddStringToObject(
            out, "reason", "not simulated: this version simulates V = 1 only");
        return ERR_OK;
    }
    cJSON_AddTrueToObject(out, "feasible");
    enum err e = schedule_1f1b(a, (int)b->pp, (int)b->n_mb, &s, msg);
    if (e != ERR_OK)
        return e;
    cJSON_AddStringToObject(out, "reason", "");
    add_in_flight(out, b, &s);
    return add_modes(a, out, b, &s, msg);
}

static enum err batch_line(const char *line, const char *where,
                           struct err_msg *msg)
{
    struct arena a;
    arena_init(&a);
    cJSON *tree = NULL, *out = NULL;
    struct sim_line b = {0};
    enum err e = json_parse(line, where, &tree, msg);
    if (e == ERR_OK)
        e = read_batch(&a, tree, where, &b, msg);
    cJSON_Delete(tree);
    if (e == ERR_OK) {
        out = cJSON_CreateObject();
        cJSON_AddItemToObject(out, "id", b.id ? b.id : cJSON_CreateNull());
        b.id = NULL;
        e = simulate_batch(&a, &b, out, msg);
    }
    if (e == ERR_OK)
        e = json_print_and_delete(out, false, stdout, msg);
    else
        cJSON_Delete(out);
    cJSON_Delete(b.id);
    arena_clear(&a);
    return e;
}

/* ---- the command ---- */

static enum err run(struct cmd *c)
{
    if (cmd_given(c, OPT_BATCH))
        return cmd_each_line(c, c->option[OPT_BATCH], batch_line);
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
