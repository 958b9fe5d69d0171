/*
 * How it works: the picks of all ways are one table; a column for pipeline
 * size, virtual stages and group appears where ways differ. Below it stands
 * what was searched and how far it is proved, for each way, and last the flags
 * of the best one, as they are pasted behind Megatron's other flags.
 */
#include "base/json.h"
#include "base/writer.h"
#include "megatron/args.h"
#include "megatron/hybrid.h"
#include "model/model.h"
#include "plan.h"
#include "plan/jitter.h"

#include <math.h>
#include <string.h>

static const double GIB = 1024.0 * 1024.0 * 1024.0;

// a gap that three digits of a percentage would show as none
static const double PLAN_NO_GAP = 5e-6;

// least widths of a table; a label is at most a rank and three numbers
enum {
    PLAN_LABEL_COLUMNS = 12,
    PLAN_LAYOUT_COLUMNS = 26,
    PLAN_LABEL_ROOM = 64
};

/* ---- flags ---- */

/* A pipeline size that was chosen among several, or that the source states
 * otherwise, has to stand with the layout. */
static bool plan_states_pp(const struct plan_output *o,
                           const struct choose_way *w)
{
    const char *text = o->cmd->option[OPT_PP];
    const struct megatron_flags *f = megatron_args_flags(o->cmd->source);
    return (text && strchr(text, ',')) ||
           (flags_given(f, FLAG_PP) && flags_int(f, FLAG_PP, 1) != w->pp);
}

/* All flags of a pick that differ between ways, and those that the options
 * asked for: a layout string implies the virtual stages. `quote` stands around
 * the layout, whose | and () a shell would take for its own. */
static const char *plan_flags(const struct plan_output *o,
                              const struct choose_pick *p, const char *quote)
{
    struct arena *a = &o->cmd->arena;
    const struct choose_way *w = p->way;
    const char *recompute = o->cmd->option[OPT_RECOMPUTE];
    const char *flag = flag_name(hybrid_layout_flag(w->ctx.model));
    const char *s = arena_printf(a, "--%s%s%s%s%s", flag,
                                 hybrid_flag_joint(p->plan->layout), quote,
                                 p->plan->layout, quote);
    if (s && plan_states_pp(o, w))
        s = arena_printf(a, "%s --pipeline-model-parallel-size %d", s, w->pp);
    if (s && w->vpp > 1 && w->group != w->pp)
        s = arena_printf(
            a, "%s --microbatch-group-size-per-virtual-pipeline-stage %d", s,
            w->group);
    if (s && w->ctx.schedule->order.ep_overlap)
        s = arena_printf(a, "%s --overlap-moe-expert-parallel-comm", s);
    if (!s || !recompute || strcmp(recompute, "none") == 0)
        return s;
    if (strcmp(recompute, "full") == 0)
        return arena_printf(a,
                            "%s --recompute-granularity full --recompute-"
                            "method uniform --recompute-num-layers 1",
                            s);
    s = arena_printf(a, "%s --recompute-granularity selective", s);
    if (!s || strcmp(recompute, "selective") == 0)
        return s;
    s = arena_printf(a, "%s --recompute-modules %s", s, recompute);
    for (char *q = s ? strrchr(s, ' ') + 1 : NULL; q && *q; q++)
        *q = *q == ',' ? ' ' : *q;
    return s;
}

/* ---- one thing alone ---- */

enum err plan_output_check(struct cmd *c)
{
    const char *what = c->option[OPT_PRINT];
    if (!what || strcmp(what, "flag") == 0 || strcmp(what, "layout") == 0 ||
        strcmp(what, "list") == 0)
        return ERR_OK;
    return err_set(&c->msg, ERR_PARSE,
                   "plan: --print: got '%s', want flag, layout or list", what);
}

/* Flags are read by $(...) in a launch script, where quotes would become part
 * of the layout. */
static enum err plan_print_one(const struct plan_output *o, const char *what)
{
    const struct choose_pick *best = &o->found->picks[0];
    if (strcmp(what, "list") == 0 && model_is_hybrid(best->way->ctx.model))
        return err_set(&o->cmd->msg, ERR_RANGE,
                       "plan: --print list: a hybrid model has no list of "
                       "units, want flag or layout");
    const char *text = strcmp(what, "flag") == 0 ? plan_flags(o, best, "")
                       : strcmp(what, "list") == 0
                           ? layout_list(&o->cmd->arena, &best->plan->parsed)
                           : best->plan->layout;
    if (!text)
        return err_set(&o->cmd->msg, ERR_NOMEM, "plan: out of memory");
    puts(text);
    return ERR_OK;
}

/* ---- JSON ---- */

/* A plan does not know of which way it is. */
static void plan_write_plan(struct writer list, const struct plan *p,
                            const struct choose_way *w)
{
    cJSON *tree = plan_to_json(p);
    if (tree && (!cJSON_AddNumberToObject(tree, "pp", w->pp) ||
                 !cJSON_AddNumberToObject(tree, "vpp", w->vpp) ||
                 !cJSON_AddNumberToObject(tree, "group", w->group))) {
        cJSON_Delete(tree);
        tree = NULL;
    }
    writer_tree(list, NULL, tree);
}

/* A refused combination has its reason and no figures. */
static void plan_write_way(struct writer list, const struct choose_way *w)
{
    const struct search_result *r = &w->result;
    struct writer way = writer_object(list, NULL);
    writer_number(way, "pp", w->pp);
    writer_number(way, "vpp", w->vpp);
    writer_number(way, "group", w->group);
    if (w->refusal) {
        writer_text(way, "refused", w->refusal);
        return;
    }
    writer_number(way, "micro_batches", w->ctx.n_mb);
    writer_text(way, "p2p", p2p_mode_name(w->ctx.mode));
    writer_text(way, "searched", r->searched);
    writer_text(way, "proof", search_proof_name(r->proof));
    writer_number(way, "gap_pct", 100 * r->gap);
    writer_number(way, "best_step_ms", r->plans[0].pred_step_s * 1e3);
    writer_number(way, "bound_ms", r->bound_s * 1e3);
}

/* The shortest step that a search found: its first plan may be a tie that is up
 * to half a percent slower. */
static double plan_fastest_s(const struct search_result *r)
{
    return r->bound_s * (1 + r->gap);
}

/* How much slower the fastest layout of whole layers is, percent. What is left
 * of a difference in rounding is none. */
static double plan_whole_pct(const struct plan_output *o)
{
    const struct search_result *with = &o->found->picks[0].way->result;
    const double pct =
        100 * (plan_fastest_s(o->whole) / plan_fastest_s(with) - 1);
    return fabs(pct) < 5e-6 ? 0 : pct;
}

static void plan_write_whole(const struct plan_output *o, struct writer tree)
{
    if (!o->whole)
        return;
    struct writer whole = writer_object(tree, "whole_layers");
    const struct plan *p = &o->whole->plans[0];
    writer_text(whole, "layout", p->layout);
    writer_number(whole, "pred_step_ms", p->pred_step_s * 1e3);
    writer_text(whole, "proof", search_proof_name(o->whole->proof));
    writer_number(whole, "gap_pct", 100 * o->whole->gap);
    writer_number(whole, "slower_pct", plan_whole_pct(o));
}

/* What the table says in words is a number or a name here; figures that were
 * not counted are null and not 0. */
static cJSON *plan_json(const struct plan_output *o)
{
    const struct choose_result *f = o->found;
    const struct choose_way *best = f->picks[0].way;
    const struct search_result *r = &best->result;
    struct writer_doc doc;
    struct writer tree = writer_open(&doc);
    struct writer layouts = writer_list(tree, "layouts");
    for (int i = 0; i < f->n_picks; i++)
        plan_write_plan(layouts, f->picks[i].plan, f->picks[i].way);
    struct writer baselines = writer_list(tree, "baselines");
    for (int i = 0; i < r->n_baselines; i++)
        plan_write_plan(baselines, &r->baselines[i], best);
    struct writer ways = writer_list(tree, "combinations");
    for (int i = 0; i < o->n_ways; i++)
        plan_write_way(ways, &o->ways[i]);
    writer_text(tree, "searched", f->searched);
    if (r->n_dropped_for_memory == SEARCH_NOT_COUNTED)
        writer_null(tree, "dropped_for_memory");
    else
        writer_number(tree, "dropped_for_memory",
                      (double)r->n_dropped_for_memory);
    if (r->n_refused > 0)
        writer_number(tree, "refused_by_core", (double)r->n_refused);
    writer_text(tree, "proof", search_proof_name(f->proof));
    writer_number(tree, "gap_pct", 100 * f->gap);
    plan_write_whole(o, tree);
    writer_text(tree, "flags", plan_flags(o, &f->picks[0], "'"));
    writer_text(tree, "p2p", p2p_mode_name(best->ctx.mode));
    writer_text(tree, "costs_source", cost_source_name(best->ctx.cost->source));
    cmd_write_account(o->cmd, tree);
    return writer_close(&doc);
}

/* ---- the table ---- */

static void plan_print_speedup(double x)
{
    if (isfinite(x))
        printf(" %9.3fx", x);
    else
        printf(" %10s", "-");
}

/* A baseline is shown whether it fits or not. */
static const char *plan_memory_word(const struct choose_way *w,
                                    const struct plan *p, int64_t most)
{
    const double margin = 1 + w->ctx.memory_margin;
    if (w->ctx.hbm_bytes > 0 && (double)most * margin > w->ctx.hbm_bytes)
        return " does-not-fit";
    return p->tight_memory ? " tight-memory" : "";
}

/* Widths of the table's first two columns. */
struct plan_columns {
    int label, layout;
};

static void plan_print_row(const char *label, const struct choose_way *w,
                           const struct plan *p, struct plan_columns width)
{
    int64_t most = 0;
    for (int s = 0; s < p->n_stages; s++)
        most = p->stages[s].mem_bytes > most ? p->stages[s].mem_bytes : most;
    char interval[64] = "not known";
    if (isfinite(p->pred_lo_s))
        snprintf(interval, sizeof interval, "[%9.3f, %9.3f]",
                 p->pred_lo_s * 1e3, p->pred_hi_s * 1e3);
    printf("%-*s %-*s %10.3f %22s %11.3f", width.label, label, width.layout,
           p->layout, p->pred_step_s * 1e3, interval, p->exp_step_s * 1e3);
    plan_print_speedup(p->speedup_vs_default);
    plan_print_speedup(p->speedup_vs_count_based);
    printf(" %9.3f %5d %s%s%s\n", (double)most / GIB, p->near_bottleneck,
           p->standalone_mtp ? " standalone-mtp" : "",
           p->empty_stage ? " empty-stage" : "", plan_memory_word(w, p, most));
}

/* The pick's rank, and its combination where there are several. */
static void plan_label(const struct plan_output *o, int i, char *label,
                       size_t room)
{
    const struct choose_way *w = o->found->picks[i].way;
    if (o->n_ways > 1)
        snprintf(label, room, "%d PP%d V%d N%d", i + 1, w->pp, w->vpp,
                 w->vpp > 1 ? w->group : 1);
    else
        snprintf(label, room, "%d", i + 1);
}

/* A column is as wide as its widest text, which is a layout of any length. */
static int plan_wider(int width, const char *text)
{
    int n = (int)strlen(text);
    return n > width ? n : width;
}

/* Of the longest label and layout in the table, baselines included. */
static struct plan_columns plan_widths(const struct plan_output *o)
{
    const struct search_result *r = &o->found->picks[0].way->result;
    struct plan_columns width = {PLAN_LABEL_COLUMNS, PLAN_LAYOUT_COLUMNS};
    char label[PLAN_LABEL_ROOM];
    for (int i = 0; i < o->found->n_picks; i++) {
        plan_label(o, i, label, sizeof label);
        width.label = plan_wider(width.label, label);
        width.layout =
            plan_wider(width.layout, o->found->picks[i].plan->layout);
    }
    for (int i = 0; i < r->n_baselines; i++)
        width.layout = plan_wider(width.layout, r->baselines[i].layout);
    return width;
}

/* Combinations differ in their baselines, so that only the first row's are
 * shown. */
static void plan_print_table(const struct plan_output *o)
{
    const struct choose_result *f = o->found;
    const struct search_result *r = &f->picks[0].way->result;
    const struct plan_columns width = plan_widths(o);
    printf("%-*s %-*s %10s %22s %11s %10s %10s %9s %5s  %s\n", width.label, "",
           width.layout, "layout", "step ms", "95% interval", "expected ms",
           "vs default", "vs count", "GiB", "near", "flags");
    for (int i = 0; i < f->n_picks; i++) {
        char label[PLAN_LABEL_ROOM];
        plan_label(o, i, label, sizeof label);
        plan_print_row(label, f->picks[i].way, f->picks[i].plan, width);
    }
    for (int i = 0; i < r->n_baselines; i++)
        plan_print_row(r->baseline_names[i], f->picks[0].way, &r->baselines[i],
                       width);
    if (r->baseline_refusals[0])
        printf("%-*s %s\n", width.label, "default", r->baseline_refusals[0]);
    if (r->baseline_refusals[1])
        printf("%-*s %s\n", width.label, "count-based",
               r->baseline_refusals[1]);
    if (o->n_ways > 1)
        printf("vs default, vs count: of the row's own combination; those "
               "shown are the first row's\n");
}

/* ---- what was searched ---- */

/* The bound is of free transfers where the mode has others: said, so that the
 * gap is not taken for a loss. */
static void plan_print_way(const struct plan_output *o,
                           const struct choose_way *w)
{
    const struct search_result *r = &w->result;
    if (o->n_ways > 1)
        printf("PP %d, VPP %d", w->pp, w->vpp);
    if (o->n_ways > 1 && w->vpp > 1 && w->group != w->pp)
        printf(", group %d", w->group);
    if (o->n_ways > 1)
        printf(": ");
    if (w->refusal) {
        printf("not planned: %s\n", w->refusal);
        return;
    }
    const char *that = w->ctx.hbm_bytes > 0 ? " that fits" : "";
    if (o->n_ways > 1)
        printf("%.3f ms, ", r->plans[0].pred_step_s * 1e3);
    printf("%s %s layouts (%s transfers, %d micro-batches, %s costs): ",
           r->proof == SEARCH_ENUMERATED ? "searched" : "a space of",
           r->searched, p2p_mode_name(w->ctx.mode), w->ctx.n_mb,
           cost_source_name(w->ctx.cost->source));
    if (r->proof == SEARCH_ENUMERATED)
        printf("all simulated; the first is within 0.5%% of the fastest, and "
               "has the fewest slow stages of those that are\n");
    else if (r->proof == SEARCH_OPTIMAL)
        printf("optimal, no layout%s is faster than %.3f ms\n", that,
               r->bound_s * 1e3);
    else if (r->gap < PLAN_NO_GAP)
        printf("optimal to 0.001%%, no layout%s is faster than %.3f ms\n", that,
               r->bound_s * 1e3);
    else
        printf("no layout%s is faster than %.3f ms, a gap of %.3f%%%s\n", that,
               r->bound_s * 1e3, 100 * r->gap,
               w->ctx.mode == P2P_IDEAL ? ""
                                        : " to the bound of free "
                                          "transfers");
}

/* Without a limit every layout fits, which is said. */
static void plan_print_memory(const struct choose_way *w)
{
    const struct search_result *r = &w->result;
    if (w->ctx.hbm_bytes <= 0) {
        printf("memory: no limit given (--hbm-gb), no layout dropped\n");
        return;
    }
    printf("memory: limit %.1f GiB a rank, margin %.1f%%",
           w->ctx.hbm_bytes / GIB, 100 * w->ctx.memory_margin);
    if (r->n_dropped_for_memory != SEARCH_NOT_COUNTED)
        printf(", %lld layouts dropped", (long long)r->n_dropped_for_memory);
    printf("\n");
}

/* A baseline may lie outside the searched space. */
static void plan_print_hint(const struct search_result *r)
{
    for (int i = 0; i < r->n_baselines; i++)
        if (r->baselines[i].exp_step_s < r->plans[0].exp_step_s &&
            r->baselines[i].standalone_mtp)
            printf("hint: %s, with m on a stage of its own, is faster: search "
                   "such layouts with --standalone-mtp\n",
                   r->baseline_names[i]);
}

/* How far a search is proved, in a word or a gap. */
static const char *plan_proof_text(const struct search_result *r, char text[32])
{
    if (r->proof == SEARCH_GAP && r->gap >= PLAN_NO_GAP)
        snprintf(text, 32, "gap %.3f%%", 100 * r->gap);
    else
        snprintf(text, 32, "%s",
                 r->proof == SEARCH_ENUMERATED ? "enumerated" : "optimal");
    return text;
}

/* What cuts between attention and MLP are worth to this model: fastest against
 * fastest, since what is told first may be another one of a tie. */
static void plan_print_whole(const struct plan_output *o)
{
    const struct choose_pick *best = &o->found->picks[0];
    char with[32], without[32];
    if (o->whole_none)
        printf("between whole layers only: no layout was found%s\n",
               best->way->ctx.hbm_bytes > 0 ? " that fits" : "");
    if (!o->whole)
        return;
    printf("cuts inside layers: %.3f ms (%s); between whole layers only: %.3f "
           "ms (%s), %.2f%% slower: %s\n",
           plan_fastest_s(&best->way->result) * 1e3,
           plan_proof_text(&best->way->result, with),
           plan_fastest_s(o->whole) * 1e3, plan_proof_text(o->whole, without),
           plan_whole_pct(o), o->whole->plans[0].layout);
}

/* The flags last, to be copied from the terminal's end. */
static enum err plan_print_result(const struct plan_output *o)
{
    const struct choose_pick *best = &o->found->picks[0];
    const struct choose_way *w = best->way;
    plan_print_table(o);
    printf("\n");
    for (int i = 0; i < o->n_ways; i++)
        plan_print_way(o, &o->ways[i]);
    if (w->ctx.cost->jitter_cv > 0)
        printf("expected: mean of %d simulated steps, operation times "
               "log-normal with cv %.3f, seed %llu; the order is theirs\n",
               jitter_samples(&w->ctx), w->ctx.cost->jitter_cv,
               (unsigned long long)JITTER_SEED);
    plan_print_memory(w);
    if (w->result.n_refused > 0)
        printf("core %s: refuses %lld more layouts\n", w->ctx.core->name,
               (long long)w->result.n_refused);
    plan_print_hint(&w->result);
    plan_print_whole(o);
    const char *flags = plan_flags(o, best, "'");
    const char *list = layout_list(&o->cmd->arena, &best->plan->parsed);
    if (!flags || !list)
        return err_set(&o->cmd->msg, ERR_NOMEM, "plan: out of memory");
    printf("\n%s\n", flags);
    if (!model_is_hybrid(w->ctx.model))
        printf("as a list: %s\n", list);
    return ERR_OK;
}

/* JSON has all; --print is for scripts that paste one thing. */
enum err plan_output(const struct plan_output *o)
{
    const char *what = o->cmd->option[OPT_PRINT];
    if (cmd_given(o->cmd, OPT_JSON))
        return json_print_and_delete(plan_json(o), true, stdout, &o->cmd->msg);
    return what ? plan_print_one(o, what) : plan_print_result(o);
}
