#!/bin/sh
# One rank of several is out of memory or cannot write: all ranks end, with one
# line of ours on stderr and exit code 3, and none waits for the others.
set -u
. tests/cli/train_common.sh

preload=$BUILD/tests/fail_alloc.so
case $preload in /*) ;; *) preload=$PWD/$preload ;; esac
program=$train
cat >"$work/one_rank" <<'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" != "$FAIL_RANK" ] || export LD_PRELOAD="$PRELOAD"
exec "$PROGRAM" "$@"
END
chmod +x "$work/one_rank"
train=$work/one_rank
PRELOAD=$preload PROGRAM=$program
export PRELOAD PROGRAM

# so many micro-batches that the log's own buffers are requests of their own
flags="$small --pipeline-model-parallel-size 2 --train-iters 1 --seq-length 4
    --hidden-size 16 --global-batch-size 1024 --timing-log-level 2
    --reference-burst 1 --record-ops $work/ops.csv"

starts() { # RANK [AT]: two ranks, of which RANK's request AT is refused
    FAIL_RANK=$1 FAIL_AT=${2:-0} FAIL_COUNT=$work/count \
        timeout 20 mpirun -q --allow-run-as-root --oversubscribe \
        --mca btl self,vader --mca pml ob1 \
        -x FAIL_RANK -x FAIL_AT -x FAIL_COUNT -x PRELOAD -x PROGRAM \
        -np 2 "$train" $flags >"$work/out" 2>"$work/err" </dev/null
}

ends() { # CLAIM STATUS
    if [ "$2" -eq 3 ] && [ "$(grep -c '^moe-train: ' "$work/err")" -eq 1 ]; then
        echo "ok - $1"
    else
        echo "not ok - $1: exit $2, $(head -n 3 "$work/err" | tr '\n' ' ')"
    fi
}

# rank 1, which writes, at every request; rank 0 at every third
for rank in 0 1; do
    rm -f "$work/count"
    starts $rank
    rc=$?
    n=$(cat "$work/count")
    test $rc -eq 0 && test "$n" -gt 10
    claim "rank $rank asks for memory and files, $n times"
    at=1
    while [ $at -le "$n" ]; do
        starts $rank $at
        ends "request $at of rank $rank is refused: all end, exit 3" $?
        at=$((at + 3 - 2 * rank))
    done
done

train=$program
timeout 60 "$train" $small --train-iters 2 >/dev/full 2>"$work/err"
ends "a log that cannot be written: exit 3" $?

flags="$small --pipeline-model-parallel-size 2 --train-iters 2"
FAIL_RANK=none timeout 60 mpirun -q --allow-run-as-root --oversubscribe \
    --mca btl self,vader --mca pml ob1 -np 2 "$train" $flags \
    --record-ops /dev/full >"$work/out" 2>"$work/err" </dev/null
ends "a record on a full disk: exit 3" $?
