#include "judge_ask.h"

static bool refused(const struct judge_verdict *v, const char *word)
{
    for (const struct judge_refusal *r = v->refusals; r; r = r->next)
        if (strstr(r->text, word))
            return true;
    return false;
}

/* Flags, and a word of a refusal; NULL: Megatron takes them. Refusals have
 * neighbours that are taken, so that no rule refuses too much. */
static const struct {
    const char *flags, *word;
} rows[] = {
    // split
    {"--num-layers 8 " PP "2", NULL},
    {"--num-layers 9 " PP "2", "want --num-layers 8 or 10"},
    {"--num-layers 9 " PP "2 --account-for-loss-in-pipeline-split", NULL},
    {"--num-layers 8 " PP "2 --account-for-embedding-in-pipeline-split",
     "accounted for"},
    {"--num-layers 8 " PP "2 " LPV "2", NULL},
    {"--num-layers 8 " PP "2 " LPV "3",
     "--num-layers-per-virtual-pipeline-stage 2 or 4"},
    {"--num-layers 8 " PP "2 " VPP "4", NULL},
    {"--num-layers 8 " PP "2 " VPP "3",
     "--num-virtual-stages-per-pipeline-rank 2 or 4"},
    {"--num-layers 8 " PP "2 " VPP "1", NULL},
    {"--num-layers 8 " VPP "1", NULL},
    {"--num-layers 8 " VPP "2", "two ranks or more"},
    {"--num-layers 8 " PP "2 " VPP "2 " LPV "2", "exclude each other"},
    {"--num-layers 8 " PP "2 " VPP "2 --no-overlap-p2p-communication",
     "want --pipeline-model-parallel-size 3"},
    {"--num-layers 12 " PP "3 " VPP "2 --no-overlap-p2p-communication", NULL},
    // ends, in both spellings
    {"--num-layers 24 " PP "2 " FIRST "10 " LAST "14", NULL},
    {"--num-layers 24 " PP "3 " FIRST "10 " LAST "14",
     "--decoder-first-pipeline-num-layers"},
    {"--num-layers 24 " PP "2 " FIRST "10 " LAST "13", "leave 1 layers for 0"},
    {"--num-layers 27 " PP "4 --num-layers-in-last-pipeline-stage 6", NULL},
    {"--num-layers 27 " PP "4 --num-layers-in-last-pipeline-stage 7",
     "want --decoder-last-pipeline-num-layers 6 or 9"},
    {"--num-layers 24 " PP "2 " FIRST "0", "want at least 1"},
    {"--num-layers 24 " PP "2 " FIRST "10 --account-for-loss-in-pipeline-split",
     "excludes --account-for-loss"},
    {"--num-layers 24 " PP "2 " FIRST "10 " LPV "2",
     "give --num-virtual-stages-per-pipeline-rank"},
    {"--num-layers 24 " PP "2 " FIRST "10 " VPP "2", NULL},
    {"--num-layers 24 " PP "2 " FIRST "9 " VPP "2", "first stage 9"},
    // layouts
    {"--num-layers 8 " PP "2 " LAYOUT "Et*3|t*5L", NULL},
    {"--num-layers 8 " PP "2 " LAYOUT "'Et*3|t*5L'", "'''"},
    {"--num-layers 8 " PP "2 " LAYOUT "Et*3|t*3|t*2L", "3 stages"},
    {"--num-layers 8 " PP "2 " LAYOUT "Et*3|t*4L", "found 7, want 8"},
    {"--num-layers 8 --mtp-num-layers 1 --position-embedding-type rope " PP
     "2 " LAYOUT "Et*3|t*5mL",
     NULL},
    {"--num-layers 8 " PP "2 " LAYOUT "Et*3|t*5mL", "found 1, want 0"},
    {"--num-layers 8 " LAYOUT "Et*3|t*5L", "two ranks or more"},
    {"--num-layers 8 " PP "2 " LAYOUT "Et*2|t*2|t*2|t*2L " VPP "2",
     "--pipeline-model-parallel-layout exclude each other"},
    {"--num-layers 8 " PP "2 " LAYOUT "Et*3|t*5L " FIRST "3",
     "excludes --decoder-first-pipeline-num-layers"},
    {"--num-layers 8 " PP "2 " LAYOUT
     "Et*3|t*5L --account-for-loss-in-pipeline-split",
     "excludes --account-for-loss"},
    // ranks
    {"--num-layers 8 " TP "2 " PP "2 " WORLD "8", NULL},
    {"--num-layers 8 " TP "2 " PP "2 " WORLD "6", "want 4 or 8 ranks"},
    {MOE "--expert-model-parallel-size 4 " WORLD "8", NULL},
    {MOE "--expert-model-parallel-size 4 " WORLD "6", "want 4 or 8 ranks"},
    {MOE "--expert-model-parallel-size 3", "want 6 or 9 experts"},
    {"--num-layers 8 --expert-model-parallel-size 2", "no experts"},
    {"--num-layers 8 --num-experts 0 --expert-model-parallel-size 2",
     "no experts"},
    {MOE TP "2 " PP "2 --expert-model-parallel-size 4 "
            "--expert-tensor-parallel-size 1 --use-tp-pp-dp-mapping " WORLD
            "16",
     "want as many"},
    {MOE TP "2 " PP "2 --expert-model-parallel-size 4 "
            "--expert-tensor-parallel-size 1 " WORLD "16",
     NULL},
    {"--num-layers 8 --num-distributed-optimizer-instances 3 " WORLD "4",
     "instances 3 does not divide"},
    {"--num-layers 8 --num-distributed-optimizer-instances 2 " WORLD "4", NULL},
    {"--num-layers 8 " TP "4 --num-attention-heads 12", NULL},
    {"--num-layers 8 " TP "4 --num-attention-heads 6", "want 4 or 8 heads"},
    {"--num-layers 8 " TP "4 --num-attention-heads 12 --num-query-groups 3",
     NULL}, // without the switch there are none
    {"--num-layers 8 " TP "4 --num-attention-heads 12 --num-query-groups 3 "
     "--group-query-attention",
     "neither a multiple nor a divisor"},
    {"--num-layers 8 " TP "4 --num-attention-heads 12 --num-query-groups 2 "
     "--group-query-attention",
     NULL},
    {"--num-layers 8 --hidden-size 100 --num-attention-heads 8", "want 96 or"},
    {"--num-layers 8 --hidden-size 100 --num-attention-heads 8 "
     "--kv-channels 16",
     NULL},
    {"--num-layers 8 --multi-latent-attention --group-query-attention",
     "excludes --group-query-attention"},
    {"--num-layers 8 --moe-ffn-hidden-size 64", "without --num-experts"},
    {MOE "--moe-router-topk 9", "at most --num-experts 8"},
    {"--num-layers 8 --num-experts 8 --sequence-parallel " TP "2",
     "experts with a bias"},
    {"--num-layers 8 --num-experts 8 --sequence-parallel " TP
     "2 --expert-tensor-parallel-size 1",
     NULL},
    {"--num-layers 8 --num-experts 8 --disable-bias-linear " TP "2",
     "--sequence-parallel"},
    {"--num-layers 8 --disable-bias-linear " TP "2", NULL},
    {"--num-layers 8 " TP "4 --ffn-hidden-size 102", "want 100 or 104"},
    {"--num-layers 8 " TP "4 --padded-vocab-size 1002", "want 1000 or 1004"},
    {"--num-layers 8 --context-parallel-size 2 --seq-length 1026",
     "want 1024 or 1028"},
    {"--num-layers 8 --context-parallel-size 1 --seq-length 1026", NULL},
    {"--num-layers 8 --sequence-parallel " TP "4 --seq-length 1026",
     "want 1024 or 1028"},
    {"--num-layers 8 --seq-length 1024 --max-position-embeddings 512",
     "less than --seq-length"},
    {MOE "--moe-layer-freq [1]*7", "8"},
    {MOE "--moe-layer-freq -1", NULL},
    {MOE "--moe-layer-freq 0", "at least 1"},
    // batch
    {"--num-layers 8 " WORLD "8 --micro-batch-size 2 " GBS "32", NULL},
    {"--num-layers 8 " WORLD "8 --micro-batch-size 2 " GBS "40",
     "want 32 or 48"},
    {"--num-layers 8 " WORLD "8 --micro-batch-size 2 " GBS
     "40 --decrease-batch-size-if-needed",
     NULL},
    {"--num-layers 8 " WORLD "8 --micro-batch-size 2 " GBS
     "8 --decrease-batch-size-if-needed",
     "want 16"},
    {"--num-layers 8 " PP "8 " WORLD "8 " GBS "4", NULL},
    {"--num-layers 8 " PP "4 " VPP "2 " WORLD "4 " GBS "3",
     "want --global-batch-size 4"},
    {"--num-layers 8 " PP "4 " VPP "2 " WORLD "4 " GBS "10",
     "want --microbatch-group-size-per-virtual-pipeline-stage 5, or "
     "--global-batch-size 8 or 12"},
    {"--num-layers 8 " PP "4 " VPP "2 " WORLD "4 " GBS "10 " GROUP "5", NULL},
    {"--num-layers 8 " PP "4 " VPP "2 " WORLD "4 " GBS "10 " GROUP "3",
     "in groups of 3"},
    {"--num-layers 8 " PP "4 " VPP "2 " WORLD "4 " GBS "10 " GROUP "6", NULL},
    {"--num-layers 8 " PP "4 " WORLD "4 " GBS "10 " GROUP "3", NULL},
    {"--num-layers 8 " PP "4 " VPP "2 " WORLD "8 " GBS "20 " GROUP "20",
     "want --microbatch-group-size-per-virtual-pipeline-stage 10"},
    {"--num-layers 8 " WORLD "4 " GBS "16 --rampup-batch-size 4,4,100", NULL},
    {"--num-layers 8 " WORLD "4 " GBS "16 --rampup-batch-size 4,5,100",
     "in steps of 5"},
    {"--num-layers 8 " WORLD "4 " GBS "16 --rampup-batch-size 4,6,100",
     "a batch of 10 is no multiple"},
    {"--num-layers 8 " WORLD "4 " GBS "16 --rampup-batch-size 4,4",
     "a number of samples"},
    {"--num-layers 8 " WORLD "4 " GBS "16 --rampup-batch-size [4,4,100]", NULL},
    {"--num-layers 8 " WORLD "4 " GBS "16 --rampup-batch-size 4,4,100,1",
     "a number of samples"},
    {"--num-layers 8 " PP "4 " VPP "2 " WORLD "4 " GBS
     "16 --rampup-batch-size 2,2,100",
     "of a batch of 2"},
    // EP overlap
    {EPO, NULL},
    {EPO PP "2", "wants virtual stages"},
    {EPO PP "2 " VPP "2", NULL},
    {EPO PP "2 " LAYOUT "Et*2|t*2|t*2|t*2L", NULL},
    {MOE "--overlap-moe-expert-parallel-comm --bf16 "
         "--moe-token-dispatcher-type alltoall",
     "--expert-model-parallel-size 2 or more"},
    {EPO "--moe-token-dispatcher-type allgather", "got 'allgather'"},
    {EPO "--moe-token-dispatcher-type flex", NULL},
    {MOE "--overlap-moe-expert-parallel-comm --bf16 "
         "--expert-model-parallel-size 2",
     "the default"},
    {EPO "--recompute-granularity full --recompute-method uniform "
         "--recompute-num-layers 1",
     "excludes --recompute-granularity full"},
    {EPO "--recompute-granularity selective --recompute-modules core_attn,mlp",
     NULL},
    {EPO "--recompute-activations", NULL},
    {MOE "--overlap-moe-expert-parallel-comm --moe-token-dispatcher-type "
         "alltoall --expert-model-parallel-size 2",
     "wants --bf16 or --fp16"},
    {EPO "--moe-shared-expert-overlap", "--moe-shared-expert-overlap"},
    {MOE "--moe-shared-expert-overlap", NULL},
    {EPO "--use-rotary-position-embeddings --mtp-num-layers 2",
     "one MTP layer at most"},
    {EPO PP "2 " VPP "2 --use-rotary-position-embeddings --mtp-num-layers 1",
     NULL},
    {EPO PP "2 " VPP "2 --use-rotary-position-embeddings --mtp-num-layers 1 "
            "--moe-layer-freq [1]*7+[0]",
     "last decoder layer"},
    {EPO "--cuda-graph-impl transformer_engine --cuda-graph-modules attn,moe",
     "excludes moe and mlp"},
    {EPO "--cuda-graph-impl transformer_engine --cuda-graph-modules "
         "attn,moe_router",
     NULL},
    {EPO PP "2 " VPP "2 --use-megatron-fsdp", "excludes virtual stages"},
    {EPO "--delay-wgrad-compute", NULL},
    {MOE "--delay-wgrad-compute", "wants --overlap-moe"},
    {EPO "--delay-wgrad-compute --transformer-impl local",
     "--transformer-impl transformer_engine"},
    {MOE "--ep-overlap-early-attn-memory-release", "wants --overlap-moe"},
    // the rest
    {"--num-layers 8 --mtp-num-layers 1",
     "got 'learned_absolute', the default"},
    {"--num-layers 8 --mtp-num-layers 0", NULL},
    {"--num-layers 8 --no-position-embedding", "no longer taken"},
    {"--num-layers 8 --no-position-embedding --position-embedding-type rope",
     NULL},
    {"--num-layers 8 --bf16 --fp16", "--bf16 excludes --fp16"},
    {"--num-layers 8 --recompute-granularity full", "--recompute-method"},
    {"--num-layers 8 --recompute-granularity full --recompute-method block",
     "--recompute-num-layers N"},
    {"--num-layers 8 --recompute-granularity selective --recompute-num-layers "
     "1",
     "selective excludes"},
    {"--num-layers 8 --defer-embedding-wgrad-compute", "2 or more"},
    {"--num-layers 8 " PP "2 --defer-embedding-wgrad-compute", NULL},
    {"--num-layers 8 " PP "2 --cpu-offloading-num-layers 2", "1, got 2"},
    {"--num-layers 8 " PP "2 --use-torch-fsdp2", "1, got 2"},
    {MOE "--use-torch-fsdp2 --expert-model-parallel-size 2", "1, got 2"},
    {"--num-layers 8 --overlap-param-gather --overlap-grad-reduce",
     "--use-distributed-optimizer"},
    {"--num-layers 8 --overlap-param-gather --use-distributed-optimizer",
     "wants --overlap-grad-reduce"},
    {"--num-layers 8 --overlap-param-gather --overlap-grad-reduce "
     "--use-distributed-optimizer",
     NULL},
    {"--num-layers 8 " PP "2 --overlap-p2p-communication-warmup-flush",
     "wants virtual stages"},
    {"--num-layers 8 " PP "2 " VPP "2 "
     "--overlap-p2p-communication-warmup-flush",
     NULL},
    {"--num-layers 8 " PP "3 " LAYOUT "Et*2|t*2|t*2|t|t|L "
     "--overlap-p2p-communication-warmup-flush --no-overlap-p2p-communication",
     "excludes"},
    // the router
    {MOE "--moe-router-topk 2", NULL},
    {MOE "--moe-pad-expert-input-to-capacity", "capacity-factor"},
    {MOE "--moe-pad-expert-input-to-capacity --moe-expert-capacity-factor -1",
     "capacity-factor of 0 or more"},
    {MOE "--moe-pad-expert-input-to-capacity --moe-expert-capacity-factor 1",
     NULL},
    {MOE "--moe-expert-capacity-factor 1 "
         "--moe-router-load-balancing-type sinkhorn",
     "excludes --moe-router-load-balancing-type"},
    {MOE "--moe-expert-capacity-factor 1 "
         "--moe-router-load-balancing-type seq_aux_loss",
     NULL},
    {"--num-layers 8 --tp-comm-overlap " TP "2", "wants --sequence-parallel"},
    {"--num-layers 8 --tp-comm-overlap --sequence-parallel " TP "2", NULL},
    {"--num-layers 8 --tp-comm-overlap --sequence-parallel",
     "wants --tensor-model-parallel-size 2"},
    {"--num-layers 8 --rampup-batch-size 8,8,1000 --train-iters 10 "
     "--global-batch-size 16",
     "excludes --train-iters"},
    {"--num-layers 8 --rampup-batch-size 8,8,1000 --global-batch-size 16",
     NULL},
};

Test(judge, each_rule_has_its_refusal_and_its_neighbour)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct asked q;
        ask(&q, rows[i].flags, NULL, false);
        cr_assert_eq(q.e, ERR_OK, "%s: %s", rows[i].flags, q.msg.text);
        cr_expect_eq(q.v.valid, !rows[i].word, "%s: %s", rows[i].flags,
                     q.v.valid ? "valid" : q.v.refusals->text);
        cr_expect_eq(q.v.valid, !q.v.refusals);
        if (rows[i].word)
            cr_expect(refused(&q.v, rows[i].word), "%s: no '%s' in: %s",
                      rows[i].flags, rows[i].word,
                      q.v.refusals ? q.v.refusals->text : "");
        arena_clear(&q.a);
    }
}

/* Flags, and versions that take and that refuse them. */
static const struct {
    const char *flags, *takes, *refuses;
} versions[] = {
    {"--num-layers 8 --rampup-batch-size 8,8,1000 --train-iters 10 "
     "--global-batch-size 16",
     "0.18", "0.16"},
    {"--num-layers 8 " PP "2 " LAYOUT "Et*3|t*5L", "0.13", "0.12"},
    {"--num-layers 8 " PP "2 " VPP "2 " LPV "2", "0.12", "0.13"},
    {"--num-layers 24 " PP "2 " FIRST "10 " LAST "14", "0.13", "0.12"},
    {"--num-layers 8 " WORLD "4 --step-batch-size-schedule 0:8,1B:16", "0.18",
     "0.17"},
    {"--num-layers 24 " PP "3 " FIRST "10 " LAST "14", "0.15", "0.16"},
    {"--num-layers 24 " PP "2 " FIRST "10 " LAST "13", "0.15", "0.16"},
    {"--num-layers 8 " VPP "1", "0.14", "0.13"},
    {"--num-layers 8 " PP "2 " LPV "4 " WORLD "2 " GBS "3", "0.14", "0.13"},
    {EPO, "0.14", "0.13"},
    {EPO "--recompute-granularity selective --recompute-modules moe", "0.16",
     "0.17"},
    {EPO "--position-embedding-type rope --mtp-num-layers 1", "0.15", "0.16"},
    {EPO "--position-embedding-type rope --mtp-num-layers 1", "0.18", "0.17"},
    {EPO "--mtp-num-layers 0", "0.19", "0.18"},
    {EPO "--cuda-graph-impl local", "0.19", "0.16"},
    {MOE "--overlap-dispatch-backward-with-experts-wgrad", "0.18", "0.17"},
    {"--num-layers 8 --moe-ffn-hidden-size 64 --moe-layer-freq 2", "0.18",
     "0.17"},
    {"--num-layers 8 --num-experts 8 --sequence-parallel " TP "2", "0.14",
     "0.15"},
};

// a launch has all of its flags; a model file may lack those of the router
Test(judge, one_expert_a_token_wants_softmax_before_the_choice)
{
    static const struct {
        const char *flags;
        bool valid;
    } one[] = {
        {MOE "--moe-router-topk 1", false},
        {"--num-layers 8 --moe-router-topk 1", false},
        {MOE "--moe-router-topk 1 --moe-router-score-function softmax", false},
        {MOE "--moe-router-topk 1 --moe-router-load-balancing-type none",
         false},
        {MOE "--moe-router-topk 1 --moe-router-load-balancing-type sinkhorn",
         true},
        {MOE "--moe-router-topk 1 --moe-router-score-function sigmoid", true},
        {MOE "--moe-router-topk 1 --moe-router-pre-softmax", true},
        {MOE "--moe-router-topk 1 --moe-router-score-function ?", true},
        {MOE "--moe-router-topk 2", true},
    };
    for (size_t i = 0; i < 2 * sizeof one / sizeof one[0]; i++) {
        struct asked q;
        bool launch = i % 2;
        ask(&q, one[i / 2].flags, NULL, launch);
        cr_assert_eq(q.e, ERR_OK, "%s", q.msg.text);
        cr_expect_eq(q.v.valid, one[i / 2].valid || !launch, "%s: %d",
                     one[i / 2].flags, launch);
        if (!one[i / 2].valid && launch)
            cr_expect(refused(&q.v, "wants --moe-router-pre-softmax"));
        arena_clear(&q.a);
    }
}

Test(judge, flags_of_a_whole_launch)
{
    static const struct {
        const char *flags, *core, *word;
    } one[] = {
        {MOE "--moe-router-enable-expert-bias", "0.16",
         "wants --moe-router-score-function sigmoid"},
        {MOE "--moe-router-enable-expert-bias --moe-router-score-function "
             "sigmoid",
         "0.16", NULL},
        {MOE "--moe-router-enable-expert-bias --moe-router-score-function "
             "sqrtsoftplus",
         "0.18", NULL},
        {"--num-layers 8 --use-megatron-fsdp", "0.16", "fsdp_dtensor"},
        {"--num-layers 8 --use-megatron-fsdp --ckpt-format fsdp_dtensor",
         "0.16", NULL},
        {"--num-layers 8 --use-megatron-fsdp", "0.13", NULL},
        {"--num-layers 8 --ckpt-format torch", "0.16", NULL},
    };
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++) {
        struct asked q;
        ask(&q, one[i].flags, one[i].core, true);
        cr_assert_eq(q.e, ERR_OK, "%s", q.msg.text);
        cr_expect_eq(q.v.valid, !one[i].word, "%s", one[i].flags);
        if (one[i].word)
            cr_expect(refused(&q.v, one[i].word), "%s", one[i].flags);
        arena_clear(&q.a);
        // a model file is no launch
        ask(&q, one[i].flags, one[i].core, false);
        cr_expect(q.v.valid, "%s", one[i].flags);
        arena_clear(&q.a);
    }
}

Test(judge, versions_differ)
{
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
        for (int refuses = 0; refuses < 2; refuses++) {
            struct asked q;
            const char *core =
                refuses ? versions[i].refuses : versions[i].takes;
            ask(&q, versions[i].flags, core, false);
            cr_assert_eq(q.e, ERR_OK, "%s", q.msg.text);
            cr_expect_eq(q.v.valid, !refuses, "%s: %s: %s", core,
                         versions[i].flags,
                         q.v.refusals ? q.v.refusals->text : "valid");
            arena_clear(&q.a);
        }
}

/* Flags of a whole launch that is taken, and a word of a warning. */
static const struct {
    const char *flags, *word;
} warnings[] = {
    {"--num-layers 8 --micro-batch-size 1 " PP "8 " WORLD "8 " GBS "4",
     "4 micro-batches for 8 stages"},
    {"--num-layers 8 --micro-batch-size 1 " PP "8 " WORLD "8 " GBS "4",
     "--global-batch-size 8 or more"},
    {"--num-layers 8 " PP "4 " VPP "2 " WORLD "4 " GBS "11 " GROUP "7",
     "not a multiple of the pipeline size"},
    {"--num-layers 8 --micro-batch-size 1 " GBS "4",
     "not judged: world size, ranks of experts, batch and micro-batches: "
     "--world-size is not known: give '--world N'"},
    {"--num-layers 8 " WORLD "1", "--micro-batch-size is not given"},
    {"--num-layers 8 --tensor-model-parallel-size ? " WORLD "4",
     "--tensor-model-parallel-size is not known, run.sh:3: $(hostname): give "
     "'--tp N'"},
    {"--num-layers 8 --overlap-moe-expert-parallel-comm ?",
     "not judged: EP overlap: version"},
    {"--num-layers 8 " PP "4 " LAYOUT "Et*4||t*4|L", "stage 1: empty"},
    {"--num-layers 8 " PP "2 " WORLD "2 " GBS "2 " LAYOUT "Et*4||t*4|L",
     "stage 1 (rank 1, chunk 0): empty"},
    {MOE PP "4 --moe-layer-freq [0]*3+[1]*5", "stage 0: no layer with experts"},
    {MOE PP "4 --moe-layer-freq [0]*5+[1]*3",
     "stages 0, 1: no layer with experts"},
    {MOE PP "4 --mtp-num-layers 1 --position-embedding-type rope "
            "--moe-layer-freq [0]*3+[1]*5",
     "hang"},
    {"--num-layers 24 " PP "4 " FIRST "20 " LAST "8", "does not refuse it"},
    {"--num-layers 24 " FIRST "20 " LAST "8", "one rank has both ends"},
    {"--num-layers 8 " WORLD "4 --decrease-batch-size-if-needed " GBS "6",
     "a step has 4 sequences"},
    {EPO PP "2 " VPP "4 " WORLD "4 " GBS "4", "odd number"},
    {EPO PP "2 " VPP "2 " WORLD "4 " GBS "4", "backward-compute"},
    {MOE "--moe-layer-freq lambda", "not judged"},
};

Test(judge, what_is_taken_may_hurt)
{
    for (size_t i = 0; i < sizeof warnings / sizeof warnings[0]; i++) {
        struct asked q;
        ask(&q, warnings[i].flags, NULL, true);
        cr_assert_eq(q.e, ERR_OK, "%s", q.msg.text);
        cr_expect(q.v.valid, "%s: %s", warnings[i].flags,
                  q.v.refusals ? q.v.refusals->text : "");
        cr_expect(warned(&q.v, warnings[i].word), "%s: no '%s'",
                  warnings[i].flags, warnings[i].word);
        arena_clear(&q.a);
    }
}

Test(judge, nothing_is_said_of_what_was_not_asked)
{
    struct asked q;
    ask(&q, "--num-layers 8 " PP "2", NULL, false);
    cr_assert(q.v.valid && q.v.warnings.n == 0);
    cr_assert(q.v.has_layout && q.v.layout.n_stages == 2);
    cr_assert_eq(q.v.n_microbatches, 0);
    arena_clear(&q.a);
}

Test(judge, a_launch_without_a_batch_has_one_micro_batch)
{
    struct asked q;
    ask(&q, "--num-layers 8 " PP "2 " VPP "2", NULL, true);
    cr_assert_not(q.v.valid);
    cr_assert(refused(&q.v, "no --global-batch-size"));
    arena_clear(&q.a);
    ask(&q, "--num-layers 8 " PP "2 " VPP "2", NULL, false);
    cr_assert(q.v.valid);
    arena_clear(&q.a);
    ask(&q, "--num-layers 8 " PP "2 " VPP "2 " GBS "?", NULL, true);
    cr_assert(q.v.valid && warned(&q.v, "--global-batch-size is not known"));
    arena_clear(&q.a);
}

Test(judge, all_unknowns_of_the_split_are_named_with_their_options)
{
    struct asked q;
    ask(&q, "--num-layers ? " PP "? " VPP "?", NULL, true);
    cr_assert_eq(q.e, ERR_PARSE);
    cr_assert(strstr(q.msg.text, "--num-layers: run.sh:3: $(hostname), give "
                                 "'-- --num-layers VALUE'"));
    cr_assert(strstr(q.msg.text, "give '--pp N'"));
    cr_assert(strstr(q.msg.text, "give '--vpp N'"));
    arena_clear(&q.a);
    ask(&q, PP "2", NULL, true);
    cr_assert_eq(q.e, ERR_PARSE);
    cr_assert(strstr(q.msg.text, "--num-layers: not stated"));
    arena_clear(&q.a);
}

Test(judge, other_models_and_sizes_are_no_verdict)
{
    struct asked q;
    ask(&q, "--num-layers 8 --is-hybrid-model", NULL, true);
    cr_assert_eq(q.e, ERR_RANGE);
    arena_clear(&q.a);
    ask(&q, "--num-layers 8 " PP "100000", NULL, true);
    cr_assert_eq(q.e, ERR_RANGE);
    arena_clear(&q.a);
    ask(&q, "--num-layers 8 " PP "-1", NULL, true);
    cr_assert(q.e == ERR_OK && !q.v.valid);
    arena_clear(&q.a);
}

Test(judge, all_refusals_are_told_the_splits_first)
{
    struct asked q;
    ask(&q, "--num-layers 9 " PP "2 " TP "2 " WORLD "6 --bf16 --fp16", NULL,
        true);
    cr_assert(!q.v.valid && q.v.refusals->next && q.v.refusals->next->next);
    cr_assert_str_eq(q.v.refusals->rule, "split");
    cr_assert_str_eq(q.v.refusals->next->rule, "world size");
    cr_assert(strstr(q.v.refusals->next->source, "arguments.py"));
    arena_clear(&q.a);
}

Test(judge, a_layout_takes_the_place_of_the_split)
{
    struct asked q;
    const struct core_version *core;
    core_version_find(NULL, &core, NULL);
    ask(&q, "--num-layers 9 " PP "2 " VPP "2 " FIRST "3", NULL, false);
    cr_assert_not(q.v.valid);
    cr_assert_eq(judge_set_layout(&q.f, "Et*4|t*5L", NULL), ERR_OK);
    cr_assert_eq(
        judge(&q.a, &(struct judge_question){&q.f, core, false}, &q.v, NULL),
        ERR_OK);
    cr_assert(q.v.valid && q.v.layout.vpp == 1);
    arena_clear(&q.a);
}
