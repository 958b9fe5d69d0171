#include "findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FINDINGS_TEXT = 1024 }; // as an err_msg, which some of them quote

void findings_add(struct findings *f, enum finding_weight weight,
                  const char *name, const char *fmt, ...)
{
    char text[FINDINGS_TEXT];
    va_list args;
    if (f->n == FINDINGS_MAX) // those before say enough
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (char *c = text; *c; c++) // logs are quoted as they are
        *c = (unsigned char)*c < ' ' ? '?' : *c;
    const char *copy = arena_strdup(f->arena, text);
    if (copy)
        f->item[f->n++] = (struct finding){weight, name, copy};
    else
        f->failed = true;
}

bool findings_has(const struct findings *f, const char *name)
{
    for (int i = 0; i < f->n; i++)
        if (strcmp(f->item[i].name, name) == 0)
            return true;
    return false;
}

const char *finding_weight_name(enum finding_weight w)
{
    return w == FINDING_WRONG ? "wrong" : "note";
}
