/*
 * How it works: the file is read as a whole, checked line by line, and written
 * again with one line more.
 */
#include "ledger.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEDGER_MAX_BYTES = 1 << 20 };

/* One line: a number, and behind a blank an id; older programs wrote the number
 * alone. */
struct entry {
    double usd;
    const char *id;
    size_t id_len;
};

/* False for a line that is none; *at moves behind it. */
static bool next_entry(const char **at, struct entry *out)
{
    char *rest;
    out->usd = strtod(*at, &rest);
    if (rest == *at || !isfinite(out->usd) || out->usd < 0)
        return false;
    out->id = *rest == ' ' ? rest + 1 : rest;
    out->id_len = strcspn(out->id, "\n");
    *at = out->id + out->id_len;
    return *(*at)++ == '\n' && (out->id > rest || out->id_len == 0);
}

enum err ledger_read(struct arena *a, const char *folder, struct ledger *out,
                     struct err_msg *msg)
{
    struct text_span text;
    struct entry e;
    struct ledger l = {arena_printf(a, "%s/spent.txt", folder), "", 0};
    if (!l.path)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", folder);
    if (access(l.path, F_OK) == 0) {
        enum err err = text_read_file(a, l.path, LEDGER_MAX_BYTES, &text, msg);
        if (err != ERR_OK)
            return err;
        l.text = text.data;
        if (strlen(text.data) != text.len)
            l.text = "?"; // a zero byte would hide what is behind it
    }
    for (const char *p = l.text; *p; l.usd += e.usd)
        if (!next_entry(&p, &e))
            return err_set(msg, ERR_PARSE,
                           "%s: damaged: want lines 'USD ID', what each job "
                           "or run cost; write them again from your bill",
                           l.path);
    *out = l;
    return ERR_OK;
}

static bool ledger_has(const struct ledger *l, const char *id)
{
    struct entry e;
    for (const char *p = l->text; *p && next_entry(&p, &e);)
        if (e.id_len == strlen(id) && strncmp(e.id, id, e.id_len) == 0)
            return true;
    return false;
}

enum err ledger_add(struct arena *a, const char *folder, const char *id,
                    double usd, struct err_msg *msg)
{
    struct ledger l;
    enum err e = ledger_read(a, folder, &l, msg);
    if (e != ERR_OK || !(usd > 0) || ledger_has(&l, id))
        return e;
    const char *text = arena_printf(a, "%s%.6f %s\n", l.text, usd, id);
    return text ? text_write_file(l.path, text, strlen(text), msg)
                : err_set(msg, ERR_NOMEM, "%s: out of memory", folder);
}
