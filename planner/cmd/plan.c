/* moe-layout plan: the fastest layouts. */
#include "base/json.h"
#include "base/writer.h"
#include "cmd.h"
#include "plan/jitter.h"
#include "plan/search.h"

#include <math.h>

static const double GIB = 1024.0 * 1024.0 * 1024.0;

static void cmd_plan_write(struct writer to, const char *key,
                           const struct plan *plans, int n)
{
    struct writer list = writer_list(to, key);
    for (int i = 0; i < n; i++)
        writer_tree(list, NULL, plan_to_json(&plans[i]));
}

static cJSON *result_json(const struct search_result *r,
                          const struct plan_context *ctx)
{
    char searched[32];
    snprintf(searched, sizeof searched, "%lld", (long long)r->n_searched);
    struct writer_doc doc;
    struct writer tree = writer_open(&doc);
    cmd_plan_write(tree, "layouts", r->plans, r->n_plans);
    cmd_plan_write(tree, "baselines", r->baselines, r->n_baselines);
    writer_text(tree, "searched", searched);
    writer_number(tree, "dropped_for_memory", (double)r->n_dropped_for_memory);
    if (r->n_refused > 0)
        writer_number(tree, "refused_by_core", (double)r->n_refused);
    writer_text(tree, "proof", "enumerated");
    writer_number(tree, "gap_pct", 0);
    writer_text(tree, "p2p", p2p_mode_name(ctx->mode));
    writer_text(tree, "costs_source", cost_source_name(ctx->cost->source));
    return writer_close(&doc);
}

static void print_speedup(double x)
{
    if (isfinite(x))
        printf(" %9.3fx", x);
    else
        printf(" %10s", "-");
}

static void cmd_plan_print_row(const char *label, const struct plan *p)
{
    int64_t most = 0;
    for (int s = 0; s < p->n_stages; s++)
        most = p->stages[s].mem_bytes > most ? p->stages[s].mem_bytes : most;
    printf("%-12s %-26s %10.3f [%9.3f, %9.3f] %11.3f", label, p->layout,
           p->pred_step_s * 1e3, p->pred_lo_s * 1e3, p->pred_hi_s * 1e3,
           p->exp_step_s * 1e3);
    print_speedup(p->speedup_vs_default);
    print_speedup(p->speedup_vs_count_based);
    printf(" %9.3f %5d %s%s%s\n", (double)most / GIB, p->near_bottleneck,
           p->standalone_mtp ? " standalone-mtp" : "",
           p->empty_stage ? " empty-stage" : "",
           p->tight_memory ? " tight-memory" : "");
}

static void cmd_plan_print_table(const struct search_result *r)
{
    printf("%-12s %-26s %10s %22s %11s %10s %10s %9s %5s  %s\n", "", "layout",
           "step ms", "95% interval", "expected ms", "vs default", "vs count",
           "GiB", "near", "flags");
    for (int i = 0; i < r->n_plans; i++) {
        char label[16];
        snprintf(label, sizeof label, "%d", i + 1);
        cmd_plan_print_row(label, &r->plans[i]);
    }
    for (int i = 0; i < r->n_baselines; i++)
        cmd_plan_print_row(r->baseline_names[i], &r->baselines[i]);
}

/* A baseline may lie outside the searched space. */
static void print_hint(const struct search_result *r)
{
    for (int i = 0; i < r->n_baselines; i++)
        if (r->baselines[i].exp_step_s < r->plans[0].exp_step_s &&
            r->baselines[i].standalone_mtp)
            printf("hint: %s, with m on a stage of its own, is faster: search "
                   "such layouts with --standalone-mtp\n",
                   r->baseline_names[i]);
}

static enum err print_result(struct cmd *c, const struct search_result *r,
                             const struct plan_context *ctx)
{
    cmd_plan_print_table(r);
    printf("\nsearched %lld layouts, all simulated (%s transfers, %d "
           "micro-batches, %s costs): the first is within 0.5%% of the "
           "fastest, and has the fewest slow stages of those that are\n",
           (long long)r->n_searched, p2p_mode_name(ctx->mode), ctx->n_mb,
           cost_source_name(ctx->cost->source));
    if (ctx->cost->jitter_cv > 0)
        printf("expected: mean of %d simulated steps, operation times "
               "log-normal with cv %.3f, seed %llu; the order is theirs\n",
               JITTER_SAMPLES, ctx->cost->jitter_cv,
               (unsigned long long)JITTER_SEED);
    if (ctx->hbm_bytes > 0)
        printf("memory: limit %.1f GiB a rank, margin %.1f%%, %lld layouts "
               "dropped\n",
               ctx->hbm_bytes / GIB, 100 * ctx->memory_margin,
               (long long)r->n_dropped_for_memory);
    else
        printf("memory: no limit given (--hbm-gb), no layout dropped\n");
    if (r->n_refused > 0)
        printf("core %s: refuses %lld more layouts\n", ctx->core->name,
               (long long)r->n_refused);
    print_hint(r);
    const char *list = layout_list(&c->arena, &r->plans[0].parsed);
    if (!list)
        return err_set(&c->msg, ERR_NOMEM, "plan: out of memory");
    printf("\n--pipeline-model-parallel-layout '%s'\nas a list: %s\n",
           r->plans[0].layout, list);
    return ERR_OK;
}

static enum err cmd_plan_run(struct cmd *c)
{
    struct cmd_model m;
    struct cost cost;
    struct schedule schedule;
    struct plan_context ctx = {0};
    struct search_result r;
    int64_t top = 10;
    enum err e = cmd_model(c, &m);
    if (e == ERR_OK)
        e = cmd_refuse_vpp(c, &m.model);
    if (e == ERR_OK)
        e = cmd_context(c, &m, &cost, &schedule, &ctx);
    if (e == ERR_OK)
        e = cmd_int(c, OPT_TOP, 1, 100000, &top);
    if (e != ERR_OK)
        return e;
    const struct search_options opt = {.standalone_mtp =
                                           cmd_given(c, OPT_STANDALONE),
                                       .empty_stages = cmd_given(c, OPT_EMPTY),
                                       .top = (int)top};
    e = search_layouts(&c->arena, &ctx, &opt, &r, &c->msg);
    if (e != ERR_OK)
        return e;
    if (cmd_given(c, OPT_JSON))
        return json_print_and_delete(result_json(&r, &ctx), true, stdout,
                                     &c->msg);
    return print_result(c, &r, &ctx);
}

static const enum cmd_option takes[] = {
    OPT_PP,   OPT_VPP,        OPT_COSTS, OPT_GBS,  OPT_HBM,   OPT_MARGIN,
    OPT_TOP,  OPT_STANDALONE, OPT_EMPTY, OPT_P2P,  OPT_PROVE, OPT_MBS,
    OPT_SEQ,  OPT_TP,         OPT_CP,    OPT_EP,   OPT_ETP,   OPT_WORLD,
    OPT_CORE, OPT_PLATFORM,   OPT_JSON,  OPT_HELP, N_OPTIONS};

const struct command CMD_PLAN = {
    .name = "plan",
    .run = cmd_plan_run,
    .synopsis =
        "plan MODEL --pp N --gbs B --costs costs.json [--hbm-gb G] [--top K]",
    .help =
        "Simulates every layout and prints the fastest ones with the flag to "
        "paste.\nEvery layout is tried, so that --prove adds nothing here; up "
        "to two "
        "million layouts.\nColumns: step of the mean times; expected step "
        "under jitter; near: stages within 2% of the slowest.\n"
        "Example: moe-layout plan experiments/models/7b-a1b.json --pp 4 --gbs "
        "64 --costs costs.json --hbm-gb 80",
    .options = takes,
    .takes_model = true,
};
