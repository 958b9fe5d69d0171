/*
 * moe-bench reproduce: the article's figures beside what the simulator gives
 * from the article's own unit costs, and beside our runs where there are some.
 * Its figures stand in the manifests of its experiments, under `published`.
 */
#include "base/writer.h"
#include "cmd.h"
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static const char *const usual[] = {"experiments/stage-a.json",
                                    "experiments/stage-b.json",
                                    "experiments/stage-c.json"};

/* ---- printing ---- */

/* Integers without digits behind the point; what is absent as a dash. */
static void print_value(const struct study_value *v, int width)
{
    if (v->text)
        printf(" %*s", width, v->text);
    else
        cmd_print_number(
            width, v->number == floor(v->number) && fabs(v->number) > 1 ? 0 : 2,
            v->number);
}

/* Which fits the rounding of the published figures leaves open. */
static void print_tries(const struct study_bench *b)
{
    printf("  micro-batches, with the L and the overhead that suit them best:"
           "\n");
    for (int i = 0; i < b->n_tries; i++) {
        const struct study_try *t = &b->tries[i];
        printf("    M %-4d L %.2f  overhead %6.1f t  %.3fx %.3fx, off by at "
               "most %.1f%%%s\n",
               t->costs.n_mb, t->costs.l, t->costs.overhead, t->speedup[0],
               t->speedup[1], 100 * t->miss,
               t->costs.n_mb == b->costs.n_mb ? "  (taken)" : "");
    }
}

/* By kind: what went in, what was chosen, what came out. */
static void print_study(const struct study *s)
{
    printf("study %s (published: %s)\n", s->name,
           s->row[0].source[0] ? s->row[0].source : "-");
    for (int kind = STUDY_INPUT; kind <= STUDY_FOLLOWS; kind++) {
        printf("\n  %-31s %24s %24s %24s\n",
               study_kind_name((enum study_kind)kind), "published", "computed",
               "measured");
        for (int i = 0; i < s->n; i++) {
            const struct study_row *r = &s->row[i];
            if (r->kind != (enum study_kind)kind)
                continue;
            printf("  %-31s", r->id);
            print_value(&r->published, 24);
            print_value(&r->computed, 24);
            print_value(&r->measured, 24);
            printf("\n      %s%s%s\n", r->what, *r->note ? "; " : "", r->note);
        }
    }
    print_tries(&s->bench);
    puts("");
}

/* What is computed with fitted numbers must not be read as a prediction, so
 * that it is said below every table. */
static void print_all(const struct studies *all)
{
    for (int i = 0; i < all->n; i++)
        print_study(&all->study[i]);
    puts("Published: the article's figures, nobody's here. Computed: the "
         "simulator with the article's own\nunit costs; inputs are taken, "
         "fitted numbers chosen to bring the two speedups of the machine\n"
         "near, the rest follows. Three fitted numbers for two speedups: this "
         "shows that the published\nfigures are consistent, and predicts "
         "nothing. Measured: runs on real GPUs under results/, if any.");
}

/* ---- JSON ---- */

static void write_value(struct writer to, const char *key,
                        const struct study_value *v)
{
    if (v->text)
        writer_text(to, key, v->text);
    else
        writer_number(to, key, v->number);
}

/* The tries as well: a reader sees how far the fitted numbers were free. */
static void write_study(struct writer to, const struct study *s)
{
    writer_text(to, "name", s->name);
    struct writer rows = writer_list(to, "rows");
    for (int i = 0; i < s->n; i++) {
        const struct study_row *r = &s->row[i];
        struct writer o = writer_object(rows, NULL);
        writer_text(o, "id", r->id);
        writer_text(o, "what", r->what);
        write_value(o, "published", &r->published);
        write_value(o, "computed", &r->computed);
        write_value(o, "measured", &r->measured);
        writer_text(o, "source", r->source);
        writer_text(o, "kind", study_kind_name(r->kind));
        writer_text(o, "note", r->note);
    }
    struct writer tries = writer_list(to, "tries");
    for (int i = 0; i < s->bench.n_tries; i++) {
        const struct study_try *t = &s->bench.tries[i];
        struct writer o = writer_object(tries, NULL);
        writer_number(o, "microbatches", t->costs.n_mb);
        writer_number(o, "unit_cost_L", t->costs.l);
        writer_number(o, "overhead", t->costs.overhead);
        writer_number(o, "speedup_vs_default", t->speedup[0]);
        writer_number(o, "speedup_vs_count_based", t->speedup[1]);
    }
}

static enum err print_json(const struct studies *all, struct err_msg *msg)
{
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    writer_text(top, "format", "moe-bench/studies/1");
    struct writer list = writer_list(top, "studies");
    for (int i = 0; i < all->n; i++)
        write_study(writer_object(list, NULL), &all->study[i]);
    return writer_print(&doc, true, stdout, msg);
}

/* ---- the command ---- */

/* The manifests of the two machines' studies where none is named. */
static enum err read_manifests(struct cmd *c, struct study_request *r)
{
    const bool given = c->line.n_operands > 0;
    const int n =
        given ? c->line.n_operands : (int)(sizeof usual / sizeof usual[0]);
    struct manifest *m = arena_alloc(&c->arena, (size_t)n, sizeof *m);
    if (!m)
        return err_set(&c->msg, ERR_NOMEM, "reproduce: out of memory");
    for (int i = 0; i < n; i++) {
        const char *path = given ? c->line.operands[i] : usual[i];
        const enum err e = manifest_read(&c->arena, path, &m[i], &c->msg);
        // the usual ones are named by nobody: an installed program, called
        // elsewhere, has to say where they would be
        if (e != ERR_OK && !given && access(path, R_OK) != 0)
            return err_set(&c->msg, e,
                           "%s is not here: name MANIFESTs, or run it in the "
                           "folder that holds experiments/",
                           path);
        if (e != ERR_OK)
            return e;
    }
    const char *results = cmd_text(c, OPT_OUT);
    *r = (struct study_request){m, n, results ? results : "results"};
    return ERR_OK;
}

/* Files before the table: with --to nothing is lost where the terminal goes
 * away. */
static enum err bench_reproduce_run(struct cmd *c)
{
    struct study_request r;
    struct studies all;
    const char *to = cmd_text(c, OPT_TO);
    enum err e = read_manifests(c, &r);
    if (e == ERR_OK)
        e = studies_make(&c->arena, &r, &all, &c->msg);
    if (e == ERR_OK && to)
        e = studies_write(&all, to, &c->msg);
    if (e != ERR_OK)
        return e;
    if (cmd_given(c, OPT_JSON))
        return print_json(&all, &c->msg);
    print_all(&all);
    return ERR_OK;
}

static const int takes[] = {OPT_OUT, OPT_TO, OPT_JSON, OPT_HELP, N_OPTIONS};

const struct command CMD_REPRODUCE = {
    .name = "reproduce",
    .run = bench_reproduce_run,
    .synopsis = "reproduce [MANIFEST...] [--out DIR] [--to DIR] [--json]",
    .summary = "the article's figures beside the simulator's, without a GPU",
    .help =
        "Of each study that the manifests name (published.study; without "
        "MANIFEST\nexperiments/stage-a.json, stage-b.json and stage-c.json): "
        "figures that the article\nstates, those that the simulator gives from "
        "the article's own unit costs, and those\nof our runs on real GPUs, "
        "where --out (here: results) has their folders. What is taken,\nwhat "
        "is fitted to the two speedups (L within its range, one overhead, the "
        "number of\nmicro-batches) and what follows is told apart: "
        "consistency, not prediction.\n--to writes DIR/studies.csv. Takes a "
        "second, no GPU and no MPI.\n",
    .closing = "example: moe-bench reproduce --json\n",
    .options = takes,
    .max_operands = OPTIONS_ANY};
