#!/bin/sh
# Which finished runs are used again: all that decides a measurement decides
# that, the script behind launcher.command and variables of libraries included.
set -u
bench=${BUILD:-build/release}/moe-bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for v in $(env | sed -n 's/^\(O[PM][A-Z_]*\)=.*/\1/p'); do unset "$v"; done

. tests/cli/common.sh

cp tests/fixtures/fake_trainer.sh "$work/"
printf '#!/bin/sh\nexec sh "$@"\n' >"$work/wrap.sh"
cp "$work/wrap.sh" "$work/runner" && chmod +x "$work/runner"
echo 1 >"$work/extra.yaml"
change() { # SED FILE
    sed "$1" tests/fixtures/fake.json >"$work/$2"
}
change 's/\["sh"\]/["sh", "wrap.sh"]/
    s/"fake_trainer.sh"}/"fake_trainer.sh", "args": ["--config=extra.yaml"]}/' m.json
change 's/\["sh"\]/["runner"]/' p.json
cd "$work" || exit 1
case $bench in /*) ;; *) bench=$OLDPWD/$bench ;; esac
PATH=$work:$PATH

valid() { # MANIFEST COUNT: so many of its 8 runs stand
    "$bench" status "$1" --out "r-$1" 2>err | grep -q ": $2 of 8 runs valid"
}
"$bench" run -q m.json --out r-m.json >/dev/null 2>err && valid m.json 8
claim $? "runs of a wrapped trainer are used again"
cp wrap.sh keep && echo '# another wrapper' >>wrap.sh
valid m.json 0
claim $? "not after the script behind launcher.command changed"
cp keep wrap.sh && valid m.json 8
claim $? "but when it is as it was"
echo 2 >extra.yaml && valid m.json 0
claim $? "a file that the trainer's arguments name decides"
echo 1 >extra.yaml
"$bench" run -q p.json --out r-p.json >/dev/null 2>err && valid p.json 8
claim $? "runs of a command found through PATH are used again"
echo '# another' >>runner && valid p.json 0
claim $? "not after that program changed"
for set in OMP_NUM_THREADS=2 OPENBLAS_CORETYPE=Prescott OMP_PROC_BIND=true \
    OPENBLAS_NUM_THREADS=2 NCCL_ALGO=Ring; do
    (export "$set" && valid m.json 0)
    claim $? "${set%=*} decides"
done
(HOME=/nowhere LANG=de_DE SHELL=/bin/none && export HOME LANG SHELL &&
    valid m.json 8)
claim $? "variables that no library of the trainer reads do not"
OMP_NUM_THREADS=2 "$bench" run -q m.json --out r-m.json >/dev/null 2>err &&
    valid m.json 8 && (export OMP_NUM_THREADS=2 && valid m.json 8)
claim $? "runs of both environments stand side by side"

# ---- ties ------------------------------------------------------------------------
cd "$OLDPWD" || exit 1
"$bench" run -q tests/fixtures/fake.json --out "$work/t1" >"$work/o1" 2>/dev/null
sed 's/\["\(Et[^"]*\)", "\(Et[^"]*\)"\]/["\2", "\1"]/' \
    tests/fixtures/fake.json >"$work/fake.json"
cmp -s tests/fixtures/fake.json "$work/fake.json" ||
    "$bench" run -q "$work/fake.json" --out "$work/t2" >"$work/o2" 2>/dev/null
for o in 1 2; do # all but the line of files
    grep -Ev '^(Files|Report)' "$work/o$o" >"$work/p$o"
done
[ -s "$work/p1" ] && cmp -s "$work/p1" "$work/p2" &&
    sed '/fingerprint/,$ d; /fitted_from/,$ d' "$work/t1/costs.json" >"$work/c1" &&
    sed '/fingerprint/,$ d; /fitted_from/,$ d' "$work/t2/costs.json" >"$work/c2" &&
    cmp -s "$work/c1" "$work/c2"
claim $? "the order of profile runs changes no cost and no pick"
