#!/bin/sh
# moe-bench run from end to end with a trainer that only prints a log: reuse,
# interruption, hangs, failures, a full disk, two harnesses on one folder.
set -u
bench=${BUILD:-build/release}/moe-bench
manifest=tests/fixtures/fake.json
work=$(mktemp -d)
mark=7$$ # seconds no other sleep on this machine is likely to sleep
export FAKE_SLEEP=$mark
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

left_over() { # processes of the trainer that are still there, grep excepted
    cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' |
        grep -c "slee[p] $mark "
}

rows() { # FILE WORD: rows that hold the word
    grep -c "$2" "$1"
}

FAKE_COUNT=$work/count "$bench" run -q $manifest --out "$work/a" \
    >"$work/out" 2>"$work/err"
claim $? "run ends with 0 when all runs are valid"
[ "$(rows "$work/a/runs.csv" ,valid,)" -eq 8 ]
claim $? "runs.csv has a row for each of 2 profile and 6 measured runs"
[ "$(wc -l <"$work/a/layouts.csv")" -eq 4 ] &&
    [ "$(wc -l <"$work/a/stages.csv")" -eq 13 ] &&
    [ "$(wc -l <"$work/a/iterations.csv")" -eq 49 ]
claim $? "layouts, stages and iterations have their rows"
grep -q '^default  *Et\*3|t\*3|t\*3|t\*3mL ' "$work/out"
claim $? "the closing table lists the default layout"
awk -F, '$3 == "default" && $15 == 1 { found = 1 } END { exit !found }' \
    "$work/a/layouts.csv"
claim $? "the default's measured speedup over itself is 1"
[ -f "$work/a/costs.json" ] && [ -f "$work/a/plan.json" ]
claim $? "costs.json and plan.json are written"

cp "$work/a/runs.csv" "$work/before"
FAKE_COUNT=$work/count "$bench" run -q $manifest --out "$work/a" \
    >"$work/out2" 2>"$work/err"
cmp -s "$work/before" "$work/a/runs.csv" && cmp -s "$work/out" "$work/out2" &&
    [ "$(wc -l <"$work/count")" -eq 8 ]
claim $? "a second run starts nothing and gives the same table"

rm -f "$work"/a/*.csv
"$bench" run -q $manifest --out "$work/a" >/dev/null 2>&1
cmp -s "$work/before" "$work/a/runs.csv"
claim $? "the CSV files are made again from the run folders"

"$bench" status $manifest --out "$work/a" | grep -q '8 of 8 runs valid'
claim $? "status counts the valid runs"

sed -e 's/"limits": {"run_s": 60}/"limits": {"run_s": 60},\
  "accept": {"max_step_error_pct": 50, "speedup_vs_default": 1.1}/' $manifest \
    >"$work/bounds.json"
cp tests/fixtures/fake_trainer.sh "$work/"
"$bench" run -q "$work/bounds.json" --out "$work/o" >"$work/out" 2>/dev/null &&
    [ "$(grep -c '^accept: .*: ok$' "$work/out")" -eq 2 ]
claim $? "bounds that hold are listed"
sed -e 's/"max_step_error_pct": 50/"max_step_error_pct": 1e-9/' \
    "$work/bounds.json" >"$work/tight.json"
"$bench" run -q "$work/tight.json" --out "$work/p" >"$work/out" 2>/dev/null
[ $? -eq 1 ] && grep -q '^accept: step error of any .*: missed$' "$work/out" &&
    grep -q '^accept: speedup of the pick.*: ok$' "$work/out"
claim $? "a missed bound is named and gives 1"
"$bench" run -q "$work/tight.json" --out "$work/p" --only pick \
    >"$work/out" 2>/dev/null && ! grep -q '^accept' "$work/out"
claim $? "--only judges no bounds on all layouts"

# ---- kill -9, Ctrl-C -----------------------------------------------------------
interrupt() { # SIGNAL FOLDER: into the third run, which hangs
    FAKE_MODE=hang FAKE_FOR='|mL' "$bench" run -q "$work/slow.json" \
        --out "$2" >"$work/out" 2>"$work/err" &
    pid=$!
    for i in $(seq 600); do
        [ "$(left_over)" -gt 0 ] && break
        sleep 0.05
    done
    kill -"$1" $pid
    wait $pid
    status=$?
    for i in $(seq 600); do
        [ "$(left_over)" -eq 0 ] && break
        sleep 0.05
    done
}
cp $manifest "$work/slow.json"
cp tests/fixtures/fake_trainer.sh "$work/"

interrupt KILL "$work/b" 2>/dev/null
[ "$(left_over)" -eq 0 ]
claim $? "kill -9 of the harness leaves no process"
ls "$work"/b/runs/*/status.json >/dev/null 2>&1 &&
    [ "$(ls "$work/b/runs" | wc -l)" -eq 2 ]
claim $? "kill -9 loses no finished run"
FAKE_COUNT=$work/count2 "$bench" run -q "$work/slow.json" --out "$work/b" \
    >/dev/null 2>&1 && [ "$(wc -l <"$work/count2")" -eq 6 ] &&
    [ -z "$(find "$work/b/runs" -name '.tmp-*')" ]
claim $? "the same command continues after kill -9"

interrupt TERM "$work/c"
[ $status -eq 3 ] && [ "$(left_over)" -eq 0 ] &&
    grep -q 'interrupted by signal 15' "$work/err"
claim $? "SIGTERM ends the harness with 3 and leaves no process"
[ -z "$(find "$work/c/runs" -name '.tmp-*')" ]
claim $? "SIGTERM leaves no unfinished folder"

# ---- trainers that misbehave -----------------------------------------------------
sed -e 's/"run_s": 60/"run_s": 2/' $manifest >"$work/short.json"
FAKE_MODE=hang FAKE_FOR='t*3mL' "$bench" run -q "$work/short.json" \
    --out "$work/d" >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && [ "$(rows "$work/d/runs.csv" ,timeout,)" -eq 2 ] &&
    [ "$(rows "$work/d/runs.csv" ,valid,)" -eq 6 ]
claim $? "a hung trainer is killed, its runs are timeout, the rest goes on"
[ "$(left_over)" -eq 0 ]
claim $? "a hung trainer leaves no process"
grep -q '^default .* - ' "$work/out"
claim $? "a layout without a valid run has no measured figure"

FAKE_MODE=fail FAKE_FOR='t*3mL' "$bench" run -q $manifest --out "$work/e" \
    >/dev/null 2>&1
[ $? -eq 1 ] && [ "$(rows "$work/e/runs.csv" ,failed,)" -eq 2 ]
claim $? "a failing trainer is failed, the rest goes on, exit 1"
"$bench" run -q $manifest --out "$work/e" >/dev/null 2>&1 &&
    [ "$(rows "$work/e/runs.csv" ,failed,)" -eq 2 ] &&
    [ "$(rows "$work/e/runs.csv" ,valid,)" -eq 8 ]
claim $? "failed runs are tried again and stay on record"

FAKE_MODE=oom FAKE_FOR='t*3mL' "$bench" run -q $manifest --out "$work/f" \
    >/dev/null 2>&1
[ "$(rows "$work/f/runs.csv" ,oom,)" -eq 2 ]
claim $? "out of memory in the log gives oom"
FAKE_MODE=cut FAKE_FOR='t*3mL' "$bench" run -q $manifest --out "$work/g" \
    >/dev/null 2>&1
grep -q ',failed,the log ends at iteration 2 of 6,' "$work/g/runs.csv"
claim $? "a log that ends early is failed although the trainer exits with 0"
FAKE_MODE=fork "$bench" run -q $manifest --out "$work/h" >/dev/null 2>&1 &&
    [ "$(left_over)" -eq 0 ]
claim $? "a daemon that a trainer leaves behind is killed"

# ---- logs of other runs ----------------------------------------------------------
lying() { # NAME SED REASON CLAIM: the trainer's log is edited on its way
    mkdir "$work/$1.m"
    sed 's/fake_trainer.sh/lying.sh/' $manifest >"$work/$1.m/m.json"
    cp tests/fixtures/fake_trainer.sh "$work/$1.m/real.sh"
    printf 'sh "%s" "$@" | sed "%s"\n' "$work/$1.m/real.sh" "$2" \
        >"$work/$1.m/lying.sh"
    "$bench" run -q "$work/$1.m/m.json" --out "$work/$1" --only default \
        >"$work/out" 2>"$work/err"
    [ $? -eq 1 ] && [ "$(rows "$work/$1/runs.csv" ",invalid,.*$3")" -gt 0 ] &&
        [ "$(rows "$work/$1/runs.csv" ,valid,)" -eq 0 ] && ! grep -qi nan "$work/out"
    claim $? "$4"
}
dump() { # ARGUMENT VALUE: a dump of arguments before the first line
    printf '1i------------------------ arguments ------------------------\n'
    printf '1i\\  num_layers ...................................... %s\n' "$1"
    printf '1i\\  pipeline_model_parallel_layout .................. %s\n' "$2"
    printf '1i-------------------- end of arguments ---------------------\n'
}
lying x1 's/global batch size:     8/global batch size:    16/' \
    'a global batch of 16' "a log of another batch is no valid run"
lying x2 's/iteration (ms): [0-9.]*/iteration (ms): 0.0/' \
    'took 0 ms' "steps of 0 ms are no valid run"
lying x3 '$ { p; s/.*/ [2026-01-01 00:00:59] iteration       99\/      99 | consumed samples:          792 | elapsed time per iteration (ms): 1.0 | global batch size:     8 | lm loss: 5.000000E+00 |/ }' \
    'has iteration 99 of' "iterations beyond those asked for are no valid run"
lying x4 "$(dump 16 'Et*3|t*3|t*3|t*3mL')" 'num_layers is 16' \
    "a log of another model is no valid run"
lying x5 "$(dump 12 'Et*1|t*1|t*1|t*9mL')" 'the run was made with' \
    "a log of another layout is no valid run"

# ---- many runs -------------------------------------------------------------------
sed -e 's/"rounds": 2/"rounds": 12/' $manifest >"$work/many.json"
FAKE_WATCH=$work/q/runs.csv "$bench" run -q "$work/many.json" \
    --out "$work/q" >/dev/null 2>&1 &&
    [ "$(rows "$work/q/runs.csv" ,valid,)" -eq 38 ]
claim $? "38 runs are all in the table"
# after each of the first 8, then when an eighth more runs are there
[ "$(sort -u "$work/q/runs.csv.seen" | wc -l)" -lt 24 ]
claim $? "the tables are not made again after each of them"

# ---- environment -----------------------------------------------------------------
FAKE_MODE=slow "$bench" run -q "$work/slow.json" --out "$work/i" \
    >/dev/null 2>&1 &
pid=$!
for i in $(seq 600); do
    [ -s "$work/i/.lock" ] && break
    sleep 0.05
done
"$bench" run -q "$work/slow.json" --out "$work/i" >/dev/null 2>"$work/err"
[ $? -eq 3 ] && grep -q "in use by process $pid on" "$work/err"
claim $? "a second harness on the folder is refused and told who holds it"
kill $pid
wait $pid

mkdir "$work/small"
if mount -t tmpfs -o size=48k none "$work/small" 2>/dev/null; then
    "$bench" run -q $manifest --out "$work/small/r" >/dev/null 2>"$work/err"
    status=$?
    kept=$(ls "$work/small/r/runs" | wc -l)
    umount "$work/small"
    [ $status -eq 3 ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
        grep -q 'No space left' "$work/err" && [ "$kept" -gt 0 ]
    claim $? "a full disk is one line and exit 3, finished runs stay"
else
    echo "ok - a full disk # SKIP cannot mount a small tmpfs here"
fi

if command -v torchrun >/dev/null; then
    echo "ok - a missing launcher # SKIP torchrun is installed here"
else
sed -e 's/"kind": "command", "command": \["sh"\]/"kind": "torchrun"/' \
    $manifest >"$work/torch.json"
# a PATH of nothing: PyTorch may be installed here
PATH="$work" "$bench" run -q "$work/torch.json" --out "$work/j" >/dev/null \
    2>"$work/err"
[ $? -eq 3 ] && grep -q "program 'torchrun' not found in PATH" "$work/err" &&
    [ ! -e "$work/j" ]
claim $? "a launcher whose program is missing says so and writes nothing"
fi

"$bench" run $manifest --dry-run --out "$work/k" >"$work/out" 2>"$work/err"
[ $? -eq 0 ] && [ ! -e "$work/k" ] && [ ! -s "$work/err" ] &&
    grep -q "'<pick after profile>'" "$work/out" &&
    grep -q '^# 8 runs of 6 iterations.*at most \$0.48' "$work/out"
claim $? "--dry-run prints commands and bounds and writes nothing"
sed -n 's/^OPENBLAS.* --pipeline-model-parallel-layout \(.*\) --train-iters.*/\1/p' \
    "$work/out" >"$work/words"
[ "$(eval "printf %s $(sed -n 4p "$work/words")")" = 'Et*3|t*3|t*3|t*3mL' ]
claim $? "--dry-run quotes words so that a shell reads them back"

"$bench" run $manifest --max-usd 0.001 --out "$work/l" >/dev/null 2>"$work/err"
[ $? -eq 1 ] && grep -q 'budget of \$0.00' "$work/err"
claim $? "a run that could pass the budget is not started"
sed -e 's/"runs": \[/"runs": ["Et*5|t*2|t*3|t*2mL", /' $manifest \
    >"$work/twice.json"
"$bench" run -q "$work/twice.json" --out "$work/n" >/dev/null 2>&1 &&
    [ "$(rows "$work/n/runs.csv" ',profile,Et\*5|')" -eq 2 ] &&
    "$bench" status "$work/twice.json" --out "$work/n" |
    grep -q '9 of 9 runs valid'
claim $? "a layout that is to be profiled twice is run twice"
"$bench" run $manifest --only default -q --out "$work/m" >/dev/null 2>&1 &&
    [ "$(rows "$work/m/runs.csv" ',default,')" -eq 2 ] &&
    [ "$(rows "$work/m/runs.csv" ',pick,')" -eq 0 ]
claim $? "--only measures one role"
"$bench" run $manifest --only pickk 2>"$work/err"
[ $? -eq 2 ] && grep -q "did you mean 'pick'" "$work/err"
claim $? "an unknown role is an error that names the nearest"
