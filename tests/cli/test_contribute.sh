#!/bin/sh
# moe-bench contribute: step times from logs, an experiment's folder, typed rows;
# nothing planted in logs, scripts and environments is in any byte of what is
# written; a reviewer's validate; kills, a full disk, no consent.
set -u
bench=$(cd "$(dirname "${BUILD:-build/release}/moe-bench")" && pwd)/moe-bench
here=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

cd "$work" || exit 1

# Names of datasets hold the day: it is noon for the program, whose folders are
# compared over the minutes that this test takes.
clock=$(dirname "$bench")/tests/shift_clock.so
if [ -f "$clock" ]; then
    echo $((43200 - $(date +%s) % 86400)) >shift
    printf '#!/bin/sh\nSHIFT_CLOCK="%s" LD_PRELOAD="%s" exec "%s" "$@"\n' \
        "$work/shift" "$clock" "$bench" >moe-bench
    chmod +x moe-bench
    bench=$work/moe-bench
fi

# A log of 12 iterations as Megatron writes it, with what users' logs hold
# besides. The planted texts are made up.
megatron_log() { # LAYOUT MS
    cat <<LOG
+ export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567
+ export HF_TOKEN=hf_Ab0Cd1Ef2Gh3Ij4KAb0Cd1Ef2Gh3Ij4K
+ export GITHUB_TOKEN=ghp_Ab0Cd1Ef2Gh3Ij4KAb0Cd1Ef2Gh3Ij4K
AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIbPxRfiCYEXAMPLEKEY
Authorization: Bearer q1w2e3r4t5y6u7i8o9p0
eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl
-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmU
-----END OPENSSH PRIVATE KEY-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx9plantedkey alice@login
glpat-Ab0Cd1Ef2Gh3Ij4K xoxb-123456789012-Ab0Cd1Ef2Gh3 sk-proj-Ab0Cd1Ef2Gh3Ij4K nvapi-Ab0Cd1Ef2Gh3Ij4K
{"private_key_id": "c0ffee0ddba11c0ffee"}
https://orionstore.blob.core.windows.net/x?sv=2021&sig=Zm9vYmFyYmF6cXV4
DefaultEndpointsProtocol=https;AccountKey=QWNjb3VudEtleVBsYW50ZWQ=
git clone https://alice:hunter2@git.acme.example/orion.git
PGPASSWORD=correcthorse psql -h db.acme.example
pin 4829135
SLURM_JOB_ID=48213377 SLURM_JOB_NAME=orion-moe-v3 SLURM_JOB_ACCOUNT=orionresearch
gpu-node-017.cluster.local: rank 0 at 10.143.27.8:29500, fe80::1ff:fe23:4567:890a, 00:1a:2b:3c:4d:5e
alice.smith@acme.example started this in /home/alicesmith/megatron
loading /lustre/fsw/teamplutonium/data/text_document C:\\Users\\alicesmith\\x \\\\fileserver\\orion
GPU-8a56a4bc-2d3e-4f5a-9b6c-7d8e9f0a1b2c serial 1652921009344
using world size: 4, data-parallel size: 1
------------------------ arguments ------------------------
  num_layers ...................................... 16
  hidden_size ..................................... 2048
  num_attention_heads ............................. 16
  num_query_groups ................................ 2
  group_query_attention ........................... True
  num_experts ..................................... 64
  moe_ffn_hidden_size ............................. 1024
  ffn_hidden_size ................................. 8192
  moe_router_topk ................................. 8
  mtp_num_layers .................................. 1
  vocab_size ...................................... 128256
  seq_length ...................................... 4096
  max_position_embeddings ......................... 4096
  position_embedding_type ......................... rope
  normalization ................................... RMSNorm
  swiglu .......................................... True
  add_bias_linear ................................. False
  bf16 ............................................ True
  micro_batch_size ................................ 1
  global_batch_size ............................... 64
  world_size ...................................... 4
  pipeline_model_parallel_size .................... 4
  pipeline_model_parallel_layout .................. $1
  data_path ....................................... ['/lustre/fsw/teamplutonium/data']
  save ............................................ /home/alicesmith/ckpt
  tokenizer_model ................................. /home/alicesmith/tok.model
  wandb_project ................................... orion-secret
  wandb_exp_name .................................. plutonium-7
  master_addr ..................................... gpu-node-017
-------------------- end of arguments ---------------------
LOG
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        ms=$2.$((i % 3))
        [ $i -eq 1 ] && ms=9999.5
        echo "gpu-node-017: [rank3]: [2026-02-03 04:05:$((i + 10))] iteration $i/ 12 | consumed samples: $((i * 64)) | elapsed time per iteration (ms): $ms | orion quota: 77123 | learning rate: 1.0E-05 | global batch size: 64 | lm loss: 1.0$i""E+00 | number of skipped iterations: 0 | number of nan iterations: 0 |"
        [ $i -eq 4 ] && echo "checkpoint written to s3://orion-checkpoints/iter_4 by alicesmith"
    done
    echo "[Rank 0] (after 12 iterations) memory (MB) | allocated: 20000.5 | max allocated: 31000.25 | reserved: 32000.0 | max reserved: 32000.0"
}
megatron_log 'Et*4|t*4|t*4|t*4mL' 1700 >a.log
megatron_log 'Et*5|t*5|t*4|t*2mL' 1500 >b.log

# What is looked for in every byte that was written, plain and unpacked.
cat >planted <<'LIST'
0123456789abcdef
hf_Ab0
ghp_
AKIA
wJalrX
q1w2e3
eyJhbG
b3Blbn
AAAAC3
glpat
xoxb
sk-proj
nvapi
c0ffee
orion
Zm9vYm
QWNjb3
hunter2
correcthorse
4829135
48213377
gpu-node
cluster.local
10.143
fe80
1a:2b
alice
acme
plutonium
lustre
fileserver
8a56a4bc
1652921009344
77123
/home
BEGIN
Users
windows.net
sshpass
tok.model
LIST
# Digests are left out: their random digits may spell a planted text.
survives() { # FOLDER: the planted texts that are in it
    rm -rf plain && cp -r "$1" plain && find plain -name '*.gz' -exec gunzip {} +
    { cat $(find plain -type f); find plain; } | sed -E 's/\b[0-9a-f]{64}\b//g' |
        grep -a -i -o -F -f planted | sort -u
}

# ---- logs ----
"$bench" contribute a.log b.log --gpu H100 --series 2 --to out --dry-run >dry 2>err
claim $? "a dry run shows what would be given"
[ ! -e out ]
claim $? "a dry run writes nothing"
grep -q 'ghp_\.\.\.' dry && grep -q 'gpu-node-017' dry && grep -q /home/alicesmith dry &&
    ! grep -q 'ghp_Ab0' dry && ! grep -q hf_Ab0Cd1 dry
claim $? "what was removed is shown, secrets by their first letters"
"$bench" contribute a.log b.log --gpu H100 --series 2 --to out >shown 2>err </dev/null
[ $? -eq 2 ] && one_line err "add --consent if you agree: 'I may give" && [ ! -e out ]
claim $? "without consent nothing is written, and the sentence is told"
"$bench" contribute a.log b.log --gpu H100 --series 2 --to out --consent >shown 2>err
claim $? "logs are contributed"
for how in '>/dev/full' '>&-'; do
    eval '"$bench" contribute a.log b.log --gpu H100 --to no --consent 2>err' "$how"
    [ $? -eq 3 ] && one_line err 'standard output: .*was not shown' && [ ! -e no ]
    claim $? "what could not be shown is not given away ($how)"
done
d=$(echo out/h100-4x-20*)
[ -f "$d/rows.csv" ] && [ -f "$d/manifest.json" ] && [ -f "$d/model.json" ] &&
    [ -f "$d/logs/run-02.txt.gz" ] && (cd "$d" && sha256sum --quiet -c SHA256SUMS)
claim $? "the folder is whole"
[ "$(wc -l <planted)" -ge 38 ] && [ -z "$(survives "$d")" ]
claim $? "nothing that was planted in logs survives: $(survives "$d" | tr '\n' ' ')"
cat a.log b.log >both && [ "$(grep -a -i -o -F -f planted both | sort -u | wc -l)" -ge 35 ]
claim $? "it was planted"
for x in a:01 b:02; do
    "$bench" parse "${x%:*}.log" --json >before
    gunzip -c "$d/logs/run-${x#*:}.txt.gz" >redacted && "$bench" parse redacted --json >after
    python3 - <<'PY'
import json
a, b = json.load(open("before")), json.load(open("after"))
for key in "iterations", "timers", "memory", "failure", "throughput":
    assert a[key] == b[key], key
assert len(a["iterations"]) == 12 and a["memory"]
PY
    claim $? "the redacted ${x%:*}.log says the same"
done
python3 - "$d" <<'PY'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1] + "/rows.csv")))
m = json.load(open(sys.argv[1] + "/manifest.json"))
assert [r["layout"] for r in rows] == ["Et*4|t*4|t*4|t*4mL", "Et*5|t*5|t*4|t*2mL"]
assert 1.7 < float(rows[0]["step_s"]) < 1.701 and rows[0]["n_gpus"] == "4"
assert all(r["format"] == "moe-bench/published/1" for r in rows)
assert m["format"] == "moe-bench/contributed/1" and m["consent"]["licence"] == "Apache-2.0"
assert {c["name"] for c in m["checks"]} >= {"units", "rate", "series", "duplicates"}
assert m["missing"] and m["computable"] and m["removed"]["secrets"] > 5
assert "save" not in json.load(open(sys.argv[1] + "/model.json"))
PY
claim $? "rows, manifest and model say what was measured"

# ---- a reviewer ----
"$bench" validate "$d" >review 2>err
claim $? "validate takes the folder"
grep -q 'fit of its own rows' review && grep -q "^$(basename "$d") " review &&
    grep -q 'from the others' review
claim $? "it fits its rows and shows errors beside others'"
! grep -q '^experiment  *role' review
claim $? "without a heading over no rows"
ln -s "$d" link
for path in . ./ "../$(basename "$d")/." "$work/link" "$work/$d//"; do
    (cd "$d" && "$bench" validate "$path" >/dev/null 2>&1)
    claim $? "validate takes it as $path, too"
done
rm link
spoil() { # FILE EDIT: a copy with one file changed, and the sums of it
    rm -rf spoilt && mkdir spoilt && cp -r "$d" spoilt/ && bad=spoilt/$(basename "$d")
    sed -i "$2" "$bad/$1"
    [ "${3:-}" = stale ] ||
        (cd "$bad" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort |
            xargs sha256sum >SHA256SUMS)
    "$bench" validate "$bad" >review 2>err
}
spoil rows.csv 's/1\.7/1.8/' stale
[ $? -eq 1 ] && one_line err rows.csv
claim $? "a changed file is found by its hash"
spoil rows.csv 's/,1\.70*[0-9]*,/,1.8,/'
[ $? -eq 1 ] && one_line err 'the median step is'
claim $? "a row that its log does not give is found"
spoil rows.csv 's/,h100,,4,/,h100,,8,/'
[ $? -ne 0 ] && [ "$(wc -l <err)" -eq 1 ]
claim $? "a row of other hardware is found"
spoil rows.csv 's/t\*4mL/t*3mL/'
[ $? -eq 1 ] && one_line err 'refuses this run'
claim $? "a layout that Megatron refuses is found"
spoil manifest.json 's/I may give/I give/'
[ $? -eq 2 ] && one_line err consent
claim $? "another sentence of consent is refused"
spoil manifest.json 's/"date"/"dat"/'
[ $? -eq 2 ] && one_line err "dat"
claim $? "an unknown key is refused"
rm -rf spoilt && mkdir spoilt && cp -r "$d" spoilt/ && bad=spoilt/$(basename "$d")
gunzip "$bad/logs/run-01.txt.gz" && echo "by alice on gpu-node-017" >>"$bad/logs/run-01.txt" &&
    gzip -n "$bad/logs/run-01.txt" &&
    (cd "$bad" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort |
        xargs sha256sum >SHA256SUMS)
"$bench" validate "$bad" >review 2>err
[ $? -eq 1 ] && one_line err 'must not'
claim $? "a name that came into a log later is found"

# ---- forged: hashes made again, so that only the content tells ----
resum() { # FOLDER
    (cd "$1" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort |
        xargs sha256sum >SHA256SUMS)
}
forged() { # STATUS PART CLAIM: of the copy in spoilt
    resum "$bad" && "$bench" validate "$bad" >review 2>err
    [ $? -eq "$1" ] && one_line err "$2"
    claim $? "forged: $3"
}
copy() {
    rm -rf spoilt && mkdir spoilt && cp -r "$d" spoilt/ && bad=spoilt/$(basename "$d")
}
edit_row() { # COLUMN VALUE: of the first row
    copy
    python3 - "$bad/rows.csv" "$1" "$2" <<'PY'
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="")))
rows[1][rows[0].index(sys.argv[2])] = sys.argv[3]
csv.writer(open(sys.argv[1], "w", newline=""), lineterminator="\n").writerows(rows)
PY
}
for x in hidden=4096 vocab=1000 n_layers=8 dp=2 tp=4 experts=8 precision=fp8 recompute=full \
    note='made by zaphod' step_stat='median of my runs' ref='typed in zaphod' \
    n_steps=11000 model=../x.json group=mine 'spread=q25 1.6 q75 1.8' memory_gib=1; do
    edit_row "${x%%=*}" "${x#*=}" && resum "$bad" && "$bench" validate "$bad" >review 2>err
    [ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ]
    claim $? "forged: a row's $x is found"
done
for x in nan inf -1.7 0 1e400; do
    edit_row step_s $x && resum "$bad" && "$bench" validate "$bad" >review 2>err
    status=$?
    [ $status -ge 1 ] && [ $status -le 2 ] && [ "$(wc -l <err)" -eq 1 ]
    claim $? "forged: a step of $x s is found"
done
edit_manifest() { # EDIT: a statement about m, the manifest
    copy
    python3 - "$bad/manifest.json" "$1" <<'PY'
import json, sys
m = json.load(open(sys.argv[1]))
exec(sys.argv[2])
json.dump(m, open(sys.argv[1], "w"))
PY
}
edit_manifest 'm["series"]["n_rows"] -= 1'
forged 2 'n_rows: got 1, and rows.csv has 2' "a series of fewer rows is found"
edit_manifest 'm["runs"].pop()'
forged 2 'got 1 runs, and rows.csv has 2' "a run that the manifest does not tell of is found"
edit_manifest 'm["runs"][0]["log"] = None; del m["runs"][0]["log"]'
forged 1 'is there, and manifest.json says otherwise' "a log that the manifest does not tell of is found"
edit_row id "$(basename "$d")/run-07"
forged 2 "got id '" "a row of another run's name is found"
copy && sed -i "s/Apache-2.0/MIT/" "$bad/dataset.json"
forged 2 'licence: got' "another licence is refused"
copy && sed -i '1s/$/,by/; 2,$s/$/,zaphod/' "$bad/rows.csv"
forged 1 "column 'by'" "a column of one's own is found"
copy && sed -i '1s/overlap_ep/zaphod/' "$bad/rows.csv"
forged 1 "column 'zaphod'" "so is a column that has another name"
edit_row layout 'Et*3|t*5|t*4|t*4mL'
forged 1 'own list of arguments' "a layout that is not the log's is found"
copy && rm "$bad/logs/run-01.txt.gz"
forged 1 'is not there' "a log that was taken away is missed"
copy && echo 'by zaphod' >"$bad/NOTES"
forged 1 'no file of a contribution' "a file of somebody's is found"
copy && echo 'by zaphod' | gzip >"$bad/logs/run-03.txt.gz"
forged 1 'no file of a contribution' "a log of no row is found"
copy && ln -s /etc/passwd "$bad/logs/run-03.txt.gz" && "$bench" validate "$bad" >review 2>err
[ $? -eq 2 ] && one_line err run-03
claim $? "forged: a link is found"
"$bench" contribute 'Et*3|t*5|t*4|t*4mL=a.log' b.log --gpu H100 --to no --consent >shown 2>err
[ $? -eq 1 ] && one_line err 'own list of arguments' && [ ! -e no ]
claim $? "a layout that is not the log's is refused when it is given, too"

sha=$(sed -n 's/.*log sha256 \([0-9a-f]*\),.*/\1/p' "$d/rows.csv" | head -n 1)
copy && sed -i "s/$sha/$(echo "$sha" | tr 0-9a-f g-v)/" "$bad/rows.csv"
forged 1 'log sha256' "a hash that is none is found"
# manifest.json and dataset.json: what follows from the rest is compared, and
# sentences are one plain line
while IFS='|' read -r file edit part; do
    copy && sed -i "$edit" "$bad/$file"
    cmp -s "$bad/$file" "$d/$file" && echo "not ok - '$edit' edits $file"
    resum "$bad" && "$bench" validate "$bad" >review 2>err
    status=$?
    [ $status -ge 1 ] && [ $status -le 2 ] && one_line err "$part"
    claim $? "forged: $file, $edit"
done <<'LIST'
manifest.json|s/moe-bench [0-9.]*"/moe-bench by zaphod"/|made_by
manifest.json|s/"card":\(.*\)"H100"/"card":\1"zaphod"/|card
manifest.json|s/"card"/"zaphod"/|zaphod
manifest.json|s/T[0-9][0-9]:/Tzz:/|given_utc
manifest.json|s/"given_utc"/"given_by": "zaphod", "given_utc"/|given_by
manifest.json|s/"date":\(.*\)"20../"date":\1"zapo/|date
manifest.json|s/"clock":\(.*\)"wall"/"clock":\1"zaphod"/|clock
manifest.json|s/"planned"/"by": "zaphod", "planned"/|zaphod\|by
manifest.json|s/"name":\(.*\)"units"/"name":\1"zaphod"/|zaphod
manifest.json|s/steps of a run are alike/by zaphod@acme.example/|zaphod
manifest.json|s/clocks, power cap/<b>zaphod, power cap/|zaphod
manifest.json|s/"secrets":.*,/"secrets": "zaphod",/|secrets
manifest.json|s/"id":\(.*\)"run-02"/"id":\1"zaphod"/|id
manifest.json|s/"timers"/"who": "zaphod", "timers"/|who
manifest.json|s/logs.run-02/logs\/zaphod/|zaphod
dataset.json|s/2 runs/2 runs by zaphod/|title
dataset.json|s/"note":.*/"note": "by zaphod"/|note
dataset.json|s/"url":.*/"url": "javascript:x",/|url
dataset.json|s/"source":.*/"source": "zaphod",/|source
LIST
rm -rf spoilt && mkdir spoilt && cp -r "$d" spoilt/zaphod && bad=spoilt/zaphod &&
    sed -i "s/$(basename "$d")/zaphod/g" "$bad/rows.csv" "$bad/dataset.json"
forged 1 "its hardware and date make '$(basename "$d")'" "a folder of another name is found"

rm -rf spoilt && mkdir spoilt && cp -r "$d" spoilt/ && cp -r "$d" "spoilt/$(basename "$d")-2"
bad=spoilt/$(basename "$d")-2 && sed -i "s/$(basename "$d")/&-2/g" "$bad/rows.csv" "$bad/dataset.json" &&
    (cd "$bad" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort |
        xargs sha256sum >SHA256SUMS)
"$bench" validate "$bad" >review 2>err
[ $? -eq 1 ] && grep -q 'duplicates: no: .*already' review
claim $? "a copy of a dataset beside it is found"
"$bench" validate "$bad" --baseline better.csv --update-baseline --reason test --junit junit.xml \
    >review 2>&1
grep -q '<testsuites tests="6" failures="1"' junit.xml && grep -q 'duplicates: .*already' junit.xml
claim $? "a file of JUnit has the checks, too"
python3 - better.csv <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
for r in rows:
    r.update(pred_step_ms=r["meas_step_ms"], step_error_pct="0")
with open(sys.argv[1], "w", newline="") as f:
    w = csv.DictWriter(f, rows[0], lineterminator="\n")
    w.writeheader()
    w.writerows(rows)
PY
"$bench" validate "$bad" --baseline better.csv >review 2>err
[ $? -eq 1 ] && grep -q "^$bad: worse: step error" review &&
    [ "$(tail -n 1 review | cut -d: -f-2)" = "worse: 1 of 1 datasets" ]
claim $? "one with worse figures as well is one of one dataset that is worse"

# ---- checks ----
no() { # PART CLAIM ARG...: exit 1, nothing written
    part=$1 text=$2
    shift 2
    "$bench" contribute "$@" --to no --consent >shown 2>err
    [ $? -eq 1 ] && one_line err "$part" && [ ! -e no ]
    claim $? "$text"
}
no 'series: 5 runs' "runs that were left out are asked for" a.log b.log --gpu H100 --series 5
no 'same run' "the same log twice is refused" a.log b.log a.log --gpu H100
"$bench" contribute a.log b.log --gpu H100 --to out --consent >shown 2>err
[ $? -eq 1 ] && one_line err 'already'
claim $? "what was contributed before is refused"
head -60 a.log >short.log
no 'iterations' "a log with too few iterations is refused" short.log b.log --gpu H100
megatron_log 'Et*4|t*4|t*4|t*4mL' 2 >fast.log
no 'rate: .*of the peak of H100' "a rate above the card's peak is refused" fast.log b.log --gpu H100
sed 's/t\*4mL/t*3mL/' a.log >refused.log
no 'refuses this run' "a layout that Megatron refuses is refused" refused.log b.log --gpu H100
"$bench" contribute a.log b.log --to no >shown 2>err
[ $? -eq 2 ] && one_line err '--gpu'
claim $? "a card that is not named is asked for"
"$bench" contribute --to no >shown 2>err
[ $? -eq 2 ] && one_line err 'nothing to contribute'
claim $? "nothing to contribute is said"
"$bench" contribute missing.log --gpu H100 --to no >shown 2>err
[ $? -eq 2 ] && one_line err missing.log
claim $? "a missing log is named"

# ---- a launch script, logs without a list of arguments ----
cat >launch.sh <<'SH'
#!/bin/bash
#SBATCH --account=orionresearch --job-name=orion-moe-v3 --mail-user=alice@acme.example
export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567
export PGPASSWORD=correcthorse
MASTER_ADDR=gpu-node-017.cluster.local
MORE=(--log-interval 1)
torchrun "${MORE[@]}" --nproc-per-node 4 --master-addr $MASTER_ADDR /home/alicesmith/pretrain_gpt.py \
    --num-layers 16 --hidden-size 2048 --num-attention-heads 16 --num-experts 64 \
    --moe-ffn-hidden-size 1024 --moe-router-topk 8 --mtp-num-layers 1 --vocab-size 128256 \
    --seq-length 4096 --max-position-embeddings 4096 --position-embedding-type rope \
    --normalization RMSNorm --swiglu --disable-bias-linear --bf16 --micro-batch-size 1 \
    --global-batch-size 64 --pipeline-model-parallel-size 4 --data-path /lustre/fsw/teamplutonium \
    --tokenizer-model /home/alicesmith/tok.model --wandb-project orion-secret --save s3://orion-checkpoints
SH
grep -v ' \.\.\.\.\.' a.log >c.log
grep -v ' \.\.\.\.\.' b.log >e.log
"$bench" contribute c.log e.log --gpu H100 --to no --consent >shown 2>err
[ $? -eq 2 ] && one_line err '--config'
claim $? "a log without its arguments asks for the script"
"$bench" contribute 'Et*4|t*4|t*4|t*4mL=c.log' 'Et*5|t*5|t*4|t*2mL=e.log' --config launch.sh \
    --gpu H100 --to script --consent >shown 2>err
claim $? "logs with layouts and a launch script are contributed"
grep 'alice@acme' shown | grep -q addresses && ! grep -q 'addresses.*[ ,]@\(,\|$\)' shown
claim $? "the @ of an array is no address"
s=$(echo script/h100-4x-20*)
[ -z "$(survives "$s")" ]
claim $? "nothing that was planted in the script survives: $(survives "$s" | tr '\n' ' ')"
"$bench" validate "$s" >review 2>err
claim $? "a reviewer takes it"

# ---- hybrid models: the layout is a pattern ----
hybrid_log() { # PATTERN MS
    megatron_log "$1" "$2" | sed -e '/ num_layers \./d' -e '/ mtp_num_layers \./d' \
        -e 's/  pipeline_model_parallel_layout \./  hybrid_layer_pattern ./' \
        -e 's/^  bf16 .*/&\n  mamba_num_heads ............... 64\n  mamba_head_dim ........ 64/'
}
hybrid_log 'M*ME|M*ME|M*ME|M*ME/*E' 1700 >h1.log
hybrid_log 'M*MEM*|MEM*|ME|M*ME/*E' 1500 >h2.log
"$bench" contribute h1.log h2.log --gpu H100 --core 0.19 --series 2 --to hybrid --consent >shown 2>err
claim $? "logs of a hybrid model are contributed"
h=$(echo hybrid/h100-4x-20*)
grep -q 'M\*MEM\*|MEM\*|ME|M\*ME/\*E' "$h/rows.csv" && grep -q hybrid_layer_pattern "$h/model.json" &&
    gunzip -c "$h/logs/run-02.txt.gz" | grep -q 'hybrid_layer_pattern .*MEM' && [ -z "$(survives "$h")" ]
claim $? "rows, model and logs have its pattern"
! grep -q 'unit costs from step times' "$h/manifest.json" &&
    grep -q "do not tell the costs of a hybrid model's symbols" "$h/manifest.json"
claim $? "what its step times do not tell is said"
"$bench" validate "$h" >review 2>err
claim $? "a reviewer takes it"
"$bench" contribute --step 'M*ME|M*ME|M*ME|M*ME/*E=1700' --step 'M*MEM*|MEM*|ME|M*ME/*E=1500' \
    --config h1.log --core 0.19 --gpu H100 --to hybrid-typed --consent >shown 2>err
claim $? "typed steps of patterns are contributed"
hybrid_log 'M*ME|MME*|M*ME|M*ME/*E' 1500 >h3.log
"$bench" contribute h1.log h3.log --gpu H100 --core 0.19 --to no --consent >shown 2>err
[ $? -eq 2 ] && one_line err 'another model'
claim $? "symbols in another order are another model"

# ---- typed ----
"$bench" contribute --step 'Et*4|t*4|t*4|t*4mL=1700' --step 'Et*5|t*5|t*4|t*2mL=1500' \
    --config launch.sh --gpu H100 --to typed --consent >shown 2>err
claim $? "typed step times are contributed"
t=$(echo typed/h100-4x-20*)
[ ! -e "$t/logs" ] && grep -q ',1\.7,typed in,' "$t/rows.csv" && [ -z "$(survives "$t")" ] &&
    "$bench" validate "$t" >review 2>err
claim $? "they are rows that a reviewer takes"
printf 'layout,step_s\nEt*4|t*4|t*4|t*4mL,1.7\nEt*5|t*5|t*4|t*2mL,1.5\n' >steps.csv
"$bench" contribute --steps steps.csv --config launch.sh --gpu H100 --to table --consent \
    >shown 2>err && diff "$t/rows.csv" "$(echo table/h100-4x-20*)/rows.csv"
claim $? "a table of step times gives the same rows"
no 'units: .*is the time in seconds' "seconds in place of milliseconds are named" \
    --step 'Et*4|t*4|t*4|t*4mL=1.7' --step 'Et*5|t*5|t*4|t*2mL=1.5' --config launch.sh --gpu H100
no 'layouts' "one typed layout is refused" \
    --step 'Et*4|t*4|t*4|t*4mL=1700' --config launch.sh --gpu H100
"$bench" contribute --step 'Et*4|t*4mL' --config launch.sh --gpu H100 --to no >shown 2>err
[ $? -eq 2 ] && one_line err 'LAYOUT=MS'
claim $? "a step without a time is refused"

# ---- the page ----
grep -o '`moe-bench contribute [^`]*--dry-run`' "$here/docs/contributing-step-times.md" |
    tr -d '`' | grep -v results/NAME >page
[ "$(wc -l <page)" -eq 2 ]
claim $? "the page has a command for logs and one for typed times"
bad=0
while IFS= read -r command; do
    eval "\"$bench\" ${command#moe-bench }" >shown 2>err || bad=1
done <page
[ $bad -eq 0 ]
claim $? "they run as they stand"
[ "$(wc -l <"$here/docs/contributing-step-times.md")" -le 12 ]
claim $? "it is ten lines"

# ---- consent on a terminal ----
on_terminal() { # WORD: what is typed; exit status of contribute
    python3 - "$1" "$bench" contribute a.log b.log --gpu H100 --to tty >tty.out <<'PY'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen = b""
try:
    while b"agree: " not in seen:
        seen += os.read(fd, 4096)
    os.write(fd, sys.argv[1].encode() + b"\n")
    while True:
        seen += os.read(fd, 4096)
except OSError:
    pass
print(seen.decode(errors="replace"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
}
if python3 -c 'import os; os.openpty()' 2>/dev/null; then
    on_terminal no
    [ $? -eq 1 ] && [ ! -e tty ] && grep -q 'no consent' tty.out
    claim $? "no on a terminal writes nothing"
    on_terminal yes && [ -f "$(echo tty/h100-*)/rows.csv" ]
    claim $? "yes on a terminal is consent"
else
    echo "ok - consent on a terminal # SKIP this machine has no terminals (/dev/pts)"
fi

# ---- an experiment ----
"$bench" run -q "$here/tests/fixtures/fake.json" --out fake >shown 2>&1
for r in fake/runs/*; do
    printf '["WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "HOSTNAME=gpu-node-017.cluster.local", "HOME=/home/alicesmith"]' >"$r/env.json"
done
"$bench" contribute fake --to no --consent >shown 2>err
[ $? -eq 2 ] && one_line err '--gpu'
claim $? "a name for machines that is no card's is not taken from a manifest"
"$bench" contribute fake --gpu cpu --to exp --consent --example >shown 2>err
claim $? "an experiment's folder is contributed"
x=$(echo exp/cpu-*-example)
[ -f "$x/rows.csv" ] && [ -z "$(survives "$x")" ] && grep -q '"example"' "$x/manifest.json"
claim $? "nothing that was planted in environments survives, and it is marked as an example"
"$bench" validate "$x" >review 2>err
claim $? "a reviewer takes it"
one=$(ls -d fake/runs/r01-* | head -1)
mv "$one" aside
"$bench" contribute fake --gpu cpu --to no --consent >shown 2>err
[ $? -eq 1 ] && one_line err 'not there' && [ ! -e no ]
claim $? "a run that was taken out of the series is missed"
mv aside "$one" && echo x >>"$one/log.txt"
"$bench" contribute fake --gpu cpu --to no --consent >shown 2>err
[ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -e no ]
claim $? "a run whose log was changed is refused"

cp "$here/tests/fixtures/fake_trainer.sh" .
sed 's/"rounds": 2/"rounds": 1/; s/{"role": "pick"}, {"role": "default"}, {"role": "count-based"}/{"role": "layout", "layout": "Et*4|t*4|t*2|t*2mL"}, {"role": "layout", "layout": "Et*5|t*3|t*2|t*2mL"}/' \
    "$here/tests/fixtures/fake.json" >two.json
"$bench" run -q two.json --out two >shown 2>&1
for r in two/runs/*layout*; do mv "$r" "gone-$(basename "$r")"; done
"$bench" contribute two --gpu cpu --to no --consent >shown 2>err
[ $? -eq 1 ] && one_line err '2 planned runs' && [ ! -e no ]
claim $? "two runs of one role are two"

# ---- bare validate has contributed folders, too ----
mkdir -p all/results && cp -r "$here"/results/[bcpr]* all/results/ &&
    cp -r out/* all/results/contributed/
(cd all && "$bench" validate >../review 2>../err)
claim $? "validate without a folder looks at contributed ones"
grep -q "contributed/$(basename "$d"): ok" review
claim $? "and says so"

# ---- the check of a pull request ----
mkdir repo && (
    cd repo && git init -q . && git config user.email a@b && git config user.name n &&
        mkdir -p results && echo x >results/README.md && git add -A && git commit -qm base &&
        git tag base && cp -r ../out results/contributed && git add -A && git commit -qm step
) >git.log 2>&1
(cd repo && sh "$here/tests/check_contributed.sh" "$bench" base) >review 2>err
[ $? -eq 0 ] && grep -q '^1 contributed datasets looked at, all pass' review
claim $? "a pull request with a whole folder passes"
(cd repo && mkdir results/contributed/junk && echo x >results/contributed/junk/x &&
    git add -A && git commit -qm junk && sh "$here/tests/check_contributed.sh" "$bench" base) >review 2>err
[ $? -eq 1 ] && grep -q 'junk: no contributed dataset' review
claim $? "one with something else there does not"

# ---- two at once ----
for i in 1 2 3 4; do
    "$bench" contribute a.log b.log --gpu H100 --to several --consent >shown 2>err$i &
done
wait
[ "$(ls -A several)" = "$(basename "$d")" ] && [ "$(cat err1 err2 err3 err4 | grep -c already)" -eq 3 ]
claim $? "of several at once one is written, and the others are told"

# ---- kills and a full disk ----
rm -rf killed
i=0 half=0
while [ $i -lt 8 ]; do
    i=$((i + 1))
    "$bench" contribute a.log b.log --gpu H100 --to killed --consent >/dev/null 2>&1 &
    pid=$!
    sleep "0.0$((i * 13 % 97 + 10))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    for f in killed/h100*; do
        [ -e "$f" ] || continue
        "$bench" validate "$f" >/dev/null 2>&1 || half=1
        rm -rf "$f"
    done
done
[ $half -eq 0 ]
claim $? "kill -9 leaves no half dataset"
"$bench" contribute a.log b.log --gpu H100 --to killed --consent >/dev/null 2>&1 &&
    [ "$(ls -A killed | wc -l)" -eq 1 ]
claim $? "the next one removes what a killed one left"
mkdir small
if mount -t tmpfs -o size=16k none small 2>/dev/null; then
    "$bench" contribute a.log b.log --gpu H100 --to small --consent >shown 2>err
    status=$?
    left=$(ls -A small | wc -l)
    umount small
    [ $status -eq 3 ] && one_line err small && [ "$left" -eq 0 ]
    claim $? "a full disk is one line and exit 3, and nothing is left"
else
    echo "ok - a full disk # SKIP cannot mount a small tmpfs here"
fi
