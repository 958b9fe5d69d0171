#!/bin/sh
# Costs without a profile: moe-layout costs --roofline, and moe-bench roofline,
# which fits its constants to public step times and compares plans.
set -u
layout=${BUILD:-build/release}/moe-layout
bench=${BUILD:-build/release}/moe-bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
model=experiments/models/7b-a1b.json

. tests/cli/common.sh

refused() { # STATUS PART COMMAND...: one line on stderr that holds PART
    want=$1 part=$2
    shift 2
    "$@" >/dev/null 2>"$work/err"
    [ $? -eq "$want" ] && grep -q -- "$part" "$work/err"
}

sizes="--pp 4 --ep 2 --world 8 --gbs 128"
"$layout" costs $model --roofline H200 $sizes -o "$work/costs.json" >"$work/out" 2>/dev/null &&
    grep -q '^in decoder layers (t):.*E 0\.[0-9]*.* m 1\.[0-9]*.* L [0-9]' "$work/out" &&
    grep -q 'NVIDIA H200 data sheet' "$work/out" && grep -q '^transfer: ' "$work/out"
claim $? "costs --roofline prices units and link, and names the card's source"
"$layout" plan $model $sizes --costs "$work/costs.json" --print layout >"$work/pick" 2>/dev/null &&
    [ "$(wc -l <"$work/pick")" -eq 1 ]
claim $? "plan takes such costs"
grep -q '^t  *[0-9.]*  *-  *[0-9.]*  *-$' "$work/out" && grep -q 'analytic; errors not known' "$work/out" &&
    "$layout" plan $model $sizes --costs "$work/costs.json" 2>/dev/null >"$work/table" &&
    grep -q '^default .* not known ' "$work/table" && ! grep -q '^default .*\[' "$work/table"
claim $? "whose errors are not known, and no interval of no width is shown"
refused 2 'is it H200' "$layout" costs $model --roofline H20O $sizes
claim $? "a card that is nearly one is asked about"
"$layout" costs $model --roofline h200 $sizes --json 2>/dev/null >"$work/json" &&
    grep -q '"source":[^"]*"analytic"' "$work/json" &&
    grep -q '"card":[^"]*"H200"' "$work/json" && grep -q '"kernel_s"' "$work/json"
claim $? "the JSON document marks them, and has card and constants"
"$layout" costs $model --roofline A100 $sizes 2>/dev/null >"$work/slow" &&
    ! diff -q "$work/out" "$work/slow" >/dev/null
claim $? "another card gives other costs"
refused 2 'MI355X' "$layout" costs $model --roofline H20 $sizes
claim $? "an unknown card is refused with those known"
refused 2 'one of them' "$layout" costs $model --roofline H200 --analytic $sizes &&
    refused 2 'want --analytic or --roofline' "$layout" costs $model $sizes
claim $? "FLOPs or roofline: one of the two"
refused 1 'recompute by blocks' "$layout" costs $model --roofline H200 $sizes -- \
    --recompute-granularity full --recompute-method block --recompute-num-layers 1
claim $? "recompute by blocks is refused"
# the dense gradient of the table does not grow with the micro-batch
e_of() { "$layout" costs $model --roofline H200 $sizes --mbs "$1" 2>/dev/null |
    sed -n 's/^in decoder layers.*E \([0-9.]*\) .*/\1/p'; }
echo "$(e_of 1) $(e_of 4)" | awk '{ exit !($1 > 1.8 * $2 && $2 > 0) }'
claim $? "the embedding weighs less in larger micro-batches"

"$bench" roofline experiments/stage-c.json --to "$work/to" >"$work/out" &&
    head -1 "$work/to/plans.csv" | grep -q by_measured_pct &&
    [ "$(grep -c 'stage-c,H200,4,1' "$work/to/plans.csv")" -eq 4 ]
claim $? "plans by FLOPs, roofline and measured costs stand beside one another"
refused 2 'FILE missing' "$bench" roofline
claim $? "roofline without a file is refused"

rows=
for s in vtrain_multi bigscience mlperf_gpt3 mlperf_405b mlperf_dsv3 sel_recompute; do
    # results/published lacks those that may not be kept
    f=../shared/corpora/step-times/$s.csv
    [ -r "$f" ] && rows="$rows $f"
done
why="constants in use are those of the public rows"
if [ -z "$rows" ]; then
    echo "ok - $why # SKIP no folder ../shared with public step times"
    exit
fi
"$bench" roofline $rows --to "$work/to" >"$work/out" 2>"$work/err" && [ ! -s "$work/err" ] &&
    grep -q '^vtrain_multi *predict' "$work/out" && grep -q '^mlperf_405b *forward' "$work/out"
claim $? "$why, with their errors by source"
# numbers to four digits: the order of files moves the last ones
rounded() { sort "$1" | awk -F, -v OFS=, '{
    for (i = 1; i <= NF; i++) if ($i ~ /^-?[0-9.]+(e-?[0-9]+)?$/) $i = sprintf("%.4g", $i)
    print }'; }
for t in constants errors; do
    rounded results/reference/roofline/$t.csv >"$work/ours"
    rounded "$work/to/$t.csv" | diff "$work/ours" -
done >"$work/diff"
cat "$work/diff"
[ ! -s "$work/diff" ]
claim $? "the tables of the report are what this code fits"
n=0
for f in $rows; do # every measured step a third longer
    awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") at = i }
        NR > 1 && $at > 0 && NF { $at *= 1.33 } { print }' "$f" \
        >"$work/slower$n.csv"
    n=$((n + 1))
done
"$bench" roofline "$work"/slower*.csv >/dev/null 2>"$work/err"
[ $? -eq 1 ] && grep -q 'differ from this fit' "$work/err"
claim $? "slower rows give other constants, and exit 1"
