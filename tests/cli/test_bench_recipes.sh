#!/bin/sh
# moe-bench on a manifest that only plans: run, publish, validate and report, on
# a model whose layouts are proved in milliseconds.
set -u
bench=${BUILD:-build/release}/moe-bench
work=$(mktemp -d)
export TMPDIR="$work"
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

manifest=tests/fixtures/recipes.json
"$bench" run $manifest --out "$work/r" --dry-run >"$work/out" &&
    grep -q '^# 2 ways, 20 searches, at most 1200 s' "$work/out" &&
    grep -q '^  Et\*4|t\*4mL  (equal halves)' "$work/out" && [ ! -e "$work/r" ]
claim $? "--dry-run lists ways and recipes and writes nothing"
"$bench" publish $manifest --out "$work/r" --to "$work/d" >/dev/null 2>"$work/err"
[ $? -ne 0 ] && one_line "$work/err" "moe-bench run $manifest"
claim $? "what was not planned cannot be published"
"$bench" run -q $manifest --out "$work/r" >"$work/out" 2>"$work/err" &&
    [ ! -s "$work/err" ]
claim $? "run plans without a word on stderr when told to be quiet"
grep -q 'planner .* 0.000 optimal' "$work/out" &&
    grep -q 'refused: .*interleaving' "$work/out"
claim $? "its table has proofs, and the reason of what Megatron refuses"
csv=$work/r/recipes.csv
column() { # NAME ROW_FILTER: values of a column of rows that match
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR > 1 && $0 ~ filter { print $at[name] }' filter="$2" "$csv"
}
column gap_pct ',recipe,1,' | awk '$1 + 0 < 0 { bad = 1 }
    $1 > 5 { far = 1 } END { exit bad || !far }'
claim $? "no recipe is below the optimum, and a bad one far above"
[ "$(column proof ',planner,' | sort -u | tr '\n' ' ')" = \
    "enumerated optimal refused " ]
claim $? "every way is proved or refused"
[ "$(column costs_source '' | sort -u)" = analytic ]
claim $? "costs are marked analytic"
cp "$csv" "$work/first.csv"
"$bench" run -q $manifest --out "$work/r" >/dev/null && cmp -s "$csv" "$work/first.csv"
claim $? "what is proved is the same in every run"

"$bench" publish $manifest --out "$work/r" --to "$work/d" >/dev/null &&
    grep -q '"source":[[:space:]]*"analytic"' "$work/d/dataset.json" &&
    cmp -s "$manifest" "$work/d/manifest.json" && cmp -s "$csv" "$work/d/recipes.csv"
claim $? "publish makes a dataset of table, manifest, machine and date"
"$bench" validate "$work/d" --baseline "$work/none.csv" >"$work/out" &&
    grep -q '^recipes: .* 0 changed, 0 below their bound: not worse' "$work/out"
claim $? "the same code predicts the same"
sums() { # FOLDER: its files as they are now pass as published
    (cd "$1" && find * -type f ! -name SHA256SUMS -exec sha256sum {} + \
        >../sums && mv ../sums SHA256SUMS)
}
plant() { # NAME FACTOR: scales a column of the second row
    awk -F, -v name="$1" -v by="$2" 'BEGIN { OFS = "," }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR == 3 { $at[name] = sprintf("%.17g", $at[name] * by) }
        { print }' "$csv" >"$work/d/recipes.csv"
    sums "$work/d"
    "$bench" validate "$work/d" --baseline "$work/none.csv" >"$work/out"
}
plant pred_step_ms 1.001
[ $? -eq 1 ] && grep -q ' 1 changed, .*: worse: PP2 VPP1 .*step (ms)' "$work/out"
claim $? "a step that is another now gives 1 and says which"
plant worst_rank_mem_bytes 1.01
[ $? -eq 1 ] && grep -q ' 1 changed, .*fullest rank' "$work/out"
claim $? "so does memory"
plant bound_ms 2
[ $? -eq 1 ] && grep -q ' 0 changed, 1 below .*below the bound' "$work/out"
claim $? "a layout faster than its proved bound gives 1"
cp "$csv" "$work/d/recipes.csv"
sed 's/"save_share": 0.1/"save_share": 0.2/' "$manifest" \
    >"$work/d/manifest.json"
sums "$work/d"
"$bench" validate "$work/d" --baseline "$work/none.csv" >"$work/out"
[ $? -eq 1 ] && grep -q 'with EP overlap' "$work/out"
claim $? "and so does another assumption"
sed 's/"save_share": 0.1/"save_share": 0.3/' "$manifest" >"$work/other.json"
"$bench" publish "$work/other.json" --out "$work/r" --to "$work/d" \
    >/dev/null 2>"$work/err"
[ $? -ne 0 ] && one_line "$work/err" 'no results of this manifest'
claim $? "results of another manifest are not published"

"$bench" status $manifest >/dev/null 2>"$work/err"
[ $? -eq 2 ] && one_line "$work/err" 'only planned'
claim $? "status says that it has no runs"
"$bench" run $manifest --only pick >/dev/null 2>"$work/err"
[ $? -eq 2 ] && one_line "$work/err" 'only plans'
claim $? "--only has no meaning here"
if command -v gnuplot >/dev/null; then
    "$bench" report "$work/r" >/dev/null 2>&1 && [ -s "$work/r/figures/r-recipes-gap.svg" ] &&
        grep -q '| PP2 VPP2 | yes | planner |' "$work/r/report.md" &&
        grep -q '^| PP2 VPP1 | no | recipe | 1 |' "$work/r/report.md" &&
        ! grep -q '## Summary' "$work/r/report.md"
    claim $? "report makes tables and a figure of it"
else
    echo "ok - report makes tables and a figure # SKIP gnuplot is not there"
fi
