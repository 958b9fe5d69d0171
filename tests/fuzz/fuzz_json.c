/* Any JSON text is read without a fault, and a model that comes of it is sound.
 */
#include "megatron/source.h"
#include "model_checks.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    arena_init(&a);
    char *text = arena_strndup(&a, (const char *)data, len);
    const struct text_span span = {text, strlen(text)};
    struct megatron_args *args = megatron_args_new(&a);
    enum err e = model_source_read_text(&a, &span, "f", args, &msg);
    if (e == ERR_OK)
        e = megatron_args_model(&a, args, &m, &msg);
    if (e == ERR_OK)
        check_model(&m);
    else if (!*msg.text || strchr(msg.text, '\n'))
        abort();
    arena_clear(&a);
    return 0;
}
