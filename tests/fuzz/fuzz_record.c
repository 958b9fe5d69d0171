/* Any record is read without a fault, stays within its bounds, and what comes
 * of it can be written and read again as the same. */
#include "record/inner.h"
#include "record/lines.h"
#include "record/replay.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct text_span copy_of(struct arena *a, const void *data, size_t len)
{
    char *text = arena_alloc(a, len + 1, 1);
    if (!text)
        abort();
    if (len)
        memcpy(text, data, len);
    return (struct text_span){text, len};
}

/* A call's line, read again, gives the same line. */
static void check_again(struct arena *a, const struct record_call *call)
{
    const char *line = record_line(a, call), *again;
    struct record_calls calls;
    struct err_msg msg;
    if (!line)
        abort();
    struct text_span text = copy_of(a, line, strlen(line));
    if (text.len >= RECORD_MAX_LINE_BYTES)
        return; // escapes made it longer
    if (record_lines_read(a, text, "f", &calls, &msg) != ERR_OK || calls.n != 1)
        abort();
    again = record_line(a, &calls.call[0]);
    if (!again || strcmp(line, again) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena a;
    struct err_msg msg;
    struct record_calls calls;
    struct inner_job job = {0};
    arena_init(&a);
    if (record_lines_read(&a, copy_of(&a, data, len), "f", &calls, &msg) ==
        ERR_OK) {
        if (calls.n > RECORD_MAX_CALLS)
            abort();
        for (int i = 0; i < calls.n; i++) {
            const struct record_call *c = &calls.call[i];
            enum program_kind kind = program_kind(c->program);
            if (inner_find(kind, c->argv) > c->argv.n || c->argv.n < 1)
                abort();
            inner_job_read(c->argv, &job);
            check_again(&a, c);
        }
        char *out = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&out, &size);
        if (!f || replay_print(&a, &calls, f, &msg) != ERR_OK)
            abort();
        fclose(f);
        free(out);
    }
    if (!inner_job_script(&a, copy_of(&a, data, len).data, &job))
        abort();
    arena_clear(&a);
    return 0;
}
