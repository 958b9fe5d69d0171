#include "talk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { TALK_READ_BYTES = 65536 };

/* Our end does not block: what is said is passed on between waits. */
bool talk_open(struct talk *t)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    *t = (struct talk){.in = ends[0], .out = ends[1]};
    fcntl(t->in, F_SETFD, FD_CLOEXEC);
    fcntl(t->out, F_SETFD, FD_CLOEXEC);
    fcntl(t->in, F_SETFL, O_NONBLOCK);
    return true;
}

/* As shells and C libraries say it in English. */
static void talk_end_line(struct talk *t)
{
    t->line[t->len] = '\0';
    if (strstr(t->line, ": No such file or directory") ||
        strstr(t->line, ": command not found") ||
        strstr(t->line, ": file not found") || // source, of bash
        strstr(t->line, ": not found")) {      // of dash
        if (t->n_kept < TALK_MAX_KEPT)
            memcpy(t->kept[t->n_kept++], t->line, (size_t)t->len + 1);
        t->n_missing++;
    }
    t->len = 0;
}

/* Longer lines are cut: those that are kept become part of a message, to which
 * control characters do not belong. */
void talk_hear(struct talk *t, const char *text, int len)
{
    for (int i = 0; i < len; i++) {
        if (text[i] == '\n')
            talk_end_line(t);
        else if (t->len < TALK_LINE_BYTES - 1)
            t->line[t->len++] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
    }
}

/* A reader that is gone takes nothing more; the script goes on. */
static void talk_say(const char *text, ssize_t len)
{
    while (len > 0) {
        ssize_t n = write(STDERR_FILENO, text, (size_t)len);
        if (n < 0 && errno != EINTR)
            return;
        text += n > 0 ? n : 0;
        len -= n > 0 ? n : 0;
    }
}

bool talk_pass(struct talk *t)
{
    char text[TALK_READ_BYTES];
    ssize_t n = read(t->in, text, sizeof text);
    if (n == 0) { // nobody can say more: no end that is polled forever
        close(t->in);
        t->in = -1;
    }
    if (n <= 0)
        return false;
    talk_hear(t, text, (int)n);
    talk_say(text, n);
    return true;
}

void talk_close(struct talk *t)
{
    if (t->in >= 0)
        close(t->in);
    if (t->out >= 0)
        close(t->out);
    t->in = t->out = -1;
}
