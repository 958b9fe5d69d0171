/*
 * How it works: split_fixed() and split_counted() are Megatron's two rules.
 * Both say how many layers a first rank, a last rank and each one between have,
 * or why not; a stage is a rank's share of that. For a refusal the same rules
 * are asked for the nearest number that they would take.
 */
#include "default_split.h"

#include <stdio.h>

struct split_problem {
    struct default_split by;
    int n_layers, pp, vpp;
    bool hybrid; // the layers are the symbols of a pattern
};

struct split_ranks { // layers, over all chunks of the rank
    int first, between, last;
};

/* ---- the rules ---- */

/* The flags that fix them. */
static const char *split_ends(const struct split_problem *p)
{
    if (!p->by.last_layers)
        return "--decoder-first-pipeline-num-layers";
    if (!p->by.first_layers)
        return "--decoder-last-pipeline-num-layers";
    return "--decoder-first-pipeline-num-layers and "
           "--decoder-last-pipeline-num-layers";
}

/* What transformer_config.py checks when layers are fixed at an end, in its
 * words where they are short. */
static enum err split_fixed(const struct split_problem *p,
                            struct split_ranks *out, struct err_msg *msg)
{
    int first = p->by.first_layers, last = p->by.last_layers;
    // ranks and layers that the fixed ends leave
    int n_between = p->pp - (first > 0) - (last > 0);
    int left = p->n_layers - first - last;
    if (p->by.count_embedding || p->by.count_loss)
        return err_set(msg, ERR_MODEL,
                       "layers fixed at an end exclude --account-for-embedding-"
                       "in-pipeline-split and --account-for-loss-in-pipeline-"
                       "split");
    if (p->by.chunk_layers)
        return err_set(msg, ERR_MODEL,
                       "layers fixed at an end exclude --num-layers-per-virtual"
                       "-pipeline-stage, give --num-virtual-stages-per-"
                       "pipeline-rank");
    if (first % p->vpp || last % p->vpp)
        return err_set(msg, ERR_MODEL,
                       "the number of layers at the %s stage %d "
                       "(--decoder-%s-pipeline-num-layers) is not divisible by "
                       "the virtual pipeline parallel degree %d "
                       "(--num-virtual-stages-per-pipeline-rank)",
                       first % p->vpp ? "first" : "last",
                       first % p->vpp ? first : last,
                       first % p->vpp ? "first" : "last", p->vpp);
    if (left < 0 || !left != !n_between)
        return err_set(msg, ERR_MODEL,
                       "the fixed ends (%s) leave %d layers for %d middle "
                       "stages",
                       split_ends(p), left, n_between);
    if (n_between && left % (n_between * p->vpp))
        return err_set(msg, ERR_MODEL,
                       "the %d layers between the fixed ends are not divisible "
                       "by %d middle stages%s (%s)",
                       left, n_between,
                       p->vpp > 1 ? " and their virtual stages" : "",
                       split_ends(p));
    int each = n_between ? left / n_between : 0;
    int whole = p->pp == 1 ? last : each; // one stage, and its last end fixed
    *out =
        (struct split_ranks){first ? first : whole, each, last ? last : each};
    return ERR_OK;
}

/* What divides leaves every stage a layer or a counted unit, so that none has
 * less than no layer once E and L are taken off. */
static enum err split_counted(const struct split_problem *p,
                              struct split_ranks *out, struct err_msg *msg)
{
    int all = p->n_layers + p->by.count_embedding + p->by.count_loss;
    int each = all / p->pp, chunk = p->by.chunk_layers;
    if (p->hybrid && p->n_layers % p->pp)
        return err_set(msg, ERR_MODEL,
                       "the pattern's %d layers are not divisible by "
                       "--pipeline-model-parallel-size %d",
                       p->n_layers, p->pp);
    const char *counted = all > p->n_layers ? " with the embedding or the loss "
                                              "accounted for"
                                            : "";
    if (all % p->pp)
        return err_set(msg, ERR_MODEL,
                       "--num-layers %d%s is not divisible by "
                       "--pipeline-model-parallel-size %d",
                       p->n_layers, counted, p->pp);
    if (chunk && each != chunk * p->vpp)
        return err_set(msg, ERR_MODEL,
                       "the number of layers a rank %d%s is not divisible by "
                       "--num-layers-per-virtual-pipeline-stage %d",
                       each, counted, chunk);
    if (each % p->vpp)
        return err_set(msg, ERR_MODEL,
                       "the number of layers a rank %d%s is not divisible by "
                       "the virtual pipeline parallel degree %d "
                       "(--num-virtual-stages-per-pipeline-rank)",
                       each, counted, p->vpp);
    *out = (struct split_ranks){each, each, each};
    return ERR_OK;
}

/* Layers fixed at an end choose the rule; Megatron then refuses the flags of
 * the other one. Virtual stages are refused with one rank by its arguments,
 * before any split. */
static enum err split_ranks(const struct split_problem *p,
                            struct split_ranks *out, struct err_msg *msg)
{
    if (p->vpp > 1 && p->pp == 1)
        return err_set(msg, ERR_MODEL,
                       "virtual stages want a pipeline of two ranks or more: "
                       "--pipeline-model-parallel-size is 1");
    if (p->vpp > 1 && p->hybrid)
        return err_set(msg, ERR_MODEL,
                       "a pattern without bars has no virtual stages");
    if (p->pp == 1 && p->by.first_layers && p->by.last_layers)
        return err_set(msg, ERR_MODEL,
                       "a pipeline of one rank has no two ends to fix");
    return p->by.first_layers || p->by.last_layers ? split_fixed(p, out, msg)
                                                   : split_counted(p, out, msg);
}

/* ---- what would do ---- */

/* Virtual stages follow from the layers of one, where these are stated. */
static void split_fit_chunks(struct split_problem *p)
{
    int all = p->n_layers + p->by.count_embedding + p->by.count_loss;
    int each = all / p->pp, chunk = p->by.chunk_layers;
    if (chunk)
        p->vpp = each % chunk ? 1 : each / chunk;
}

/* The nearest value of a number of the problem that is taken, below (step -1)
 * or above (1) the given one; 0: none. */
static int split_nearest(struct split_problem *p, int *number, int step)
{
    // the problem is the caller's copy; the numbers are put back at the end
    const int given = *number, vpp = p->vpp;
    struct split_ranks ranks;
    int found = 0;
    for (int v = given + step; v > 0 && v <= MODEL_MAX_LAYERS && !found;
         v += step) {
        *number = v;
        split_fit_chunks(p);
        found = split_ranks(p, &ranks, NULL) == ERR_OK ? v : 0;
    }
    p->vpp = vpp;
    *number = given;
    return found;
}

/* Room for the longest flag, its prefix and two numbers. */
enum { SPLIT_ADVICE_BYTES = 120 };

/* "--num-layers 8 or 16"; false: no value of this number alone helps. */
static bool split_values(struct split_problem *p, const char *flag, int *number,
                         char text[SPLIT_ADVICE_BYTES])
{
    int below = split_nearest(p, number, -1);
    int above = split_nearest(p, number, 1);
    if (below && above)
        snprintf(text, SPLIT_ADVICE_BYTES, "%s %d or %d", flag, below, above);
    else if (below || above)
        snprintf(text, SPLIT_ADVICE_BYTES, "%s %d", flag,
                 below ? below : above);
    return below || above;
}

/* Which number to change: one of the ends where they are fixed, else the
 * layers, and the virtual stages where they are the matter. Empty when no
 * change of one number helps. */
static void split_advise(const struct split_problem *given, char *text,
                         size_t size)
{
    struct split_problem p = *given;
    char more[SPLIT_ADVICE_BYTES];
    const struct {
        const char *flag;
        int *number;
        bool given, extra; // extra: beside what was found
    } all[] = {{"--decoder-first-pipeline-num-layers", &p.by.first_layers,
                p.by.first_layers, false},
               {"--decoder-last-pipeline-num-layers", &p.by.last_layers,
                p.by.last_layers, false},
               {"--num-layers", &p.n_layers, true, false},
               {"--num-virtual-stages-per-pipeline-rank", &p.vpp,
                p.by.virtual_stages, true},
               {"--num-layers-per-virtual-pipeline-stage", &p.by.chunk_layers,
                p.by.chunk_layers, true}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!all[i].given || (used && !all[i].extra) ||
            !split_values(&p, all[i].flag, all[i].number, more))
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 used ? ", or " : ": want ", more);
    }
}

/* The layers of a pattern are given, so that bars say what the split cannot; or
 * another number of ranks, where the layers divide by it. */
static void split_advise_bars(const struct split_problem *given, char *text,
                              size_t size)
{
    struct split_problem p = *given;
    char more[SPLIT_ADVICE_BYTES] = "";
    const bool ends = p.by.first_layers || p.by.last_layers;
    const bool found =
        !ends && p.vpp == 1 && p.pp > 1 &&
        split_values(&p, "--pipeline-model-parallel-size", &p.pp, more);
    snprintf(text, size,
             ": want %d segments with '|' between them in "
             "--hybrid-layer-pattern%s ('moe-layout plan' writes them)%s%s",
             p.pp * p.vpp, ends ? " in place of the fixed ends" : "",
             found ? ", or " : "", more);
}

/* ---- stages ---- */

/* Megatron's reason first, then what would do: a user with a hundred flags
 * should not have to work it out. */
static enum err split_solve(const struct split_problem *p,
                            struct split_ranks *out, struct err_msg *msg)
{
    struct err_msg why;
    char advice[3 * SPLIT_ADVICE_BYTES]; // of one number and two extra
    enum err e = split_ranks(p, out, &why);
    if (e == ERR_OK)
        return e;
    if (p->hybrid)
        split_advise_bars(p, advice, sizeof advice);
    else
        split_advise(p, advice, sizeof advice);
    return err_set(msg, e, "Megatron refuses its default split: %s%s", why.text,
                   advice);
}

enum err default_split_layers(const struct model *m, int pp, int *n_layers,
                              struct err_msg *msg)
{
    const struct split_problem p = {.by = m->split,
                                    .n_layers = m->n_layers,
                                    .pp = pp,
                                    .vpp = m->par.vpp > 1 ? m->par.vpp : 1,
                                    .hybrid = model_is_hybrid(m)};
    struct split_ranks ranks;
    enum err e = split_solve(&p, &ranks, msg);
    const int n_stages = pp * p.vpp;
    for (int s = 0; s < n_stages && e == ERR_OK; s++) {
        int rank = s % pp; // stage v * pp + r is chunk v of rank r
        int held = rank == 0        ? ranks.first
                   : rank == pp - 1 ? ranks.last
                                    : ranks.between;
        n_layers[s] = held / p.vpp;
    }
    // the units that were counted as layers stand in these two stages
    if (e == ERR_OK) {
        n_layers[0] -= p.by.count_embedding;
        n_layers[n_stages - 1] -= p.by.count_loss;
    }
    return e;
}

enum err default_split_layout(struct arena *a, const struct model *m, int pp,
                              struct layout *out, struct err_msg *msg)
{
    int vpp = m->par.vpp > 1 ? m->par.vpp : 1;
    int *n_layers = arena_alloc(a, (size_t)pp * (size_t)vpp, sizeof *n_layers);
    if (!n_layers)
        return err_set(msg, ERR_NOMEM, "layout: out of memory");
    enum err e = default_split_layers(m, pp, n_layers, msg);
    if (e != ERR_OK)
        return e;
    struct layout l = {.pp = pp, .vpp = vpp, .n_stages = pp * vpp};
    e = layout_from_counts(a, n_layers, m->n_mtp, &l, msg);
    if (e == ERR_OK)
        *out = l;
    return e;
}

enum err default_split_excludes(const struct model *m, struct err_msg *msg)
{
    const struct default_split *by = &m->split;
    const struct {
        bool given;
        const char *flag;
    } all[] = {
        {by->first_layers, "--decoder-first-pipeline-num-layers"},
        {by->last_layers, "--decoder-last-pipeline-num-layers"},
        {by->count_embedding, "--account-for-embedding-in-pipeline-split"},
        {by->count_loss, "--account-for-loss-in-pipeline-split"},
        {by->chunk_layers, "--num-layers-per-virtual-pipeline-stage"},
        {by->virtual_stages, "--num-virtual-stages-per-pipeline-rank"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].given)
            return err_set(msg, ERR_MODEL,
                           "Megatron refuses %s beside "
                           "--pipeline-model-parallel-layout: give one of them",
                           all[i].flag);
    return ERR_OK;
}
