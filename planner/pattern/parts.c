/*
 * How it works: without bars the segments are slices of the list of layers, as
 * select_pipeline_segment() takes them, in Python's meaning of a slice: a
 * place below 0 counts from the end. Only there may segments overlap.
 */
#include "parts.h"

#include <string.h>

/* ---- cutting ---- */

/* The text up to a character, or all of it. */
static struct pattern_part part_until(const char *p, char end)
{
    const char *q = strchr(p, end);
    return (struct pattern_part){p, q ? (size_t)(q - p) : strlen(p)};
}

/* Parts that are all empty are no MTP, however many slashes there are. */
static void parts_read_mtp(const char *p, struct pattern_parts *out)
{
    bool any = false;
    out->mtp = part_until(p, '/');
    for (;;) {
        struct pattern_part one = part_until(p, '/');
        bool same =
            one.len == out->mtp.len && memcmp(one.p, out->mtp.p, one.len) == 0;
        any = any || one.len;
        out->n_depths++;
        if (!same && !out->differ)
            out->differ = one.p;
        if (!one.p[one.len])
            break;
        p = one.p + one.len + 1;
    }
    if (!any)
        out->n_depths = 0;
}

/* Layers are the characters that are no bars: whether they are layers is asked
 * later. */
void parts_read(const char *text, struct pattern_parts *out)
{
    *out = (struct pattern_parts){
        .main = part_until(text, '/'), .mtp = {"", 0}, .n_segments = 1};
    for (size_t i = 0; i < out->main.len; i++)
        out->n_segments += text[i] == '|';
    out->n_layers = (int)out->main.len - (out->n_segments - 1);
    if (text[out->main.len])
        parts_read_mtp(text + out->main.len + 1, out);
}

char *part_without_bars(struct arena *a, const struct pattern_part *part)
{
    char *out = arena_alloc(a, part->len + 1, 1);
    size_t n = 0;
    for (size_t i = 0; out && i < part->len; i++)
        if (part->p[i] != '|')
            out[n++] = part->p[i];
    return out;
}

/* ---- symbols ---- */

size_t part_stranger(const struct pattern_part *part, const char *symbols,
                     bool bars)
{
    size_t i = 0;
    while (i < part->len &&
           ((bars && part->p[i] == '|') || strchr(symbols, part->p[i])))
        i++;
    return i;
}

static bool part_is_latent(char c)
{
    return c == '+' || c == 'D';
}

size_t part_first_mixed(const struct pattern_part *part)
{
    bool plain = false, latent = false;
    size_t i = 0;
    for (; i < part->len; i++) {
        plain = plain || part->p[i] == '*';
        latent = latent || part_is_latent(part->p[i]);
        if (plain && latent)
            break;
    }
    return i;
}

bool part_mixes(const struct pattern_part *part)
{
    return part_first_mixed(part) < part->len;
}

/* ---- segments ---- */

/* Layers [from, from + n) of a list of `all`. */
static const char *parts_slice(struct arena *a, const struct pattern *p,
                               int64_t from, int64_t n)
{
    const int64_t all = p->n_layers;
    int64_t lo = from, hi = from + n;
    lo = lo < 0 ? (lo + all > 0 ? lo + all : 0) : lo;
    hi = hi < 0 ? hi + all : hi;
    hi = hi > all ? all : hi;
    // empty ones share a string: there may be many
    return lo < hi ? arena_strndup(a, p->main + lo, (size_t)(hi - lo)) : "";
}

/* The ends as the flags say, what is between them in equal shares. */
static bool parts_fill_even(struct arena *a, const struct pattern_flags *f,
                            struct pattern *p, int *offset)
{
    const int64_t first = f->first ? *f->first : 0;
    const int64_t last = f->last ? *f->last : 0;
    const int ranks = p->pp - (f->first != NULL) - (f->last != NULL);
    const int64_t each = ranks > 0 ? (p->n_layers - first - last) / ranks : 0;
    for (int r = 0; r < p->pp; r++) {
        int64_t from = (r - (f->first != NULL)) * each + first, n = each;
        if (f->first && r == 0)
            from = 0, n = first;
        else if (f->last && r == p->pp - 1)
            from = p->n_layers - last, n = last;
        p->segment[r] = parts_slice(a, p, from, n);
        offset[r] = (int)from;
        if (!p->segment[r])
            return false;
    }
    return true;
}

/* What stands between the bars, which may be nothing. */
static bool parts_fill_bars(struct arena *a, const struct pattern_parts *parts,
                            struct pattern *p, int *offset)
{
    const char *at = parts->main.p, *end = at + parts->main.len;
    int n = 0;
    for (int s = 0; s < p->n_segments; s++) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        size_t len = (size_t)((bar ? bar : end) - at);
        p->segment[s] = len ? arena_strndup(a, at, len) : "";
        offset[s] = n;
        if (!p->segment[s])
            return false;
        n += (int)len;
        at += len + 1;
    }
    return true;
}

/* Each segment begins where the one before it ends, the last one at the end. */
static bool parts_cover(const struct pattern *p, const int *offset)
{
    int n = 0;
    for (int s = 0; s < p->n_segments; s++) {
        if (offset[s] != n)
            return false;
        n += (int)strlen(p->segment[s]);
    }
    return n == p->n_layers;
}

/* One stage without bars is a single segment; several are cut evenly, which is
 * what `bars` tells apart. */
bool parts_segments(struct arena *a, const struct pattern_parts *parts,
                    const struct pattern_flags *f, struct pattern *out)
{
    bool bars = parts->n_segments > 1 || f->pp == 1;
    out->n_segments = bars ? parts->n_segments : f->pp;
    out->vpp = out->n_segments / f->pp;
    int *offset = arena_alloc(a, (size_t)out->n_segments, sizeof *offset);
    out->segment =
        arena_alloc(a, (size_t)out->n_segments, sizeof *out->segment);
    out->main = part_without_bars(a, &parts->main);
    out->mtp =
        parts->n_depths ? arena_strndup(a, parts->mtp.p, parts->mtp.len) : "";
    out->offset = offset;
    if (!offset || !out->segment || !out->main || !out->mtp)
        return false;
    bool all = bars ? parts_fill_bars(a, parts, out, offset)
                    : parts_fill_even(a, f, out, offset);
    out->covers = all && parts_cover(out, offset);
    return all;
}
