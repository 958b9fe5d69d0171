#!/bin/sh
# make static, which the jobs in containers carry: it links, and the programs
# run without a shared library. make install puts the programs where a package
# wants them.
# alone: make writes build/, as that of test_install.sh does
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS # of the make that runs the tests

. tests/cli/common.sh

missing=
for lib in csv yaml lapacke openblas md gfortran; do
    file=$("${CC:-cc}" -print-file-name=lib$lib.a)
    [ -f "$file" ] || missing="$missing lib$lib.a"
done
if [ -n "$missing" ]; then
    echo "ok - make static # SKIP not installed:$missing"
elif ! make --no-print-directory static >"$work/log" 2>&1 &&
    grep -q '^static-cjson.sh: ' "$work/log"; then
    # no libcjson.a, and Debian's archive is out of reach
    echo "ok - make static # SKIP $(grep '^static-cjson.sh: ' "$work/log")"
else
    for program in moe-layout moe-bench; do
        [ -x build/static/$program ] &&
            ! ldd build/static/$program >/dev/null 2>&1
        claim $? "make static builds $program without shared libraries"
    done
    sed 's/^/# /' "$work/log"
    build/static/moe-layout count --layers 16 --mtp 1 --pp 4 >"$work/out" &&
        grep -q 816 "$work/out"
    claim $? "the static moe-layout counts the layouts of 16 layers and MTP"
    build/static/moe-bench machine >"$work/out" &&
        grep -q '^sha256  *[0-9a-f]\{64\}$' "$work/out"
    claim $? "the static moe-bench tells the machine"
fi

make --no-print-directory install DESTDIR="$work/root" PREFIX=/usr \
    >"$work/log" 2>&1
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$work/log"
for program in moe-layout moe-bench moe-train moe-train-smpi; do
    [ -x "$work/root/usr/bin/$program" ] || status=1
done
claim $status "make install puts the programs below DESTDIR and PREFIX"
"$work/root/usr/bin/moe-layout" --version >/dev/null
claim $? "an installed program runs"
