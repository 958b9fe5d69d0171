#!/bin/sh
# Hybrid models through the command line: a GPT model planned with cuts inside
# its layers, the pattern that is printed read back, memory and simulation of
# it, and what such models do not have.
L=${BUILD:-build/release}/moe-layout
MODEL=experiments/models/7b-a1b.json
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

. tests/cli/common.sh

# CLAIM EXIT_CODE WORD COMMAND...
refuses() {
    claim=$1 want=$2 word=$3
    shift 3
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    code=$?
    if [ $code -eq "$want" ] && [ ! -s "$tmp/out" ] &&
        tail -n 1 "$tmp/err" | grep -qF -- "$word"; then
        echo "ok - $claim"
    else
        echo "not ok - $claim: exit $code (want $want), no '$word' in:"
        cat "$tmp/err"
    fi
}

json() { # EXPRESSION over the document d on stdin
    python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"
}

set -- "$MODEL" --pp 4 --gbs 64 --ep 4 --world 16
$L costs "$@" --analytic -o "$tmp/costs.json" >"$tmp/out" 2>&1
$L plan "$@" --costs "$tmp/costs.json" --hybrid --p2p ideal --json \
    >"$tmp/halves.json" 2>"$tmp/err"
is "a GPT model is planned with halves of layers" $? 0
$L plan "$@" --costs "$tmp/costs.json" --p2p ideal --json >"$tmp/gpt.json" 2>"$tmp/err"

is "its whole-layer optimum is the GPT model's own" \
    "$(json 'round(d["whole_layers"]["pred_step_ms"], 6)' <"$tmp/halves.json")" \
    "$(json 'round(min(l["pred_step_ms"] for l in d["layouts"]), 6)' <"$tmp/gpt.json")"
is "the pattern has the model's symbols" \
    "$(json 'd["layouts"][0]["layout"].replace("|", "")' <"$tmp/halves.json")" \
    '*E*E*E*E*E*E*E*E*E*E*E*E*E*E*E*E/*E'
is "the flag is quoted and the right one" \
    "$(json 'd["flags"] == "--hybrid-layer-pattern \x27%s\x27" % d["layouts"][0]["layout"]' \
        <"$tmp/halves.json")" True
is "what was split is marked as assumed" \
    "$(json 'any("split between attention" in a for a in d["assumed"])' <"$tmp/halves.json")" True

# GPT's own layout and the same as a pattern: equal steps and bytes
gpt='Et*5|t*6|t*5|mL'
pattern='*E*E*E*E*E|*E*E*E*E*E*E|*E*E*E*E*E|/*E'
step() { # LAYOUT [OPTION]
    layout=$1
    shift
    $L simulate "$MODEL" "$layout" --pp 4 --gbs 64 --ep 4 --world 16 \
        --costs "$tmp/costs.json" "$@" --json 2>"$tmp/err" |
        json 'round(d["pred_step_ms"], 9)'
}
is "simulate: the same layout takes the same time as a pattern" \
    "$(step "$pattern" --hybrid)" "$(step "$gpt")"
memory() { # LAYOUT [OPTION]
    layout=$1
    shift
    $L memory "$MODEL" "$layout" --pp 4 --gbs 64 --ep 4 --world 16 "$@" --json \
        2>"$tmp/err" | json '[r["params"] for r in d["stages"]]'
}
is "memory: the same layout holds the same parameters as a pattern" \
    "$(memory "$pattern" --hybrid)" "$(memory "$gpt")"

# a GPT layout is taken as the pattern that it has, a launch's own as well
want=$(step "$gpt")
is "simulate --hybrid takes a GPT layout" "$(step "$gpt" --hybrid)" "$want"
is "and says as what" \
    "$(grep -c "taken as the pattern '\*E\*E\*E\*E\*E|" "$tmp/err")" 1
is "what was assumed on the way is counted" \
    "$(grep -c 'micro-batches, 2 assumptions' "$tmp/err")" 1
is "memory --hybrid takes a GPT layout" "$(memory "$gpt" --hybrid)" "$(memory "$gpt")"
is "and a launch's own" \
    "$($L memory "$MODEL" --pp 4 --gbs 64 --ep 4 --world 16 --hybrid --json \
        -- --pipeline-model-parallel-layout "$gpt" 2>"$tmp/err" |
        json '[r["params"] for r in d["stages"]]')" "$(memory "$gpt")"

# stages that do not fit the ranks that are named are not passed over
refuses "a layout of other ranks" 2 "multiple of the pipeline size" \
    $L memory "$MODEL" --pp 3 --hybrid -- --pipeline-model-parallel-layout "$gpt"
flags='--hidden-size 64 --num-attention-heads 4 --vocab-size 128 --seq-length 64'
refuses "bars of other ranks" 2 "2 stages, want a multiple of the 4 ranks" \
    $L memory --pp 4 -- $flags --hybrid-layer-pattern '***|*'
is "check does not, either" \
    "$($L check --pp 4 --json -- $flags --hybrid-layer-pattern '***|*' 2>"$tmp/err" | json 'd["error"]')" \
    segments_not_divisible

refuses "chunks that Megatron refuses hold no memory" 2 "two ranks or more" \
    $L memory '**|**' --pp 1 -- $flags --hybrid-layer-pattern '****'
refuses "nor without overlapped communication" 2 "three ranks or more" \
    $L memory '*|*|*|*' --pp 2 -- $flags --hybrid-layer-pattern '****' \
    --no-overlap-p2p-communication
refuses "a byte that no terminal shows is named" 2 "got \\xC3 as letter 2" \
    $L memory -- $flags --hybrid-layer-pattern '*é'

# a pattern may begin with an MLP, where argparse wants '='
mlp=--hybrid-layer-pattern=-*-*
is "it is a layout on the line, too" \
    "$($L memory '-*|-*' --pp 2 --json -- $flags "$mlp" 2>"$tmp/err" |
        json '[r["units"] for r in d["stages"]]')" "['-*', '-*']"
$L costs --analytic --gbs 4 -o "$tmp/mlp.json" -- $flags "$mlp" >"$tmp/out" 2>&1
is "and the flag that is printed has the sign" \
    "$($L plan --pp 2 --gbs 4 --costs "$tmp/mlp.json" --print flag -- $flags "$mlp" 2>"$tmp/err" |
        cut -c1-24)" "--hybrid-layer-pattern=-"
is "empty MTP parts are none" \
    "$($L memory '*-|*-///' --pp 2 --json -- $flags --hybrid-layer-pattern '*-*-///' 2>"$tmp/err" |
        json '[r["units"] for r in d["stages"]]')" "['*-', '*-']"

# costs that were made for the pattern need no splitting
$L costs "$@" --analytic --hybrid -o "$tmp/symbols.json" >"$tmp/out" 2>&1
is "costs --hybrid has units by symbol" \
    "$(json 'sorted(d["units"])' <"$tmp/symbols.json")" \
    "['E', 'L', 'attention', 'experts', 'm']"
is "and plans to the same step" \
    "$($L plan "$@" --costs "$tmp/symbols.json" --hybrid --p2p ideal --json 2>"$tmp/err" |
        json 'round(d["layouts"][0]["pred_step_ms"], 6)')" \
    "$(json 'round(d["layouts"][0]["pred_step_ms"], 6)' <"$tmp/halves.json")"

# profile runs part attention from experts
$L profile-layouts "$MODEL" --pp 4 --hybrid >"$tmp/profile" 2>"$tmp/err"
is "profile-layouts: a run cuts inside a layer" \
    "$(grep -c '\*|E\|^E' "$tmp/profile")" "$(wc -l <"$tmp/profile")"

is "plan --print flag gives the flag alone" \
    "$($L plan "$@" --costs "$tmp/costs.json" --hybrid --p2p ideal --print flag 2>"$tmp/err")" \
    "$(json '"--hybrid-layer-pattern " + d["layouts"][0]["layout"]' <"$tmp/halves.json")"

# what Megatron has for GPT models alone
refuses "EP overlap is refused" 2 "none for hybrid models" \
    $L plan "$@" --costs "$tmp/costs.json" --hybrid --vpp 2 --ep-overlap
refuses "standalone MTP is refused" 2 "stands with the loss" \
    $L plan "$@" --costs "$tmp/costs.json" --hybrid --standalone-mtp
refuses "a list of units is refused" 2 "no list" \
    $L plan "$@" --costs "$tmp/costs.json" --hybrid --print list
refuses "m away from the loss has no pattern" 2 "stands with the loss" \
    $L simulate "$@" --costs "$tmp/costs.json" --hybrid 'Et*5|t*6|t*5m|L'
refuses "costs of symbols do not fit the GPT model" 2 "num_layers" \
    $L plan "$@" --costs "$tmp/symbols.json"

# costs of symbols from step times alone: truth that no FLOPs say, and a layout
# that the fit has not seen
$L costs "$@" --analytic --hybrid -o "$tmp/truth.json" >"$tmp/out" 2>&1
python3 - "$tmp/truth.json" <<'PY'
import json, sys
c = json.load(open(sys.argv[1]))
for unit, by in ("attention", 1.7), ("experts", 0.8), ("m", 0.6), ("L", 1.3):
    c["units"][unit]["fwd_s"] *= by
    c["units"][unit]["bwd_s"] = 2 * c["units"][unit]["fwd_s"]
json.dump(c, open(sys.argv[1], "w"))
PY
took() { # COSTS LAYOUT
    $L simulate "$MODEL" "$2" --pp 4 --gbs 64 --ep 4 --world 16 --hybrid \
        --costs "$1" --json 2>"$tmp/err" | json 'd["pred_step_ms"]'
}
steps= rows=
patterns=$(python3 -c "
for a, b, c in (7, 15, 23), (11, 18, 26), (12, 21, 30), (7, 21, 28), (15, 24, 31), \\
        (5, 19, 29), (17, 28, 29), (18, 30, 32):
    s = '*E' * 16
    print('|'.join((s[:a], s[a:b], s[b:c], s[c:])))
")
set -f # which have asterisks
for cuts in $patterns; do
    ms=$(took "$tmp/truth.json" "$cuts/*E")
    steps="$steps --step $cuts/*E=$ms"
    rows="$rows$ms,\"$cuts/*E\",4
"
done
$L fit "$@" --hybrid $steps -o "$tmp/steps.json" --json >"$tmp/fit.json" 2>"$tmp/err"
is "fit --step takes a hybrid model" $? 0
set +f
unseen='*E*E*E*E*E*E|*E*E*E*E*E|*E*E*E*|E*E/*E'
is "and predicts a layout that it has not seen within 1%" \
    "$(python3 -c "print(abs($(took "$tmp/steps.json" "$unseen") / $(took "$tmp/truth.json" "$unseen") - 1) < 0.01)")" \
    True
is "m and L, which always stand together, are one unit" \
    "$(json 'sorted(d["costs"]["units"])' <"$tmp/fit.json")" \
    "['E', 'attention', 'experts', 'mL']"
printf 'step_ms,layout,pp\n%s' "$rows" | python3 -c "
import csv, sys
w = csv.writer(sys.stdout)
w.writerow(['step_s', 'layout', 'pp'])
w.writerows([float(r['step_ms']) / 1e3, r['layout'], r['pp']] for r in csv.DictReader(sys.stdin))
" >"$tmp/steps.csv"
$L fit "$@" --hybrid --steps "$tmp/steps.csv" --json >"$tmp/fit2.json" 2>"$tmp/err"
is "a file of steps says the same" \
    "$(json 'round(d["costs"]["units"]["attention"]["fwd_s"], 9)' <"$tmp/fit2.json")" \
    "$(json 'round(d["costs"]["units"]["attention"]["fwd_s"], 9)' <"$tmp/fit.json")"
# whole layers part nothing, in a model of another depth neither
$L fit "$@" --hybrid --step 'Et*4|t*4|t*4|t*4mL=3600' --step 'Et*5|t*5|t*5|tmL=2400' \
    --step 'Et*2|t*2|t*2|tmL=1500' --json >"$tmp/fit.json" 2>"$tmp/err"
is "whole layers do not part attention from experts, which is said" \
    "$? $(json '"attention" in d["tied"]' <"$tmp/fit.json")" "0 True"
is "and each layout of a GPT model as what it was taken" \
    "$(grep -c 'is a layout of GPT models, taken as the pattern' "$tmp/err")" 3
d=decoder
printf 'step_s,layout\n3.6,Et*4|t*4|t*4|t*4mL\n2.4,Et*5|t*5|t*5|tmL\n1.5,"%s"\n' \
    "[[embedding,$d,$d],[$d,$d],[$d,$d],[$d,mtp,loss]]" >"$tmp/steps.csv"
$L fit "$@" --hybrid --steps "$tmp/steps.csv" --json 2>"$tmp/err" | json 'd["costs"]["units"]' >"$tmp/units"
is "a file of the same steps says the same, also where a layout is a list" \
    "$(cat "$tmp/units")" "$(json 'd["costs"]["units"]' <"$tmp/fit.json")"
is "and as what its layouts were taken" \
    "$(grep -c 'is a layout of GPT models, taken as the pattern' "$tmp/err")" 3
printf 'step_s,layout,n_layers\n3.6,,16\n7.1,,32\n' >"$tmp/steps.csv"
refuses "32 layers without a layout are not taken for 32 symbols" 2 \
    "row 3: n_layers: got 32, the model here has 16 layers" \
    $L fit "$@" --hybrid --steps "$tmp/steps.csv"
refuses "a step of other symbols is refused" 2 "no layer 'E'" \
    $L fit "$@" --hybrid --step '*|*|*|*/*E=10' --step "$pattern=1000"

# Megatron's own split of a pattern, and the rules of the field
NANO=experiments/models/nemotron-3-nano.json
is "baselines of a hybrid model are patterns" \
    "$($L baselines $NANO --pp 4 2>"$tmp/err" | sed -n 's/^default *//p')" \
    'MEMEM*EMEMEM*|EMEMEM*EMEMEM|*EMEMEM*EMEME|MEM*EMEMEMEME'
is "layers that do not divide have no default" \
    "$($L baselines $NANO --pp 8 2>"$tmp/err" | grep -c '^default.*not divisible')" 1
is "and are told to want bars" \
    "$($L baselines $NANO --pp 8 2>"$tmp/err" | grep -c "^default.*want 8 segments with '|'")" 1
is "memory --hybrid: a launch's own split, virtual stages and all" \
    "$($L memory "$MODEL" --pp 4 --vpp 2 --gbs 64 --hybrid --json 2>"$tmp/err" |
        json '[r["params"] for r in d["stages"]]')" \
    "$($L memory "$MODEL" --pp 4 --vpp 2 --gbs 64 --json 2>"$tmp/err" |
        json '[r["params"] for r in d["stages"]]')"
is "Nemotron-3 Nano has 31.6 billion parameters, 3.6 active, 3.2 without look-up" \
    "$($L size $NANO --json 2>"$tmp/err" |
        json '"%.1f %.1f %.1f" % tuple(x / 1e9 for x in (d["params"]["total"], d["params"]["active"], d["params"]["active_without_lookup"]))')" \
    "31.6 3.6 3.2"

# steps that were run (in virtual time, declared work): each from the others'
is "steps of runs predict those of layouts that were left out within 1%" \
    "$(python3 - "$L" results/reference/local-hybrid/layouts.csv "$tmp/left.json" <<'P'
import csv, json, subprocess, sys
program, table, costs = sys.argv[1:]
took = {r["layout"]: r["meas_step_ms"] for r in csv.DictReader(open(table))}
model = "experiments/models/local-hybrid.json"
batch = "--hybrid --pp 4 --gbs 32 --mbs 2 --seq 96".split()
def run(*words):
    return subprocess.run([program, *words], capture_output=True, check=True).stdout
worst = 0
for left in took:
    steps = [w for x in took if x != left for w in ("--step", f"{x}={took[x]}")]
    run("fit", model, *batch, *steps, "-o", costs)
    d = json.loads(run("simulate", model, left, *batch, "--costs", costs, "--json"))
    worst = max(worst, abs(d["pred_step_ms"] / float(took[left]) - 1))
print(len(took) >= 5, worst < 0.01)
P
)" "True True"

# a doctor's advice for the run of a hybrid model, beside what was measured of it
D=results/reference/local-hybrid
zcat "$D"/runs/r01-count-based-*/log.txt.gz >"$tmp/log.txt"
$L doctor "$tmp/log.txt" --hbm-gb 1 --json >"$tmp/doctor.json" 2>"$tmp/err"
is "doctor takes the log of a hybrid model" $? 0
is "its layout and its advice are patterns, and the interval holds what that one took" \
    "$(python3 - "$tmp/doctor.json" $D/layouts.csv <<'P'
import csv, json, sys
d = json.load(open(sys.argv[1]))
took = {r["layout"]: float(r["meas_step_ms"]) for r in csv.DictReader(open(sys.argv[2]))}
a = d["advice"]
gain = 1 - took[a["layout"]] / took[a["own_layout"]]
print(a["own_layout"] != a["layout"], a["gain_lo"] <= gain <= a["gain_hi"])
P
)" "True True"

# What is told first may be any of a tie; what cuts inside layers gain is told of
# the fastest, so it is never negative (here the first is 0.28% slower than the
# fastest, which cuts between layers).
cat >"$tmp/tie.json" <<'JSON'
{"format": "moe-layout/model/1", "hidden_size": 1024, "ffn_hidden_size": 4096,
 "num_attention_heads": 16, "vocab_size": 32000, "num_layers": 4, "num_experts": 8,
 "moe_ffn_hidden_size": 1024, "moe_router_topk": 2, "seq_length": 2048,
 "max_position_embeddings": 2048, "position_embedding_type": "rope",
 "normalization": "RMSNorm", "swiglu": true, "disable_bias_linear": true, "bf16": true,
 "untie_embeddings_and_output_weights": true, "mtp_num_layers": 1}
JSON
$L costs "$tmp/tie.json" --hybrid --analytic -o "$tmp/tie-costs.json" >"$tmp/out" 2>&1
python3 - "$tmp/tie-costs.json" <<'PY'
import json, sys
c = json.load(open(sys.argv[1]))
for unit, f, b in ("E", 0, 0), ("m", 12, 52), ("L", 21, 45), ("attention", 31, 57), ("experts", 21, 6):
    c["units"][unit].update(fwd_s=f / 1000, bwd_s=b / 1000)
json.dump(c, open(sys.argv[1], "w"))
PY
$L plan "$tmp/tie.json" --hybrid --pp 3 --gbs 2 --costs "$tmp/tie-costs.json" --p2p ideal \
    >"$tmp/out" 2>"$tmp/err"
is "a gain is never negative" "$(grep -o 'cuts inside.*slower' "$tmp/out")" \
    'cuts inside layers: 720.000 ms (enumerated); between whole layers only: 720.000 ms (enumerated), 0.00% slower'

# a limit that only cuts inside layers keep, and a baseline that does not
D3=experiments/models/deepseek-v3.json
set -- $D3 --pp 16 --ep 8 --gbs 1024 --world 256 --hybrid
$L costs "$@" --roofline H100 -o "$tmp/d3.json" -- --use-distributed-optimizer \
    >"$tmp/out" 2>&1
$L plan "$@" --costs "$tmp/d3.json" --hbm-gb 141 --top 1 -- \
    --use-distributed-optimizer >"$tmp/out" 2>"$tmp/err"
is "a baseline that does not fit is marked so" \
    "$(grep -c '^count-based .* does-not-fit' "$tmp/out")" 1
is "the bound is of layouts that fit" \
    "$(grep -c 'no layout that fits is faster than' "$tmp/out")" 1
is "that no whole-layer layout fits is said" \
    "$(grep -c 'whole layers only: no layout was found that fits' "$tmp/out")" 1
refuses "nothing fits: what the flags leave unused is named" 1 \
    "--use-distributed-optimizer" $L plan "$@" --costs "$tmp/d3.json" --hbm-gb 100
