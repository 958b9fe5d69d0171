/*
 * Prints what planner/shell reads in a script, for tests. usage:
 *   shell_calls [-d | -j | -s] SCRIPT [ARG]...
 * -d: only calls of "rec", a line each, "<word><word>", of the first way;
 * -j: every call of the first way as a JSON line (program, line, argv);
 * -s: nothing but "ok" or the error. Else all ways with notes.
 */
#include "base/json.h"
#include "base/text.h"
#include "shell/bash.h"

#include <stdio.h>
#include <string.h>

struct shown {
    struct arena arena;
    struct bash_result result;
    char mode;
};

/* As bash sees it: without marks of what is not set. */
static const char *plain_text(struct shown *s, const char *text)
{
    char *copy = arena_strdup(&s->arena, text), *to = copy;
    for (const char *p = text; *p;) {
        const char *end = *p == BASH_MARK ? strchr(p, BASH_MARK_END) : NULL;
        bool unset = end && bash_first_cause(&s->result, p)->kind == BASH_UNSET;
        if (!unset)
            *to++ = *p;
        p = unset ? end + 1 : p + 1;
    }
    *to = '\0';
    return copy;
}

static const char *shown_text(struct shown *s, const char *text)
{
    if (s->mode == 'd')
        text = plain_text(s, text);
    const char *t = bash_show(&s->arena, &s->result, text);
    return t ? t : "?";
}

static void print_words(struct shown *s, const struct bash_call *c)
{
    size_t from = s->mode == 'd' ? 1 : 0;
    size_t n = 0;
    for (size_t i = from; i < c->n; i++) {
        const char *text = shown_text(s, c->word[i].text);
        bool loose = c->word[i].unquoted_mark;
        if (s->mode == 'd' && loose && !*text)
            continue; // bash has no word here
        printf("<%s>%s", text, s->mode != 'd' && loose ? "?" : "");
        n++;
    }
    if (s->mode == 'd' && n == 0)
        printf("<>");
    printf("\n");
}

static void print_json(struct shown *s, const struct bash_call *c)
{
    cJSON *o = cJSON_CreateObject();
    cJSON *argv = cJSON_AddArrayToObject(o, "argv");
    cJSON_AddNumberToObject(o, "line", c->line);
    for (size_t i = 0; i < c->n; i++)
        cJSON_AddItemToArray(
            argv, cJSON_CreateString(shown_text(s, c->word[i].text)));
    json_print_and_delete(o, false, stdout, NULL);
}

static void print_way(struct shown *s, const struct bash_way *w)
{
    for (size_t i = 0; i < w->n_decisions && !s->mode; i++)
        printf("  if %s:%d: %s: %d\n", w->decision[i].file, w->decision[i].line,
               shown_text(s, w->decision[i].text), w->decision[i].side);
    for (size_t i = 0; i < w->n_calls; i++) {
        const struct bash_call *c = &w->call[i];
        if (s->mode == 'j') {
            print_json(s, c);
        } else if (s->mode == 'd') {
            if (strcmp(c->word[0].text, "rec") == 0)
                print_words(s, c);
        } else {
            printf("  %s:%d: ", c->file, c->line);
            print_words(s, c);
        }
    }
    if (w->ended && !s->mode)
        printf("  ended line %d: %s\n", w->ended_line, w->ended);
}

static void print_result(struct shown *s)
{
    const struct bash_result *r = &s->result;
    for (size_t i = 0; i < r->n_ways && (i == 0 || !s->mode); i++) {
        if (!s->mode)
            printf("way %zu of %zu\n", i + 1, r->n_ways);
        print_way(s, &r->way[i]);
    }
    for (size_t i = 0; i < r->n_notes && !s->mode; i++)
        printf("note %s\n", r->note[i]);
    for (size_t i = 0; i < r->n_missing && !s->mode; i++)
        printf("missing %s\n", r->missing[i]);
}

int main(int argc, char **argv)
{
    struct shown s = {0};
    struct err_msg msg = {""};
    struct text_span text = {0};
    int at = argc > 1 && argv[1][0] == '-' ? 2 : 1;
    s.mode = at == 2 ? argv[1][1] : '\0';
    if (at >= argc)
        return 2;
    arena_init(&s.arena);
    const char *slash = strrchr(argv[at], '/');
    char *folder = slash ? arena_strndup(&s.arena, argv[at],
                                         (size_t)(slash - argv[at]) + 1)
                         : arena_strdup(&s.arena, ".");
    enum err e = text_read_file(&s.arena, argv[at], 1 << 24, &text, &msg);
    const struct bash_input in = {
        .text = text.data ? text.data : "",
        .name = argv[at],
        .folder = folder,
        .args = (const char *const *)(argv + at + 1),
        .n_args = (size_t)(argc - at - 1),
    };
    if (e == ERR_OK)
        e = bash_run(&s.arena, &in, &s.result, &msg);
    if (e == ERR_OK && s.mode == 's')
        printf("ok\n");
    else if (e == ERR_OK)
        print_result(&s);
    else
        fprintf(stderr, "%s: %s\n", err_name(e), msg.text);
    arena_clear(&s.arena);
    return err_exit_code(e);
}
