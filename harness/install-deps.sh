#!/bin/sh
# Installs the Debian packages that are missing. usage: install-deps.sh SET...
# with SET run (build and run), test (the tests), browser (to test the page of
# all results in), check (linters), slurm (a Slurm to test with), static (programs
# for any container), deb (packages).
set -eu

packages=
for set in "$@"; do
    case $set in
    run) packages="$packages gcc libc6-dev make libcjson-dev libcsv-dev
        libyaml-dev liblapacke-dev libmd-dev libopenblas-dev libopenmpi-dev
        openmpi-bin libsimgrid-dev gnuplot-nox fonts-dejavu-core zlib1g-dev" ;;
    test) packages="$packages libcriterion-dev python3 bc" ;;
    browser) packages="$packages chromium chromium-driver" ;;
    check) packages="$packages clang-format cppcheck universal-ctags python3" ;;
    slurm) packages="$packages slurmctld slurmd slurm-client munge" ;;
    static) packages="$packages gfortran dpkg-dev" ;;
    deb) packages="$packages build-essential debhelper dpkg-dev fakeroot git lintian" ;;
    *) echo "install-deps.sh: unknown set '$set', want run, test, browser," \
           "check, slurm, static or deb" >&2
       exit 2 ;;
    esac
done


missing=
for p in $packages; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null |
        grep -q 'ok installed' || missing="$missing $p"
done
[ -z "$missing" ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "missing packages:$missing" >&2
    echo "not root: run 'sudo apt-get install$missing' and try again" >&2
    exit 3
fi
if ! command -v apt-get >/dev/null; then
    echo "missing packages:$missing" >&2
    echo "no apt-get here: install them by hand and try again" >&2
    exit 3
fi
echo "installing:$missing" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install -y --no-install-recommends $missing; } \
    >"$log" 2>&1 </dev/null; then
    tail -n 5 "$log" >&2
    echo "apt-get could not install:$missing; is the network reachable?" >&2
    exit 3
fi
