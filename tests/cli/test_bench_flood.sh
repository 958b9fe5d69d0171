#!/bin/sh
# Trainers that print without end, far too many iterations, or operations that
# are none: they are killed or judged, and the rest goes on.
set -u
bench=${BUILD:-build/release}/moe-bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

cp tests/fixtures/fake.json "$work/"
cp tests/fixtures/fake_trainer.sh "$work/real.sh"
faulty() { # NAME SCRIPT: in place of the trainer for the default layout
    printf 'case "$*" in *t\\*3mL*) %s ;; esac\nexec sh "%s" "$@"\n' \
        "$2" "$work/real.sh" >"$work/fake_trainer.sh"
    begin=$(date +%s)
    "$bench" run -q "$work/fake.json" --out "$work/$1" >"$work/out" 2>"$work/err"
    status=$?
    took=$(($(date +%s) - begin))
}
judged() { # NAME REASON CLAIM
    [ $status -eq 1 ] && [ "$(grep -c ",default,.*,$2" "$work/$1/runs.csv")" -eq 2 ] &&
        [ "$(grep -c ,valid, "$work/$1/runs.csv")" -eq 6 ]
    claim $? "$3"
}

faulty a 'exec yes "a line of a flood that has no end and no meaning at all"'
judged a 'failed,killed after it printed more than 256 MB' \
    "a flood ends the run with its reason, the rest goes on"
[ "$(du -sk "$work/a" | cut -f 1)" -lt 5000 ] && [ $took -lt 110 ]
claim $? "of a flood only the beginning is kept"
faulty b 'exec tr "\\\\0" x </dev/zero'
judged b 'failed,killed after it printed more than 256 MB' \
    "so does a line without end"
cat >"$work/many.awk" <<'END'
BEGIN { for (i = 1; i <= 300000; i++)
    printf " [2026-01-01 00:00:00] iteration %8d/       6 | consumed samples: 8 | elapsed time per iteration (ms): 1.0 | lm loss: 5.0E+00 |\n", i }
END
faulty c "awk -f $work/many.awk; exit 0"
judged c 'invalid,the log has iteration [0-9]* of 6' \
    "300,000 iterations are not counted"
[ $took -lt 110 ] && [ "$(wc -l <"$work/c/iterations.csv")" -lt 30000 ]
claim $? "nor do they stall the tables"
cat >"$work/fake_trainer.sh" <<'END'
sh "${0%/*}/real.sh" "$@"
case "$*" in *t\*3mL*) ;; *) exit ;; esac
while [ $# -gt 1 ] && [ "$1" != --record-ops ]; do shift; done
echo garbage >"$2"
END
"$bench" run -q "$work/fake.json" --out "$work/d" >"$work/out" 2>"$work/err"
status=$?
judged d 'invalid,.*ops.csv' "operations that are none make the run invalid"
if command -v python3 >/dev/null; then
    printf 'case "$*" in *t\\*3mL*) yes iteration | head -c 100000000; sleep 60 ;; esac\nexec sh "%s" "$@"\n' \
        "$work/real.sh" >"$work/fake_trainer.sh"
    sed -e 's/"run_s": 60/"run_s": 2/' "$work/fake.json" >"$work/short.json"
    python3 -c 'import os, subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
use = os.wait4(p.pid, 0)[2]
sys.exit(use.ru_maxrss > 100 << 10)' "$bench" run -q "$work/short.json" --out "$work/e" &&
        grep -q 'default,.*,timeout,killed after limits.run_s' "$work/e/runs.csv"
    claim $? "100 MB of lines that say nothing are judged in less memory"
fi
