/*
 * moe-layout plan: the fastest layouts of one or several splits of the work.
 *
 * How it works: --pp, --vpp and --group may be lists; each combination is one
 * way, with model, costs and schedule of its own. What Megatron refuses of a
 * way is kept as its refusal; the others are searched and ranked together by
 * choose(), and printed by plan_output().
 */
#include "plan.h"

#include "base/text.h"
#include "layout/symbols.h"
#include "megatron/args.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A list of sizes has few entries; more is a slip. With jitter each plan is a
 * hundred simulations, and its JSON some 30 KB at 64 stages. */
enum { PLAN_MAX_SIZES = 16, PLAN_MAX_TOP = 10000 };

/* A large space is proved in seconds; longer than this nobody waits who did
 * not ask to. */
static const double PLAN_TIME_LIMIT_S = 60;

struct plan_sizes {
    int size[PLAN_MAX_SIZES];
    int n;
};

/* Everything of one way; the context points into it. */
struct plan_way {
    struct cmd_model m;
    struct cost cost;
    struct schedule schedule;
};

/* ---- lists of sizes ---- */

/* "4,8" to numbers; an option that was not given is one 0: the source's. */
static enum err plan_read_sizes(struct cmd *c, enum cmd_option o, int64_t hi,
                                struct plan_sizes *out)
{
    const char *text = c->option[o];
    *out = (struct plan_sizes){.n = 1};
    if (!text)
        return ERR_OK;
    const char *name = c->spec.rows[o].name;
    int n = 0;
    for (const char *p = text; p; p = strchr(p, ','), p = p ? p + 1 : NULL) {
        char one[16];
        int64_t v = 0;
        snprintf(one, sizeof one, "%.*s", (int)strcspn(p, ","), p);
        if (!text_to_int64(one, &v))
            return err_set(&c->msg, ERR_PARSE,
                           "plan: %s: got '%s', want an integer, or several "
                           "with commas",
                           name, text);
        if (v < 1 || v > hi || n == PLAN_MAX_SIZES)
            return err_set(&c->msg, ERR_RANGE,
                           "plan: %s: got %lld, want 1 to %lld, and %d numbers "
                           "at most",
                           name, (long long)v, (long long)hi, PLAN_MAX_SIZES);
        out->size[n++] = (int)v;
    }
    out->n = n;
    return ERR_OK;
}

/* ---- ways ---- */

/* A way that Megatron refuses keeps the reason and is not searched; what is
 * wrong with the command itself ends it. */
static enum err plan_refuse(struct cmd *c, enum err e, struct choose_way *way)
{
    if (e != ERR_RANGE && e != ERR_MODEL)
        return e;
    way->refusal = arena_strdup(&c->arena, c->msg.text);
    return way->refusal ? ERR_OK
                        : err_set(&c->msg, ERR_NOMEM, "plan: out of memory");
}

/* The order of steps matters: costs are checked against the model as split, and
 * EP overlap changes the schedule that cmd_context() outlines. */
static enum err plan_make_way(struct cmd *c, const struct cmd_split *split,
                              struct choose_way *out)
{
    struct plan_way *w = arena_alloc(&c->arena, 1, sizeof *w);
    if (!w)
        return err_set(&c->msg, ERR_NOMEM, "plan: out of memory");
    *out = (struct choose_way){
        .pp = split->pp, .vpp = split->vpp, .group = split->group};
    enum err e = cmd_model_split(c, split, &w->m);
    if (e != ERR_OK)
        return plan_refuse(c, e, out);
    struct model *m = &w->m.model;
    cmd_order(c, m);
    out->pp = m->par.pp;
    out->vpp = m->par.vpp;
    out->group = order_of_model(m).group;
    e = cmd_context(c, &w->m, &w->cost, &w->schedule, &out->ctx);
    return e == ERR_OK ? e : plan_refuse(c, e, out);
}

/* A group has no meaning without virtual stages: such ways are one. */
static bool plan_is_repeated(const struct choose_way *ways, int n)
{
    for (int i = 0; i < n; i++)
        if (ways[i].pp == ways[n].pp && ways[i].vpp == ways[n].vpp &&
            (ways[i].group == ways[n].group || ways[n].vpp == 1))
            return true;
    return false;
}

/* All combinations, the last list running fastest. Where pipeline sizes are
 * compared all ways get the same ranks, so data parallelism takes up the rest.
 */
static enum err plan_make_ways(struct cmd *c, struct choose_way **ways, int *n)
{
    struct plan_sizes pp, vpp, group;
    enum err e = plan_read_sizes(c, OPT_PP, ORDER_MAX_RANKS, &pp);
    if (e == ERR_OK)
        e = plan_read_sizes(c, OPT_VPP, ORDER_MAX_CHUNKS, &vpp);
    if (e == ERR_OK)
        e = plan_read_sizes(c, OPT_GROUP, ORDER_MAX_MB, &group);
    if (e != ERR_OK)
        return e;
    size_t most = (size_t)pp.n * (size_t)vpp.n * (size_t)group.n;
    *ways = arena_alloc(&c->arena, most, sizeof **ways);
    *n = 0;
    if (!*ways)
        return err_set(&c->msg, ERR_NOMEM, "plan: out of memory");
    for (size_t i = 0; i < most && e == ERR_OK; i++) {
        const struct cmd_split split = {
            .pp = pp.size[i / (size_t)(vpp.n * group.n)],
            .vpp = vpp.size[i / (size_t)group.n % (size_t)vpp.n],
            .group = group.size[i % (size_t)group.n],
            .several = pp.n > 1};
        e = plan_make_way(c, &split, *ways + *n);
        if (e == ERR_OK && !plan_is_repeated(*ways, *n))
            ++*n;
    }
    return e;
}

/* With one way its refusal is the answer; with several each has its own. */
static enum err plan_refused_all(struct cmd *c, enum err e,
                                 const struct choose_way *ways, int n)
{
    if (n == 1)
        return err_set(&c->msg, e, "%s", ways[0].refusal);
    for (int i = 0; i < n; i++)
        fprintf(stderr, "moe-layout: PP %d, VPP %d, group %d: %s\n", ways[i].pp,
                ways[i].vpp, ways[i].group, ways[i].refusal);
    return err_set(&c->msg, e, "plan: none of %d combinations can be planned",
                   n);
}

static bool plan_any_left(const struct choose_way *ways, int n)
{
    for (int i = 0; i < n; i++)
        if (!ways[i].refusal)
            return true;
    return false;
}

/* A combination that cannot run is no error while another one can. */
static enum err plan_check_ways(struct cmd *c, const struct choose_way *ways,
                                int n)
{
    for (int i = 0; i < n; i++) {
        const struct choose_way *w = &ways[i];
        if (!w->refusal && w->ctx.n_mb < w->pp)
            fprintf(stderr,
                    "moe-layout: warning: %d micro-batches for %d stages: "
                    "ranks idle for most of a step; a larger --gbs or fewer "
                    "replicas make more\n",
                    w->ctx.n_mb, w->pp);
    }
    return plan_any_left(ways, n) ? ERR_OK
                                  : plan_refused_all(c, ERR_RANGE, ways, n);
}

/* Megatron takes one of the three that say what a chunk holds. */
static void plan_warn_of_chunks(const struct cmd *c)
{
    static const enum flag_id others[] = {FLAG_VPP, FLAG_LAYERS_PER_VPP};
    const struct megatron_flags *f = megatron_args_flags(c->source);
    for (int i = 0; i < 2; i++)
        if (flags_given(f, others[i]))
            fprintf(
                stderr,
                "moe-layout: note: take --%s out of %s: Megatron refuses it "
                "beside --pipeline-model-parallel-layout\n",
                flag_name(others[i]), c->source_name);
}

/* ---- the command ---- */

static void plan_progress(void *data, int64_t best_ns, int64_t bound_ns,
                          double seconds)
{
    bool *shown = data;
    *shown = true;
    fprintf(stderr, "\rbest %.3f ms, bound %.3f ms, %.0f s ",
            (double)best_ns * 1e-6, (double)bound_ns * 1e-6, seconds);
}

/* --prove without a limit goes on to the proof. Progress is for people: a file
 * of it would be in the way. */
static enum err plan_options(struct cmd *c, bool *shown,
                             struct search_options *out)
{
    int64_t top = 10;
    double limit_s = PLAN_TIME_LIMIT_S;
    enum err e = cmd_int(c, OPT_TOP, 1, PLAN_MAX_TOP, &top);
    if (e == ERR_OK)
        e = cmd_double(c, OPT_TIME_LIMIT, 1e-3, 1e6, &limit_s);
    if (e == ERR_OK)
        e = plan_output_check(c);
    *out =
        (struct search_options){.standalone_mtp = cmd_given(c, OPT_STANDALONE),
                                .empty_stages = cmd_given(c, OPT_EMPTY),
                                .top = (int)top,
                                .time_limit_s = limit_s};
    if (cmd_given(c, OPT_PROVE) && !cmd_given(c, OPT_TIME_LIMIT))
        out->time_limit_s = 0;
    if (isatty(STDERR_FILENO))
        out->hooks =
            (struct prove_hooks){.progress = plan_progress, .data = shown};
    return e;
}

static bool plan_has_halves(const struct model *m)
{
    bool any = false;
    for (int i = 1; i < m->n_layers; i++)
        any = any || symbols_parts_layer(m, i);
    return any;
}

/* What cuts inside layers gain: the best way is searched once more without. A
 * space without layouts, or none that fits, is nothing to compare with. */
static enum err plan_whole_layers(struct cmd *c,
                                  const struct search_options *opt,
                                  struct plan_output *out)
{
    const struct plan_context *ctx = &out->found->picks[0].way->ctx;
    struct search_result *r = arena_alloc(&c->arena, 1, sizeof *r);
    struct search_options whole = *opt;
    struct err_msg why = {""};
    whole.whole_layers = true;
    whole.top = 1;
    if (!plan_has_halves(ctx->model))
        return ERR_OK;
    enum err e =
        r ? search_layouts(&c->arena, ctx, &whole, r, &why) : ERR_NOMEM;
    if (e == ERR_NOMEM)
        return err_set(&c->msg, e, "plan: out of memory");
    out->whole = e == ERR_OK ? r : NULL;
    out->whole_none = e != ERR_OK;
    return ERR_OK;
}

/* The progress line goes before any other is printed. */
static enum err cmd_plan_run(struct cmd *c)
{
    struct choose_way *ways = NULL;
    struct choose_result found;
    struct search_options opt;
    int n = 0;
    bool shown = false;
    enum err e = plan_options(c, &shown, &opt);
    if (e == ERR_OK)
        e = plan_make_ways(c, &ways, &n);
    if (e == ERR_OK)
        e = plan_check_ways(c, ways, n);
    if (e == ERR_OK)
        e = choose(&c->arena, &(struct choose_from){ways, n}, &opt, &found,
                   &c->msg);
    if (shown)
        fputs("\r\033[K", stderr);
    if (e == ERR_MODEL && !plan_any_left(ways, n))
        return plan_refused_all(c, e, ways, n);
    if (e != ERR_OK)
        return e;
    plan_warn_of_chunks(c);
    struct plan_output out = {c, ways, n, &found, NULL, false};
    e = plan_whole_layers(c, &opt, &out);
    return e == ERR_OK ? plan_output(&out) : e;
}

static const enum cmd_option takes[] = {
    OPT_PP,        OPT_VPP,        OPT_GROUP,  OPT_COSTS,      OPT_GBS,
    OPT_HBM,       OPT_MARGIN,     OPT_TOP,    OPT_PRINT,      OPT_TIME_LIMIT,
    OPT_PROVE,     OPT_STANDALONE, OPT_EMPTY,  OPT_EP_OVERLAP, OPT_EP_SAVE,
    OPT_RECOMPUTE, OPT_P2P,        OPT_MBS,    OPT_SEQ,        OPT_TP,
    OPT_CP,        OPT_EP,         OPT_ETP,    OPT_WORLD,      OPT_CORE,
    OPT_PLATFORM,  OPT_NODE,       OPT_HYBRID, OPT_JSON,       OPT_HELP,
    N_OPTIONS};

const struct command CMD_PLAN = {
    .name = "plan",
    .run = cmd_plan_run,
    .synopsis = "plan MODEL --pp N[,N] [--vpp V[,V]] [--group N[,N]] --gbs B "
                "--costs costs.json\n                       [--hbm-gb G] "
                "[--top K] [--print flag|layout|list]",
    .summary = "the fastest layouts that fit, and the flags to paste",
    .help =
        "Searches every layout that Megatron accepts for each combination of "
        "pipeline size, virtual\nstages and micro-batch group, ranks them all "
        "and prints the fastest with the flags to paste.\nSmall spaces are "
        "enumerated; large ones end proved optimal, or after --time-limit with "
        "the gap\nto a bound that no layout passes.\nColumns: step of the mean "
        "times; expected step under jitter; near: ranks within 2% of the "
        "slowest.\nExamples: moe-layout plan experiments/models/7b-a1b.json "
        "--pp 4 --gbs 64 --costs costs.json --hbm-gb 80\n          moe-layout "
        "plan launch.sh --pp 4,8 --vpp 1,2,4 --world 64 --costs costs.json\n"
        "With --print flag the words are bare, for $(...): torchrun ... $("
        "moe-layout plan ... --print flag)",
    .options = takes,
    .takes_model = true,
};
