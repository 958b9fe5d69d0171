#include "pattern/depth.h"
#include "small_model.h"

#include <criterion/criterion.h>
#include <string.h>

/* Symbols of the model, the text, and the model that it makes; want NULL:
 * refused with a word of why. */
Test(depth, a_layout_says_how_many_layers_there_are)
{
    static const struct {
        const char *symbols, *text, *want, *why;
    } all[] = {
        {"*E*E", "*E|*E", "*E*E", NULL},
        {"*E*E", "*E*E|*E", "*E*E*E", NULL},
        {"*E*E", "E*|E", "E*E", NULL}, // any order: its kinds are known
        {"*E*E", "*|*", NULL, "no layer 'E'"},
        {"*E*E", "*E|ME", NULL, "got 'M' as layer 3, want symbols of"},
        {"*-*E", "Ett|ttL", "*-*E*E*E", NULL},
        {"*-*E", "[[embedding, decoder, decoder], [decoder, decoder, loss]]",
         "*-*E*E*E", NULL},
        {"*-*E", "[[embedding, decoder", NULL, "layout list"},
        {"*-*E", "Et|L", NULL, "no layer 'E'"},
        {"*-*E", "Etm|tL", NULL, "m"},
        {"M*E", "Et|tL", NULL, "GPT"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct arena a;
        struct layout l;
        struct err_msg msg = {""};
        struct model m = small_model();
        m.par.pp = 2;
        m.n_mtp = 0;
        m.symbols = all[i].symbols;
        m.n_layers = (int)strlen(m.symbols);
        m.layer_moe = NULL;
        arena_init(&a);
        const enum err e = depth_read(&a, all[i].text, &m, &l, &msg);
        cr_expect_eq(e, all[i].want ? ERR_OK : ERR_RANGE, "%s: %s", all[i].text,
                     msg.text);
        cr_expect_str_eq(m.symbols, all[i].want ? all[i].want : all[i].symbols);
        cr_expect_eq(m.n_layers, (int)strlen(m.symbols));
        if (!all[i].want)
            cr_expect_not_null(strstr(msg.text, all[i].why), "%s", msg.text);
        arena_clear(&a);
    }
}

/* Flags of layers are as many as the layers, lean ones too: what was read
 * beyond their end was another model each time. */
Test(depth, a_deeper_gpt_model_repeats_its_last_layer)
{
    static const uint8_t lean[4] = {1, 1, 1, 0}, moe[4] = {0, 1, 1, 1};
    struct arena a;
    struct layout l;
    struct err_msg msg;
    struct model m = small_model();
    m.par.pp = 2;
    m.n_layers = 4;
    m.layer_lean = lean;
    m.layer_moe = moe;
    arena_init(&a);
    cr_assert_eq(depth_read(&a, "Et*3|t*3mL", &m, &l, &msg), ERR_OK, "%s",
                 msg.text);
    cr_assert_eq(m.n_layers, 6);
    cr_expect_arr_eq(m.layer_lean, ((uint8_t[6]){1, 1, 1, 0, 0, 0}), 6);
    cr_expect_arr_eq(m.layer_moe, ((uint8_t[6]){0, 1, 1, 1, 1, 1}), 6);
    cr_expect_eq(depth_resize(&a, 0, &m, &msg), ERR_RANGE);
    cr_expect_eq(depth_resize(&a, MODEL_MAX_LAYERS + 1, &m, &msg), ERR_RANGE);
    arena_clear(&a);
}
