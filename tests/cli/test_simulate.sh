#!/bin/sh
# moe-layout simulate: every field of the shared vectors through --batch, and
# one clear line for a line that cannot be read.
L=${BUILD:-build/release}/moe-layout
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

. tests/cli/common.sh

# how many numbers of a file of vectors were compared, and the wrong ones; the
# vectors' mode without deallocation is not one of Megatron's defaults
cat >"$tmp/compare.py" <<'EOF'
import json, sys

GIVEN = {"kind", "P", "V", "M", "N", "fwd", "bwd", "act", "lat", "bytes", "bw",
         "layers", "head_f", "tail_f", "head_b", "tail_b", "save", "reason",
         "overlap_nodealloc"}
TOLERANCE = 1e-9  # relative, as stated beside the vectors

def flat(x, path=""):
    if isinstance(x, dict):
        for k, v in x.items():
            yield from flat(v, path + "." + k)
    elif isinstance(x, list):
        for i, v in enumerate(x):
            yield from flat(v, "%s[%d]" % (path, i))
    else:
        yield path, x

def same(got, want):
    if isinstance(want, (bool, type(None))) or isinstance(got, str):
        return got is want
    return got is not None and abs(got - want) <= TOLERANCE * max(1, abs(want))

n, wrong, nulls = 0, [], 0
for line, answer in zip(open(sys.argv[1]), open(sys.argv[2]), strict=True):
    want, got = json.loads(line), json.loads(answer)
    flat_got = dict(flat(got))
    for path, v in flat({k: v for k, v in want.items() if k not in GIVEN}):
        n += 1
        nulls += v is None
        if not same(flat_got.get(path, "absent"), v):
            wrong.append((want["id"], path))
    if not want["feasible"] and (not got["reason"] or "ideal" in got):
        wrong.append((want["id"], "reason"))
print(n, nulls, wrong[:3])
EOF
for vectors in schedule:3 schedule_ep_overlap:12; do
    file=../shared/vectors/${vectors%:*}_vectors.jsonl
    claim="every field of $(basename "$file")"
    if [ ! -f "$file" ]; then
        echo "ok - $claim # SKIP $file is not there"
        continue
    fi
    "$L" simulate --batch "$file" >"$tmp/out"
    is "$claim" "$(python3 "$tmp/compare.py" "$file" "$tmp/out" |
        cut -d ' ' -f 2-)" "${vectors#*:} []"
done

batch() { # one line as a file of cases
    echo "$1" >"$tmp/in"
    "$L" simulate --batch "$tmp/in" 2>&1 | sed "s:.*/in:in:"
}
is "a list of another length" \
    "$(batch '{"P": 2, "M": 4, "fwd": [1, 2, 3], "bwd": [1, 2]}')" \
    "in:1: fwd: got a list of 3, want one of 2"
is "a number of micro-batches is wanted" \
    "$(batch '{"P": 2, "fwd": [1, 2], "bwd": [1, 2]}')" "in:1: M: missing"
is "a negative time" \
    "$(batch '{"P": 2, "M": 3, "fwd": [1, -2], "bwd": [1, 2]}')" \
    "in:1: fwd[1]: got -2, want 0 to 1e+15"
is "no object" "$(batch '[1]')" "in:1: want a JSON object"
printf '{"P": 1, "M": 1, "fwd": [1], "bwd": [1]}\n\0\n' >"$tmp/in"
is "lines behind a zero byte are not dropped" \
    "$("$L" simulate --batch "$tmp/in" 2>&1 | sed "s:.*/in:in:")" \
    "in: holds a zero byte at offset 41, want text in UTF-8"

# transfers: the option, else the flags, else Megatron's own
MODEL=experiments/models/7b-a1b.json
"$L" costs $MODEL --analytic -o "$tmp/c.json" >/dev/null
mode() { # MORE ARGUMENTS
    "$L" simulate $MODEL 'Et*2|(t*2|)*6t*2mL' --pp 4 --gbs 8 --json \
        --costs "$tmp/c.json" "$@" 2>&1 | sed -n 's/.*"p2p":[^"]*"\(.*\)".*/\1/p'
}
is "overlap is Megatron's own with several chunks a rank" "$(mode)" overlap
is "--no-overlap-p2p-communication is blocking" \
    "$(mode -- --no-overlap-p2p-communication)" blocking
is "the warm-up flush" \
    "$(mode -- --overlap-p2p-communication-warmup-flush)" overlap-flush
is "--p2p comes first" \
    "$(mode --p2p async -- --no-overlap-p2p-communication)" async
is "the flush needs overlap, as in Megatron" "$("$L" size $MODEL -- \
    --no-overlap-p2p-communication --overlap-p2p-communication-warmup-flush \
    2>&1 | grep -c 'needs overlapped communication')" 1
