#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int exit_code;
    const char *name;
    const char *text;
} table[] = {
#define ERR_ROW(name, code, text) {code, #name, text},
    ERR_TABLE(ERR_ROW)
#undef ERR_ROW
};

/* A message is one line, whatever input it quotes. */
static void one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            *text = '?';
}

enum err err_set(struct err_msg *msg, enum err code, const char *fmt, ...)
{
    if (!msg)
        return code;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg->text, sizeof msg->text, fmt, ap);
    va_end(ap);
    one_line(msg->text);
    return code;
}

enum err err_prefix(struct err_msg *msg, enum err code, const char *fmt, ...)
{
    if (!msg)
        return code;
    struct err_msg old = *msg;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(msg->text, sizeof msg->text, fmt, ap);
    va_end(ap);
    // cutting is meant here, and gcc warns of an snprintf() that may cut
    size_t used = n < 0 ? 0 : (size_t)n, size = sizeof msg->text;
    for (const char *p = ": "; *p && used + 1 < size; p++)
        msg->text[used++] = *p;
    for (const char *p = old.text; *p && used + 1 < size; p++)
        msg->text[used++] = *p;
    if (used < size)
        msg->text[used] = '\0';
    one_line(msg->text);
    return code;
}

int err_exit_code(enum err code)
{
    return table[code].exit_code;
}

const char *err_name(enum err code)
{
    return table[code].name;
}

const char *err_text(enum err code)
{
    return table[code].text;
}
