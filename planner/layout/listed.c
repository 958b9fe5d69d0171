/*
 * How it works: one pass over the text, a letter for each word and a bar
 * between two stages. The letters are never longer than the text that they
 * stand for.
 */
#include "listed.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *word;
    char letter;
} listed_words[] = {
    {"embedding", 'E'}, {"decoder", 't'}, {"mtp", 'm'}, {"loss", 'L'}};

struct lister {
    const char *at;
    char *out; // of `room` bytes, as many as the text
    size_t n, room;
    int n_layers; // seen and not yet written
    bool started; // a stage was seen
};

/* "t" or "t*5", for as many as came one after the other. */
static void listed_flush(struct lister *l)
{
    if (l->n_layers > 0)
        l->out[l->n++] = 't';
    if (l->n_layers > 1)
        l->n +=
            (size_t)snprintf(l->out + l->n, l->room - l->n, "*%d", l->n_layers);
    l->n_layers = 0;
}

static void listed_add(struct lister *l, char letter)
{
    if (letter == 't') {
        l->n_layers++;
        return;
    }
    listed_flush(l);
    l->out[l->n++] = letter;
}

/* True, and behind it, where the next character that is no blank is `c`. */
static bool listed_take(struct lister *l, char c)
{
    while (isspace((unsigned char)*l->at))
        l->at++;
    if (*l->at != c)
        return false;
    l->at++;
    return true;
}

/* A word, in quotes or not. */
static bool listed_unit(struct lister *l)
{
    const char quote = listed_take(l, '"')    ? '"'
                       : listed_take(l, '\'') ? '\''
                                              : 0;
    for (size_t i = 0; i < sizeof listed_words / sizeof listed_words[0]; i++) {
        const size_t n = strlen(listed_words[i].word);
        if (strncmp(l->at, listed_words[i].word, n) != 0 ||
            isalnum((unsigned char)l->at[n]))
            continue;
        l->at += n;
        listed_add(l, listed_words[i].letter);
        return !quote || *l->at++ == quote;
    }
    return false;
}

/* Items up to the bracket that closes; a comma may stand behind the last. */
static bool listed_items(struct lister *l, bool (*item)(struct lister *))
{
    if (!listed_take(l, '['))
        return false;
    while (!listed_take(l, ']')) {
        if (!item(l))
            return false;
        if (!listed_take(l, ',')) {
            if (!listed_take(l, ']'))
                return false;
            break;
        }
    }
    return true;
}

static bool listed_stage(struct lister *l)
{
    if (l->started)
        listed_add(l, '|');
    l->started = true;
    return listed_items(l, listed_unit);
}

enum err layout_of_list(struct arena *a, const char *text, const char **out,
                        struct err_msg *msg)
{
    const char *start = text + strspn(text, " \t\n");
    *out = text;
    if (*start != '[')
        return ERR_OK;
    struct lister l = {.at = start, .room = strlen(start) + 1};
    l.out = arena_alloc(a, l.room, 1);
    if (!l.out)
        return err_set(msg, ERR_NOMEM, "layout: out of memory");
    if (!listed_items(&l, listed_stage) || *(l.at + strspn(l.at, " \t\n")))
        return err_set(msg, ERR_RANGE,
                       "layout list: at '%.20s': want stages of embedding, "
                       "decoder, mtp and loss, as [[\"embedding\", "
                       "\"decoder\"], [\"decoder\", \"loss\"]]",
                       l.at);
    listed_flush(&l);
    l.out[l.n] = '\0';
    *out = l.out;
    return ERR_OK;
}
