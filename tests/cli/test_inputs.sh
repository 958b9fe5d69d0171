#!/bin/sh
# moe-layout reads a model in any of its six forms; one clear line for each kind
# of bad input.
L=${BUILD:-build/release}/moe-layout
models=tests/fixtures/models
scripts=tests/fixtures/scripts
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

. tests/cli/common.sh

# CLAIM WORD COMMAND...: exit 2 and one line on stderr that holds WORD
refuses() {
    claim=$1 word=$2
    shift 2
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    code=$?
    if [ $code -eq 2 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
        [ ! -s "$tmp/out" ] && grep -qF -- "$word" "$tmp/err"; then
        echo "ok - $claim"
    else
        echo "not ok - $claim: exit $code, want 2 and '$word' in:"
        cat "$tmp/err"
    fi
}

params() { # total active mtp
    "$L" size "$@" --json | python3 -c '
import json, sys
p = json.load(sys.stdin)["params"]
print(p["total"], p["active"], p["mtp"])'
}

recipe="6858278912 1221134336 420620288"
is "a model file" "$(params experiments/models/7b-a1b.json)" "$recipe"
is "a launch script" "$(params $scripts/launch.sh)" "$recipe"
is "a YAML file with MODEL_ARGS" "$(params $models/recipe.yaml)" "$recipe"
is "a log with Megatron's arguments" "$(params $models/dump.log)" "$recipe"
is "a Hugging Face config.json" "$(params $models/hf-deepseek-v3.json)" \
    "671026419200 37552297472 11610068224"
is "a script on standard input" \
    "$("$L" size /dev/stdin <$scripts/launch.sh | head -n 1 | tr -s ' ')" \
    "parameters 6,858,278,912 6.858 B"
is "flags behind -- win over the file" \
    "$("$L" size $scripts/launch.sh --json -- --mtp-num-layers 2 |
        python3 -c 'import json, sys
print(json.load(sys.stdin)["params"]["mtp"])')" 841240576

# a script is read, not run
printf 'touch "%s/ran"\nX=$(touch "%s/ran")\n`touch "%s/ran"`\n' \
    "$tmp" "$tmp" "$tmp" >"$tmp/run.sh"
cat $scripts/launch.sh >>"$tmp/run.sh"
is "nothing in a script is executed" \
    "$(params "$tmp/run.sh") $(ls "$tmp" | grep -c '^ran$')" "$recipe 0"

"$L" size -- --num-layers 2 --hidden-size 64 --num-attention-heads 4 \
    --vocab-size 100 --ckpt-formt x --lr 1e-3 --ckpt-formt y \
    >/dev/null 2>"$tmp/err"
is "an unknown flag is told of once, with the nearest name" \
    "$(grep -v ' layers of width ' "$tmp/err")" \
    "moe-layout: warning: unknown flag '--ckpt-formt', did you mean '--ckpt-format'?"

refuses "a value that only running could tell" "\$1: never set (--arg, the script's argument 1), give '-- --num-layers N'" \
    "$L" size $scripts/unknown.sh
refuses "a script without a launch" "no command with Megatron's flags" \
    "$L" size tests/run.sh
refuses "a file that is no model" "not a model" "$L" size /dev/null
cp experiments/models/7b-a1b.json "$tmp/m.json"
ln -s m.json "$tmp/link.json"
refuses "-o of the model that is read" "m.json' is read or written" \
    "$L" costs "$tmp/m.json" --analytic -o "$tmp/m.json"
refuses "also by another name" "m.json' is read or written" \
    "$L" costs "$tmp/m.json" --analytic -o "$tmp/link.json"
is "the model is as it was" \
    "$(cmp "$tmp/m.json" experiments/models/7b-a1b.json && echo same)" same
"$L" costs "$tmp/m.json" --analytic -o "$tmp/costs.json" >/dev/null 2>&1
for o in "--trace $tmp/costs.json" "--gantt $tmp/m.json" \
    "--trace $tmp/x --gantt $tmp/x"; do
    refuses "simulate $o" "is read or written by this command" "$L" simulate \
        "$tmp/m.json" 'Et*5|t*6|t*5|mL' --pp 4 --gbs 8 \
        --costs "$tmp/costs.json" $o
done
printf 'layout,step_s\nEt*4|t*4|t*4|t*4mL,0.812\nEt*6|t*5|t*5m|L,0.690\n' \
    >"$tmp/s.csv"
refuses "-o of the step times" "s.csv' is read or written" "$L" fit \
    "$tmp/m.json" --pp 4 --gbs 64 --seq 4096 --steps "$tmp/s.csv" \
    -o "$tmp/s.csv"
refuses "-o of the log of an overlap run" "s.csv' is read or written" "$L" fit \
    "$tmp/m.json" --pp 4 --gbs 64 --overlap-run "Et*8|t*8mL=$tmp/s.csv" \
    -o "$tmp/s.csv"
mkdir "$tmp/d=x"
cp "$tmp/s.csv" "$tmp/d=x/a.log"
for run in "$tmp/d=x/a.log" "Et*8|t*8mL=$tmp/d=x/a.log"; do
    refuses "-o of the log of --run $run" "a.log' is read or written" "$L" fit \
        "$tmp/m.json" --pp 4 --gbs 64 --run "$run" --run "$run" -o "$tmp/d=x/a.log"
done
cp "$tmp/s.csv" "$tmp/alone.log"
refuses "-o of a log that stands alone" "alone.log' is read or written" "$L" fit \
    "$tmp/m.json" --pp 4 --gbs 64 --run "$tmp/alone.log" -o "$tmp/alone.log"
"$L" costs "$tmp/m.json" --analytic -o "$tmp/costs.json" >/dev/null 2>&1
is "an old file of costs is replaced" $? 0
refuses "a folder" "tests" "$L" size tests
refuses "a file that is not there" "absent.json" "$L" size absent.json
refuses "a log without arguments" "want" \
    "$L" size tests/fixtures/logs/01-old-single-line.log
printf '{"model_type": "bert", "num_hidden_layers": 2}' >"$tmp/c.json"
refuses "a model type that is not known" "model_type: got 'bert'" \
    "$L" size "$tmp/c.json"
printf '{"num_layers": 2}' >"$tmp/c.json"
refuses "JSON of another kind" "moe-layout/model/1" "$L" size "$tmp/c.json"
printf 'MODEL_ARGS:\n  --num-layers: [1\n' >"$tmp/c.yaml"
refuses "broken YAML, with line and column" "c.yaml:3:1" "$L" size "$tmp/c.yaml"
refuses "a symbol of no layer" "got 'x' as letter 4" "$L" size \
    experiments/models/7b-a1b.json -- --hybrid-layer-pattern 'M*Ex'
refuses "a vocabulary that is not in the flags" "--padded-vocab-size" \
    "$L" size -- --num-layers 2 --hidden-size 64 --num-attention-heads 4
