/* A pattern says what num-layers and others say of a GPT model, from every
 * form of source. */
#include "megatron/args.h"
#include "megatron/hybrid.h"
#include "megatron/values.h"
#include "source/log.h"
#include "source/source.h"

#include <criterion/criterion.h>
#include <string.h>

#define WIDTHS                                                                 \
    "--hidden-size 64 --num-attention-heads 4 --ffn-hidden-size 96 "           \
    "--vocab-size 128 --seq-length 32 "
#define EXPERTS "--num-experts 4 --moe-ffn-hidden-size 32 "

struct read {
    struct arena a;
    struct err_msg msg;
    struct megatron_args *args;
    struct model m;
    enum err e;
};

/* Words of a line as a command line has them. */
static void words(struct read *r, const char *line)
{
    *r = (struct read){.msg = {""}};
    const struct megatron_args_options opt = {.strict = true};
    char *argv[80];
    int argc = 0;
    arena_init(&r->a);
    char *rest = arena_strdup(&r->a, line);
    for (char *w; (w = strtok_r(rest, " ", &rest));)
        argv[argc++] = w;
    r->args = megatron_args_new(&r->a);
    r->e = megatron_args_read(r->args, argv, argc, &opt, &r->msg);
    if (r->e == ERR_OK)
        r->e = megatron_args_model(&r->a, r->args, &r->m, &r->msg);
}

static void source(struct read *r, const char *text)
{
    *r = (struct read){.msg = {""}};
    arena_init(&r->a);
    r->args = megatron_args_new(&r->a);
    struct text_span span = {.data = arena_strdup(&r->a, text),
                             .len = strlen(text)};
    r->e = model_source_read_text(
        &r->a, &span, &(struct source_request){.path = "x"}, r->args, &r->msg);
    if (r->e == ERR_OK)
        r->e = megatron_args_model(&r->a, r->args, &r->m, &r->msg);
}

/* The model that they all describe. */
static void is_small_hybrid(struct read *r, const char *who)
{
    const struct model *m = &r->m;
    cr_assert_eq(r->e, ERR_OK, "%s: %s", who, r->msg.text);
    cr_expect(model_is_hybrid(m) && m->n_layers == 5 && m->n_mtp == 1, "%s",
              who);
    cr_expect_str_eq(m->symbols, "M*-EM", "%s", who);
    cr_expect_str_eq(m->mtp_symbols, "*E", "%s", who);
    cr_expect(m->par.pp == 2 && m->par.vpp == 1, "%s", who);
    cr_expect(m->mamba.n_heads == 8 && m->mamba.head_dim == 16 &&
                  m->mamba.n_groups == 2 && m->mamba.state_dim == 128,
              "%s", who);
    cr_expect_eq(model_unit_count(m, KIND_MAMBA), 2, "%s", who);
    cr_expect_eq(model_unit_count(m, KIND_EXPERTS), 1, "%s", who);
    arena_clear(&r->a);
}

#define PARTS                                                                  \
    "--mamba-head-dim 16 --mamba-num-groups 2 --position-embedding-type rope " \
    "--pipeline-model-parallel-size 2 "

Test(source_hybrid, every_source_gives_the_same_model)
{
    struct read r;
    words(&r, WIDTHS EXPERTS PARTS "--hybrid-layer-pattern M*-E|M/*E");
    is_small_hybrid(&r, "flags");
    words(&r, WIDTHS EXPERTS PARTS "--hybrid-override-pattern M*-E|M/*E "
                                   "--is-hybrid-model --spec "
                                   "megatron.core.models.mamba."
                                   "mamba_layer_specs mamba_stack_spec");
    cr_expect_eq(megatron_args_account(r.args)->changes.n, 0);
    is_small_hybrid(&r, "the older flag");
    words(&r, WIDTHS EXPERTS PARTS "--hybrid-override-pattern M*-E|M/*E --spec "
                                   "a.mamba_layer_specs.mamba_stack_spec");
    cr_expect_eq(megatron_args_account(r.args)->changes.n, 0);
    is_small_hybrid(&r, "a spec in one word");
    words(&r, WIDTHS EXPERTS PARTS
          "--hybrid-override-pattern M*-E|M --mtp-num-layers 1 "
          "--mtp-hybrid-override-pattern *E");
    is_small_hybrid(&r, "MTP by the older flag");
    source(&r, "#!/bin/sh\nP='M*-E|M/*E'\ntorchrun --nproc_per_node 2 "
               "pretrain_hybrid.py " WIDTHS EXPERTS PARTS
               "--hybrid-layer-pattern \"$P\"\n");
    is_small_hybrid(&r, "a script");
    source(&r, "MODEL_ARGS:\n  --hidden-size: 64\n  --num-attention-heads: 4\n"
               "  --ffn-hidden-size: 96\n  --vocab-size: 128\n"
               "  --seq-length: 32\n  --num-experts: 4\n"
               "  --moe-ffn-hidden-size: 32\n  --mamba-head-dim: 16\n"
               "  --mamba-num-groups: 2\n  --position-embedding-type: rope\n"
               "  --pipeline-model-parallel-size: 2\n"
               "  --spec: \"[a.hybrid_layer_specs hybrid_stack_spec]\"\n"
               "  --hybrid-layer-pattern: M*-E|M/*E\n");
    cr_expect_eq(megatron_args_account(r.args)->changes.n, 0);
    is_small_hybrid(&r, "YAML");
    source(&r, "{\"format\": \"moe-layout/model/1\", \"hidden_size\": 64, "
               "\"num_attention_heads\": 4, \"ffn_hidden_size\": 96, "
               "\"vocab_size\": 128, \"seq_length\": 32, \"num_experts\": 4, "
               "\"moe_ffn_hidden_size\": 32, \"mamba_head_dim\": 16, "
               "\"mamba_num_groups\": 2, \"position_embedding_type\": \"rope\","
               "\"pipeline_model_parallel_size\": 2, "
               "\"hybrid_layer_pattern\": \"M*-E|M/*E\"}");
    is_small_hybrid(&r, "a model file");
}

/* A dump has what Megatron made of the flags, the forwarded pattern twice. */
Test(source_hybrid, a_log_names_its_pattern)
{
    static const struct log_argument arguments[] = {
        {"num_layers", "5"},
        {"hidden_size", "64"},
        {"num_attention_heads", "4"},
        {"padded_vocab_size", "128"},
        {"num_experts", "4"},
        {"moe_ffn_hidden_size", "32"},
        {"mamba_head_dim", "16"},
        {"mamba_num_groups", "2"},
        {"mamba_num_heads", "None"},
        {"pipeline_model_parallel_size", "2"},
        {"mtp_num_layers", "1"},
        {"position_embedding_type", "rope"},
        {"seq_length", "32"},
        {"spec", "['a.hybrid_layer_specs', 'hybrid_stack_spec']"},
        {"hybrid_override_pattern", "M*-E|M/*E"},
        {"hybrid_layer_pattern", "M*-E|M/*E"},
    };
    const struct runlog log = {.arguments = arguments,
                               .n_arguments =
                                   sizeof arguments / sizeof arguments[0]};
    struct read r = {.msg = {""}};
    arena_init(&r.a);
    r.args = megatron_args_new(&r.a);
    r.e = source_log_read(&log, "x.log", r.args, &r.msg);
    if (r.e == ERR_OK)
        r.e = megatron_args_model(&r.a, r.args, &r.m, &r.msg);
    is_small_hybrid(&r, "a log");
}

Test(source_hybrid, bars_are_virtual_stages)
{
    struct read r;
    words(&r, WIDTHS "--pipeline-model-parallel-size 2 "
                     "--hybrid-layer-pattern *-|*-||*");
    cr_assert_eq(r.e, ERR_OK, "%s", r.msg.text);
    cr_assert(r.m.par.vpp == 2 && r.m.n_layers == 5 && r.m.n_mtp == 0);
    struct megatron_flags *f = megatron_args_flags(r.args);
    hybrid_drop_bars(f);
    cr_assert_str_eq(flags_text(f, FLAG_HYBRID_LAYER_PATTERN), "*-*-*");
    r.e = megatron_args_model(&r.a, r.args, &r.m, &r.msg);
    cr_assert(r.e == ERR_OK && r.m.par.vpp == 1 && r.m.n_layers == 5);
    arena_clear(&r.a);
}

/* What is beside the pattern has no effect and is told of, as by Megatron. */
Test(source_hybrid, the_pattern_overrides_counts)
{
    struct read r;
    words(&r, WIDTHS "--num-layers 8 --mtp-num-layers 2 "
                     "--position-embedding-type rope "
                     "--hybrid-layer-pattern *-/*-");
    cr_assert(r.e == ERR_OK && r.m.n_layers == 2 && r.m.n_mtp == 1);
    struct account *account = megatron_args_account(r.args);
    account_say_defaults(account, megatron_args_flags(r.args));
    cr_assert_eq(account->warnings.n, 2);
    cr_assert(strstr(account->warnings.first->text, "--num-layers 8"));
    cr_assert(strstr(account->warnings.last->text, "--mtp-num-layers 2"));
    arena_clear(&r.a);
    words(&r, WIDTHS "--mtp-num-layers 2 --hybrid-layer-pattern *-");
    cr_assert(r.e == ERR_OK && r.m.n_mtp == 0);
    account = megatron_args_account(r.args);
    account_say_defaults(account, megatron_args_flags(r.args));
    cr_assert(strstr(account->warnings.first->text, "builds none"));
    arena_clear(&r.a);
}

/* Sizes of Mamba and of latents that nobody gave. */
Test(source_hybrid, defaults_that_decide_are_said)
{
    struct read r;
    words(&r, WIDTHS "--qk-layernorm --hybrid-layer-pattern M+-");
    struct account *account = megatron_args_account(r.args);
    account_say_defaults(account, megatron_args_flags(r.args));
    static const char *const said[] = {
        "--mamba-state-dim", "--mamba-head-dim", "--mamba-num-groups",
        "--mamba-num-heads", "--kv-lora-rank",   "--qk-layernorm"};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        bool found = false;
        const struct account_line *l = account->assumed.first;
        for (; l; l = l->next)
            found = found || strstr(l->text, said[i]) == l->text;
        cr_expect(found, "%s", said[i]);
    }
    cr_assert_eq(r.e, ERR_RANGE, "two heads are no eight groups");
    arena_clear(&r.a);
}

Test(source_hybrid, values_are_those_of_the_pattern)
{
    struct read r;
    words(&r, WIDTHS EXPERTS "--hybrid-layer-pattern *E|*E*-");
    struct value v[N_VALUES];
    cr_assert_eq(values_read(&r.a, megatron_args_flags(r.args), v, &r.msg),
                 ERR_OK, "%s", r.msg.text);
    cr_assert_eq(v[VALUE_LAYERS].whole, 6);
    cr_assert_eq(v[VALUE_MOE_LAYERS].whole, 2);
    cr_assert_str_eq(v[VALUE_PATTERN].text, "*E|*E*-");
    arena_clear(&r.a);
    struct flag_unknown nobody = {"x:1", "$P is never set"};
    words(&r, WIDTHS "--num-layers 4");
    struct megatron_flags *f = megatron_args_flags(r.args);
    flags_set_unknown(f, FLAG_HYBRID_LAYER_PATTERN, &nobody, &r.msg);
    cr_assert_eq(values_read(&r.a, f, v, &r.msg), ERR_OK);
    cr_assert(v[VALUE_LAYERS].is == VALUE_UNKNOWN && v[VALUE_LAYERS].stated);
    cr_assert_eq(megatron_args_model(&r.a, r.args, &r.m, &r.msg), ERR_PARSE);
    arena_clear(&r.a);
}

/* Latent attention needs no switch, sparse attention its indexer alone. */
Test(source_hybrid, symbols_bring_their_attention)
{
#define LATENT WIDTHS "--kv-lora-rank 16 --qk-head-dim 8 --v-head-dim 6 "
    struct read r;
    words(&r, LATENT "--hybrid-layer-pattern +-+-");
    cr_assert(r.e == ERR_OK && r.m.mla && r.m.kv_lora == 16);
    arena_clear(&r.a);
    words(&r, LATENT "--disable-bias-linear --dsa-indexer-n-heads 2 "
                     "--dsa-indexer-head-dim 8 --dsa-indexer-topk 4 "
                     "--hybrid-layer-pattern D-+-");
    cr_assert_eq(r.e, ERR_OK, "%s", r.msg.text);
    cr_assert(r.m.mla && r.m.indexer.topk == 4 && !r.m.layer_lean);
    arena_clear(&r.a);
    words(&r, WIDTHS "--hybrid-layer-pattern G-*- --linear-num-key-heads 2 "
                     "--linear-num-value-heads 4 "
                     "--experimental-attention-variant gdn2");
    cr_assert_eq(r.e, ERR_OK, "%s", r.msg.text);
    cr_assert(r.m.linear.channel_gates && r.m.linear.v_heads == 4);
    arena_clear(&r.a);
}

/* flags; what the message says */
static const struct {
    const char *flags, *word;
} wrong[] = {
    {"--hybrid-layer-pattern M*Q", "'Q' as letter 3"},
    {"--hybrid-layer-pattern M*/*|-", "'|' as MTP letter 2"},
    {"--hybrid-layer-pattern M*/*-/**", "differ"},
    {"--hybrid-layer-pattern *+", "one sort"},
    {"--hybrid-layer-pattern |/*", "0 layers"},
    {"--hybrid-layer-pattern *E", "--num-experts"},
    {"--hybrid-layer-pattern D-", "--dsa-indexer-n-heads"},
    {"--hybrid-layer-pattern * --hybrid-override-pattern *", "want one"},
    {"--hybrid-layer-pattern * --pipeline-model-parallel-layout EtL", "bars"},
    {"--hybrid-layer-pattern M --mamba-head-dim 48", "--mamba-head-dim"},
    {"--hybrid-layer-pattern M --mamba-num-heads 12", "--mamba-num-groups"},
    {"--hybrid-layer-pattern M --mamba-num-heads 8 "
     "--tensor-model-parallel-size 4 --mamba-num-groups 2",
     "--mamba-num-groups 2"},
    {"--hybrid-layer-pattern D-D- --kv-lora-rank 16 --disable-bias-linear "
     "--dsa-indexer-n-heads 2 --dsa-indexer-head-dim 8 --dsa-indexer-topk 4 "
     "--dsa-indexer-topk-freq 2",
     "--dsa-indexer-topk-freq"},
    {"--hybrid-layer-pattern G --linear-num-key-heads 3",
     "--linear-num-value-heads"},
    {"--is-hybrid-model --num-layers 2", "missing --hybrid-layer-pattern"},
};

Test(source_hybrid, what_no_model_can_be_built_of_is_named)
{
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char line[400];
        snprintf(line, sizeof line, WIDTHS "%s", wrong[i].flags);
        struct read r;
        words(&r, line);
        cr_expect_eq(err_exit_code(r.e), 2, "%s", wrong[i].flags);
        cr_expect(strstr(r.msg.text, wrong[i].word), "'%s' lacks '%s'",
                  r.msg.text, wrong[i].word);
        arena_clear(&r.a);
    }
}
