/* Any JSON text is read without a fault, and a model that comes of it is sound.
 */
#include "fuzz_model.h"
#include "source/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static enum err read_text(struct arena *a, char *text,
                          struct megatron_args *args, struct err_msg *msg)
{
    const struct text_span span = {text, strlen(text)};
    return model_source_read_text(
        a, &span, &(struct source_request){.path = "f"}, args, msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_model(data, len, read_text);
    return 0;
}
