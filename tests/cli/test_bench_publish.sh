#!/bin/sh
# moe-bench publish and run touch nothing that is not theirs: what stands at
# --to, files that look temporary, links inside results.
set -u
bench=$(cd "$(dirname "${BUILD:-build/release}/moe-bench")" && pwd)/moe-bench
here=$(pwd)
work=$(mktemp -d)
apart=$(mktemp -d) # all of $work is compared
trap 'rm -rf "$work" "$apart"' EXIT

. tests/cli/common.sh

sums() { # FOLDER: all that is in it, links as links
    (cd "$1" && find . -type f -exec sha256sum {} + | sort &&
        find . ! -type f | sort && find . -type l -printf '%p %l\n' | sort)
}

manifest=$here/tests/fixtures/fake.json
"$bench" run -q "$manifest" --out "$work/r" >/dev/null 2>&1
claim $? "there are results to publish"
mkdir "$work/mine" "$work/mine/sub"
echo precious >"$work/mine/notes.txt"
echo precious >"$work/mine/sub/more.txt"
ln -s mine "$work/link"
echo file >"$work/file"
mkdir "$work/mine.new" && echo precious >"$work/mine.new/notes.txt"
mkdir "$work/json" && echo '{"format": "other/1"}' >"$work/json/dataset.json"

refused() { # TO PART CLAIM: exit 2, one line, everything as it was
    sums "$work" >"$apart/x"
    (cd "$work/mine" && "$bench" publish "$manifest" --out ../r --to "$1") \
        >"$apart/out" 2>"$apart/err"
    status=$?
    sums "$work" >"$apart/y"
    [ $status -eq 2 ] && one_line "$apart/err" "$2" &&
        cmp -s "$apart/x" "$apart/y"
    claim $? "$3"
}
refused . "want a folder by its own name" "--to . is refused"
refused .. "want a folder by its own name" "--to .. is refused"
refused / "want a folder by its own name" "--to / is refused"
refused ./ "want a folder by its own name" "--to ./ is refused"
refused "" "want a folder by its own name" "an empty --to is refused"
refused ../mine "holds the working folder" "the working folder stays"
refused ../link "is a link" "a link stays, and so does its target"
refused ../link/ "is a link" "a link with a slash behind it stays"
refused ../file "is a file" "a file stays"
refused ../r "holds the results" "--to equal to --out is refused"
refused ../r/ "holds the results" "--to equal to --out with a slash is refused"
refused "$work/../${work##*/}/r" "holds the results" \
    "--to equal to --out by another path is refused"
refused "$work" "holds the results" "--to above --out is refused"
refused ../r/runs "no dataset" "the runs stay"
refused ../r/runs/new "among the runs" "nothing is put among the runs"
refused sub "no dataset" "a folder of somebody's stays"
refused ../json "no dataset" "a dataset.json of another kind is no dataset"

cd "$work" || exit 1
sums mine.new >x
"$bench" publish "$manifest" --out r --to mine2 >/dev/null 2>err &&
    mkdir mine2.new && echo precious >mine2.new/notes.txt &&
    "$bench" publish "$manifest" --out r --to mine2 >/dev/null 2>err &&
    [ "$(cat mine2.new/notes.txt)" = precious ] && sums mine.new | cmp -s - x
claim $? "a dataset is replaced, and DIR.new of somebody's stays"
[ -z "$(find . -maxdepth 1 -name '.*.new*')" ]
claim $? "nothing is left beside the dataset"
(cd mine2 && sha256sum --quiet -c SHA256SUMS) >/dev/null 2>&1 &&
    [ "$(find mine2 -type f | wc -l)" -eq $(($(wc -l <mine2/SHA256SUMS) + 1)) ]
claim $? "the dataset carries the hash of every other file"
echo precious >mine2/notes.txt
"$bench" publish "$manifest" --out r --to mine2 >/dev/null 2>err
[ $? -eq 2 ] && one_line err "mine2/notes.txt" && [ -s mine2/notes.txt ]
claim $? "a dataset with a file of somebody's is not replaced"
rm mine2/notes.txt
"$bench" publish "$manifest" --out r --to new/deep/set/ >/dev/null 2>err &&
    [ -s new/deep/set/dataset.json ]
claim $? "folders above a new place are made"
mkdir small
if mount -t tmpfs -o size=256k none small 2>/dev/null; then
    "$bench" publish "$manifest" --out r --to small/set >/dev/null 2>err &&
        sums small/set >x && head -c 200000 /dev/zero >small/fill
    head -c 200000 /dev/zero 2>/dev/null >>small/fill
    "$bench" publish "$manifest" --out r --to small/set >/dev/null 2>err
    status=$?
    sums small/set >y
    left=$(ls -A small | grep -c new)
    umount small
    [ $status -eq 3 ] && one_line err small && cmp -s x y && [ "$left" -eq 0 ]
    claim $? "a full disk leaves the old dataset as it was, and nothing else"
else
    echo "ok - a full disk # SKIP cannot mount a small tmpfs here"
fi

# ---- what run removes, and links -------------------------------------------------
cp -r r s
echo mine >s/notes.tmp.1
echo mine >s/layouts.csv.tmp.old
echo mine >s/runs.csv.tmp.
mkdir s/runs/.tmp-mine s/runs/.tmp-r01-notes && echo mine >s/runs/.tmp-mine/x
ln -s "$work/mine" s/runs/.tmp-r01-pick-258063-496a0b43
echo mine >s/runs/.tmp-r01-pick-258063-496a0b44
echo half >s/layouts.csv.tmp.123
mkdir s/runs/.tmp-r01-count-based-1a8dfd-496a0b43-a2
sums mine >x
"$bench" run -q "$manifest" --out s >/dev/null 2>err
status=$?
sums mine >y
[ $status -eq 0 ] && cmp -s x y && [ -s s/notes.tmp.1 ] &&
    [ -s s/layouts.csv.tmp.old ] && [ -s s/runs.csv.tmp. ] &&
    [ -s s/runs/.tmp-mine/x ] && [ -d s/runs/.tmp-r01-notes ] &&
    [ -L s/runs/.tmp-r01-pick-258063-496a0b43 ] &&
    [ -s s/runs/.tmp-r01-pick-258063-496a0b44 ]
claim $? "run leaves what only looks temporary"
[ ! -e s/layouts.csv.tmp.123 ] &&
    [ ! -e s/runs/.tmp-r01-count-based-1a8dfd-496a0b43-a2 ]
claim $? "run removes what a killed one left"

for name in layouts.csv costs.json plan.json .lock; do
    rm -rf t && cp -r r t && rm -f "t/$name"
    echo precious >target
    ln -s ../target "t/$name"
    "$bench" run -q "$manifest" --out t >/dev/null 2>err
    [ $? -eq 3 ] && one_line err "t/$name" && [ "$(cat target)" = precious ]
    claim $? "a link $name among the results is named and not followed"
done
rm -rf t && mkdir t elsewhere && ln -s ../elsewhere t/runs
"$bench" run -q "$manifest" --out t >/dev/null 2>err
[ $? -eq 3 ] && one_line err "t/runs" && [ -z "$(ls -A elsewhere)" ]
claim $? "runs/ that is a link is named and not followed"
ln -s elsewhere u
"$bench" run -q "$manifest" --out u >/dev/null 2>err && [ -d elsewhere/runs ]
claim $? "--out itself may be a link to a folder"
