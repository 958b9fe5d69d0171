#!/bin/sh
# Results that were changed after they were made are not used: logs, recorded
# operations, stray files among the runs. run makes such a run again, status
# and publish name it.
set -u
bench=${BUILD:-build/release}/moe-bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

# the fake trainer, which also records operations
mkdir "$work/m"
ops='format,iteration,rank,stage,mb,kind,start_s,end_s'
row='moe-train\/ops\/1,1,0,0,0,forward,0,0.001'
sed "s/^exec awk/[ -z \"\$ops\" ] || printf '$ops\\\\n$row\\\\n' >\"\$ops\"\nexec awk/" \
    tests/fixtures/fake_trainer.sh >"$work/m/fake_trainer.sh"
cp tests/fixtures/fake_trainer.sh "$work/m/plain.sh"
cp tests/fixtures/fake.json "$work/m/"
manifest=$work/m/fake.json
sed 's/fake_trainer.sh/plain.sh/' "$manifest" >"$work/m/plain.json"
plain=$work/m/plain.json
"$bench" run -q "$plain" --out "$work/r" >"$work/table" 2>"$work/err"
claim $? "there are results"
grep -q '"ops_sha256":[[:space:]]*"none"' "$work"/r/runs/r01-pick-*/status.json &&
    grep -q '"log_sha256":[[:space:]]*"[0-9a-f]\{64\}"' \
        "$work"/r/runs/r01-pick-*/status.json
claim $? "a run's record says that it wrote no operations"

change() { # NAME HOW: of a copy s; HOW is given the file
    rm -rf "$work/s" && cp -r "$work/r" "$work/s"
    hurt=$(ls -d "$work"/s/runs/$1 | head -n 1)
    eval "$2"
}
faster() { # a step time of the log is a third of itself
    awk '{ if (match($0, /iteration \(ms\): [0-9.]+/)) { at = RSTART + 16
        x = substr($0, at, RLENGTH - 16); sub(/\(ms\): [0-9.]+/, "(ms): " x / 3) }
        print }' "$1/log.txt" >"$1/log.new" && mv "$1/log.new" "$1/log.txt"
}
each() { # RUN ROUND HOW CLAIM
    change "$1" "$3"
    "$bench" status "$plain" --out "$work/s" >"$work/out" 2>"$work/err"
    [ $? -eq 1 ] && grep -q "invalid: .*(${hurt})" "$work/out" &&
        ! grep -q '8 of 8 runs valid' "$work/out"
    claim $? "status: $4"
    "$bench" publish "$plain" --out "$work/s" --to "$work/d" \
        >"$work/out" 2>"$work/err"
    [ $? -eq 1 ] && one_line "$work/err" "$hurt" && [ ! -e "$work/d" ]
    claim $? "publish: $4"
    "$bench" run -q "$plain" --out "$work/s" >"$work/table2" 2>"$work/err"
    status=$?
    sed 's!/s/!/r/!g' "$work/table2" >"$work/table3"
    [ $status -eq 0 ] && grep -q "warning: .*$hurt" "$work/err" &&
        cmp -s "$work/table" "$work/table3" && [ -d "$hurt-a2" ]
    claim $? "run names it, makes the run again, and has the same table: $4"
    "$bench" publish "$plain" --out "$work/s" --to "$work/d" \
        >"$work/out" 2>"$work/err"
    claim $? "after that the results can be published"
    rm -rf "$work/d"
}
each 'r01-pick-*' 1 'faster "$hurt"' "an edited log"
each 'r00-profile-*' 0 'faster "$hurt"' "an edited log of a profile run"
each 'r02-default-*' 2 ': >"$hurt/log.txt"' "an emptied log"
each 'r02-default-*' 2 'rm "$hurt/log.txt"' "a log that is gone"
each 'r02-default-*' 2 'rm "$hurt/log.txt"; mkfifo "$hurt/log.txt"' \
    "a FIFO in place of a log"
each 'r02-default-*' 2 'cp "$hurt/log.txt" "$work/l"; rm "$hurt/log.txt"
    ln -s "$work/l" "$hurt/log.txt"' "a link in place of a log"
each 'r01-pick-*' 1 'echo format >"$hurt/ops.csv"' "operations that came later"
"$bench" run -q "$manifest" --out "$work/o" >/dev/null 2>&1
run=$(ls -d "$work"/o/runs/r01-pick-*)
grep -q '"ops_sha256":[[:space:]]*"[0-9a-f]\{64\}"' "$run/status.json"
claim $? "recorded operations are hashed"
echo more >>"$run/ops.csv"
"$bench" status "$manifest" --out "$work/o" >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && grep -q 'ops.csv was changed after the run' "$work/out"
claim $? "changed operations are named"

rm -rf "$work/s" && cp -r "$work/r" "$work/s"
hurt=$(ls -d "$work"/s/runs/r01-pick-*) && rm "$hurt/status.json" &&
    mkfifo "$hurt/status.json"
timeout 60 "$bench" run -q "$plain" --out "$work/s" >"$work/table2" 2>"$work/err" &&
    grep -q "not a run's folder" "$work/err" && [ -d "$hurt-a2" ]
claim $? "a FIFO in place of a status hangs nothing, the run is made again"

# ---- what is no run ----------------------------------------------------------------
rm -rf "$work/s" && cp -r "$work/r" "$work/s"
echo mine >"$work/s/runs/notes.txt"
mkdir "$work/s/runs/backup" "$work/s/runs/0" && echo mine >"$work/s/runs/backup/x"
ln -s /nowhere "$work/s/runs/link"
mkfifo "$work/s/runs/fifo"
"$bench" run -q "$plain" --out "$work/s" >"$work/table2" 2>"$work/err"
status=$?
sed 's!/s/!/r/!g' "$work/table2" >"$work/table3"
[ $status -eq 0 ] && cmp -s "$work/table" "$work/table3" &&
    grep -q "warning: .*/runs/0: not a run" "$work/err" &&
    [ -s "$work/s/runs/notes.txt" ] && [ -s "$work/s/runs/backup/x" ]
claim $? "strange files among the runs are named, left, and block nothing"
"$bench" status "$plain" --out "$work/s" >"$work/out" 2>"$work/err" &&
    grep -q '8 of 8 runs valid' "$work/out"
claim $? "nor do they block status"
"$bench" publish "$plain" --out "$work/s" --to "$work/d" >/dev/null 2>"$work/err" &&
    [ "$(ls "$work/d/runs" | wc -l)" -eq 5 ]
claim $? "nor publish, which leaves them"
