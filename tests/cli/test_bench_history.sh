#!/bin/sh
# moe-bench validate with a memory: --record, --against, --bounds, --junit, on
# a committed dataset, with faults planted in each direction.
set -u
B=$(cd "${BUILD:-build/release}" && pwd)
bench=$B/moe-bench
faults=$B/tests/moe-bench-faults
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

refused() { # PART CLAIM ARGUMENTS...: exit 2 and one line with the part
    part=$1 what=$2
    shift 2
    "$bench" validate "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ $status -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
        grep -q -- "$part" "$work/err"
    claim $? "$what"
    [ $status -eq 2 ] || sed 's/^/# /' "$work/out" "$work/err"
}

set_=$(pwd)/results/reference/local-exact
other=$(pwd)/results/reference/local-vpp
if [ ! -d "$set_" ] || [ ! -d "$other" ]; then
    echo "ok - history # SKIP the reference datasets are not there"
    exit 0
fi
sums() { sha256sum results/baseline.csv results/history.csv results/bounds.csv; }
sums >"$work/before" 2>/dev/null

# ---- a baseline that cannot be read lets nothing pass ----
for x in nan inf 1e400 abc ''; do
    awk -F, -v OFS=, -v x="$x" '$2 == "local-exact" { $7 = x } { print }' \
        results/baseline.csv >"$work/damaged.csv"
    refused "step_error_pct: got '$x'" "a baseline's error of '$x' is refused" \
        "$set_" --baseline "$work/damaged.csv"
done

# ---- a line a session ----
base=$work/baseline.csv
hist=$work/history.csv
refused "want --reason" "--update-baseline wants a reason" \
    "$set_" --baseline "$base" --update-baseline
refused "want --reason" "so does --record" "$set_" --baseline "$base" --record
refused "want one line" "a reason is not empty" \
    "$set_" --baseline "$base" --record --reason " "
refused "line break" "a reason is one line" \
    "$set_" --baseline "$base" --record --reason "a
b"
refused "nothing is written" "a reason without a line to write is refused" \
    "$set_" --baseline "$base" --reason why
[ ! -e "$base" ] && [ ! -e "$hist" ]
claim $? "nothing was written by any of them"
"$bench" validate "$set_" --baseline "$base" --update-baseline \
    --reason 'the "first", of all' >/dev/null && python3 - "$hist" <<'PY'
import csv, re, subprocess, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert len(rows) == 1 and rows[0]["format"] == "moe-bench/history/1"
r = rows[0]
git = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
head = git.stdout.strip() if git.returncode == 0 else "unknown"
assert r["commit"].rstrip("+") == head, r
assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", r["date_utc"])
assert r["reason"] == 'the "first", of all' and r["dataset"] == "local-exact"
layouts = list(csv.DictReader(open("results/reference/local-exact/layouts.csv")))
errors = [float(x["step_error_pct"]) for x in layouts]
near = lambda x, y: abs(float(x) - y) < 1e-6
assert int(r["n"]) == len(errors)
assert near(r["mean_pct"], sum(map(abs, errors)) / len(errors))
assert near(r["over_pct"], max(errors)) and near(r["under_pct"], -min(errors))
pick = min(layouts, key=lambda x: float(x["pred_step_ms"]))
best = min(float(x["meas_step_ms"]) for x in layouts)
assert near(r["regret_pct"], 100 * (float(pick["meas_step_ms"]) / best - 1))
assert float(r["memory_under_pct"]) == 0
PY
claim $? "--update-baseline leaves a line with commit, date, reason and marks"
cp "$hist" "$work/one.csv"
"$bench" validate "$set_" --baseline "$base" >/dev/null && cmp -s "$hist" "$work/one.csv"
claim $? "validate alone leaves none"
cp "$base" "$work/b.csv"
"$bench" validate "$set_" "$other" --baseline "$base" --record \
    --reason "two sets" >/dev/null && [ "$(wc -l <"$hist")" -eq 4 ] &&
    head -n 2 "$hist" | cmp -s - "$work/one.csv" && cmp -s "$base" "$work/b.csv"
claim $? "--record adds lines behind the old ones and leaves the baseline"
(   PATH=$work/none
    "$bench" validate "$set_" --baseline "$base" --history "$work/x.csv" \
        --record --reason "no git" >/dev/null) &&
    grep -q '^moe-bench/history/1,unknown,' "$work/x.csv"
claim $? "without git the commit is unknown, and the line is there"

# ---- several at once ----
mkdir "$work/many" && "$bench" validate "$set_" "$other" --baseline "$work/many/b.csv" \
    --update-baseline --reason start >/dev/null
for i in 1 2 3 4; do
    "$bench" validate "$set_" --baseline "$work/many/b.csv" --record --reason "many $i" >/dev/null &
    "$bench" validate "$other" --baseline "$work/many/b.csv" --update-baseline \
        --reason "many $i" >/dev/null &
done
wait
[ "$(grep -c ',many [1-4],' "$work/many/history.csv")" -eq 8 ] &&
    [ "$(grep -c local-exact "$work/many/b.csv")" -eq 9 ] &&
    [ "$(grep -c local-vpp "$work/many/b.csv")" -eq 8 ]
claim $? "no line of several sessions at once is lost"

# ---- two sessions ----
for rev in last 2 3; do
    "$bench" validate "$set_" --baseline "$base" --against $rev >"$work/out" &&
        grep -q '1 datasets compared, 0 worse' "$work/out"
    claim $? "the same code is not worse than session $rev"
done
"$bench" validate "$other" --baseline "$base" --against 2 >"$work/out"
[ $? -eq 1 ] && grep -q 'nothing to compare is no pass' "$work/out"
claim $? "a session of other datasets is no pass"
refused "line 3 .*line 2 " "a REV without a line lists those there are" \
    "$set_" --baseline "$base" --against v9.9.9
refused "there are line 3 " "so does a line that is not there" \
    "$set_" --baseline "$base" --against 5
refused "takes no DIR" "a range computes nothing" "$set_" --baseline "$base" --against 2..3
refused "want REV or THEN..NOW" "half a range is refused" --baseline "$base" --against 2..
MOE_FAULT=dear "$faults" validate "$set_" --baseline "$base" --record \
    --reason "costs 10% more" >/dev/null
[ $? -eq 1 ] && [ "$(wc -l <"$hist")" -eq 5 ]
claim $? "what is worse leaves its line, too, and gives 1"
"$bench" validate --baseline "$base" --against 2..last >"$work/out"
[ $? -eq 1 ] && grep -q '^local-exact: worse: step error 10' "$work/out" &&
    grep -q 'now:  .*costs 10% more' "$work/out"
claim $? "two sessions of the history are compared without computing"
"$bench" validate --baseline "$base" --against last..2 >"$work/out"
claim $? "the other way round it got better"
"$bench" validate "$set_" "$other" --baseline "$base" --against 3 >"$work/out"
claim $? "the code is as in the session before"

git init -q "$work/repo" 2>/dev/null && (
    cd "$work/repo" || exit 1
    git config user.name t && git config user.email t@t && mkdir planner results
    commit() { echo "$1" >planner/x && git add -A . && git commit -qm "$1"; }
    commit one && git tag v1
    "$bench" validate "$set_" --record --reason one >/dev/null || exit 1
    commit two
    "$bench" validate "$set_" --against HEAD >/dev/null 2>err && exit 1
    grep -q "no line for 'HEAD'" err && grep -q "line 2 $(git rev-parse --short=12 v1)" err || exit 1
    echo more >>planner/x
    "$bench" validate "$set_" --record --reason two >/dev/null || exit 1
    tail -n 1 results/history.csv | grep -q "$(git rev-parse HEAD)+,.*,two," || exit 1
    for rev in HEAD v1 HEAD~1 "$(git rev-parse --short v1)" master~0; do
        [ "$rev" = master~0 ] && rev=$(git rev-parse --abbrev-ref HEAD)~0
        "$bench" validate "$set_" --against "$rev" >out || exit 1
    done
    "$bench" validate --against v1..HEAD | grep -q '(.*two)' )
claim $? "tags, prefixes and HEAD~1 are commits as git has them"
echo 'moe-bench/history/1,x,now,why,local-exact,1,0,nan,,,,,,' >>"$hist"
refused "history.csv: line 6: mean_pct: got 'nan'" "a damaged history is named" \
    "$set_" --baseline "$base" --against last
cp "$hist" "$work/damaged"
"$bench" validate "$set_" --baseline "$base" --record --reason x >/dev/null 2>&1
[ $? -eq 2 ] && cmp -s "$hist" "$work/damaged"
claim $? "and not added to"

# ---- faults in each direction, against baseline and history ----
planted() { # FAULT WORDS: worse by these words
    MOE_FAULT=$1 "$faults" validate "$set_" --baseline "$base" \
        --history "$work/one.csv" --against last --junit "$work/$1.xml" >"$work/out"
    [ $? -eq 1 ] && grep -q "^local-exact: mean .*: worse: .*$2" "$work/out" &&
        grep -q "^local-exact: worse: .*$2" "$work/out" &&
        grep -q "<failure message=\"$2" "$work/$1.xml"
    claim $? "$1: $2 is worse than baseline and history"
}
planted dear "over-predicted step"
planted cheap "under-predicted step"
planted memory-more "over-predicted memory"
planted memory "under-predicted memory"
planted pick "missed best layout"
MOE_FAULT=none "$faults" validate "$set_" --baseline "$base" \
    --history "$work/one.csv" --against last --junit "$work/none.xml" >/dev/null
claim $? "without a fault the same program is worse than neither"

# ---- bounds ----
bounds=$work/own.csv
head='format,dataset,mean_pct,over_pct,memory_over_pct,memory_under_pct'
row() { printf '%s\nmoe-bench/bounds/1,%s\n' "$head" "$1" >"$bounds"; }
row 'local-exact,,,2,'
MOE_FAULT=memory-more "$faults" validate "$set_" --baseline "$base" \
    --bounds "$bounds" >/dev/null
claim $? "a dataset may over-predict its memory by its own bound"
MOE_FAULT=memory "$faults" validate "$set_" --baseline "$base" \
    --bounds "$bounds" >/dev/null
[ $? -eq 1 ]
claim $? "and under-predict nothing all the same"
row 'local-exact,11,11,,'
MOE_FAULT=dear "$faults" validate "$set_" --baseline "$base" \
    --bounds "$bounds" >/dev/null
claim $? "a bound on over-predicted steps"
MOE_FAULT=cheap "$faults" validate "$set_" --baseline "$base" \
    --bounds "$bounds" >/dev/null
[ $? -eq 1 ]
claim $? "says nothing of under-predicted ones"
for bad in 'local-exakt,1,,,=not known, nearest is .local-exact' \
    'deepseek-v3,1,,,=not known' 'local-exact,-1,,,=got -1' \
    'local-exact,nan,,,=got .nan' 'local-exact,x,,,=got .x'; do
    row "${bad%%=*}"
    refused "${bad#*=}" "bounds '${bad%%=*}' are refused" "$set_" \
        --baseline "$base" --bounds "$bounds"
done
row 'local-exact,1,,,' && echo 'moe-bench/bounds/1,local-exact,2,,,' >>"$bounds"
refused "line 3: dataset 'local-exact' has bounds in line 2" \
    "a dataset has bounds once" "$set_" --baseline "$base" --bounds "$bounds"
refused "none.csv" "bounds that are named must be there" "$set_" \
    --baseline "$base" --bounds "$work/none.csv"

# ---- JUnit ----
python3 - "$work" <<'PY'
import sys, xml.etree.ElementTree as xml
for fault in "dear", "cheap", "memory", "memory-more", "pick", "none":
    top = xml.parse("%s/%s.xml" % (sys.argv[1], fault)).getroot()
    cases = list(top.iter("testcase"))
    failed = [c for c in cases if c.find("failure") is not None]
    assert top.tag == "testsuites" and len(cases) > 15
    assert int(top.get("tests")) == len(cases)
    assert int(top.get("failures")) == len(failed)
    assert bool(failed) == (fault != "none"), fault
    names = {c.get("name") for c in cases if c.get("classname") == "local-exact"}
    assert {"step error", "under-predicted memory", "missed best layout"} <= names
PY
claim $? "--junit writes XML with a testcase a dataset and bound"
if command -v xmllint >/dev/null; then
    xmllint --noout "$work"/*.xml
    claim $? "xmllint takes it"
else
    echo "ok - xmllint # SKIP it is not installed"
fi
"$bench" validate "$work/nowhere" --baseline "$base" --junit "$work/e.xml" >/dev/null 2>&1
[ $? -eq 2 ] && grep -q 'errors="1"' "$work/e.xml" && grep -q '<error message=.*nowhere' "$work/e.xml"
claim $? "an error is no passed testsuite"
"$bench" validate "$set_" --baseline "$work/new/none.csv" --junit "$work/n.xml" >/dev/null &&
    grep -q '<skipped message=.*nothing to compare' "$work/n.xml"
claim $? "a dataset without a baseline is skipped, not passed"
"$bench" validate "$set_" --baseline "$base" --junit "$work/no/x.xml" 2>"$work/err" >/dev/null
[ $? -eq 3 ] && [ "$(wc -l <"$work/err")" -eq 1 ]
claim $? "a file that cannot be written is one line, exit 3"
cp "$base" "$work/table.csv"
"$bench" validate "$set_" --baseline "$base" --junit "$work/table.csv" >/dev/null 2>"$work/err"
[ $? -eq 2 ] && one_line "$work/err" 'not replaced' && cmp -s "$base" "$work/table.csv"
claim $? "--junit replaces no table"
refused "leave out --junit" "--rows judges nothing" --rows \
    results/published/primus/rows.csv --junit "$work/x.xml"

# ---- what is committed ----
"$bench" validate --against last..last >"$work/out"
claim $? "the committed history and bounds can be read"
"$bench" validate --help | grep -q 'moe-bench validate --against HEAD~5'
claim $? "--help has an example"
sums >"$work/after" 2>/dev/null
cmp -s "$work/before" "$work/after"
claim $? "this test left the committed files as they were"
