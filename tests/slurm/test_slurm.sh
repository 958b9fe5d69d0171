#!/bin/sh
# moe-bench on a real Slurm of one node, started here: the local experiment
# with moe-train, then jobs that fail, hang, are cancelled, are lost with their
# node, and whose harness is killed. Where Slurm cannot be installed or started
# one test is skipped, with the reason.
set -u
bench=${BUILD:-build/release}/moe-bench
work=$(mktemp -d)
. tests/slurm/cluster.sh
trap 'cluster_stop; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

claim() { # STATUS CLAIM
    if [ "$1" -eq 0 ]; then echo "ok - $2"; else echo "not ok - $2"; fi
}

skip() { # REASON
    echo "ok - a real Slurm # SKIP $1"
    exit 0
}

rows() { # FILE WORD
    grep -c "$2" "$1"
}

# True when all runs of a table are valid jobs of Slurm: two profile runs, the
# default and the count-based layout, and the pick where it is neither; which it
# is depends on the machine's noise.
all_valid() { # FILE
    n=$(($(wc -l <"$1") - 1))
    [ "$n" -ge 4 ] && [ "$n" -le 5 ] && [ "$(rows "$1" ,valid,)" -eq "$n" ]
}

jobs() { # number of jobs that Slurm knows, in a state if one is given
    squeue -h --states="${1:-all}" | wc -l
}

running() { # waits for a running job whose trainer hangs
    for i in $(seq 100); do
        [ "$(jobs R)" -gt 0 ] && [ -s "$work/hangs" ] && return 0
        sleep 0.1
    done
    return 1
}

none_left() {
    for i in $(seq 100); do
        [ "$(squeue -h | wc -l)" -eq 0 ] && return 0
        sleep 0.1
    done
    return 1
}

[ "$(id -u)" -eq 0 ] || skip "slurmd needs root"
sh harness/install-deps.sh slurm >"$work/apt" 2>&1 ||
    skip "slurmctld, slurmd or munge cannot be installed here"
cluster_start >"$work/start" 2>&1 ||
    skip "no node became idle: $(tail -n 1 "$work/slurmctld.log")"

# ---- the experiment --------------------------------------------------------
"$bench" run -q experiments/local-slurm.json --out "$work/a" \
    >"$work/out" 2>"$work/err"
status=$?
[ $status -eq 0 ] && all_valid "$work/a/runs.csv" &&
    [ "$(rows "$work/a/runs.csv" ,slurm,wall,)" -eq "$n" ]
claim $? "local-slurm.json runs as a job a run with moe-train, all valid"
[ $status -eq 0 ] || cat "$work/err"
grep -q '^default  *Et\*3|t\*3mL ' "$work/out"
claim $? "its table lists the default layout"
[ "$(grep -h '"id"' "$work"/a/runs/*/job.json | sort -u | wc -l)" -eq "$n" ]
claim $? "each run's folder names its job"
# the default layout may be the pick as well: its run then bears that role's name
[ "$(grep -l '^#SBATCH --exclusive' "$work"/a/runs/*/job.sh | wc -l)" -eq "$n" ] &&
    [ "$(grep -l -- '--mpi=pmix' "$work"/a/runs/*/job.sh | wc -l)" -eq "$n" ]
claim $? "each run's folder holds its script"
before=$(jobs)
"$bench" run -q experiments/local-slurm.json --out "$work/a" >/dev/null 2>&1
[ "$(jobs)" -eq "$before" ]
claim $? "a second call starts no job"

sed -e 's/"kind": "slurm",/"kind": "slurm", "per": "experiment",/' \
    experiments/local-slurm.json >"$work/one.json"
"$bench" run -q "$work/one.json" --out "$work/one" >"$work/out" 2>"$work/err"
[ $? -eq 0 ] && [ "$(jobs)" -eq $((before + 1)) ] &&
    all_valid "$work/one/runs.csv" &&
    grep -q '^default ' "$work/out"
claim $? "one allocation holds the whole experiment, with srun inside"
[ -s "$work/out" ] || cat "$work/err" "$work/one/job/log.txt"
before=$(jobs)
"$bench" run -q "$work/one.json" --out "$work/one" >/dev/null 2>&1
[ $? -eq 0 ] && [ "$(jobs)" -eq "$before" ]
claim $? "a second call needs no allocation"

# ---- jobs that go wrong ----------------------------------------------------
cat >"$work/trainer.sh" <<'SCRIPT'
#!/bin/sh
[ "${SLURM_PROCID:-0}" -eq 0 ] || exit 0
[ "${FAKE_MODE:-}" != hang ] || case "$*" in
    *"$FAKE_FOR"*) echo "$SLURM_JOB_ID" >>"$FAKE_HANGS" ;;
esac
exec sh tests/fixtures/fake_trainer.sh "$@"
SCRIPT
chmod 755 "$work/trainer.sh"
export FAKE_FOR='t*3mL' FAKE_HANGS="$work/hangs"
sed -e 's/"kind": "command", "command": \["sh"\]/"kind": "slurm", "poll_s": 0.2/' \
    -e 's/"entry": "fake_trainer.sh"/"entry": "trainer.sh"/' \
    -e 's/"gpu": "fake", "count": 4, //' -e 's/"rounds": 2/"rounds": 1/' \
    tests/fixtures/fake.json >"$work/fake.json"
run() { # the default layout, in one folder for all that follows
    "$bench" run -q "$work/fake.json" --only default --out "$work/b" \
        >"$work/out" 2>"$work/err"
}

start() { # MODE SECONDS: the same in the background, as $pid
    FAKE_MODE=$1 FAKE_SLEEP=$2 "$bench" run -q "$work/fake.json" \
        --only default --out "$work/b" >"$work/out" 2>"$work/err" &
    pid=$!
}

start fail 0
wait $pid
[ $? -eq 1 ] && grep -q ',failed,.*assert' "$work/b/runs.csv" &&
    [ "$(rows "$work/b/runs.csv" ,valid,)" -eq 2 ]
claim $? "a failing job is failed, the others are valid, exit 1"

start hang 7$$
running && scancel "$(tail -n 1 "$work/hangs")"
wait $pid
[ $? -eq 1 ] && grep -q ',failed,the job was lost (CANCELLED)' "$work/b/runs.csv"
claim $? "a job that somebody cancels is lost, with Slurm's word"

# the wall clock of the harness is set while a job runs ($3.6 an hour); Slurm's
# stays
clock=$(pwd)/${BUILD:-build/release}/tests/shift_clock.so
make --no-print-directory "${clock#"$(pwd)/"}" >/dev/null 2>&1
for shift in 3600 -3600; do
    rm -f "$work/hangs"
    echo 0 >"$work/shift"
    FAKE_MODE=hang FAKE_SLEEP=3 SHIFT_CLOCK=$work/shift LD_PRELOAD=$clock \
        "$bench" run -q "$work/fake.json" --only default \
        --out "$work/shift$shift" >"$work/out" 2>"$work/err" &
    pid=$!
    running
    echo $shift >"$work/shift"
    wait $pid
    [ $? -eq 0 ] && [ "$(rows "$work/shift$shift/runs.csv" ,valid,)" -eq 3 ] &&
        awk '!($1 > 0 && $1 < 0.05) { exit 1 }' "$work/shift$shift/spent.txt"
    claim $? "a clock set by $shift s ends no running job, and costs are the job's"
done

rm -f "$work/hangs"
start hang 7$$
running
kill -TERM $pid
wait $pid
[ $? -eq 3 ] && grep -q 'interrupted by signal 15' "$work/err" && none_left &&
    [ -z "$(find "$work/b/runs" -name '.tmp-*')" ]
claim $? "SIGTERM to the harness cancels its job and leaves no folder"

rm -f "$work/hangs"
start hang 4
running
kill -KILL $pid
wait $pid 2>/dev/null
before=$(jobs)
[ "$(jobs R)" -eq 1 ] && [ -f "$(echo "$work"/b/runs/.tmp-*default*/job.json)" ]
claim $? "a job outlives kill -9 of its harness, on record"
"$bench" run "$work/fake.json" --only default --out "$work/b" \
    >"$work/out" 2>"$work/err"
[ $? -eq 0 ] && [ "$(jobs)" -eq "$before" ] &&
    grep -q 'is taken over from an earlier call' "$work/err"
claim $? "the next call takes the running job over and starts none"

rm -f "$work/hangs"
sed -i 's/"rounds": 1/"rounds": 2/; s/"run_s": 60/"run_s": 61/' "$work/fake.json"
start hang 7$$
running
kill -KILL "$slurmd_pid"
wait "$slurmd_pid" 2>/dev/null
lost=$(tail -n 1 "$work/hangs")
for i in $(seq 300); do
    grep -q 'the job was lost' "$work/b/runs.csv" &&
        scontrol --oneliner show job "$lost" | grep -q NODE_FAIL && break
    sleep 0.1
done
cluster_slurmd
cluster_idle
kill -TERM $pid 2>/dev/null
wait $pid 2>/dev/null
grep -q ',failed,the job was lost (NODE_FAIL)' "$work/b/runs.csv"
claim $? "a job whose slurmd is killed is lost, the experiment goes on"
scancel --state=running -u "$(id -un)"
run
[ $? -eq 0 ]
claim $? "with slurmd back the lost run is made again and is valid"

rm -f "$work/hangs"
sed -i 's/"run_s": 61/"run_s": 3/' "$work/fake.json"
start hang 7$$
wait $pid
[ $? -eq 1 ] && grep -q ',timeout,killed after limits.run_s = 3 s' \
    "$work/b/runs.csv" && none_left
claim $? "a job over its time limit is ended as timeout"
grep -q 'State=CANCELLED' <<X
$(scontrol --oneliner show job "$(tail -n 1 "$work/hangs")")
X
claim $? "and Slurm has it as cancelled"

sed -e 's/"poll_s": 0.2/"poll_s": 0.2, "partition": "nowhere"/' \
    "$work/fake.json" >"$work/c.json"
"$bench" run -q "$work/c.json" --out "$work/c" >/dev/null 2>"$work/err"
[ $? -eq 3 ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
    grep -qi "'sbatch --parsable' failed.*partition" "$work/err"
claim $? "a partition that is not there is one line, with sbatch's words"
