#!/bin/sh
# Shows that the soak finds what it is for: each patch of tests/soak/plants
# brings a fault back into a copy of the tree, and the soak must fail there in
# one of the patch's scenes within PLANT_S seconds. OWN=yes plays these scenes
# alone, which finds it sooner. usage: plants.sh [NAME...];
# a line a plant, exit 1 when one is not found. `--check` only asks whether all
# patches still apply.
set -u
root=$(pwd)
plants=$root/tests/soak/plants
build=${BUILD:-build/release}

# git apply takes no part in the repository it stands in: paths are those of
# the folder it runs in
if [ "${1:-}" = --check ]; then
    for p in "$plants"/*.patch; do
        name=${p##*/}
        if git apply --check "$p" 2>/dev/null; then
            echo "ok - plant $name applies"
        else
            echo "not ok - plant $name does not apply any more: make it anew"
        fi
    done
    exit 0
fi

copy=$(mktemp -d /tmp/plants-XXXXXX)
trap 'rm -rf "$copy"' EXIT
# what is built goes along: only what a patch touches is built again
git ls-files -co --exclude-standard -z | tar -c --null -T - | tar -x -C "$copy"
mkdir -p "$copy/$build"
cp -a "$build/." "$copy/$build"
cd "$copy" || exit 3

try() { # PATCH
    name=${1##*/}
    name=${name%.patch}
    if ! git apply "$1"; then
        echo "not ok - plant $name: does not apply"
        return
    fi
    said=$(make -s -j2 all "$build/tests/soak/soak" 2>&1) || {
        echo "not ok - plant $name: does not build: $said"
        return
    }
    begin=$(date +%s)
    scenes=$(sed -n 's/^Scenes: //p' "$1")
    only=
    [ -z "${OWN:-}" ] || only="0 ${scenes%% *}"
    found=$(BUILD=$build "$build/tests/soak/soak" "${PLANT_S:-300}" "${SEED:-1}" \
        $only | tr '\n' ' ' | cut -c 1-300)
    scene=$(echo "$found" | sed -n 's/^not ok - seed .* scene \([a-z-]*\): .*/\1/p')
    folder=$(echo "$found" | sed -n 's/.*# folder: \(.*\)\/turn.*/\1/p')
    [ -z "$folder" ] || rm -rf "$folder"
    case " $scenes " in
    *" ${scene:-none} "*)
        echo "ok - plant $name: $(($(date +%s) - begin)) s: ${found#not ok - }" ;;
    *) echo "not ok - plant $name: ${found:-the soak said nothing}" ;;
    esac
    git apply -R "$1"
}

for p in "$plants"/*.patch; do
    base=${p##*/}
    case " $* " in *" ${base%.patch} "* | "  ") try "$p" ;; esac
done | tee "$copy/lines"
! grep -q '^not ok' "$copy/lines"
