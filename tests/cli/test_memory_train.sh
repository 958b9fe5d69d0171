#!/bin/sh
# Memory predicted for moe-train is what it allocates, to the byte, on every
# stage of every kind of layout: MTP with the loss, apart, empty stages, tied
# and untied, dense layers, shared experts.
set -u
. tests/cli/train_common.sh
layout_tool="$BUILD/moe-layout"
# without what a hybrid pattern says
bare=$(echo $small | sed 's/--num-layers 4 //; s/--mtp-num-layers 1 //')
set -f # patterns are no file names

measured() { # LOG: "rank bytes" of the last memory line of each rank
    sed -n 's/^\[Rank \([0-9]*\)\].*max allocated: \([0-9.]*\).*/\1 \2/p' "$1"
}

agrees() { # CLAIM RANKS LAYOUT FLAGS...
    text=$1 stages=$2 layout=$3
    shift 3
    case $layout in
    *t*) flags="$small" flag=--pipeline-model-parallel-layout ;;
    *) flags="$bare" flag=--hybrid-layer-pattern ;;
    esac
    if ! run_mpi "$stages" $flags "$@" --train-iters 1 \
        --pipeline-model-parallel-size "$stages" "$flag" "$layout" \
        >"$work/log" 2>"$work/err"; then
        echo "not ok - $text: the run failed: $(head -n 1 "$work/err")"
        return
    fi
    if [ "$flag" = --hybrid-layer-pattern ]; then
        set -- "$@" "$flag" "$layout"
    fi
    "$layout_tool" memory "$layout" --pp "$stages" --trainer moe-train --json \
        -- $flags "$@" --pipeline-model-parallel-size "$stages" \
        >"$work/json" 2>"$work/err" || {
        echo "not ok - $text: no prediction: $(head -n 1 "$work/err")"
        return
    }
    measured "$work/log" >"$work/measured"
    python3 - "$work" <<'EOF'
import json, sys
work = sys.argv[1]
stages = json.load(open(work + "/json"))["stages"]
lines = [l.split() for l in open(work + "/measured")]
seen = set()
wrong = 0
for rank, mib in lines:
    seen.add(int(rank))
    # ten decimals of a MiB are less than a byte
    wrong += round(float(mib) * 2**20) != stages[int(rank)]["peak_bytes"]
sys.exit(0 if len(seen) == len(stages) and wrong == 0 else 1)
EOF
    claim "$text"
}

agrees "MTP with the loss" 4 'Et|t|t|tmL'
agrees "an uneven layout" 4 'Et*2|t|t|mL'
agrees "MTP on a stage of its own" 4 'Et*2|t*2|m|L'
agrees "m with the last layer, an empty stage" 4 'Et*3|tm||L'
agrees "one stage" 1 'Et*4mL'
agrees "untied" 4 'Et|t|t|tmL' --untie-embeddings-and-output-weights
agrees "dense first layers and a shared expert" 2 'Et*2|t*2mL' \
    --moe-layer-freq '[0,1,1,1]' --moe-shared-expert-intermediate-size 96
agrees "two MTP layers, micro-batches of two" 2 'Et*2|t*2mmL' \
    --mtp-num-layers 2 --micro-batch-size 2
agrees "no MTP, the loss alone" 3 'Et*2|t*2|L' --mtp-num-layers 0
agrees "no MTP, PP 2 VPP 2, a small vocabulary" 2 'Et*2|t*2||L' \
    --mtp-num-layers 0 --vocab-size 40
agrees "PP 4 VPP 2" 4 'Et|t|t||t|||mL'
agrees "PP 4 VPP 2, standalone MTP" 4 'Et|t|||tt||m|L'
agrees "PP 2 VPP 4, groups of three, untied" 2 'Et|t||t|t|||mL' \
    --microbatch-group-size-per-virtual-pipeline-stage 3 \
    --untie-embeddings-and-output-weights
agrees "EP overlap, PP 4 VPP 2" 4 'Et|t|t||t|||mL' \
    --overlap-moe-expert-parallel-comm
agrees "EP overlap on one rank" 1 'Et*4mL' --overlap-moe-expert-parallel-comm
agrees "a pattern, stages that begin with experts" 4 '*|E*E|*E*|E/*E'
agrees "a pattern, an MLP and two MTP layers, PP 2 VPP 2" 2 '*-|*E*|E-|*/*-/*-'
agrees "a pattern, an MTP layer of experts alone, no table for L" 2 \
    'E**E|E/E' --untie-embeddings-and-output-weights
