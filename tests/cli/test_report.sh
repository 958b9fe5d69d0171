#!/bin/sh
# REPORT.md and the report of a run: what is made is the same wherever and
# whenever, what is stale is named, and no number in a sentence stands without a
# source.
set -u
BUILD=${BUILD:-build/release}
build=$(cd "$BUILD" && pwd)
bench=$build/moe-bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

if ! command -v gnuplot >/dev/null; then
    echo "ok - report # SKIP gnuplot is not installed"
    exit 0
fi

# ---- the report itself ----
"$bench" report --check >"$work/out" 2>/dev/null
status=$?
claim $status "REPORT.md, its figures and CSV files are what the data give"
[ $status -eq 0 ] || sed 's/^/# /' "$work/out"
BUILD=$build python3 tests/report_numbers.py REPORT.md >"$work/out"
status=$?
claim $status "every number in its sentences has a source, and is as computed"
[ $status -eq 0 ] || sed 's/^/# /' "$work/out"
for f in $(grep -o '](plots/out/[^)]*)' REPORT.md | sed 's/](\(.*\))/\1/' | sort -u); do
    [ -s "$f" ] || echo "$f"
done >"$work/out"
[ ! -s "$work/out" ]
claim $? "every figure that it links to is there"
# GitHub's anchors: lower case, without punctuation, hyphens for spaces
python3 - REPORT.md >"$work/out" <<'PY'
import re, sys
text = open(sys.argv[1]).read()
def anchor(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
heads = [t for t in re.findall(r"^#+ (.*)$", text, re.M)]
anchors = set(map(anchor, heads))
for words, to in re.findall(r"\[([^\]]*)\]\(#([^)]*)\)", text):
    number = re.fullmatch(r"(?:section\s+)?(\d+(?:\.\d+)?)", words)
    if to not in anchors:
        print("no heading #%s" % to)
    elif number and not to.startswith(number[1].replace(".", "") + "-"):
        print("%s leads to #%s" % (" ".join(words.split()), to))
PY
[ ! -s "$work/out" ]
claim $? "every section that it links to is there, under its number"

# a number changed, one added, one that was computed gone
sed -e 's/ such layouts/0 such layouts/' -e 's/The machine is shared/The 3 machines are shared/' \
    REPORT.md >"$work/bad.md"
BUILD=$build python3 tests/report_numbers.py "$work/bad.md" >"$work/out"
[ $? -eq 1 ] && grep -q "section '1. The question': it says '.* 8160 such layouts'" "$work/out" &&
    grep -q "section '3.6 Figures of a run': the number '3' has no source" "$work/out" &&
    [ "$(wc -l <"$work/out")" -eq 3 ]
claim $? "a wrong number and one without a source are found, with their sections"

# ---- a smaller one, elsewhere ----
copy() { # FOLDER
    mkdir -p "$1/results/reference" "$1/results/published" "$1/plots" &&
        cp plots/*.gp "$1/plots/" &&
        cp -r results/published/primus results/published/sel_recompute \
            "$1/results/published/" &&
        cp -r results/reference/local-exact results/reference/kimi-k2 \
            results/reference/*.csv "$1/results/reference/" && {
        echo '# Small'
        for t in overview:reference costs:reference memory:reference \
            search:reference memory-ci:reference; do
            printf '<!-- begin:%s -->\n<!-- end:%s -->\n' "$t" "$t"
        done
        echo '## One experiment'
        for t in layouts:local-exact figures:local-exact units:local-exact \
            recipes-gap:kimi-k2 errors:published; do
            printf '<!-- begin:%s -->\n<!-- end:%s -->\n' "$t" "$t"
        done
    } >"$1/REPORT.md"
}
same() { # A B: the same files with the same bytes, but for the CSV beside
    diff -rq "$1" "$2" >"$work/diff"
}
copy "$work/a" && (cd "$work/a" && "$bench" report >/dev/null 2>"$work/err")
claim $? "the report of other data is made"
[ -s "$work/a/plots/out/local-exact-timeline.pdf" ] &&
    [ -s "$work/a/plots/out/local-exact-timeline.svg" ] &&
    grep -q '^| local-exact | emulated, flops clock | 7 | 10 of 10 |' "$work/a/REPORT.md" &&
    grep -q 'n = 9 roles and layouts; emulated, flops clock, .*from `results/reference/local-exact/layouts.csv`' \
        "$work/a/REPORT.md"
claim $? "it has SVG, PDF, and captions with n and source"
! grep -q 'CreationDate (D:[0-9]*[1-9]' "$work/a/plots/out/local-exact-timeline.pdf"
claim $? "a PDF does not tell when it was made"

copy "$work/another folder" && (
    cd "$work/another folder" && umask 077 && sleep 1 &&
        LC_ALL=de_DE.UTF-8 LANG=tr_TR.UTF-8 TZ=Asia/Tokyo HOME=/nowhere \
            "$bench" report >/dev/null 2>&1
) && same "$work/a" "$work/another folder"
claim $? "in another folder, locale and zone, later: the same bytes"

cp -r "$work/a" "$work/kept"
rm -rf "$work/a/plots/out" "$work/a/results/reference/overview.csv"
awk '/<!-- begin/ {print; hide = 1} /<!-- end/ {hide = 0} !hide' "$work/a/REPORT.md" \
    >"$work/R" && mv "$work/R" "$work/a/REPORT.md" &&
    ! cmp -s "$work/a/REPORT.md" "$work/kept/REPORT.md" &&
    (cd "$work/a" && "$bench" report >/dev/null 2>&1) && same "$work/a" "$work/kept"
claim $? "figures and tables that were deleted come back, byte by byte"

# ---- what is stale is named ----
cd "$work/a" || exit 1
sed -i '/begin:layouts:local-exact/,/end:layouts/s/| 10.01 |/| 10.02 |/;
    /begin:layouts:local-exact/,/end:layouts/s/emulated |$/measured |/' REPORT.md
printf '<!-- begin:layouts:gone -->\n<!-- end:layouts:gone -->\n' >>REPORT.md
sed -i 's/errors:published/terms:published/; /:kimi-k2 -->/d' REPORT.md
printf ' ' >>plots/out/local-exact-speedup.svg
rm plots/out/local-exact-timeline.pdf
echo >plots/out/old.png
sed -i '2s/,[0-9.]*,/,1,/' results/published/predicted.csv
"$bench" report --check >"$work/out" 2>/dev/null
[ $? -eq 1 ]
claim $? "a stale report ends with 1"
for line in "section 'One experiment', table 'layouts:local-exact': it is not what" \
    "table 'layouts:gone': there are no data for it" \
    "table 'terms:published': it is not what" \
    "no table of 'kimi-k2', whose data are in results/reference/kimi-k2" \
    "plots/out/local-exact-speedup.svg: it is not what the data give" \
    "plots/out/local-exact-timeline.pdf: it is missing" \
    "plots/out/old.png: no figure of the report, remove it" \
    "results/published/predicted.csv: it is not what the data give" \
    "8 of its parts are stale; run 'make report'"; do
    grep -qF "$line" "$work/out"
    claim $? "it says: $line"
done
sed -i 's/GNUPLOT 5.4 patchlevel 4/GNUPLOT 4.2 patchlevel 6/;s/GNUPLOT [5-9][0-9.]* patchlevel [0-9a-z]*/GNUPLOT 4.2 patchlevel 6/' plots/out/*.svg
"$bench" report --check >"$work/out" 2>/dev/null
[ $? -eq 1 ] && grep -q 'plots/out: figures of another gnuplot, only names' "$work/out" &&
    ! grep -q 'speedup.svg: it is not' "$work/out" &&
    grep -q 'timeline.pdf: it is missing' "$work/out"
claim $? "figures of another gnuplot are compared by name only, with a word"
"$bench" report --check results/reference/local-exact >/dev/null 2>"$work/err"
[ $? -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ]
claim $? "--check of a folder is refused in one line"
cd "$build/../.." 2>/dev/null && [ -f Makefile ] || cd "$OLDPWD" || exit 1

# ---- the report of a run ----
unset MOE_BENCH_FIGURES
sed -e 's/"measure"/"accept": {"max_step_error_pct": 0.001}, "measure"/' \
    tests/fixtures/fake.json >"$work/fake.json"
sed -i "s#\"entry\": \"#&$PWD/tests/fixtures/#" "$work/fake.json"
"$bench" run -q "$work/fake.json" --out "$work/run" >"$work/out" 2>"$work/err"
page=$work/run/report.md
grep -q "^Report: $work/run/report.md" "$work/out" && [ -s "$page" ] &&
    [ -s "$work/run/figures/run-step-time.svg" ] && [ -s "$work/run/figures/run-step-time.pdf" ]
claim $? "a run writes a report with figures beside its results"
grep -q '^\*\*A bound of the manifest is missed\.\*\*$' "$page" &&
    grep -q '^- step error of any layout .* want at most 0.001: missed$' "$page" &&
    grep -q '^## Runs left out$' "$page" && grep -q '^None of 8\.$' "$page" &&
    grep -q '^# pick, round 1$' "$page" &&
    grep -q -- "--pipeline-model-parallel-layout 'Et\*4|t\*4|t\*4|mL' " "$page" &&
    ! grep -q '\.tmp-' "$page"
claim $? "with the verdict, runs left out, and the words of each run"
MOE_BENCH_FIGURES=no "$bench" run "$work/fake.json" --out "$work/no" >"$work/out" 2>"$work/err"
[ -s "$work/no/report.md" ] && [ ! -e "$work/no/figures" ] &&
    ! grep -q '## Figures' "$work/no/report.md" && grep -q 'no figures in' "$work/err"
claim $? "without figures where none are wished, with a word"
