#!/bin/sh
# moe-bench contribute on logs in the forms that users have: runs without any
# layout among their flags, lines that are means over an interval, prefixes, bars
# and other ranks between, the list of arguments in another file.
set -u
bench=$(cd "$(dirname "${BUILD:-build/release}/moe-bench")" && pwd)/moe-bench
here=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

cd "$work" || exit 1
make_log() { # FILE [KEY=VALUE...]
    python3 "$here/tests/cli/log_forms.py" "$@"
}
FIRST=decoder_first_pipeline_num_layers
LAST=decoder_last_pipeline_num_layers
shown() { # OPERAND...: of a dry run; the layouts, or the message
    "$bench" contribute "$@" --gpu H100 --series 2 --dry-run >out 2>err
    status=$?
    if [ $status -eq 0 ]; then
        sed -n 's/^  run-[0-9]*  \([^ ]*\) .*/\1/p' out | tr '\n' ' '
    else
        cat err
    fi
}
given() { # FOLDER OPERAND...: contributed, and what a reviewer says of it
    to=$1
    shift
    rm -rf "$to"
    "$bench" contribute "$@" --gpu H100 --series 2 --to "$to" --consent >out 2>err &&
        "$bench" validate "$to"/h100-* >review 2>err
}

# ---- splits without a layout ----
make_log default.log
make_log ends.log ms=4800 $FIRST=7 $LAST=5
make_log virtual.log ms=4700 num_virtual_stages_per_pipeline_rank=3 \
    virtual_pipeline_model_parallel_size=3
make_log older.log ms=4750 num_layers_per_virtual_pipeline_stage=3 core=0.15 \
    virtual_pipeline_model_parallel_size=2
is "the default split and one by its ends" "$(shown default.log ends.log)" \
    'Et*6|t*6|t*6|t*6L Et*7|t*6|t*6|t*5L '
is "virtual stages in both spellings" "$(shown virtual.log older.log)" \
    'Et*2|(t*2|)*10t*2L Et*3|(t*3|)*6t*3L '
given one default.log ends.log
claim $? "a reviewer takes them"
given two virtual.log older.log
claim $? "and those with virtual stages"
make_log loss.log account_for_loss_in_pipeline_split=True num_layers=23
make_log layout.log ms=4800 num_layers=23 'pipeline_model_parallel_layout=Et*7|t*6|t*6|t*4L'
is "a layer less beside the loss" "$(shown loss.log layout.log)" \
    'Et*6|t*6|t*6|t*5L Et*7|t*6|t*6|t*4L '
"$bench" contribute default.log ends.log --gpu 'H100 PCIe' --series 2 --dry-run >out 2>err
[ $? -eq 2 ] && one_line err "not those of its variant PCIE .*('NVIDIA H100 PCIe')" && ! grep -q 'is it' err
claim $? "a variant with a data sheet of its own is told, and how to name it"
d=decoder s=[$d,$d,$d,$d,$d,$d]
is "a layout may be a list of stages, as elsewhere" \
    "$(shown "[[embedding,$d,$d,$d,$d,$d,$d],$s,$s,[$d,$d,$d,$d,$d,$d,loss]]=default.log" ends.log)" \
    'Et*6|t*6|t*6|t*6L Et*7|t*6|t*6|t*5L '
hybrid="num_layers=8 pipeline_model_parallel_size=2 mamba_num_heads=64 mamba_head_dim=64 \
mamba_state_dim=128 mamba_num_groups=8"
make_log mlp.log $hybrid 'hybrid_layer_pattern=-*EM|ME*E'
make_log mlp2.log $hybrid ms=4900 'hybrid_layer_pattern=-*E|MME*E'
is "a pattern may begin with an MLP, as elsewhere" \
    "$(shown '-*EM|ME*E=mlp.log' mlp2.log --core 0.19)" '-*EM|ME*E -*E|MME*E '
"$bench" contribute 'Et*7|t*6|t*6|t*5L=default.log' ends.log --gpu H100 --to no --consent >out 2>err
[ $? -eq 1 ] && one_line err "default.log: its own list of arguments has the layout 'Et\*6" && [ ! -e no ]
claim $? "a layout that a log without one did not run is refused"
"$bench" contribute 'Et*6|t*6|t*6|t*6L=ends.log' default.log --gpu H100 --to no --consent >out 2>err
[ $? -eq 1 ] && one_line err "ends.log: its own list of arguments has the layout 'Et\*7"
claim $? "also where its split is by the ends"
cat >edited.sh <<'END'
torchrun --nproc-per-node 16 pretrain_gpt.py --num-layers 24 --hidden-size 2048 \
    --num-attention-heads 16 --group-query-attention --num-query-groups 4 --kv-channels 128 \
    --num-experts 64 --moe-ffn-hidden-size 1024 --moe-router-topk 8 --ffn-hidden-size 5472 \
    --qk-layernorm --swiglu --normalization RMSNorm --disable-bias-linear --bf16 \
    --position-embedding-type rope --untie-embeddings-and-output-weights \
    --seq-length 4096 --micro-batch-size 1 --global-batch-size 256 --padded-vocab-size 128256 \
    --expert-model-parallel-size 4 --expert-tensor-parallel-size 1 --use-distributed-optimizer \
    --pipeline-model-parallel-size 4 \
    --decoder-first-pipeline-num-layers 8 --decoder-last-pipeline-num-layers 4
END
is "a script that was edited since does not say what ran" \
    "$(shown default.log ends.log --config edited.sh)" 'Et*6|t*6|t*6|t*6L Et*7|t*6|t*6|t*5L '

# ---- prefixes, bars, other ranks ----
make_log slurm.log prefix=' %r: '
make_log tee.log prefix='[default%r]:' noise=yes ms=4800 $FIRST=7 $LAST=5
is "prefixes and what stands between" "$(shown slurm.log tee.log)" \
    'Et*6|t*6|t*6|t*6L Et*7|t*6|t*6|t*5L '
given three slurm.log tee.log
claim $? "a reviewer takes them"

# ---- lines that are means of several iterations ----
row() { # FOLDER COLUMN: of the first row
    python3 - "$1"/h100-*/rows.csv "$2" <<'PY'
import csv, sys
print(next(csv.DictReader(open(sys.argv[1])))[sys.argv[2]])
PY
}
make_log five.log log_interval=5 slow=23
make_log five2.log log_interval=5 ms=4800 $FIRST=7 $LAST=5
make_log ten.log log_interval=10 core=0.15
make_log ten2.log log_interval=10 core=0.15 ms=4700 $FIRST=7 $LAST=5
given five five.log five2.log
claim $? "lines of five iterations are contributed, and a reviewer takes them"
is "the row says that they are means" "$(row five step_stat)" \
    "median of 9 means of 5 iterations, 2 dropped"
is "and of how many iterations" "$(row five n_steps)" 45
is "a slow step moves one of them alone" "$(row five step_s)" 5
grep -q 'iterations *yes' out && grep -q 'spread *doubt *run-01: .*mean of 5 iterations' out &&
    grep -q 'single iterations: the scatter' out
claim $? "what means do not tell is said and kept"
given ten ten.log ten2.log
claim $? "four means of ten iterations are enough"
is "they are told as such" "$(row ten step_stat)" \
    "median of 4 means of 10 iterations, 1 dropped"
sed 's/^  log_interval .*//' ten.log >unlisted.log
given ten unlisted.log ten2.log
is "the lines alone tell it, too" "$(row ten step_stat)" \
    "median of 4 means of 10 iterations, 1 dropped"
make_log short.log log_interval=10 core=0.15 iters=30
"$bench" contribute short.log five2.log --gpu H100 --to no --consent >out 2>err
[ $? -eq 1 ] && one_line err 'short.log: 2 means of 10 iterations count (1 dropped), want 3'
claim $? "two means are too few"
make_log each.log iters=90
awk '!/ iteration / || / iteration +[0-9]*0\//' each.log >thinned.log
given thin thinned.log ten2.log
is "lines that somebody took out are no means" "$(row thin step_stat)" \
    "median of 7 iterations, 2 dropped"

# ---- timers that wait for the GPU lengthen a step ----
make_log timed.log timers=yes ms=5200
"$bench" contribute default.log ends.log timed.log --gpu H100 --series 3 --to timed --consent >out 2>err &&
    "$bench" validate timed/h100-* >review 2>err
claim $? "a run with timers beside two without is taken"
grep -q 'run-03 .*with timers on' out && grep -q 'run *doubt *run-03: its timers' out
claim $? "and said to be one"
is "its step is none to fit" "$(python3 -c 'import csv, glob
print([r["use"] for r in csv.DictReader(open(glob.glob("timed/*/rows.csv")[0]))])')" "['fit', 'fit', '']"
! grep -q '^run-03' review && grep -q '^run-02' review
claim $? "a reviewer predicts the others"
bad=$(echo timed/h100-*)
python3 - "$bad/rows.csv" <<'PY'
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="")))
for r in rows[1:]:
    r[rows[0].index("use")] = "fit"
csv.writer(open(sys.argv[1], "w", newline=""), lineterminator="\n").writerows(rows)
PY
(cd "$bad" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
"$bench" validate "$bad" >review 2>err
[ $? -eq 1 ] && one_line err 'was run with timers on'
claim $? "a row that says otherwise is found"

# ---- the card's name ----
"$bench" contribute default.log ends.log --gpu H10O --to no --consent >out 2>err
[ $? -eq 2 ] && one_line err "'H10O': is it H100?" && [ ! -e no ]
claim $? "a card that is nearly one that is known is asked about"
for gpu in 'NVIDIA H100 80GB HBM3' 'NVIDIA H10O' H800; do
    "$bench" contribute default.log ends.log --gpu "$gpu" --series 2 --dry-run >out 2>err
    claim $? "$gpu is taken"
done
grep -q "rate *doubt *the peak of 'h800' is not known" out
claim $? "of a card of another name no peak is known"
"$bench" contribute default.log ends.log --gpu 'NVIDIA H100 80GB HBM3' --series 2 --dry-run >out 2>err &&
    grep -q 'folder: .*/h100-80gb-hbm3-16x' out && grep -q 'rate *yes' out
claim $? "a card as nvidia-smi prints it is the card"

# ---- what a message says to do next ----
refused() { # STATUS PART CLAIM OPERAND...
    want=$1 part=$2 text=$3
    shift 3
    "$bench" contribute --gpu H100 --to no --consent "$@" >out 2>err
    [ $? -eq "$want" ] && one_line err "$part" && [ ! -e no ]
    claim $? "$text"
}
make_log nodump.log dump=no vocab=no
make_log novocab.log vocab=no
refused 2 'rank 0 prints' "a log of another rank alone: where the list is" nodump.log ends.log
sed '/end of arguments/q' novocab.log >rank0.log
printf ' > padded vocab (size: 128256) with 0 dummy tokens (new size: 128256)\n' >>rank0.log
cat rank0.log nodump.log >joined.log
is "and what it says works" "$(shown joined.log ends.log)" 'Et*6|t*6|t*6|t*6L Et*7|t*6|t*6|t*5L '
is "and the other way" "$(shown nodump.log ends.log --config rank0.log)" \
    'Et*6|t*6|t*6|t*6L Et*7|t*6|t*6|t*5L '
refused 2 'end of the command: -- --padded-vocab-size N' "a vocabulary that is not told" \
    novocab.log ends.log
"$bench" contribute novocab.log ends.log --gpu H100 --series 2 --dry-run -- \
    --padded-vocab-size 128256 >out 2>err
claim $? "and what it says works"
for x in mtp_num_layers=1 num_query_groups=8 moe_shared_expert_intermediate_size=1024 \
    kv_channels=64 fp8=hybrid; do
    make_log other.log ms=4700 $x
    refused 2 "other.log is of another model or split than default.log (.* [0-9]*, not [0-9]*)" \
        "another model ($x): what differs" default.log other.log
done
make_log other.log ms=4700 bf16=False
refused 2 'ran in another precision than default.log (fp32, not bf16)' "and another precision" \
    default.log other.log
make_log freq.log 'moe_layer_freq=[0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]'
make_log freq2.log ms=4800 'moe_layer_freq=[1,0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]'
refused 2 "freq2.log is of another model than freq.log (other layers)" \
    "also where other layers are dense" freq.log freq2.log
make_log batch.log ms=9900 global_batch_size=512
"$bench" contribute default.log batch.log --gpu H100 --series 2 --dry-run >out 2>err
claim $? "another global batch is the same model"
make_log batch.log ms=4900 micro_batch_size=2
refused 2 '(micro_batch_size 2, not 1)' "another micro-batch costs another time" default.log batch.log
"$bench" contribute default.log ends.log --gpu GB200 --gpus-per-node 4 --series 2 --to nodes --consent >out 2>err &&
    "$bench" validate nodes/gb200-* >review 2>err && ! grep -q 'GPUs of a node' out
claim $? "the GPUs of a node can be said"
is "and are in the row" "$(python3 -c 'import csv, glob
print(next(csv.DictReader(open(glob.glob("nodes/*/rows.csv")[0])))["gpus_per_node"])')" 4
"$bench" contribute default.log --gpu H100 --series 1 --dry-run >out 2>err
grep -q '^1 run on 16 x h100' out
claim $? "one run is one"

# ---- one file with two runs ----
cat default.log ends.log >both.log
"$bench" contribute both.log virtual.log --gpu H100 --series 2 --dry-run >out 2>err &&
    grep -q 'run *doubt *run-01: the file holds 2 runs: .*cut it' out
claim $? "a file of two runs: one counts, and that is said"
"$bench" contribute both.log ends.log --gpu H100 --series 2 --dry-run >out 2>err &&
    grep -q 'duplicates *doubt *run-02 has the very times of run-01' out
claim $? "and its run beside itself is doubted"

# ---- lines of another batch ----
sed 's/global batch size:   256/global batch size:   128/' ends.log >batch.log
refused 1 'batch.log: its lines say a global batch of 128, and its arguments or the script 256' \
    "lines of another batch than the list's" default.log batch.log
awk '/ iteration .*[13579]\/ /{ sub(/size:   256/, "size:   128") } { print }' ends.log >ramp.log
refused 1 'run: ramp.log: the global batch changes .*cut the lines' "a batch that changes" default.log ramp.log
refused 2 "'--global-batch-sise'" "a flag that is misspelt" default.log ends.log -- --global-batch-sise 128
refused 2 "'default=default.log': no file has that name, and what" "an operand that is no LAYOUT=LOG" \
    default=default.log ends.log

# ---- a file that ends in another run, which died ----
{ cat default.log && sed '/end of arguments/q' ends.log && echo 'RuntimeError: CUDA error'; } >died.log
{ cat default.log && sed '/ iteration .* 3\//,$d' ends.log; } >died2.log
for x in died died2; do
    is "the list before the iterations that count is theirs ($x)" "$(shown "$x.log" ends.log)" \
        'Et*6|t*6|t*6|t*6L Et*7|t*6|t*6|t*5L '
    given "$x" "$x.log" ends.log
    claim $? "a reviewer takes it"
done
