/* Any YAML text is read without a fault, and a model that comes of it is sound.
 */
#include "megatron/yaml.h"
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
    struct megatron_args *args = megatron_args_new(&a);
    enum err e = source_yaml_read(&a, text, "f", args, &msg);
    if (e == ERR_OK)
        e = megatron_args_model(&a, args, &m, &msg);
    if (e == ERR_OK)
        check_model(&m);
    else if (!*msg.text || strchr(msg.text, '\n'))
        abort();
    arena_clear(&a);
    return 0;
}
