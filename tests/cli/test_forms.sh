#!/bin/sh
# moe-layout reads configurations of other frameworks and flags of forks, or
# names what it does not understand.
L=${BUILD:-build/release}/moe-layout
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

. tests/cli/common.sh

has() { # CLAIM FILE WORD
    if grep -qF -- "$3" "$2"; then echo "ok - $1"; else
        echo "not ok - $1: no '$3' in:"
        cat "$2"; fi
}

total() { # FILE [-- FLAGS]
    "$L" size "$@" --json 2>"$tmp/err" | python3 -c '
import json, sys
print(json.load(sys.stdin)["params"]["total"])'
}
total_with() { # FILE FLAGS
    file=$1
    shift
    "$L" size "$file" --json -- "$@" 2>"$tmp/err" | python3 -c '
import json, sys
print(json.load(sys.stdin)["params"]["total"])'
}

flags='--num-layers 4 --hidden-size 64 --num-attention-heads 4
    --padded-vocab-size 128 --position-embedding-type rope'
printf '#!/bin/sh\ntorchrun pretrain_gpt.py %s\n' "$(echo $flags)" >"$tmp/a.sh"
want=$(total "$tmp/a.sh")
is "the script that others are compared with" "$((want > 100000))" 1

echo "torchrun sft.py $(echo $flags | sed 's/\([a-z]\)-\([a-z]\)/\1_\2/g; s/\([a-z]\)-\([a-z]\)/\1_\2/g') --swiglu false" >"$tmp/b.sh"
is "underscores are dashes" "$(total "$tmp/b.sh")" "$want"

cat >"$tmp/ci.yaml" <<'X'
MODEL_ARGS:
  --num-layers: 4
  --hidden-size: 64
  --num-attention-heads: 4
  --padded-vocab-size: ${VOCAB}
  --position-embedding-type: '"rope"'
  --tensor-model-parallel-size: ${WAYS}
X
is "YAML whose variables are given behind --" \
    "$(total_with "$tmp/ci.yaml" --padded-vocab-size 128 \
        --tensor-model-parallel-size 2)" "$want"

"$L" read "$tmp/ci.yaml" --set WAYS=3 --set WAYS=2 --set VOCAB=128 \
    >"$tmp/out" 2>&1
is "and by --set, the last one" "$?" 0
has "and by --set, the last one" "$tmp/out" "tp                              2"
is "to the same model" "$("$L" size "$tmp/ci.yaml" --set WAYS=2 \
    --set VOCAB=128 --json 2>/dev/null | python3 -c '
import json, sys
print(json.load(sys.stdin)["params"]["total"])')" "$want"

cat >"$tmp/nemo.yaml" <<'X'
trainer: {devices: 8, num_nodes: 1}
model:
  num_layers: 4
  hidden_size: 64
  num_attention_heads: 4
  ffn_hidden_size: 256
  padded_vocab_size: 128
  position_embedding_type: rope
  bias: true
X
is "a NeMo file" "$(total "$tmp/nemo.yaml")" "$want"
cat >"$tmp/flat.yaml" <<'X'
num_layers: 4
hidden_size: 64
num_attention_heads: 4
padded_vocab_size: 128
position_embedding_type: rope
X
is "a flat file of Megatron's arguments" "$(total "$tmp/flat.yaml")" "$want"
mkdir "$tmp/train"
sed 's/^/  /; 1i\
model:' "$tmp/flat.yaml" >"$tmp/train/small.yaml"
printf 'system:\n  tensor_model_parallel_size: 2\n' >>"$tmp/train/small.yaml"
printf 'defaults:\n  - _self_\n  - train: small\nexperiment: {}\naction: run\n' \
    >"$tmp/fs.yaml"
is "FlagScale's file and the one that it names" "$(total "$tmp/fs.yaml")" \
    "$want"

"$L" size "$tmp/train" >/dev/null 2>"$tmp/err"
is "a folder is no configuration" $? 2
printf 'services:\n  web:\n    image: x\n' >"$tmp/other.yaml"
"$L" size "$tmp/other.yaml" >/dev/null 2>"$tmp/err"
is "YAML of no known form: exit 2" $? 2
has "its keys and the known forms are named" "$tmp/err" "services"
has "with what can be given instead" "$tmp/err" "launch script or a log"
printf 'modules:\n  t:\n    framework: torchtitan\n' >"$tmp/p.yaml"
"$L" size "$tmp/p.yaml" >/dev/null 2>"$tmp/err"
has "a form is named where it holds nothing of Megatron's" "$tmp/err" "Primus"

cat >"$tmp/twice.yaml" <<'X'
num_layers: 2
hidden_size: 64
num_attention_heads: 4
padded_vocab_size: 128
position_embedding_type: rope
num_layers: 4
X
is "the last of two values counts" "$(total "$tmp/twice.yaml")" "$want"
has "and both are told of" "$tmp/err" "num_layers is there twice, line 1"

# FLAGS|WORD: what is said of a fork's flag
while IFS='|' read -r flag word; do
    sed "s/\$/ $flag/" "$tmp/a.sh" | sed 1d >"$tmp/f.sh"
    "$L" size "$tmp/f.sh" >"$tmp/out" 2>&1
    has "$flag is told of" "$tmp/out" "$word"
done <<'X'
--noop-layers 1,2|give --num-layers
--first-k-dense-replace 1|--moe-layer-freq
--n-shared-experts 1|--moe-shared-expert-intermediate-size
--num-key-value-heads 2|--num-query-groups
--attention-head-type multiquery|--num-query-groups 1
--embed-layernorm|a norm behind the embedding
--enable-mhc-connections|hyper-connections
--external-cuda-graph|CUDA graphs
--fp4-format e2m1|four bits
--lora-rank 8|LoRA
--no-pad-vocab-size|--padded-vocab-size
--batch-size 4|--micro-batch-size
--num-lay 8|--num-layers
X

is "operations of a sequence that is not stated are said to be of one token" \
    "$("$L" size -- $flags 2>"$tmp/err" | tail -n 1 | grep -c '1 token: .* --seq N')" 1
is "stated, they are of it" \
    "$("$L" size --seq 64 -- $flags 2>"$tmp/err" | tail -n 1)" \
    "one micro-batch: 1 x 64 tokens"

cases=../shared/cases/cases
if [ -d $cases ]; then
    for c in layout-03 ends-04; do
        "$L" size $cases/$c/input.yaml >/dev/null 2>"$tmp/err"
        is "case $c is read" "$?" 0
    done
else
    echo "ok - shared cases # SKIP there is no ../shared"
fi
