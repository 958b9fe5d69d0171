/* Any string is read without a fault; a layout that was read is printed so
 * that it reads the same again; a place of an error lies in the string. */
#include "layout/explain.h"
#include "layout/layout.h"
#include "layout/shortest.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void check_round_trip(struct arena *a, const struct layout *l,
                             const char *text)
{
    struct layout again;
    require(text != NULL);
    require(layout_parse(a, text, l->pp, &again, NULL) == LAYOUT_OK);
    require(again.n_stages == l->n_stages);
    for (int s = 0; s < l->n_stages; s++)
        require(strcmp(again.units[s], l->units[s]) == 0);
}

/* The first two bytes say the pipeline size and the layers, the rest is the
 * string. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena a;
    struct layout l;
    struct err_msg msg = {""};
    const char *texts[LAYOUT_MAX_WARNINGS];
    size_t byte = 0;
    if (len < 2)
        return 0;
    arena_init(&a);
    char *text = arena_strndup(&a, (const char *)data + 2, len - 2);
    const struct layout_question q = {text, 1 + data[0] % 16, data[1] % 32, 1};
    enum layout_error e = layout_parse(&a, text, q.pp, &l, &msg);
    bool parsed = e == LAYOUT_OK;
    if (parsed)
        e = layout_validate(&l, q.n_layers, q.n_mtp, &msg);
    if (layout_error_place(&q, e, &byte)) {
        require(byte < strlen(text) || (byte == 0 && !*text));
        require(layout_caret(&a, text, byte) != NULL);
    }
    if (parsed && l.n_stages < 200) {
        const char *shortest = layout_shortest(&a, &l);
        check_round_trip(&a, &l, shortest);
        check_round_trip(&a, &l, layout_string(&a, &l));
        require(strlen(shortest) <= strlen(layout_string(&a, &l)));
        require(layout_warnings(&l, texts) <= LAYOUT_MAX_WARNINGS);
        require(layout_list(&a, &l) != NULL);
    }
    arena_clear(&a);
    return 0;
}
