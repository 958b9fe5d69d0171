#!/bin/sh
# Commands planted in every text of a manifest that reaches a job's script, the
# command line that hands it over, or a dry run that somebody pastes into a
# shell: the text is refused or arrives as a word, and nothing of it runs.
set -u
bench=$(pwd)/${BUILD:-build/release}/moe-bench
root=$(pwd)
fixtures=$root/tests/fixtures
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. tests/cli/common.sh

# programs that a script may start, all without effect
mkdir "$work/bin" "$work/here"
for p in hf sbatch srun torchrun git module nvidia-smi mpirun scontrol; do
    printf '#!/bin/sh\nexit 0\n' >"$work/bin/$p"
    chmod 755 "$work/bin/$p"
done
: >"$work/pretrain_gpt.py"

model=$(sed -n '/"model": {/,/^  },/p' "$fixtures/fake.json" |
    sed -e 's/"model": //' -e 's/^  },/}/')

# LAUNCHER TRAINER GPU [MODEL]: JSON texts, as they stand
manifest() {
    cat >"$work/m.json" <<JSON
{ "format": "moe-bench/experiment/1", "name": "fake",
  "model": ${4:-$model},
  "parallel": {"pp": 4},
  "batch": {"micro_batch": 1, "global_batch": 8, "seq_tokens": 32},
  "hardware": {"gpu": "$3", "count": 4},
  "launcher": {$1}, "trainer": {"kind": "megatron", $2},
  "iterations": {"warmup": 1, "count": 5},
  "profile": {"runs": ["Et*5|t*2|t*3|t*2mL", "Et*3|t*3|t*5|tmL"]},
  "measure": [{"role": "default"}], "limits": {"run_s": 60} }
JSON
}

# True when the manifest is taken or refused with one line, and what a dry run
# prints has no effect in a shell.
harmless() {
    rm -f "$work"/here/* "$work/PWNED"
    (cd "$work/here" && "$bench" run ../m.json --dry-run --out r) \
        >"$work/out" 2>"$work/err"
    status=$?
    [ $status -eq 0 ] ||
        { [ $status -eq 2 ] && [ "$(grep -c '^moe-bench run: ' "$work/err")" -eq 1 ]; } ||
        return 1
    (cd "$work/here" && PATH=$work/bin:$PATH timeout 20 bash "$work/out") \
        >/dev/null 2>&1 </dev/null
    [ -z "$(find "$work" -name 'PWNED*')" ]
}

commit=3bec9aa97dda898d16ff5a89bac0ed2b6682b172
slurm='"kind": "slurm"'
hf='"kind": "hf-jobs"'
hf_all='"kind": "hf-jobs", "per": "experiment", "results": "hf://buckets/me/x"'
train="\"container\": \"image:tag\", \"commit\": \"$commit\""

# the manifests themselves are good, or nothing below says anything
good=0
for l in "$slurm" "$hf" "$hf_all"; do
    manifest "$l" "$train" H100
    harmless && [ $status -eq 0 ] || good=1
done
claim $good "a dry run of Slurm and of Hugging Face can be pasted into a shell"

# what a JSON text holds after its escapes: quotes, substitutions, a newline
bad=0 n=0
for evil in 'x; touch PWNED' '$(touch PWNED)' '`touch PWNED`' \
    "x'; touch PWNED; '" 'x\ntouch PWNED\n' 'x\n#SBATCH --x\ntouch PWNED\n' \
    'x\rtouch PWNED' 'x|touch PWNED' 'x && touch PWNED' '-x\ntouch PWNED\n' \
    "'\ntouch PWNED\n'" '\"; touch PWNED; \"'; do
    for key in partition account flavor namespace results rendezvous platform; do
        for l in "$slurm" "$hf" "$hf_all"; do
            # a second key of the name is an error of its own
            case $l in *"\"$key\""*) continue ;; esac
            manifest "$l, \"$key\": \"$evil\"" "$train" H100
            harmless || { bad=1; printf "# %s\n" "launcher.$key: $evil"; }
            n=$((n + 1))
        done
    done
    for key in modules mounts env; do
        for l in "$slurm" "$hf"; do
            for form in "$evil" "A=$evil" "/a:$evil"; do
                manifest "$l, \"$key\": [\"$form\"]" "$train" H100
                harmless || { bad=1; printf "# %s\n" "launcher.$key: $form"; }
                n=$((n + 1))
            done
        done
    done
    for l in "$slurm" "$hf" "$hf_all"; do
        manifest "$l" "\"container\": \"image:tag\", \"commit\": \"$evil\"" H100
        harmless || { bad=1; printf "# %s\n" "trainer.commit: $evil"; }
        manifest "$l" "\"container\": \"$evil\", \"commit\": \"$commit\"" H100
        harmless || { bad=1; printf "# %s\n" "trainer.container: $evil"; }
        manifest "$l" "$train, \"entry\": \"$evil\"" H100
        harmless || { bad=1; printf "# %s\n" "trainer.entry: $evil"; }
        manifest "$l" "$train, \"args\": [\"--x\", \"$evil\"]" H100
        harmless || { bad=1; printf "# %s\n" "trainer.args: $evil"; }
        manifest "$l" "$train" "$evil"
        harmless || { bad=1; printf "# %s\n" "hardware.gpu: $evil"; }
        n=$((n + 5))
    done
    manifest '"kind": "command", "command": ["sh", "'"$evil"'"], "env": ["A='"$evil"'"]' \
        "\"entry\": \"pretrain_gpt.py\"" H100
    harmless || { bad=1; printf "# %s\n" "launcher.command: $evil"; }
done
[ $bad -eq 0 ] && [ $n -gt 400 ]
claim $? "commands in $n texts of manifests are refused, or words without effect"

# lines are a user's own commands, but each is one line
manifest "$slurm, \"lines\": [\"#SBATCH --mem=0\\ntouch PWNED\"]" "$train" H100
harmless && [ $status -eq 2 ] && grep -q 'launcher.lines\[0\]: got' "$work/err"
claim $? "a line of launcher.lines that holds another is refused"

# ---- names of folders --------------------------------------------------------
manifest "$hf_all" "$train" H100
out=$(printf 'r\ntouch PWNED\n')
(cd "$work/here" && "$bench" run ../m.json --dry-run --out "$out") \
    >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && ! grep -q '^touch' "$work/out"
claim $? "a folder of results with a newline is refused by a job"
manifest '"kind": "command", "command": ["sh"]' '"entry": "pretrain_gpt.py"' H100
(cd "$work/here" && "$bench" run ../m.json --dry-run --out "$out") \
    >"$work/out" 2>"$work/err"
[ $? -eq 0 ] && ! grep -q '^touch' "$work/out"
claim $? "and stays within its comment elsewhere"

# ---- environment ---------------------------------------------------------------
manifest '"kind": "command", "command": ["printenv", "A_B"], "env": ["A_B=b  c"]' \
    '"entry": "pretrain_gpt.py"' H100
"$bench" run "$work/m.json" --dry-run --out "$work/r" |
    sed -n 's/^\(.*printenv A_B\) .*/\1/p' | head -n 1 >"$work/line"
[ "$(sh "$work/line")" = 'b  c' ]
claim $? "a printed variable is an assignment, also with blanks in its value"

# ---- what a job carries ----------------------------------------------------------
PATH=$fixtures/bin:$PATH
export PATH FAKE_HF="$work/hf"
carry() { # MODEL: runs the experiment with that model path
    rm -rf "$FAKE_HF" "$work/x"
    mkdir -p "$FAKE_HF" "$work/x/y"
    : >"$FAKE_HF/jobs"
    echo "$model" | sed -e '1s/{/{ "format": "moe-layout\/model\/1",/' \
        >"$work/x/model.json"
    cp "$work/x/model.json" "$work/x/y/model.json"
    manifest "$hf_all, \"poll_s\": 0.1" \
        '"container": "image:tag", "entry": "pretrain_gpt.py"' H100 "\"$1\""
    cp "$work/m.json" "$work/x/y/m.json"
    cp "$work/m.json" "$work/x/y/moe-bench"
    (cd "$work/x/y" && FAKE_ROOT=$root "$bench" run -q "${2:-m.json}" \
        --out out) >/dev/null 2>"$work/err"
}

carry ../model.json
[ $? -eq 2 ] && [ ! -e "$FAKE_HF/count" ] &&
    grep -q "model: got '../model.json', want a path below" "$work/err"
claim $? "a model above the manifest is refused by a job that carries it"
carry y/../../model.json
[ $? -eq 2 ] && [ ! -e "$FAKE_HF/count" ]
claim $? "also when its path goes down first"
carry model.json moe-bench
[ $? -eq 2 ] && [ ! -e "$FAKE_HF/count" ] &&
    grep -q "carries another file as 'moe-bench'" "$work/err"
claim $? "a manifest under the name of the program is refused"
carry model.json
[ -e "$FAKE_HF/count" ] && [ -f "$work/x/y/out/job/carry/model.json" ]
claim $? "a model below the manifest is carried"
