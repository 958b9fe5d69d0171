#include "cost/card.h"

#include <criterion/criterion.h>
#include <string.h>

/* A data sheet without structured sparsity: FP8 is twice 16 bits, or, without
 * units for it, the same; memory is slower than none of the links. */
Test(card, every_row_is_plausible_and_has_a_source)
{
    for (int i = 0; i < N_CARDS; i++) {
        const struct card *c = &CARDS[i];
        const double ratio = c->flops8 / c->flops16;
        cr_expect(ratio == 1 || (ratio > 1.99 && ratio < 2.01), "%s: %g",
                  c->name, ratio);
        cr_expect(c->flops16 > 1e14 && c->flops16 < 1e16, "%s", c->name);
        cr_expect(c->hbm_bytes_s > c->link_bytes_s, "%s", c->name);
        cr_expect(c->link_bytes_s > c->net_bytes_s, "%s", c->name);
        cr_expect(c->domain >= 1 && strlen(c->source) > 10, "%s", c->name);
    }
}

Test(card, is_found_by_its_name_whatever_the_case_and_the_variant)
{
    static const char *const names[][2] = {
        {"H200", "H200"},
        {"a100", "A100"},
        {"A100-80GB", "A100"},
        {"h100 SXM", "H100"},
        {"gb200", "GB200"},
        {"GB300_NVL72", "GB300"},
        {"mi300x", "MI300X"},
        {"b200", "B200"},
        // as nvidia-smi and amd-smi print them
        {"NVIDIA A100-SXM4-80GB", "A100"},
        {"NVIDIA H100 80GB HBM3", "H100"},
        {"nvidia-h200", "H200"},
        {"AMD Instinct MI300X OAM", "MI300X"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct card *c = NULL;
        struct err_msg msg = {""};
        cr_expect_eq(card_find(names[i][0], "x", &c, &msg), ERR_OK, "%s",
                     msg.text);
        cr_expect(c && strcmp(c->name, names[i][1]) == 0, "%s", names[i][0]);
    }
}

Test(card, unknown_ones_are_refused_with_those_known)
{
    static const char *const names[] = {"", "H20", "H2000", "RTX 4090", "A10"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct card *c = NULL;
        struct err_msg msg = {""};
        cr_expect_eq(card_find(names[i], "--roofline", &c, &msg), ERR_PARSE,
                     "%s", names[i]);
        cr_expect_null(c);
        cr_expect(strstr(msg.text, "--roofline") && strstr(msg.text, "MI355X"),
                  "%s", msg.text);
    }
}

Test(card, a_variant_of_another_data_sheet_is_not_the_card)
{
    static const char *const names[] = {"H100 PCIe", "NVIDIA H100 NVL",
                                        "h200-nvl", "A100-PCIE-40GB",
                                        "A100-SXM4-40GB"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct card *c = NULL;
        struct err_msg msg = {""};
        cr_expect_eq(card_find(names[i], "x", &c, &msg), ERR_RANGE, "%s",
                     names[i]);
        cr_expect(strstr(msg.text, "of its variant"), "%s", msg.text);
    }
}

/* What is near, or NULL: another card that there is, or no card. */
Test(card, a_misspelt_one_is_near_to_the_card_that_is_meant)
{
    static const char *const names[][2] = {
        {"H10O", "H100"},    {"A10O", "A100"},      {"h100x8", "H100"},
        {"H100SXM", "H100"}, {"A 100", "A100"},     {"MI300", "MI300X"},
        {"H2000", "H200"},   {"gb20", "GB200"},     {"H20", NULL},
        {"A10", NULL},       {"H800", NULL},        {"B100", NULL},
        {"V100", NULL},      {"MI300A", NULL},      {"cpu", NULL},
        {"L40S", NULL},      {"RTX 4090", NULL},    {"TPU v5p", NULL},
        {"", NULL},          {"NVIDIA H400", NULL}, {"Ascend 910B", NULL}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct card *c = card_near(names[i][0]);
        cr_expect(names[i][1] ? c && strcmp(c->name, names[i][1]) == 0 : !c,
                  "%s: %s", names[i][0], c ? c->name : "none");
    }
}
