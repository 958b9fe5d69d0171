#!/bin/sh
# Hybrid patterns as a user meets them: check and check --batch with GPT lines
# between, translate both ways and --batch, versions; then the shared vectors.
L=${BUILD:-build/release}/moe-layout
M=experiments/models/7b-a1b.json
V=../shared/vectors
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

. tests/cli/common.sh

pick() { # KEYS of every line of stdin, space between
    python3 -c 'import json, sys
for line in sys.stdin:
    d = json.loads(line)
    print(*[json.dumps(d.get(k)) for k in sys.argv[1].split(",")])' "$1"
}

# ---- check ----
"$L" check -- --hybrid-layer-pattern '|M*ME|E/*E' \
    --pipeline-model-parallel-size 3 --position-embedding-type rope \
    >"$tmp/out" 2>"$tmp/err"
is "a pattern is judged: exit 0, ranks with symbols, MTP and L at the end" \
    "$? $(tr -s ' ' <"$tmp/out")" \
"0 valid: '|M*ME|E/*E'
rank chunk stage layers units
0 0 0 - E
1 0 1 0-3 M*ME
2 0 2 4-4 E /*E L"
"$L" check --pp 2 -- --hybrid-layer-pattern 'M*M' >"$tmp/out" 2>"$tmp/err"
is "what does not divide is told to want bars, and has its layers" \
    "$? $(grep -c "want 2 segments with '|'" "$tmp/out") $(grep -c ' 3 layers of' "$tmp/err")" \
    "1 1 1"
"$L" check --core 0.18 'M*|+E' --pp 2 -- --num-layers 4 >"$tmp/out" 2>/dev/null
is "the first rule that fails, by version, with its place" \
    "$? $(cat "$tmp/out")" \
"1 not valid: hybrid pattern: a character that is no layer: got '+', want MG*D-E
  M*|+E
     ^
Megatron: hybrid_layer_allocation.py _validate_pattern"
"$L" check --json 'M*|*M|M' --pp 2 -- --num-layers 4 >"$tmp/out" 2>/dev/null
is "JSON names it" "$? $(tr -d '\n' <"$tmp/out" | pick valid,error,where)" \
    '1 false "segments_not_divisible" "arguments"'
"$L" check --pp 3 -- --hybrid-layer-pattern 'M*-EM*' \
    --decoder-first-pipeline-num-layers 4 \
    --decoder-last-pipeline-num-layers 4 >"$tmp/out" 2>/dev/null
is "segments that do not cover the layers are refused, with a word" \
    "$? $(grep -c 'do not add up to the pattern' "$tmp/out")" "1 1"
"$L" check --pp 2 --ep 2 -- --hybrid-layer-pattern '*E|*E|*E|*E' \
    --num-experts 4 --overlap-moe-expert-parallel-comm --bf16 \
    --disable-bias-linear >"$tmp/out" 2>/dev/null
is "EP overlap is refused" "$? $(grep -c '^not valid' "$tmp/out") \
$(grep -c 'for GPT models only' "$tmp/out")" "1 1 1"
for core in 0.16 0.17 0.18 0.19 0.20 dev; do
    for pattern in 'M*|-E' 'MG|-E' 'MD|-E' 'M+|-E'; do
        "$L" check "$pattern" --pp 2 --core $core -- --num-layers 4 \
            >/dev/null 2>&1
        printf %s $?
    done
    printf ' '
done >"$tmp/out"
is "* G D + by version" "$(cat "$tmp/out")" "1111 0011 0001 0000 0000 0000 "
"$L" check --core 0.16 --pp 2 -- --hybrid-override-pattern 'M*ME' \
    --num-layers 4 >"$tmp/out" 2>/dev/null
is "before 0.17: a list of layers, dealt out evenly, no bars in it" \
    "$? $(head -n 1 "$tmp/out") $(tail -n 1 "$tmp/out" | tr -s ' ')" \
    "0 valid: 'M*ME' 1 0 1 2-3 ME L"
printf '%s\n' '#!/bin/bash' 'torchrun --nproc_per_node 8 pretrain_hybrid.py \' \
    "    --hybrid-layer-pattern 'M*ME|MEM*' --pipeline-model-parallel-size 2 \\" \
    '    --hidden-size 256 --num-attention-heads 4 --seq-length 1024 \' \
    '    --micro-batch-size 1 --global-batch-size 8 --num-experts 8 \' \
    '    --max-position-embeddings 1024 --disable-bias-linear \' \
    '    --spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec' \
    >"$tmp/run.sh"
"$L" check "$tmp/run.sh" >"$tmp/out" 2>"$tmp/err"
is "a script with a pattern and its --spec" \
    "$? $(head -n 1 "$tmp/out") $(grep -c ' 8 layers of width 256' "$tmp/err")" \
    "0 valid: 'M*ME|MEM*' 1"
sed 's/hybrid_layer_specs/own_specs/' "$tmp/run.sh" >"$tmp/own.sh"
"$L" check "$tmp/own.sh" >/dev/null 2>"$tmp/err"
is "a specification that nobody knows stops it" \
    "$? $(grep -c -e '--spec: what it makes' "$tmp/err")" "2 2"
printf 'MODEL_ARGS:\n  --hybrid-layer-pattern: "M*M*/M"\n  --pipeline-model-parallel-size: 2\n' >"$tmp/c.yaml"
"$L" check "$tmp/c.yaml" >"$tmp/out" 2>/dev/null
is "YAML; MTP wants positions that Megatron's default is not" \
    "$? $(grep -c 'rope or none' "$tmp/out")" "1 1"
cat >"$tmp/run.log" <<'END'
------------------------ arguments ------------------------
  global_batch_size ............................... 8
  hidden_size ..................................... 256
  hybrid_layer_pattern ............................ M*|ME|ME|M*
  hybrid_override_pattern ......................... M*|ME|ME|M*
  num_layers ...................................... 8
  num_virtual_stages_per_pipeline_rank ............ None
  pipeline_model_parallel_size .................... 2
  position_embedding_type ......................... none
  virtual_pipeline_model_parallel_size ............ 2
-------------------- end of arguments ---------------------
END
"$L" check "$tmp/run.log" >"$tmp/out" 2>/dev/null
is "a log lists the alias beside it, and virtual stages that follow from it" \
    "$? $(head -n 1 "$tmp/out")" "0 valid: 'M*|ME|ME|M*'"
sed '/hybrid_layer_pattern/s|$|/*E|' "$tmp/run.log" >"$tmp/mtp.log"
"$L" check "$tmp/mtp.log" >"$tmp/out" 2>/dev/null
is "a log's alias may lack the MTP depths that were joined to it" \
    "$? $(head -n 1 "$tmp/out")" "0 valid: 'M*|ME|ME|M*/*E'"
"$L" check --pp 2 -- --hybrid-layer-pattern 'M*|ME' --mtp-num-layers 2 \
    --mtp-hybrid-override-pattern '*E' --position-embedding-type none \
    >"$tmp/out" 2>/dev/null
is "the older flag for MTP is joined, once for each depth" \
    "$? $(head -n 1 "$tmp/out")" "0 valid: 'M*|ME/*E/*E'"

# ---- many ----
cat >"$tmp/lines" <<'END'
{"pattern": "M*|M*", "pp": 2, "flags": {}}
{"layout": "Et|tL", "pp": 2, "num_layers": 2}
{"pattern": null, "pp": 1, "flags": {"override": "M*X"}}
{"pattern": "M*M*M*", "pp": 4, "flags": {"last": 3, "num_layers": 5}}
{"pattern": "M*-EM*", "pp": 3, "flags": {"first": 4, "last": 4}}
END
is "lines of both kinds in one file" \
    "$("$L" check --batch "$tmp/lines" | pick valid,error,vpp,segments,covers)" \
'true "" 1 ["M*", "M*"] true
true "" 1 null null
false "main_symbol" 0 [] false
true "" 1 ["M", "*", "M", "*M*"] true
true "" 1 ["M*-E", "", "-EM*"] false'
is "what is overridden or does not cover is told of" \
    "$("$L" check --batch "$tmp/lines" | pick warnings | cut -c 1-40 | sed -n '4,5p')" \
'["--num-layers 5 is ignored: the pattern
["a pattern without bars over several ra'
cat >"$tmp/lines" <<'END'
{"pattern": "M+|M+", "pp": 2, "flags": {}}
{"pattern": null, "pp": 2, "flags": {"override": "M*-M", "num_layers": 4}}
{"layout": "E|t|m|mL", "pp": 4, "num_layers": 1, "mtp_num_layers": 2}
{"layout": "Et|m|L", "pp": 3, "num_layers": 1, "mtp_num_layers": 1}
END
for core in 0.15 0.18 0.19 dev; do
    "$L" check --batch "$tmp/lines" --core $core | pick error | tr '\n' ' '
done >"$tmp/out"
is "a batch by one version, where --core names it" "$(cat "$tmp/out")" \
    '"core_version" "" "m_split" "core_version" "main_symbol" "" "m_split" "" "" "" "m_split" "" "" "" "" "" '
for line in '{"pattern": null, "pp": 1}' '{"pattern": "M", "pp": 0}' \
    '{"pattern": "M"}' '{"pattern": 3, "pp": 1}' \
    '{"pattern": "M", "pp": 1, "flags": {"frist": 1}}'; do
    echo "$line" | "$L" check --batch /dev/stdin >/dev/null 2>"$tmp/err"
    printf '%s ' "$?:$(wc -l <"$tmp/err")"
done >"$tmp/out"
is "lines that ask nothing: exit 2, one line" "$(cat "$tmp/out")" \
    "2:1 2:1 2:1 2:1 2:1 "

# ---- translate ----
"$L" translate $M 'Et*8|t*8mL' --pp 2 >"$tmp/out" 2>/dev/null
is "a layout as a pattern, quoted, with the flags that go" \
    "$? $(sed -n 1,2p "$tmp/out")" \
"0 --hybrid-layer-pattern '*E*E*E*E*E*E*E*E|*E*E*E*E*E*E*E*E/*E'
remove: --num-layers --pipeline-model-parallel-layout --mtp-num-layers"
is "what a checkpoint can follow" "$(grep -c 'none of the GPT model loads: MTP' \
    "$tmp/out") $("$L" translate 'Et|tL' --pp 2 -- --num-layers 2 |
        grep -c '2 layers) loads into this')" "1 1"
"$L" translate '*-*E|*E*E/*E' --pp 2 >"$tmp/out" 2>"$tmp/err"
is "a pattern alone as a layout with its flags" \
    "$? $(sed -n 1,3p "$tmp/out") $(wc -c <"$tmp/err")" \
"0 --pipeline-model-parallel-layout 'Et*2|t*2mL'
add: --num-layers 4 --moe-layer-freq '([0]*1+[1]*3)' --mtp-num-layers 1
remove: --hybrid-layer-pattern 0"
"$L" translate --pp 2 'GE*E|GE*E' >"$tmp/out" 2>/dev/null
is "gated delta net between" "$(sed -n 2p "$tmp/out" | cut -d' ' -f 4-)" \
    "--moe-layer-freq '([1]*4)' --experimental-attention-variant gated_delta_net --linear-attention-freq '([1]*1+[0]*1+[1]*1+[0]*1)'"
for word in 'Et*8|t*8m|L' '*E*|E*E' 'ME' '+EDE' '*E*E/*-' '*X'; do
    "$L" translate $M "$word" --pp "$(echo "$word" | tr -cd '|' | wc -c |
        sed 's/$/+1/' | bc)" --json 2>/dev/null | tr -d '\n' | pick error
done >"$tmp/out"
is "reasons by name" "$(tr '\n' ' ' <"$tmp/out")" \
    '"mtp_not_with_loss" "cut_inside_layer" "not_gpt_layers" "mixed_attention" "mtp_not_last_layer" "bad_char" '
"$L" translate $M 'Et*8|t*8m|L' --pp 3 >"$tmp/out" 2>/dev/null
is "no translation: exit 1 and the sentence" \
    "$? $(grep -c '^no translation: MTP of a hybrid' "$tmp/out")" "1 1"
"$L" translate $M --pp 4 2>/dev/null | head -n 1 >"$tmp/out"
is "the default split has a pattern, too" "$(cat "$tmp/out")" \
    "--hybrid-layer-pattern '*E*E*E*E|*E*E*E*E|*E*E*E*E|*E*E*E*E/*E'"
dsa='--experimental-attention-variant dsa'
for flags in '' '--multi-latent-attention' "--multi-latent-attention $dsa" \
    "--multi-latent-attention $dsa --dsa-indexer-topk-freq 4" \
    '--experimental-attention-variant mamba' \
    '--experimental-attention-variant gdn' \
    '--experimental-attention-variant gdn --linear-attention-freq 2'; do
    # shellcheck disable=SC2086
    "$L" translate 'Et|tmL' --pp 2 -- --num-layers 2 --mtp-num-layers 1 \
        --num-experts 8 --moe-layer-freq '([0]*1+[1]*1)' $flags 2>/dev/null |
        sed -n '1s/.*pattern //p;1s/^\(no translation\).*/\1/p'
done >"$tmp/out"
is "attention of each sort" "$(tr '\n' ' ' <"$tmp/out")" \
    "'*-|*E/*E' '+-|+E/+E' 'D-|DE/DE' no translation no translation no translation 'G-|*E/*E' "
"$L" translate "$tmp/run.sh" >"$tmp/out" 2>/dev/null
is "a script whose pattern has Mamba layers has none" \
    "$? $(cut -c 1-15 "$tmp/out")" "1 no translation:"
cat >"$tmp/lines" <<'END'
{"dir":"layout_to_pattern","layout":"Ett|tmL","pp":2,"moe":"dee","attention":"+"}
{"dir":"layout_to_pattern","layout":"Ett|tL","pp":2,"moe":"de","attention":"+"}
{"dir":"pattern_to_layout","pattern":"*-*E|*E","pp":2}
{"dir":"pattern_to_layout","pattern":"*-*|E","pp":2}
END
is "translate --batch" "$("$L" translate --batch "$tmp/lines" |
    pick pattern,layout,moe,attention,error)" \
'"+-+E|+E/+E" null null null ""
"" null null null "t_count"
null "Ett|tL" "dee" "*" ""
null "" "" "" "cut_inside_layer"'
for line in '{"dir":"sideways","pp":1}' \
    '{"dir":"pattern_to_layout","pp":1}' \
    '{"dir":"layout_to_pattern","layout":"EtL","pp":1,"moe":"x","attention":"*"}' \
    '{"dir":"layout_to_pattern","layout":"EtL","pp":1,"moe":"d","attention":"**"}' \
    'no'; do
    echo "$line" | "$L" translate --batch /dev/stdin >/dev/null 2>"$tmp/err"
    printf '%s ' "$?:$(wc -l <"$tmp/err")"
done >"$tmp/out"
is "lines of another form: exit 2, one line" "$(cat "$tmp/out")" \
    "2:1 2:1 2:1 2:1 2:1 "

# ---- open proposals ----
for core in 0.20 dev; do
    for layout in 'Et|t|m|mL' 'Et|t|L|mL' 'Et|t|m|LL'; do
        "$L" check "$layout" --pp 4 --core $core -- --num-layers 2 \
            --mtp-num-layers "$(echo "$layout" | tr -cd m | wc -c)" \
            --position-embedding-type rope >"$tmp/out" 2>/dev/null
        printf '%s ' "$?$(grep -c 'open proposal' "$tmp/out")"
    done
done >"$tmp/codes"
is "several L and m on several ranks: under --core dev alone, and said" \
    "$(cat "$tmp/codes")" "11 10 11 01 10 01 "

# ---- layouts without quotes ----
said() { # CLAIM WORD FILE: exit 2 and one line
    "$L" check "$3" >"$tmp/out" 2>"$tmp/err"
    is "$1" "$? $(wc -l <"$tmp/err") $(grep -cF -- "$2" "$tmp/err")" "2 1 1"
}
cat >"$tmp/pattern.sh" <<'SH'
torchrun --nproc-per-node 8 pretrain_hybrid.py --hybrid-layer-pattern M*ME|MEM* \
    --hidden-size 2048 --num-attention-heads 16 --pipeline-model-parallel-size 2
SH
said "a pattern without quotes is a pipe to bash" "would run 'MEM*'" "$tmp/pattern.sh"
sed 's/hybrid-layer-pattern M.ME|MEM./num-layers 8 --pipeline-model-parallel-layout Et*4|t*4L/' \
    "$tmp/pattern.sh" >"$tmp/layout.sh"
said "so is a layout" "put the layout in quotes" "$tmp/layout.sh"
sed "s/M.ME|MEM./'&'/" "$tmp/pattern.sh" >"$tmp/quoted.sh"
is "in quotes it is one" \
    "$("$L" check "$tmp/quoted.sh" 2>"$tmp/err" | head -n 1)" "valid: 'M*ME|MEM*'"
printf 'A=(\n --hybrid-layer-pattern M*|ME\n)\ntorchrun x.py ${A[@]}\n' >"$tmp/array.sh"
said "in an array bash refuses it" "wants quotes" "$tmp/array.sh"
printf 'MODEL_ARGS:\n  --hybrid-layer-pattern: *E|*E\n' >"$tmp/alias.yaml"
said "YAML takes a star for a reference" "begins with * wants quotes" "$tmp/alias.yaml"
"$L" check "$tmp/quoted.sh" 'M*ME|MXM*' >"$tmp/out" 2>"$tmp/err"
is "a typo in a hybrid model's layout is judged as a pattern" \
    "$? $(grep -c "not valid: hybrid pattern" "$tmp/out")" "1 1"
is "a pattern of several segments wants its pipeline" \
    "$("$L" translate '*E|*E' 2>"$tmp/err" | grep -c "give --pp N")" 1
is "what no GPT layer is has its name" \
    "$("$L" translate 'M*ME|MEM*' --pp 2 2>"$tmp/err" | grep -c "got 'M\*' at layer 0")" 1

# ---- vectors ----
same() { # CLAIM FILE KEYS COMMAND...: the command's answers have the file's
    claim=$1 file=$2 keys=$3
    shift 3
    if [ ! -f "$file" ]; then
        echo "ok - $claim # SKIP $file is not here"
        return
    fi
    pick "$keys" <"$file" >"$tmp/want"
    "$@" "$file" | pick "$keys" >"$tmp/got"
    is "$claim ($(wc -l <"$tmp/want"))" "$(diff "$tmp/want" "$tmp/got" | head -n 4)" ""
}
same "all vectors of patterns" $V/hybrid_vectors.jsonl \
    valid,error,where,vpp,num_layers,mtp,mtp_depths,mla,segments,covers,offsets \
    "$L" check --batch
grep layout_to_pattern $V/hybrid_translation_vectors.jsonl \
    >"$tmp/to.jsonl" 2>/dev/null || rm -f "$tmp/to.jsonl"
grep pattern_to_layout $V/hybrid_translation_vectors.jsonl \
    >"$tmp/back.jsonl" 2>/dev/null || rm -f "$tmp/back.jsonl"
same "translations to patterns" "$tmp/to.jsonl" \
    pattern,error,vpp,segments,mtp,mtp_depths "$L" translate --batch
same "translations to layouts" "$tmp/back.jsonl" \
    layout,moe,attention,error "$L" translate --batch

# ratios of layers, which the command line of later releases does not have
"$L" check --core 0.19 -- --num-layers 8 --hidden-size 512 --num-attention-heads 8 \
    --hybrid-attention-ratio 0.25 --pipeline-model-parallel-size 2 >"$tmp/out" 2>/dev/null
grep -q 'command line of core 0.19 has no --hybrid-attention-ratio' "$tmp/out" &&
    ! grep -q -- '--hybrid-override-pattern' "$tmp/out"
claim $? "ratios: a release without them is told, and no flag that nobody wrote"
