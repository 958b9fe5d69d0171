/*
 * How it works: files are read to the heap, which can grow without leaving
 * pieces behind, and copied to the arena once their size is known: pipes have
 * none in advance. Files are written under a temporary name, flushed and
 * renamed. How pipes and devices are opened is input's.
 */
#include "text.h"

#include "input.h"

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

/* Text that grows on the heap. */
struct growing {
    struct text_span s;
    size_t cap;
};

/* Makes room for at least one more byte and the terminator. */
static bool text_make_room(struct growing *g, size_t first)
{
    if (g->cap > g->s.len + 1)
        return true;
    size_t want = g->cap ? g->cap * 2 : first;
    char *bigger = realloc(g->s.data, want);
    if (!bigger)
        return false;
    g->s.data = bigger;
    g->cap = want;
    return true;
}

static enum err text_too_large(const char *path, size_t max_bytes,
                               struct err_msg *msg)
{
    return err_set(msg, ERR_PARSE,
                   "%s: more than %zu bytes, want a smaller file", path,
                   max_bytes);
}

static enum err text_zero_at(const char *path, size_t at, struct err_msg *msg)
{
    return err_set(msg, ERR_PARSE,
                   "%s: holds a zero byte at offset %zu, want text in UTF-8",
                   path, at);
}

enum err text_check_zeros(const struct text_span *text, const char *path,
                          struct err_msg *msg)
{
    const char *zero = memchr(text->data, '\0', text->len);
    return zero ? text_zero_at(path, (size_t)(zero - text->data), msg) : ERR_OK;
}

/* How a file is read. */
struct reading {
    const char *path;
    size_t max_bytes;
    bool any_byte; // zeros, too
    bool unpack;   // what gzip packed is read as what it holds
};

/* Reads on to an empty read: a pipe may give less than asked before its end.
 * A zero byte ends it at once, for a device may have no end. */
static enum err text_read_all(struct input *in, const struct reading *how,
                              struct growing *g, struct err_msg *msg)
{
    const size_t size = in->bytes > 0 ? (size_t)in->bytes : 0;
    // a byte more than a plain file has, so that its end is seen
    const size_t first = size < 1 << 16 ? 1 << 16 : size + 2;
    for (;;) {
        if (!text_make_room(g, first))
            return err_set(msg, ERR_NOMEM, "%s: out of memory", how->path);
        const size_t from = g->s.len;
        ssize_t n = input_read(in, g->s.data + from, g->cap - from - 1);
        if (n < 0)
            return err_set(msg, ERR_PARSE, "%s: %s", how->path, input_why());
        if (n == 0)
            break;
        g->s.len += (size_t)n;
        const char *zero =
            how->any_byte ? NULL : memchr(g->s.data + from, '\0', (size_t)n);
        if (zero)
            return text_zero_at(how->path, (size_t)(zero - g->s.data), msg);
        if (g->s.len > how->max_bytes)
            return text_too_large(how->path, how->max_bytes, msg);
    }
    g->s.data[g->s.len] = '\0';
    return ERR_OK;
}

static enum err text_read(struct arena *a, const struct reading *how,
                          struct text_span *out, struct err_msg *msg)
{
    struct input in;
    struct growing g = {{NULL, 0}, 0};
    enum err e = input_open(how->path, &in, msg);
    if (e != ERR_OK)
        return e;
    if (how->unpack)
        e = input_unpack(&in, msg);
    if (e == ERR_OK && in.bytes > 0 &&
        (unsigned long long)in.bytes > how->max_bytes)
        e = text_too_large(how->path, how->max_bytes, msg);
    else if (e == ERR_OK)
        e = text_read_all(&in, how, &g, msg);
    input_close(&in);
    if (e == ERR_OK) {
        char *copy = arena_strndup(a, g.s.data, g.s.len);
        if (copy)
            *out = (struct text_span){.data = copy, .len = g.s.len};
        else
            e = err_set(msg, ERR_NOMEM, "%s: out of memory", how->path);
    }
    free(g.s.data);
    return e;
}

enum err text_read_file(struct arena *a, const char *path, size_t max_bytes,
                        struct text_span *out, struct err_msg *msg)
{
    return text_read(a, &(struct reading){path, max_bytes, false, false}, out,
                     msg);
}

enum err text_read_bytes(struct arena *a, const char *path, size_t max_bytes,
                         struct text_span *out, struct err_msg *msg)
{
    return text_read(a, &(struct reading){path, max_bytes, true, false}, out,
                     msg);
}

enum err text_read_unpacked(struct arena *a, const char *path, size_t max_bytes,
                            struct text_span *out, struct err_msg *msg)
{
    return text_read(a, &(struct reading){path, max_bytes, true, true}, out,
                     msg);
}

/* ---- writing ---- */

/* The first error counts: after it close() fails for the same reason. */
static enum err text_write_all(struct input *to, const char *path,
                               const struct text_span *text,
                               struct err_msg *msg)
{
    bool ok = input_write(to, text->data, text->len) &&
              // EINVAL: a pipe or a device, which cannot be flushed
              (fsync(to->fd) == 0 || errno == EINVAL);
    if (!ok)
        err_set(msg, ERR_IO, "%s: %s", path, input_why());
    if (!input_close(to) && ok) {
        ok = false;
        err_set(msg, ERR_IO, "%s: %s", path, strerror(errno));
    }
    return ok ? ERR_OK : ERR_IO;
}

/* A device, a pipe or the file behind a link takes the text as it is. */
static enum err write_in_place(const char *path, const struct text_span *text,
                               struct err_msg *msg)
{
    struct input to;
    enum err e = input_open_output(path, &to, msg);
    return e == ERR_OK ? text_write_all(&to, path, text, msg) : e;
}

/* What a killed program with the same number left goes first; what is put there
 * meanwhile, a link above all, is not written to. */
static int text_open_temporary(const char *tmp)
{
    const int how = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    struct stat st;
    int fd = open(tmp, how, 0666);
    if (fd < 0 && errno == EEXIST && lstat(tmp, &st) == 0 &&
        S_ISREG(st.st_mode) && unlink(tmp) == 0)
        fd = open(tmp, how, 0666);
    return fd;
}

/* What stands at the path is replaced as a whole, or stays. */
static enum err write_beside(const char *path, const struct text_span *text,
                             struct err_msg *msg)
{
    char tmp[PATH_MAX];
    int n = snprintf(tmp, sizeof tmp, "%s.tmp.%ld", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof tmp)
        return err_set(msg, ERR_IO, "%s: path too long", path);
    struct input to = {.fd = text_open_temporary(tmp), .is_patient = true};
    if (to.fd < 0)
        return err_set(msg, ERR_IO, "%s: %s", path, strerror(errno));
    enum err e = text_write_all(&to, path, text, msg);
    if (e == ERR_OK && rename(tmp, path) != 0)
        e = err_set(msg, ERR_IO, "%s: %s", path, strerror(errno));
    if (e != ERR_OK)
        unlink(tmp);
    return e;
}

/* A span is not const, and only read here. */
static struct text_span text_as_span(const char *text, size_t len)
{
    struct text_span span = {NULL, len};
    memcpy(&span.data, &text, sizeof span.data);
    return span;
}

enum err text_write_file(const char *path, const char *text, size_t len,
                         struct err_msg *msg)
{
    const struct text_span span = text_as_span(text, len);
    struct stat st;
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return write_in_place(path, &span, msg);
    return write_beside(path, &span, msg);
}

enum err text_write_own(const char *path, const char *text, size_t len,
                        struct err_msg *msg)
{
    const struct text_span span = text_as_span(text, len);
    struct stat st;
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(msg, ERR_IO,
                       "%s: %s where a file of ours is written; remove it",
                       path, S_ISLNK(st.st_mode) ? "a link" : "no plain file");
    return write_beside(path, &span, msg);
}

enum err text_write_changed(struct arena *a, const char *path, const char *text,
                            struct err_msg *msg)
{
    const size_t len = strlen(text);
    struct text_span kept;
    // a longer file is another text: it need not be read
    if (text_read_bytes(a, path, len + 1, &kept, NULL) == ERR_OK &&
        kept.len == len && memcmp(kept.data, text, len) == 0)
        return ERR_OK;
    return text_write_file(path, text, len, msg);
}

/* ---- numbers ---- */

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
        size_t longer = len > name_len ? len : name_len;
        // no word is nearer than the letters that one has more
        size_t least = longer - (len < name_len ? len : name_len);
        if (name_len > TEXT_MAX_WORD || least * 3 > longer ||
            least >= best_distance)
            continue;
        size_t d = edit_distance(word, names[i]);
        // a third: "--rouns" is near "--rounds", "--out" is not near "--top"
        if (d < best_distance && d * 3 <= longer) {
            best_distance = d;
            best = names[i];
        }
    }
    return best;
}

size_t text_utf8_bytes(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    if (*p < 0x80)
        return 1;
    size_t n = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;
    if (*p < 0xc2 || *p > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    // too long a form, halves of UTF-16 and what is beyond Unicode
    if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
        (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

const char *text_one_line(struct arena *a, const char *text)
{
    const char *p = text;
    while ((unsigned char)*p >= ' ' && *p != 127)
        p++;
    if (!*p)
        return text;
    char *copy = arena_strdup(a, text);
    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    return copy ? copy : "";
}

/* HTML before 5 has no name for the apostrophe, as XML does. */
const char *text_entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
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

enum { TEXT_MAX_PIPE_BYTES = 1 << 28 };

/* SHA256File() of libmd would wait for ever at a pipe. */
enum err text_sha256_file(const char *path, char hex[TEXT_SHA256_HEX],
                          struct err_msg *msg)
{
    struct input in;
    SHA256_CTX sum;
    unsigned char block[1 << 14];
    long long total = 0;
    ssize_t n = 0;
    enum err e = input_open(path, &in, msg);
    if (e != ERR_OK)
        return e;
    SHA256Init(&sum);
    const long long most = in.bytes >= 0 ? LLONG_MAX : TEXT_MAX_PIPE_BYTES;
    while (total <= most && (n = input_read(&in, block, sizeof block)) > 0) {
        SHA256Update(&sum, block, (size_t)n);
        total += n;
    }
    if (n < 0)
        e = err_set(msg, ERR_PARSE, "%s: %s", path, input_why());
    else if (n > 0)
        e = err_set(msg, ERR_PARSE,
                    "%s: more than %lld bytes, want a smaller file", path,
                    most);
    else
        SHA256End(&sum, hex);
    input_close(&in);
    return e;
}

void text_sha256(const void *data, size_t len, char hex[TEXT_SHA256_HEX])
{
    SHA256Data(data, len, hex);
}

const char *text_name_byte(char c, char out[TEXT_BYTE_NAME])
{
    if (c == '\0')
        snprintf(out, TEXT_BYTE_NAME, "the end");
    else
        snprintf(out, TEXT_BYTE_NAME, c > ' ' && c < 127 ? "'%c'" : "\\x%02X",
                 (unsigned char)c);
    return out;
}
