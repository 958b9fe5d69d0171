/* Any words are read without a fault, and a model that comes of them is
 * sound. */
#include "megatron/args.h"
#include "model_checks.h"
#include "source/dialect.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { MAX_WORDS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    char *words[MAX_WORDS];
    int n = 0;
    arena_init(&a);
    char *rest = arena_strndup(&a, (const char *)data, len);
    for (char *w; n < MAX_WORDS && (w = strtok_r(rest, " \n", &rest));)
        words[n++] = w;
    struct megatron_args *args = megatron_args_new(&a);
    const struct megatron_args_options opt = {.strict = len % 2 == 0};
    const struct dialect_words others = {.argv = words, .argc = n};
    enum err e = dialect_is_words(&others)
                     ? dialect_read_words(args, &others, &msg)
                     : megatron_args_read(args, words, n, &opt, &msg);
    if (e == ERR_OK)
        e = megatron_args_model(&a, args, &m, &msg);
    if (e == ERR_OK)
        check_model(&m);
    else if (!*msg.text || strchr(msg.text, '\n'))
        abort();
    arena_clear(&a);
    return 0;
}
