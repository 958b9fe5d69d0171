/* Any text is read as a bash script without a fault, with its marks sound, and
 * within the limits of one reading. */
#include "base/arena.h"
#include "shell/bash.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_text(const struct bash_result *r, const char *text)
{
    for (const char *p = strchr(text, BASH_MARK); p;
         p = strchr(p + 1, BASH_MARK))
        if (!strchr(p, BASH_MARK_END) || !bash_first_cause(r, p))
            abort();
}

static void check_call(const struct bash_result *r, const struct bash_call *c)
{
    if (c->n == 0 || !c->file || c->line < 1)
        abort();
    for (size_t i = 0; i < c->n; i++)
        check_text(r, c->word[i].text);
    for (size_t i = 0; i < c->n_env; i++)
        check_text(r, c->env[i].value);
    if (c->outer)
        check_call(r, c->outer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const args[] = {"--a", "1", "b c"};
    struct arena a;
    struct bash_result r;
    struct err_msg msg = {""};
    arena_init(&a);
    char *text = arena_strndup(&a, (const char *)data, len);
    const struct bash_input in = {
        .text = text, .name = "f.sh", .args = args, .n_args = len % 4};
    enum err e = text ? bash_run(&a, &in, &r, &msg) : ERR_NOMEM;
    if (e != ERR_OK && e != ERR_PARSE && e != ERR_RANGE && e != ERR_NOMEM)
        abort();
    if (e == ERR_OK && r.n_ways == 0)
        abort();
    for (size_t i = 0; e == ERR_OK && i < r.n_ways; i++)
        for (size_t k = 0; k < r.way[i].n_calls; k++)
            check_call(&r, &r.way[i].call[k]);
    arena_clear(&a);
    return 0;
}
