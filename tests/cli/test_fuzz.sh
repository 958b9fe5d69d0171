#!/bin/sh
# A few seconds of each fuzz target, from its seeds; `make fuzz` runs longer.
seconds=${FUZZ_TEST_S:-3}
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n);
int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n)
{ return (void)d, (void)n, 0; }' >"$probe/p.c"
for source in tests/fuzz/fuzz_*.c; do
    name=${source##*/fuzz_} name=${name%.c}
    if ! clang -fsanitize=fuzzer,address,undefined -o "$probe/p" "$probe/p.c" \
        2>/dev/null; then
        echo "ok - fuzz $name # SKIP no clang with libFuzzer"
        continue
    fi
    if ! make -s "build/fuzz/fuzz_$name" >"$probe/log" 2>&1; then
        echo "not ok - fuzz $name does not build"
        sed 's/^/# /' "$probe/log" | head -n 20
        continue
    fi
    mkdir -p "build/fuzz/corpus/$name"
    if "build/fuzz/fuzz_$name" -max_total_time="$seconds" -verbosity=0 \
        -rss_limit_mb=4096 -artifact_prefix=build/fuzz/ \
        "build/fuzz/corpus/$name" "tests/fuzz/seeds/$name" \
        >"$probe/log" 2>&1; then
        echo "ok - $seconds s of fuzz_$name without a finding"
    else
        echo "not ok - fuzz_$name found something"
        grep -a -m 20 'ERROR\|SUMMARY\|Test unit written' "$probe/log" |
            sed 's/^/# /'
    fi
done
