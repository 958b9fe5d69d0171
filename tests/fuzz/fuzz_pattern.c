/* Any string is read as a hybrid pattern without a fault; one that was read is
 * printed so that it reads the same again, its layout as well; a place of an
 * error lies in the string; what is translated comes back. */
#include "pattern/checkpoint.h"
#include "pattern/pattern.h"
#include "pattern/translate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void require_equal(const struct pattern *p, const struct pattern *q)
{
    require(p->n_segments == q->n_segments && p->vpp == q->vpp);
    require(p->n_layers == q->n_layers && p->n_depths == q->n_depths);
    require(strcmp(p->main, q->main) == 0 && strcmp(p->mtp, q->mtp) == 0);
    require(q->covers && p->mla == q->mla);
    for (int s = 0; s < p->n_segments; s++)
        require(strcmp(p->segment[s], q->segment[s]) == 0);
}

static void check_round_trip(struct arena *a, const struct pattern *p)
{
    struct pattern again;
    struct layout l;
    const struct pattern_symbols of = {p->main, p->mtp};
    const char *text = pattern_text(a, p);
    require(text != NULL);
    const struct pattern_flags f = {.pattern = text, .pp = p->pp};
    require(pattern_read(a, &f, &again, NULL) == PATTERN_OK);
    require_equal(p, &again);
    require(pattern_layout(a, p, &l, NULL) == ERR_OK);
    require(layout_validate(&l, p->n_layers, p->n_depths, NULL) == LAYOUT_OK);
    require(strcmp(pattern_of_layout(a, &of, &l), text) == 0);
}

static void check_translation(struct arena *a, const struct pattern *p)
{
    struct layout l;
    struct gpt_layers layers;
    struct err_msg why;
    const char *back;
    if (translate_to_layout(a, p, &l, &layers, &why) != TRANSLATE_OK)
        return;
    require(translate_freq(a, layers.moe, 'e') != NULL);
    require(translate_to_pattern(a, &l, &layers, &back, &why) == TRANSLATE_OK);
    require(strcmp(back, pattern_text(a, p)) == 0);
}

/* Flags by the bits of two bytes. */
static struct pattern_flags flags_of(const uint8_t *data, const int *first,
                                     const int *last)
{
    return (struct pattern_flags){.pp = 1 + data[0] % 16,
                                  .symbols = data[1] & 1 ? "MG*-E" : NULL,
                                  .first = data[1] & 2 ? first : NULL,
                                  .last = data[1] & 4 ? last : NULL,
                                  .no_overlap_p2p = data[1] & 8,
                                  .mtp_override = data[1] & 16 ? "*E" : NULL,
                                  .mtp_num_layers = data[1] >> 5};
}

/* Four bytes of flags, the rest is the string. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena a;
    struct pattern p;
    struct err_msg msg = {""};
    const char *texts[PATTERN_MAX_WARNINGS];
    size_t byte = 0;
    if (len < 4)
        return 0;
    arena_init(&a);
    const int first = (int8_t)data[2], last = (int8_t)data[3];
    struct pattern_flags f = flags_of(data, &first, &last);
    const char *text = arena_strndup(&a, (const char *)data + 4, len - 4);
    f.pattern = text;
    enum pattern_error e = pattern_read(&a, &f, &p, &msg);
    require((e == PATTERN_OK) == !*msg.text && !strchr(msg.text, '\n'));
    if (pattern_error_place(text, f.symbols, e, &byte))
        require(byte < strlen(text));
    if (e == PATTERN_OK) {
        require(pattern_warnings(&a, &f, &p, texts) <= PATTERN_MAX_WARNINGS);
        checkpoint_of_gpt(&p);
        if (p.covers) {
            check_round_trip(&a, &p);
            check_translation(&a, &p);
        }
    }
    f.override = text;
    f.num_layers = &first;
    f.symbols = "M*-E";
    if (first > 0 && pattern_read_old(&a, &f, &p, &msg) == PATTERN_OK)
        require(p.n_layers == first);
    arena_clear(&a);
    return 0;
}
