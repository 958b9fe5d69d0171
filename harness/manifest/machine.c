/*
 * How it works: facts are read from files of /proc and /etc and from the
 * libraries themselves; no program is started. What decides step times goes
 * into one hash, by which runs of another machine are told apart.
 */
#include "machine.h"

#include "base/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

// /proc/cpuinfo of a machine with a thousand cores has some 2 MB; Git's SHA-1
enum { MACHINE_MAX_PROC_BYTES = 8 << 20, MACHINE_COMMIT_HEX = 40 };

/* OpenBLAS' own report; its header is not installed everywhere. */
extern char *openblas_get_config(void);

/* Text after "key<blanks>: " or "key=" on the first such line, or NULL. */
static const char *manifest_machine_field(struct arena *a, const char *text,
                                          const char *key, char separator)
{
    size_t n = strlen(key);
    for (const char *line = text; line && *line;) {
        const char *end = strchr(line, '\n');
        size_t len = end ? (size_t)(end - line) : strlen(line);
        const char *sep = memchr(line, separator, len);
        if (len > n && strncmp(line, key, n) == 0 && sep &&
            strspn(line + n, " \t") == (size_t)(sep - line) - n) {
            const char *value = sep + 1 + strspn(sep + 1, " \t\"");
            size_t rest = len - (size_t)(value - line);
            while (rest > 0 && strchr("\" \t", value[rest - 1]))
                rest--;
            return arena_strndup(a, value, rest);
        }
        line = end ? end + 1 : NULL;
    }
    return NULL;
}

/* A file that is not there says nothing: "", and the fact is "unknown". */
static const char *manifest_machine_read_text(struct arena *a, const char *path)
{
    struct text_span text;
    struct err_msg ignored;
    if (text_read_file(a, path, MACHINE_MAX_PROC_BYTES, &text, &ignored) !=
        ERR_OK)
        return "";
    return text.data;
}

/* Flags are words: "avx512f" must not be found in "avx512fp16". */
static bool manifest_machine_has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = words; (p = strstr(p, word)); p += n)
        if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

/* OpenBLAS releases older than a processor take its plainest kernels for it; by
 * what the processor can do the right ones are known. */
const char *machine_blas_core(const char *cpu_flags)
{
    if (manifest_machine_has_word(cpu_flags, "avx512f"))
        return "SkylakeX";
    return manifest_machine_has_word(cpu_flags, "avx2") ? "Haswell" : "";
}

/* The folder that holds .git, here or above; NULL when there is none. */
static const char *git_folder(struct arena *a)
{
    char cwd[4096];
    if (!getcwd(cwd, sizeof cwd))
        return NULL;
    for (char *end = cwd + strlen(cwd);; end = strrchr(cwd, '/')) {
        if (!end)
            return NULL;
        *end = '\0';
        const char *head = arena_printf(a, "%s/.git/HEAD", cwd);
        if (head && access(head, R_OK) == 0)
            return arena_printf(a, "%s/.git", cwd);
        // of a work tree beside the repository .git is a file with a path
        const char *dir = arena_printf(a, "%s/.git", cwd);
        const char *text = dir ? manifest_machine_read_text(a, dir) : "";
        const char *path = manifest_machine_field(a, text, "gitdir", ':');
        if (path)
            return path;
    }
}

/* Branches of a work tree are kept by the repository that it belongs to. */
static const char *git_common(struct arena *a, const char *git)
{
    const char *common =
        manifest_machine_read_text(a, arena_printf(a, "%s/commondir", git));
    size_t n = strcspn(common, "\n");
    if (!n)
        return git;
    return *common == '/' ? arena_strndup(a, common, n)
                          : arena_printf(a, "%s/%.*s", git, (int)n, common);
}

/* Files only: a program that is measured should not depend on git. */
static const char *read_commit(struct arena *a)
{
    const char *git = git_folder(a);
    if (!git)
        return "unknown";
    const char *head =
        manifest_machine_read_text(a, arena_printf(a, "%s/HEAD", git));
    const char *ref = manifest_machine_field(a, head, "ref", ':');
    const char *commit = head;
    if (ref) {
        git = git_common(a, git);
        commit =
            manifest_machine_read_text(a, arena_printf(a, "%s/%s", git, ref));
        // a branch that was packed has no file of its own
        const char *packed =
            *commit ? ""
                    : manifest_machine_read_text(
                          a, arena_printf(a, "%s/packed-refs", git));
        const char *at = *packed ? strstr(packed, ref) : NULL;
        if (at && at - packed > MACHINE_COMMIT_HEX)
            commit = at - MACHINE_COMMIT_HEX - 1;
    }
    if (strspn(commit, "0123456789abcdef") < MACHINE_COMMIT_HEX)
        return "unknown";
    return arena_strndup(a, commit, MACHINE_COMMIT_HEX);
}

/* The kernel's version, too: schedulers differ in what they do to a busy
 * machine. */
static const char *read_os(struct arena *a)
{
    struct utsname u;
    if (uname(&u) != 0)
        return "unknown";
    const char *name = manifest_machine_field(
        a, manifest_machine_read_text(a, "/etc/os-release"), "PRETTY_NAME",
        '=');
    return arena_printf(a, "%s, %s %s %s", name ? name : "unknown", u.sysname,
                        u.release, u.machine);
}

/* Of all but the commit: runs of an older commit are told apart by the
 * binaries. */
static void manifest_machine_hash(struct machine *m, struct arena *a)
{
    const char *all = arena_printf(
        a, "%s\n%d\n%lld\n%s\n%s\n%s\n%s", m->cpu_model, m->n_cores,
        (long long)m->mem_bytes, m->os, m->compiler, m->blas, m->blas_core);
    if (all)
        text_sha256(all, strlen(all), m->sha256);
}

enum err machine_read(struct arena *a, struct machine *out, struct err_msg *msg)
{
    const char *cpuinfo = manifest_machine_read_text(a, "/proc/cpuinfo");
    const char *model = manifest_machine_field(a, cpuinfo, "model name", ':');
    const char *flags = manifest_machine_field(a, cpuinfo, "flags", ':');
    const char *forced = getenv("OPENBLAS_CORETYPE");
    long pages = sysconf(_SC_PHYS_PAGES);
    struct machine m = {
        .cpu_model = model ? model : "unknown",
        .n_cores = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .mem_bytes = pages > 0 ? pages * sysconf(_SC_PAGESIZE) : 0,
        .os = read_os(a),
        .compiler = "cc " __VERSION__,
        .blas = arena_strdup(a, openblas_get_config()),
        .blas_core = arena_strdup(
            a, forced ? forced : machine_blas_core(flags ? flags : "")),
        .commit = read_commit(a)};
    if (m.os && m.blas && m.blas_core && m.commit)
        manifest_machine_hash(&m, a);
    if (m.sha256[0] == '\0')
        return err_set(msg, ERR_NOMEM, "machine: out of memory");
    *out = m;
    return ERR_OK;
}

cJSON *machine_to_json(const struct machine *m)
{
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    writer_text(top, "format", "moe-bench/machine/1");
    writer_text(top, "cpu", m->cpu_model);
    writer_number(top, "cores", m->n_cores);
    writer_number(top, "mem_bytes", (double)m->mem_bytes);
    writer_text(top, "os", m->os);
    writer_text(top, "compiler", m->compiler);
    writer_text(top, "blas", m->blas);
    writer_text(top, "blas_core", m->blas_core);
    writer_text(top, "commit", m->commit);
    writer_text(top, "sha256", m->sha256);
    return writer_close(&doc);
}
