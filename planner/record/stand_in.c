/*
 * How it works: a table says what each kind of launcher does. All begin with
 * the stand-ins in front of PATH again, which a script may have changed. A
 * launcher that starts another program becomes that program; where it is a
 * launcher, too, that one is called as a stand-in, so that a call is noted
 * once, by the last of them, with the words of those in front.
 */
#include "stand_in.h"

#include "base/text.h"
#include "inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

enum { STAND_IN_NOT_FOUND = 127 }; // as shells say it

struct stand_in {
    struct arena a;
    struct err_msg msg;
    struct record_words words;
    enum program_kind kind;
    const char *record, *bin; // of the session
};

bool stand_in_recording(void)
{
    const char *record = getenv(STAND_IN_RECORD);
    return record && *record == '/';
}

bool stand_in_is_called(const char *argv0)
{
    return stand_in_recording() && program_kind(argv0) != PROGRAM_NONE;
}

static int stand_in_fail(const struct stand_in *s, const char *what, int status)
{
    fprintf(stderr, "moe-layout: record: %s: %s\n",
            program_base(s->words.word[0]), what);
    return status;
}

/* ---- noting a call ---- */

/* Those from which launchers and Megatron take the number of ranks. */
static const char *const noted[] = {"WORLD_SIZE",
                                    "NNODES",
                                    "NPROC_PER_NODE",
                                    "GPUS_PER_NODE",
                                    "PET_NNODES",
                                    "PET_NPROC_PER_NODE",
                                    "CUDA_VISIBLE_DEVICES",
                                    "HIP_VISIBLE_DEVICES",
                                    "SLURM_NNODES",
                                    "SLURM_JOB_NUM_NODES",
                                    "SLURM_NTASKS",
                                    "SLURM_NPROCS",
                                    "SLURM_NTASKS_PER_NODE",
                                    "SLURM_TASKS_PER_NODE",
                                    "SLURM_GPUS",
                                    "SLURM_GPUS_PER_NODE",
                                    "SLURM_GPUS_ON_NODE",
                                    "SLURM_GPUS_PER_TASK",
                                    "OMPI_COMM_WORLD_SIZE",
                                    "PMI_SIZE"};
enum { STAND_IN_N_NOTED = sizeof noted / sizeof noted[0] };

/* One write at the end of the file, so that calls side by side stay whole. */
static bool stand_in_append(struct stand_in *s, const char *line)
{
    int fd = open(s->record, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (fd < 0)
        return false;
    size_t len = strlen(line);
    bool ok = fstat(fd, &st) == 0 && len < RECORD_MAX_LINE_BYTES &&
              st.st_size + (off_t)len <= RECORD_MAX_BYTES &&
              write(fd, line, len) == (ssize_t)len;
    if (!ok) // a full disk takes this still
        fchmod(fd, STAND_IN_MODE_CUT);
    close(fd);
    return ok;
}

/* Does what it would print go to the script and not to its user? The session
 * gives scripts one place for both outputs. */
static bool stand_in_is_piped(void)
{
    struct stat out, talk;
    if (fstat(STDOUT_FILENO, &out) != 0)
        return false;
    bool with_talk = fstat(STDERR_FILENO, &talk) == 0 &&
                     out.st_dev == talk.st_dev && out.st_ino == talk.st_ino;
    return !with_talk && (S_ISFIFO(out.st_mode) || S_ISREG(out.st_mode));
}

/* Words that the variable holds, none where it is not set or damaged. */
static struct record_words stand_in_words_of(struct stand_in *s,
                                             const char *name)
{
    struct record_words words = {NULL, 0};
    const char *text = getenv(name);
    if (text && *text)
        record_words_read(&s->a, text, name, &words, &s->msg);
    return words;
}

/* The name alone of what `which` found among the stand-ins. */
static const char *stand_in_plain(const struct stand_in *s, const char *word)
{
    bool ours = text_starts(word, s->bin) && word[strlen(s->bin)] == '/';
    return ours ? program_base(word) : word;
}

/* Notes the words from `from` on. */
static int stand_in_note(struct stand_in *s, int from, bool elsewhere)
{
    const char **word =
        arena_alloc(&s->a, (size_t)s->words.n + 1, sizeof *word);
    struct record_setting env[STAND_IN_N_NOTED];
    struct record_call call = {.env = env, .elsewhere = elsewhere};
    if (!word)
        return stand_in_fail(s, "out of memory", EXIT_ENVIRONMENT);
    for (int i = from; i < s->words.n; i++)
        word[i - from] = stand_in_plain(s, s->words.word[i]);
    call.program = program_base(word[0]);
    call.argv = (struct record_words){word, s->words.n - from};
    for (int i = 0; i < STAND_IN_N_NOTED; i++)
        if (getenv(noted[i]))
            env[call.n_env++] =
                (struct record_setting){noted[i], getenv(noted[i])};
    call.outer = stand_in_words_of(s, STAND_IN_OUTER);
    call.job = stand_in_words_of(s, STAND_IN_JOB);
    call.piped = stand_in_is_piped();
    const char *line =
        call.argv.n <= RECORD_MAX_WORDS ? record_line(&s->a, &call) : NULL;
    if (line && stand_in_append(s, line))
        return 0;
    return stand_in_fail(s,
                         "this call could not be noted: too long, or the "
                         "disk or the record is full",
                         EXIT_ENVIRONMENT);
}

/* ---- starting a program ---- */

/* Is the path this very program (a stand-in of any session)? */
static bool stand_in_is_ours(const char *path)
{
    struct stat ours, other;
    return stat("/proc/self/exe", &ours) == 0 && stat(path, &other) == 0 &&
           ours.st_dev == other.st_dev && ours.st_ino == other.st_ino;
}

/* The first program of that name in PATH that is none of ours; "" when there is
 * none, NULL when out of memory. */
static const char *stand_in_real(struct stand_in *s, const char *name)
{
    const char *p = getenv("PATH");
    while (p && *p) {
        int len = (int)strcspn(p, ":");
        const char *path = arena_printf(&s->a, "%.*s/%s", len, p, name);
        if (!path)
            return NULL;
        if (len > 0 && access(path, X_OK) == 0 && !stand_in_is_ours(path))
            return path;
        p += len + (p[len] == ':');
    }
    return "";
}

/* Becomes the program at `path` (looked up in PATH where it has no folder) with
 * the words from `from` on. */
static int stand_in_become(struct stand_in *s, const char *path, int from)
{
    char **argv =
        arena_alloc(&s->a, (size_t)(s->words.n - from) + 1, sizeof *argv);
    for (int i = from; argv && i < s->words.n; i++)
        if (!(argv[i - from] = arena_strdup(&s->a, s->words.word[i])))
            argv = NULL;
    if (!argv)
        return stand_in_fail(s, "out of memory", EXIT_ENVIRONMENT);
    fflush(NULL);
    execvp(path, argv);
    return stand_in_fail(
        s, arena_printf(&s->a, "%s: %s", path, strerror(errno)),
        errno == ENOENT ? STAND_IN_NOT_FOUND : STAND_IN_NOT_FOUND - 1);
}

static int stand_in_become_real(struct stand_in *s, const char *name)
{
    const char *path = stand_in_real(s, name);
    if (path && *path)
        return stand_in_become(s, path, 0);
    return stand_in_fail(s, path ? "not found" : "out of memory",
                         STAND_IN_NOT_FOUND);
}

/* A launcher by its full path is the stand-in of its name, too. */
static int stand_in_become_inner(struct stand_in *s, int inner)
{
    const char *path = s->words.word[inner];
    if (program_kind(path) != PROGRAM_NONE)
        path = arena_printf(&s->a, "%s/%s", s->bin, program_base(path));
    if (!path)
        return stand_in_fail(s, "out of memory", EXIT_ENVIRONMENT);
    return stand_in_become(s, path, inner);
}

/* Adds the words up to the inner program to those in front of it. */
static bool stand_in_hand_on(struct stand_in *s, int inner)
{
    struct record_words outer = stand_in_words_of(s, STAND_IN_OUTER);
    const char **word =
        arena_alloc(&s->a, (size_t)(outer.n + inner), sizeof *word);
    if (!word)
        return false;
    for (int i = 0; i < outer.n; i++)
        word[i] = outer.word[i];
    for (int i = 0; i < inner; i++)
        word[outer.n + i] =
            i ? s->words.word[i] : program_base(s->words.word[0]);
    const char *text =
        record_words_text(&s->a, (struct record_words){word, outer.n + inner});
    return text && setenv(STAND_IN_OUTER, text, 1) == 0;
}

/* ---- kinds ---- */

static int stand_in_launch(struct stand_in *s)
{
    return stand_in_note(s, 0, false);
}

/* Modules of Python's own that scripts compute and tidy up with. */
static bool stand_in_is_tool(const char *module)
{
    static const char *const tools[] = {
        "pip",       "venv",   "json.tool", "json",    "site",
        "sysconfig", "base64", "ensurepip", "zipfile", "tarfile"};
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        if (strcmp(module, tools[i]) == 0)
            return true;
    return false;
}

/* Does the line run code of its own or of standard input, or print what Python
 * is? Those are parts of the script; a file or a module is a launch. */
static bool stand_in_computes(struct record_words words)
{
    for (int i = 1; i < words.n; i++) {
        const char *w = words.word[i];
        if (w[0] != '-' || w[1] == '\0')
            return w[0] == '-';
        if (w[1] == 'm')
            return stand_in_is_tool(
                w[2] ? w + 2 : (i + 1 < words.n ? words.word[i + 1] : ""));
        if (w[1] != '-' && strchr(w, 'c'))
            return true; // also the end of several letters, -uc
        if (strchr("Vh", w[1]) || strcmp(w, "--version") == 0 ||
            strcmp(w, "--help") == 0)
            return true;
        i += strchr("XW", w[1]) && !w[2];
    }
    return true; // the program comes from standard input
}

/* Scripts say python where a machine has python3 alone. */
static int stand_in_python(struct stand_in *s)
{
    if (!stand_in_computes(s->words))
        return stand_in_note(s, 0, false);
    const char *name = program_base(s->words.word[0]);
    const char *path = stand_in_real(s, name);
    if (path && !*path)
        name = "python3";
    return stand_in_become_real(s, name);
}

/* Ranks are not started: one process with the environment of rank 0 goes on to
 * the program. */
static int stand_in_srun(struct stand_in *s)
{
    struct inner_job job = {0};
    int inner = inner_find(s->kind, s->words);
    if (inner == s->words.n)
        return stand_in_fail(s, "no program behind its options", 0);
    inner_job_read(s->words, &job);
    inner_set_exports(&job);
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_LOCALID", "0", 1);
    if (job.nodes || job.tasks || job.tasks_per_node)
        inner_job_environment(&job, false);
    if (!stand_in_hand_on(s, inner))
        return stand_in_fail(s, "out of memory", EXIT_ENVIRONMENT);
    return stand_in_become_inner(s, inner);
}

static int stand_in_mpirun(struct stand_in *s)
{
    int inner = inner_find(s->kind, s->words);
    if (inner == s->words.n)
        return stand_in_fail(s, "no program behind its options", 0);
    inner_mpirun_environment(s->words);
    if (!stand_in_hand_on(s, inner))
        return stand_in_fail(s, "out of memory", EXIT_ENVIRONMENT);
    return stand_in_become_inner(s, inner);
}

/* What is in front only wraps the program; without one behind it, it is a
 * command like others, but a container is not entered. */
static int stand_in_inside(struct stand_in *s)
{
    const char *name = program_base(s->words.word[0]);
    int inner = inner_find(s->kind, s->words);
    if (inner < s->words.n)
        return stand_in_become_inner(s, inner);
    if (strcmp(name, "singularity") == 0 || strcmp(name, "apptainer") == 0)
        return stand_in_note(s, 0, true);
    return stand_in_become_real(s, name);
}

static int stand_in_pass(struct stand_in *s)
{
    return stand_in_become_real(s, program_base(s->words.word[0]));
}

/* A launcher by name is noted as the launch; of a shell the whole line is. */
static int stand_in_elsewhere(struct stand_in *s)
{
    int inner = inner_find(s->kind, s->words);
    enum program_kind kind =
        inner < s->words.n ? program_kind(s->words.word[inner]) : PROGRAM_NONE;
    if (kind == PROGRAM_LAUNCH || kind == PROGRAM_PYTHON)
        return stand_in_note(s, inner, false);
    return stand_in_note(s, 0, true);
}

/* `scontrol show hostnames` by the job that is pretended. */
static int stand_in_scontrol(struct stand_in *s)
{
    const char *text = getenv("SLURM_JOB_NUM_NODES");
    int64_t n = 0;
    if (s->words.n < 3 || !text_starts(s->words.word[2], "hostname"))
        return 0;
    if (!text || !text_to_int64(text, &n) || n < 1 || n > 1 << 16)
        n = 1;
    for (int64_t i = 1; i <= n; i++)
        printf("node%lld\n", (long long)i);
    return fflush(stdout) ? EXIT_ENVIRONMENT : 0;
}

/* ---- sbatch ---- */

/* Where a job script is: as named, else beside the script that is recorded,
 * since that one runs in an empty folder. NULL: nowhere. */
static const char *stand_in_job_path(struct stand_in *s, const char *name)
{
    const char *folder = getenv(STAND_IN_FOLDER);
    if (access(name, R_OK) == 0)
        return strchr(name, '/') ? name : arena_printf(&s->a, "./%s", name);
    const char *beside = folder && *name != '/'
                             ? arena_printf(&s->a, "%s/%s", folder, name)
                             : NULL;
    return beside && access(beside, R_OK) == 0 ? beside : NULL;
}

/* A job from standard input, as a file beside the record. */
static const char *stand_in_job_stdin(struct stand_in *s)
{
    struct text_span text;
    const char *path =
        arena_printf(&s->a, "%s.job.%ld", s->record, (long)getpid());
    if (!path ||
        text_read_bytes(&s->a, "/dev/stdin", RECORD_MAX_LINE_BYTES, &text,
                        &s->msg) != ERR_OK ||
        text_write_file(path, text.data, text.len, &s->msg) != ERR_OK)
        return NULL;
    return path;
}

/* Options win over the lines of the script. */
static bool stand_in_job_read(struct stand_in *s, const char *path,
                              struct inner_job *job)
{
    struct text_span text;
    if (path && (text_read_file(&s->a, path, RECORD_MAX_BYTES, &text,
                                &s->msg) != ERR_OK ||
                 !inner_job_script(&s->a, text.data, job)))
        return false;
    inner_job_read(s->words, job);
    return true;
}

/* A job's script begins with the environment that a batch job has, not with its
 * submitter's launchers. */
static bool stand_in_job_set(struct stand_in *s, const struct inner_job *job)
{
    struct record_words words;
    if (!inner_job_words(&s->a, job, &words))
        return false;
    const char *text = record_words_text(&s->a, words);
    inner_job_environment(job, false);
    inner_set_exports(job);
    unsetenv(STAND_IN_OUTER); // a job begins anew
    return text && setenv(STAND_IN_JOB, text, 1) == 0;
}

static bool stand_in_has(const struct stand_in *s, const char *option)
{
    for (int i = 1; i < s->words.n; i++)
        if (strcmp(s->words.word[i], option) == 0)
            return true;
    return false;
}

/* bash takes any script; what a job prints is not what sbatch prints. */
static int stand_in_job_run(struct stand_in *s, const char *path, int from,
                            const struct inner_job *job)
{
    const char *shell[] = {"sh", "-c", job->wrap};
    const char *file[] = {"bash", path};
    const char *const *front = job->wrap ? shell : file;
    int n = job->wrap ? 3 : 2, rest = job->wrap ? 0 : s->words.n - from;
    const char **word = arena_alloc(&s->a, (size_t)(n + rest), sizeof *word);
    if (!word)
        return stand_in_fail(s, "out of memory", EXIT_ENVIRONMENT);
    for (int i = 0; i < n + rest; i++)
        word[i] = i < n ? front[i] : s->words.word[from + i - n];
    puts(stand_in_has(s, "--parsable") ? "1" : "Submitted batch job 1");
    fflush(stdout);
    if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return stand_in_fail(s, strerror(errno), EXIT_ENVIRONMENT);
    s->words = (struct record_words){word, n + rest};
    return stand_in_become(s, word[0], 0);
}

/* The job runs at once and here, from a file, --wrap or the standard input, as
 * sbatch itself takes them. */
static int stand_in_sbatch(struct stand_in *s)
{
    struct inner_job job = {0};
    int at = inner_find(s->kind, s->words);
    const char *path = NULL;
    inner_job_read(s->words, &job);
    bool is_file = at < s->words.n;
    if (is_file)
        path = stand_in_job_path(s, s->words.word[at]);
    else if (!job.wrap)
        path = stand_in_job_stdin(s);
    if (!path && !job.wrap)
        return stand_in_fail(s,
                             is_file ? arena_printf(&s->a,
                                                    "%s: job script not found",
                                                    s->words.word[at])
                                     : s->msg.text,
                             EXIT_ANSWER_NO);
    if (!stand_in_job_read(s, job.wrap ? NULL : path, &job))
        return stand_in_fail(s, s->msg.text, EXIT_ANSWER_NO);
    if (!stand_in_job_set(s, &job))
        return stand_in_fail(s, "out of memory", EXIT_ENVIRONMENT);
    return stand_in_job_run(s, path, is_file ? at + 1 : at, &job);
}

/* ---- all of them ---- */

static int (*const acts[])(struct stand_in *) = {
    [PROGRAM_LAUNCH] = stand_in_launch,
    [PROGRAM_PYTHON] = stand_in_python,
    [PROGRAM_SRUN] = stand_in_srun,
    [PROGRAM_MPIRUN] = stand_in_mpirun,
    [PROGRAM_SBATCH] = stand_in_sbatch,
    [PROGRAM_SCONTROL] = stand_in_scontrol,
    [PROGRAM_INSIDE] = stand_in_inside,
    [PROGRAM_PASS] = stand_in_pass,
    [PROGRAM_ELSEWHERE] = stand_in_elsewhere,
};

/* The stand-ins first in PATH, once. */
static bool stand_in_front(struct stand_in *s)
{
    const char *path = getenv("PATH");
    size_t len = strlen(s->bin);
    if (path && text_starts(path, s->bin) &&
        (path[len] == ':' || path[len] == '\0'))
        return true;
    const char *all =
        arena_printf(&s->a, "%s:%s", s->bin, path ? path : "/usr/bin:/bin");
    return all && setenv("PATH", all, 1) == 0;
}

int stand_in_main(int argc, char *const *argv)
{
    struct stand_in s = {.kind = program_kind(argv[0])};
    arena_init(&s.a);
    const char **word = arena_alloc(&s.a, (size_t)argc, sizeof *word);
    // the environment's own text moves when variables are set
    s.record = arena_strdup(&s.a, getenv(STAND_IN_RECORD));
    const char *end = s.record ? strrchr(s.record, '/') : NULL;
    s.bin =
        end ? arena_printf(&s.a, "%.*s/bin", (int)(end - s.record), s.record)
            : NULL;
    for (int i = 0; word && i < argc; i++)
        word[i] = argv[i];
    s.words = (struct record_words){word, argc};
    int status = EXIT_ENVIRONMENT;
    if (word && s.bin && stand_in_front(&s))
        status = acts[s.kind](&s);
    else
        fputs("moe-layout: record: out of memory\n", stderr);
    arena_clear(&s.a);
    return status;
}
