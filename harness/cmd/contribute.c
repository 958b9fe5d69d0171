/*
 * moe-bench contribute: step times from the user's own hardware become a folder
 * that can be sent. Everything that would be given away, and everything that is
 * taken out, is shown first; without consent nothing is written.
 *
 * How it works: the source becomes a struct contribution, which is asked the
 * checks, shown, and packed. Nothing of it is on the disk before the last step,
 * so that an error or an interrupt on the way leaves nothing to remove.
 */
#include "cmd.h"
#include "contribute/checks.h"
#include "contribute/missing.h"
#include "contribute/pack.h"
#include "contribute/sources.h"
#include "pattern/parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// texts shown of each kind; all of them with --dry-run
enum { CONTRIBUTE_SHOWN = 8, CONTRIBUTE_SHOWN_DRY = 1000 };

/* ---- showing ---- */

/* With the name of each run as the user gave it: here, and nowhere else. */
static void show_runs(const struct contribution *c)
{
    printf("%d run%s on %d x %s, judged as Megatron core %s\n", c->n,
           c->n == 1 ? "" : "s", c->n_gpus, c->gpu, c->core->name);
    for (int i = 0; i < c->n; i++) {
        const struct contribution_run *r = &c->run[i];
        printf("  %s  %-28s %10.3f ms  %s%s  %s\n", r->id, r->layout,
               r->step_s * 1e3, r->stat ? r->stat : "no step time",
               r->profile ? ", with timers on" : "", r->name);
        if (r->why_no_log && strcmp(r->why_no_log, "not asked for") != 0)
            printf("          its log stays here: without what is removed %s\n",
                   r->why_no_log);
    }
    for (int i = 0; i < c->n_lost; i++)
        printf("  %s: no step time (%s)\n", c->lost[i].what, c->lost[i].why);
}

/* All of them: a reader sees what was asked, too. */
static void show_checks(const struct checks *k)
{
    puts("\nchecks");
    for (int i = 0; i < N_CHECKS; i++)
        printf("  %-11s %-6s %s\n", check_name((enum check_id)i),
               check_answer_name(k->answer[i]), k->text[i]);
}

static void show_texts(const char *title, const char *const *text, int n)
{
    if (n > 0)
        printf("\n%s\n", title);
    for (int i = 0; i < n; i++)
        printf("  %s\n", text[i]);
}

/* Before the question of consent: what is asked is to be seen. */
static void show_removed(const struct contribution *c, bool all)
{
    const struct removed *r = &c->removed;
    puts("\nremoved from logs, and left behind in launch files");
    removed_print(r, all ? CONTRIBUTE_SHOWN_DRY : CONTRIBUTE_SHOWN, stdout);
    if (r->n_lines > 0)
        printf("  of %zu log lines %zu are kept\n", r->n_lines, r->n_kept);
    puts("  scripts, configurations and environments are not copied: of them "
         "only\n  Megatron flags with numbers and known words are kept "
         "(model.json)");
}

/* ---- consent ---- */

/* The whole word: a return alone agrees to nothing. */
static bool asks_yes(void)
{
    char line[16] = "";
    printf("\n%s\nType yes to agree: ", CONTRIBUTED_CONSENT);
    fflush(stdout);
    return fgets(line, sizeof line, stdin) && strcmp(line, "yes\n") == 0;
}

/* A program that calls us has to say it in words. Nobody agrees to what could
 * not be shown. */
static enum err consent(struct cmd *c)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return err_set(&c->msg, ERR_IO,
                       "standard output: %s: what would be given away was not "
                       "shown, and nothing is written",
                       strerror(errno));
    if (cmd_given(c, OPT_CONSENT))
        return ERR_OK;
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        return asks_yes() ? ERR_OK
                          : err_set(&c->msg, ERR_MODEL,
                                    "no consent, nothing is written");
    return err_set(&c->msg, ERR_PARSE,
                   "nothing is written without consent; add --consent if you "
                   "agree: '%s'",
                   CONTRIBUTED_CONSENT);
}

/* ---- the command ---- */

/* The first check that answers no; all of them stand above. */
static enum err refuse(struct cmd *c, const struct checks *k)
{
    int first = 0;
    while (k->answer[first] != CHECK_NO)
        first++;
    return err_set(&c->msg, ERR_MODEL, "nothing is written, %s: %s",
                   check_name((enum check_id)first), k->text[first]);
}

/* Lists of the line's words. */
static enum err read_request(struct cmd *c, struct sources_request *q,
                             int64_t *series)
{
    int64_t launch = 0;
    const char **steps =
        arena_alloc(&c->arena, (size_t)c->line.n_uses + 1, sizeof *steps);
    if (!steps)
        return err_set(&c->msg, ERR_NOMEM, "contribute: out of memory");
    *q = (struct sources_request){.operands = c->line.operands,
                                  .n_operands = c->line.n_operands,
                                  .steps = steps,
                                  .n_steps =
                                      options_each(&c->line, OPT_STEP, steps),
                                  .table = cmd_text(c, OPT_STEPS),
                                  .config = cmd_text(c, OPT_CONFIG),
                                  .flags = c->line.rest,
                                  .n_flags = c->line.n_rest,
                                  .no_logs = cmd_given(c, OPT_NO_LOGS)};
    enum err e =
        options_int(&c->line, OPT_LAUNCH, (struct options_whole){1, 1 << 12},
                    &launch, &c->msg);
    q->launch = (int)launch;
    return e == ERR_OK ? options_int(&c->line, OPT_SERIES,
                                     (struct options_whole){1, 1 << 20}, series,
                                     &c->msg)
                       : e;
}

/* Of a machine; a run on fewer has all of them. */
static enum err read_machine(struct cmd *c, struct contribution *out)
{
    int64_t n = 0;
    enum err e = options_int(&c->line, OPT_PER_NODE,
                             (struct options_whole){1, 1 << 10}, &n, &c->msg);
    if (n > 0)
        out->gpus_per_node = (int)n;
    return e;
}

/* Reads the source; a card and a version that are none end it before. */
static enum err gather(struct cmd *c, struct contribution *out)
{
    struct sources_request q;
    const struct contribution_begin b = {.gpu = cmd_text(c, OPT_GPU),
                                         .core = cmd_text(c, OPT_CORE),
                                         .example = cmd_given(c, OPT_EXAMPLE)};
    int64_t series = 0;
    enum err e = read_request(c, &q, &series);
    if (e == ERR_OK)
        e = contribution_init(&c->arena, &b, out, &c->msg);
    if (e == ERR_OK)
        e = sources_read(out, &q, &c->msg);
    out->n_series = series;
    if (e == ERR_OK)
        e = read_machine(c, out);
    if (e == ERR_OK && out->n == 0)
        e = err_set(&c->msg, ERR_MODEL,
                    "no run has a step time, nothing is written");
    return e;
}

/* Shown in full also where it will be refused: the reason is among the checks.
 */
static enum err bench_contribute_run(struct cmd *c)
{
    struct contribution of;
    struct checks checks;
    struct missing missing;
    const char *to = cmd_text(c, OPT_TO), *dir = NULL;
    const bool dry = cmd_given(c, OPT_DRY_RUN);
    const struct pack pack = {&of, &checks, &missing,
                              to ? to : CONTRIBUTED_ROOT};
    const char *const others[] = {pack.root, to ? CONTRIBUTED_ROOT : NULL,
                                  NULL};
    enum err e = gather(c, &of);
    if (e == ERR_OK)
        e = checks_ask(&of, others, &checks, &c->msg);
    if (e != ERR_OK)
        return e;
    missing_look(&of, &missing);
    show_runs(&of);
    show_checks(&checks);
    show_texts("missing", missing.lacks, missing.n_lacks);
    show_texts("can be computed", missing.gives, missing.n_gives);
    show_removed(&of, dry);
    printf("\nfolder: %s/%s\n", pack.root, contribution_name(&of));
    if (!checks_pass(&checks))
        return refuse(c, &checks);
    if (dry)
        return ERR_OK;
    e = consent(c);
    if (e == ERR_OK)
        e = pack_write(&pack, &dir, &c->msg);
    if (e == ERR_OK)
        printf("written: %s\nlook at it once more, then: moe-bench validate "
               "%s\n",
               dir, dir);
    return e;
}

/* PATTERN=LOG, of a pattern that begins with an MLP ('-'). */
static bool contribute_is_run(const char *word)
{
    const size_t n = strspn(word, PATTERN_ALL_SYMBOLS "|/");
    return n > 1 && word[n] == '=';
}

static const int takes[] = {OPT_CONFIG,  OPT_LAUNCH,  OPT_GPU,     OPT_PER_NODE,
                            OPT_CORE,    OPT_STEP,    OPT_STEPS,   OPT_SERIES,
                            OPT_NO_LOGS, OPT_DRY_RUN, OPT_CONSENT, OPT_EXAMPLE,
                            OPT_TO,      OPT_HELP,    N_OPTIONS};

const struct command CMD_CONTRIBUTE = {
    .name = "contribute",
    .run = bench_contribute_run,
    .synopsis = "contribute LOG...|LAYOUT=LOG...|FOLDER [option...] "
                "[-- FLAGS]",
    .summary = "step times from your hardware, without names and secrets",
    .help =
        "Makes results/contributed/<gpu>-<n>x-<date>/ of step times that you "
        "measured:\n"
        "from logs (of a run each; the model is in the log, or in --config), "
        "from the\n"
        "folder of an experiment (results/NAME), or typed in (--step or "
        "--steps, "
        "two\n"
        "layouts or more, with --config). FLAGS are Megatron's and win over "
        "--config.\n"
        "\n"
        "What is given is built from numbers and the words of training logs: "
        "hosts,\n"
        "users, paths, addresses and keys are not copied, nor are scripts "
        "and\n"
        "environments. What was removed, what is missing and what was doubted "
        "is\n"
        "shown before anything is written; --dry-run stops there.\n",
    .closing = "Exit status: 0 written (or shown), 1 a check answers no, 2 bad "
               "input or no\n"
               "consent, 3 environment.\n"
               "example: moe-bench contribute a.log b.log --gpu H100 --series "
               "2 --dry-run\n",
    .options = takes,
    .max_operands = OPTIONS_ANY,
    .keeps_rest = true,
    .is_operand = contribute_is_run};
