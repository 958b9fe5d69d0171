#!/bin/sh
# torchrun and Hugging Face Jobs, each played by a script (tests/fixtures/bin):
# the words they get, the states they tell, and what becomes of the runs.
set -u
bench=${BUILD:-build/release}/moe-bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$(pwd)/tests/fixtures/bin:$PATH
export PATH FAKE_TORCHRUN="$work/torchrun"

. tests/cli/common.sh

rows() { # FILE WORD
    grep -c "$2" "$1"
}

manifest() { # LAUNCHER FILE: the small manifest with Megatron
    sed -e "s|\"kind\": \"command\", \"command\": \[\"sh\"\]|$1|" \
        -e 's|"kind": "moe-train", "entry": "fake_trainer.sh"|"kind": "megatron", "container": "image:tag", "entry": "pretrain_gpt.py", "args": ["--mock-data"]|' \
        -e 's/"rounds": 2/"rounds": 1/' \
        tests/fixtures/fake.json >"$work/$2"
}

fresh() { # a new account
    FAKE_HF=$work/hf
    export FAKE_HF
    rm -rf "$FAKE_HF" "$work/out" "$work/r"
    mkdir "$FAKE_HF"
    : >"$FAKE_HF/jobs"
}

: >"$work/pretrain_gpt.py"
# ---- torchrun ----------------------------------------------------------------
manifest '"kind": "torchrun", "env": ["NCCL_DEBUG=WARN"]' torch.json
"$bench" run -q "$work/torch.json" --out "$work/t" >/dev/null 2>"$work/err"
[ $? -eq 0 ] && [ "$(rows "$work/t/runs.csv" ,valid,)" -eq 5 ]
claim $? "torchrun runs the experiment on one node"
grep -q '^torchrun --standalone --nproc-per-node 4 [^ ]*/pretrain_gpt.py --num-layers' \
    "$work/torchrun"
claim $? "torchrun gets a process a rank, and Megatron's flags"
grep -q 'NCCL_DEBUG=WARN' "$work"/t/runs/*default*/env.json &&
    grep -q 'CUDA_DEVICE_MAX_CONNECTIONS=1' "$work"/t/runs/*default*/env.json
claim $? "its environment is recorded"
from=$(echo "$work"/t/runs/*default*/provenance.json)
grep -q '"NVIDIA H200, 550.1, 1980 MHz, 3201 MHz, 700.00 W"' "$from" &&
    grep -q '"container":.*"image:tag"' "$from" &&
    grep -q '"host_sha256":.*"[0-9a-f]\{64\}"' "$from" &&
    grep -q '"ended_utc":.*Z"' "$from" && ! grep -q "$(hostname)\"" "$from"
claim $? "GPU model, driver, clocks, power cap, times and hashed host are recorded"
FAKE_MODE=oom FAKE_FOR='t*3mL' "$bench" run -q "$work/torch.json" \
    --out "$work/u" >/dev/null 2>&1
[ $? -eq 1 ] && [ "$(rows "$work/u/runs.csv" ,oom,)" -eq 1 ] &&
    [ "$(rows "$work/u/runs.csv" ,valid,)" -eq 4 ]
claim $? "out of memory under torchrun is oom, the rest goes on"
sed -e 's/"count": 4,/"count": 4, "nodes": 2,/' "$work/torch.json" >"$work/two.json"
"$bench" run "$work/two.json" --out "$work/v" 2>"$work/err"
[ $? -eq 2 ] && grep -q 'launcher: rendezvous: missing, want host:port' "$work/err"
claim $? "two nodes need a place to meet"
sed -i 's/"env":/"rendezvous": "head:29500", "env":/' "$work/two.json"
"$bench" run "$work/two.json" --dry-run | grep -q \
    'torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint head:29500 --nproc-per-node 2 '
claim $? "and get it with the number of nodes"
sed -e 's/NCCL_DEBUG=WARN/WANDB_API_KEY=x/' "$work/torch.json" >"$work/key.json"
"$bench" run "$work/key.json" --out "$work/v" 2>"$work/err"
[ $? -eq 2 ] && grep -q "'WANDB_API_KEY' looks like a secret" "$work/err" &&
    [ ! -e "$work/v" ]
claim $? "a variable that looks like a secret is refused"

# TEXT in place of the variable, and as an argument: refused, and never said
token=hf_abcdefghijklmnopqrstuvwxyzabcdefgh
bad=0 n=0
for secret in HFTOKEN=zzz GHTOKEN=zzz PGPASSWORD=zzz MYSQL_PWD=zzz X_PAT=zzz \
    "A=$token" A=ghp_0123456789abcdefghijABCDEFGHIJ A=https://me:zzz@x.org/y; do
    for from in 's|NCCL_DEBUG=WARN|SECRET|' 's|"--mock-data"|"--mock-data", "SECRET"|' \
        's|"env":|"lines": ["export SECRET"], "env":|' \
        's|"name": "fake"|"name": "fake", "question": "Is SECRET known?"|'; do
        sed -e "$(echo "$from" | sed -e "s#SECRET#$secret#")" "$work/torch.json" \
            >"$work/key.json"
        "$bench" run "$work/key.json" --out "$work/v" >"$work/out" 2>"$work/err"
        [ $? -eq 2 ] && grep -q 'looks like a secret' "$work/err" &&
            [ "$(wc -l <"$work/err")" -eq 1 ] && [ ! -e "$work/v" ] &&
            ! grep -q "zzz\|$token\|ghp_" "$work/err" "$work/out" ||
            { bad=1; echo "# $from: $secret: $(cat "$work/err")"; }
        n=$((n + 1))
    done
done
[ $bad -eq 0 ] && [ $n -eq 32 ]
claim $? "also without a blank in its name, by its value, in arguments and lines"
sed -e 's|"--mock-data"|"--mock-data", "--hf-token", "zzz"|' "$work/torch.json" \
    >"$work/key.json"
"$bench" run "$work/key.json" --dry-run >/dev/null 2>"$work/err"
[ $? -eq 2 ] && grep -q "trainer.args\[1\]: '--hf-token' looks like" "$work/err"
claim $? "an option and its value are two words"

SLURM_JOB_USER=somebody NCCL_KEYFILE=zzz NCCL_X=$token CUDA_HOME=/home/somebody/x \
    "$bench" run -q "$work/torch.json" --out "$work/env" >/dev/null 2>&1
[ $? -eq 0 ] && grep -q 'NCCL_DEBUG=WARN' "$work"/env/runs/*default*/env.json &&
    ! grep -rq "somebody\|zzz\|$token" "$work/env"
claim $? "of the caller's environment neither secrets nor people are recorded"

# variables of libraries are part of what a run is
SLURM_JOB_USER=somebody NCCL_KEYFILE=zzz NCCL_X=$token CUDA_HOME=/home/somebody/x \
    "$bench" publish "$work/torch.json" --out "$work/env" --to "$work/pub" \
    >/dev/null 2>"$work/err"
[ $? -eq 0 ] && [ -f "$work/pub/dataset.json" ]
claim $? "results without secrets are published"
log=$(ls -d "$work"/env/runs/*default*)/log.txt
printf 'login with %s\n' "$token" | cat - "$log" >"$work/log"
cp "$work/log" "$log"
SLURM_JOB_USER=somebody NCCL_KEYFILE=zzz NCCL_X=$token CUDA_HOME=/home/somebody/x \
    "$bench" publish "$work/torch.json" --out "$work/env" --to "$work/pub2" \
    >/dev/null 2>"$work/err"
status=$?
[ $status -ne 0 ] && [ ! -e "$work/pub2" ] && ! grep -q "$token" "$work/err" &&
    grep -q 'log.txt' "$work/err"
claim $? "a log that holds a token is not published"

# ---- a silent log ---------------------------------------------------------------
cat >"$work/stops.sh" <<'SCRIPT'
sh tests/fixtures/fake_trainer.sh "$@" | sed '/iteration  *3/q' |
    while read -r line; do echo "$line"; sleep 0.02; done
sleep 100
SCRIPT
sed -e 's/"run_s": 60/"run_s": 60, "hang_steps": 5, "hang_s": 0.5/' \
    -e 's/"fake_trainer.sh"/"stops.sh"/' -e 's/"rounds": 2/"rounds": 1/' \
    tests/fixtures/fake.json >"$work/silent.json"
"$bench" run -q "$work/silent.json" --only default --out "$work/w" \
    >/dev/null 2>&1
[ $? -eq 1 ] && [ "$(rows "$work/w/runs.csv" ,timeout,hung)" -eq 3 ] &&
    [ "$(awk -F'"wall_s":' '/"wall_s"/ { print ($2 + 0 < 50) }' \
        "$work"/w/runs/*default*/status.json)" -eq 1 ]
claim $? "a log silent for a multiple of its steps is a timeout, long before run_s"

# a run and one second more fit, and the first takes longer than that second
sed -e 's/"run_s": 60/"run_s": 20, "experiment_s": 21/' \
    tests/fixtures/fake.json >"$work/late.json"
cp tests/fixtures/fake_trainer.sh "$work/"
FAKE_MODE=slow "$bench" run -q "$work/late.json" --out "$work/x" >/dev/null 2>"$work/err"
[ $? -eq 1 ] && grep -q 'limits.experiment_s of 21 s' "$work/err" &&
    [ "$(ls "$work/x/runs" | wc -l)" -ge 1 ]
claim $? "no run starts that could pass the experiment's time limit"

# ---- Hugging Face Jobs, a job a run ------------------------------------------------
manifest '"kind": "hf-jobs", "poll_s": 0.1, "namespace": "team"' hf.json
run() {
    "$bench" run -q "$work/hf.json" --out "$work/r" >"$work/out" 2>"$work/err"
}
fresh
run
[ $? -eq 0 ] && [ "$(rows "$work/r/runs.csv" ,valid,)" -eq 5 ] &&
    [ "$(cat "$FAKE_HF/count")" -eq 5 ]
claim $? "every run is a job, all valid"
grep -q 'hf jobs run --detach --flavor fakex4 --timeout 60s --label moe-run=moe-r00-[^ ]* --namespace team image:tag -- bash -c export CUDA_DEVICE' \
    "$FAKE_HF/calls"
claim $? "hf gets flavor, time limit, label, namespace, image, then the command"
id=$(sed -n 's/.*"id":[^"]*"\(.*\)".*/\1/p' "$work"/r/runs/*default*/job.json)
cmp -s "$work"/r/runs/*default*/log.txt "$FAKE_HF/$id.log"
claim $? "the log is brought back"
grep -q "\"job\":.*\"$id\"" "$work"/r/runs/*default*/provenance.json &&
    grep -q '"NVIDIA H200, 550.1' "$work"/r/runs/*default*/provenance.json
claim $? "a job tells its GPUs in its log; they are recorded with its id"

for stage in "ERROR failed" "CANCELED lost" "DELETED lost"; do
    fresh
    printf 'SCHEDULING\nRUNNING\n%s\n' "${stage% *}" >"$FAKE_HF/states"
    run
    [ $? -eq 1 ] && grep -q ",failed,.*\(${stage#* }\|exit status 1\)" \
        "$work/r/runs.csv"
    claim $? "a job that ends as ${stage% *} is failed"
done
fresh
printf 'RUNNING\nERROR\n' >"$FAKE_HF/states"
FAKE_HF_MESSAGE='"Job timeout"' run
grep -q ',timeout,' "$work/r/runs.csv"
claim $? "a job that Hugging Face ends for its time is timeout"
fresh
printf 'RUNNING\nDOWN\nDOWN\nCOMPLETED\n' >"$FAKE_HF/states"
run
[ $? -eq 0 ]
claim $? "questions without an answer are asked again"
fresh
echo DOWN >"$FAKE_HF/states"
run
[ $? -eq 3 ] && grep -q 'no answer 20 times, the job may go on: .*503' "$work/err" &&
    [ -f "$(echo "$work"/r/runs/.tmp-*/job.json)" ]
claim $? "a silent system ends the harness with 3 and leaves the job on record"
rm "$FAKE_HF/states"
run
[ $? -eq 0 ] && [ "$(cat "$FAKE_HF/count")" -eq 5 ]
claim $? "the next call takes that job over"
fresh
FAKE_HF_DIE=1 run
[ $? -eq 3 ] && ! grep -q '"id"' "$work"/r/runs/.tmp-*/job.json
claim $? "a submission that is killed leaves the job's name on record"
for i in $(seq 50); do
    [ -f "$FAKE_HF/000000000000000000000001.exit" ] && break
    sleep 0.1
done
run
[ $? -eq 0 ] && [ "$(cat "$FAKE_HF/count")" -eq 5 ] &&
    grep -q '^hf jobs ps --namespace team -a --label moe-run=moe-r00' \
        "$FAKE_HF/calls"
claim $? "and the next call finds it by its label"
fresh
printf 'RUNNING\n' >"$FAKE_HF/states"
sed -e 's/"run_s": 60/"run_s": 1/' "$work/hf.json" >"$work/short.json"
"$bench" run -q "$work/short.json" --only default --out "$work/r" >/dev/null 2>&1
grep -q ',timeout,killed after limits.run_s' "$work/r/runs.csv" &&
    grep -q '^hf jobs cancel --namespace team 0' "$FAKE_HF/calls"
claim $? "a job over limits.run_s is cancelled"

# ---- money -------------------------------------------------------------------------
# Rows of a runs.csv whose cost is no number from 0 to a dollar, 1000 s of a
# job; the hour by which the clock is set is worth 3.6.
cost() { # FILE
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "cost_usd") c = i }
        NR > 1 && !($c >= 0 && $c != "" && $c < 1) { n++ } END { print n + 0 }' "$1"
}

shifted() { # SECONDS: the wall clock is set while the first job runs
    fresh
    for i in $(seq 12); do echo RUNNING; done >"$FAKE_HF/states"
    echo COMPLETED >>"$FAKE_HF/states"
    SHIFT_CLOCK=$work/shift
    export SHIFT_CLOCK
    echo 0 >"$SHIFT_CLOCK"
    (for i in $(seq 100); do
        grep -qs running "$work"/r/runs/.tmp-*/job.json && break
        sleep 0.05
    done
    sleep 0.3
    echo "$1" >"$SHIFT_CLOCK") &
    LD_PRELOAD=$(pwd)/$clock "$bench" run -q "$work/hf.json" --out "$work/r" \
        >"$work/out" 2>"$work/err"
    status=$?
    wait
    [ $status -eq 0 ] && [ "$(rows "$work/r/runs.csv" ,valid,)" -eq 5 ] &&
        [ "$(cost "$work/r/runs.csv")" -eq 0 ] &&
        ! grep -q '^hf jobs cancel' "$FAKE_HF/calls"
}

clock=${BUILD:-build/release}/tests/shift_clock.so
if [ -f "$clock" ]; then
    shifted 3600
    claim $? "a clock that is set forward an hour ends no job and costs nothing"
    shifted -3600
    claim $? "nor does one that is set back, and no cost is negative"
    LD_PRELOAD= run
    [ $? -eq 0 ]
    claim $? "such results are read again"
else
    echo "ok - clocks that are set # SKIP $clock is not built"
fi

fresh
printf 'RUNNING\nRUNNING\nRUNNING\nRUNNING\nCOMPLETED\n' >"$FAKE_HF/states"
sed -e 's/"poll_s": 0.1/"poll_s": 1.5/' -e 's/"run_s": 60/"run_s": 1/' \
    "$work/hf.json" >"$work/slow.json"
printf 'RUNNING\nCOMPLETED\n' >"$FAKE_HF/states"
"$bench" run -q "$work/slow.json" --out "$work/r" >/dev/null 2>&1
grep -q '^hf jobs cancel' "$FAKE_HF/calls"
[ $? -eq 1 ] && [ "$(rows "$work/r/runs.csv" ,valid,)" -eq 5 ]
claim $? "a job that ended before it was asked is over no limit"

sed -e 's/"price_usd_per_hour": 3.6/"hbm_gb": 80/' \
    -e 's/"run_s": 60/"run_s": 60, "budget_usd": 5/' "$work/hf.json" >"$work/free.json"
fresh
"$bench" run "$work/free.json" --out "$work/r" >/dev/null 2>"$work/err"
[ $? -eq 2 ] && grep -q 'budget_usd: a budget needs hardware.price' "$work/err" &&
    [ ! -e "$FAKE_HF/count" ]
claim $? "a budget without a price is refused, it would never be held"
sed -i 's/, "budget_usd": 5//' "$work/free.json"
"$bench" run "$work/free.json" --max-usd 5 --out "$work/r" >/dev/null 2>"$work/err"
[ $? -eq 2 ] && grep -q -- '--max-usd: needs hardware.price' "$work/err" &&
    [ ! -e "$FAKE_HF/count" ]
claim $? "also one of the command line"

# 3.6 $/h: 60 s are 6 cents, and so is the bound of the next run
fresh
echo '0.95 earlier' >"$work/spent.txt"
mkdir -p "$work/r"
cp "$work/spent.txt" "$work/r/"
"$bench" run -q "$work/hf.json" --max-usd 1 --out "$work/r" >/dev/null 2>"$work/err"
[ $? -eq 1 ] && grep -q 'budget of \$1.00: \$0.95 spent' "$work/err" &&
    [ ! -e "$FAKE_HF/count" ]
claim $? "what was spent before counts, whatever became of its runs"
printf '9.9' >"$work/r/spent.txt"
"$bench" run -q "$work/hf.json" --max-usd 1 --out "$work/r" >/dev/null 2>"$work/err"
[ $? -eq 2 ] && grep -q 'spent.txt: damaged' "$work/err" && [ ! -e "$FAKE_HF/count" ]
claim $? "a damaged ledger is no empty one"
fresh
echo RUNNING >"$FAKE_HF/states"
"$bench" run -q "$work/hf.json" --out "$work/r" >/dev/null 2>"$work/err" &
pid=$!
for i in $(seq 100); do
    grep -qs running "$work"/r/runs/.tmp-*/job.json && break
    sleep 0.05
done
sleep 1
kill -TERM $pid
wait $pid
[ $? -eq 3 ] && [ -s "$work/r/spent.txt" ] &&
    awk '!($1 > 0.0005 && $1 < 0.05) { exit 1 }' "$work/r/spent.txt"
claim $? "a run that is interrupted is paid for all the same"

fresh
FAKE_HF_LOGIN=no run
[ $? -eq 3 ] && grep -q "run 'hf auth login'" "$work/err" && [ ! -e "$work/r" ]
claim $? "without a login nothing is started or written"
fresh
FAKE_HF_REFUSE="402 Payment Required" run
[ $? -eq 3 ] && grep -q '402 Payment Required' "$work/err"
claim $? "a refused job is one line with hf's words"

# ---- Hugging Face Jobs, one job for all ----------------------------------------------
manifest '"kind": "hf-jobs", "poll_s": 0.1, "per": "experiment", "results": "hf://buckets/me/moe"' one.json
one() {
    "$bench" run -q "$work/one.json" --out "$work/r/fake" >"$work/out" 2>"$work/err"
}
fresh
one
[ $? -eq 0 ] && [ "$(cat "$FAKE_HF/count")" -eq 1 ] &&
    [ "$(rows "$work/r/fake/runs.csv" ,valid,)" -eq 5 ] &&
    grep -q '^default ' "$work/out"
claim $? "one job carries the harness and brings all runs back"
one
[ $? -eq 0 ] && [ "$(cat "$FAKE_HF/count")" -eq 1 ]
claim $? "a second call starts no job"
rm -r "$work"/r/fake/runs/*default* "$FAKE_HF"/bucket/fake/runs/*default*
one
[ $? -eq 0 ] && [ "$(cat "$FAKE_HF/count")" -eq 2 ] &&
    [ "$(rows "$work/r/fake/runs.csv" ,valid,)" -eq 5 ]
claim $? "a job that lost one run is followed by another that makes it"
fresh
sed -e 's/"run_s": 60/"run_s": 60, "budget_usd": 0.01/' "$work/one.json" \
    >"$work/poor.json"
"$bench" run -q "$work/poor.json" --out "$work/r/fake" >/dev/null 2>"$work/err"
[ $? -eq 1 ] && grep -q 'budget of \$0.01: \$0.00 spent' "$work/err" &&
    [ ! -e "$FAKE_HF/count" ]
claim $? "a budget that pays no minute starts no job"
