"""Values that sentences of REPORT.md state, each computed again from the data
below results/ or by a command of this repository. VALUES maps a name to a
function that gives the text as it must stand in the report."""
import csv
import glob
import json
import os
import re
import subprocess

BUILD = os.environ.get("BUILD", "build/release")
REF = "results/reference"


def rows(path):
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def num(row, column):
    text = row.get(column) or ""
    return float(text) if text else None


def quantile(values, q):
    x = sorted(values)
    at = q * (len(x) - 1)
    low = int(at)
    high = min(low + 1, len(x) - 1)
    return x[low] + (at - low) * (x[high] - x[low])


# ---- experiments ----

def experiments():
    return sorted(os.path.basename(os.path.dirname(p))
                  for p in glob.glob(REF + "/*/layouts.csv"))


def layouts(name):
    """Rows of layouts.csv; roles that share their runs count once."""
    seen, out = set(), []
    for r in rows(f"{REF}/{name}/layouts.csv"):
        key = (r["layout"], r["meas_step_ms"])
        if key not in seen:
            seen.add(key)
            out.append(r)
    return out


def clock(name):
    return rows(f"{REF}/{name}/runs.csv")[0]["clock"]


def of_clock(*clocks):
    return [e for e in experiments() if clock(e) in clocks]


def errors(name, column="step_error_pct"):
    return [abs(num(r, column)) for r in layouts(name)
            if num(r, column) is not None]


def role(name, which):
    return next(r for r in rows(f"{REF}/{name}/layouts.csv")
                if r["role"] == which)


def mean(values):
    return sum(values) / len(values)


def noise(name):
    """Standard deviation of single runs of one layout, pooled over layouts."""
    by = {}
    for r in rows(f"{REF}/{name}/runs.csv"):
        if r["status"] == "valid" and int(r["round"]) > 0:
            by.setdefault(r["layout"], []).append(num(r, "meas_step_corr_ms"))
    total, free = 0.0, 0
    for x in by.values():
        if len(x) > 1:
            total += sum((v / mean(x) - 1) ** 2 for v in x)
            free += len(x) - 1
    return 100 * (total / free) ** 0.5 if free else None


def behind(name):
    pick = num(role(name, "pick"), "meas_step_ms")
    best = min(num(r, "meas_step_ms") for r in layouts(name))
    return 100 * (pick / best - 1)


def has(name, which):
    return any(r["role"] == which for r in rows(f"{REF}/{name}/layouts.csv"))


def over(name, which):
    return (num(role(name, which), "meas_step_ms")
            / num(role(name, "pick"), "meas_step_ms"))


EXACT = lambda: of_clock("flops")
REAL = lambda: of_clock("cpu", "wall")
COUNTED = lambda: [e for e in experiments() if has(e, "count-based")]


# ---- recipes ----

def recipe(name, pp, vpp, ep, who, layout=None, column="gap_pct"):
    for r in rows(f"{REF}/{name}/recipes.csv"):
        if ((r["pp"], r["vpp"], r["ep_overlap"], r["grid"], r["who"])
                == (str(pp), str(vpp), str(ep), "0", who)
                and (layout is None or r["layout"] == layout)):
            return num(r, column)
    raise KeyError(f"{name} PP{pp} VPP{vpp} {who}")


def counted_gaps(name, skip):
    """Least distances of the count-based layouts to the planner's."""
    return [100 * (num(r, "pred_step_ms") / num(r, "planner_step_ms") - 1)
            for r in rows(f"{REF}/{name}/recipes.csv")
            if r["grid"] == "0" and r["ep_overlap"] == "0"
            and r["who"] == "count-based" and (r["pp"], r["vpp"]) not in skip]


def worst_at(name, pp, vpp, who):
    return recipe(name, pp, vpp, 0, who,
                  column="worst_rank_mem_bytes") / 2 ** 30


# ---- studies, plans, others ----

def study(which, figure, column="computed"):
    for r in rows(REF + "/studies/studies.csv"):
        if r["study"] == which and r["id"] == figure:
            return num(r, column)
    raise KeyError(figure)


def study_off():
    """Largest distance of a computed speedup to the published one, percent."""
    return max(abs(num(r, "computed") / num(r, "published") - 1) * 100
               for r in rows(REF + "/studies/studies.csv")
               if r["id"].startswith("speedup"))


def plan(experiment, who, column, pp=None, vpp=None):
    return [num(r, column) for r in rows(REF + "/roofline/plans.csv")
            if r["experiment"] == experiment and r["who"] == who
            and (pp is None or (r["pp"], r["vpp"]) == (pp, vpp))]


def worst_flops_plan():
    r = max((r for r in rows(REF + "/roofline/plans.csv")
             if r["who"] == "flops"), key=lambda r: num(r, "by_roofline_pct"))
    return r


def others(source, column):
    return next(num(r, column) for r in rows("results/published/errors.csv")
                if r["source"] == source)


def memory(moe, column, q):
    return quantile([abs(num(r, column)) for r in rows(REF + "/memory.csv")
                     if r["moe"] == moe and r["primary"] == "1"
                     and r["supported"] == "1"
                     and num(r, column) is not None], q)


def memory_cases():
    """Supported cases of current images, by the error of their peaks."""
    return sorted((r for r in rows(REF + "/memory.csv")
                   if r["primary"] == r["supported"] == "1"
                   and r["peak_error_pct"]),
                  key=lambda r: num(r, "peak_error_pct"))


# ---- commands ----

def output(*words):
    done = subprocess.run([f"{BUILD}/{words[0]}"] + list(words[1:]),
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(" ".join(words) + ": " + done.stderr)
    return done.stdout


def simulated(megatron):
    """Step in ms of the pick under EP overlap, by either order of transfers."""
    path = REF + "/local-overlap/costs.json"
    if megatron:
        with open(path, encoding="utf-8") as f:
            costs = json.load(f)
        costs["memory"]["trainer"] = "megatron"
        path = os.path.join(os.environ.get("TMPDIR", "/tmp"),
                            f"report-costs-{os.getpid()}.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(costs, f)
    try:
        text = output("moe-layout", "simulate", "experiments/models/local.json",
                      "Et*2|(t*2|)*3t*3|t*3|t*2m|L", "--pp", "4", "--gbs",
                      "16", "--mbs", "2", "--seq", "96", "--ep-overlap",
                      "--costs", path, "--json")
    finally:
        if megatron:
            os.remove(path)
    return json.loads(text)["pred_step_ms"]


def article_memory():
    return json.loads(output(
        "moe-layout", "memory", "experiments/models/7b-a1b-32e.json",
        "Et*5|t*6|t*5|mL", "--pp", "4", "--mbs", "4", "--gbs", "256",
        "--platform", "a100", "--json"))


def fused_head():
    """L in decoder layers by the roofline, with the fused loss, on A100."""
    text = output("moe-layout", "costs", "experiments/models/7b-a1b-32e.json",
                  "--roofline", "A100", "--pp", "4", "--seq", "4096", "--mbs",
                  "1", "--gbs", "64", "--", "--cross-entropy-loss-fusion")
    return re.search(r"L ([0-9.]+) \(FLOPs", text).group(1)


def bound_usd(stage):
    text = output("moe-bench", "run", f"experiments/stage-{stage}.json",
                  "--dry-run")
    return re.search(r"at most \$([0-9.]+)", text).group(1)


def source_number(path, pattern):
    with open(path, encoding="utf-8") as f:
        return re.search(pattern, f.read()).group(1)


def pct(x, digits=2):
    return f"{x:.{digits}f}%"


def lowest(values, digits=2):
    return f"{min(values):.{digits}f}"


def highest(values, digits=2):
    return f"{max(values):.{digits}f}"


def local(name):
    """Figures of one experiment's pick in the table beside the article's."""
    return {
        "OVER_DEFAULT": lambda: f"{over(name, 'default'):.2f}",
        "OVER_COUNT": lambda: f"{over(name, 'count-based'):.2f}",
        "PICK_ERROR": lambda: pct(abs(num(role(name, "pick"),
                                          "step_error_pct"))),
        "BEHIND": lambda: pct(behind(name)) if behind(name) > 0 else "none",
    }


VALUES = {
    "EXACT_WORST": lambda: pct(max(max(errors(e)) for e in EXACT())),
    "EXACT_N": lambda: str(sum(len(errors(e)) for e in EXACT())),
    "REPLAY_WORST": lambda: pct(max(max(errors(e, "replay_error_pct"))
                                    for e in experiments())),
    "CPU_MEAN_LO": lambda: pct(min(mean(errors(e)) for e in REAL())),
    "CPU_MEAN_HI": lambda: pct(max(mean(errors(e)) for e in REAL())),
    "CPU_WORST": lambda: pct(max(max(errors(e)) for e in REAL())),
    "NOISE_LO": lambda: pct(min(noise(e) for e in REAL())),
    "NOISE_HI": lambda: pct(max(noise(e) for e in REAL())),
    "RUN_N": lambda: str(len(experiments())),
    "BEST_N": lambda: str(sum(behind(e) <= 0 for e in experiments())),
    "NOT_BEST_N": lambda: str(sum(behind(e) > 0 for e in experiments())),
    "BEHIND": lambda: pct(max(behind(e) for e in experiments())),
    "OVER_DEFAULT_LO": lambda: lowest(over(e, "default")
                                      for e in experiments()),
    "OVER_DEFAULT_HI": lambda: highest(over(e, "default")
                                       for e in experiments()),
    "OVER_COUNT_LO": lambda: lowest(over(e, "count-based") for e in COUNTED()),
    "OVER_COUNT_HI": lambda: highest(over(e, "count-based")
                                     for e in COUNTED()),
    "MEM_N": lambda: str(len([r for r in rows(REF + "/memory.csv")
                              if r["moe"] == r["primary"] == r["supported"]
                              == "1"])),
    "MEM_PEAK_MED": lambda: pct(memory("1", "peak_error_pct", 0.5)),
    "MEM_PEAK_90": lambda: pct(memory("1", "peak_error_pct", 0.9)),
    "MEM_OVER": lambda: pct(num(memory_cases()[-1], "peak_error_pct")),
    "MEM_UNDER": lambda: pct(-num(memory_cases()[0], "peak_error_pct")),
    "OTHERS_N": lambda: f"{others('all', 'n_covered'):.0f}",
    "OTHERS_MEAN": lambda: pct(others("all", "mean_pct")),
    "OTHERS_MEDIAN": lambda: pct(others("all", "median_pct")),
    "OTHERS_WORST": lambda: pct(others("all", "worst_pct")),
    "VTRAIN_MEAN": lambda: pct(others("vtrain_multi", "mean_pct")),
    "VTRAIN_MEDIAN": lambda: pct(others("vtrain_multi", "median_pct")),
    "DSV3_WORST4": lambda: pct(max(
        recipe("deepseek-v3", p, v, 0, "recipe", "Et*4|(t*4|)*14tmL")
        for p, v in ((4, 4), (8, 2), (2, 8), (16, 1)))),
    "QWEN_PP16": lambda: pct(recipe("qwen3-235b", 16, 1, 0, "recipe"), 1),
    "GLM": lambda: pct(recipe("glm-4.5", 8, 1, 0, "recipe"), 1),
    "KIMI_P16V2": lambda: pct(recipe("kimi-k2", 16, 2, 0, "recipe")),
    "KIMI_P16V2_EP": lambda: pct(recipe("kimi-k2", 16, 2, 1, "recipe")),
    "DS_P2V8": lambda: pct(recipe("deepseek-v3", 2, 8, 0, "recipe")),
    "DS_P4V4": lambda: pct(recipe("deepseek-v3", 4, 4, 0, "recipe")),
    "DS_P8V2": lambda: pct(recipe("deepseek-v3", 8, 2, 0, "recipe")),
    "DS_P4V4_EP": lambda: pct(recipe("deepseek-v3", 4, 4, 1, "recipe")),
    "DS_P8V2_EP": lambda: pct(recipe("deepseek-v3", 8, 2, 1, "recipe")),
    "DS_P16V2": lambda: pct(recipe("deepseek-v3", 16, 2, 0, "recipe",
                                   "Et*3|(t*2|)*29m|L")),
    "DS_P16V2_B": lambda: pct(recipe("deepseek-v3", 16, 2, 0, "recipe",
                                     "Et|(t*2|)*30mL")),
    "QWEN_L": lambda: f"{plan('qwen3-235b', 'flops', 'l_over_t')[0]:.1f}",
    "QWEN_P16": lambda: pct(recipe("qwen3-235b", 16, 1, 0, "recipe")),
    "QWEN_P8V4": lambda: pct(recipe("qwen3-235b", 8, 4, 0, "recipe")),
    "QWEN_P8V4_EP": lambda: pct(recipe("qwen3-235b", 8, 4, 1, "recipe")),
    "GLM_P8": lambda: pct(recipe("glm-4.5", 8, 1, 0, "recipe")),
    "GLM_P8_COUNT": lambda: pct(recipe("glm-4.5", 8, 1, 0, "count-based")),
    "GLM_COUNT_LO": lambda: pct(min(counted_gaps("glm-4.5", [("8", "1")]))),
    "GLM_COUNT_HI": lambda: pct(max(counted_gaps("glm-4.5", [("8", "1")]))),
    "DS_MEM_RECIPE": lambda: f"{worst_at('deepseek-v3', 8, 2, 'recipe'):.1f}",
    "DS_MEM_PLAN": lambda: f"{worst_at('deepseek-v3', 8, 2, 'planner'):.1f}",
    "REPRO_A": lambda: f"{study('A100', 'speedup_vs_default'):.2f}",
    "REPRO_C": lambda: f"{study('H200', 'speedup_vs_default'):.2f}",
    "REPRO_WORST": lambda: pct(study_off(), 1),
    "ROOF_A_M": lambda: f"{study('A100', 'roofline_unit_cost_m'):.2f}",
    "ROOF_A_L": lambda: f"{study('A100', 'roofline_unit_cost_L'):.2f}",
    "ROOF_C_M": lambda: f"{plan('stage-c', 'roofline', 'm_over_t')[0]:.2f}",
    "ROOF_C_L": lambda: f"{plan('stage-c', 'roofline', 'l_over_t')[0]:.2f}",
    "FLOPS_A_L": lambda: f"{plan('stage-a', 'flops', 'l_over_t')[0]:.2f}",
    "ROOF_STAGE_WORST": lambda: pct(max(
        plan(s, "roofline", "by_measured_pct")[0]
        for s in ("stage-a", "stage-c"))),
    "FLOPS_PICK_WORST": lambda: pct(num(worst_flops_plan(),
                                        "by_roofline_pct"), 1),
    "FLOPS_PICK_WHERE": lambda: "{experiment}, PP{pp} VPP{vpp}".format(
        **worst_flops_plan()),
    "SIM_TRAINER": lambda: f"{simulated(False):.0f}",
    "SIM_MEGATRON": lambda: f"{simulated(True):.0f}",
    "SIM_MORE": lambda: pct(100 * (simulated(True) / simulated(False) - 1), 1),
    "FLOPS_PICK_SLOWER": lambda: pct(100 * (
        num(role("local-full", "flops-pick"), "meas_step_ms")
        / num(role("local-full", "pick"), "meas_step_ms") - 1), 1),
    "FULL_WORST": lambda: pct(max(errors("local-full"))),
    "MARGIN": lambda: pct(100 * float(source_number(
        "planner/memory/memory.c", r"MEMORY_MARGIN = ([0-9.]+)")), 1),
    "MEM_7B": lambda: f"{article_memory()['stages'][3]['peak_bytes'] / 2**30:.1f}",
    "MEM_7B_GB": lambda: f"{article_memory()['stages'][3]['peak_bytes'] / 1e9:.1f}",
    "MEM_7B_HEAD":
        lambda: f"{article_memory()['stages'][3]['head_bytes'] / 2**30:.1f}",
    "USD_A": lambda: bound_usd("a"),
    "USD_B": lambda: bound_usd("b"),
    "USD_C": lambda: bound_usd("c"),
}


def manifest(name):
    with open(f"experiments/{name}.json", encoding="utf-8") as f:
        return json.load(f)


def article(stage, key, fmt="{:g}"):
    """A published figure, as the study's manifest holds it."""
    return fmt.format(abs(manifest("stage-" + stage)["published"][key]))


RECIPES = ("deepseek-v3", "kimi-k2", "glm-4.5", "qwen3-235b")
HALVES = ("hybrid-deepseek-v3", "hybrid-qwen3-235b", "hybrid-7b-a1b",
          "hybrid-nemotron-3-nano")


def planning(key, manifests=RECIPES):
    """One setting of the manifests that plan only; they must agree."""
    found = {json.dumps(manifest(n)["plan"][key]) for n in manifests}
    if len(found) != 1:
        raise ValueError(f"plan.{key} differs between manifests")
    return json.loads(found.pop())


def head_bytes_a_logit():
    head = article_memory()["stages"][3]["head_bytes"]
    with open("experiments/models/7b-a1b-32e.json", encoding="utf-8") as f:
        vocab = json.load(f)["padded_vocab_size"]
    return head / (4 * manifest("stage-a")["batch"]["seq_tokens"] * vocab)


def halves(name, pp):
    """Whole-layer optimum over the other, one chunk a rank, both proved."""
    best = recipe(name, pp, 1, 0, "planner", column="bound_ms")
    whole = recipe(name, pp, 1, 0, "whole-layers", column="bound_ms")
    return 100 * (whole / best - 1)


VALUES.update({
    "HALVES_DSV3": lambda: pct(halves("hybrid-deepseek-v3", 16)),
    "HALVES_QWEN": lambda: pct(halves("hybrid-qwen3-235b", 16)),
    "HALVES_RUN": lambda: pct(100 * (over("local-hybrid", "whole-layers") - 1)),
    "ART_DEFAULT_A": lambda: article("a", "speedup_vs_default"),
    "ART_DEFAULT_C": lambda: article("c", "speedup_vs_default"),
    "ART_COUNT_A": lambda: article("a", "speedup_vs_count_based"),
    "ART_COUNT_C": lambda: article("c", "speedup_vs_count_based"),
    "ART_ERROR_A": lambda: article("a", "step_error_pct") + "%",
    "ART_ERROR_C": lambda: article("c", "step_error_pct") + "%",
    "ART_BEHIND": lambda: article("b", "gap_to_best_pct") + "%",
    "ART_USD_A": lambda: article("a", "cost_usd"),
    "ART_USD_C": lambda: article("c", "cost_usd"),
    "ART_RATIO": lambda: article("a", "default_last_stage_work_ratio"),
    "ART_M": lambda: article("a", "unit_cost_m"),
    "ART_L_LO": lambda: article("a", "unit_cost_L_min", "{:.1f}"),
    "ART_L_HI": lambda: article("a", "unit_cost_L_max", "{:.1f}"),
    "ART_FLOPS_L": lambda: article("a", "flops_unit_cost_L"),
    "ART_FLOPS_PICK": lambda: article("a", "flops_pick_slower_pct") + "%",
    "ART_STANDALONE": lambda: article("b", "standalone_mtp_error_pct") + "%",
    "ART_TWO": lambda: article("b", "two_bottlenecks_error_pct") + "%",
    "PRICE_A": lambda: f"{manifest('stage-a')['hardware']['price_usd_per_hour']}",
    "PRICE_C": lambda: f"{manifest('stage-c')['hardware']['price_usd_per_hour']}",
    "GPUS_A": lambda: f"{manifest('stage-a')['hardware']['count']}",
    "GPUS_C": lambda: f"{manifest('stage-c')['hardware']['count']}",
    "SEQ": lambda: f"{manifest('stage-a')['batch']['seq_tokens']}",
    "COUNT_816": lambda: output("moe-layout", "count", "--layers", "16",
                                "--mtp", "1", "--pp", "4").strip(),
    "TFLOPS": lambda: f"{planning('tflops'):g}",
    "SAVE": lambda: f"{100 * planning('save_share'):g}%",
    "PLAN_S": lambda: f"{planning('time_limit_s'):g}",
    "HALVES_S": lambda: f"{planning('time_limit_s', HALVES):g}",
    "RATIO_S": lambda: f"{manifest('kimi-k2')['plan']['ratios']['time_limit_s']:g}",
    "SEARCH_S": lambda: source_number("Makefile", r"SEARCH_LIMIT_S \?= (\d+)"),
    "ROOF_FUSED_L": fused_head,
    "TIE": lambda: pct(100 * (float(source_number(
        "planner/plan/plan.h", r"PLAN_TIE ([0-9.]+)")) - 1), 1),
    "ROOF_S": lambda: source_number("harness/cmd/roofline.c",
                                    r"LIMIT_S = (\d+)"),
    "LAYERS": lambda: str(json.load(open("experiments/models/local.json",
                                         encoding="utf-8"))["num_layers"]),
    "LOGIT": lambda: f"{head_bytes_a_logit():.0f}",
})
for _prefix, _name in (("LOCAL", "local"), ("PP2", "local-pp2")):
    VALUES.update({f"{_prefix}_{k}": f for k, f in local(_name).items()})
