#!/bin/sh
# moe-layout doctor: advice on logs whose truth is known (their times are those
# that simulate gives for known costs), and no advice, with a reason, on logs
# that cannot carry one.
set -u
L=${BUILD:-build/release}/moe-layout
MODEL=experiments/models/7b-a1b.json
OWN='Et*4|t*4|t*4|t*4mL'
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

. tests/cli/common.sh

holds() { # CLAIM WORD FILE
    if grep -qF -- "$2" "$3"; then echo "ok - $1"; else
        echo "not ok - $1: no '$2' in:"
        cat "$3"
    fi
}

lacks() { # CLAIM WORD FILE
    if grep -qF -- "$2" "$3"; then
        echo "not ok - $1: '$2' in:"
        cat "$3"
    else echo "ok - $1"; fi
}

# a log from a simulation's JSON on stdin, steps scattered by 0.3%, two of
# start-up first. KIND: all, minmax, none; what it does: ms outside the pipeline;
# a list of words for what goes wrong
cat >"$tmp/log.py" <<'PY'
import json, random, sys
kind, world, gbs, outside = sys.argv[1], *map(int, sys.argv[2:5])
bad = sys.argv[5:]
d = json.load(sys.stdin)
pp = 4
n_mb = gbs * pp // world
random.seed(7)
if "dump" in bad:
    print("------------------------ arguments ------------------------")
    for line in open(bad[bad.index("dump") + 1]):
        name, value = line.split(None, 1)
        print("  %s %s %s" % (name, "." * (46 - len(name)), value.strip()))
    print("-------------------- end of arguments ---------------------")
for i in range(1, 15):
    f = 5 if i < 3 else 1 + random.gauss(0, 0.003)
    if "drift" in bad and i > 7:
        f *= 1.3
    loss = "nan" if "nan" in bad and i > 8 else "1.0E+01"
    skipped = 1 if "skip" in bad and i in (7, 9) else 0
    print(" [2026-01-02 03:04:05] iteration %8d/%8d | consumed samples: %12d |"
          " elapsed time per iteration (ms): %.3f | learning rate: 1.0E-04 |"
          " global batch size: %5d |%s loss scale: 1.0 | grad norm: 1.000 |"
          " number of skipped iterations: %3d | number of nan iterations:   0 |"
          % (i, 14, i * gbs, d["pred_step_ms"] * f + outside, gbs,
             "" if skipped else " lm loss: %s |" % loss, skipped))
    if i == 1:
        for r in range(0, world if "memory" in bad else 0):
            b = d["stages"][r * pp // world]["mem_bytes"] / 2**20
            print("[Rank %d] (after 1 iterations) memory (MB) | allocated: %.2f"
                  " | max allocated: %.2f | reserved: %.2f | max reserved: %.2f"
                  % (r, b, b, b, b))
    if kind == "none":
        continue
    rows = {}
    for name, key in (("forward-compute", "fwd_ms"),
                      ("backward-compute", "bwd_ms")):
        rows[name] = [n_mb * sum(s[key] for s in d["stages"][r * pp // world::pp])
                      * random.gauss(1, 0.003)
                      * (1.3 if "slow" in bad and r == 1 else 1)
                      * (3 if "beyond" in bad else 1)
                      for r in range(world)]
    if kind == "all":
        print("times across ranks (ms):")
        for name in rows:
            print("  %s:" % name)
            for r, t in enumerate(rows[name]):
                print("     rank %2d: %.4f" % (r, t))
    else:
        print("(min, max) time across ranks (ms):")
        for name in rows:
            print("    %s ....: (%.2f, %.2f)"
                  % (name, min(rows[name]), max(rows[name])))
print("[after training is done] datetime: 2026-01-02 04:00:00 ")
PY

$L costs $MODEL --roofline H200 -o "$tmp/truth.json" >/dev/null 2>&1

log() { # FILE LAYOUT KIND WORLD GBS OUTSIDE WORDS...
    file=$1 layout=$2
    shift 2
    # replicas share the batch
    $L simulate $MODEL "$layout" --pp 4 --gbs $(($3 * 4 / $2)) --costs "$tmp/truth.json" \
        --json 2>/dev/null | python3 "$tmp/log.py" "$@" >"$file"
}

doctor() { # LAYOUT OPTIONS...; output in $tmp/out, JSON in $tmp/json
    layout=$1
    shift
    $L doctor "$tmp/log" $MODEL --pp 4 "$@" -- \
        --pipeline-model-parallel-layout "$layout" >"$tmp/out" 2>"$tmp/err"
    status=$?
    $L doctor "$tmp/log" $MODEL --pp 4 "$@" --json -- \
        --pipeline-model-parallel-layout "$layout" >"$tmp/json" 2>/dev/null
}

value() { # EXPRESSION of d
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$tmp/json" "$1"
}

# step in ms that the truth has for a layout, and the gain over OWN of the pick
true_ms() { # LAYOUT GBS
    $L simulate $MODEL "$1" --pp 4 --gbs "$2" --costs "$tmp/truth.json" --json \
        2>/dev/null |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["pred_step_ms"])'
}
covers() { # CLAIM OWN GBS OUTSIDE: the interval holds the pick's true gain
    pick=$(value 'd["advice"]["layout"]')
    is "$1" "$(python3 -c 'import json, sys
a = json.load(open(sys.argv[1]))["advice"]
own, pick, outside = map(float, sys.argv[2:])
print(a["gain_lo"] <= (own - pick) / (own + outside) <= a["gain_hi"])' \
        "$tmp/json" "$(true_ms "$2" "$3")" "$(true_ms "$pick" "$3")" "$4")" True
}

# ---- a log with timers ----
log "$tmp/log" "$OWN" all 4 64 30 memory
doctor "$OWN" --gpu H200 --hbm-gb 141
is "timers: exit 0" $status 0
is "timers: the default split is to be replaced" \
    "$(value 'd["advice"]["verdict"]')" paste
is "timers: costs are this run's timers" "$(value 'd["advice"]["costs"]')" timers
is "timers: the stage that holds the others back" \
    "$(value 'd["stages"]["slowest"], d["stages"]["holds_back"]')" "(3, True)"
covers "timers: the interval holds the true gain" "$OWN" 64 30
is "timers: it is the layout that plan finds with the true costs" \
    "$(value 'd["advice"]["layout"]')" \
    "$($L plan $MODEL --pp 4 --gbs 64 --costs "$tmp/truth.json" --print layout \
        2>/dev/null)"
is "timers: it fits" "$(value 'd["advice"]["memory"]["fits"]')" yes
is "timers: MFU is FLOP/s over the card's peak" \
    "$(value 'abs(d["rate"]["mfu"] * 989.4 / d["rate"]["tflops_per_gpu"] - 1) < 1e-9')" \
    True
is "timers: tokens a second" \
    "$(value 'abs(64 * 4096 / 4e-3 / d["step"]["mean_ms"] / d["rate"]["tokens_per_s_per_gpu"] - 1) < 1e-9')" True
holds "timers: the counting rule is named" "two a multiply-add" "$tmp/out"
holds "timers: the peak's source is named" "data sheet" "$tmp/out"
holds "timers: the interval says what it is made of" "what units cost" "$tmp/out"
holds "timers: start-up is not counted, and said" "warm-up-counted" "$tmp/out"
holds "timers: the flag to paste" "--pipeline-model-parallel-layout 'Et" "$tmp/out"
holds "timers: the profile runs as commands" "then moe-layout fit" "$tmp/out"
doctor "$OWN" --gpu H200 --peak-tflops 90
is "a stated peak wins over the card" "$(value 'd["rate"]["peak_tflops"]')" 90
holds "more than the peak is not plausible" implausible-rate "$tmp/out"
doctor "$OWN"
is "without a limit it is not known whether it fits" \
    "$(value 'd["advice"]["memory"]["fits"]')" unknown
doctor "$OWN" --hbm-gb 30
is "nothing fits: exit 1" "$status $(value 'd["advice"]["verdict"]')" "1 none"

# a layout that is as good as any is kept, or nothing is claimed of another
best=$($L plan $MODEL --pp 4 --gbs 64 --costs "$tmp/truth.json" --print layout \
    2>/dev/null)
log "$tmp/log" "$best" all 4 64 30
doctor "$best"
is "the best layout is kept" "$(value 'd["advice"]["verdict"]')" keep
log "$tmp/log" "$OWN" all 4 64 30
doctor 'Et*8|t*4|t*2|t*2mL'
is "timers of another layout carry no advice" \
    "$status $(value 'd["advice"]["verdict"]')" "1 none"

# ranks of replicas, few micro-batches, a slow rank
log "$tmp/log" "$OWN" all 8 6 30 slow
doctor "$OWN"
holds "fewer micro-batches than stages" few-micro-batches "$tmp/out"
holds "ranks of a stage that differ" uneven-ranks "$tmp/out"

# ---- without timers ----
log "$tmp/log" "$OWN" none 4 64 30
doctor "$OWN" --world 4
is "no timers: FLOPs price the units" "$(value 'd["advice"]["costs"]')" flops
covers "no timers: the interval holds the true gain" "$OWN" 64 30
holds "no timers: what gives them" "--timing-log-option all" "$tmp/out"
doctor "$OWN" --world 4 --gpu H200
is "no timers: a card prices them better" "$(value 'd["advice"]["costs"]')" \
    roofline
covers "no timers, a card: the interval holds the true gain" "$OWN" 64 30
doctor "$OWN"
holds "no timers, no world: asked for" "give --world N" "$tmp/out"
is "no timers, no world: exit 1" $status 1
log "$tmp/log" "$OWN" minmax 4 64 30
doctor "$OWN" --world 4
holds "extremes tell no stage" timers-not-by-rank "$tmp/out"

# ---- runs that are no measure ----
for word in drift nan beyond; do
    log "$tmp/log" "$OWN" all 4 64 30 $word
    doctor "$OWN"
    is "$word: no advice, exit 1" "$status $(value 'd["advice"]["verdict"]')" \
        "1 none"
done
log "$tmp/log" "$OWN" all 4 64 30 skip
doctor "$OWN"
is "skipped steps are told" \
    "$(value '[f["weight"] for f in d["findings"] if f["name"] == "skipped"]')" \
    "['wrong']"
log "$tmp/log" "$OWN" all 4 64 30
doctor "$OWN" --gbs 32
holds "another batch than the log's: no advice" "not of the same run" "$tmp/out"
doctor "$OWN" --world 8
holds "other ranks than the timers': no advice" "timers list 4" "$tmp/out"
echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB." \
    >>"$tmp/log"
sed -i '/training is done/d' "$tmp/log"
doctor "$OWN"
holds "out of memory: the limit is asked for" "give --hbm-gb" "$tmp/out"
is "out of memory: exit 1" $status 1

# ---- where the model comes from ----
log "$tmp/log" "$OWN" all 4 64 30
$L doctor "$tmp/log" >"$tmp/out" 2>&1
is "no dump, no script: exit 1" $? 1
holds "no dump, no script: what is missing" "no dump of arguments" "$tmp/out"
holds "no dump, no script: the step is told all the same" \
    "the mean of 12 of 14 logged iterations" "$tmp/out"
holds "no dump, no script: ranks are compared, no stage is blamed" \
    "rank 3 of 0 to 3 works most" "$tmp/out"
lacks "no dump, no script: nothing to paste" "paste" "$tmp/out"
sed '/rank  1:/d' "$tmp/log" >"$tmp/few" && $L doctor "$tmp/few" >"$tmp/out" 2>&1
lacks "a rank that no timer lists may be the slowest: none is compared" \
    "whose stage is not known" "$tmp/out"
$L doctor "$tmp/log" $MODEL --pp 4 >"$tmp/out" 2>&1
holds "a model alone does not tell the run's layout" "layout is not stated" \
    "$tmp/out"
cat >"$tmp/run.sh" <<'SH'
torchrun --nproc-per-node 4 pretrain_gpt.py --num-layers 16 --hidden-size 2048 \
    --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 \
    --micro-batch-size 1 --global-batch-size 64 --vocab-size 128256 \
    --num-experts 64 --moe-ffn-hidden-size 1024 --moe-router-topk 8 \
    --mtp-num-layers 1 --swiglu --normalization RMSNorm --disable-bias-linear \
    --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 4 \
    --group-query-attention --num-query-groups 4 \
    --position-embedding-type rope --untie-embeddings-and-output-weights
SH
$L doctor "$tmp/log" "$tmp/run.sh" --hbm-gb 141 >"$tmp/out" 2>&1
is "a launch script: exit 0" $? 0
holds "a launch script: what its layout takes the place of" \
    "take --decoder-first-pipeline-num-layers out" "$tmp/out"
sed -i 's/-parallel-size 4/-parallel-size 3/' "$tmp/run.sh"
$L doctor "$tmp/log" "$tmp/run.sh" >"$tmp/out" 2>&1
is "a launch that Megatron refuses: exit 1" $? 1
cat >"$tmp/dump" <<'END'
num_layers 16
hidden_size 2048
num_attention_heads 16
group_query_attention True
num_query_groups 4
num_experts 64
moe_ffn_hidden_size 1024
moe_router_topk 8
mtp_num_layers 1
swiglu True
normalization RMSNorm
add_bias_linear False
position_embedding_type rope
padded_vocab_size 128256
seq_length 4096
micro_batch_size 1
global_batch_size 64
world_size 4
pipeline_model_parallel_size 4
tensor_model_parallel_size 1
untie_embeddings_and_output_weights True
pipeline_model_parallel_layout Et*4|t*4|t*4|t*4mL
END
log "$tmp/log" "$OWN" all 4 64 30 dump "$tmp/dump"
$L doctor "$tmp/log" --json >"$tmp/json" 2>/dev/null
is "the log's own dump is enough" \
    "$? $(value 'd["advice"]["own_layout"], d["advice"]["verdict"]')" \
    "0 ('$OWN', 'paste')"
cat "$tmp/log" | $L doctor /dev/stdin >"$tmp/out" 2>/dev/null
is "a log from a pipe, whose dump is gone: exit 1" $? 1
holds "said so, and not that it is no model" "the log came through a pipe" "$tmp/out"
$L doctor "$tmp/log" "$tmp/run.sh" >"$tmp/out" 2>&1
is "a script of another run than the dump's: exit 1" $? 1
sed -i 's/-parallel-size 3/-parallel-size 4/; s/\(-first-pipeline-num-layers\) 4/\1 7/' \
    "$tmp/run.sh"
$L doctor "$tmp/log" "$tmp/run.sh" --json >"$tmp/json" 2>/dev/null
is "a script whose split was edited since: the dump tells what ran" \
    "$? $(value 'd["advice"]["own_layout"]')" "0 $OWN"
sed 's/^\(pipeline_model_parallel_layout\).*/\1 None/' "$tmp/dump" >"$tmp/less"
log "$tmp/log" "$OWN" all 4 64 30 dump "$tmp/less"
$L doctor "$tmp/log" "$tmp/run.sh" --json >"$tmp/json" 2>/dev/null
is "also where it ran with Megatron's default split" \
    "$? $(value 'd["advice"]["own_layout"]')" "0 $OWN"
sed -i 's/--vocab-size [0-9]*//; s/--padded-vocab-size [0-9]*//' "$tmp/run.sh"
$L doctor "$tmp/log" "$tmp/run.sh" --json >"$tmp/json" 2>/dev/null
is "what the script does not state the dump does" \
    "$? $(value 'd["advice"]["own_layout"]')" "0 $OWN"
$L doctor "$tmp/run.sh" "$tmp/log" --json 2>/dev/null | cmp -s - "$tmp/json"
is "the script may stand first" $? 0
grep -v ^pipeline_model "$tmp/dump" >"$tmp/less"
log "$tmp/log" "$OWN" all 4 64 30 dump "$tmp/less"
$L doctor "$tmp/log" >"$tmp/out" 2>/dev/null
holds "a dump without the pipeline size: asked for" "give --pp N" "$tmp/out"

# ---- what is said of less than a whole log ----
log "$tmp/log" "$OWN" all 4 64 30 dump "$tmp/dump"
gzip -c "$tmp/log" >"$tmp/log.gz"
$L doctor "$tmp/log" 2>/dev/null | sed "s|$tmp/log|LOG|" >"$tmp/plain"
$L doctor "$tmp/log.gz" 2>/dev/null | sed "s|$tmp/log.gz|LOG|" >"$tmp/out"
is "a packed log says what it holds" "$(cmp "$tmp/plain" "$tmp/out" 2>&1)" ""
head -c 300 "$tmp/log.gz" >"$tmp/cut.gz"
$L doctor "$tmp/cut.gz" >"$tmp/out" 2>&1
is "a packed log that is cut: exit 2" $? 2
holds "a packed log that is cut: said" "want a whole gzip file" "$tmp/out"
$L doctor tests/fixtures/logs/07-alcf.log >"$tmp/out" 2>/dev/null
holds "ranks that work alike are not ranked" "ranks 0 to 1 work alike" "$tmp/out"
# two chunks a rank: the trainer's memory is not modelled, the layout is near
V=results/reference/local-vpp/runs
$L doctor $V/r01-default-*/log.txt.gz >"$tmp/out" 2>/dev/null
lacks "an error of the memory model that is not known is not said" nan "$tmp/out"
$L doctor $V/r01-layout-049196-*/log.txt.gz >"$tmp/out" 2>/dev/null
holds "a layout kept by FLOPs is not called the fastest" "not measured, so a faster" \
    "$tmp/out"
holds "a gap is that of the costs" "by these costs" "$tmp/out"
# its pick keeps m with L and is slower than the run's own, which does not
$L doctor $V/r01-pick-*/log.txt.gz >"$tmp/out" 2>/dev/null
holds "layouts of the run's own kind that were not looked at are told" \
    "without those that have m on a stage apart from L" "$tmp/out"
$L doctor $V/r01-pick-*/log.txt.gz --json >"$tmp/json" 2>/dev/null
is "a loss has an interval, too: no part of it is below nothing" \
    "$(value 'd["advice"]["gain"] < -0.05, min(min(p["down"], p["up"]) for p in d["advice"]["interval"]) >= 0')" \
    "(True, True)"

# ---- flags under which one log tells no prices ----
log "$tmp/log" "$OWN" all 4 64 30
$L doctor "$tmp/log" $MODEL -- --pipeline-model-parallel-size 4 \
    --pipeline-model-parallel-layout "$OWN" --recompute-granularity full \
    --recompute-method block --recompute-num-layers 2 >"$tmp/out" 2>/dev/null
is "recompute by blocks: exit 1" $? 1
holds "recompute by blocks: said" "recompute by blocks" "$tmp/out"
CHUNKS='Et*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2mL'
log "$tmp/log" "$CHUNKS" all 8 64 30
$L doctor "$tmp/log" $MODEL -- --pipeline-model-parallel-size 4 \
    --pipeline-model-parallel-layout "$CHUNKS" --expert-model-parallel-size 2 \
    --overlap-moe-expert-parallel-comm --bf16 \
    --moe-token-dispatcher-type alltoall >"$tmp/out" 2>/dev/null
is "EP overlap: exit 1" $? 1
holds "EP overlap: said" "EP overlap" "$tmp/out"
doctor "$CHUNKS"
is "virtual stages, two replicas: advice" \
    "$status $(value 'd["advice"]["verdict"]')" "0 paste"
covers "virtual stages: the interval holds the true gain" "$CHUNKS" 32 30

# ---- logs of all shapes: an answer, no advice, a reason ----
bad=
for f in tests/fixtures/logs/*.log ../shared/vectors/logs/*.log; do
    [ -e "$f" ] || continue
    timeout 20 $L doctor "$f" >"$tmp/out" 2>"$tmp/err"
    status=$?
    [ $status -eq 2 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && continue
    [ $status -eq 1 ] && ! grep -q 'parallel-layout .E' "$tmp/out" &&
        grep -q 'none can be advised: ..........' "$tmp/out" && continue
    bad="$bad $f"
done
is "none of the fixtures, which hold no whole model, is given advice" "$bad" ""
[ -d ../shared/vectors/logs ] || echo "# skipped: no ../shared/vectors/logs"
$L doctor tests/fixtures/logs/41-not-a-log.log >"$tmp/out" 2>&1
is "what is no log: exit 2" $? 2
$L doctor >"$tmp/out" 2>&1
is "no log: exit 2" $? 2
$L doctor "$tmp/log" $MODEL --gpu nosuch >"$tmp/out" 2>&1
is "a card that is not known: exit 2" $? 2
is "help exits 0 with an example" "$($L doctor --help | grep -c Example)" 1
