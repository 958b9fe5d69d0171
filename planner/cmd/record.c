/*
 * moe-layout record: the launches of a script, found by running it. The only
 * command that starts a process, and only the one that its user names.
 */
#include "base/text.h"
#include "cmd.h"
#include "record/replay.h"
#include "record/session.h"
#include "record/stand_in.h"

#include <signal.h>
#include <string.h>

static const double RECORD_TIME_LIMIT_S = 60;

// lines about calls that are not printed; the rest is counted
enum { RECORD_MAX_NOTES = 5, RECORD_NOTE_BYTES = 200 };

/* One line about a call, cut where it is long. */
static void record_note_call(struct cmd *c, const struct record_call *call,
                             const char *why)
{
    const char *text = "";
    for (int i = 0;
         i < call->argv.n && text && strlen(text) < RECORD_NOTE_BYTES; i++)
        text = arena_printf(&c->arena, "%s%s%.*s", text, i ? " " : "",
                            RECORD_NOTE_BYTES, call->argv.word[i]);
    fputs("moe-layout: note: record: not run: ", stderr);
    if (!text) // out of memory: the note alone
        text = call->program;
    const char *end = text + strnlen(text, RECORD_NOTE_BYTES);
    for (const char *p = text; p < end; p++)
        fputc((unsigned char)*p < ' ' ? '?' : *p, stderr);
    fprintf(stderr, ": %s\n", why);
}

/* Calls that were kept from running and are no launches here. */
static void record_note_calls(struct cmd *c, const struct record_calls *calls)
{
    int n = 0;
    for (int i = 0; i < calls->n; i++) {
        const struct record_call *call = &calls->call[i];
        const char *why = NULL;
        if (call->elsewhere)
            why = "it would start work that is not recorded";
        else if (!replay_is_launch(call) && call->piped)
            why = "where the script reads what it prints, launches behind it "
                  "may have other words";
        if (why && n++ < RECORD_MAX_NOTES)
            record_note_call(c, call, why);
    }
    if (n > RECORD_MAX_NOTES)
        fprintf(stderr, "moe-layout: note: record: and %d more such calls\n",
                n - RECORD_MAX_NOTES);
}

/* What the script itself said. */
static void record_note_missing(const struct talk *talk)
{
    for (int i = 0; i < talk->n_kept; i++)
        fprintf(stderr,
                "moe-layout: note: record: launches may lack what was not "
                "there: %s\n",
                talk->kept[i]);
    if (talk->n_missing > talk->n_kept)
        fprintf(stderr, "moe-layout: note: record: and %d more such lines\n",
                talk->n_missing - talk->n_kept);
}

static int record_count_launches(const struct record_calls *calls)
{
    int n = 0;
    for (int i = 0; i < calls->n; i++)
        n += replay_is_launch(&calls->call[i]);
    return n;
}

static enum err record_print(struct cmd *c, const struct session_result *r)
{
    bool complete = !r->timed_out && !r->left_running && !r->cut;
    if (cmd_given(c, OPT_JSON))
        return replay_print_json(&r->calls, r->ended, complete, stdout,
                                 &c->msg);
    return replay_print(&c->arena, &r->calls, stdout, &c->msg);
}

/* What was noted is printed even where the recording was cut, and the cut is an
 * error all the same. */
static enum err record_answer(struct cmd *c, const struct session_spec *spec,
                              const struct session_result *r)
{
    int n = record_count_launches(&r->calls);
    record_note_calls(c, &r->calls);
    record_note_missing(&r->talk);
    if (r->left_running)
        fprintf(stderr,
                "moe-layout: note: record: what '%s' left running in "
                "the background was ended\n",
                spec->script);
    enum err e = n || cmd_given(c, OPT_JSON) ? record_print(c, r) : ERR_OK;
    if (e != ERR_OK)
        return e;
    if (r->cut)
        return err_set(&c->msg, ERR_CHILD,
                       "record: %s: not every call could be noted: the disk "
                       "was full, or there were more than %d calls",
                       spec->script, RECORD_MAX_CALLS);
    if (r->timed_out)
        return err_set(&c->msg, ERR_CHILD,
                       "record: %s: ended after %g s with %d launch%s noted; "
                       "--time-limit S gives it more time",
                       spec->script, spec->limit_s, n, n == 1 ? "" : "es");
    if (n == 0)
        return err_set(&c->msg, ERR_PARSE,
                       "record: %s: started no launch of a training: %s; it "
                       "runs in an empty folder, and --in DIR gives it another",
                       spec->script, r->ended);
    fprintf(stderr, "moe-layout: record: %d launch%s; the script: %s\n", n,
            n == 1 ? "" : "es", r->ended);
    return ERR_OK;
}

static void record_warn(const char *script)
{
    fprintf(stderr,
            "moe-layout: warning: record runs '%s': its launchers are "
            "replaced, all its other commands do run\n",
            script);
}

/* A recording within a recording would note the same calls twice. */
static enum err record_spec(struct cmd *c, struct session_spec *spec)
{
    if (c->n_flags == 0)
        return err_set(&c->msg, ERR_PARSE,
                       "record: got no script; usage: moe-layout %s",
                       c->command->synopsis);
    if (stand_in_recording())
        return err_set(&c->msg, ERR_PARSE,
                       "record: %s: called by a script that is being recorded, "
                       "want one at a time",
                       c->flags[0]);
    *spec = (struct session_spec){.script = c->flags[0],
                                  .args = c->flags + 1,
                                  .n_args = c->n_flags - 1,
                                  .limit_s = RECORD_TIME_LIMIT_S,
                                  .folder = c->option[OPT_IN],
                                  .before = record_warn};
    return cmd_double(c, OPT_TIME_LIMIT, 0.1, 1e6, &spec->limit_s);
}

/* A signal that ended the recording ends this program, too, once the scratch
 * folder is gone. */
static enum err cmd_record_run(struct cmd *c)
{
    struct session_spec spec;
    struct session_result r;
    enum err e = record_spec(c, &spec);
    if (e != ERR_OK)
        return e;
    e = session_run(&c->arena, &spec, &r, &c->msg);
    if (e != ERR_OK)
        return err_prefix(&c->msg, e, "record");
    if (r.signal) // nothing is left behind: end as the sender wants it
        raise(r.signal);
    return record_answer(c, &spec, &r);
}

static const enum cmd_option takes[] = {OPT_TIME_LIMIT, OPT_IN, OPT_JSON,
                                        OPT_HELP, N_OPTIONS};

const struct command CMD_RECORD = {
    .name = "record",
    .run = cmd_record_run,
    .synopsis = "record [options] SCRIPT [ARGS]",
    .summary = "runs a script with stand-ins for its launchers, and notes the "
               "launches",
    .help =
        "RUNS a shell script, on your request, and prints what it would "
        "launch: a script of the\nexact words, for any command to read. "
        "torchrun, deepspeed, accelerate, python FILE and the\nlike are noted "
        "and not started; what stands behind srun, mpirun and sbatch is run "
        "here, once;\nssh, docker and the like are not started. ALL OTHER "
        "COMMANDS OF THE SCRIPT DO RUN, also\npython -c and programs by their "
        "full path. It runs in an empty folder, which is removed;\nits output "
        "goes to standard error. All words behind SCRIPT are its own.\n"
        "Exit 2 when nothing was launched, 3 when the time limit ended it: "
        "what was noted is printed.\nExample: moe-layout record train.sh 7b | "
        "moe-layout read /dev/stdin",
    .options = takes,
    .takes_script = true,
};
