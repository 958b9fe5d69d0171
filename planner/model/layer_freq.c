/*
 * How it works: Megatron passes the text to Python's eval(); here the few forms
 * that occur are read by recursive descent: a sum of products of lists and
 * numbers. Entries go to one array; a product repeats what its first factor put
 * there. An error sets `bad` and is asked for at the end.
 */
#include "layer_freq.h"

#include "base/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// above any number of layers; brackets of published configs nest once
enum { LAYER_FREQ_MAX_ENTRIES = 8192, LAYER_FREQ_MAX_DEPTH = 16 };

struct reader {
    const char *p;
    uint8_t out[LAYER_FREQ_MAX_ENTRIES];
    int n;
    bool bad;
};

static char layer_freq_peek(struct reader *r)
{
    while (*r->p == ' ')
        r->p++;
    return *r->p;
}

static bool layer_freq_accept(struct reader *r, char c)
{
    bool is = layer_freq_peek(r) == c;
    r->p += is;
    return is;
}

/* Stops growing above the number of entries, so that no text overflows it. */
static int layer_freq_number(struct reader *r)
{
    int v = 0, digits = 0;
    for (layer_freq_peek(r); *r->p >= '0' && *r->p <= '9'; r->p++, digits++)
        v = v < LAYER_FREQ_MAX_ENTRIES ? v * 10 + (*r->p - '0') : v;
    r->bad = r->bad || digits == 0;
    return v;
}

static void layer_freq_append(struct reader *r, int v)
{
    r->bad = r->bad || r->n == LAYER_FREQ_MAX_ENTRIES || v > 1;
    if (!r->bad)
        r->out[r->n++] = (uint8_t)v;
}

static void layer_freq_sum(struct reader *r, int depth);

/* [v, v, ...] or ( sum ); Python takes a comma before the closing bracket. */
static void layer_freq_atom(struct reader *r, int depth)
{
    if (layer_freq_accept(r, '(')) {
        layer_freq_sum(r, depth + 1);
        r->bad = r->bad || !layer_freq_accept(r, ')');
        return;
    }
    r->bad = r->bad || !layer_freq_accept(r, '[');
    while (!r->bad && layer_freq_peek(r) != ']') {
        layer_freq_append(r, layer_freq_number(r));
        if (!layer_freq_accept(r, ','))
            break;
    }
    r->bad = r->bad || !layer_freq_accept(r, ']');
}

/* atom { * number } */
static void layer_freq_product(struct reader *r, int depth)
{
    int first = r->n;
    layer_freq_atom(r, depth);
    while (!r->bad && layer_freq_accept(r, '*')) {
        // a list is the first factor: 3*[0] is Python, too, but in no config
        int times = layer_freq_number(r), len = r->n - first;
        // [1]*0 is the empty list
        r->n = times ? r->n : first;
        for (int k = 1; k < times && !r->bad; k++)
            for (int i = 0; i < len; i++)
                layer_freq_append(r, r->out[first + i]);
    }
}

static void layer_freq_sum(struct reader *r, int depth)
{
    r->bad = r->bad || depth > LAYER_FREQ_MAX_DEPTH;
    do {
        if (r->bad)
            return;
        layer_freq_product(r, depth);
    } while (layer_freq_accept(r, '+'));
}

/* What the flag's list says; `flag` begins messages. */
static enum err layer_freq_list(const char *flag, const char *text,
                                int n_layers, uint8_t *flags,
                                struct err_msg *msg)
{
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", flag);
    r->p = text;
    layer_freq_sum(r, 0);
    bool bad = r->bad || layer_freq_peek(r) != '\0';
    int n = r->n;
    if (!bad && n == n_layers)
        memcpy(flags, r->out, (size_t)n);
    free(r);
    if (bad)
        return err_set(msg, ERR_PARSE,
                       "%s: got '%s', want an integer or lists of 0 and 1 such "
                       "as ([0]*3+[1]*58)",
                       flag, text);
    if (n != n_layers)
        return err_set(msg, ERR_RANGE,
                       "%s: '%s' has %d entries, want --num-layers %d", flag,
                       text, n, n_layers);
    return ERR_OK;
}

/* Megatron would divide by it. */
static enum err layer_freq_check(const char *flag, int64_t every,
                                 struct err_msg *msg)
{
    if (every >= 1)
        return ERR_OK;
    return err_set(msg, ERR_RANGE, "%s: got %lld, want at least 1", flag,
                   (long long)every);
}

enum err layer_freq_expand(const char *text, int n_layers, uint8_t *flags,
                           struct err_msg *msg)
{
    static const char flag[] = "--moe-layer-freq";
    int64_t every = 0;
    if (!text_to_int64(text, &every))
        return layer_freq_list(flag, text, n_layers, flags, msg);
    enum err e = layer_freq_check(flag, every, msg);
    for (int i = 0; i < n_layers && e == ERR_OK; i++)
        // the first layer has experts: arguments.py counts layers from 0
        flags[i] = i % every == 0;
    return e;
}

/* As --window-attn-skip-freq and --linear-attention-freq count: every N-th
 * layer, from 1, is the other sort. */
enum err layer_freq_but_every(const char *flag, const char *text, int n_layers,
                              uint8_t *flags, struct err_msg *msg)
{
    int64_t every = 0;
    if (!text_to_int64(text, &every))
        return layer_freq_list(flag, text, n_layers, flags, msg);
    enum err e = layer_freq_check(flag, every, msg);
    for (int i = 0; i < n_layers && e == ERR_OK; i++)
        flags[i] = (i + 1) % every != 0;
    return e;
}

enum err layer_freq_windows(const char *text, int n_layers, uint8_t *flags,
                            struct err_msg *msg)
{
    if (text)
        return layer_freq_but_every("--window-attn-skip-freq", text, n_layers,
                                    flags, msg);
    memset(flags, 1, (size_t)n_layers);
    return ERR_OK;
}
