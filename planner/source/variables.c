#include "variables.h"

#include "base/text.h"

#include <string.h>

// names of a script that anybody wrote; others are left out
enum { VARIABLES_MAX = 256, VARIABLES_NAME_BYTES = 128 };

// no program has such a name
static const char command[] = "moe-layout-variable";

struct names {
    const char *name[VARIABLES_MAX];
    bool array[VARIABLES_MAX];
    int n;
};

static bool variables_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (c >= '0' && c <= '9');
}

/* An array keeps its words, a text is cut at blanks. */
static bool variables_add(struct arena *a, struct names *to, const char *name,
                          size_t len, bool array)
{
    for (int i = 0; i < to->n; i++)
        if (strlen(to->name[i]) == len && memcmp(to->name[i], name, len) == 0) {
            to->array[i] = to->array[i] || array;
            return true;
        }
    if (to->n == VARIABLES_MAX || len > VARIABLES_NAME_BYTES)
        return true;
    to->name[to->n] = arena_strndup(a, name, len);
    to->array[to->n] = array;
    return to->name[to->n++] != NULL;
}

/* Every NAME= and NAME+= of the text, in whatever place: one that is none has
 * no value and adds no words. */
static bool variables_find(struct arena *a, const char *text, struct names *to)
{
    for (const char *p = text; *p;) {
        const char *name = p;
        while (variables_is_letter(*p))
            p++;
        size_t len = (size_t)(p - name);
        const char *equals = p + (*p == '+');
        bool is = len && *equals == '=' && !(*name >= '0' && *name <= '9') &&
                  (name == text || strchr(" \t\n;", name[-1]));
        if (is && !variables_add(a, to, name, len, equals[1] == '('))
            return false;
        p += *p && !variables_is_letter(*p);
    }
    return true;
}

const char *variables_script(struct arena *a, const char *text)
{
    struct names all = {.n = 0};
    if (!variables_find(a, text, &all))
        return NULL;
    const char *out = arena_printf(a, "%s\n", text);
    for (int i = 0; i < all.n && out; i++)
        out = all.array[i]
                  ? arena_printf(a, "%s%s \"${%s[@]}\"\n", out, command,
                                 all.name[i])
                  : arena_printf(a, "%s%s $%s\n", out, command, all.name[i]);
    return out;
}

/* Is it a variable that holds flags? */
static bool variables_is(const struct bash_call *call)
{
    return call->n > 1 && strcmp(call->word[0].text, command) == 0 &&
           text_starts(call->word[1].text, "--");
}

/* One call a way, of all the words: as if a launch had all of the variables on
 * its line. */
bool variables_join(struct arena *a, struct bash_result *r)
{
    struct bash_way *ways = arena_alloc(a, r->n_ways, sizeof *ways);
    if (!ways)
        return false;
    for (size_t w = 0; w < r->n_ways; w++) {
        size_t n = 1, at = 1;
        const struct bash_way *from = &r->way[w];
        ways[w] = *from;
        for (size_t i = 0; i < from->n_calls; i++)
            n += variables_is(&from->call[i]) ? from->call[i].n : 0;
        struct bash_call *call = arena_alloc(a, 1, sizeof *call);
        struct bash_word *word = arena_alloc(a, n, sizeof *word);
        if (!call || !word)
            return false;
        ways[w].n_calls = 0;
        for (size_t i = 0; i < from->n_calls; i++) {
            const struct bash_call *one = &from->call[i];
            if (!variables_is(one))
                continue;
            if (at == 1)
                *call = *one;
            memcpy(word + at, one->word + 1, (one->n - 1) * sizeof *word);
            at += one->n - 1;
            ways[w].n_calls = 1;
        }
        word[0] = (struct bash_word){
            .text = "variables", .file = call->file, .line = call->line};
        call->word = word;
        call->n = at;
        ways[w].call = call;
    }
    r->way = ways;
    return true;
}
