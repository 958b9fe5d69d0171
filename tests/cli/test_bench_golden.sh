#!/bin/sh
# What the study's three stages would run, against tests/golden/: the job,
# every command, the number of runs and the bounds on time and money. After a
# wanted change: GOLDEN=write sh tests/cli/test_bench_golden.sh
set -u
bench=${BUILD:-build/release}/moe-bench
layout=${BUILD:-build/release}/moe-layout
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MOE_BENCH_BUCKET SLURM_JOB_ID MOE_BENCH_INSIDE

. tests/cli/common.sh

for name in stage-a stage-b stage-c template-slurm; do
    golden=tests/golden/$name.txt
    before=$(ls -aR "results/$name" 2>&1)
    "$bench" run experiments/$name.json --dry-run >"$work/$name" 2>"$work/err"
    status=$?
    [ "${GOLDEN:-}" != write ] || cp "$work/$name" $golden
    [ $status -eq 0 ] && diff $golden "$work/$name"
    claim $? "$name: the dry run prints what $golden holds"
    [ "$(ls -aR "results/$name" 2>&1)" = "$before" ]
    claim $? "$name: the dry run writes nothing"
    sed -n 's/.*pretrain_gpt\.py //p' $golden >"$work/flags"
    sed -i "s/'<pick after profile>'/'Et*4|t*4|t*4|t*4mL'/" "$work/flags"
    bad=0
    while read -r flags; do
        eval "\"$layout\" size -- $flags" >/dev/null 2>"$work/err" ||
            { bad=1; cat "$work/err"; }
        sed -i '/ layers of width /d' "$work/err" # what was read
        [ ! -s "$work/err" ] || { bad=1; cat "$work/err"; }
    done <"$work/flags"
    [ $bad -eq 0 ] && [ -s "$work/flags" ]
    claim $? "$name: every flag of every command is one that we know"
done
for name in stage-a stage-b stage-c; do
    grep -q '^# one job for all, ended after .* h: at most \$' "$work/$name" &&
        grep -q '^# handed over by: hf jobs run ' "$work/$name" &&
        grep -q '^# [0-9]* runs of 20 iterations .* h in all, at most \$' \
            "$work/$name"
    claim $? "$name: job, number of runs, bounds of time and cost are there"
done
! "$layout" size -- --num-layerz 16 >/dev/null 2>&1
claim $? "a flag that we do not know would have been refused"
total() { # GOLDEN: parameters of the model that its first command describes
    flags=$(sed -n 's/.*pretrain_gpt\.py //p' "$1" | sed -n 1p)
    eval "\"$layout\" size --json -- $flags" |
        sed -n 's/.*"total":[^0-9]*\([0-9]*\).*/\1/p'
}
[ "$(total tests/golden/stage-c.txt)" = 6858278912 ]
claim $? "stage-c: the flags give the recipe's parameters, padded vocabulary included"
[ "$(total tests/golden/stage-a.txt)" = "$("$layout" size --json \
    experiments/models/7b-a1b-32e.json |
    sed -n 's/.*"total":[^0-9]*\([0-9]*\).*/\1/p')" ]
claim $? "stage-a: the flags give the proxy's parameters"
