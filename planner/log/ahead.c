/*
 * How it works: in a large file two slots change hands between the thread,
 * which fills them, and the caller, which takes them in turn. A slot is the
 * thread's while `full` is false. What follows a piece's last newline is
 * carried to the start of the next piece.
 */
#include "ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Two are enough: while the caller works on one the thread fills the other, and
 * the slower of the two sets the pace whatever the number. */
enum { AHEAD_SLOTS = 2 };

struct slot {
    struct log_piece piece;
    struct log_block rows; // of the piece, and what rows look like
    bool full;
};

struct logahead {
    FILE *file;
    struct log_piece_sizes sizes;
    struct slot slots[AHEAD_SLOTS];
    bool has_end;    // a plain file
    long long bytes; // read so far
    char *carry;     // of the thread: what follows the last newline
    size_t n_carry;
    size_t next; // slot that the caller takes next
    struct slot *held;
    bool stop;
    bool has_mutex, has_cond, has_thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
};

/* Waits until the slot is in the wanted state; false when asked to stop. */
static bool wait_for(struct logahead *a, const struct slot *s, bool full)
{
    pthread_mutex_lock(&a->mutex);
    while (s->full != full && !a->stop)
        pthread_cond_wait(&a->changed, &a->mutex);
    bool go = !a->stop;
    pthread_mutex_unlock(&a->mutex);
    return go;
}

/* Gives a slot to the other side: filled to the caller, emptied to the thread.
 * There is one waiter at most, so that a signal reaches it. */
static void hand_over(struct logahead *a, struct slot *s, bool full)
{
    pthread_mutex_lock(&a->mutex);
    s->full = full;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->mutex);
}

/* Appends to the `kept` bytes that are in the buffer and cuts the piece at its
 * last newline; returns how many bytes come after it. */
static size_t ahead_append(struct logahead *a, struct log_piece *p, size_t kept)
{
    size_t room = a->sizes.max_line - kept;
    size_t want = room < a->sizes.read_bytes ? room : a->sizes.read_bytes;
    size_t n = fread(p->buf + kept, 1, want, a->file), len = kept + n;
    p->error = ferror(a->file) ? errno : 0;
    a->bytes += (long long)n;
    p->bytes = a->bytes;
    p->is_file = a->has_end;
    p->last = n == 0 || p->error;
    p->len = len;
    while (!p->last && p->len && p->buf[p->len - 1] != '\n')
        p->len--;
    p->cut = p->len == 0 && len == a->sizes.max_line;
    if (p->cut)
        p->len = len;
    return len - p->len;
}

/* The next piece: the bytes carried over, then as many reads as it takes to end
 * a line. The zeros behind it are what the fast readers stop at. */
static void ahead_fill(struct logahead *a, struct slot *s)
{
    struct log_piece *p = &s->piece;
    memcpy(p->buf, a->carry, a->n_carry);
    size_t rest = a->n_carry;
    do
        rest = ahead_append(a, p, rest);
    while (p->len == 0 && !p->last);
    memcpy(a->carry, p->buf + p->len, rest);
    a->n_carry = rest;
    memset(p->buf + p->len, 0, LOGBLOCK_SLACK);
}

/* The thread looks for rows of ranks as well: they are most of a large log, and
 * the caller then has to take them only. */
static void *ahead_run(void *data)
{
    struct logahead *a = data;
    bool last = false;
    for (size_t i = 0; !last; i = (i + 1) % AHEAD_SLOTS) {
        struct slot *s = &a->slots[i];
        if (!wait_for(a, s, false))
            break;
        struct log_piece *p = &s->piece;
        ahead_fill(a, s);
        logblock_look_ahead(&s->rows, p->buf, p->buf + p->len, &p->runs);
        last = p->last;
        hand_over(a, s, true);
    }
    return NULL;
}

static bool ahead_wants_thread(const struct logahead *a, const struct stat *st)
{
    if (a->sizes.thread_bytes == 0)
        return true;
    return S_ISREG(st->st_mode) && (size_t)st->st_size >= a->sizes.thread_bytes;
}

static void start_thread(struct logahead *a)
{
    a->has_mutex = pthread_mutex_init(&a->mutex, NULL) == 0;
    a->has_cond = a->has_mutex && pthread_cond_init(&a->changed, NULL) == 0;
    a->has_thread =
        a->has_cond && pthread_create(&a->thread, NULL, ahead_run, a) == 0;
}

static bool alloc_slots(struct logahead *a)
{
    a->carry = malloc(a->sizes.max_line);
    bool ok = a->carry != NULL;
    for (size_t i = 0; i < AHEAD_SLOTS && ok; i++) {
        a->slots[i].piece.buf = malloc(a->sizes.max_line + LOGBLOCK_SLACK);
        ok = a->slots[i].piece.buf != NULL;
    }
    return ok;
}

/* A small file, or one that grows, is read by the caller itself. */
struct logahead *logahead_start(FILE *f, const struct log_piece_sizes *sizes)
{
    struct logahead *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->file = f;
    a->sizes = *sizes;
    if (!alloc_slots(a)) {
        logahead_stop(a);
        return NULL;
    }
    struct stat st = {0};
    const int fd = fileno(f); // -1 of a stream over memory
    a->has_end = fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode));
    if (ahead_wants_thread(a, &st))
        start_thread(a);
    return a;
}

/* The piece of the call before goes back to the thread only now: the caller was
 * still reading it. */
struct log_piece *logahead_next(struct logahead *a)
{
    if (!a->has_thread) {
        ahead_fill(a, &a->slots[0]);
        return &a->slots[0].piece;
    }
    if (a->held)
        hand_over(a, a->held, false);
    a->held = &a->slots[a->next];
    a->next = (a->next + 1) % AHEAD_SLOTS;
    wait_for(a, a->held, true);
    return &a->held->piece;
}

/* Also of one that was never started, or in the midst of a file. */
void logahead_stop(struct logahead *a)
{
    if (!a)
        return;
    if (a->has_thread) {
        pthread_mutex_lock(&a->mutex);
        a->stop = true;
        pthread_cond_broadcast(&a->changed);
        pthread_mutex_unlock(&a->mutex);
        pthread_join(a->thread, NULL);
    }
    if (a->has_cond)
        pthread_cond_destroy(&a->changed);
    if (a->has_mutex)
        pthread_mutex_destroy(&a->mutex);
    for (size_t i = 0; i < AHEAD_SLOTS; i++) {
        free(a->slots[i].piece.buf);
        logblock_runs_clear(&a->slots[i].piece.runs);
        logblock_clear(&a->slots[i].rows);
    }
    free(a->carry);
    free(a);
}
