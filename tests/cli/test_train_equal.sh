#!/bin/sh
# Losses are bitwise equal for every layout, number of chunks a rank and schedule
# of one model.
set -u
. tests/cli/train_common.sh

equal() { # CLAIM N_RANKS BASE_LOG FLAGS...: as the run behind BASE_LOG
    text=$1 ranks=$2 base=$3
    shift 3
    if ! run_mpi "$ranks" $small --train-iters 20 "$@" >"$work/log" \
        2>"$work/err"; then
        echo "not ok - $text: the run failed: $(head -n 1 "$work/err")"
        return
    fi
    losses "$work/log" >"$work/losses"
    if [ ! -s "$base" ]; then
        cp "$work/losses" "$base"
        test "$(grep -c 'lm loss' "$base")" -eq 20
        claim "$text"
        return
    fi
    cmp -s "$base" "$work/losses"
    claim "$text"
}

pp() { # STAGES [LAYOUT]
    echo "--pipeline-model-parallel-size $1 ${2:+--pipeline-model-parallel-layout $2}"
}

b="$work/tied"
equal "20 losses with one stage" 1 "$b"
equal "PP 2 gives the same bits" 2 "$b" $(pp 2)
equal "PP 4 gives the same bits" 4 "$b" $(pp 4)
equal "an uneven layout gives the same bits" 4 "$b" $(pp 4 'Et*2|t|t|mL')
equal "standalone MTP gives the same bits" 4 "$b" $(pp 4 'Et*2|t*2|m|L')
equal "m with the last layer, an empty stage, the same bits" 4 "$b" \
    $(pp 4 'Et*3|tm||L')

# interleaved
chunks="--num-virtual-stages-per-pipeline-rank"
group="--microbatch-group-size-per-virtual-pipeline-stage"
waits="--no-overlap-p2p-communication"
flush="--overlap-p2p-communication-warmup-flush"
ep="--overlap-moe-expert-parallel-comm"
equal "PP 2 VPP 2, the default split, the same bits" 2 "$b" $(pp 2) $chunks 2
equal "PP 2, a layer a chunk, the same bits" 2 "$b" $(pp 2) \
    --num-layers-per-virtual-pipeline-stage 1
equal "PP 4 VPP 2, uneven, empty stages, the same bits" 4 "$b" \
    $(pp 4 'Ett|t|||t|||mL')
equal "groups of all micro-batches, the same bits" 4 "$b" \
    $(pp 4 'Ett|t|||t|||mL') $group 8
equal "transfers waited for, the same bits" 4 "$b" $(pp 4 'Et|t|t||t|||mL') \
    $waits
equal "the warm-up flush overlapped, the same bits" 4 "$b" \
    $(pp 4 'Et|t|t||t|||mL') $flush
equal "standalone MTP interleaved, the same bits" 4 "$b" \
    $(pp 4 'Et|t|||tt||m|L')
equal "standalone MTP, transfers waited for, the same bits" 4 "$b" \
    $(pp 4 'Et|t|||tt||m|L') $waits
equal "m on the first rank, VPP 4, the same bits" 2 "$b" \
    $(pp 2 'Et|t||t|t||m|L') $group 3
equal "EP overlap on one rank, the same bits" 1 "$b" $ep
equal "EP overlap, PP 2 VPP 2, the same bits" 2 "$b" $(pp 2) $chunks 2 $ep
equal "EP overlap, PP 4 VPP 2, standalone MTP, the same bits" 4 "$b" \
    $(pp 4 'Et|t|||tt||m|L') $ep
equal "EP overlap, transfers waited for, the same bits" 4 "$b" \
    $(pp 4 'Ett|t|||t|||mL') $ep $waits
equal "EP overlap, the warm-up flush, the same bits" 4 "$b" \
    $(pp 4 'Ett|t|||t|||mL') $ep $flush

u="--untie-embeddings-and-output-weights"
b="$work/untied"
equal "20 losses untied" 1 "$b" $u
cmp -s "$work/tied" "$work/untied"
test $? -ne 0
claim "an output layer of its own changes the losses"
equal "untied, PP 2, same bits" 2 "$b" $u $(pp 2)
equal "untied, standalone MTP, same bits" 4 "$b" $u $(pp 4 'Et*2|t*2|m|L')

equal "untied, PP 2 VPP 2, same bits" 2 "$b" $u $(pp 2) $chunks 2
equal "untied, standalone MTP, EP overlap, same bits" 4 "$b" $u \
    $(pp 4 'Et|t|||tt||m|L') $ep

b="$work/dp"
equal "20 losses with two replicas" 2 "$b"
equal "two replicas of two stages, same bits" 4 "$b" $(pp 2)
equal "two replicas, standalone MTP, same bits" 6 "$b" $(pp 3 'Et*4|m|L')

equal "two replicas, PP 2 VPP 2, same bits" 4 "$b" $(pp 2) $chunks 2
equal "two replicas, EP overlap, same bits" 4 "$b" $(pp 2) $chunks 2 $ep
equal "two replicas, standalone MTP interleaved, same bits" 6 "$b" \
    $(pp 3 'Ett|t||t|m|L') $group 4

k="--mtp-num-layers 2 --moe-layer-freq [0,1,0,1]
    --moe-shared-expert-intermediate-size 32 --micro-batch-size 2"
b="$work/mixed"
equal "20 losses with two m, dense layers, a shared expert" 1 "$b" $k
equal "the same, two m standalone, same bits" 3 "$b" $k $(pp 3 'Et*4|mm|L')
equal "the same, two m on the first rank, VPP 2, same bits" 2 "$b" $k \
    $(pp 2 'Ett|tt|mm|L')

# the final norm moves: it is with the loss
k="--mtp-num-layers 0"
b="$work/plain"
equal "20 losses without MTP" 1 "$b" $k
equal "without MTP, PP 4, same bits" 4 "$b" $k $(pp 4)
equal "without MTP, the loss alone, same bits" 3 "$b" $k $(pp 3 'Et*2|t*2|L')
equal "without MTP, interleaved, empty stages, same bits" 2 "$b" $k \
    $(pp 2 'Et*2|t*2||L')

run_mpi 1 $small --train-iters 3 --seed 99 >"$work/log"
losses "$work/log" >"$work/losses"
head -n 3 "$work/tied" | cmp -s - "$work/losses"
test $? -ne 0
claim "another seed gives other losses"
