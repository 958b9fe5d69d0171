/*
 * How it works: git is asked as a program of its own, with its words handed
 * over as they are and its first line of output read. A checkout's files are
 * not read here, unlike for a run's commit (manifest/machine.c): tags, prefixes
 * and HEAD~2 are git's own language.
 */
#include "revision.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { REVISION_HEX = 40, REVISION_BYTES = 256 };

/* What the program printed, cut at REVISION_BYTES, and its exit status. */
struct answer {
    char text[REVISION_BYTES];
    int status; // -1: it was not started, or ended by a signal
};

/* To the end, also beyond what is kept: a program that cannot write would not
 * end. */
static void read_answer(int fd, struct answer *out)
{
    char rest[REVISION_BYTES];
    size_t n = 0;
    for (;;) {
        const bool room = n < REVISION_BYTES - 1;
        const ssize_t got =
            room ? read(fd, out->text + n, REVISION_BYTES - 1 - n)
                 : read(fd, rest, sizeof rest);
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        n += room && got > 0 ? (size_t)got : 0;
    }
    out->text[n] = '\0';
    out->text[strcspn(out->text, "\n")] = '\0';
}

/* A program that was killed keeps the status of one that was not started. */
static void wait_for(pid_t pid, struct answer *out)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return;
    if (WIFEXITED(status))
        out->status = WEXITSTATUS(status);
}

/* No shell: words are handed over as they are. Git's own complaints are not
 * shown, since callers say what they wanted. */
static enum err ask_git(const char *const *words, struct answer *out,
                        struct err_msg *msg)
{
    posix_spawn_file_actions_t files;
    int ends[2];
    pid_t pid;
    *out = (struct answer){.status = -1};
    if (pipe(ends) != 0)
        return err_set(msg, ERR_CHILD, "git: no pipe: %s", strerror(errno));
    if (posix_spawn_file_actions_init(&files) != 0) {
        close(ends[0]);
        close(ends[1]);
        return err_set(msg, ERR_NOMEM, "git: out of memory");
    }
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclose(&files, ends[0]);
    // the words are not changed, only their type is older than const
    const int failed = posix_spawnp(
        &pid, "git", &files, NULL, (char *const *)(const void *)words, environ);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    if (!failed) {
        read_answer(ends[0], out);
        wait_for(pid, out);
    }
    close(ends[0]);
    return ERR_OK;
}

/* Also the longer names of repositories with SHA-256. */
static bool is_commit(const char *text)
{
    return strlen(text) >= REVISION_HEX &&
           strspn(text, "0123456789abcdef") == strlen(text);
}

enum err revision_resolve(struct arena *a, const char *name, const char **out,
                          struct err_msg *msg)
{
    struct answer git;
    const char *object = arena_printf(a, "%s^{commit}", name);
    const char *const words[] = {"git",     "rev-parse", "--verify",
                                 "--quiet", object,      NULL};
    *out = NULL;
    if (!object)
        return err_set(msg, ERR_NOMEM, "git: out of memory");
    if (*name == '-' || !*name) // an option of git is no name
        return ERR_OK;
    const enum err e = ask_git(words, &git, msg);
    if (e != ERR_OK || git.status != 0 || !is_commit(git.text))
        return e;
    *out = arena_strdup(a, git.text);
    return *out ? ERR_OK : err_set(msg, ERR_NOMEM, "git: out of memory");
}

/* Only files that figures come from: a changed README makes no other figures,
 * and neither do the files of results/ that validate itself writes. */
enum err revision_now(struct arena *a, const char **out, struct err_msg *msg)
{
    static const char *const changed[] = {"git",
                                          "diff",
                                          "--quiet",
                                          "HEAD",
                                          "--",
                                          ":/planner",
                                          ":/harness",
                                          ":/results/reference",
                                          ":/results/published",
                                          ":/Makefile",
                                          ":/config.mk",
                                          NULL};
    struct answer git = {.status = 0};
    const char *head = NULL;
    enum err e = revision_resolve(a, "HEAD", &head, msg);
    if (e == ERR_OK && head)
        e = ask_git(changed, &git, msg);
    if (e != ERR_OK)
        return e;
    *out = !head             ? "unknown"
           : git.status == 0 ? head
                             : arena_printf(a, "%s+", head);
    return *out ? ERR_OK : err_set(msg, ERR_NOMEM, "git: out of memory");
}
