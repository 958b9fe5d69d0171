/*
 * How it works: facts come from the run's log where a job printed them behind a
 * mark, else from this machine: its GPUs by their tool, a checkout's commit
 * from its files. What cannot be found is left out: an absent fact is better
 * than a guess.
 */
#include "provenance.h"

#include "base/join.h"
#include "base/reader.h"
#include "base/writer.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// a file of a checkout; what a job says of its machine, and a line of it; POSIX
// names of hosts; Git's SHA-1
enum {
    PROVENANCE_MAX_BYTES = 1 << 20,
    PROVENANCE_MAX_SAID = 1 << 16,
    PROVENANCE_MAX_LINE = 1 << 10,
    PROVENANCE_HOST_BYTES = 256,
    PROVENANCE_COMMIT_HEX = 40
};

#define GPU_LINE LAUNCHER_MARK "gpu: "
#define COMMIT_LINE LAUNCHER_MARK "megatron commit: "
#define CORE_LINE LAUNCHER_MARK "megatron core: "

static const char *provenance_read_text(struct arena *a, const char *path)
{
    struct text_span text;
    struct err_msg ignored;
    if (!path || text_read_bytes(a, path, PROVENANCE_MAX_BYTES, &text,
                                 &ignored) != ERR_OK)
        return "";
    return text.data;
}

/* The lines of the log that a job's script printed: the log itself may be of
 * any length. */
static const char *provenance_said(struct arena *a, const char *folder)
{
    char line[PROVENANCE_MAX_LINE];
    const char *path = arena_printf(a, "%s/log.txt", folder);
    FILE *f = path ? fopen(path, "r") : NULL;
    struct join said = join_begin(a);
    bool begins = true; // what was read begins a line
    while (f && fgets(line, sizeof line, f) && said.n < PROVENANCE_MAX_SAID) {
        bool ends = strchr(line, '\n') != NULL;
        if (begins && text_starts(line, LAUNCHER_MARK)) {
            join_add(&said, line);
            join_add(&said, ends ? "" : "\n");
        }
        begins = ends;
    }
    if (f)
        fclose(f);
    return join_end(&said) ? said.text : "";
}

/* ---- GPUs ---- */

// the same question as a job's script asks
static const char *const nvidia[] = {"nvidia-smi", LAUNCHER_GPU_QUERY,
                                     "--format=csv,noheader"};
static const char *const rocm[] = {
    "rocm-smi",     "--showproductname", "--showdriverversion",
    "--showclocks", "--showmaxpower",    "--csv"};

/* Each line of the text that begins so, without that. */
static void add_lines(struct writer list, struct arena *a, const char *text,
                      const char *start)
{
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        size_t skip = strlen(start);
        const char *line = n > skip && strncmp(p, start, skip) == 0
                               ? arena_strndup(a, p + skip, n - skip)
                               : NULL;
        if (line)
            writer_text(list, NULL, line);
        p += n + (p[n] == '\n');
    }
}

/* NVIDIA's tool first; a machine has one of them. */
static const char *ask_tool(struct arena *a, const char *folder)
{
    const struct words tools[] = {{nvidia, 3}, {rocm, 6}};
    const char *path = arena_printf(a, "%s/gpu.txt", folder);
    const char *text = NULL;
    struct err_msg ignored;
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        if (launch_find_program(a, tools[i].word[0]) &&
            launcher_call(a, &tools[i], path, &text, &ignored) == ERR_OK)
            return text;
    return "";
}

/* A job runs elsewhere: its script asked there, and the answer is in its log.
 */
static void add_gpus(struct writer o, struct arena *a,
                     const struct provenance *p, const char *log)
{
    struct writer list = writer_list(o, "gpus");
    if (launch_is_job(p->launch))
        add_lines(list, a, log, GPU_LINE);
    else if (p->manifest->hardware.gpu)
        add_lines(list, a, ask_tool(a, p->run->folder), "");
}

/* ---- Megatron ---- */

/* The rest of the first line that begins so, or NULL. */
static const char *line_of(struct arena *a, const char *text, const char *start)
{
    const char *at = strstr(text, start);
    if (!at || (at > text && at[-1] != '\n'))
        return NULL;
    at += strlen(start);
    return arena_strndup(a, at, strcspn(at, "\n"));
}

static const char *provenance_folder_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? arena_strndup(a, path, (size_t)(slash - path)) : ".";
}

/* Of the checkout around the script; NULL when there is none. */
static const char *checkout_commit(struct arena *a, const char *folder)
{
    const char *head =
        provenance_read_text(a, arena_printf(a, "%s/.git/HEAD", folder));
    if (text_starts(head, "ref: ")) {
        const char *ref = arena_strndup(a, head + 5, strcspn(head + 5, "\n"));
        head = provenance_read_text(
            a, arena_printf(a, "%s/.git/%s", folder, ref ? ref : ""));
    }
    if (strspn(head, "0123456789abcdef") < PROVENANCE_COMMIT_HEX)
        return NULL;
    return arena_strndup(a, head, PROVENANCE_COMMIT_HEX);
}

/* Megatron's own constants: a checkout without tags still knows its version. */
static const char *checkout_core(struct arena *a, const char *folder)
{
    static const char *const parts[] = {"MAJOR = ", "MINOR = ", "PATCH = "};
    long number[3];
    const char *text = provenance_read_text(
        a, arena_printf(a, "%s/megatron/core/package_info.py", folder));
    for (int i = 0; i < 3; i++) {
        // at the start of a line; older files have it elsewhere
        const char *value = line_of(a, text, parts[i]);
        const char *at = value ? value : strstr(text, parts[i]);
        if (!at)
            return NULL;
        number[i] = strtol(value ? value : at + strlen(parts[i]), NULL, 10);
    }
    return arena_printf(a, "%ld.%ld.%ld", number[0], number[1], number[2]);
}

/* Empty and absent are the same: no key. */
static void add_text(struct writer o, const char *key, const char *value)
{
    if (value && *value)
        writer_text(o, key, value);
}

/* The wanted commit is recorded beside the found one, so that a reader sees a
 * difference. */
static void add_megatron(struct writer o, struct arena *a,
                         const struct provenance *p, const char *log)
{
    if (p->manifest->trainer.kind != TRAINER_MEGATRON)
        return;
    const char *folder = provenance_folder_of(a, p->launch->binary);
    const char *commit = line_of(a, log, COMMIT_LINE);
    const char *core = line_of(a, log, CORE_LINE);
    if (!commit && folder)
        commit = checkout_commit(a, folder);
    if (!core && folder)
        core = checkout_core(a, folder);
    add_text(o, "megatron_commit", commit);
    add_text(o, "megatron_core", core);
    add_text(o, "megatron_commit_wanted", p->manifest->trainer.commit);
}

/* ---- all ---- */

/* A hash: results are published, names of machines are not. */
static void add_host(struct writer o)
{
    char host[PROVENANCE_HOST_BYTES] = "", hex[TEXT_SHA256_HEX];
    if (gethostname(host, sizeof host - 1) != 0)
        return;
    text_sha256(host, strlen(host), hex);
    writer_text(o, "host_sha256", hex);
}

static void add_times(struct writer o, const struct run_record *run)
{
    char text[32];
    struct tm t;
    time_t now = time(NULL);
    gmtime_r(&now, &t);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t);
    add_text(o, "started_utc", run->started_utc);
    add_text(o, "ended_utc", text);
}

/* Recorded by the harness, or set where the harness itself is in the job. */
static void add_job(struct writer o, struct arena *a,
                    const struct provenance *p)
{
    const char *job = getenv("SLURM_JOB_ID");
    const char *path = arena_printf(a, "%s/job.json", p->run->folder);
    struct err_msg ignored;
    struct reader_doc doc;
    if (path && access(path, R_OK) == 0) {
        reader_text(
            reader_open_file(&doc, a, path, "moe-bench/job/1", &ignored), "id",
            &job);
        reader_close(&doc);
    }
    add_text(o, "job", job);
}

cJSON *provenance_json(struct arena *a, const struct provenance *p)
{
    struct writer_doc doc;
    struct writer o = writer_open(&doc);
    const char *container = p->manifest->trainer.container;
    const char *digest = container ? strchr(container, '@') : NULL;
    const char *log = provenance_said(a, p->run->folder);
    writer_text(o, "format", "moe-bench/provenance/1");
    add_host(o);
    add_times(o, p->run);
    add_text(o, "launcher", p->launch->launcher);
    add_job(o, a, p);
    add_gpus(o, a, p, log);
    add_text(o, "container", container);
    add_text(o, "container_digest", digest ? digest + 1 : NULL);
    add_megatron(o, a, p, log);
    add_text(o, "log_dialect", p->run->log.dialect);
    writer_number(o, "price_usd_per_hour",
                  p->manifest->hardware.price_usd_per_hour);
    return writer_close(&doc);
}
