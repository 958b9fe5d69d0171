#!/bin/sh
# Every command says what it read: one line behind its answer, and members
# "warnings" and "assumed" of its JSON.
L=${BUILD:-build/release}/moe-layout
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

claim() { # CLAIM: of the status before it
    if [ $? -eq 0 ]; then echo "ok - $1"; else echo "not ok - $1"; fi
}

flags='--num-layers 8 --hidden-size 64 --num-attention-heads 4 --num-experts 4
    --moe-router-topk 2 --seq-length 64 --padded-vocab-size 512
    --micro-batch-size 1 --global-batch-size 8 --my-odd-word 3'
split='Et|t*2|t*2|t*3L'
"$L" costs --analytic --pp 4 -o "$tmp/costs.json" -- $flags \
    >/dev/null 2>"$tmp/err"
claim "costs of flags"

has_both() { # FILE [KEY]: of the JSON, or of each of its lines
    python3 - "$1" <<'X'
import json, sys
text = open(sys.argv[1]).read()
try:
    docs = [json.loads(text)]
except json.JSONDecodeError:
    docs = [json.loads(line) for line in text.splitlines()]
for doc in docs:
    assert any('my-odd-word' in line for line in doc['warnings']), doc
    assert any('moe-ffn-hidden-size' in line for line in doc['assumed']), doc
X
}

asks() { # COMMAND [WORD...]
    "$L" "$@" --pp 4 --json -- $flags >"$tmp/out" 2>"$tmp/err"
    has_both "$tmp/out"
    claim "$1: its JSON carries warnings and assumed"
    tail -n 1 "$tmp/err" |
        grep -q 'flags: 8 layers .* ranks.*micro-batches.* assumption'
    claim "$1: one line names model, ranks, micro-batches, assumptions"
}

asks size
asks check
asks check "$split"
asks baselines
asks profile-layouts
asks costs --analytic
asks memory "$split"
asks plan --costs "$tmp/costs.json"
asks simulate "$split" --costs "$tmp/costs.json"
has_both "$tmp/costs.json"
claim "a costs file carries them, and is read as one"

echo '{"case":"a","platform":"h100","world_size":4,"padded_vocab_size":512,
"flags":{"--num-layers":8,"--hidden-size":64,"--num-attention-heads":4,
"--num-experts":4,"--seq-length":64,"--bf16":true,"--my-odd-word":3}}' |
    tr -d '\n' >"$tmp/case.jsonl"
"$L" memory --batch "$tmp/case.jsonl" >"$tmp/out" 2>"$tmp/err"
claim "memory --batch"
has_both "$tmp/out"
claim "memory --batch: its lines carry warnings and assumed"

"$L" check --pp 4 --world 8 -- $flags >/dev/null 2>"$tmp/err"
grep -q 'width 64, 8 ranks, PP 4, 4 micro-batches' "$tmp/err"
claim "check: its line has the ranks that were given"

printf 'case $1 in --small) N=4;; *) N=8;; esac
torchrun pretrain_gpt.py --num-layers $N --hidden-size 64 \
--num-attention-heads 4 --padded-vocab-size 512\n' >"$tmp/run.sh"
"$L" read "$tmp/run.sh" --arg --small >/dev/null 2>"$tmp/err"
[ $? -eq 2 ] && grep -q -- 'write --arg=--small' "$tmp/err"
claim "an argument with dashes: the message says how to write it"
"$L" read "$tmp/run.sh" --arg=--small | grep -q 'num_layers  *4 '
claim "and so it is taken"

printf 'torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 64 \
--num-attention-heads 4 --global-batch-size $N\n' >"$tmp/batch.sh"
"$L" read "$tmp/batch.sh" 2>/dev/null | grep '^microbatches .*--gbs' >/dev/null
claim "a batch that is not known is asked for, and not the ranks alone"

model=experiments/models/7b-a1b.json layout='Et*2|(t*2|)*6t*2mL'
"$L" check $model --pp 4 --vpp 4 -- --pipeline-model-parallel-layout "$layout" >/dev/null 2>"$tmp/err"
grep -q "'Et.*mL' is not used: --pp and --vpp ask for another" "$tmp/err"
claim "a layout that is typed beside options for another number of stages: said not to count"
"$L" check $model --pp 4 --vpp 2 -- --pipeline-model-parallel-layout "$layout" 2>"$tmp/err" |
    grep -q 'valid: Et.2|(t' && ! grep -q 'not used' "$tmp/err"
claim "and nothing where it has that number"
