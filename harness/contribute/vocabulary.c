/*
 * How it works: tables are texts of small words with a blank around each; that
 * of the words is cut by the first letter, so that a look-up goes over some
 * hundred bytes. A word that a name of a machine, a person or a project may be
 * by itself stands in none of them, but for those that Megatron prints.
 *
 * To add one: a word is safe here when knowing that it stood in a log tells
 * nothing of whose log it is.
 */
#include "vocabulary.h"

#include <string.h>

// longer words are none of ours
enum { VOCABULARY_BYTES = 72 };

/* Fields, timers, memory, failures, and the values of flags. */
static const char *const words['z' - 'a' + 1] = {
    ['a' - 'a'] = " a aborted absolute across act activation activations adam"
                  " adamw add after alibi all allgather alloc allocate"
                  " allocated allreduce alltoall and any approx are arguments"
                  " assertionerror async at attention attn auto aux avail"
                  " available average avg ",
    ['b' - 'a'] = " backend backward balancing bandwidth batch before begin bf"
                  " bias billion bits blas block blockwise broadcast bubble"
                  " bucket burst by bytelevel bytes ",
    ['c' - 'a'] = " cancelled capacity caught cause checkpoint"
                  " childfailederror clip clock collect collective combine"
                  " communication completed compute cond constant consumed"
                  " cooperlake copy core cosine count cpu cross ctx cuda"
                  " cumulative current ",
    ['d' - 'a'] = " data dataloaders datetime death decoder deepep delayed"
                  " delta dense depth device dispatch dist distopt distributed"
                  " done dp dropout dsa due dummy dynamic ",
    ['e' - 'a'] = " e elapsed embedding embeddings empty emulated end ended"
                  " energy engine entropy ep epoch error errors eta etp eval"
                  " evaluate event every exit exitcode exiting exits exp"
                  " expert experts ",
    ['f' - 'a'] = " factor failed failure false fault finalize first flash"
                  " flex flop flops footprints for forward found fp"
                  " fragmentation free from full function fused fusion ",
    ['g' - 'a'] = " gated gather gb gdn geglu gelu generator gib gigabytes"
                  " global gpt gptsentencepiecetokenizer gpu gpus grad"
                  " gradient gradients grads group groups ",
    ['h' - 'a'] = " harmonic has haswell have head heads hidden hip"
                  " huggingfacetokenizer hybrid hybridep ",
    ['i' - 'a'] = " importance in inactive index indexerror inf info"
                  " initialized initializing inner inst int interleaved"
                  " interval inverse invoked is iter iteration iterations"
                  " iterators ",
    ['j' - 'a'] = " joules ",
    ['k' - 'a'] = " kernel kib killed ",
    ['l' - 'a'] = " large last latency layer layernorm layers learnable"
                  " learned learning length level lightning limit linear list"
                  " lm ln load loaded loader loading local log logging logits"
                  " lora loss lr ",
    ['m' - 'a'] = " main master max maximum mb mbs mean median mem memory"
                  " metadata mfu mib micro microbatch microbatches microstep"
                  " milliseconds min minmax mixed mla mlm mlp model moe moment"
                  " momentum most mpi mrope ms msec mtp muon ",
    ['n' - 'a'] = " naive nan native nccl net new nll no non none norm norms"
                  " not npu nulltokenizer num number ",
    ['o' - 'a'] = " observed of off on one oom ooms op operation operations"
                  " optim optimizer option or other out outofmemoryerror"
                  " output over overflow overlap ",
    ['p' - 'a'] = " padded padding parallel param parameter parameters params"
                  " passes peak peer per percent pipeline pool post pp ppl pre"
                  " precision previous program progress proj prologue ",
    ['q' - 'a'] = " q qk qkv quantile quick ",
    ['r' - 'a'] = " range rank ranks rate ratio rebase recent reciprocal"
                  " recompute recv reduce reduced reference relative relu"
                  " remaining removed requested requests reserve reserved"
                  " reset rest result retained retries retry rmsnorm root rope"
                  " rotary router routing run runtime runtimeerror ",
    ['s' - 'a'] = " s sample samples sapphirerapids scale scatter schedule"
                  " score scores sec second seconds seen segmentation segments"
                  " selective selfattention send sentencepiecetokenizer seq"
                  " seqlen sequence setup sgd shard shared shutting sigabrt"
                  " sigbus sigint sigkill sigmoid signal sigsegv sigterm silu"
                  " sinkhorn sinusoidal size sizes skipped skylakex small"
                  " softmax some speed split sqrt squared stable stage stages"
                  " start started step steps swiglu switch sync synced ",
    ['t' - 'a'] = " te tensor tensorwise terminated terminatedsigterm"
                  " terminating test tflop tflops the theoretical this"
                  " throughput tiktokenizer time timed timeout timer timers"
                  " times timing to tokens top torch total tp train trainer"
                  " training transformer tried tries true tuning ",
    ['u' - 'a'] = " unallocated unexpected unfused uniform unpadded up update"
                  " updates us usage use used using util utilization ",
    ['v' - 'a'] = " valid validation values vanilla virtual vocab vpp ",
    ['w' - 'a'] = " wait wall wandb warmup was watchdog watt watts weight"
                  " weights with within workspace world write wsd ",
    ['y' - 'a'] = " yarn ",
    ['z' - 'a'] = " z zarr zen zero zeropower zeros ",
};

/* Words that are written together with a number: rank0, fp16; and those whose
 * numbers are long. With more digits than these it is a machine's name. */
static const char numbered[] = " bf cp default depth dp ep fp int mtp pp stage"
                               " tp ";
static const char counted[] = " iteration rank removed step ";
enum { VOCABULARY_DIGITS = 3, VOCABULARY_COUNTED_DIGITS = 6 };

/* Behind a number: 3.2GB, 20s, 62.5x. */
static const char units[] =
    " b flops g gb gib h hz it j k kb kib kw m mb mhz mib min ms ns"
    " p s sec t tb tflop tflops tib us w x ";

/* With slashes, dots or digits: no paths, no hosts. */
static const char joined[] =
    " 1f1b bertwordpiecelowercase e4m3 e5m2 forward/backward fp4 fp8"
    " gb/s gdn2 gpt2bpetokenizer info:megatron.core.timers"
    " info:megatron.training.training info:megatron.training.utils"
    " inst/harmonic it/s j/s llama2tokenizer mb/s megatron.core"
    " megatron.core.timers megatron.training"
    " megatron.training.training model_tflop/s model_tflop/s/gpu"
    " ms/iter ms/step mxfp8 nvfp4 p2p s/it s/iter s/step samples/s"
    " samples/sec tflop/s tflop/s/gpu tflops/gpu tflops/s"
    " tflops/s/gpu tokens/gpu/s tokens/gpu/sec tokens/s tokens/s/gpu"
    " tokens/sec tokens/sec/gpu torch.cuda.outofmemoryerror"
    " torch.distributed.elastic.multiprocessing.errors.childfailederror"
    " torch.outofmemoryerror train/loss"
    " train/valid/test-data-iterators-setup usage/free/total"
    " usage/free/total/usage_ratio ";

/* The text in small letters of ASCII with a blank at both ends; false for one
 * that is too long, or that holds a blank, which would match two words. */
static bool padded(struct log_text t, char to[VOCABULARY_BYTES])
{
    if (t.n == 0 || t.n + 3 > VOCABULARY_BYTES || memchr(t.p, ' ', t.n) ||
        memchr(t.p, '\0', t.n))
        return false;
    to[0] = ' ';
    for (size_t i = 0; i < t.n; i++)
        to[i + 1] = t.p[i] >= 'A' && t.p[i] <= 'Z' ? (char)(t.p[i] + 'a' - 'A')
                                                   : t.p[i];
    to[t.n + 1] = ' ';
    to[t.n + 2] = '\0';
    return true;
}

static bool is_in(struct log_text t, const char *table)
{
    char small[VOCABULARY_BYTES];
    return padded(t, small) && strstr(table, small);
}

/* No letter, no word: what begins with a digit or a sign is a chunk's matter.
 */
bool vocabulary_has(struct log_text word)
{
    char small[VOCABULARY_BYTES];
    if (!padded(word, small) || small[1] < 'a' || small[1] > 'z')
        return false;
    const char *table = words[small[1] - 'a'];
    return table && strstr(table, small);
}

size_t vocabulary_numbered(struct log_text word)
{
    if (is_in(word, counted))
        return VOCABULARY_COUNTED_DIGITS;
    return is_in(word, numbered) ? VOCABULARY_DIGITS : 0;
}

bool vocabulary_is_unit(struct log_text word)
{
    return is_in(word, units);
}

bool vocabulary_has_joined(struct log_text text)
{
    return is_in(text, joined);
}
