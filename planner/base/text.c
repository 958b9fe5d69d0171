/*
 * How it works: files are read to the heap, which can grow without leaving
 * pieces behind, and copied to the arena once their size is known: pipes have
 * none in advance. Files are written under a temporary name, flushed and
 * renamed.
 */
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <sha256.h>

/* Grows `s` (heap) so that at least one more read fits. */
static bool text_make_room(struct text_span *s, size_t *cap)
{
    if (*cap - s->len > 1)
        return true;
    size_t want = *cap ? *cap * 2 : 1 << 16;
    char *bigger = realloc(s->data, want);
    if (!bigger)
        return false;
    s->data = bigger;
    *cap = want;
    return true;
}

/* Reads on to an empty read: a pipe may give less than asked before its end. */
static enum err read_stream(FILE *f, const char *path, size_t max_bytes,
                            struct text_span *s, struct err_msg *msg)
{
    size_t cap = 0;
    for (;;) {
        if (!text_make_room(s, &cap))
            return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
        size_t n = fread(s->data + s->len, 1, cap - s->len - 1, f);
        s->len += n;
        if (s->len > max_bytes)
            return err_set(msg, ERR_PARSE,
                           "%s: more than %zu bytes, want a smaller file", path,
                           max_bytes);
        if (n == 0)
            break;
    }
    s->data[s->len] = '\0';
    if (ferror(f))
        return err_set(msg, ERR_PARSE, "%s: %s", path, strerror(errno));
    return ERR_OK;
}

enum err text_read_file(struct arena *a, const char *path, size_t max_bytes,
                        struct text_span *out, struct err_msg *msg)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return err_set(msg, ERR_PARSE, "%s: %s", path, strerror(errno));
    struct text_span s = {0};
    enum err e = read_stream(f, path, max_bytes, &s, msg);
    fclose(f);
    if (e == ERR_OK) {
        char *copy = arena_strndup(a, s.data, s.len);
        if (copy)
            *out = (struct text_span){.data = copy, .len = s.len};
        else
            e = err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    }
    free(s.data);
    return e;
}

/* The first error counts: after it fclose() fails for the same reason. */
static enum err text_write_all(FILE *f, const char *path, const char *text,
                               size_t len, struct err_msg *msg)
{
    bool ok = fwrite(text, 1, len, f) == len && fflush(f) == 0 &&
              // EINVAL: a pipe or a device, which cannot be flushed
              (fsync(fileno(f)) == 0 || errno == EINVAL);
    // fclose() may change it
    int why = errno;
    if (fclose(f) != 0 && ok) {
        ok = false;
        why = errno;
    }
    return ok ? ERR_OK : err_set(msg, ERR_IO, "%s: %s", path, strerror(why));
}

/* A device, a pipe or the file behind a link takes the text as it is. */
static enum err write_in_place(const char *path, const char *text, size_t len,
                               struct err_msg *msg)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return err_set(msg, ERR_IO, "%s: %s", path, strerror(errno));
    return text_write_all(f, path, text, len, msg);
}

/* Never through a link at the temporary name. A file there is what an earlier
 * process of our number left. */
static FILE *text_open_new(const char *tmp)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    struct stat st;
    int fd = open(tmp, flags, 0666);
    if (fd < 0 && errno == EEXIST && lstat(tmp, &st) == 0 &&
        S_ISREG(st.st_mode) && unlink(tmp) == 0)
        fd = open(tmp, flags, 0666);
    FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (fd >= 0 && !f)
        close(fd);
    return f;
}

/* What stands at the path is replaced as a whole, or stays. */
static enum err write_beside(const char *path, const char *text, size_t len,
                             struct err_msg *msg)
{
    char tmp[PATH_MAX];
    int n = snprintf(tmp, sizeof tmp, "%s.tmp.%ld", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof tmp)
        return err_set(msg, ERR_IO, "%s: path too long", path);
    FILE *f = text_open_new(tmp);
    if (!f)
        return err_set(msg, ERR_IO, "%s: %s", path, strerror(errno));
    enum err e = text_write_all(f, path, text, len, msg);
    if (e == ERR_OK && rename(tmp, path) != 0)
        e = err_set(msg, ERR_IO, "%s: %s", path, strerror(errno));
    if (e != ERR_OK)
        unlink(tmp);
    return e;
}

enum err text_write_file(const char *path, const char *text, size_t len,
                         struct err_msg *msg)
{
    struct stat st;
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return write_in_place(path, text, len, msg);
    return write_beside(path, text, len, msg);
}

enum err text_write_own(const char *path, const char *text, size_t len,
                        struct err_msg *msg)
{
    struct stat st;
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(msg, ERR_IO,
                       "%s: %s where a file of ours is written; remove it",
                       path, S_ISLNK(st.st_mode) ? "a link" : "no plain file");
    return write_beside(path, text, len, msg);
}

/* strtoll() alone would take blanks and '+' before the digits. */
bool text_to_int64(const char *text, int64_t *out)
{
    const char *digits = *text == '-' ? text + 1 : text;
    if (*digits < '0' || *digits > '9')
        return false;
    char *end = NULL;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (errno || *end != '\0')
        return false;
    *out = v;
    return true;
}

/* strtod() alone would take blanks, hexadecimal numbers, "inf" and "nan". */
bool text_to_double(const char *text, double *out)
{
    bool starts_well =
        (*text >= '0' && *text <= '9') || *text == '-' || *text == '.';
    if (!starts_well || strpbrk(text, "xXnN"))
        return false;
    char *end = NULL;
    double v = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(v))
        return false;
    *out = v;
    return true;
}

// Megatron's longest flag has 60 characters; what is longer is no typing error
enum { TEXT_MAX_WORD = 64 };

/* The three edits of Wagner and Fischer (1974): insert, delete, replace. */
static size_t text_min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein distance by one row of Wagner and Fischer's table; both words at
 * most TEXT_MAX_WORD bytes. */
static size_t edit_distance(const char *x, const char *y)
{
    size_t nx = strlen(x), ny = strlen(y);
    size_t row[TEXT_MAX_WORD + 1];
    for (size_t j = 0; j <= ny; j++)
        row[j] = j;
    for (size_t i = 1; i <= nx; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= ny; j++) {
            size_t above = row[j];
            row[j] = text_min3(above + 1, row[j - 1] + 1,
                               diagonal + (x[i - 1] != y[j - 1]));
            diagonal = above;
        }
    }
    return row[ny];
}

const char *text_nearest(const char *word, const char *const *names,
                         size_t n_names)
{
    const char *best = NULL;
    size_t len = strlen(word), best_distance = SIZE_MAX;
    if (len > TEXT_MAX_WORD)
        return NULL;
    for (size_t i = 0; i < n_names; i++) {
        size_t name_len = strlen(names[i]);
        if (name_len > TEXT_MAX_WORD)
            continue;
        size_t d = edit_distance(word, names[i]);
        size_t longer = len > name_len ? len : name_len;
        // a third: "--rouns" is near "--rounds", "--out" is not near "--top"
        if (d < best_distance && d * 3 <= longer) {
            best_distance = d;
            best = names[i];
        }
    }
    return best;
}

bool text_starts(const char *text, const char *part)
{
    return strncmp(text, part, strlen(part)) == 0;
}

bool text_ends(const char *text, const char *part)
{
    size_t n = strlen(text), m = strlen(part);
    return n >= m && memcmp(text + n - m, part, m) == 0;
}

enum err text_sha256_file(const char *path, char hex[TEXT_SHA256_HEX],
                          struct err_msg *msg)
{
    if (!SHA256File(path, hex))
        return err_set(msg, ERR_PARSE, "%s: %s", path, strerror(errno));
    return ERR_OK;
}

void text_sha256(const void *data, size_t len, char hex[TEXT_SHA256_HEX])
{
    SHA256Data(data, len, hex);
}
