#!/bin/sh
# moe-layout check: verdicts by version, caret, warnings, ranks, list form.
L=${BUILD:-build/release}/moe-layout
M=experiments/models/7b-a1b.json
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

. tests/cli/common.sh

"$L" check $M 'Et*5|t*6|t*4|mL' --pp 4 >"$tmp/out" 2>"$tmp/err"
is "a layout that is not valid: exit 1, what was read on stderr" \
    "$? $(grep -vc ' layers of width ' "$tmp/err")" "1 0"
is "plain words, the string, a caret, Megatron's words" "$(cat "$tmp/out")" \
"not valid: one t for each decoder layer: found 15, want 16
  Et*5|t*6|t*4|mL
           ^
Megatron: AssertionError: Number of decoder layers must match num_layers"

for core in 0.12 0.13 0.14 0.15 0.16 0.17 0.18 0.19 0.20; do
    "$L" check $M 'Et*5|t*11|m|L' --pp 4 --core $core >/dev/null 2>&1
    echo "$core $?"
done >"$tmp/out"
is "m on a stage of its own by version" "$(tr '\n' ' ' <"$tmp/out")" \
    "0.12 1 0.13 1 0.14 0 0.15 1 0.16 0 0.17 0 0.18 0 0.19 0 0.20 0 "
"$L" check $M 'Et*5|t*11|m|L' --pp 4 --core 1.0 >/dev/null 2>"$tmp/err"
is "an unknown version: exit 2" "$? $(grep -c '0.12 to 0.20' "$tmp/err")" "2 1"

"$L" check $M 'Et*5|t*6|t*5|mL' --pp 4 >"$tmp/out"
is "the rank table" "$(sed -n '5p' "$tmp/out" | tr -s ' ')" "2 0 2 11-15 t*5"
"$L" check $M 'Et|t|t|t|t|t|t|t|t|t|t|tttt|t|mL|' --pp 3 --json >"$tmp/out"
is "L away from the last stage is told of" \
    "$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(d["valid"], len([w for w in d["warnings"] if w.startswith("L is not")]))' \
        "$tmp/out")" "True 1"
"$L" check $M 'Et|t|t|t|t|t|t|t|t|t|t|tttt|t|m|L' --pp 3 --json >"$tmp/out"
is "JSON has the string as people write it, the shortest and the list of lists" \
    "$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(d["valid"], d["vpp"], d["layout"], d["shortest"], d["list"][-2:])' "$tmp/out")" \
    "True 5 Et|(t|)*10t*4|t|m|L E(t|)*11t*4|t|m|L [['mtp'], ['loss']]"
for way in "" --shortest; do
    "$L" check $M 'Et*4|t*4|t*4|t*4mL' --pp 4 $way 2>/dev/null | head -n 1
done >"$tmp/out"
is "repeats are of whole stages, the shortest string comes on request" \
    "$(cat "$tmp/out")" \
    "valid: Et*4|t*4|t*4|t*4mL
valid: Et*4(|t*4)*3mL"
"$L" check $M 'E|t*8m|t*8|L' --pp 2 --json >"$tmp/out"
is "JSON has the reason, Megatron's words and the place" \
    "$? $(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(d["valid"], d["error"], d["position"], d["megatron"].split(":")[0])' "$tmp/out")" \
    "1 False t_after_m 7 AssertionError"

"$L" check $M 'E|t*16|mL|' --pp 4 | grep '^warning' | cut -c1-29 >"$tmp/out"
is "warnings: L, standalone, the stages by number" "$(cat "$tmp/out")" \
"warning: L is not in the last
warning: m sits on a stage wi
warning: stage 3: empty: docu
warning: stage 0: no layer wi"
"$L" check $M 'Et*4|t*4|t*4|t*4mL' --pp 4 -- \
    --overlap-moe-expert-parallel-comm >"$tmp/out"
is "EP overlap without virtual stages: exit 1, all refusals at once" \
    "$? $(grep -c '^not valid: --overlap-moe' "$tmp/out")" "1 4"
"$L" check $M 'E(t|)*15t|mL' --pp 1 >"$tmp/out"
is "stages on one rank are no virtual stages: exit 1" \
    "$? $(grep -c 'two ranks or more' "$tmp/out")" "1 1"

# ---- launches ----
base="pretrain_gpt.py --num-layers 8 --micro-batch-size 1 --bf16"
launch() { # RANKS FLAGS...: writes a script; check's answer in out, err, code
    ranks=$1
    shift
    echo "torchrun --nproc-per-node $ranks $base $*" >"$tmp/run.sh"
    "$L" check "$tmp/run.sh" --json >"$tmp/out" 2>"$tmp/err"
    code=$?
}
field() { # EXPRESSION over the document d
    python3 -c "import json, sys; d = json.load(open(sys.argv[1])); print($1)" \
        "$tmp/out"
}

launch 4 --pipeline-model-parallel-size 2 --global-batch-size 8
is "a launch is judged without widths or vocabulary" \
    "$code $(field 'd["valid"], d["shortest"], d["microbatches"], d["warnings"]')" \
    "0 True Et*4|t*4L 4 []"
launch 2 --pipeline-model-parallel-size 2 --global-batch-size 8 \
    --num-virtual-stages-per-pipeline-rank 3
is "a refusal is an answer: exit 1, the rule, the numbers that would work" \
    "$code $(field 'd["valid"], d["error"], d["message"].split(", or ")[-1]')" \
    "1 False split --num-virtual-stages-per-pipeline-rank 2 or 4"
launch 4 --pipeline-model-parallel-size 2 --global-batch-size 9 --fp16
is "several refusals, each with its source" \
    "$(field '[(r["rule"], r["source"].split()[0]) for r in d["refusals"]]')" \
    "[('batch and micro-batches', 'num_microbatches_calculator.py'), ('flags together', 'arguments.py,')]"
launch 2 --pipeline-model-parallel-size 2 --global-batch-size 8 \
    --pipeline-model-parallel-layout "\"'Et*4|t*4L'\""
is "quotes within quotes arrive in Megatron" \
    "$code $(field 'd["error"], d["position"]')" "1 bad_char 0"
launch 2 --pipeline-model-parallel-size 2 --global-batch-size 8 \
    --pipeline-model-parallel-layout "'Et*4|t*4L'"
is "quotes of the shell do not" "$code $(field 'd["shortest"]')" "0 Et*4|t*4L"
launch 8 --pipeline-model-parallel-size 8 --global-batch-size 4
is "few micro-batches: a warning with the batch that fills the pipeline" \
    "$code $(field 'd["warnings"][0].split(": ")[2]')" \
    "0 --global-batch-size 8 or more fills the pipeline"
"$L" check "$tmp/run.sh" -- --global-batch-size 12 --pipeline-model-parallel-size 2 \
    >"$tmp/out" 2>/dev/null
is "flags behind -- win, and FILE is still a file" \
    "$? $(head -n 1 "$tmp/out")" "0 valid: Et*4|t*4L"
"$L" check "$tmp/run.sh" --pp 2 --vpp 2 --gbs 36 --group 3 >"$tmp/out" 2>/dev/null
is "options of sizes win, --group too" \
    "$? $(head -n 1 "$tmp/out")" "0 valid: Et*2|t*2|t*2|t*2L"
"$L" check "$tmp/run.sh" --world 6 >"$tmp/out" 2>/dev/null
is "ranks that do not divide: exit 1, the ranks that would" \
    "$? $(grep -o 'want 8 ranks' "$tmp/out")" "1 want 8 ranks"
"$L" check "$tmp/run.sh" 'Et*3|t*5L' --pp 2 >"$tmp/out" 2>/dev/null
is "a layout that is typed takes the place of the split" \
    "$? $(head -n 1 "$tmp/out")" "0 valid: Et*3|t*5L"
"$L" check -- --num-layers 9 --pipeline-model-parallel-size 2 >"$tmp/out" 2>/dev/null
is "flags alone are judged, too" "$? $(grep -c 'want --num-layers 8 or 10' "$tmp/out")" \
    "1 1"
"$L" check -- --pipeline-model-parallel-size 2 >"$tmp/out" 2>"$tmp/err"
is "without layers there is no verdict: exit 2, with what gives them" \
    "$? $(grep -c "num-layers: not stated, give '-- --num-layers VALUE'" "$tmp/err")" \
    "2 1"
for core in 0.12 0.13 0.15 0.16 0.20; do
    "$L" check --core $core -- --num-layers 24 --pipeline-model-parallel-size 3 \
        --decoder-first-pipeline-num-layers 10 \
        --num-layers-in-last-pipeline-stage 14 >/dev/null 2>&1
    echo "$core $?"
done >"$tmp/out"
is "ends that leave a stage nothing, by version" "$(tr '\n' ' ' <"$tmp/out")" \
    "0.12 0 0.13 0 0.15 0 0.16 1 0.20 1 "

vectors=../shared/vectors/layout_vectors.jsonl
if [ -f $vectors ]; then
    "$L" check --batch $vectors >"$tmp/out"
    is "all vectors in one batch" "$(python3 -c '
import json, sys
n = bad = 0
for want, got in zip(open(sys.argv[1]), open(sys.argv[2]), strict=True):
    want, got = json.loads(want), json.loads(got)
    n += 1
    bad += any(got[k] != want[k] for k in
               ("valid", "error", "vpp", "stages", "mtp_standalone"))
print(n, bad)' $vectors "$tmp/out")" "200 0"
else
    echo "ok - all vectors in one batch # SKIP $vectors is not there"
fi
