#!/bin/sh
# Hybrid models as a user gives them: counts by symbol from flags, a script and
# a Hugging Face config; memory of stages; bad patterns are one clear line.
L=${BUILD:-build/release}/moe-layout
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

. tests/cli/common.sh

# CLAIM EXIT_CODE WORD COMMAND...
exits() {
    claim=$1 want=$2 word=$3
    shift 3
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    code=$?
    if [ $code -eq "$want" ] && cat "$tmp/out" "$tmp/err" | grep -qF -- "$word"
    then echo "ok - $claim"; else
        echo "not ok - $claim: exit $code (want $want), no '$word' in:"
        cat "$tmp/out" "$tmp/err"
    fi
}

json() { # EXPRESSION over the document d on stdin
    python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"
}

# Nemotron-3 Nano: widths of its config; 31,577,937,344 parameters are the
# safetensors metadata's, without the routers' correction biases
PATTERN='MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME'
cat >"$tmp/flags" <<EOF
--hidden-size 2688 --moe-ffn-hidden-size 1856 --ffn-hidden-size 1856
--kv-channels 128 --num-attention-heads 32 --group-query-attention
--num-query-groups 2 --mamba-num-heads 64 --num-experts 128
--moe-router-topk 6 --moe-shared-expert-intermediate-size 3712
--squared-relu --disable-bias-linear --normalization RMSNorm
--position-embedding-type none --untie-embeddings-and-output-weights
--padded-vocab-size 131072 --seq-length 8192 --bf16 --hidden-dropout 0
--attention-dropout 0 --use-distributed-optimizer --global-batch-size 16
--world-size 16 --expert-model-parallel-size 8
EOF
flags=$(cat "$tmp/flags")

"$L" size --json -- $flags --hybrid-layer-pattern "$PATTERN" \
    >"$tmp/size.json" 2>/dev/null
is "Nemotron-3 Nano has 31,577,937,344 parameters, 3,580,073,408 active" \
    "$(json 'd["params"]["total"], d["params"]["active"]' <"$tmp/size.json")" \
    "31577937344 3580073408"
is "its symbols are told apart" \
    "$(json '[(u["symbol"], u["count"]) for u in d["units"] if "symbol" in u]' \
        <"$tmp/size.json")" "[('M', 23), ('*', 6), ('E', 23)]"

cat >"$tmp/run.sh" <<EOF
#!/bin/bash
PATTERN='$PATTERN/*E'
torchrun --nproc_per_node 8 --nnodes 2 pretrain_hybrid.py $(tr '\n' ' ' \
    <"$tmp/flags") --hybrid-layer-pattern "\$PATTERN" \\
    --spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec
EOF
is "a script's pattern brings its MTP depth" \
    "$("$L" size "$tmp/run.sh" --json 2>/dev/null |
        json 'd["params"]["total"], d["params"]["mtp"]')" \
    "31577937344 1335325824"

# two stages, cut behind the fourth attention and before it: the same sum
row() { # LAYOUT
    "$L" memory "$1" --pp 2 --json -- $flags --hybrid-layer-pattern "$PATTERN" \
        2>/dev/null
}
row 'MEMEM*EMEMEM*EMEMEM*EMEMEM*|EMEMEM*EMEMEMEM*EMEMEMEME' >"$tmp/a.json"
row 'MEMEM*EMEMEM*EMEMEM*EMEMEM*E|MEMEM*EMEMEMEM*EMEMEMEME' >"$tmp/b.json"
is "a symbol moves its parameters from one stage to the other" \
    "$(python3 - "$tmp/a.json" "$tmp/b.json" <<'EOF'
import json, sys
a, b = (json.load(open(f))["stages"] for f in sys.argv[1:])
d = [y["params"] - x["params"] for x, y in zip(a, b)]
print(d[0] > 0, d[0] + d[1])
EOF
)" "True 0"
is "what no run was held against is said" \
    "$(json '[t[:47] for t in d["assumed"] if "unchecked" in t]' \
        <"$tmp/a.json")" "['unchecked: hybrid models over pipeline stages; ']"

exits "a letter that is no symbol" 2 "got 'X' as letter 3" \
    "$L" size -- $flags --hybrid-layer-pattern 'M*X'
exits "experts without their number" 2 "--num-experts: missing" \
    "$L" size -- --hidden-size 64 --num-attention-heads 4 --vocab-size 128 \
    --hybrid-layer-pattern '*E'
exits "--num-layers beside a pattern is warned of" 0 \
    "--num-layers 50: the pattern has 52 layers" \
    "$L" read -- $flags --num-layers 50 --hybrid-layer-pattern "$PATTERN"

# GPT models as hybrid ones: the same parameters, by symbol. Qwen3-Next: sizes
# of its config, 79,674,391,296 of Qwen3-Coder-Next's safetensors metadata
cat >"$tmp/next.json" <<'EOF'
{"model_type": "qwen3_next", "hidden_size": 2048, "intermediate_size": 5120,
 "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
 "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2,
 "head_dim": 256, "num_experts": 512, "num_experts_per_tok": 10,
 "full_attention_interval": 4, "linear_conv_kernel_dim": 4,
 "linear_key_head_dim": 128, "linear_num_key_heads": 16,
 "linear_num_value_heads": 32, "linear_value_head_dim": 128,
 "decoder_sparse_step": 1, "mlp_only_layers": [], "tie_word_embeddings": false,
 "vocab_size": 151936}
EOF
symbols() { # MODEL
    "$L" size "$1" --hybrid --json 2>/dev/null |
        json 'd["params"]["total"], d["params"]["active"],
              [(u["symbol"], u["count"]) for u in d["units"] if "symbol" in u]'
}
is "Qwen3-Next as a hybrid model" "$(symbols "$tmp/next.json")" \
    "79674391296 3874929408 [('G', 36), ('*', 12), ('E', 48)]"
is "DeepSeek-V3 as a hybrid model" \
    "$(symbols tests/fixtures/models/hf-deepseek-v3.json)" \
    "671026419200 37552297472 [('+', 61), ('-', 3), ('E', 58)]"
