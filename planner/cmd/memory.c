/*
 * moe-layout memory: bytes of every rank of a layout, what fits, and why the
 * fullest rank is the fullest. How it works: the question is read once, every
 * rank is predicted and judged; the parts of a rank are a table, which prints
 * them and finds the part by which the fullest rank exceeds the others.
 */
#include "memory.h"

#include "base/json.h"
#include "base/writer.h"
#include "layout/default_split.h"
#include "layout/symbols.h"
#include "megatron/args.h"
#include "megatron/hybrid.h"
#include "memory/assumed.h"
#include "memory/memory.h"

#include <string.h>

// of a GPU's memory, as nvidia-smi counts it
static const double GIB = 1024.0 * 1024.0 * 1024.0;

struct question {
    struct cmd_model model;
    struct layout layout;
    struct memory_terms terms;
    const struct memory_rank *ranks; // layout.pp of them
    int fullest;
    double limit_bytes; // 0: none
    double margin;      // of predicted peaks, relative
    enum trainer_kind trainer;
    struct memory_assumed assumed;
};

/* ---- parts of a rank ---- */

struct part {
    const char *name, *text;
    size_t offset;
};

// columns of the table, members of the JSON; together they are the peak
static const struct part parts[] = {
    {"params", "parameters", offsetof(struct memory_rank, param_bytes)},
    {"grads", "gradients", offsetof(struct memory_rank, grad_bytes)},
    {"optimizer", "optimiser state",
     offsetof(struct memory_rank, optimizer_bytes)},
    {"activations", "activations",
     offsetof(struct memory_rank, activation_bytes)},
    {"head", "the loss head", offsetof(struct memory_rank, head_bytes)},
    {"workspace", "workspaces", offsetof(struct memory_rank, workspace_bytes)},
};
enum { MEMORY_N_PARTS = sizeof parts / sizeof parts[0] };

/* The same with what goes with the parameters taken together. */
static const struct part causes[] = {
    {"static", "parameters with gradients and optimiser state",
     offsetof(struct memory_rank, static_bytes)},
    {"activations", "activations",
     offsetof(struct memory_rank, activation_bytes)},
    {"head", "the loss head", offsetof(struct memory_rank, head_bytes)},
    {"workspace", "workspaces", offsetof(struct memory_rank, workspace_bytes)},
};
enum { MEMORY_N_CAUSES = sizeof causes / sizeof causes[0] };

/* By offset, so that table, JSON and reason cannot differ in what they name. */
static double part_bytes(const struct memory_rank *r, const struct part *p)
{
    const char *at = (const char *)r + p->offset;
    return (double)*(const int64_t *)(const void *)at;
}

/* What the fullest rank has most more of than the others' mean: the part that
 * moving units would change, which need not be its largest. */
static const struct part *largest_excess(const struct question *q,
                                         double *excess)
{
    const struct part *best = causes;
    int n = q->layout.pp;
    for (int i = 0; i < MEMORY_N_CAUSES; i++) {
        double others = 0;
        for (int r = 0; r < n; r++)
            others +=
                r == q->fullest ? 0 : part_bytes(&q->ranks[r], &causes[i]);
        double mine = part_bytes(&q->ranks[q->fullest], &causes[i]);
        double more = n > 1 ? mine - others / (n - 1) : mine;
        if (i == 0 || more > *excess) {
            *excess = more;
            best = &causes[i];
        }
    }
    return best;
}

/* ---- does it fit ---- */

// by enum memory_verdict, from good to bad
static const char *const verdicts[] = {"fits", "tight", "does not fit"};

static enum memory_verdict cmd_memory_judge(const struct question *q, int rank)
{
    return memory_judge(&q->terms, q->ranks[rank].peak_bytes, q->limit_bytes,
                        q->margin);
}

/* The verdict of a layout is that of its worst rank: one rank out of memory
 * ends the run. */
static enum memory_verdict judge_all(const struct question *q)
{
    enum memory_verdict worst = MEMORY_FITS;
    for (int r = 0; r < q->layout.pp; r++)
        worst = cmd_memory_judge(q, r) > worst ? cmd_memory_judge(q, r) : worst;
    return worst;
}

static double cmd_memory_allowance(const struct question *q,
                                   const struct memory_rank *r)
{
    return (double)memory_allowance_bytes(&q->terms, r->peak_bytes);
}

/* ---- printing ---- */

/* Chunks of the rank with a blank between them; "-" for an empty one. */
static const char *rank_units(struct arena *a, const struct model *m,
                              const struct layout *l, int rank)
{
    struct layout one = *l;
    const char *all = NULL;
    one.pp = one.vpp = one.n_stages = 1;
    for (int s = rank; s < l->n_stages; s += l->pp) {
        one.units = &l->units[s];
        const char *text = model_is_hybrid(m) ? symbols_stage(a, l, m, s)
                           : *l->units[s]     ? layout_string(a, &one)
                                              : "-";
        all = all ? arena_printf(a, "%s %s", all, text) : text;
    }
    return all ? all : "?";
}

/* Parts add up to the total, in GiB as the limit is; bytes are in the JSON. */
static void cmd_memory_print_table(struct cmd *c, const struct question *q)
{
    printf("GiB  params   grads   optim  activs    head  wkspace   total   "
           "limit  margin  in flight  units\n");
    for (int r = 0; r < q->layout.pp; r++) {
        const struct memory_rank *k = &q->ranks[r];
        printf("%-4d", r);
        for (int p = 0; p < MEMORY_N_PARTS; p++)
            printf(" %7.3f", part_bytes(k, &parts[p]) / GIB);
        printf("  %7.3f", (double)k->peak_bytes / GIB);
        if (q->limit_bytes > 0)
            printf(" %7.3f %7.3f", q->limit_bytes / GIB,
                   (q->limit_bytes - (double)k->peak_bytes) / GIB);
        else
            printf(" %7s %7s", "-", "-");
        printf("  %9d  %s\n", k->in_flight,
               rank_units(&c->arena, q->terms.model, &q->layout, r));
    }
}

/* Which operation stands at the peak tells what to change: a warm-up's forward,
 * a steady step, the loss. */
static void print_moment(const struct order_op *op)
{
    printf("its peak is the ");
    if (op->fwd_chunk >= 0)
        printf("forward of micro-batch %d, chunk %d", op->fwd_mb,
               op->fwd_chunk);
    if (op->kind == ORDER_COMBINED)
        printf(" with the ");
    if (op->bwd_chunk >= 0)
        printf("backward of micro-batch %d, chunk %d", op->bwd_mb,
               op->bwd_chunk);
    printf("\n");
}

/* By what the fullest rank has more of than the others: that is what another
 * layout can move. */
static void print_reason(const struct question *q)
{
    const struct memory_rank *k = &q->ranks[q->fullest];
    double excess = 0;
    const struct part *cause = largest_excess(q, &excess);
    printf("rank %d is the fullest: %.3f GiB, of which %s %.3f GiB", q->fullest,
           (double)k->peak_bytes / GIB, cause->text,
           part_bytes(k, cause) / GIB);
    if (q->layout.pp > 1)
        printf(", %.3f GiB more than the other ranks' mean", excess / GIB);
    printf("\n");
    if (q->trainer == TRAINER_MEGATRON)
        print_moment(&k->moment);
}

/* The allowance is no prediction, and stands apart from it. */
static void cmd_memory_print_verdict(const struct question *q)
{
    const struct memory_rank *k = &q->ranks[q->fullest];
    if (q->trainer == TRAINER_MEGATRON)
        printf("allowance for reserved memory, CUDA context and NCCL (stated, "
               "not measured): %.3f GiB; margin %.1f%%\n",
               cmd_memory_allowance(q, k) / GIB, 100 * q->margin);
    if (q->limit_bytes <= 0)
        printf("no limit given (--hbm-gb)\n");
    else
        printf("%s in %.3f GiB\n", verdicts[judge_all(q)],
               q->limit_bytes / GIB);
}

static void cmd_memory_write_rank(struct cmd *c, struct writer list,
                                  const struct question *q, int r)
{
    const struct memory_rank *k = &q->ranks[r];
    struct writer o = writer_object(list, NULL);
    writer_number(o, "rank", r);
    writer_text(o, "units",
                rank_units(&c->arena, q->terms.model, &q->layout, r));
    writer_number(o, "params", (double)k->params);
    for (int p = 0; p < MEMORY_N_PARTS; p++) {
        char key[32];
        snprintf(key, sizeof key, "%s_bytes", parts[p].name);
        writer_number(o, key, part_bytes(k, &parts[p]));
    }
    writer_number(o, "static_bytes", (double)k->static_bytes);
    writer_number(o, "allocated_bytes", (double)k->allocated_bytes);
    writer_number(o, "peak_bytes", (double)k->peak_bytes);
    writer_number(o, "allowance_bytes", cmd_memory_allowance(q, k));
    writer_number(o, "in_flight", k->in_flight);
    if (q->limit_bytes > 0)
        writer_text(o, "verdict", verdicts[cmd_memory_judge(q, r)]);
}

/* One form for an answer and a refusal, so that a reader need not guess. */
static cJSON *answer_json(struct cmd *c, const struct question *q,
                          const char *refusal)
{
    struct writer_doc doc;
    struct writer o = writer_open(&doc);
    writer_bool(o, "supported", !refusal);
    writer_text(o, "reason", refusal ? refusal : "");
    writer_text(o, "platform", platform_name(q->terms.platform));
    writer_number(o, "margin", q->margin);
    struct writer assumed = writer_list(o, "assumed");
    for (int i = 0; i < q->assumed.n; i++)
        writer_text(assumed, NULL, q->assumed.text[i]);
    cmd_write_account(c, o);
    struct writer list = writer_list(o, "stages");
    for (int r = 0; !refusal && r < q->layout.pp; r++)
        cmd_memory_write_rank(c, list, q, r);
    if (!refusal)
        writer_number(o, "fullest_rank", q->fullest);
    return writer_close(&doc);
}

/* ---- one layout ---- */

static enum err cmd_memory_read_trainer(struct cmd *c, struct question *q)
{
    const char *name = c->option[OPT_TRAINER];
    if (!name || trainer_from_name(name, &q->trainer))
        return ERR_OK;
    return err_set(&c->msg, ERR_PARSE,
                   "--trainer: got '%s', want megatron or moe-train", name);
}

/* Megatron's split of a GPT model is a layout, which has a pattern; what it
 * refuses may be a pattern that divides. */
static enum err default_layout(struct cmd *c, const struct cmd_model *of,
                               struct layout *out)
{
    const int pp = of->model.par.pp;
    struct layout l;
    struct err_msg why;
    if (of->as_hybrid &&
        default_split_layout(&c->arena, &of->gpt, pp, &l, &why) == ERR_OK) {
        const char *text = layout_string(&c->arena, &l);
        return text ? cmd_layout(c, &of->model, text, out)
                    : err_set(&c->msg, ERR_NOMEM, "memory: out of memory");
    }
    enum err e = default_split_layout(&c->arena, &of->model, pp, out, &c->msg);
    return e == ERR_MODEL ? err_prefix(&c->msg, ERR_RANGE, "memory") : e;
}

/* The layout of the line, else the launch's own, else Megatron's default split
 * of its flags. */
static enum err read_layout(struct cmd *c, const struct cmd_model *of,
                            struct layout *out)
{
    const char *own = hybrid_stages_text(megatron_args_flags(c->opened));
    if (c->n_args > 1)
        return err_set(&c->msg, ERR_PARSE,
                       "memory: want MODEL and one LAYOUT in quotes");
    if (c->n_args == 1 || own)
        return cmd_layout(c, &of->model, c->n_args ? c->args[0] : own, out);
    return default_layout(c, of, out);
}

/* What Megatron refuses of chunks before it takes any memory. */
static enum err check_chunks(struct cmd *c, const struct model *m,
                             const struct layout *l)
{
    if (l->vpp == 1 || (l->pp > 1 && !(l->pp == 2 && m->no_overlap_p2p)))
        return ERR_OK;
    return err_set(&c->msg, ERR_RANGE,
                   "memory: %d chunks a rank on a pipeline of %d: Megatron "
                   "wants %s",
                   l->vpp, l->pp,
                   l->pp == 1 ? "two ranks or more (--pp)"
                              : "three ranks or more without overlapped "
                                "communication "
                                "(--no-overlap-p2p-communication)");
}

/* Bad input is told before the model's own limits, and these before memory's.
 */
static enum err read_question(struct cmd *c, struct question *q)
{
    struct plan_settings set;
    double hbm_gib = 0;
    enum err e = cmd_model(c, &q->model);
    if (e == ERR_OK)
        e = cmd_require_seq(c, &q->model);
    struct model *m = &q->model.model;
    if (e == ERR_OK)
        cmd_order(c, m);
    if (e == ERR_OK)
        e = read_layout(c, &q->model, &q->layout);
    if (e == ERR_OK)
        e = check_chunks(c, m, &q->layout);
    if (e == ERR_OK)
        e = cmd_settings(c, &set);
    if (e == ERR_OK)
        e = cmd_memory_read_trainer(c, q);
    if (e == ERR_OK)
        e = cmd_double(c, OPT_HBM, 1e-3, 1e6, &hbm_gib);
    if (e != ERR_OK)
        return e;
    // without a batch: as many micro-batches as can be in flight
    if (!q->model.batch_given)
        m->batch.n_microbatches = 2 * (int64_t)m->par.pp;
    q->limit_bytes = hbm_gib * GIB;
    m->memory.mtp_logits_freed = set.core->frees_mtp_logits;
    memory_terms(m, memory_rules_of(q->trainer), set.platform, &q->terms);
    q->margin = set.memory_margin;
    return memory_assumed(
        &c->arena, &q->terms,
        (struct memory_stated){.platform = cmd_given(c, OPT_PLATFORM),
                               .batch = q->model.batch_given},
        &q->assumed, &c->msg);
}

/* One line to standard error, that a number is not taken for more than it is.
 */
static void cmd_memory_tell_assumed(const struct question *q)
{
    if (q->assumed.n)
        fprintf(stderr, "moe-layout: memory: assumed: ");
    for (int i = 0; i < q->assumed.n; i++)
        fprintf(stderr, "%s%s", q->assumed.text[i],
                i + 1 < q->assumed.n ? "; " : "\n");
}

/* All ranks, since the fullest one depends on layout and schedule. */
static enum err cmd_memory_predict(struct cmd *c, struct question *q)
{
    struct memory_rank *ranks =
        arena_alloc(&c->arena, (size_t)q->layout.pp, sizeof *ranks);
    if (!ranks)
        return err_set(&c->msg, ERR_NOMEM, "memory: out of memory");
    for (int r = 0; r < q->layout.pp; r++) {
        memory_rank(&q->terms, &q->layout, r, &ranks[r]);
        if (ranks[r].peak_bytes > ranks[q->fullest].peak_bytes)
            q->fullest = r;
    }
    q->ranks = ranks;
    return ERR_OK;
}

/* Exit 1 only where a limit was given and is exceeded: tight is still a yes. */
static enum err cmd_memory_answer(struct cmd *c, const struct question *q)
{
    enum err e = ERR_OK;
    if (cmd_given(c, OPT_JSON)) {
        e = json_print_and_delete(answer_json(c, q, NULL), true, stdout,
                                  &c->msg);
    } else {
        cmd_memory_print_table(c, q);
        print_reason(q);
        cmd_memory_print_verdict(q);
    }
    if (e == ERR_OK && q->limit_bytes > 0 && judge_all(q) == MEMORY_TOO_MUCH)
        return ERR_MODEL;
    return e;
}

/* No number is better than a wrong one: exit 1, with what to do instead. */
static enum err cmd_memory_refuse(struct cmd *c, const struct question *q,
                                  const char *refusal)
{
    if (!cmd_given(c, OPT_JSON))
        return err_set(&c->msg, ERR_MODEL,
                       "memory: not predicted: %s: measure it with one run",
                       refusal);
    enum err e = json_print_and_delete(answer_json(c, q, refusal), true, stdout,
                                       &c->msg);
    return e == ERR_OK ? ERR_MODEL : e;
}

/* moe-train's memory is its own size tables, of which nothing is refused. */
static enum err one_layout(struct cmd *c)
{
    struct question q = {.fullest = 0};
    enum err e = read_question(c, &q);
    if (e != ERR_OK)
        return e;
    cmd_memory_tell_assumed(&q);
    const char *refusal =
        q.trainer == TRAINER_MOE_TRAIN ? NULL : memory_refusal(&q.model.model);
    if (refusal)
        return cmd_memory_refuse(c, &q, refusal);
    e = cmd_memory_predict(c, &q);
    return e == ERR_OK ? cmd_memory_answer(c, &q) : e;
}

static enum err cmd_memory_run(struct cmd *c)
{
    if (cmd_given(c, OPT_BATCH))
        return cmd_memory_batch(c);
    if (cmd_given(c, OPT_CORPUS))
        return cmd_memory_corpus(c);
    return one_layout(c);
}

static const enum cmd_option takes[] = {
    OPT_PP,       OPT_TP,     OPT_VPP,        OPT_GROUP,     OPT_CP,
    OPT_EP,       OPT_ETP,    OPT_EP_OVERLAP, OPT_RECOMPUTE, OPT_MBS,
    OPT_GBS,      OPT_SEQ,    OPT_WORLD,      OPT_HBM,       OPT_MARGIN,
    OPT_PLATFORM, OPT_CORE,   OPT_OUT,        OPT_BATCH,     OPT_CORPUS,
    OPT_TRAINER,  OPT_HYBRID, OPT_JSON,       OPT_HELP,      N_OPTIONS};

const struct command CMD_MEMORY = {
    .name = "memory",
    .run = cmd_memory_run,
    .synopsis =
        "memory MODEL [LAYOUT] --pp N [--hbm-gb G] | memory --batch FILE",
    .summary = "what each rank holds, and whether it fits",
    .help =
        "Bytes of every rank by what takes them, and why the fullest is the "
        "fullest.\nWith --batch: objects {case, platform, flags, world_size, "
        "padded_vocab_size},\none prediction a line in order. With --corpus: "
        "errors against measured cases,\n-o FILE.csv keeps the table. Exit 1 "
        "when a rank does not fit or memory is not\npredicted.\n"
        "Example: moe-layout memory model.json 'Et*5|t*6|t*5|mL' --pp 4 "
        "--hbm-gb 80",
    .options = takes,
    .takes_model = true,
    .takes_layout = true,
};
