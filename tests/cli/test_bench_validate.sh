#!/bin/sh
# moe-bench publish and validate, on an experiment of the trainer that only
# prints a log, and on the committed datasets.
set -u
bench=${BUILD:-build/release}/moe-bench
work=$(mktemp -d)
export TMPDIR="$work"
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

manifest=tests/fixtures/fake.json
"$bench" publish $manifest --out "$work/r" --to "$work/fake" \
    >/dev/null 2>"$work/err"
[ $? -ne 0 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && [ ! -e "$work/fake" ]
claim $? "what was not run cannot be published"
"$bench" run -q $manifest --out "$work/r" >/dev/null 2>&1
"$bench" publish $manifest --out "$work/r" --to "$work/fake" >/dev/null
claim $? "finished results are published"
[ "$(ls "$work/fake/runs" | wc -l)" -eq 5 ] && [ ! -e "$work/fake.new" ] &&
    [ -z "$(find "$work/fake" -name log.txt)" ]
claim $? "logs of 2 profile runs and of one run a layout are kept, packed"
grep -q '"published_utc":[[:space:]]*"20' "$work/fake/dataset.json" &&
    grep -q '"hardware":' "$work/fake/dataset.json" &&
    grep -q '"cpu":' "$work/fake/machine.json"
claim $? "the dataset names machine and date"

base=$work/base.csv
"$bench" validate "$work/fake" --baseline "$base" --update-baseline --reason "a test" \
    >/dev/null && [ "$(wc -l <"$base")" -eq 4 ]
claim $? "--update-baseline writes a row a layout"
"$bench" validate "$work/fake" --baseline "$base" >"$work/out" &&
    grep -q '^fake: mean step error .*: not worse' "$work/out"
claim $? "the same code is not worse"
GZIP=-9 "$bench" validate "$work/fake" --baseline "$base" >"$work/again" &&
    cmp -s "$work/out" "$work/again"
claim $? "gzip's own settings in the environment change nothing"
(   PATH=$work/none
    "$bench" validate "$work/fake" --baseline "$base" ) >"$work/again" &&
    cmp -s "$work/out" "$work/again"
claim $? "validate needs no program beside itself"
"$bench" publish $manifest --out "$work/r" --to "$work/twin" >/dev/null &&
    (cd "$work/fake" && find runs -name '*.gz' -exec sha256sum {} +) |
    sort >"$work/x" && (cd "$work/twin" && sha256sum -c "$work/x" >/dev/null)
claim $? "the same logs are packed to the same bytes"
pred() { # FILE: role and prediction, all digits
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print $at["role"], $at["pred_step_ms"] }' "$1"
}
pred "$base" >"$work/x" && pred "$work/r/layouts.csv" >"$work/y" &&
    cmp -s "$work/x" "$work/y"
claim $? "recomputed predictions equal the experiment's, in all digits"
[ -z "$(find "$work" -maxdepth 1 -name 'moe-bench-*')" ]
claim $? "no unpacked log is left behind"

mkdir "$work/same" && cp tests/fixtures/fake_trainer.sh "$work/same"
sed 's/"name": "fake"/"name": "same"/
    s#{"role": "pick"}.*#{"role": "default"},\
    {"role": "layout", "layout": "Et*3|t*3|t*3|t*3mL"}#' \
    $manifest >"$work/same/same.json"
"$bench" run -q "$work/same/same.json" --out "$work/same/r" >/dev/null 2>&1 &&
    "$bench" publish "$work/same/same.json" --out "$work/same/r" \
        --to "$work/same/d" >/dev/null &&
    "$bench" validate "$work/same/d" --baseline "$work/same.csv" \
        --update-baseline --reason "a test" >/dev/null &&
    [ "$(grep -c ',$' "$work/same.csv")" -eq 2 ]
claim $? "one layout in two roles leaves nothing to choose: no regret"

awk -F, 'BEGIN { OFS = "," } NR == 1 { for (i = 1; i <= NF; i++)
    at[$i] = i } NR > 1 { $at["step_error_pct"] = 0 } { print }' "$base" \
    >"$work/zero.csv"
"$bench" validate "$work/fake" --baseline "$work/zero.csv" >"$work/out"
[ $? -eq 1 ] && grep -q ': worse: step error' "$work/out"
claim $? "errors above the baseline's give 1 and say which"
is "the last line names what is worse" "$(tail -n 1 "$work/out")" "worse: 1 of 1 datasets: fake"
echo 'moe-bench/baseline/1,fake,layout,Et*2|t*2|t*6|t*2mL,1,1,0,,,,,' >>"$base"
"$bench" validate "$work/fake" --baseline "$base" >"$work/out"
[ $? -eq 1 ] && grep -q 'lost layouts' "$work/out"
claim $? "a layout of the baseline that is gone gives 1"

cp -r "$work/fake" "$work/cut"
for f in "$work"/cut/runs/r00-*/log.txt.gz; do
    head -c 300 "$f" >"$work/head" && cp "$work/head" "$f"
done
"$bench" validate "$work/cut" --baseline "$base" >/dev/null 2>"$work/err"
[ $? -eq 2 ] && one_line "$work/err" 'log.txt.gz'
claim $? "a cut log is named and gives 2"
cp -r "$work/fake" "$work/other"
for f in "$work"/other/runs/r00-*/log.txt.gz; do
    gzip -dc "$f" | sed 's/rank  0: /rank  0: 1/' >"$work/log"
    gzip -9nc "$work/log" >"$f"
done
"$bench" validate "$work/other" --baseline "$base" >/dev/null 2>"$work/err"
[ $? -eq 2 ] && one_line "$work/err" 'SHA-256'
claim $? "a log that was changed is named and gives 2"
sums() { # FOLDER: its files as they are now pass as published
    (cd "$1" && find * -type f ! -name SHA256SUMS -exec sha256sum {} + \
        >../sums && mv ../sums SHA256SUMS)
}
sums "$work/other"
"$bench" validate "$work/other" --baseline "$base" >/dev/null 2>"$work/err"
[ $? -eq 2 ] && one_line "$work/err" 'as in status.json'
claim $? "so is one that status.json tells apart"
n=0 named=0
(cd "$work/fake" && find . -type f | sort) >"$work/files"
while read -r f; do
    for how in empty half gone; do
        rm -rf "$work/hurt" && cp -r "$work/fake" "$work/hurt"
        size=$(stat -c %s "$work/fake/$f")
        case $how in
        empty) : >"$work/hurt/$f" ;;
        half) head -c $((size / 2)) "$work/fake/$f" >"$work/hurt/$f" ;;
        gone) rm "$work/hurt/$f" ;;
        esac
        [ "$how" = gone ] || ! cmp -s "$work/fake/$f" "$work/hurt/$f" || continue
        "$bench" validate "$work/hurt" --baseline "$base" >/dev/null 2>"$work/err"
        status=$?
        want=1
        case $how,$f in *,*/log.txt.gz | gone,./dataset.json) want=2 ;; esac
        part=${f#./}
        # half a list has no line for other files
        [ "$f" != ./SHA256SUMS ] || part=SHA256SUMS
        n=$((n + 1))
        if [ $status -eq $want ] && one_line "$work/err" "$part"; then
            named=$((named + 1))
        else
            echo "# $how $f: status $status: $(cat "$work/err")"
        fi
    done
done <"$work/files"
[ $n -gt 60 ] && [ $named -eq $n ]
claim $? "every file of a dataset that is emptied, halved or gone is named, exit 1 (logs 2)"
cp -r "$work/fake" "$work/more" && cp "$work/fake/runs.csv" "$work/more/more.csv"
"$bench" validate "$work/more" --baseline "$base" >/dev/null 2>"$work/err"
[ $? -eq 1 ] && one_line "$work/err" 'more.csv: not listed'
claim $? "a file that the list does not hold is named"
# ---- nothing passes for good -------------------------------------------------------
judged() { # WANT PART CLAIM: of a copy `hurt` that passes as published
    sums "$work/hurt"
    cp "$base" "$work/b.csv"
    "$bench" validate "$work/hurt" --baseline "$work/b.csv" \
        >"$work/out" 2>"$work/err"
    status=$?
    [ $status -eq "$1" ] && cat "$work/out" "$work/err" | grep -q -- "$2" &&
        ! grep -qi 'nan%\|: not worse' "$work/out"
    claim $? "$3"
    "$bench" validate "$work/hurt" --baseline "$work/none.csv" \
        >"$work/out" 2>"$work/err"
    [ $? -eq "$1" ] && ! grep -qi 'nan%\|: not worse' "$work/out"
    claim $? "$3, also without a baseline"
    "$bench" validate "$work/hurt" --baseline "$work/b.csv" --update-baseline --reason "a test" \
        >"$work/out" 2>"$work/err"
    [ $? -ne 0 ] && cmp -s "$base" "$work/b.csv"
    claim $? "$3, and no baseline is made of it"
}
hurt() { # a fresh copy
    rm -rf "$work/hurt" && cp -r "${1:-$work/fake}" "$work/hurt"
}
column() { # NAME VALUE: of all rows of layouts.csv
    awk -F, -v name="$1" -v x="$2" 'BEGIN { OFS = "," }
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
        NR > 1 { $at = x } { print }' "$work/hurt/layouts.csv" >"$work/t.csv"
    cp "$work/t.csv" "$work/hurt/layouts.csv"
}
"$bench" validate "$work/fake" --baseline "$base" --update-baseline --reason "a test" >/dev/null
hurt && head -n 1 "$work/fake/layouts.csv" >"$work/hurt/layouts.csv"
judged 1 'no layouts' "a layouts.csv that is only a header is worse"
hurt && echo garbage >"$work/hurt/layouts.csv"
judged 1 'no layouts' "so is one of garbage"
hurt && column meas_step_ms ''
judged 1 'a step error is not known' "so is one without measured steps"
hurt && column meas_step_ms 0
judged 1 'a step error is not known' "so is one of steps of 0 ms"
hurt && column meas_step_ms nan
judged 1 'a step error is not known' "so is one of NaN"
hurt && column replay_error_pct 0.01
judged 1 'a replay error is not known' "a replay that is gone is worse"
if [ -d results/reference/local ]; then
    hurt results/reference/local
    "$bench" validate "$work/hurt" --baseline "$base" --update-baseline --reason "a test" \
        >/dev/null 2>&1
    find "$work/hurt" -name 'ops.csv.gz' -exec rm {} +
    judged 1 'a replay error is not known' "operation logs that are gone are worse"
fi
sed 's/iteration (ms): [0-9.]*/iteration (ms): 0.0/' \
    "$(ls "$work"/r/runs/r01-pick-*/log.txt)" >"$work/log"
"$bench" parse "$work/log" >/dev/null 2>&1
claim $? "a log of 0 ms can be read"
"$bench" validate "$work/nowhere" 2>"$work/err" >/dev/null
[ $? -eq 2 ] && one_line "$work/err" "nowhere"
claim $? "a missing dataset is one line"
"$bench" validate results/reference 2>"$work/err" >/dev/null
[ $? -eq 2 ] && one_line "$work/err" "name a folder that holds one, or none for all"
claim $? "so is a folder of datasets, with what to name"
"$bench" validate results/published/primus 2>"$work/err" >/dev/null
[ $? -eq 2 ] && one_line "$work/err" "--rows results/published/primus/rows.csv"
claim $? "and one of step times of others"
here=$PWD
mkdir "$work/empty"
(cd "$work/empty" && "$here/$bench" validate 2>"$work/err" >/dev/null)
[ $? -eq 2 ] && one_line "$work/err" "in the top folder of the repository"
claim $? "elsewhere it says where to run it"

if ls results/reference/*/dataset.json >/dev/null 2>&1; then
    "$bench" validate >"$work/out" 2>"$work/err"
    status=$?
    [ $status -eq 0 ] || cat "$work/out" "$work/err" | sed 's/^/# /'
    claim $status "the committed datasets are not worse than the baseline"
else
    echo "ok - the committed datasets # SKIP none is committed"
fi
