# Shared by test_train_*.sh: how to start the trainer, and what to look at.
BUILD=${BUILD:-build/release}
train="$BUILD/moe-train"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LC_ALL=C
OMPI_MCA_mpi_yield_when_idle=1
export LC_ALL OMPI_MCA_mpi_yield_when_idle

small="--num-layers 4 --hidden-size 64 --num-attention-heads 4
    --group-query-attention --num-query-groups 2 --seq-length 32
    --vocab-size 256 --normalization RMSNorm --swiglu --disable-bias-linear
    --position-embedding-type rope --num-experts 4 --moe-ffn-hidden-size 64
    --ffn-hidden-size 128 --mtp-num-layers 1 --global-batch-size 8 --lr 3e-3"

run_mpi() { # RANKS FLAGS...
    ranks=$1
    shift
    mpirun -q --allow-run-as-root --oversubscribe --mca btl self,vader \
        --mca pml ob1 -np "$ranks" "$train" "$@" </dev/null
}

# The OpenBLAS kernel that the trainer takes under mpirun; inside SimGrid it
# cannot start anew to choose one.
best_kernel() {
    "$train" $small --train-iters 1 | sed -n 's/^moe-train: clock.* blas //p'
}

# The options with which one message takes exactly latency + bytes/bandwidth.
run_smpi() { # RANKS FLAGS...
    ranks=$1
    shift
    i=0
    while [ $i -lt "$ranks" ]; do
        echo "core-$i"
        i=$((i + 1))
    done >"$work/hosts"
    smpirun -np "$ranks" -platform experiments/smpi/cluster.xml \
        -hostfile "$work/hosts" --cfg=smpi/host-speed:1Gf \
        --cfg=smpi/simulate-computation:no --cfg=network/model:CM02 \
        --cfg=network/crosstraffic:no --cfg=network/latency-factor:1 \
        --cfg=network/bandwidth-factor:1 --cfg=network/weight-S:0 \
        --cfg=network/TCP-gamma:0 --cfg=smpi/lat-factor:1 \
        --cfg=smpi/bw-factor:1 --cfg=smpi/send-is-detached-thresh:0 \
        --log=root.thres:warning "$train-smpi" --clock flops "$@" </dev/null
}

# Losses, balance of routing and gradient norms of a log, in all digits.
losses() {
    grep -o 'iteration *[0-9]*/\|lm loss: [^|]*\|mtp_[0-9]* loss: [^|]*\|load_balancing_loss: [^|]*\|grad norm: [^|]*' "$1"
}

claim() { # TEXT: the last command's status decides
    if [ $? -eq 0 ]; then echo "ok - $1"; else echo "not ok - $1"; fi
}
