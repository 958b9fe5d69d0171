#!/bin/sh
# kill -9 of moe-bench at random moments of an experiment with declared work,
# where nothing varies: nothing is lost, run twice or left, and the results are
# those of an undisturbed run. KILLS of them (5), moments from SEED.
set -u
LC_ALL=C # awk writes decimal commas elsewhere
export LC_ALL
bench=${BUILD:-build/release}/moe-bench
KILLS=${KILLS:-5}
SEED=${SEED:-$(date +%s)}
manifest=tests/fixtures/kill.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

claim() { # STATUS CLAIM
    if [ "$1" -eq 0 ]; then echo "ok - $2"; else echo "not ok - $2"; bad=1; fi
}

if ! command -v smpirun >/dev/null; then
    echo "ok - kill -9 at random moments # SKIP smpirun is not installed"
    exit 0
fi

left_over() { # processes that work for the folder (in its ops path)
    cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' |
        grep -c "${work##*/}/kille[d]/runs"
}

now_ms() {
    echo $(($(date +%s%N) / 1000000))
}

# All CSV files without times, hashes and cost.
columns() { # DIR
    for f in "$1"/*.csv; do
        echo "== ${f##*/}"
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++)
            if ($i ~ /^(started_utc|log_sha256|cost_usd)$/) skip[i] = 1 }
            { line = ""; for (i = 1; i <= NF; i++)
                if (!skip[i]) line = line "," $i; print line }' "$f"
    done
}

finished() { # run folders with the hash of what each holds
    for d in "$dir"/runs/*/; do
        [ -d "$d" ] && echo "$d $(cat "$d"/* | sha256sum)"
    done | sort
}

begin=$(now_ms)
"$bench" run -q $manifest --out "$work/plain" >"$work/table" 2>"$work/err"
claim $? "the undisturbed run ends with 0"
took=$(($(now_ms) - begin))
n_runs=$(ls "$work/plain/runs" | wc -l)

dir=$work/killed
n_kills=0 n_passes=0 lost=0 left=0 tries=0
while [ $n_kills -lt "$KILLS" ] && [ $tries -lt $((20 * KILLS)) ]; do
    tries=$((tries + 1))
    finished >"$work/before"
    wait_s=$(awk -v seed="$SEED" -v n=$tries -v top=$((took / 3)) 'BEGIN {
        srand(seed); while (n-- > 0) x = rand(); printf "%.3f", x * top / 1000 }')
    "$bench" run -q $manifest --out "$dir" >/dev/null 2>&1 &
    pid=$!
    sleep "$wait_s"
    kill -KILL $pid 2>/dev/null
    { wait $pid; } 2>/dev/null
    if [ $? -eq 137 ]; then n_kills=$((n_kills + 1)); else
        n_passes=$((n_passes + 1))
        rm -rf "$dir" # it was through: begin again
        continue
    fi
    for i in $(seq 100); do
        [ "$(left_over)" -eq 0 ] && break
        sleep 0.05
    done
    left=$((left + $(left_over)))
    finished >"$work/after"
    lost=$((lost + $(comm -23 "$work/before" "$work/after" | wc -l)))
    for d in "$dir"/runs/*/; do
        [ ! -d "$d" ] || [ -s "$d/status.json" ] || lost=$((lost + 1))
    done
done
[ $n_kills -eq "$KILLS" ]
claim $? "$KILLS kills hit a running harness (seed $SEED, $n_passes times it was through before)"
[ $lost -eq 0 ]
claim $? "no finished run is lost or changed by a kill"
[ $left -eq 0 ]
claim $? "no process is left after a kill"

# a kill between writing and renaming is rare: as if one had been
echo half >"$dir/layouts.csv.tmp.1"
"$bench" run -q $manifest --out "$dir" >"$work/table2" 2>"$work/err"
claim $? "the same command continues to the end"
[ "$(ls "$dir/runs" | wc -l)" -eq "$n_runs" ] &&
    [ -z "$(ls "$dir/runs" | grep -- '-a[0-9]*$')" ] &&
    [ -z "$(find "$dir/runs" -name '.tmp-*')" ]
claim $? "no run was made twice"
ls -A "$work/plain" >"$work/x"
ls -A "$dir" >"$work/y"
cmp -s "$work/x" "$work/y"
claim $? "no half-written file is left"
columns "$work/plain" >"$work/x"
columns "$dir" >"$work/y"
[ "$(wc -l <"$work/x")" -gt $((5 * n_runs)) ] && cmp -s "$work/x" "$work/y"
status=$?
[ $status -eq 0 ] || diff "$work/x" "$work/y" | head -n 10 | sed 's/^/# /'
claim $status "all columns but times, hashes and cost equal those of the undisturbed run"
exit $bad
