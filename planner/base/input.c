/*
 * How it works: everything is opened without blocking, and waits are poll()s.
 * A pipe that nobody has written to yet reads as if it had ended; the kernel
 * tells the two apart by POLLHUP, which only a writer that has gone leaves
 * behind. A named pipe cannot be opened for writing before it has a reader:
 * that is tried again for as long as silence is borne.
 */
#define _GNU_SOURCE // fopencookie
#include "input.h"

#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { INPUT_TICK_MS = 20, INPUT_WAIT_MS = 1000 * INPUT_WAIT_S };

const char *input_why(void)
{
    return errno == ETIMEDOUT
               ? "a pipe or device that stays silent for 5 s, want a file"
               : strerror(errno);
}

/* Opened anew by its name, such a file has its own flags: that it does not
 * block is not seen by other processes that have it. */
static bool input_was_given(const char *path)
{
    return text_starts(path, "/dev/std") || text_starts(path, "/dev/fd/") ||
           strcmp(path, "/dev/tty") == 0 ||
           (text_starts(path, "/proc/") && strstr(path, "/fd/"));
}

/* A plain file, or what the caller opened itself, is waited for without end; a
 * pipe or device by its name may have nobody at its other side. */
static void input_describe(struct input *in)
{
    struct stat st;
    bool known = fstat(in->fd, &st) == 0;
    bool plain = known && S_ISREG(st.st_mode);
    in->bytes = plain ? (long long)st.st_size : -1;
    in->is_pipe = known && S_ISFIFO(st.st_mode);
    in->is_patient = plain || input_was_given(in->path);
}

enum err input_open(const char *path, struct input *out, struct err_msg *msg)
{
    // NOCTTY: a terminal that is read must not become the program's own
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return err_set(msg, ERR_PARSE, "%s: %s", path, strerror(errno));
    *out = (struct input){.fd = fd, .path = path};
    input_describe(out);
    return ERR_OK;
}

/* Revents of the file, 0 after too long a silence. */
static short input_wait(const struct input *in, short events, bool at_all)
{
    struct pollfd p = {in->fd, events, 0};
    int wait_ms = !at_all ? 0 : in->is_patient ? -1 : INPUT_WAIT_MS;
    while (poll(&p, 1, wait_ms) < 0 && errno == EINTR)
        ;
    return p.revents;
}

/* read() of a pipe gives 0 before a writer has come, as at its end: only poll()
 * tells the two apart. */
ssize_t input_read(struct input *in, void *data, size_t n)
{
    for (;;) {
        ssize_t got = read(in->fd, data, n);
        in->has_begun = in->has_begun || got > 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got > 0 || (got < 0 && errno != EAGAIN))
            return got;
        // the end, unless it is a pipe to which no writer has come yet
        if (got == 0 &&
            (!in->is_pipe || in->has_begun || input_wait(in, POLLIN, false)))
            return 0;
        if (!input_wait(in, POLLIN, true)) {
            errno = ETIMEDOUT;
            return -1;
        }
    }
}

// what is copied to a disk first must not fill it
enum { INPUT_MAX_COPY_BYTES = 1 << 30 };

static enum err input_no_copy(const char *path, struct err_msg *msg)
{
    return err_set(msg, ERR_IO, "%s: no temporary copy: %s", path,
                   strerror(errno));
}

/* ---- packed files ---- */

static bool input_is_packed(const struct input *in)
{
    unsigned char magic[2];
    return in->bytes > 0 && pread(in->fd, magic, 2, 0) == 2 &&
           magic[0] == 0x1f && magic[1] == 0x8b;
}

/* All that `from` holds; `total` counts it. */
static enum err input_inflate(gzFile from, int to, const char *path,
                              long long *total, struct err_msg *msg)
{
    char block[1 << 14];
    struct input out = {.fd = to, .path = path, .is_patient = true};
    int n, code = Z_OK;
    while ((n = gzread(from, block, sizeof block)) > 0) {
        *total += n;
        if (*total > INPUT_MAX_COPY_BYTES)
            return err_set(msg, ERR_PARSE,
                           "%s: more than %d bytes when unpacked, want a "
                           "smaller file",
                           path, INPUT_MAX_COPY_BYTES);
        if (!input_write(&out, block, (size_t)n))
            return input_no_copy(path, msg);
    }
    const char *why = gzerror(from, &code);
    if (n < 0 || (code != Z_OK && code != Z_STREAM_END))
        return err_set(msg, ERR_PARSE, "%s: %s, want a whole gzip file", path,
                       why);
    return ERR_OK;
}

/* The caller's number of the file stays what it was, with the unpacked bytes
 * behind it: readers need not know of packing. */
enum err input_unpack(struct input *in, struct err_msg *msg)
{
    if (!input_is_packed(in))
        return ERR_OK;
    FILE *copy = tmpfile();
    const int fd = dup(in->fd);
    gzFile packed = fd >= 0 ? gzdopen(fd, "rb") : NULL;
    long long total = 0;
    enum err e = copy && packed ? input_inflate(packed, fileno(copy), in->path,
                                                &total, msg)
                                : input_no_copy(in->path, msg);
    if (packed)
        gzclose(packed); // with fd
    else if (fd >= 0)
        close(fd);
    // the copy takes the file's place under its number
    if (e == ERR_OK && (lseek(fileno(copy), 0, SEEK_SET) != 0 ||
                        dup2(fileno(copy), in->fd) < 0))
        e = input_no_copy(in->path, msg);
    if (e == ERR_OK)
        in->bytes = total;
    if (copy)
        fclose(copy);
    return e;
}

static void input_sleep_tick(void)
{
    nanosleep(&(struct timespec){0, INPUT_TICK_MS * 1000000L}, NULL);
}

/* A pipe that nobody reads yet refuses to be opened for writing without
 * blocking, so it is tried again for a while. */
enum err input_open_output(const char *path, struct input *out,
                           struct err_msg *msg)
{
    const int how = O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY;
    int fd = open(path, how | O_CLOEXEC, 0666);
    struct stat st;
    bool pipe = fd < 0 && errno == ENXIO && stat(path, &st) == 0 &&
                S_ISFIFO(st.st_mode);
    for (int ms = 0; pipe && fd < 0 && ms < INPUT_WAIT_MS;
         ms += INPUT_TICK_MS) {
        input_sleep_tick();
        fd = open(path, how | O_CLOEXEC, 0666);
    }
    if (fd < 0)
        return err_set(msg, ERR_IO, "%s: %s", path,
                       pipe && errno == ENXIO
                           ? "a pipe that nobody reads, want a file"
                           : strerror(errno));
    *out = (struct input){.fd = fd, .path = path};
    input_describe(out);
    return ERR_OK;
}

bool input_write(struct input *to, const void *data, size_t n)
{
    const char *p = data;
    while (n > 0) {
        ssize_t put = write(to->fd, p, n);
        if (put > 0) {
            p += put;
            n -= (size_t)put;
        } else if (put < 0 && errno == EAGAIN) {
            if (input_wait(to, POLLOUT, true))
                continue;
            errno = ETIMEDOUT;
            return false;
        } else if (put < 0 && errno != EINTR) {
            return false;
        }
    }
    return true;
}

bool input_close(struct input *in)
{
    bool ok = in->fd < 0 || close(in->fd) == 0;
    in->fd = -1;
    return ok;
}

/* ---- streams ---- */

/* Devices such as /dev/zero go on for ever; /dev/null is an empty file. */
static bool input_is_endless(const struct input *in)
{
    struct stat st, null;
    return !input_was_given(in->path) && fstat(in->fd, &st) == 0 &&
           S_ISCHR(st.st_mode) && !isatty(in->fd) &&
           !(stat("/dev/null", &null) == 0 && st.st_rdev == null.st_rdev);
}

/* Blocks until there is something to read, the end or, of a pipe that must not
 * stay silent, too much of a silence: then false. */
static bool input_has_begun(const struct input *in)
{
    return in->is_patient || input_wait(in, POLLIN, true) != 0;
}

static ssize_t input_cookie_read(void *in, char *data, size_t n)
{
    return input_read(in, data, n);
}

static int input_cookie_close(void *in)
{
    bool ok = input_close(in);
    free(in);
    return ok ? 0 : EOF;
}

/* stdio takes "try again" for an error, and would wait for ever without it: a
 * pipe that must not stay silent is read as input_read() does. */
static FILE *input_stdio(const struct input *in)
{
    const cookie_io_functions_t how = {.read = input_cookie_read,
                                       .close = input_cookie_close};
    if (in->is_patient) {
        fcntl(in->fd, F_SETFL, 0);
        return fdopen(in->fd, "rb");
    }
    struct input *copy = malloc(sizeof *copy);
    FILE *f = NULL;
    if (copy) {
        *copy = *in;
        f = fopencookie(copy, "rb", how);
    }
    if (!f)
        free(copy);
    return f;
}

/* For readers of lines: what cannot begin or cannot end is refused here, where
 * the message can say so, and not in the midst of reading. */
FILE *input_stream(const char *path, struct err_msg *msg)
{
    struct input in;
    if (input_open(path, &in, msg) != ERR_OK)
        return NULL;
    bool begun = false;
    if (input_unpack(&in, msg) != ERR_OK)
        ; // the message is there
    else if (input_is_endless(&in))
        err_set(msg, ERR_PARSE, "%s: a device, want a file", path);
    else if (!(begun = input_has_begun(&in))) {
        errno = ETIMEDOUT;
        err_set(msg, ERR_PARSE, "%s: %s", path, input_why());
    }
    FILE *f = NULL;
    if (begun) {
        f = input_stdio(&in);
        if (!f)
            err_set(msg, ERR_PARSE, "%s: %s", path, strerror(errno));
    }
    if (!f)
        input_close(&in);
    return f;
}

/* All of `from`; a pipe may have no end. */
static enum err input_copy(FILE *from, FILE *to, const char *path,
                           struct err_msg *msg)
{
    char block[1 << 14];
    size_t n, total = 0;
    while ((n = fread(block, 1, sizeof block, from)) > 0 || ferror(from)) {
        if (ferror(from))
            return err_set(msg, ERR_PARSE, "%s: %s", path, input_why());
        total += n;
        if (total > INPUT_MAX_COPY_BYTES)
            return err_set(msg, ERR_PARSE,
                           "%s: more than %d bytes through a pipe, want a file",
                           path, INPUT_MAX_COPY_BYTES);
        if (fwrite(block, 1, n, to) != n)
            return input_no_copy(path, msg);
    }
    rewind(to);
    return ERR_OK;
}

/* Readers that go over a file twice get a copy of a pipe; f is closed where
 * there is none. */
enum err input_seekable(FILE **f, const char *path, struct err_msg *msg)
{
    if (fseek(*f, 0, SEEK_CUR) == 0)
        return ERR_OK;
    FILE *copy = tmpfile();
    enum err e =
        copy ? input_copy(*f, copy, path, msg) : input_no_copy(path, msg);
    fclose(*f);
    *f = copy;
    if (e != ERR_OK && copy)
        fclose(copy);
    return e;
}
