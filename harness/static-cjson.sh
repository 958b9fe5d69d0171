#!/bin/sh
# Debian ships cJSON as a shared library only: builds libcjson.a from Debian's
# source package. usage: static-cjson.sh FOLDER (gets libcjson.a)
set -eu
to=$1
[ ! -f "$to/libcjson.a" ] || exit 0
mkdir -p "$to"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/sources" "$work/lists/partial" "$work/cache"
echo "deb-src http://deb.debian.org/debian $(
    . /etc/os-release && echo "$VERSION_CODENAME") main" \
    >"$work/sources/source.list"
(
    cd "$work"
    for words in update "source --download-only cjson"; do
        apt-get -o Dir::Etc::sourcelist=/dev/null \
            -o Dir::Etc::sourceparts="$work/sources" \
            -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" \
            -o APT::Sandbox::User=root $words
    done
) >"$work/log" 2>&1 </dev/null || {
    tail -n 3 "$work/log" >&2
    echo "static-cjson.sh: Debian's source of cJSON cannot be fetched;" \
        "put a libcjson.a into $to" >&2
    exit 3
}
tar -xzf "$work"/cjson_*.orig.tar.gz -C "$work"
"${CC:-cc}" -O2 -fPIC -c -o "$work/cJSON.o" "$work"/cJSON-*/cJSON.c
ar rcs "$to/libcjson.a" "$work/cJSON.o"
