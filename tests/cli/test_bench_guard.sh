#!/bin/sh
# The guard between moe-bench and a trainer is killed or stopped: limits,
# Ctrl-C and the lock work all the same, and no process is left.
set -u
bench=${BUILD:-build/release}/moe-bench
work=$(mktemp -d)
mark=8$$ # seconds no other sleep on this machine is likely to sleep
export FAKE_SLEEP=$mark
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

left_over() { # processes of the trainer that are still there, grep excepted
    cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' |
        grep -c "slee[p] $mark "
}

wait_gone() {
    for i in $(seq 200); do
        [ "$(left_over)" -eq 0 ] && return 0
        sleep 0.05
    done
    return 1
}

child_of() { # PID
    cat /proc/[0-9]*/stat 2>/dev/null |
        sed -n "s/^\([0-9]*\) (.*) [A-Za-z] $1 .*/\1/p" | head -n 1
}

seconds() { # since BEGIN
    echo $(($(date +%s) - begin))
}

cp tests/fixtures/fake.json "$work/slow.json"
sed -e 's/"run_s": 60/"run_s": 1/' tests/fixtures/fake.json >"$work/short.json"
cp tests/fixtures/fake_trainer.sh "$work/"

hang() { # MANIFEST FOLDER: to where its trainer hangs; sets pid and guard
    FAKE_MODE=hang "$bench" run -q "$work/$1" --out "$work/$2" \
        >"$work/out" 2>"$work/err" &
    pid=$!
    for i in $(seq 200); do
        [ "$(left_over)" -gt 0 ] && break
        sleep 0.05
    done
    sleep 0.1
    guard=$(child_of $pid)
}

hang slow.json a
begin=$(date +%s)
kill -KILL "$guard"
wait $pid
[ $? -eq 3 ] && [ "$(seconds)" -lt 50 ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
    grep -q 'guard process' "$work/err"
claim $? "a killed guard ends the run with 3 and one line"
[ "$(left_over)" -eq 0 ]
claim $? "its trainer does not go on"

hang slow.json b
begin=$(date +%s)
kill -STOP "$guard"
sleep 0.2
kill -INT $pid
wait $pid
[ $? -eq 3 ] && [ "$(seconds)" -lt 50 ] && grep -q 'signal 2' "$work/err" &&
    [ "$(left_over)" -eq 0 ]
claim $? "Ctrl-C works with a stopped guard"

FAKE_FOR='t*5|' hang short.json c
begin=$(date +%s)
( for i in $(seq 60); do
    kill -STOP "$(child_of $pid)" 2>/dev/null || break
    sleep 0.05
done ) 2>/dev/null &
stopper=$!
FAKE_MODE= wait $pid
status=$?
kill $stopper 2>/dev/null
wait $stopper 2>/dev/null
[ $status -le 3 ] && [ "$(seconds)" -lt 60 ] && [ "$(left_over)" -eq 0 ]
claim $? "run_s ends a run whose guard is stopped again and again"

hang slow.json d
begin=$(date +%s)
kill -STOP "$guard"
kill -KILL $pid
wait $pid 2>/dev/null
wait_gone && [ "$(seconds)" -lt 50 ]
claim $? "kill -9 of the harness with a stopped guard leaves no process"

refused=0
for k in $(seq 5); do
    hang slow.json e
    kill -KILL $pid
    { wait $pid; } 2>/dev/null
    "$bench" run -q "$work/slow.json" --only default --out "$work/e" \
        >/dev/null 2>"$work/err" || {
        refused=$((refused + 1))
        sed 's/^/# /' "$work/err"
    }
    rm -rf "$work/e"
done
[ $refused -eq 0 ]
claim $? "5 of 5 restarts right after kill -9 go on"
wait_gone
claim $? "and nothing is left of the first ones"
