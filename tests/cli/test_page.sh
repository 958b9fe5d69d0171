#!/bin/sh
# moe-bench page: one file, the same bytes each time, that needs nothing beside
# it; whatever stands in a dataset is text. Then a browser drives it.
set -u
bench=$(cd "$(dirname "${BUILD:-build/release}/moe-bench")" && pwd)/moe-bench
here=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

# ---- the page of the repository --------------------------------------------------
"$bench" page results/reference results/published results/contributed \
    --into "$work/all.html" >/dev/null 2>"$work/err"
claim $? "a page of all datasets"
cmp -s "$work/all.html" results/index.html
claim $? "results/index.html is that page ('make report' makes it)"
[ "$(wc -c <"$work/all.html")" -lt 3000000 ]
claim $? "it has less than 3 MB"
mkdir "$work/tmp"
(cd "$work" && mkdir results && cp -R "$here"/results/[cpr]* results &&
    LC_ALL=C.UTF-8 TMPDIR=$work/tmp "$bench" page >/dev/null 2>err &&
    cmp -s all.html results/index.html && [ -z "$(ls -A tmp)" ])
claim $? "the same bytes from another folder, and nothing left behind"
# links of datasets are the only addresses; nothing is loaded
sed 's/<a rel="noreferrer" href="https:[^"]*">//g' "$work/all.html" |
    grep -Eo '(src|href|action|poster|srcset|data)="[^"]*"|@import|url\(|import ' |
    sort -u >"$work/loads"
printf '%s\n' 'href="#table"' 'href="data:,"' | cmp -s - "$work/loads"
claim $? "it refers to nothing outside of itself"
! grep -Fq "$here/results" "$work/all.html"
claim $? "no path of the machine is in it"

# ---- answers ---------------------------------------------------------------------
cd "$work" || exit 1
"$bench" page results/reference >out 2>err
[ $? -eq 2 ] && one_line err "want --into FILE"
claim $? "named folders want a named file"
mkdir empty
"$bench" page empty --into x.html >out 2>err
[ $? -eq 2 ] && one_line err "found no dataset" && [ ! -e x.html ]
claim $? "a folder without a dataset is an error"
cp -R results damaged
echo >>damaged/reference/local/layouts.csv
"$bench" page damaged --into x.html >out 2>err
[ $? -eq 1 ] && one_line err "layouts.csv" && [ ! -e x.html ]
claim $? "a dataset that was changed is an error, and nothing is written"
rm -r damaged

# ---- fewer rows, some of them hostile --------------------------------------------
mkdir -p few/results/reference few/results/published
cp -R results/reference/local results/reference/local-vpp \
    results/reference/local-pp2 results/reference/kimi-k2 few/results/reference
head -n 40 results/reference/memory.csv >few/results/reference/memory.csv
cp -R results/reference/roofline few/results/reference
cp -R results/published/primus results/published/mlperf_dsv3 \
    results/published/bigscience results/published/*.csv few/results/published
evil='</script><script>window.harmed=1</script><img src=x onerror=harmed=2>"'"'"'&lt;'
name='a<img src=x onerror=harmed=3>"b'
mkdir "few/results/$name" few/results/published/evil
quoted=$(printf '"%s"' "$(printf %s "$evil" | sed 's/"/""/g')")
row=$(sed -n 2p few/results/reference/local/layouts.csv)
{
    sed -n 1p few/results/reference/local/layouts.csv
    echo "$row" | awk -F, -v OFS=, -v q="$quoted" '{ $3 = $4 = q; print }'
} >"few/results/$name/layouts.csv"
{
    sed -n 1p few/results/reference/local/runs.csv
    sed -n 2p few/results/reference/local/runs.csv | awk -F, -v OFS=, -v q="$quoted" '
        { $3 = "../../../reference/local"; $5 = $6 = $16 = $22 = q
          $21 = "failed"; print }'
} >"few/results/$name/runs.csv"
{
    sed -n 1p few/results/reference/local/stages.csv
    sed -n 2p few/results/reference/local/stages.csv |
        awk -F, -v OFS=, -v q="$quoted" '{ $3 = $4 = $6 = q; print }'
} >"few/results/$name/stages.csv"
cat >few/results/published/evil/dataset.json <<'END'
{"format": "moe-bench/published/1", "source": "evil", "licence": "MIT",
 "title": "</title></style></script><iframe src=x>", "repository": "<b>'\"",
 "url": "javascript:harmed=4", "note": "<!-- <script>"}
END
sed "s/primus/evil/; s/pr-1/<!--<script>/" results/published/primus/rows.csv \
    >few/results/published/evil/rows.csv
"$bench" page few/results --into few.html >/dev/null 2>err
claim $? "a page of datasets with markup in names"
[ "$(grep -c '<script' few.html)" -eq 2 ] && ! grep -q '<img\|<iframe' few.html
claim $? "no name became a tag"

if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null ||
    ! command -v python3 >/dev/null; then
    echo "ok - the page in a browser # SKIP no chromium, chromedriver or" \
        "python3 here: sh harness/install-deps.sh browser"
    exit 0
fi
python3 "$here/tests/cli/page_test.py" few/results few.html all.html >out 2>err
status=$?
cat out
[ $status -eq 0 ] || tail -n 5 err | sed 's/^/# /'
claim $status "the browser was driven to its end"
