#!/bin/sh
# An experiment on a hybrid model from end to end, on the exact clock: half-layer
# costs from profile runs, a pick that cuts inside layers, steps and memory as
# predicted, a dataset that validate predicts again.
set -u
bench=${BUILD:-build/release}/moe-bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

# five layers on two ranks: whole ones cannot be shared out evenly
cat >"$work/tiny.json" <<'END'
{"format": "moe-bench/experiment/1", "name": "tiny",
 "model": {"hybrid_layer_pattern": "*E*E*E*E*E/*E", "hidden_size": 64,
   "num_attention_heads": 4, "num_experts": 4, "moe_ffn_hidden_size": 64,
   "moe_router_topk": 2, "swiglu": true, "normalization": "RMSNorm",
   "disable_bias_linear": true, "position_embedding_type": "rope",
   "vocab_size": 256},
 "parallel": {"pp": 2},
 "batch": {"micro_batch": 1, "global_batch": 8, "seq_tokens": 32},
 "launcher": {"kind": "smpirun", "clock": "flops"},
 "trainer": {"kind": "moe-train"},
 "iterations": {"warmup": 1, "count": 1},
 "profile": {"runs": 3, "timers": 2},
 "measure": [{"role": "pick"}, {"role": "whole-layers"}, {"role": "default"}],
 "limits": {"run_s": 60},
 "accept": {"max_step_error_pct": 0.1, "max_replay_error_pct": 0.1,
   "max_memory_error_pct": 0, "pick_within_best_pct": 0}}
END
"$bench" run -q "$work/tiny.json" --out "$work/out" >"$work/table" 2>"$work/err"
claim $? "steps, replays and memory of patterns are as predicted"
[ "$(grep -c '^accept: .*: ok$' "$work/table")" -eq 4 ] || cat "$work/table"

role() { # ROLE COLUMN of layouts.csv
    awk -F, -v role="$1" -v col="$2" 'NR == 1 {
        for (i = 1; i <= NF; i++) if ($i == col) at = i; next }
        $3 == role { print $at }' "$work/out/layouts.csv"
}

role pick layout | grep -q '|E'
claim $? "the pick's last stage begins with experts: $(role pick layout)"
role whole-layers layout | grep -q '|\*'
claim $? "whole-layers cuts before attention: $(role whole-layers layout)"
[ "$(role default layout)" = '*E*E*|E*E*E/*E' ]
claim $? "the default is Megatron's even split of symbols"
awk "BEGIN { exit !($(role pick meas_step_ms) < $(role whole-layers meas_step_ms)) }"
claim $? "the pick is faster than any cut between layers"
grep -q ',\*,attention,' "$work/out/units.csv" &&
    grep -q ',E,experts,' "$work/out/units.csv"
claim $? "units.csv has attention and experts apart"
grep -q "hybrid-layer-pattern" "$work"/out/runs/*pick*/argv.json &&
    ! grep -q "parallel-layout" "$work"/out/runs/*pick*/argv.json
claim $? "runs are started with the pattern in place of a layout"

"$bench" publish "$work/tiny.json" --out "$work/out" --to "$work/set" \
    >/dev/null 2>"$work/err" &&
    "$bench" validate "$work/set" >"$work/again" 2>>"$work/err"
claim $? "the dataset is published and predicted again"
[ "$(grep -c '^tiny ' "$work/again")" -eq 3 ]
claim $? "validate names its three layouts"

# asked before anything runs
refused() { # WANTED_TEXT SED_EXPRESSION
    sed "$2" "$work/tiny.json" >"$work/bad.json"
    "$bench" run "$work/bad.json" --out "$work/bad" >"$work/table" 2>"$work/err"
    [ $? -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
        grep -q "$1" "$work/err" && [ ! -e "$work/bad/runs" ]
    claim $? "refuses: $1"
}

refused "MTP on a stage of its own" 's/"whole-layers"/"standalone-mtp"/'
refused "measure: got MTP on a stage" \
    's/"role": "pick"/"role": "pick", "standalone_mtp": true/'
refused "ep_overlap: got true" 's/"pp": 2/"pp": 2, "vpp": 2, "ep_overlap": true/'
refused "trainer.core 0.16 has no --hybrid-layer-pattern" \
    's/"kind": "moe-train"/"kind": "megatron", "core": "0.16"/
     s/"smpirun", "clock": "flops"/"torchrun"/'
