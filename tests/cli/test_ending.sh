#!/bin/sh
# Ctrl-C and kill leave nothing behind, at whatever moment: no folder below
# TMPDIR, no half dataset beside its place.
set -u
bench=${BUILD:-build/release}/moe-bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp" "$work/to"
export TMPDIR="$work/tmp"

. tests/cli/common.sh

# SIGNAL CLAIM COMMAND...: ended at moments over its time; what is left of it
ended() {
    signal=$1 claim=$2 left=0 hit=0
    shift 2
    begin=$(date +%s%N)
    "$@" >/dev/null 2>&1
    took=$(($(date +%s%N) - begin))
    rm -rf "$work"/to/*
    for i in $(seq 16); do
        "$@" >/dev/null 2>&1 &
        pid=$!
        sleep "$(awk "BEGIN { printf \"%.4f\", $took * $i / 16e9 }")"
        kill "-$signal" $pid 2>/dev/null
        wait $pid 2>/dev/null
        [ $? -lt 128 ] || hit=$((hit + 1))
        left=$((left + $(ls -A "$work/tmp" | wc -l) +
            $(ls -A "$work/to" | grep -c '^\.')))
        rm -rf "$work"/tmp/* "$work"/to/* "$work"/to/.[!.]*
    done
    [ $left -eq 0 ] && echo "ok - $claim ($hit of 16 were ended)" ||
        echo "not ok - $claim: $left left"
}

# a background job of sh ignores INT
ended TERM "validate" "$bench" validate results/reference/local \
    results/reference/local-vpp --baseline results/baseline.csv
ended HUP "validate of a contribution" "$bench" validate \
    results/contributed/cpu-4x-2026-12-01-example
ended TERM "page" "$bench" page results/reference/local --into "$work/page.html"
"$bench" run -q tests/fixtures/fake.json --out "$work/r" >/dev/null 2>&1
ended TERM "contribute" "$bench" contribute "$work/r" --gpu cpu --example \
    --consent --to "$work/to"
ended HUP "publish" "$bench" publish tests/fixtures/fake.json --out "$work/r" \
    --to "$work/to/set"
"$bench" page results/reference/local --into "$work/page.html" >/dev/null 2>&1
claim $? "and the next one does its work"
