/*
 * How it works: read, mapfile and getopts take their text from the redirection
 * or pipe before them; without one, what they set is not known.
 */
#include "assign.h"
#include "builtin.h"

#include "eval.h"
#include "expand.h"

#include <stdlib.h>
#include <string.h>

/* ---- read and mapfile ---- */

struct reading {
    bool raw;
    const char *array; // -a
    char delimiter;
    size_t first; // of the names
};

/* The letters whose value is the next word: read -p "text" X. */
static struct reading read_options(struct bash *sh, const struct bash_words *w)
{
    struct reading r = {.delimiter = '\n', .first = 1};
    for (; r.first < w->n && *w->item[r.first].text == '-'; r.first++) {
        const char *text = w->item[r.first].text;
        size_t n = strlen(text);
        char last = text[n - 1];
        r.raw = r.raw || strchr(text, 'r');
        if (!strchr("adinNptu", last) || r.first + 1 >= w->n)
            continue;
        const char *value = bash_arg(sh, w, ++r.first);
        if (last == 'a')
            r.array = value;
        if (last == 'd')
            r.delimiter = *value;
    }
    return r;
}

/* The next line; NULL at the end. `*ended`: without a delimiter behind it. */
static const char *take_line(struct bash *sh, const struct reading *r,
                             bool *ended)
{
    struct bash_stdin *in = sh->at.in;
    const char *from = in->text + in->pos;
    struct bash_text t = {0};
    const char *p = from;
    for (; *p && *p != r->delimiter; p++) {
        if (*p == '\\' && !r->raw && p[1]) {
            p++;
            if (*p == '\n')
                continue;
        }
        bash_putc(sh, &t, *p);
    }
    *ended = !*p;
    in->pos += (size_t)(p - from) + (*p != '\0');
    return bash_text_of(&t);
}

static bool is_gap(const char *ifs, char c, bool blank)
{
    return c && strchr(ifs, c) && (strchr(" \t\n", c) != NULL) == blank;
}

/* Takes the next field of a line; the last name takes the rest. */
static const char *take_field(struct bash *sh, const char **line,
                              const char *ifs, bool last)
{
    const char *p = *line;
    while (is_gap(ifs, *p, true))
        p++;
    const char *from = p, *end = p;
    if (last) {
        end = p + strlen(p);
        while (end > from && is_gap(ifs, end[-1], true))
            end--;
        *line = p + strlen(p);
        return bash_strndup(sh, from, (size_t)(end - from));
    }
    while (*p && !strchr(ifs, *p))
        p += bash_mark_len(p) ? bash_mark_len(p) : 1;
    end = p;
    while (is_gap(ifs, *p, true))
        p++;
    if (is_gap(ifs, *p, false))
        p++;
    *line = p;
    return bash_strndup(sh, from, (size_t)(end - from));
}

/* Several names share a line by IFS; the last one takes what is left. */
static void read_names(struct bash *sh, const struct bash_words *w,
                       const struct reading *r, const char *line)
{
    const char *ifs = bash_ifs(sh);
    if (r->array) {
        struct bash_field_text f = {0};
        struct bash_words words = {0};
        bash_field_puts(sh, &f, line, BASH_Q_SPLIT);
        bash_split(sh, &f, &words);
        bash_put_var(sh, r->array, bash_list_of(sh, &words));
    } else if (r->first >= w->n) {
        bash_set(sh, "REPLY", line);
    }
    // words of an unknown piece may fill any of the names from there on
    const char *lost = NULL;
    for (size_t i = r->first; i < w->n && !r->array; i++) {
        const char *text =
            lost ? lost : take_field(sh, &line, ifs, i + 1 == w->n);
        const char *mark = bash_first_unknown(sh, text);
        if (mark && !bash_is_one_word(bash_mark_cause(sh, mark)))
            lost = mark;
        bash_assign_text(sh, bash_arg(sh, w, i), text);
    }
}

/* Without a known input, what it sets is unknown, and so is whether there
 * was a line. */
void bash_read(struct bash *sh, const struct bash_words *w)
{
    struct reading r = read_options(sh, w);
    bool ended = false;
    if (!sh->at.in) {
        const char *mark =
            bash_unknown(sh, w->n > r.first ? w->item[w->n - 1].text : "read",
                         "it is read from outside of the script");
        read_names(sh, w, &r, mark);
        bash_doubt_command(sh, w);
        return;
    }
    const char *line = take_line(sh, &r, &ended);
    read_names(sh, w, &r, line);
    if (bash_has_unknown(sh, line) && ended && sh->at.in->text[0] == BASH_MARK)
        bash_doubt_command(sh, w);
    else
        bash_set_status(sh, ended);
}

/* A line that is not known may be several: the array has no known length
 * then. */
void bash_mapfile(struct bash *sh, const struct bash_words *w)
{
    struct reading r = {.raw = true, .delimiter = '\n'};
    struct bash_words lines = {0};
    const char *name = "MAPFILE";
    bool trims = false, ended = false;
    for (size_t i = 1; i < w->n; i++) {
        const char *text = bash_arg(sh, w, i);
        trims = trims || (*text == '-' && strchr(text, 't'));
        if (strcmp(text, "-d") == 0)
            r.delimiter = *bash_arg(sh, w, ++i);
        else if (*text != '-')
            name = text;
    }
    while (sh->at.in && sh->at.in->text[sh->at.in->pos]) {
        const char *line = take_line(sh, &r, &ended);
        if (!trims && !ended)
            line = bash_printf(sh, "%s%c", line, r.delimiter);
        bash_words_add(sh, &lines, line, false, bash_has_unknown(sh, line));
    }
    if (!sh->at.in)
        bash_words_add(
            sh, &lines,
            bash_unknown(sh, name, "it is read from outside of the script"),
            false, true);
    bash_put_var(sh, name, bash_list_of(sh, &lines));
    bash_set_status(sh, 0);
}

/* ---- getopts ---- */

struct getopts {
    const char *letters, *name;
    const struct bash_var *args;
    int64_t index, place; // word from 1, character in it from 1
};

static void getopts_end(struct bash *sh, const struct getopts *g)
{
    bash_set(sh, "OPTIND", bash_printf(sh, "%lld", (long long)g->index));
    bash_set(sh, "\x05optplace", bash_printf(sh, "%lld", (long long)g->place));
}

/* The option at g, with its value; the name's new value is returned. */
static const char *getopts_take(struct bash *sh, struct getopts *g,
                                const char *word)
{
    char c = word[g->place++];
    const char *at = c == ':' ? NULL : strchr(g->letters, c);
    bool more = word[g->place] != '\0', silent = *g->letters == ':';
    const char *value = NULL;
    if (at && at[1] == ':') {
        const struct bash_item_of *next = bash_element(g->args, g->index, NULL);
        value = more ? word + g->place : next ? next->text : NULL;
        g->index += !more && next;
        more = false;
    }
    bool lacks = at && at[1] == ':' && !value;
    if (!more) {
        g->index++;
        g->place = 1;
    }
    if ((!at || lacks) && silent)
        value = bash_printf(sh, "%c", c);
    if (value)
        bash_set(sh, "OPTARG", value);
    else
        bash_unset_var(sh, "OPTARG");
    return lacks ? (silent ? ":" : "?") : at ? bash_printf(sh, "%c", c) : "?";
}

/* OPTIND and the place within -abc go on from call to call, as bash keeps
 * them. */
void bash_getopts(struct bash *sh, const struct bash_words *w)
{
    struct getopts g = {.letters = bash_arg(sh, w, 1),
                        .name = bash_arg(sh, w, 2)};
    const char *index = bash_get_text(sh, "OPTIND");
    const char *place = bash_get_text(sh, "\x05optplace");
    struct bash_words rest = {0};
    for (size_t i = 3; i < w->n; i++)
        bash_words_add(sh, &rest, w->item[i].text, false, false);
    g.args = w->n > 3 ? bash_list_of(sh, &rest) : bash_get(sh, BASH_POSITIONAL);
    g.index = index ? strtoll(index, NULL, 10) : 1;
    g.place = place ? strtoll(place, NULL, 10) : 1;
    const struct bash_item_of *e = bash_element(g.args, g.index - 1, NULL);
    const char *word = e ? bash_plain(sh, e->text, false) : "";
    if (g.index < 1 || *word != '-' || !word[1] || strcmp(word, "--") == 0) {
        g.index += strcmp(word, "--") == 0;
        g.place = 1;
        bash_set(sh, g.name, "?");
        getopts_end(sh, &g);
        bash_set_status(sh, 1);
        return;
    }
    if (g.place < 1 || (size_t)g.place >= strlen(word))
        g.place = 1;
    const char *value = getopts_take(sh, &g, word);
    bash_set(sh, g.name, value);
    getopts_end(sh, &g);
    bash_set_status(sh, 0);
}
