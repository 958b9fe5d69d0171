#include "megatron/dialect.h"

#include "base/text.h"

#include <criterion/criterion.h>
#include <string.h>

static enum err read_yaml(struct arena *a, const char *text, struct model *m,
                          struct err_msg *msg)
{
    arena_init(a);
    struct megatron_args *args = megatron_args_new(a);
    enum err e = dialect_read_yaml(a, text, "m.yaml", args, msg);
    return e == ERR_OK ? megatron_args_model(a, args, m, msg) : e;
}

#define MODEL                                                                  \
    "MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 64\n"                    \
    "  --num-attention-heads: 4\n  --vocab-size: 100\n"

Test(source_yaml, model_args_are_flags)
{
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    cr_assert_eq(read_yaml(&a,
                           "# a case\nENV_VARS:\n  A: [1, {b: 2}]\n" MODEL
                           "  --swiglu: true\n  --disable-bias-linear: false\n"
                           "  --moe-layer-freq: ([0]*1+[1]*3)\n"
                           "  num-experts: 8\n"
                           "  --recompute-modules: [core_attn, mlp]\n"
                           "TEST_TYPE: regular\n",
                           &m, &msg),
                 ERR_OK, "%s", msg.text);
    cr_assert(m.n_layers == 4 && m.gated && m.linear_bias);
    cr_assert(m.n_experts == 8 && model_unit_count(&m, KIND_T_DENSE) == 1);
    arena_clear(&a);
}

Test(source_yaml, quoted_words_are_values)
{
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    cr_assert_eq(
        read_yaml(&a, MODEL "  --normalization: 'RMSNorm'\n", &m, &msg), ERR_OK,
        "%s", msg.text);
    cr_assert_not(m.layernorm);
    arena_clear(&a);
}

/* text, and a word that the message must hold */
static const struct {
    const char *text, *word;
} bad[] = {
    {"OTHER: 1\n", "MODEL_ARGS"},
    {"MODEL_ARGS: 3\n", "m.yaml:1:13: MODEL_ARGS: want a map"},
    {MODEL MODEL, "twice"},
    {MODEL "  --num-experts: {a: 1}\n", "m.yaml:6:18"},
    {MODEL "  --num-experts: [[1]]\n", "plain values"},
    {MODEL "  [a]: 1\n", "flag's name"},
    {MODEL "  --num-experts: four\n", "'four'"},
    {MODEL " bad", "m.yaml:"},
    {"- MODEL_ARGS:\n", "map at the top"},
    {"\t\n", "m.yaml:"},
};

Test(source_yaml, errors_have_line_and_column)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct arena a;
        struct model m;
        struct err_msg msg = {""};
        cr_expect_eq(err_exit_code(read_yaml(&a, bad[i].text, &m, &msg)), 2,
                     "%s", bad[i].text);
        cr_expect(strstr(msg.text, bad[i].word), "'%s' lacks '%s'", msg.text,
                  bad[i].word);
        arena_clear(&a);
    }
}
