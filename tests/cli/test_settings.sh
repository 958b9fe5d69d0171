#!/bin/sh
# The version of core, the GPU and lack of memory, as each command tells them.
set -u
layout=${BUILD:-build/release}/moe-layout
bench=${BUILD:-build/release}/moe-bench
model=experiments/models/7b-a1b.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

"$layout" costs $model --analytic --seq 4096 -o "$work/costs.json" >/dev/null
plan() { # OPTIONS...
    "$layout" plan $model --pp 4 --gbs 64 --seq 4096 --top 2000 --json \
        --costs "$work/costs.json" "$@" >"$work/out" 2>"$work/err"
}

# ---- the version of core ----
for core in 0.12 0.13; do
    plan --core $core
    test $? -eq 1 && grep -q "core $core refuses all 680 layouts" "$work/err"
    claim $? "plan: core $core takes no layout with m, exit 1"
done
plan --core 0.15 --standalone-mtp && ! grep -q standalone-mtp "$work/out" &&
    grep -q '"refused_by_core":[^0-9]*136' "$work/out"
claim $? "plan: core 0.15 takes m with L only"
plan --core 0.16 --standalone-mtp && grep -q standalone-mtp "$work/out" &&
    ! grep -q refused_by_core "$work/out"
claim $? "plan: core 0.16 takes both"

manifest() { # CORE GPU ROLE
    cat >"$work/m.json" <<END
{"format": "moe-bench/experiment/1", "name": "settings",
 "model": "$PWD/$model", "parallel": {"pp": 4},
 "batch": {"micro_batch": 1, "global_batch": 8, "seq_tokens": 4096},
 "hardware": {"gpu": "$2", "count": 4, "hbm_gb": 80},
 "launcher": {"kind": "torchrun"},
 "trainer": {"kind": "megatron", "core": "$1"},
 "iterations": {"warmup": 1, "count": 5},
 "measure": [{"role": "default"}, $3]}
END
    "$bench" run "$work/m.json" --dry-run >"$work/out" 2>"$work/err"
}
alone='{"role": "standalone-mtp"}'
for core in 0.12 0.13 0.15; do
    manifest $core H100 "$alone"
    test $? -eq 2 && grep -q "trainer.core $core takes no m" "$work/err"
    claim $? "moe-bench: core $core with m alone is refused before any run"
done
manifest 0.16 H100 "$alone"
claim $? "moe-bench: core 0.16 takes it"
manifest 0.13 H100 '{"role": "count-based"}'
test $? -eq 2 && grep -q "core 0.13 refuses layout" "$work/err"
claim $? "moe-bench: a profile run that core 0.13 refuses is told of"
manifest 0.15 H100 '{"role": "layout", "layout": "Et*5|t*6|t*5m|L"}'
test $? -eq 2 && grep -q "core 0.15 refuses layout" "$work/err"
claim $? "moe-bench: so is a layout of the manifest's"
manifest 0.9 H100 '{"role": "pick"}'
test $? -eq 2 && grep -q "trainer.core: .*want 0.12 to 0.20" "$work/err"
claim $? "moe-bench: an unknown version is bad input"

# ---- recompute ----
plan --recompute none
claim $? "plan: --recompute none"
for what in full selective core_attn moe,mlp; do
    plan --recompute $what # other costs, so that it ends there
    test $? -eq 2 && grep -q "costs were made for.*recompute" "$work/err"
    claim $? "plan: --recompute $what"
done
for what in '' , Full core_attn,moes core_attn, none,moe; do
    plan --recompute "$what"
    test $? -eq 2 && grep -q -- "--recompute: got '$what', want" "$work/err"
    claim $? "plan: --recompute '$what' is bad input"
done

# ---- the GPU ----
bytes() { # of all stages of the first layout
    tr -d ' \t\n' <"$work/out" | grep -o '"mem_bytes":[0-9]*' | sed -n 1,4p
}
plan --platform h100 && bytes >"$work/h100"
plan --platform a100 && bytes >"$work/a100"
[ -s "$work/h100" ] && ! cmp -s "$work/h100" "$work/a100"
claim $? "plan: an A100 has other workspaces than an H100"
plan --platform v100
test $? -eq 2 && grep -q 'want h100, gb200, a100' "$work/err"
claim $? "plan: an unknown platform is bad input"
"$layout" fit $model --pp 4 --gbs 8 --run x=y --platform v100 \
    >/dev/null 2>"$work/err"
test $? -eq 2 && grep -q 'want h100, gb200, a100' "$work/err"
claim $? "fit takes the platform, too"
manifest 0.16 XPU9 '{"role": "pick"}' && grep -q "'XPU9'.*h100" "$work/err"
claim $? "moe-bench: a GPU that is not known is told of, and the default taken"
manifest 0.16 A100 '{"role": "pick"}' && [ ! -s "$work/err" ]
claim $? "moe-bench: one that is known is not"

# ---- memory that runs out ----
limited() { # KILOBYTES
    (ulimit -v "$1" && OPENBLAS_NUM_THREADS=1 exec "$layout" check $model \
        'Et*5|t*6|t*5|mL' --pp 4) >"$work/out" 2>"$work/err"
}
low=1000 high=4000000
if limited $high; then
    while [ $((high - low)) -gt 100 ]; do
        mid=$(((high + low) / 2))
        if limited $mid; then high=$mid; else low=$mid; fi
    done
    told=1 # below the least that is enough: exit 3, or the loader's own failure
    for less in 100 200 300 400 600 800 1000 1200 1400 1600; do
        limited $((high - less))
        status=$?
        [ $status -ne 3 ] || ! grep -q 'out of memory' "$work/err" || told=0
        [ $status -eq 3 ] || [ $status -ge 126 ] || { told=1; break; }
    done
    claim $told "check: out of memory is exit 3, no verdict on the layout"
else
    echo "ok - # SKIP check does not run under a limit of memory here"
fi
