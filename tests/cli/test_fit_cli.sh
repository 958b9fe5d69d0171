#!/bin/sh
# moe-layout fit on whole log files: two chunks a rank, a run with EP overlap,
# exchange timers. The logs are Megatron's lines with times that simulate says
# known costs have, so that fit must give these costs back.
L=${BUILD:-build/release}/moe-layout
MODEL=experiments/models/7b-a1b.json
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

. tests/cli/common.sh

holds() { # CLAIM WORD FILE
    if grep -qF -- "$2" "$3"; then echo "ok - $1"; else
        echo "not ok - $1: no '$2' in:"
        cat "$3"
    fi
}

# a log of 12 iterations from a simulation's JSON on stdin: per-rank timers (of
# forward-compute alone with KIND overlap) and the step
cat >"$tmp/log.py" <<'PY'
import json, sys
kind, pp, n_mb = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
d = json.load(sys.stdin)
def rank_ms(key, r):
    return n_mb * sum(s[key] for s in d["stages"][r::pp])
timers = {"forward-compute": "fwd_ms"}
if kind != "overlap":
    timers["backward-compute"] = "bwd_ms"
for i in range(1, 13):
    print(" [2026-01-02 03:04:05.678901] iteration %8d/%8d | consumed samples:"
          " %12d | elapsed time per iteration (ms): %.3f | learning rate:"
          " 1.000000E-04 | global batch size: %5d | lm loss: 1.000000E+01 |"
          " loss scale: 1.0 | grad norm: 1.000 | number of skipped iterations:"
          "   0 | number of nan iterations:   0 |"
          % (i, 12, i * n_mb, d["pred_step_ms"], n_mb))
    print("times across ranks (ms):")
    for name, key in timers.items():
        print("  %s:" % name)
        for r in range(pp):
            print("     rank %2d: %.4f" % (r, rank_ms(key, r)))
print("done")
PY

cat >"$tmp/near.py" <<'PY'
# are the unit costs of two costs files within 1%, and what the third says?
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:3])
bad = [k for k in a["units"] for p in ("fwd_s", "bwd_s")
       if abs(b["units"][k][p] - a["units"][k][p])
       > 0.01 * a["units"][k][p] + 1e-6]
print("near" if not bad else bad)
PY

truth="$L costs $MODEL --analytic --pp 4"
$truth --p2p-latency-us 20 --p2p-gbps 400 --between-latency-us 50 \
    --ep-save 0.4,0.2,0.2 -o "$tmp/truth.json" >/dev/null
is "costs keep the links and savings given" \
    "$(python3 -c 'import json, sys; d = json.load(open(sys.argv[1]))
p = d["p2p"]; e = d["ep_overlap"]
print(round(p["latency_s"] * 1e6, 3), p["bytes_per_s"] / 1e9,
      round(p["between"]["latency_s"] * 1e6, 3), round(e["save_both_s"], 7))' \
        "$tmp/truth.json")" "20.0 50.0 50.0 0.0004"

# two chunks a rank
$L profile-layouts $MODEL --pp 4 --vpp 2 >"$tmp/layouts" 2>/dev/null
first=$(sed -n 1p "$tmp/layouts") second=$(sed -n 2p "$tmp/layouts")
simulate() { # LAYOUT OPTIONS...
    layout=$1
    shift
    $L simulate $MODEL "$layout" --pp 4 --gbs 16 --costs "$tmp/truth.json" \
        --json "$@"
}
simulate "$first" | python3 "$tmp/log.py" plain 4 16 >"$tmp/a.log"
simulate "$second" | python3 "$tmp/log.py" plain 4 16 >"$tmp/b.log"
both='Et*2|(t*2|)*6t*2mL'
simulate "$both" --ep-overlap | python3 "$tmp/log.py" overlap 4 16 \
    >"$tmp/o.log"
fit() {
    $L fit $MODEL --pp 4 --gbs 16 --run "$first=$tmp/a.log" \
        --run "$second=$tmp/b.log" --p2p-latency-us 20 --p2p-gbps 400 "$@"
}
fit --overlap-run "$both=$tmp/o.log" -o "$tmp/fit.json" >"$tmp/out" 2>&1
is "fit gives the costs of two chunks a rank back" \
    "$(python3 "$tmp/near.py" "$tmp/truth.json" "$tmp/fit.json")" near
is "and what EP overlap saves, within 2%" \
    "$(python3 -c 'import json, sys; d = json.load(open(sys.argv[1]))
print(abs(d["ep_overlap"]["save_both_s"] / 4e-4 - 1) < 0.02)' \
        "$tmp/fit.json")" True
holds "fit says how one number became three" "half of a pair of two" "$tmp/out"
fit --run "$both=$tmp/o.log" >"$tmp/out" 2>"$tmp/err"
is "a run with EP overlap among the others is left out" $? 0
holds "with a word" "made with EP overlap" "$tmp/err"
$L fit $MODEL --pp 4 --gbs 16 --run "$both=$tmp/o.log" >/dev/null 2>"$tmp/err"
is "and refused when there is no other" $? 2
holds "with the way out" "as --overlap-run" "$tmp/err"
fit --vpp 4 >/dev/null 2>"$tmp/err"
is "layouts with other chunks than --vpp are refused" $? 2
fit --ep-save 1,2 >/dev/null 2>"$tmp/err"
is "savings are three numbers" $? 2

# what simulate takes from the costs
step() { # OPTIONS...
    simulate "$both" "$@" 2>"$tmp/err" | python3 -c \
        'import json, sys; print(json.load(sys.stdin)["pred_step_ms"])'
}
saved=$(step --ep-overlap) given=$(step --ep-overlap --ep-save 0.4,0.2,0.2)
is "simulate takes the savings of the costs" "$saved" "$given"
is "--ep-save wins over them" \
    "$(step --ep-overlap --ep-save 0,0,0 | awk -v s="$saved" \
        '{ print ($1 > s + 1) }')" 1
$L costs $MODEL --analytic --pp 4 -o "$tmp/plain.json" >/dev/null
$L simulate $MODEL "$both" --pp 4 --gbs 16 --ep-overlap \
    --costs "$tmp/plain.json" >/dev/null 2>"$tmp/err"
holds "unknown savings are told" "taken as 0" "$tmp/err"
is "two ranks a node make the step longer" \
    "$(step --gpus-per-node 2 | awk -v s="$(step)" '{ print ($1 > s) }')" 1

# ---- a log whose list of arguments tells its layout ----
make_log() { # FILE [KEY=VALUE...]
    python3 tests/cli/log_forms.py "$@" timers=yes
}
make_log "$tmp/a.log"
make_log "$tmp/b.log" decoder_first_pipeline_num_layers=8 decoder_last_pipeline_num_layers=4
$L fit "$tmp/a.log" --run 'Et*6|t*6|t*6|t*6L='"$tmp/a.log" --run 'Et*8|t*6|t*6|t*4L='"$tmp/b.log" \
    --json >"$tmp/named" 2>/dev/null
is "two logs are fitted by their layouts" $? 0
$L fit "$tmp/a.log" --run "$tmp/a.log" --run "$tmp/b.log" --json 2>/dev/null | cmp -s - "$tmp/named"
is "which they tell themselves" $? 0
$L fit "$tmp/a.log" --run 'Et*7|t*6|t*6|t*5L='"$tmp/a.log" --run "$tmp/b.log" >/dev/null 2>"$tmp/err"
is "a layout that did not run is refused" $? 2
holds "with the one that did" "the run was made with 'Et*6|t*6|t*6|t*6L'" "$tmp/err"
make_log "$tmp/none.log" dump=no
$L fit "$tmp/a.log" --run "$tmp/a.log" --run "$tmp/none.log" >/dev/null 2>"$tmp/err"
is "a log that does not tell is refused" $? 2
holds "with what to write" "want 'LAYOUT=$tmp/none.log'" "$tmp/err"
$L fit "$tmp/a.log" --run "$tmp/a.log" --run "$tmp/b.log" --overlap-run "$tmp/none.log" \
    >/dev/null 2>"$tmp/err"
holds "by the option that named it" "--overlap-run: $tmp/none.log does not tell" "$tmp/err"

cat "$tmp/a.log" | $L fit "$tmp/a.log" --run /dev/stdin --run "$tmp/b.log" -o "$tmp/piped.json" \
    >/dev/null 2>&1
is "a log from a pipe is fitted, and has no hash" \
    "$(sed -n 's/.*"log_sha256":[^"]*"\(.*\)".*/\1/p' "$tmp/piped.json" | tr '\n' ' ')" \
    " $(sha256sum <"$tmp/b.log" | cut -c1-64) "

# ---- what a unit costs is of one micro-batch size ----
printf 'layout,step_s,mbs,microbatches\n%s,2.3,1,64\n%s,1.73,1,64\n%s,2.35,2,32\n' \
    'Et*4|t*4|t*4|t*4mL' 'Et*5|t*5|t*4|t*2mL' 'Et*4|t*4|t*4|t*4mL' >"$tmp/mbs.csv"
$L fit $MODEL --pp 4 --gbs 64 --steps "$tmp/mbs.csv" >/dev/null 2>"$tmp/err"
is "steps of two micro-batch sizes are not one fit" $? 2
holds "with what to do" "row 4: mbs 2, and the command says 1" "$tmp/err"
