#!/bin/sh
# moe-bench reproduce: the article's figures beside the simulator's, in seconds
# and without a GPU; runs fill the column of measurements, emulated ones do not.
set -u
bench=${BUILD:-build/release}/moe-bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

# STUDY ID KEY: a value of a row of the JSON document on stdin
value() {
    awk -F: -v study="\"$1\"" -v id="\"$2\"" -v key="\"$3\"" '
        { k = $1; gsub(/[ \t]/, "", k); v = $0; sub(/^[^:]*:[ \t]*/, "", v)
          sub(/,$/, "", v) }
        k == "\"name\"" { in_study = v == study }
        k == "\"id\"" { in_row = in_study && v == id }
        in_row && k == key { print v; exit }'
}

timeout 20 "$bench" reproduce --out "$work/none" --json >"$work/json" 2>"$work/err" &&
    [ ! -s "$work/err" ]
claim $? "reproduce answers within seconds, without a word on stderr"
bad=0
for study in A100 H200; do
    for id in speedup_vs_default speedup_vs_count_based; do
        p=$(value $study $id published <"$work/json")
        c=$(value $study $id computed <"$work/json")
        echo "$p $c" | awk '{ d = $2 / $1 - 1; exit !($1 > 1 && d < 0.03 && d > -0.03) }' ||
            { bad=1; echo "# $study $id: published $p, computed $c"; }
        [ "$(value $study $id measured <"$work/json")" = null ] || bad=1
    done
done
claim $bad "all four speedups are within 3%, and none stands as measured"
[ "$(value A100 pick_layout computed <"$work/json")" = '"Et*5|t*6|t*5|mL"' ] &&
    [ "$(value H200 layouts_searched computed <"$work/json")" = 816 ]
claim $? "the pick and the number of layouts follow"
kinds() { sed -n 's/.*"kind":[^"]*"\([a-z]*\)".*/\1/p' "$work/json" | sort | uniq -c |
    awk '{ print $2 }' | tr '\n' ' '; }
[ "$(kinds)" = "fitted follows input " ] &&
    [ "$(grep -c '"kind":[^"]*"fitted"' "$work/json")" -eq 6 ]
claim $? "rows are inputs, three fitted numbers a study, or follow"

"$bench" reproduce --out "$work/none" >"$work/page" &&
    grep -q 'consistent, and predicts' "$work/page" &&
    grep -q "nobody's here" "$work/page"
claim $? "the page says that this is consistency, and whose figures they are"

mkdir -p "$work/runs/stage-a"
layouts() { # SOURCE
    echo format,experiment,role,layout,meas_step_ms,step_error_pct,source
    echo "f,stage-a,pick,Et*5|t*6|t*5|mL,100,1.5,$1"
    echo "f,stage-a,default,Et*4|t*4|t*4|t*4mL,150,2,$1"
}
layouts measured >"$work/runs/stage-a/layouts.csv"
"$bench" reproduce --out "$work/runs" --json >"$work/json"
[ "$(value A100 speedup_vs_default measured <"$work/json")" = 1.5 ] &&
    [ "$(value H200 speedup_vs_default measured <"$work/json")" = null ]
claim $? "runs of stage A stand beside the figures of its study"
layouts emulated >"$work/runs/stage-a/layouts.csv"
"$bench" reproduce --out "$work/runs" --json >"$work/json"
[ "$(value A100 speedup_vs_default measured <"$work/json")" = null ]
claim $? "emulated runs do not"

"$bench" reproduce --out "$work/none" --to "$work/to" >/dev/null &&
    diff results/reference/studies/studies.csv "$work/to/studies.csv"
claim $? "the table of the report is what this code computes"

sed 's/"speedup_vs_default": 1.39/"speedup_vs_default": 1.30/' \
    experiments/stage-c.json >"$work/other.json"
mkdir "$work/models" && cp experiments/models/7b-a1b.json "$work/models/"
"$bench" reproduce "$work/other.json" --out "$work/none" --json >"$work/json" &&
    [ "$(value H200 speedup_vs_default published <"$work/json")" = 1.3 ] &&
    [ "$(value H200 overhead computed <"$work/json")" != \
        "$("$bench" reproduce --out "$work/none" --json | value H200 overhead computed)" ]
claim $? "another figure gives another fit"

"$bench" reproduce experiments/local.json >/dev/null 2>"$work/err"
[ $? -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
    grep -q 'published.study' "$work/err"
claim $? "a manifest of no study is refused in one line"
"$bench" reproduce --help | grep -q 'consistency, not prediction'
claim $? "--help says what it is"
