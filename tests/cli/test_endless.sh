#!/bin/sh
# What has no end, no reader or no writer hangs nothing; zero bytes cut nothing;
# a megabyte of anything is answered soon and in little memory, or refused with
# the cap. Times are generous: what they guard against takes minutes or hours.
L=${BUILD:-build/release}/moe-layout
B=${BUILD:-build/release}/moe-bench
model=experiments/models/7b-a1b.json
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
LIMIT_S=60

. tests/cli/common.sh

# CLAIM WORD COMMAND...: exit 2 (3 with EXIT=3) and a line that holds WORD
refuses() {
    claim=$1 word=$2
    shift 2
    timeout -k 5 $LIMIT_S "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    code=$?
    if [ $code -eq "${EXIT:-2}" ] && grep -qF -- "$word" "$tmp/err"; then
        echo "ok - $claim"
    else
        echo "not ok - $claim: exit $code, want ${EXIT:-2} and '$word' in:"
        head -c 400 "$tmp/err"
    fi
}

total() { # of a model or script
    timeout $LIMIT_S "$L" size "$@" 2>"$tmp/err" | sed -n 's/^parameters  *//p' |
        cut -d ' ' -f 1
}
whole=$(total $model)
[ -n "$whole" ] || echo "not ok - a model to compare with"

# ---- zero bytes: in every form, with the place ----

sed 's/"num_experts"/"comment2\x00": 1, "num_experts"/' $model >"$tmp/z.json"
refuses "a zero byte in a model file" "z.json: holds a zero byte at offset" \
    "$L" size "$tmp/z.json"
{ cat $model; printf '\0'; } >"$tmp/z.json"
refuses "a zero byte behind a model file" "holds a zero byte at offset" \
    "$L" size "$tmp/z.json"
sed 's/"num_experts"/"num_experts\\u0000"/' $model >"$tmp/z.json"
refuses "an escaped zero byte in a key" "holds a zero byte (\\u0000)" \
    "$L" size "$tmp/z.json"
for form in scripts/launch.sh models/recipe.yaml models/hf-mixtral-8x7b.json; do
    size=$(wc -c <tests/fixtures/$form)
    { head -c $((size / 2)) tests/fixtures/$form; printf '\0'
      tail -c +$((size / 2 + 1)) tests/fixtures/$form; } >"$tmp/z"
    refuses "a zero byte in $form" "z: holds a zero byte at offset $((size / 2))" \
        "$L" size "$tmp/z"
done
{ printf 'noise \0\0\n'; cat tests/fixtures/models/dump.log; printf '\0\n'
} >"$tmp/z.log"
is "a log may hold zero bytes" "$(total "$tmp/z.log")" "$whole"
for c in check memory simulate; do
    printf '{}\n\0{}\n' >"$tmp/z"
    refuses "$c --batch with a zero byte" "holds a zero byte at offset 3" \
        "$L" $c --batch "$tmp/z"
done
printf '{"format": "moe-bench/experiment/1",\0}' >"$tmp/z"
refuses "a manifest with a zero byte" "holds a zero byte" "$B" run "$tmp/z"
"$L" costs $model --analytic -o "$tmp/costs.json" >/dev/null 2>&1
{ cat "$tmp/costs.json"; printf '\0'; } >"$tmp/z"
refuses "costs with a zero byte" "holds a zero byte" \
    "$L" plan $model --pp 4 --gbs 64 --costs "$tmp/z"

# ---- pipes and devices ----

# COMMAND...: a claim that mostly waits, made beside the others, in a folder of
# its own; answers() prints what they said, in their order
n_later=0
later() {
    n_later=$((n_later + 1))
    mkdir "$tmp/later-$n_later"
    (tmp=$tmp/later-$n_later; "$@") >"$tmp/later-$n_later/answer" 2>&1 &
}
answers() {
    wait
    for i in $(seq $n_later); do cat "$tmp/later-$i/answer"; done
    n_later=0
}

# one pipe has readers only, the other writers only
mkfifo "$tmp/pipe" "$tmp/unwritten" "$tmp/unread"
silent="silent for 5 s"
later refuses "a model from a pipe that nobody writes" "$silent" \
    "$L" size "$tmp/unwritten"
later refuses "cases from one" "$silent" "$L" check --batch "$tmp/unwritten"
later refuses "costs from one" "$silent" \
    "$L" plan $model --pp 4 --gbs 64 --costs "$tmp/unwritten"
later refuses "a log from one" "$silent" "$B" parse "$tmp/unwritten"
later refuses "a log from one, as JSON" "$silent" "$B" parse --json "$tmp/unwritten"
later refuses "a manifest from one" "$silent" "$B" run "$tmp/unwritten"
mkfifo "$tmp/falls"
{ head -n 20 tests/fixtures/models/dump.log; sleep 7; } >"$tmp/falls" &
later refuses "a log from one whose writer falls silent" "$silent" \
    "$B" parse "$tmp/falls"
EXIT=3 later refuses "-o to a pipe that nobody reads" "nobody reads" \
    "$L" costs $model --analytic -o "$tmp/unread"
EXIT=3 later refuses "--trace to one" "nobody reads" \
    "$L" simulate $model 'Et*5|t*6|t*5|mL' --pp 4 --gbs 8 \
    --costs "$tmp/costs.json" --trace "$tmp/unread"
EXIT=3 later refuses "--gantt to one" "nobody reads" \
    "$L" simulate $model 'Et*5|t*6|t*5|mL' --pp 4 --gbs 8 \
    --costs "$tmp/costs.json" --gantt "$tmp/unread"

# what people use goes on working
slow_input() {
    is "a model through a pipe that takes its time" \
        "$({ sleep 7; cat $model; } | total /dev/stdin)" "$whole"
}
later slow_input
slow_substitution() {
    is "process substitution" \
        "$(bash -c "'$L' size <(sleep 6; cat $model) 2>/dev/null" |
            sed -n 's/^parameters  *//p' | cut -d ' ' -f 1)" "$whole"
}
! command -v bash >/dev/null || later slow_substitution
answers

refuses "/dev/zero as a model" "more than" "$L" size /dev/zero
refuses "/dev/urandom as cases" "zero byte" "$L" check --batch /dev/urandom
refuses "/dev/zero as a log" "a device" "$B" parse /dev/zero
EXIT=3 refuses "-o /dev/full" "No space left" \
    "$L" costs $model --analytic -o /dev/full
is "a model without an end through a pipe" \
    "$(yes | timeout $LIMIT_S "$L" size /dev/stdin 2>&1 | grep -c 'more than')" 1
is "a log without an end through a pipe" \
    "$(yes | timeout $LIMIT_S "$B" parse /dev/stdin 2>&1 |
        grep -c 'nothing of a training log')" 1

is "a model on standard input" "$(total /dev/stdin <$model)" "$whole"
{ sleep 1; cat $model >"$tmp/pipe"; } &
is "a named pipe whose writer comes later" "$(total "$tmp/pipe")" "$whole"
wait
is "an open descriptor" "$(total /dev/fd/9 9<$model)" "$whole"
is "a log through a pipe" "$(cat tests/fixtures/models/dump.log |
    "$B" parse /dev/stdin | sed -n 's/^dialect  *//p')" megatron
"$L" costs $model --analytic -o /dev/stdout 2>/dev/null |
    grep -q moe-layout/costs/1
is "-o /dev/stdout" $? 0
"$L" costs $model --analytic -o "$tmp/pipe" >/dev/null 2>&1 &
sleep 1
cat "$tmp/pipe" >"$tmp/copy"
wait
cmp -s "$tmp/copy" "$tmp/costs.json"
is "-o to a named pipe whose reader comes later" $? 0

# ---- a megabyte of anything ----

if ! command -v python3 >/dev/null; then
    echo "ok - a megabyte of anything # SKIP no python3"
    exit 0
fi
python3 - "$tmp" "$model" "$L" "$B" <<'END'
import json, os, resource, shutil, subprocess, sys, time
tmp, model, layout, bench = sys.argv[1:]
MB, PATIENCE_S = 1 << 20, 60   # CPU time is what is judged
# sanitizers keep shadows, and are slower
asan = "asan" in layout
CPU_S, RSS = (30, 3000) if asan else (4, 200)
base = json.load(open(model))

def put(name, text):
    path = os.path.join(tmp, name)
    with open(path, "w") as f:
        f.write(text)
    return path

def of_model(**more):
    return json.dumps({**base, **more})

def script(words):
    return "python pretrain_gpt.py --num-layers 2 " + words + "\n"

cases = {
    "a list of 300000 numbers as a key": of_model(num_layers=[1] * 300000),
    "a frequency of 300000 numbers": of_model(moe_layer_freq=[1] * 300000),
    "a list of 100000 words": of_model(recompute_modules=["mlp"] * 100000),
    "100000 keys": '{"format":"moe-layout/model/1",' +
                   ",".join(f'"k{i}":1' for i in range(90000)) + "}",
    "a key of a megabyte": '{"' + "x" * MB + '":1}',
    "open brackets": "[" * 100000,
    "open objects": '{"a":' * 100000,
    "open brackets in a model": '{"format":"moe-layout/model/1","a":' +
                                "[" * 100000,
    "a list flag of 100000 words": script("--recompute-modules " +
                                          "mlp " * 100000),
    "a frequency of brackets": script('--moe-layer-freq "' + "[" * 100000 +
                                      '"'),
    "a layout of brackets": script('--pipeline-model-parallel-layout "' +
                                   "(" * 100000 + '"'),
    "a layout of 100000 stages": script('--pipeline-model-parallel-layout "' +
                                        "t|" * 100000 + '"'),
    "500000 empty look-ups": 'A=\nB="' + "$A" * 500000 + '"\n' + script("$B"),
    "80000 open braces in an array": "A=(" + '{"a":' * 80000 + ")\n" +
                                     script("${A[@]}"),
    "a megabyte of newlines": "\n" * MB,
    "a megabyte of quotes": '"' * MB,
}

def run(claim, argv, codes, cpu_s=CPU_S, rss=RSS):
    def only():
        resource.setrlimit(resource.RLIMIT_CPU, (2 * PATIENCE_S,) * 2)
    with open(os.path.join(tmp, "said"), "wb") as said:
        p = subprocess.Popen(argv, stdout=said, stderr=said,
                             stdin=subprocess.DEVNULL, preexec_fn=only)
        _, status, used = os.wait4(p.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    cpu, mb = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    ok = code in codes and cpu < cpu_s and mb < rss
    print(("ok - " if ok else "not ok - ") + claim +
          ("" if ok else f": exit {code}, {cpu:.1f} s, {mb:.0f} MB"),
          flush=True)

for name, text in cases.items():
    run(name, [layout, "size", put("big", text)], (0, 2))
run("cases of a megabyte of brackets",
    [layout, "check", "--batch", put("big", "[" * MB + "\n")], (1, 2))

for name, text in (("open brackets", "(" * 99999),
                   ("brackets before one that closes", "(" * 99990 + "t)*2"),
                   ("a factor of many digits", "t*" + "9" * 99990)):
    run("a layout of 100000: " + name, [layout, "check", model, text, "--pp",
                                        "4"], (1,))

# ---- near a layer a stage, a space is small ----
costs = os.path.join(tmp, "far.json")
for name, sizes in (("mixtral-8x7b", (30, 32, 33)), ("deepseek-v3", (59, 61)),
                    ("kimi-k2", (61,))):
    path = f"experiments/models/{name}.json"
    subprocess.run([layout, "costs", path, "--analytic", "-o", costs],
                   check=True, capture_output=True)
    for pp in sizes:
        run(f"plan {name} on {pp} stages",
            [layout, "plan", path, "--pp", str(pp), "--gbs", str(2 * pp),
             "--costs", costs, "--standalone-mtp"], (0,), 60 if asan else 20)
        run(f"profile-layouts {name} on {pp} stages",
            [layout, "profile-layouts", path, "--pp", str(pp)], (0,),
            60 if asan else 20)

# ---- long lists of plans ----
path = "experiments/models/glm-4.5.json"
subprocess.run([layout, "costs", path, "--analytic", "-o", costs], check=True,
               capture_output=True)
plan = [layout, "plan", path, "--pp", "4", "--gbs", "8", "--costs", costs,
        "--json", "--top"]
run("plan --top 10000", plan + ["10000"], (0,), 60, RSS)
run("plan --top 100000 is refused", plan + ["100000"], (2,))

# ---- many micro-batches ----
path = "experiments/models/7b-a1b.json"
subprocess.run([layout, "costs", path, "--analytic", "-o", costs], check=True,
               capture_output=True)
spread = json.load(open(costs))
spread["jitter_cv"] = 0.05
put("wide.json", json.dumps(spread))
four = [path, "Et*5|t*6|t*5|mL", "--pp", "4", "--costs", costs, "--gbs"]
run("simulate 32768 micro-batches", [layout, "simulate"] + four + ["32768"],
    (0,), 10, 500)
drawn = os.path.join(tmp, "drawn")
for option in "--trace", "--gantt":
    run(f"simulate {option} of as many is refused", [layout, "simulate"] + four +
        ["32768", option, drawn], (2,))
    run(f"simulate {option} of 12000", [layout, "simulate"] + four +
        ["12000", option, drawn], (0,), 10, 400)
several = [layout, "plan", path, "--pp", "4", "--vpp", "2", "--costs", costs,
           "--time-limit", "1", "--gbs"]
run("plan --vpp 2 of 65536 micro-batches is refused", several + ["65536"], (1,))
several[several.index(costs)] = os.path.join(tmp, "wide.json")
run("plan --vpp 2 of 16384, with jitter", several + ["16384"], (0,), 60, 600)

# ---- tables of a report ----
def table(name, change, command="report"):
    out = os.path.join(tmp, "report")
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree("results/reference/local", out)
    with open(os.path.join(out, name)) as f:
        lines = f.read().splitlines()
    with open(os.path.join(out, name), "w") as f:
        f.write("\n".join(change(lines)) + "\n")
    # as if it had been published so
    os.remove(os.path.join(out, "SHA256SUMS"))
    names = sorted(os.path.relpath(os.path.join(d, n), out)
                   for d, _, files in os.walk(out) for n in files)
    sums = subprocess.run(["sha256sum"] + names, cwd=out, capture_output=True)
    with open(os.path.join(out, "SHA256SUMS"), "wb") as f:
        f.write(sums.stdout)
    return [bench, command, out]

def field(lines):
    first = lines[1].split(",")
    first[3] = "x" * MB
    return [lines[0], ",".join(first)] + lines[2:]

run("a report of many rows is refused",
    table("layouts.csv", lambda l: [l[0]] + l[1:] * 1000), (2,))
run("so is a dataset of many layouts",
    table("layouts.csv", lambda l: [l[0]] + l[1:] * 1000, "validate"), (2,))
run("a report of many columns is refused",
    table("stages.csv", lambda l: [l[0] + "".join(f",c{i}" for i in
        range(100000))] + [x + "," * 100000 for x in l[1:3]]), (2,))
if shutil.which("gnuplot"):
    run("a report with a field of a megabyte", table("runs.csv", field), (0,),
        60)

# ---- signals while a large space is searched ----
shutil.copytree("experiments/models", os.path.join(tmp, "models"))
os.makedirs(os.path.join(tmp, "results", "other"))
subprocess.run([layout, "costs", "experiments/models/deepseek-v3.json",
                "--analytic", "-o",
                os.path.join(tmp, "results", "other", "costs.json")], check=True,
               capture_output=True)
manifest = put("long.json", json.dumps({
    "format": "moe-bench/experiment/1", "name": "long",
    "model": "models/deepseek-v3.json", "parallel": {"pp": 16, "vpp": 2},
    "batch": {"micro_batch": 1, "global_batch": 512, "seq_tokens": 4096},
    "launcher": {"kind": "command", "command": ["sh"]},
    "trainer": {"kind": "moe-train", "entry": "/bin/false"},
    "iterations": {"warmup": 1, "count": 2}, "costs_from": "other",
    "measure": [{"role": "pick"}], "limits": {"run_s": 60}}))
for sig in (2, 15):
    p = subprocess.Popen([bench, "run", manifest, "--out",
                          os.path.join(tmp, "results", "long")],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    # in the search once the file of costs is written
    wanted, ended = os.path.join(tmp, "results", "long",
                               "costs.json"), None
    until = time.time() + PATIENCE_S
    while not os.path.exists(wanted) and time.time() < until:
        time.sleep(0.05)
    time.sleep(0.5)
    searching = p.poll() is None
    p.send_signal(sig)
    try:
        _, said = p.communicate(timeout=10)
        ended = p.returncode
    except subprocess.TimeoutExpired:
        p.kill()
        _, said = p.communicate()
    ok = searching and ended == 3 and f"signal {sig}" in said.decode()
    print(("ok - " if ok else "not ok - ") + f"signal {sig} ends a search" +
          ("" if ok else f": {searching}, exit {ended}, {said[-200:]}"))
    shutil.rmtree(os.path.join(tmp, "results", "long"), ignore_errors=True)
END
