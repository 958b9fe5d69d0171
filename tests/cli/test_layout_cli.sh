#!/bin/sh
# moe-layout as a user calls it: the known answers, and one clear line with the
# documented exit code for each kind of bad input.
L=${BUILD:-build/release}/moe-layout
MODEL=experiments/models/7b-a1b.json
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

. tests/cli/common.sh

# CLAIM EXIT_CODE WORD COMMAND...: one line on stderr that holds WORD
refuses() {
    claim=$1 want=$2 word=$3
    shift 3
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    code=$?
    lines=$(wc -l <"$tmp/err")
    if [ $code -eq "$want" ] && [ "$lines" -eq 1 ] &&
        grep -qF -- "$word" "$tmp/err"; then
        echo "ok - $claim"
    else
        echo "not ok - $claim: exit $code (want $want), $lines lines, no '$word' in:"
        cat "$tmp/err"
    fi
}

json() { # EXPRESSION over the document d on stdin
    python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"
}

# the 7B-A1B recipe
is "7B-A1B has 6,858,278,912 parameters, 1,221,134,336 active" \
    "$($L size $MODEL --json | json 'd["params"]["total"], d["params"]["active"]')" \
    "6858278912 1221134336"
is "816 layouts without an empty stage" \
    "$($L count --layers 16 --mtp 1 --pp 4)" 816
is "1140 with empty stages between the ends" \
    "$($L count --layers 16 --mtp 1 --pp 4 --empty-stages)" 1140
is "1540 that the validator accepts" \
    "$($L count --layers 16 --mtp 1 --pp 4 --any)" 1540
is "default split and count-based rule" \
    "$($L baselines $MODEL --pp 4 | sed -n '1,2s/^[a-z-]* *//p' | tr '\n' ' ')" \
    "Et*4|t*4|t*4|t*4mL Et*4|t*5|t*5|t*2mL "

split="--num-layers 8 --pipeline-model-parallel-size 2"
is "the default split needs no widths, the other rules say what they miss" \
    "$($L baselines -- $split 2>/dev/null | tr -s ' ' | cut -d ' ' -f 1-2 |
        tr '\n' ' ')" \
    "default Et*4|t*4L count-based flags: parameter-balanced flags: "
is "virtual stages: the default split of all chunks" \
    "$($L baselines --json -- $split --num-virtual-stages-per-pipeline-rank 4 \
        2>/dev/null | json 'd["baselines"][0]["layout"]')" "Et|(t|)*6tL"
is "ends in the configuration's spelling" \
    "$($L baselines --json -- --num-layers 27 --pipeline-model-parallel-size 4 \
        --num-layers-in-last-pipeline-stage 6 2>/dev/null |
        json 'd["baselines"][0]["layout"]')" "Et*7|t*7|t*7|t*6L"
$L baselines --json -- $split --num-layers-per-virtual-pipeline-stage 3 \
    >"$tmp/out" 2>/dev/null
is "a split that Megatron refuses: exit 1, the reason, what would do" \
    "$? $(json 'd["baselines"][0]["layout"], d["baselines"][0]["reason"][-46:]' \
        <"$tmp/out")" \
    "1 None --num-layers-per-virtual-pipeline-stage 2 or 4"
$L baselines -- $split --num-layers-per-virtual-pipeline-stage 2 \
    --num-virtual-stages-per-pipeline-rank 2 >"$tmp/out" 2>/dev/null
is "flags that exclude each other are refused, too" \
    "$? $(grep -c 'exclude each other' "$tmp/out")" "1 1"
$L baselines -- --num-layers 61 --pipeline-model-parallel-size 4 \
    --pipeline-model-parallel-layout 'Et*15|t*15|t*15|t*16L' >"$tmp/out" 2>/dev/null
is "beside a layout the default is only compared with: exit 0" \
    "$? $(grep -c 'want --num-layers 60 or 64' "$tmp/out")" "0 1"

# flags after -- say the same as the model file
is "flags after -- give the same model" \
    "$($L size --json -- --num-layers 16 --hidden-size 2048 \
        --num-attention-heads 16 --group-query-attention --num-query-groups 2 \
        --kv-channels 128 --num-experts 64 --moe-ffn-hidden-size 1024 \
        --moe-router-topk 8 --swiglu --disable-bias-linear --normalization \
        RMSNorm --position-embedding-type rope --vocab-size 128256 \
        --seq-length 4096 --mtp-num-layers 1 |
        json 'd["params"]["total"], d["params"]["mtp"]')" \
    "$($L size $MODEL --json | json 'd["params"]["total"], d["params"]["mtp"]')"

# costs, plan, simulate
$L costs $MODEL --analytic -o "$tmp/c.json" >/dev/null
is "analytic costs are marked so" \
    "$(json 'd["source"]' <"$tmp/c.json")" analytic
is "plan searches 816 layouts and proves by enumeration" \
    "$($L plan $MODEL --pp 4 --gbs 16 --costs "$tmp/c.json" --standalone-mtp \
        --json | json 'd["searched"], d["proof"], len(d["layouts"])')" \
    "816 enumerated 10"
is "the best plan's own simulation gives its step time" \
    "$($L plan $MODEL --pp 4 --gbs 16 --costs "$tmp/c.json" --json --top 1 |
        json '"%.6f" % d["layouts"][0]["pred_step_ms"]')" \
    "$($L simulate $MODEL "$($L plan $MODEL --pp 4 --gbs 16 --costs \
        "$tmp/c.json" --json --top 1 | json 'd["layouts"][0]["layout"]')" \
        --pp 4 --gbs 16 --costs "$tmp/c.json" --json |
        json '"%.6f" % d["pred_step_ms"]')"
is "a timeline has one line a rank" \
    "$($L simulate $MODEL 'Et*5|t*6|t*5|mL' --pp 4 --gbs 8 --costs \
        "$tmp/c.json" | grep -c '^rank')" 4
is "virtual stages: one string, whose stages are twice the ranks" \
    "$($L plan $MODEL --pp 4 --vpp 2 --gbs 16 --costs "$tmp/c.json" \
        --print layout | tr -cd '|(' | wc -c | awk '{print ($1 > 0)}')" 1
"$L" costs $MODEL --world 8 --pp 8 --gbs 16 --analytic -o "$tmp/c8.json" >/dev/null
"$L" plan $MODEL --pp 4,8 --vpp 1,2 --group 4,8 --world 8 --gbs 32 \
    --costs "$tmp/c8.json" --json >"$tmp/ways.json"
is "every combination is there once, searched or refused" \
    "$(json 'sorted((w["pp"], w["vpp"], w["group"], "refused" in w)
        for w in d["combinations"])' <"$tmp/ways.json")" \
    "[(4, 1, 4, False), (4, 2, 4, False), (4, 2, 8, False), (8, 1, 4, False), (8, 2, 4, True), (8, 2, 8, False)]"
is "ranked across combinations, none below the bound" \
    "$(json '[all(a["expected_step_ms"] <= b["expected_step_ms"] * 1.005
        for a, b in zip(d["layouts"], d["layouts"][1:])),
        all(w["best_step_ms"] >= w["bound_ms"] - 1e-6
            for w in d["combinations"] if "bound_ms" in w)]' <"$tmp/ways.json")" \
    "[True, True]"
is "the table's lines name each combination and its best step" \
    "$($L plan $MODEL --pp 4 --vpp 1,2 --group 4,8 --gbs 32 --costs \
        "$tmp/c.json" | grep -c '^PP 4, VPP [12]\(, group 8\)\?: [0-9.]* ms, ')" 3
is "where nothing fits each combination says so" \
    "$($L plan $MODEL --pp 4 --vpp 1,2 --gbs 32 --hbm-gb 1 --costs \
        "$tmp/c.json" 2>&1 | grep -c 'PP 4, VPP [12], group 4: .*none of\|none of 2')" 3
is "costs from FLOPs hold for any number of replicas" \
    "$($L plan $MODEL --pp 4 --world 8 --gbs 32 --costs "$tmp/c.json" \
        --print layout | wc -l)" 1
$L plan $MODEL --pp 4,8 --vpp 1,2 --world 8 --gbs 32 --top 12 --costs "$tmp/c.json" \
    2>/dev/null | awk '/ layout /{at = index($0, "layout")} /^[0-9]+ PP/{n++
    if (substr($0, at - 1, 1) != " " || substr($0, at, 1) !~ /[^ ]/) bad++}
    END {print n, bad + 0}' >"$tmp/columns"
is "a table's layouts stand below their title, of ten ranks and more" \
    "$(cat "$tmp/columns")" "12 0"
is "costs without errors are shown without an interval" \
    "$($L plan $MODEL --pp 4 --gbs 16 --costs "$tmp/c.json" --json --top 1 |
        json 'd["layouts"][0]["pred_lo_ms"]')" None

# what a plan was asked with, the other commands take as well
$L costs $MODEL --analytic --recompute full -o "$tmp/full.json" >/dev/null
set -- --pp 4 --gbs 64 --recompute full --ep-overlap --group 8
$L plan $MODEL --vpp 2 "$@" --ep-save 1,0,0 --costs "$tmp/full.json" --json \
    --top 1 2>/dev/null >"$tmp/one.json"
pick=$(json 'd["layouts"][0]["layout"]' <"$tmp/one.json")
is "simulate gives a plan's step with recompute, overlap and group" \
    "$($L simulate $MODEL "$pick" "$@" --ep-save 1,0,0 --costs \
        "$tmp/full.json" --json 2>/dev/null | json '"%.6f" % d["pred_step_ms"]')" \
    "$(json '"%.6f" % d["layouts"][0]["pred_step_ms"]' <"$tmp/one.json")"
is "memory gives its bytes" \
    "$($L memory $MODEL "$pick" "$@" --json |
        json 'max(s["peak_bytes"] for s in d["stages"])')" \
    "$(json 'max(s["mem_bytes"] for s in d["layouts"][0]["stages"])' \
        <"$tmp/one.json")"
is "the flags of the winner name its pipeline size" \
    "$(json '"--pipeline-model-parallel-size %d" % d["layouts"][0]["pp"] in d["flags"]' \
        <"$tmp/ways.json")" True
is "--print flag gives words that \$(...) hands on as they are" \
    "$(printf '<%s>' $($L plan $MODEL --pp 4 --gbs 16 --costs "$tmp/c.json" \
        --print flag))" \
    "<--pipeline-model-parallel-layout><$($L plan $MODEL --pp 4 --gbs 16 \
        --costs "$tmp/c.json" --print layout)>"
cat >"$tmp/launch.sh" <<'EOF'
torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 8 --hidden-size 256 \
    --seq-length 128 \
    --num-attention-heads 4 --vocab-size 1024 --micro-batch-size 1 \
    --global-batch-size 16 --pipeline-model-parallel-size 4 \
    --num-virtual-stages-per-pipeline-rank 2
EOF
$L costs "$tmp/launch.sh" --analytic -o "$tmp/s.json" >/dev/null
$L plan "$tmp/launch.sh" --pp 2 --costs "$tmp/s.json" --print flag \
    >"$tmp/out" 2>"$tmp/err"
is "flags state a pipeline size that the script states otherwise" \
    "$(cut -d' ' -f3- "$tmp/out")" "--pipeline-model-parallel-size 2"
is "virtual stages that Megatron refuses beside a layout are pointed out" \
    "$(grep -c 'take --num-virtual-stages-per-pipeline-rank out of' "$tmp/err")" 1
is "--print list is the list of lists alone" \
    "$($L plan $MODEL --pp 4 --gbs 16 --costs "$tmp/c.json" --print list |
        cut -c1-14)" '[["embedding",'
vpp="$L simulate $MODEL Et*2|(t*2|)*6t*2mL --pp 4 --gbs 8 --costs $tmp/c.json"
is "a layout with more stages than ranks is interleaved" \
    "$($vpp --json | json 'd["vpp"], d["group"], d["p2p"], len(d["stages"])')" \
    "2 4 overlap 8"
is "EP overlap keeps a chunk more in flight on every rank" \
    "$($vpp --json --ep-overlap |
        json '[s["in_flight"] for s in d["stages"][:4]]')" \
    "$($vpp --json | json '[s["in_flight"] + 1 for s in d["stages"][:4]]')"
is "EP overlap takes the memory that it takes as Megatron's flag" \
    "$($vpp --json --ep-overlap | json '[s["mem_bytes"] for s in d["stages"]]')" \
    "$($vpp --json -- --overlap-moe-expert-parallel-comm |
        json '[s["mem_bytes"] for s in d["stages"]]')"
is "what pairs of layers save makes the step shorter" \
    "$(for save in 0,0,0 5,0,0; do $vpp --json --ep-overlap --ep-save $save |
        json 'd["pred_step_ms"]'; done | sort -g | uniq | wc -l)" 2
is "a trace has a track a rank" \
    "$($vpp --trace "$tmp/t.json" >/dev/null && json \
        'len({e["tid"] for e in d["traceEvents"] if e["ph"] == "X"})' \
        <"$tmp/t.json")" 4
echo '{"id": 1, "P": 3, "V": 2, "M": 3, "N": 3, "fwd": [1,1,1,1,1,1],
"bwd": [2,2,2,2,2,2], "lat": 1}' | tr -d '\n' >"$tmp/s.jsonl"
is "simulate --batch answers every mode" \
    "$($L simulate --batch "$tmp/s.jsonl" | json '[d[m]["step_time"] for m in \
        ("ideal", "async", "blocking", "overlap", "overlap_flush")][0], \
        d["max_inflight"]')" "24 [6, 6, 4]"
is "check says valid and exits 0" \
    "$($L check $MODEL 'Et*5|t*6|t*5|mL' --pp 4 | head -n 1)" \
    "valid: Et*5|t*6|t*5|mL"
$L check $MODEL 'Et*5|t*6|t*4|mL' --pp 4 >/dev/null 2>&1
is "check exits 1 on a layout that is not valid" $? 1
$L check $MODEL 'Et*5|t*6|t*5m|L' --pp 4 --core 0.15 >/dev/null 2>&1
is "core 0.15 refuses standalone MTP" $? 1

# bad input of each kind
refuses "bad layout" 2 "t*x" \
    $L simulate $MODEL 'Et*x|L' --pp 2 --gbs 8 --costs "$tmp/c.json"
refuses "layout of another model" 2 "found 15, want 16" \
    $L simulate $MODEL 'Et*5|t*6|t*4|mL' --pp 4 --gbs 8 --costs "$tmp/c.json"
refuses "unknown option with a suggestion" 2 "--json" $L size $MODEL --jsn
refuses "unknown command" 2 "pln" $L pln
refuses "missing model" 2 "model missing" $L size
refuses "file that is not there" 2 "No such file" $L size "$tmp/none.json"
refuses "flag without its value" 2 "value missing" $L size -- --num-layers
refuses "flag with a bad value" 2 "'x'" $L size -- --num-layers x
echo '{"format": "moe-layout/model/1", "num_layers": 4, "hiden_size": 8}' \
    >"$tmp/m.json"
refuses "unknown key with a suggestion" 2 "hidden" $L size "$tmp/m.json"
echo '{"format": "moe-layout/model/1", "num_layers": 4' >"$tmp/m.json"
refuses "JSON cut short" 2 "not valid JSON" $L size "$tmp/m.json"
echo '{"layout": "EL"}' >"$tmp/b.jsonl"
refuses "batch line without its keys" 2 "b.jsonl:1: pp" \
    $L check --batch "$tmp/b.jsonl"
refuses "costs of another model" 2 "make them again" \
    $L plan $MODEL --pp 4 --gbs 16 --seq 128 --costs "$tmp/c.json"
refuses "no batch size" 2 "--gbs" \
    $L plan $MODEL --pp 4 --costs "$tmp/c.json"
refuses "fewer micro-batches than a group takes" 2 "schedule" \
    $L plan $MODEL --pp 4 --vpp 2 --gbs 2 --seq 4096 --costs "$tmp/c.json"
refuses "EP overlap without virtual stages" 2 "needs interleaving" \
    $L plan $MODEL --pp 4 --gbs 16 --ep-overlap --costs "$tmp/c.json"
refuses "a list of sizes with a word in it" 2 "with commas" \
    $L plan $MODEL --pp 4,x --gbs 16 --costs "$tmp/c.json"
refuses "pipeline sizes on ranks that nobody stated" 2 "--world" \
    $L plan $MODEL --pp 2,4 --gbs 16 --costs "$tmp/c.json"
refuses "something to print that there is not" 2 "flag, layout or list" \
    $L plan $MODEL --pp 4 --gbs 16 --costs "$tmp/c.json" --print all
refuses "a transfer mode that is not known" 2 "want ideal, async, blocking" \
    $L plan $MODEL --pp 4 --gbs 16 --costs "$tmp/c.json" --p2p fast
refuses "a group size that Megatron refuses" 2 "groups of 4 or 8" \
    $L simulate $MODEL 'Et*2|(t*2|)*6t*2mL' --pp 4 --gbs 8 --group 5 \
    --costs "$tmp/c.json"
refuses "EP overlap without virtual stages" 2 "2 or more chunks a rank" \
    $L simulate $MODEL 'Et*5|t*6|t*5|mL' --pp 4 --gbs 8 --ep-overlap \
    --costs "$tmp/c.json"
refuses "overlap with one chunk a rank" 2 "never overlapped" \
    $L simulate $MODEL 'Et*5|t*6|t*5|mL' --pp 4 --gbs 8 --p2p overlap \
    --costs "$tmp/c.json"
refuses "nothing fits in memory" 1 "none of" \
    $L plan $MODEL --pp 4 --gbs 16 --costs "$tmp/c.json" --hbm-gb 1
echo "no log" >"$tmp/a.log"
refuses "a file that is no training log" 2 "a.log" \
    $L fit $MODEL --pp 4 --gbs 16 --run "Et*4|t*4|t*4|t*4mL=$tmp/a.log"
LIST='[["embedding", "decoder", "decoder", "decoder", "decoder", "decoder"], ["decoder", "decoder", "decoder", "decoder", "decoder"], ["decoder", "decoder", "decoder", "decoder"], ["decoder", "decoder", "mtp", "loss"]]'
is "the list that check prints is a layout, too" \
    "$($L check $MODEL "$LIST" --pp 4 2>/dev/null)" \
    "$($L check $MODEL 'Et*5|t*5|t*4|t*2mL' --pp 4 2>/dev/null)"
is "and fits steps" \
    "$($L fit $MODEL --pp 4 --gbs 64 --step "$LIST=745" --step 'Et*4|t*4|t*4|t*4mL=812' 2>/dev/null)" \
    "$($L fit $MODEL --pp 4 --gbs 64 --step 'Et*5|t*5|t*4|t*2mL=745' --step 'Et*4|t*4|t*4|t*4mL=812' 2>/dev/null)"
refuses "a list of other words" 2 "layout list: at 'decodr" $L memory $MODEL '[["decodr"]]' --pp 1
refuses "a stray argument" 2 "one too many" $L size $MODEL other.json
refuses "also where the usage has several lines" 2 "costs.json [--hbm-gb G]" $L plan $MODEL a b
refuses "a model without a sequence length" 2 "--seq" \
    $L costs --analytic -- --num-layers 4 --hidden-size 64 \
    --num-attention-heads 4 --vocab-size 100
refuses "more stages than layers" 1 "use fewer stages" \
    $L plan $MODEL --pp 19 --gbs 32 --costs "$tmp/c.json"
refuses "control characters in a message stay on one line" 2 "bad?layout" \
    $L simulate $MODEL "bad
layout" --pp 4 --gbs 8 --costs "$tmp/c.json"
refuses "a device is written to, not replaced" 3 "No space left" \
    $L costs $MODEL --analytic -o /dev/full
refuses "help that cannot be written" 3 "No space left" \
    sh -c "$L --help >/dev/full"
is "an option's value may follow an equals sign" \
    "$($L count --layers=16 --mtp=1 --pp=4)" 816
refuses "output that cannot be written" 3 "No space left" \
    sh -c "$L size $MODEL >/dev/full"

for c in size check count baselines profile-layouts fit costs plan simulate; do
    is "$c --help exits 0 with an example" \
        "$($L $c --help | grep -c Example)" 1
done
is "usage says what each command does" \
    "$($L --help | grep -c '^      [a-zA-Z]')" \
    "$($L --help | sed '/^MODEL/,$d' | grep -c '^  [a-z]')"
$L >/dev/null 2>&1
is "a bare command exits 2" $? 2
