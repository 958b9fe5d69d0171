#!/bin/sh
# A hybrid pattern of attention, MLPs and experts is the GPT model of the same
# layers: losses are bitwise equal, also where stages end within a layer, and
# memory is as predicted, to the byte. What the trainer does not do it refuses.
set -u
. tests/cli/train_common.sh

# without what the pattern says
bare=$(echo $small | sed 's/--num-layers 4 //; s/--mtp-num-layers 1 //')
pattern="--hybrid-layer-pattern"

equal() { # CLAIM N_RANKS BASE_LOG FLAGS...: as the run behind BASE_LOG
    text=$1 ranks=$2 base=$3
    shift 3
    if ! run_mpi "$ranks" --train-iters 4 "$@" >"$work/log" 2>"$work/err"; then
        echo "not ok - $text: the run failed: $(head -n 1 "$work/err")"
        return
    fi
    losses "$work/log" >"$work/losses"
    if [ ! -s "$base" ]; then
        cp "$work/losses" "$base"
        test "$(grep -c 'lm loss' "$base")" -eq 4
        claim "$text"
        return
    fi
    cmp -s "$base" "$work/losses"
    claim "$text"
}

pp() { # STAGES PATTERN
    echo "--pipeline-model-parallel-size $1 $pattern $2"
}
set -f # patterns are no file names

b="$work/tied"
equal "a GPT model" 1 "$b" $small --record-norms "$work/gpt"
equal "its pattern, one stage: the same bits" 1 "$b" $bare $(pp 1 '*E*E*E*E/*E')
equal "PP 2, cut within a layer: the same bits" 2 "$b" $bare \
    $(pp 2 '*E*|E*E*E/*E') --record-norms "$work/norms"
cmp -s "$work/norms" "$work/gpt" && test -s "$work/gpt"
claim "norms of gradients are those of the GPT model, tensor by tensor"
grep -q 'hybrid_layer_pattern \.* \*E\*|E\*E\*E/\*E' "$work/log" &&
    grep -q 'pipeline_model_parallel_layout \.* None' "$work/log"
claim "the log's arguments hold the pattern and no layout"
equal "PP 4, stages begin with experts: the same bits" 4 "$b" $bare \
    $(pp 4 '*|E*E|*E*|E/*E')
equal "PP 4, Megatron's even split: the same bits" 4 "$b" $bare \
    $(pp 4 '*E*E*E*E/*E')
equal "PP 2 VPP 2 from the pipes: the same bits" 2 "$b" $bare \
    $(pp 2 '*E*|E*|E*|E/*E')
equal "PP 4 VPP 2, embedding alone, an empty stage, the loss alone: the same bits" \
    4 "$b" $bare $(pp 4 '|*E*|E||*|E*E||/*E')
equal "PP 2 VPP 3, transfers of flushes overlapped: the same bits" 2 "$b" $bare \
    $(pp 2 '*|E*E|*|E|*|E/*E') --overlap-p2p-communication-warmup-flush

u="--untie-embeddings-and-output-weights"
b="$work/untied"
equal "a GPT model, untied" 1 "$b" $small $u
equal "untied, PP 2, cut within a layer: the same bits" 2 "$b" $bare $u \
    $(pp 2 '*E*E*|E*E/*E')

b="$work/dp"
equal "a GPT model, two replicas" 2 "$b" $small
equal "two replicas of two stages, cut within a layer: the same bits" 4 "$b" \
    $bare $(pp 2 '*E*|E*E*E/*E')

k="--moe-shared-expert-intermediate-size 32 --micro-batch-size 2"
b="$work/mixed"
equal "a GPT model with dense layers, a shared expert, two m" 1 "$b" $small $k \
    --mtp-num-layers 2 --moe-layer-freq '[0,1,0,1]'
equal "its pattern, PP 3, a stage begins with an MLP: the same bits" 3 "$b" \
    $bare $k $(pp 3 '*|-*E*|-*E/*E/*E')

b="$work/plain"
equal "a GPT model without MTP" 1 "$b" $small --mtp-num-layers 0
equal "its pattern, PP 2, cut within a layer: the same bits" 2 "$b" $bare \
    $(pp 2 '*E*E*|E*E')

# no layers of a GPT model: halves in any order, an MTP layer that is a half
b="$work/odd"
equal "a pattern of no GPT model" 1 "$b" $bare $(pp 1 'E**-EE-*/E')
equal "the same, PP 2 VPP 2: the same bits" 2 "$b" $bare \
    $(pp 2 'E*|*-|E|E-*/E')

bad() { # WANTED_TEXT FLAGS...
    want=$1
    shift
    "$train" $bare "$@" >"$work/out" 2>"$work/err"
    rc=$?
    if [ $rc -eq 2 ] && [ ! -s "$work/out" ] &&
        [ "$(grep -c '^moe-train: ' "$work/err")" -eq 1 ] &&
        grep -q -e "$want" "$work/err"; then
        echo "ok - refuses $*"
    else
        echo "not ok - refuses $*: exit $rc, $(head -n 2 "$work/err")"
    fi
}

bad "symbol 'M' (mamba)" $pattern 'M*E'
bad "symbol 'G' (delta)" $pattern 'GE*E'
bad "symbol '+' (latent)" $pattern '+E+E'
bad "symbol 'D' (sparse)" $pattern 'DEDE'
bad "MTP part '/\*E\*E'" $pattern '*E*E/*E*E'
bad "MTP part '/E\*'" $pattern '*E*E/E*'
bad "'Z'" $pattern '*EZE'
bad "interleaving needs P>1" $pattern '*E|*E|*E|*E'
bad "takes none beside --hybrid-layer-pattern" $pattern '*E*E' \
    --pipeline-model-parallel-layout 'EttttL'
bad "overlap-moe-expert-parallel-comm: a hybrid pattern" $pattern '*E*E' --overlap-moe-expert-parallel-comm
