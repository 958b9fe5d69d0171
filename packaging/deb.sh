#!/bin/sh
# Debian packages of the tree by debhelper, from a copy of its sources, and what
# lintian says of them. usage: deb.sh DIR VERSION ; DIR/*.deb are written, and
# DIR is made anew. DEBFULLNAME and DEBEMAIL name the maintainer, else the last
# commit does.
set -eu
export LC_ALL=C
dir=$1 version=$2
unset MAKEFLAGS MAKELEVEL MFLAGS MODE || true # of the make that called
tree=$dir/moe-layout-$version
rm -rf "$dir"
mkdir -p "$tree"

# what git knows or would; of an unpacked archive, everything but what is built
who= when=$(date +%s)
if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files -z -co --exclude-standard >"$dir/files"
    who=$(git log -1 --format='%an <%ae>') when=$(git log -1 --format=%ct)
else
    find . \( -path ./build -o -path ./.git \) -prune -o -type f -print0 \
        >"$dir/files"
fi
[ -z "${DEBEMAIL:-}" ] || who="${DEBFULLNAME:-$DEBEMAIL} <$DEBEMAIL>"
if [ -z "$who" ]; then
    echo "deb.sh: who makes the package? git does not tell:" \
        "give DEBFULLNAME and DEBEMAIL" >&2
    exit 2
fi
tar -c --null -T "$dir/files" | tar -x -C "$tree"
rm "$dir/files"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$when}"

cp -R packaging/debian "$tree/debian"
who=$(printf '%s' "$who" | sed 's/[&|\\]/\\&/g')
sed -i "s|@MAINTAINER@|$who|; s|@VERSION@|$version|
    s|@DATE@|$(date -R -u -d "@$SOURCE_DATE_EPOCH")|
    s|@YEAR@|$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y)|" \
    "$tree/debian/control" "$tree/debian/changelog" "$tree/debian/copyright"

log=$dir/build.log
if ! (cd "$tree" && DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)" \
    dpkg-buildpackage -b -us -uc) >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "deb.sh: dpkg-buildpackage failed; all of its output is in $log" >&2
    exit 3
fi
rm -rf "$tree"
lintian --fail-on error "$dir"/*.changes
echo "install them with: apt-get install ./$dir/moe-layout_*.deb" \
    "./$dir/moe-bench_*.deb"
