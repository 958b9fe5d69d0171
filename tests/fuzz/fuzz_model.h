/* fuzz_model: what holds of every text that a model is read from. Header of
 * the fuzz targets only. */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include "megatron/args.h"
#include "model_checks.h"

#include <string.h>

/* One of the readers of megatron. */
typedef enum err (*fuzz_reader)(struct arena *a, char *text,
                                struct megatron_args *args,
                                struct err_msg *msg);

/* Read without a fault; a model that comes of it is sound, and a refusal says
 * why in one line. */
static inline void fuzz_model(const uint8_t *data, size_t len, fuzz_reader read)
{
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    arena_init(&a);
    char *text = arena_strndup(&a, (const char *)data, len);
    struct megatron_args *args = megatron_args_new(&a);
    enum err e = read(&a, text, args, &msg);
    if (e == ERR_OK)
        e = megatron_args_model(&a, args, &m, &msg);
    if (e == ERR_OK)
        check_model(&m);
    else if (!*msg.text || strchr(msg.text, '\n'))
        abort();
    arena_clear(&a);
}

#endif
