#!/bin/sh
# Small limits and full or closed outputs end the programs with one line and
# exit 3, not by a signal and not with 0.
set -u
build=${BUILD:-build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
manifest=tests/fixtures/fake.json

. tests/cli/common.sh

for p in moe-layout moe-bench moe-train; do
    [ -x "$build/$p" ] || continue
    sh -c "ulimit -s 64 && exec $build/$p --help" >"$work/out" 2>"$work/err"
    [ $? -eq 3 ] && one_line "$work/err" 'stack limit: got 64 KiB'
    claim $? "$p with a stack of 64 KiB says so and exits with 3"
done
sh -c "ulimit -s 1024 && exec $build/moe-bench run -q $manifest --out $work/r" \
    >"$work/out" 2>"$work/err"
claim $? "a stack of 1 MiB is enough"
sh -c "ulimit -f 4 && exec $build/moe-bench run -q $manifest --out $work/f" \
    >"$work/out" 2>"$work/err"
[ $? -eq 3 ] && one_line "$work/err" 'File too large'
claim $? "a limit on file sizes is one line and exit 3"

full() { # CLAIM COMMAND...
    what=$1
    shift
    "$@" >/dev/full 2>"$work/err"
    [ $? -eq 3 ] && one_line "$work/err" 'standard output: No space left'
    claim $? "$what to a full standard output exits with 3"
    "$@" >&- 2>"$work/err"
    [ $? -eq 3 ] && one_line "$work/err" 'standard output'
    claim $? "$what to a closed standard output exits with 3"
}
bench=$build/moe-bench
full "run" "$bench" run -q $manifest --out "$work/r"
full "a run that starts something" "$bench" run -q $manifest --out "$work/s"
full "run --dry-run" "$bench" run $manifest --dry-run --out "$work/r"
full "status" "$bench" status $manifest --out "$work/r"
full "publish" "$bench" publish $manifest --out "$work/r" --to "$work/d"
full "machine" "$bench" machine
full "moe-bench --help" "$bench" --help
full "moe-bench --version" "$bench" --version
full "moe-bench run --help" "$bench" run --help
full "moe-layout --help" "$build/moe-layout" --help
full "moe-layout --version" "$build/moe-layout" --version
! grep -rq "role  *layout" "$work/r"
claim $? "what is printed lands in no file of the results"
"$bench" status $manifest --out "$work/r" 2>&- <&- >"$work/out" &&
    grep -q '8 of 8' "$work/out"
claim $? "closed input and messages do no harm"
