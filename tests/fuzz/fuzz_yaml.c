/* Any YAML text is read without a fault, and a model that comes of it is sound.
 */
#include "fuzz_model.h"
#include "source/dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static enum err read_text(struct arena *a, char *text,
                          struct megatron_args *args, struct err_msg *msg)
{
    static const char *const set[] = {"A=1", "tp=2"};
    const struct dialect_file file = {text, "f", set, 2};
    return dialect_read_yaml(a, &file, args, msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_model(data, len, read_text);
    return 0;
}
