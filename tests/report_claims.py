"""What sentences of REPORT.md state, for report_numbers.py.

CLAIMS: words with values in {}, computed again by report_values.py.
SOURCED: words whose numbers nothing here can compute, with where they are from;
an address must stand in the report, too.
STATEMENTS: words without a value of their own that hold for the data or not."""
from report_values import (REF, behind, experiments, halves, manifest, num, recipe,
                           role, rows, study)

CLAIMS = [
    'differ by at most {EXACT_WORST} over {EXACT_N} layouts, with',
    'meets its step within {REPLAY_WORST} everywhere, also',
    'work are predicted within {CPU_MEAN_LO} to {CPU_MEAN_HI} on '
    'average and {CPU_WORST} at worst,',
    'one layout scatter by {NOISE_LO} to {NOISE_HI}.',
    'fastest measured layout in {BEST_N} of {RUN_N} experiments and at '
    'most {BEHIND} behind in',
    'that overlap. It was {OVER_DEFAULT_LO} to {OVER_DEFAULT_HI} times as',
    "Megatron's default split and {OVER_COUNT_LO} to {OVER_COUNT_HI} "
    'times as',
    'experts is met within {MEM_PEAK_MED} in the median and '
    '{MEM_PEAK_90} in the 90th percentile of {MEM_N} rows.',
    'times of others** (published): {OTHERS_N} rows that',
    'nothing are predicted within {OTHERS_MEAN} on average, '
    '{OTHERS_MEDIAN} in the median and {OTHERS_WORST} at worst.',
    "split, DeepSeek-V3's is within {DSV3_WORST4} of it",
    "five splits, Qwen3-235B's is {QWEN_PP16} behind on PP16 and "
    "GLM-4.5's {GLM} behind.",
    'proved): {HALVES_DSV3} for DeepSeek-V3 on PP16, {HALVES_QWEN} for '
    'Qwen3-235B, none for the',
    'the best layout without them is {HALVES_RUN} slower,',
    'this work follows, measured {ART_DEFAULT_A}x and {ART_DEFAULT_C}x '
    'on GPUs',
    'costs the simulator gives {REPRO_A}x and {REPRO_C}x, which shows',
    'this stage then does {ART_RATIO} times the',
    'four stages there are {COUNT_816} such layouts',
    'nanoseconds there. Layouts within {TIE} of the',
    'model is small (`experiments/models/local.json`, {LAYERS} decoder '
    'layers,',
    'gives {SIM_TRAINER} ms, and',
    'file with `"trainer": "megatron"`) {SIM_MEGATRON} ms, {SIM_MORE} '
    'more: the',
    'a layout that was {FLOPS_PICK_SLOWER} slower than',
    'of single runs, not {ART_FLOPS_PICK} as in',
    'The default margin of {MARGIN} is the',
    'gives {MEM_7B} GiB, which is {MEM_7B_GB} GB, with a sequence '
    'length of {SEQ} that the',
    'state (assumed). Of these, {MEM_7B_HEAD} GiB are the loss head: '
    '{LOGIT} bytes a',
    'with a limit of {SEARCH_S} s a',
    'the public `Et|(tt|)*30L` leaves {KIMI_P16V2} ({KIMI_P16V2_EP} '
    'with overlap):',
    'PP16 VPP1 and within {DS_P2V8} on PP2 VPP8, {DS_P4V4} on PP4 VPP4 '
    'and {DS_P8V2} on PP8',
    'EP overlap it leaves {DS_P4V4_EP} and {DS_P8V2_EP} on the',
    "the guide's `Et*3|(tt|)*29,m|L` is {DS_P16V2} behind: MTP",
    'PP8 VPP4, `Et|(tt|)*30mL` is {DS_P16V2_B} behind on',
    'FLOPs the loss is {QWEN_L} layers and',
    'embedding none. That leaves {QWEN_P16} on PP16 VPP1 and '
    '{QWEN_P8V4_EP} on PP8',
    "the recipe's own setting ({QWEN_P8V4} without).",
    'beside MTP and loss: {GLM_P8} behind, and behind the count-based '
    'rule ({GLM_P8_COUNT}). For its',
    'the count-based rule leaves {GLM_COUNT_LO} to {GLM_COUNT_HI}.',
    'article measured L at {ART_L_LO} to {ART_L_HI} layers where FLOPs '
    'said {ART_FLOPS_L} (published), so',
    'layout can need more: {DS_MEM_RECIPE} to {DS_MEM_PLAN} GiB for',
    'no router, no all-to-all; {TFLOPS} TFLOP/s, which',
    'of MoE layers saves {SAVE} of one',
    'ended without a proof ({PLAN_S} s a split by FLOPs, {HALVES_S} s with '
    'cuts inside layers, {RATIO_S} s with',
    'four speedups are within {REPRO_WORST}. A planner',
    'on a stage: the {ART_FLOPS_PICK} that the',
    'to nothing of the {ART_STANDALONE} by which',
    'than predicted; of the {ART_TWO} of two',
    '| | article, {GPUS_A}x A100 (published) | article, {GPUS_C}x H200 '
    '(published)',
    'the default split | {ART_DEFAULT_A}x | {ART_DEFAULT_C}x | '
    '{LOCAL_OVER_DEFAULT}x | {PP2_OVER_DEFAULT}x |',
    'the count-based rule | {ART_COUNT_A}x | {ART_COUNT_C}x | '
    '{LOCAL_OVER_COUNT}x | {PP2_OVER_COUNT}x |',
    'of the pick | {ART_ERROR_A} | {ART_ERROR_C} | {LOCAL_PICK_ERROR} '
    '| {PP2_PICK_ERROR} |',
    'the fastest measured | {ART_BEHIND} | none | {LOCAL_BEHIND} | '
    '{PP2_BEHIND} |',
    '| cost | {ART_USD_A} US dollars | {ART_USD_C} US dollars',
    'at most (assumed prices: {PRICE_A} and {PRICE_C} US dollars',
    'run experiments/stage-a.json --dry-run` says {USD_A} US dollars, '
    '`stage-b.json` {USD_B}, `stage-c.json` {USD_C}.',
    'it measured m at {ART_M} and L at {ART_L_LO} to {ART_L_HI} layers on',
    'The roofline says m {ROOF_A_M} and L {ROOF_A_L} on A100, m '
    '{ROOF_C_M} and L {ROOF_C_L} on H200 with one sequence of {SEQ} a '
    'micro-batch; FLOPs say L {FLOPS_A_L}. With the',
    'the roofline says L {ROOF_FUSED_L} on A100.',
    'layout or one within {ROOF_STAGE_WORST} of it.',
    'picks lose up to {FLOPS_PICK_WORST} by the roofline '
    '({FLOPS_PICK_WHERE}).',
    'predicts the others within {VTRAIN_MEAN} on average, '
    '{VTRAIN_MEDIAN} in the',
    'predicted, by up to {FULL_WORST}, more than',
    'behind the fastest**: in {NOT_BEST_N} of {RUN_N} experiments another',
    'faster, by up to {BEHIND}, within noise.',
    "on GPUs**: the article's {ART_STANDALONE} are not",
    'of a peak is {MEM_OVER}, with CUDA',
    'the largest under-prediction is {MEM_UNDER}, of dense',
    "**vTrain's 39.1B rows**: {OTHERS_WORST} at worst",
    'head** on A100 is {ROOF_A_L} layers where the article measured '
    '{ART_L_LO} to {ART_L_HI}.',
    'A and B need {GPUS_A}x A100 and stage C {GPUS_C}x H200; their',
    'for recipes, searches of {ROOF_S} s.',
]

SOURCED = [
    ('one experiment (4.5) was run twice',
     'a section'),
    ('For 16 layers, one MTP layer and four stages',
     'a definition'),
    ('"2x" before a processor\'s name',
     'a definition'),
    ('Its 95% interval',
     'a definition'),
    ('with a 95% bootstrap interval',
     'a definition'),
    ('*step error*: 100 (predicted - measured) / measured',
     'a definition'),
    ('August 2026, a JSON file a case',
     'the date of the corpus, in results/reference/memory.csv'),
    ('at micro-batch 4 its model expected 52 GB on the last stage, and '
     '38 GB were measured',
     'published: One Stage Sets the Pace'),
    ('52 GB would follow if',
     'published: One Stage Sets the Pace'),
    ("DeepSeek-V3's shape (61 decoder layers, the first 3 dense, one "
     'MTP layer; forward times E 1, dense t 11, t 20, m 28, L 12,',
     'tests/bench_search.c'),
    ('Its 16-stage layout is',
     'the length of its layout, experiments/kimi-k2.json'),
    ('keeps 10 layers beside MTP and loss',
     'its layout, experiments/glm-4.5.json'),
    ("vTrain's 39.1B rows",
     'results/published/vtrain_multi/rows.csv'),
    ('8.37% on one node, 14.73% on several',
     'published: https://arxiv.org/abs/2312.12391'),
    ('at most 12% |',
     'published: https://ieeexplore.ieee.org/document/10158196'),
    ('under 4% |',
     'published: https://doi.org/10.1145/3587135.3592200'),
    ('3.0% on average',
     'published: https://arxiv.org/abs/2306.02267'),
    ('8% on average (GPT-175B, 96 H800, Megatron-LM)',
     'published: https://arxiv.org/abs/2412.12487'),
    ('98.1% alignment on average',
     'published: '
     'https://www.usenix.org/conference/nsdi25/presentation/wang-xizheng-simai'),
    ('4.98% (A100), 9.38% (GH200) on average',
     'published: https://arxiv.org/abs/2509.22832'),
    ('under 5.35% in all, 3.74% for training',
     'published: https://arxiv.org/abs/2605.17164'),
]


def overlap(name):
    """Does the pick's measured interval meet that of the fastest?"""
    best = min((r for r in rows(f"{REF}/{name}/layouts.csv")),
               key=lambda r: num(r, "meas_step_ms"))
    pick = role(name, "pick")
    return (num(pick, "meas_lo_ms") <= num(best, "meas_hi_ms")
            and num(best, "meas_lo_ms") <= num(pick, "meas_hi_ms"))


def kimi_is_optimal():
    return all(recipe("kimi-k2", p, v, e, "recipe") < 0.005
               for p, v in ((4, 4), (8, 2), (2, 8), (16, 1)) for e in (0, 1)
               if (p, e) != (16, 1))


def gpus_of_deepseek():
    return {"256", "2048", "4096"} <= {
        r["n_gpus"] for r in rows("results/published/mlperf_dsv3/rows.csv")}


def memory_is_exact():
    return all(abs(num(r, "mem_error_pct") or 0) < 0.0005
               for e in experiments()
               for r in rows(f"{REF}/{e}/stages.csv"))


STATEMENTS = [
    ("of the trainer here every byte is predicted, on every stage of every "
     "layout", memory_is_exact),
    ("with intervals that overlap",
     lambda: all(overlap(e) for e in experiments() if behind(e) > 0)),
    ("none for the 7B-A1B",
     lambda: all(abs(halves("hybrid-7b-a1b", pp)) < 1e-6
                 for pp in (4, 8, 16))),
    ("every layout but the default was slower than predicted",
     lambda: all(num(r, "step_error_pct") < 0
                 for r in rows(f"{REF}/local-full/layouts.csv")
                 if r["role"] not in ("default", "repeat"))),
    ("is the proved optimum of all four splits into 16 stages",
     kimi_is_optimal),
    ("of two equally slow stages about a quarter is E",
     lambda: 0.2 < abs(study("A100", "two_bottlenecks_error_pct"))
     / abs(manifest("stage-b")["published"]["two_bottlenecks_error_pct"])
     < 0.3),
    ("the runs on 2048 GPUs are slower than the line through those on 256 "
     "and 4096 GPUs", gpus_of_deepseek),
]
