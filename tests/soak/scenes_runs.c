/*
 * Faulty trainers, kills of the harness and of its guard, and small limits.
 * After each, the same command comes to the table of an undisturbed run.
 */
#include "soak.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RUN "moe-bench run -q fake.json --out r"

struct faulty {
    const char *script; // in place of the trainer, for the default layout
    bool valid;         // its log is that of the run all the same
};

/* REAL is the trainer that prints a right log. */
static const struct faulty faults[] = {
    {"exit 0", false},
    {"exit 7", false},
    {"kill -SEGV $$", false},
    {"kill -KILL $$", false},
    {"sleep 1000", false},
    {"trap '' TERM; sleep 1000 & sleep 1000", false},
    {"setsid sleep 1000 & exit 1", false},
    {"setsid sleep 1000 & REAL", true},
    {"exec yes 'a line without end'", false},
    {"exec tr '\\0' x </dev/zero", false},
    {"exec yes iteration", false},
    {"exec yes ''", false},
    {"exec cat /dev/zero", false},
    {"exec head -c 3000000 /dev/urandom", false},
    {"REAL | sed 's/iteration (ms): [0-9.]*/iteration (ms): 0.0/'", false},
    {"REAL | sed 's/iteration (ms): [0-9.]*/iteration (ms): nan/'", false},
    {"REAL | sed 's/iteration (ms): [0-9.]*/iteration (ms): -5/'", false},
    {"REAL | sed 's/batch size:     8/batch size:    99/'", false},
    {"REAL | sed 's/iteration  *5/iteration 77/'", false},
    {"REAL | head -n 4", false},
    {"REAL; REAL", true},
    {"REAL | tr '\\n' '\\0'", true}, // lines may stand on one
    {"head -c 1000000 /dev/urandom; REAL", true},
    {"REAL; echo CUDA out of memory; exit 1", false},
    {"exec >&- 2>&-; sleep 0.2; exit 0", false},
};

static void set_up(struct soak *s, const char *fault, const char *run_s)
{
    const char *real = "sh ../base/fake_trainer.sh \"$@\"";
    const char *text = soak_text(s, "../base/fake.json");
    const char *at = strstr(text, "\"run_s\": 60");
    const char *script = "";
    if (!at) {
        soak_fail(s, "the manifest has no run_s");
        return;
    }
    text = arena_printf(s->a, "%.*s\"run_s\": %s%s", (int)(at - text), text,
                        run_s, at + strlen("\"run_s\": 60"));
    soak_write(s, "fake.json", text, strlen(text));
    for (const char *p = fault; *p; p++)
        if (strncmp(p, "REAL", 4) == 0) {
            script = arena_printf(s->a, "%s%s", script, real);
            p += 3;
        } else {
            script = arena_printf(s->a, "%s%c", script, *p);
        }
    text = arena_printf(
        s->a, "case \"$*\" in *'t*3mL'*) %s\nexit ;; esac\n%s\n", script, real);
    soak_write(s, "fake_trainer.sh", text, strlen(text));
}

/* The rows of the default layout in runs.csv that are valid. */
static int n_valid_defaults(struct soak *s)
{
    int n = 0;
    const char *text = soak_text(s, "r/runs.csv");
    for (const char *p = text; *p;) {
        const char *end = strchr(p, '\n');
        size_t len = end ? (size_t)(end - p) : strlen(p);
        const char *line = arena_strndup(s->a, p, len);
        n += strstr(line, ",default,") && strstr(line, ",valid,");
        p += len + (end != NULL);
    }
    return n;
}

static void faulty_trainer(struct soak *s)
{
    const struct faulty *f = &faults[soak_pick(s, COUNT(faults))];
    set_up(s, f->script, "1.5");
    int code = soak_command(s, &(struct soak_run){.line = RUN, .limit_s = 30});
    int n = n_valid_defaults(s);
    // a right log may be late on a busy machine
    if (!f->valid && (code == 0 || n > 0))
        soak_fail(s, "the trainer '%s' gives a valid run", f->script);
    if (code > 1)
        soak_fail(s, "the trainer '%s' ends the experiment: %s", f->script,
                  soak_text(s, "err"));
}

/* The table of the start, whose folder has the same name. */
static void check_table(struct soak *s)
{
    const char *want = soak_text(s, arena_printf(s->a, "%s/table", s->base));
    const char *got = soak_text(s, "out");
    size_t n = strcspn(want, "\n");
    for (const char *p = want; *p; p += n + (p[n] == '\n')) {
        n = strcspn(p, "\n");
        const char *line = arena_strndup(s->a, p, n);
        const bool names_folder =
            strncmp(line, "Files", 5) == 0 || strncmp(line, "Report", 6) == 0;
        if (!names_folder && !strstr(got, line)) {
            soak_fail(s, "after a kill the table lacks '%s'", line);
            return;
        }
    }
}

/* Some tenths of a second into a run that hangs, or is on its way. */
static void killed(struct soak *s)
{
    static const int signals[] = {SIGKILL, SIGKILL, SIGTERM,
                                  SIGINT,  SIGHUP,  SIGSTOP};
    struct soak_run run = {.line = RUN, .limit_s = 30, .hurry = true};
    run.guard = soak_pick(s, 3) == 0;
    run.signal = signals[soak_pick(s, run.guard ? 6 : 5)];
    run.kill_after_s = 0.02 + 0.01 * (double)soak_pick(s, 100);
    set_up(s, soak_pick(s, 2) ? "REAL" : "sleep 1; REAL", "20");
    soak_command(s, &run);
    // at once: what is left of the first must not be in the way
    run = (struct soak_run){.line = RUN, .limit_s = 30};
    if (soak_command(s, &run) != 0)
        soak_fail(s, "after a kill the same command fails: %s",
                  soak_text(s, "err"));
    check_table(s);
}

static void small_limits(struct soak *s)
{
    struct soak_run run = {.limit_s = 30};
    static const char *const lines[] = {
        RUN, "moe-bench status fake.json --out r",
        "moe-bench publish fake.json --out ../base/r --to new",
        "moe-bench validate ../base/set --baseline b.csv --update-baseline "
        "--reason soak",
        "moe-bench run fake.json --dry-run"};
    set_up(s, "REAL", "20");
    run.line = soak_choose(s, lines, COUNT(lines));
    if (soak_pick(s, 2))
        run.stack_kb = 64 + (long)soak_pick(s, 1200);
    else
        run.file_kb = 1 + (long)soak_pick(s, 40);
    soak_command(s, &run);
    run = (struct soak_run){.line = RUN, .limit_s = 30};
    if (soak_command(s, &run) != 0)
        soak_fail(s, "after a limit the same command fails: %s",
                  soak_text(s, "err"));
    check_table(s);
}

const struct soak_scene soak_of_runs[] = {{"faulty-trainer", faulty_trainer, 1},
                                          {"killed", killed, 1},
                                          {"small-limits", small_limits, 1},
                                          {NULL, NULL, 0}};
