#!/bin/sh
# moe-bench's command line: help, usage, errors, machine, report.
set -u
bench=${BUILD:-build/release}/moe-bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

"$bench" >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && [ ! -s "$work/out" ] && grep -q '^usage:' "$work/err"
claim $? "a bare call prints usage on stderr and exits with 2"
"$bench" --help >"$work/out" 2>"$work/err"
[ $? -eq 0 ] && [ ! -s "$work/err" ] && grep -q 'example:' "$work/out"
claim $? "--help prints on stdout and exits with 0"
for c in run status parse validate publish report machine; do
    "$bench" $c --help >"$work/out" 2>"$work/err"
    [ $? -eq 0 ] && [ ! -s "$work/err" ] && grep -q '^usage:' "$work/out" &&
        grep -qi 'example' "$work/out" && [ "$(awk 'length > 80' "$work/out" |
            wc -l)" -eq 0 ]
    claim $? "$c --help has usage and an example, on stdout, 80 columns"
done
"$bench" rum 2>"$work/err"
[ $? -eq 2 ] && one_line "$work/err" "did you mean 'run'"
claim $? "an unknown command names the nearest"
"$bench" run --out 2>"$work/err"
[ $? -eq 2 ] && one_line "$work/err" "--out: value missing, want DIR"
claim $? "an option without its value is one line"
"$bench" run --dryrun x 2>"$work/err"
[ $? -eq 2 ] && one_line "$work/err" "did you mean '--dry-run'"
claim $? "an unknown option names the nearest"
"$bench" run 2>"$work/err"
[ $? -eq 2 ] && one_line "$work/err" "manifest missing"
claim $? "run without a manifest is one line"
"$bench" run "$work/none.json" 2>"$work/err"
[ $? -eq 2 ] && one_line "$work/err" "none.json"
claim $? "a missing manifest is named"
sed -e 's/"rounds"/"ruonds"/' tests/fixtures/fake.json >"$work/m.json"
"$bench" run "$work/m.json" 2>"$work/err"
[ $? -eq 2 ] && one_line "$work/err" "unknown key 'ruonds', did you mean 'rounds'"
claim $? "an unknown key names the nearest"
sed -e 's/"num_layers": 12/"num_layerz": 12/' tests/fixtures/fake.json \
    >"$work/m.json"
"$bench" run "$work/m.json" 2>"$work/err"
[ $? -eq 2 ] && one_line "$work/err" "num_layerz"
claim $? "an unknown model key is named"
sed -e 's/"entry": "fake_trainer.sh"/"entry": "none.sh"/' \
    tests/fixtures/fake.json >"$work/m.json"
"$bench" run "$work/m.json" --out "$work/r" 2>"$work/err"
[ $? -eq 3 ] && one_line "$work/err" "none.sh"
claim $? "a missing trainer is one line and exit 3"

"$bench" machine --json >"$work/out" && grep -q '"sha256"' "$work/out"
claim $? "machine --json prints the hash"

for m in experiments/*.json; do
    "$bench" run "$m" --dry-run --out "$work/none" >"$work/out" 2>"$work/err"
    [ $? -eq 0 ] && grep -Eq 'parallel-layout|hybrid-layer-pattern|^# .* searches' \
        "$work/out"
    claim $? "$m is read and its commands, or searches, are printed"
done

"$bench" run -q tests/fixtures/fake.json --out "$work/fake" >/dev/null 2>&1
for t in layouts summary figures; do
    printf '<!-- begin:%s:fake -->\n<!-- end:%s:fake -->\n' $t $t
done >"$work/R.md"
if command -v gnuplot >/dev/null; then
    "$bench" report "$work/fake" --into "$work/R.md" --figures "$work/fig" \
        >"$work/out" 2>"$work/err" &&
        grep -q '^| default | Et' "$work/R.md" &&
        grep -q '^Step error: mean .* over 3 layouts' "$work/R.md" &&
        grep -q '^!\[cost of the units .*/fig/fake-unit-cost.svg)$' \
            "$work/R.md" && ! grep -q 'fake-timeline' "$work/R.md" &&
        grep -q '^Noise: single runs .*6 runs of 3 layouts' "$work/R.md" &&
        grep -q 'fake-timeline: left out, no end_ms' "$work/out" &&
        [ -s "$work/fig/fake-unit-cost.svg" ] &&
        [ -s "$work/fig/fake-step-time.svg" ] &&
        [ -s "$work/fig/fake-stage-work.pdf" ]
    claim $? "report fills the table and draws the figures"
    cp "$work/R.md" "$work/S.md"
    "$bench" report "$work/fake" --into "$work/R.md" --figures "$work/fig" \
        >/dev/null 2>&1 && cmp -s "$work/R.md" "$work/S.md"
    claim $? "a second report changes nothing"
    "$bench" report "$work/fake" >"$work/out" 2>/dev/null &&
        grep -q '^| default | Et' "$work/fake/report.md" &&
        grep -q '(figures/fake-unit-cost.svg)$' "$work/fake/report.md" &&
        [ -s "$work/fake/figures/fake-unit-cost.svg" ] &&
        [ -s "$work/fake/figures/fake-step-time.pdf" ]
    claim $? "a folder's own report and figures are beside its CSV files"
else
    echo "ok - report # SKIP gnuplot is not installed"
fi
"$bench" report "$work/nowhere" --into "$work/R.md" 2>"$work/err"
[ $? -ne 0 ] && [ "$(tail -n 1 "$work/err" | grep -c 'moe-bench report: ')" -eq 1 ]
claim $? "report of a folder without CSV is an error"
