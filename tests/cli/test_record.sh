#!/bin/sh
# moe-layout record runs a script with stand-ins for its launchers and prints
# its launches; every other command never runs anything of what it reads.
root=$(pwd)
case ${BUILD:-build/release} in
/*) L=$BUILD/moe-layout ;;
*) L=$root/${BUILD:-build/release}/moe-layout ;;
esac
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/t" "$tmp/work"
export TMPDIR="$tmp/t"
cd "$tmp/work" || exit 3

. "$root/tests/cli/common.sh"

# CLAIM CODE WORD COMMAND...: this exit, nothing on stdout, one line with WORD
refuses() {
    claim=$1 want=$2 word=$3
    shift 3
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    code=$?
    if [ $code -eq "$want" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
        [ ! -s "$tmp/out" ] && grep -qF -- "$word" "$tmp/err"; then
        echo "ok - $claim"
    else
        echo "not ok - $claim: exit $code, want $want and '$word' in:"
        cat "$tmp/err"
    fi
}

# the launches that record prints of the script on stdin; words are its own
launches() {
    cat >s.sh
    "$L" record s.sh "$@" 2>"$tmp/err" | sed 1d
}

left() { # what is left of sessions
    find "$tmp/t" -mindepth 1 | wc -l
}

# ---- what no reader can know ----

is "an option loop, a condition on the host, a list from python" \
    "$(launches --layers 7 --name 'a b' <<'END'
set -euo pipefail
LAYERS=4 NAME=none
while [ $# -gt 0 ]; do
    case $1 in
    --layers) LAYERS=$2; shift 2 ;;
    --name) NAME=$2; shift 2 ;;
    *) exit 9 ;;
    esac
done
if [ "$(uname -n)" = "$(uname -n)" ]; then PP=4; else PP=2; fi
LIST=$(python -c "print(','.join(str(i) for i in range($LAYERS)))")
SUM=$(python3 - <<P
print(sum(range($LAYERS)))
P
)
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $LAYERS --name "$NAME" --pp $PP --list $LIST --sum $SUM
END
)" "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 7 --name 'a b' --pp 4 --list 0,1,2,3,4,5,6 --sum 21"
is "said before it runs, and how it ended" \
    "$(sed -n '1s/.*all its other commands do run/first/p; $s/.*status 0/last/p' "$tmp/err" | tr '\n' ' ')" \
    "first last "

is "launchers behind srun, mpirun, shells and wrappers" "$(launches <<'END'
srun -N2 --ntasks-per-node=8 bash -c "torchrun --nnodes \$SLURM_NNODES a.py --x 1" | cut -d: -f1,7-
mpirun -np 16 --mca a b -x FOO=bar python -u b.py --x 2
nohup deepspeed --num_gpus 8 c.py --x 3
python -m torch.distributed.run d.py --x 4
env A=b timeout 9 accelerate launch e.py --x 5
numactl -N 0 python3 f.py --x 6
END
)" "SLURM_NNODES=2 SLURM_JOB_NUM_NODES=2 SLURM_NTASKS=16 SLURM_NPROCS=16 SLURM_NTASKS_PER_NODE=8 SLURM_TASKS_PER_NODE='8(x2)' srun -N2 --ntasks-per-node=8 torchrun --nnodes 2 a.py --x 1
OMPI_COMM_WORLD_SIZE=16 PMI_SIZE=16 mpirun -np 16 --mca a b -x FOO=bar python -u b.py --x 2
deepspeed --num_gpus 8 c.py --x 3
python -m torch.distributed.run d.py --x 4
accelerate launch e.py --x 5
python3 f.py --x 6"

mkdir bin
printf '#!/bin/sh\ntouch really_ran\n' >bin/torchrun
cp bin/torchrun bin/python3
chmod +x bin/*
is "a PATH that the script sets brings no launcher back" "$(launches <<END
export PATH=$tmp/work/bin:\$PATH
torchrun a.py --x 1
nohup python3 b.py --x 2 2>/dev/null
bash -c 'torchrun c.py --x 3'
END
ls really_ran 2>&1 | grep -c '^really')" \
"torchrun a.py --x 1
python3 b.py --x 2
torchrun c.py --x 3
0"
rm -rf bin

cat >job.sh <<'END'
#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=8
#SBATCH --gres=gpu:8
nodes=($(scontrol show hostnames $SLURM_JOB_NODELIST))
srun python train.py --num-layers 4 --nodes ${#nodes[@]} --tasks $SLURM_NTASKS --arg $1 $FOO
END
echo 'id=$(sbatch --parsable --export=ALL,FOO=--bar -N 2 job.sh x); [ "$id" = 1 ]' >submit.sh
is "sbatch runs its job with the sizes of its lines and options" \
    "$("$L" record submit.sh 2>"$tmp/err" | sed 's/SLURM_[^ ]* //g')" \
"#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gres=gpu:8
srun python train.py --num-layers 4 --nodes 2 --tasks 16 --arg x --bar"
is "a job script itself, as if it were submitted" \
    "$("$L" record job.sh y 2>"$tmp/err" | sed 's/SLURM_[^ ]* //g' | sed -n '2p;$p')" \
"#SBATCH --nodes=4
srun python train.py --num-layers 4 --nodes 4 --tasks 32 --arg y"

is "the loop over ranks that only differ in nothing is one launch" \
    "$(launches <<'END' | wc -l
for i in 1 2 3; do python x.py --a & done
wait
END
)" 1
is "what would start work elsewhere is named and not started" \
    "$(launches <<'END'
ssh host 'cd x && torchrun --x'
docker run image bash -c 'torchrun --x'
docker run image torchrun a.py --x 1
X=$(python count.py)
END
grep -c 'not run: [sd][so].*not recorded' "$tmp/err"
grep -c 'count.py: where the script reads' "$tmp/err")" \
"torchrun a.py --x 1
2
1"

is "what the script did not find is said, once the launches are noted" \
    "$(launches <<'END'
source conf/env.sh
N=$(no-such-command -L | wc -l)
torchrun a.py --gpus $N
END
sed -n 's/.*may lack what was not there: .*s.sh: line //p' "$tmp/err")" \
"torchrun a.py --gpus 0
1: conf/env.sh: No such file or directory
2: no-such-command: command not found"

model='--num-layers 16 --hidden-size 1024 --num-attention-heads 16 --num-experts 8 --moe-router-topk 2 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --padded-vocab-size 32000'
cat >s.sh <<END
if hostname >/dev/null 2>&1 || true; then PP=\$(python3 -c 'print(2 + 2)'); fi
torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py $model --pipeline-model-parallel-size \$PP
END
is "what it prints is read by any command" \
    "$("$L" record s.sh 2>/dev/null | "$L" read /dev/stdin --json | python3 -c '
import json, sys
v = json.load(sys.stdin)["values"]
print(*(v[k] for k in ("num_layers", "hidden_size", "pp", "global_batch", "seq")))')" \
    "16 1024 4 64 4096"
is "--json prints every call" "$("$L" record --json s.sh 2>/dev/null | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["format"], d["complete"], [c["program"] for c in d["calls"]], d["calls"][0]["argv"][-1])')" \
    "moe-layout/record/1 True ['torchrun'] 4"

# ---- where it runs ----

cat >s.sh <<'END'
ls -A | wc -l
pwd
cat
touch made_here
rm -rf ./*
python x.py --in "$PWD" --zero "$0"
END
"$L" record s.sh >"$tmp/out" 2>"$tmp/err" </etc/passwd
is "an empty folder, no input, its output on stderr" \
    "$(sed -n 2p "$tmp/err") $(sed -n 3p "$tmp/err" | grep -c "^$tmp/t/.*/here") $(grep -c root: "$tmp/err") $(wc -l <"$tmp/out")" \
    "0 1 0 2"
is "the script by its path" "$(grep -c -- "--zero $tmp/work/s.sh" "$tmp/out") $(ls made_here 2>/dev/null)" "1 "
mkdir there
echo 'python x.py --in "${PWD##*/}"' >s.sh
is "--in DIR runs it there" "$("$L" record --in there s.sh 2>/dev/null | sed 1d)" "python x.py --in there"
is "nothing is left" "$(left)" 0

echo 'for i in 1 2 3 4 5; do python x.py --id '"\$1"' --i $i; sleep 0.05; done' >s.sh
for i in a b c; do "$L" record s.sh $i >"two.$i" 2>/dev/null & done
wait
is "several at once do not disturb each other" \
    "$(for i in a b c; do grep -c -- "--id $i --i" two.$i; done | tr '\n' ' ')$(cat two.? | wc -l)" "5 5 5 18"

# ---- how it ends ----

mark=98$$ # seconds that no other sleep on this machine is likely to sleep
sleeping() {
    ps -eo args | grep -c "^sleep $mark\$"
}
cat >s.sh <<END
torchrun x.py --first
setsid sleep $mark &
(trap '' TERM INT HUP; while :; do sleep 0.2; done) &
sleep $mark
END
"$L" record --time-limit 3 s.sh >"$tmp/out" 2>"$tmp/err"
is "the time limit: exit 3, one line, what was noted" \
    "$? $(grep -c 'ended after 3 s with 1 launch noted' "$tmp/err") $(sed -n 2p "$tmp/out")" \
    "3 1 torchrun x.py --first"
is "nothing runs on" "$(sleeping)" 0
for sig in 2 15; do
    is "signal $sig: ends by it, and leaves no folder and no process" \
        "$(python3 -c '
import signal, subprocess, sys, time
p = subprocess.Popen(sys.argv[1:4], stderr=subprocess.PIPE)
p.stderr.readline()
time.sleep(0.5)
p.send_signal(int(sys.argv[4]))
print(p.wait())' "$L" record s.sh $sig) $(left) $(sleeping)" \
        "-$sig 0 0"
done
"$L" record s.sh --x 2>&1 >/dev/null | head -c 1 >/dev/null &
sleep 1
kill $! 2>/dev/null
pkill_free=$(ps -eo pid,args | grep "[m]oe-layout record s.sh --x" | awk '{print $1}')
[ -z "$pkill_free" ] || kill $pkill_free
wait
is "a reader of its talk that is gone leaves nothing over" "$(left)" 0

echo 'exec >/dev/null 2>&1; sleep 2; python x.py --a' >s.sh
is "a script that closes its outputs is waited for without work" "$(python3 -c '
import resource, subprocess, sys
out = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(out.decode().split("\n")[1], "idle" if used.ru_utime + used.ru_stime < 1 else used)' \
    "$L" record s.sh)" "python x.py --a idle"

# ---- bad input ----

refuses "no script" 2 "no script" "$L" record
refuses "a script that is not there" 2 "nope.sh: No such file" "$L" record nope.sh
refuses "a folder" 2 "is a folder" "$L" record .
refuses "a device" 2 "no regular file" "$L" record /dev/null
refuses "an unknown option in front of the script" 2 "--sise" "$L" record --sise s.sh
refuses "a bad time limit" 2 "--time-limit" "$L" record --time-limit 0 s.sh
printf '#!/usr/bin/env python3\nprint(1)\n' >p.py
refuses "a script of another language" 2 "python3" "$L" record p.py
refuses "no scratch folder" 3 "TMPDIR" env TMPDIR=/proc "$L" record s.sh
refuses "a folder that PATH cannot hold" 3 "TMPDIR" env TMPDIR=/tmp/a:b "$L" record s.sh
echo 'echo hello; exit 4' >s.sh
"$L" record s.sh >"$tmp/out" 2>"$tmp/err"
is "no launch: exit 2, and how the script ended" \
    "$? $(wc -c <"$tmp/out") $(grep -c 'no launch.*status 4' "$tmp/err")" "2 0 1"
printf 'torchrun x.py --a\n"%s" record s.sh\n' "$L" >n.sh
"$L" record n.sh >"$tmp/out" 2>"$tmp/err"
is "a record within a record is refused" \
    "$? $(grep -c 'being recorded, want one at a time' "$tmp/err") $(wc -l <"$tmp/out")" "0 1 2"
cp "$L" torchrun
is "a launcher's name means nothing without a session" \
    "$(./torchrun --version | cut -d' ' -f1)" moe-layout

# ---- scripts that mean harm to the record ----

echo 'torchrun x.py --a; echo "{" >>"$MOE_LAYOUT_RECORD"' >s.sh
"$L" record s.sh >"$tmp/out" 2>"$tmp/err"
is "a damaged record: the line is named" \
    "$? $(grep -c 'record:2' "$tmp/err") $(wc -c <"$tmp/out")" "2 1 0"
echo 'rm "$MOE_LAYOUT_RECORD"; mkfifo "$MOE_LAYOUT_RECORD"; torchrun x.py --a' >s.sh
timeout 20 "$L" record --time-limit 2 s.sh >"$tmp/out" 2>"$tmp/err"
is "a record that is replaced: no hang, and no answer" \
    "$([ $? -ne 124 ] && [ ! -s "$tmp/out" ] && echo so) $(left)" "so 0"
cat >s.sh <<'END'
python3 - <<'P'
import os
words = ",".join(['"w"'] * 8000)
line = '{"program":"x","argv":["x","--a",%s]}\n' % words
open(os.environ["MOE_LAYOUT_RECORD"], "w").write(line * 1000)
P
END
is "a large record: less than 200 MB of memory" "$(python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print("so" if used < 200 else used)' "$L" record s.sh)" so
is "nothing is left of any session" "$(left)" 0

# ---- all other commands run nothing ----

cp "$root"/tests/fixtures/hostile/* .
ls -A >"$tmp/before"
hung=0
for command in read check size count baselines plan memory simulate; do
    for file in launch.sh recipe.yaml /dev/stdin; do
        timeout 20 "$L" $command $file --pp 2 --json <launch.sh >/dev/null 2>&1
        [ $? -ne 124 ] || hung=$((hung + 1))
    done
done
ls -A >"$tmp/after"
is "a hostile script: nothing hangs" "$hung" 0
is "and nothing runs and no file is made" "$(diff "$tmp/before" "$tmp/after"; left)" 0
timeout 60 bash launch.sh >/dev/null 2>&1 </dev/null
missing=$(grep -o 'planted_[a-z0-9_]*' launch.sh beside.sh | sed 's/.*://; s/_$/_1/' |
    sort -u | while read -r name; do [ -e "$name" ] || echo "$name"; done | tr '\n' ' ')
is "which bash does run and make, all but the comment and the prompt" "$missing" \
    "planted_prompt planted_sbatch "
