/*
 * How it works: the record is opened before anything runs and read through that
 * descriptor, so that a script that puts a pipe or an endless device in its
 * place makes no read wait.
 */
#include "scratch.h"

#include "base/file.h"
#include "lines.h"
#include "program.h"
#include "stand_in.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *scratch_absolute(struct arena *a, const char *path)
{
    char here[PATH_MAX];
    if (*path == '/')
        return path;
    return getcwd(here, sizeof here) ? arena_printf(a, "%s/%s", here, path)
                                     : NULL;
}

/* A ':' would part it in PATH. */
static enum err scratch_parent(struct arena *a, const char **out,
                               struct err_msg *msg)
{
    const char *name = getenv("TMPDIR");
    if (!name || !*name)
        name = "/tmp";
    if (strchr(name, ':'))
        return err_set(msg, ERR_IO,
                       "TMPDIR: %s: holds ':', which parts the folders of "
                       "PATH: set TMPDIR to another folder",
                       name);
    *out = scratch_absolute(a, name);
    return *out ? ERR_OK : err_set(msg, ERR_IO, "TMPDIR: %s: not found", name);
}

/* Our own program as it is now, whatever its name. */
static enum err scratch_links(struct arena *a, const struct scratch *s,
                              struct err_msg *msg)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return err_set(msg, ERR_IO, "/proc/self/exe: %s", strerror(errno));
    self[n] = '\0';
    for (int k = 0; program_name(k); k++) {
        const char *link = arena_printf(a, "%s/%s", s->bin, program_name(k));
        if (!link)
            return err_set(msg, ERR_NOMEM, "stand-ins: out of memory");
        if (symlink(self, link) != 0)
            return err_set(msg, ERR_IO, "%s: %s", link, strerror(errno));
    }
    return ERR_OK;
}

/* The record is opened before the script runs, so that it is read even where
 * the script removes the folder. */
static enum err scratch_fill(struct arena *a, struct scratch *s,
                             struct err_msg *msg)
{
    s->bin = arena_printf(a, "%s/bin", s->folder);
    s->here = arena_printf(a, "%s/here", s->folder);
    s->record = arena_printf(a, "%s/record", s->folder);
    if (!s->bin || !s->here || !s->record)
        return err_set(msg, ERR_NOMEM, "scratch folder: out of memory");
    if (mkdir(s->bin, 0700) != 0 || mkdir(s->here, 0700) != 0)
        return err_set(msg, ERR_IO, "%s: cannot make folders in it: %s",
                       s->folder, strerror(errno));
    s->fd =
        open(s->record, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, STAND_IN_MODE);
    if (s->fd < 0)
        return err_set(msg, ERR_IO, "%s: %s", s->record, strerror(errno));
    return scratch_links(a, s, msg);
}

/* Below TMPDIR, with a name of its own, for its owner alone: stand-ins in it
 * are run by their names. */
enum err scratch_make(struct arena *a, struct scratch *out, struct err_msg *msg)
{
    struct scratch s = {.fd = -1};
    const char *parent;
    enum err e = scratch_parent(a, &parent, msg);
    if (e != ERR_OK)
        return e;
    char *folder = arena_printf(a, "%s/moe-layout-record.XXXXXX", parent);
    if (!folder)
        return err_set(msg, ERR_NOMEM, "scratch folder: out of memory");
    if (!mkdtemp(folder))
        return err_set(msg, ERR_IO,
                       "%s: cannot make a scratch folder: %s: set TMPDIR to "
                       "a folder with room",
                       parent, strerror(errno));
    s.folder = folder;
    e = scratch_fill(a, &s, msg);
    if (e == ERR_OK)
        *out = s;
    else
        scratch_remove(&s);
    return e;
}

/* pread() from the start: stand-ins move the end of the file, and not our place
 * in it. */
enum err scratch_read(struct arena *a, const struct scratch *s,
                      struct text_span *out, bool *cut, struct err_msg *msg)
{
    struct stat st;
    if (fstat(s->fd, &st) != 0)
        return err_set(msg, ERR_IO, "record: %s", strerror(errno));
    size_t len =
        st.st_size < RECORD_MAX_BYTES ? (size_t)st.st_size : RECORD_MAX_BYTES;
    char *text = arena_alloc(a, len + 1, 1);
    size_t n = 0;
    if (!text)
        return err_set(msg, ERR_NOMEM, "record: out of memory");
    for (ssize_t got = 1; n < len && got > 0; n += (size_t)got) {
        got = pread(s->fd, text + n, len - n, (off_t)n);
        if (got < 0)
            return err_set(msg, ERR_IO, "record: %s", strerror(errno));
    }
    *cut = (st.st_mode & 0777) == STAND_IN_MODE_CUT ||
           st.st_size > RECORD_MAX_BYTES;
    // what a full disk took of a line is none
    while (*cut && n > 0 && text[n - 1] != '\n')
        n--;
    *out = (struct text_span){text, n};
    return ERR_OK;
}

void scratch_remove(struct scratch *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    file_remove_tree(s->folder);
}
