/*
 * How it works: copying, packing and unpacking are one loop. The input is read
 * by zlib where it is packed; the output is always zlib's, which also writes
 * files as they are ("T"). It has a temporary name until it is on the disk.
 */
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

// zlib asks for 64 KB or more to keep its calls few
enum { FILE_BLOCK_BYTES = 1 << 16 };

/* ---- folders ---- */

/* Another process may make the same folder at the same time. */
static enum err file_make_folder(const char *path, struct err_msg *msg)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return ERR_OK;
    return err_set(msg, ERR_IO, "%s: cannot make folder: %s", path,
                   strerror(errno));
}

/* Folders of the path up to each '/', and the last part too when `all`. */
static enum err file_make_path(const char *path, bool all, struct err_msg *msg)
{
    char part[PATH_MAX];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part)
        return err_set(msg, ERR_IO, "%.60s...: path empty or too long", path);
    memcpy(part, path, n + 1);
    for (char *p = part + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        enum err e = file_make_folder(part, msg);
        if (e != ERR_OK)
            return e;
        *p = '/';
    }
    return all ? file_make_folder(part, msg) : ERR_OK;
}

enum err file_make_folders(const char *path, struct err_msg *msg)
{
    return file_make_path(path, true, msg);
}

enum err file_make_parents(const char *path, struct err_msg *msg)
{
    return file_make_path(path, false, msg);
}

void file_remove_tree(const char *path)
{
    struct stat s;
    DIR *d = lstat(path, &s) == 0 && S_ISDIR(s.st_mode) ? opendir(path) : NULL;
    if (!d) {
        unlink(path);
        return;
    }
    // lstat() above: a link to a folder is removed, never walked
    for (struct dirent *f; (f = readdir(d));) {
        char inner[PATH_MAX];
        int n = snprintf(inner, sizeof inner, "%s/%s", path, f->d_name);
        if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0 &&
            n > 0 && (size_t)n < sizeof inner)
            file_remove_tree(inner);
    }
    closedir(d);
    rmdir(path);
}

/* ---- copies ---- */

struct file_copying {
    const char *from, *to;
    const char *mode; // of the output, as gzopen() takes it
    bool unpack;
    FILE *in; // one of the two is open
    gzFile packed;
    gzFile out;
};

/* Bytes of the next block, 0 at the end, -1 on an error. A file that is cut
 * short ends like a whole one, with an error noted; one that is not packed is
 * passed through. */
static int file_read(struct file_copying *c, char *block, struct err_msg *msg)
{
    int n, code = Z_OK;
    if (c->in) {
        n = (int)fread(block, 1, FILE_BLOCK_BYTES, c->in);
        if (!ferror(c->in))
            return n;
        err_set(msg, ERR_PARSE, "%s: %s", c->from, strerror(errno));
        return -1;
    }
    n = gzread(c->packed, block, FILE_BLOCK_BYTES);
    const char *why = gzerror(c->packed, &code);
    bool cut = n <= 0 && code != Z_OK && code != Z_STREAM_END;
    if (n >= 0 && !cut && !gzdirect(c->packed))
        return n;
    err_set(msg, ERR_PARSE, "%s: %s, want a whole gzip file", c->from,
            n >= 0 && !cut    ? "not packed"
            : code == Z_ERRNO ? strerror(errno)
                              : why);
    return -1;
}

/* Bounded, since a few bytes of gzip can unpack to any number. */
static enum err file_move_bytes(struct file_copying *c, struct err_msg *msg)
{
    char block[FILE_BLOCK_BYTES];
    long long total = 0;
    int n;
    while ((n = file_read(c, block, msg)) > 0) {
        total += n;
        if (total > FILE_MAX_BYTES)
            return err_set(msg, ERR_PARSE,
                           "%s: more than %lld bytes, want a smaller file",
                           c->from, FILE_MAX_BYTES);
        if (gzwrite(c->out, block, (unsigned)n) != n)
            return err_set(msg, ERR_IO, "%s: %s", c->to, strerror(errno));
    }
    return n < 0 ? ERR_PARSE : ERR_OK;
}

/* Until the bytes are on the disk a rename may survive a crash that they do
 * not. EINVAL: a file system that cannot flush. */
static bool file_flush(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* Makes `tmp`, with the input open. */
static enum err file_write_temporary(struct file_copying *c, const char *tmp,
                                     struct err_msg *msg)
{
    struct stat s;
    // what an earlier process of our number left; a link is never followed
    if (lstat(tmp, &s) == 0 && S_ISREG(s.st_mode))
        unlink(tmp);
    c->out = gzopen(tmp, c->mode);
    if (!c->out)
        return err_set(msg, ERR_IO, "%s: %s", c->to, strerror(errno));
    enum err e = file_move_bytes(c, msg);
    int closed = gzclose(c->out);
    if (e == ERR_OK && (closed != Z_OK || !file_flush(tmp)))
        e = err_set(msg, ERR_IO, "%s: cannot write: %s", c->to,
                    strerror(errno));
    return e;
}

/* A copy takes the bytes of a packed file as they are, where zlib would unpack
 * them: its input is read with stdio. */
static enum err file_open_input(struct file_copying *c, struct err_msg *msg)
{
    if (c->unpack)
        c->packed = gzopen(c->from, "rb");
    else
        c->in = fopen(c->from, "rb");
    return c->packed || c->in
               ? ERR_OK
               : err_set(msg, ERR_PARSE, "%s: %s", c->from, strerror(errno));
}

/* The whole file or nothing: it is made under another name, flushed, and
 * renamed. */
static enum err file_convert(struct file_copying *c, struct err_msg *msg)
{
    char tmp[PATH_MAX];
    struct stat s;
    // the process number keeps two programs that write the same file apart
    int n = snprintf(tmp, sizeof tmp, "%s.tmp.%ld", c->to, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof tmp)
        return err_set(msg, ERR_IO, "%.60s...: path too long", c->to);
    // a rename would put a plain file in the place of a device or a link
    if (lstat(c->to, &s) == 0 && !S_ISREG(s.st_mode))
        return err_set(msg, ERR_IO, "%s: not a plain file", c->to);
    enum err e = file_open_input(c, msg);
    if (e != ERR_OK)
        return e;
    e = file_write_temporary(c, tmp, msg);
    if (c->in)
        fclose(c->in);
    if (c->packed)
        gzclose(c->packed);
    if (e == ERR_OK && rename(tmp, c->to) != 0)
        e = err_set(msg, ERR_IO, "%s: %s", c->to, strerror(errno));
    if (e != ERR_OK)
        unlink(tmp);
    return e;
}

enum err file_copy(const char *from, const char *to, struct err_msg *msg)
{
    return file_convert(
        &(struct file_copying){.from = from, .to = to, .mode = "wbxT"}, msg);
}

enum err file_pack(const char *from, const char *to, struct err_msg *msg)
{
    return file_convert(
        // 9: packed logs are committed, read often and written once
        &(struct file_copying){.from = from, .to = to, .mode = "wbx9"}, msg);
}

enum err file_unpack(const char *from, const char *to, struct err_msg *msg)
{
    return file_convert(
        &(struct file_copying){
            .from = from, .to = to, .mode = "wbxT", .unpack = true},
        msg);
}

/* A relative TMPDIR would mean another folder after a chdir(). */
char *file_temporary_name(struct arena *a, const char *name)
{
    const char *tmp = getenv("TMPDIR");
    return arena_printf(a, "%s/%s-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp",
                        name);
}

bool file_is_same(const char *a, const char *b)
{
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 &&
           S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The longest beginning that anybody asks for is some ten bytes. */
bool file_is_ours(const char *path, const char *first)
{
    enum { MOST = 32 };
    char head[MOST] = "";
    const size_t len = strlen(first);
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return true;
    FILE *f = len <= MOST ? fopen(path, "r") : NULL;
    const size_t n = f ? fread(head, 1, len, f) : 0;
    if (f)
        fclose(f);
    return n == len && memcmp(head, first, n) == 0;
}

/* ---- locks ---- */

/* The kernel lets go of it however the process ends, so that no file of a lock
 * is left behind. */
enum err file_lock(const char *dir, int *lock, struct err_msg *msg)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX) == 0) {
        *lock = fd;
        return ERR_OK;
    }
    const enum err e = err_set(msg, ERR_IO, "%s: %s", dir, strerror(errno));
    if (fd >= 0)
        close(fd);
    return e;
}

enum err file_lock_folder(const char *path, int *lock, struct err_msg *msg)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash == path ? strdup("/")
                : slash       ? strndup(path, (size_t)(slash - path))
                              : strdup(".");
    if (!dir)
        return err_set(msg, ERR_NOMEM, "file: out of memory");
    const enum err e = file_lock(dir, lock, msg);
    free(dir);
    return e;
}
