"""Megatron-LM's own validator of pipeline layouts against `moe-layout check`.

usage: megatron_validator.py CHECKOUT MOE_LAYOUT [CASES]

CHECKOUT is a working tree of Megatron-LM. Its
megatron/core/transformer/pipeline_parallel_layer_layout.py is loaded by path,
with empty modules in place of torch and of the process groups, which the
parser and the validator do not use. Strings are made from a fixed seed.
Prints one line a difference; exit 1 when there is any.
"""
import importlib.util
import json
import pathlib
import random
import subprocess
import sys
import types

BODY = ["t", "t", "tt", "t*3", "t*0", "|", "(t|)*2", "(tt|)*2", "m", "mL", "E",
        "L", ",", "*2", "(t)", " ", "x", "t*1,0"]


def load(root, name, path):
    spec = importlib.util.spec_from_file_location(name, root / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_layout_class(root):
    for name in ("torch", "torch.distributed", "megatron", "megatron.core",
                 "megatron.core.parallel_state", "megatron.core._rank_utils",
                 "megatron.core.transformer", "megatron.core.utils"):
        sys.modules[name] = types.ModuleType(name)
    core = sys.modules["megatron.core"]
    core.parallel_state = sys.modules["megatron.core.parallel_state"]
    sys.modules["megatron.core._rank_utils"].safe_get_rank = lambda: 1
    here = pathlib.Path("megatron/core/transformer")
    load(root, "megatron.core.transformer.enums", here / "enums.py")
    return load(root, "layout", here / "pipeline_parallel_layer_layout.py"
                ).PipelineParallelLayerLayout


def theirs(cls, case):
    letters = {"embedding": "E", "decoder": "t", "mtp": "m", "loss": "L"}
    try:
        layout = cls(case["layout"], case["pp"])
        layout.validate_layer_layout(case["num_layers"], case["mtp_num_layers"])
    except (AssertionError, IndexError, NotImplementedError):
        return False, None
    vpp = layout.virtual_pipeline_model_parallel_size
    return True, [[letters[u.name] for u in layout.layout[r][v]]
                  for v in range(vpp) for r in range(case["pp"])]


def valid_text(rng):
    """A layout that is mostly accepted, and what it is accepted for."""
    pp, vpp = rng.choice([1, 2, 3, 4]), rng.choice([1, 1, 2])
    stages = [["t"] * rng.randrange(5) for _ in range(pp * vpp)]
    mtp = rng.choice([0, 0, 1, 2])
    stages[0].insert(0, "E")
    stages[rng.choice([-1, -1, -1, 0])] += ["m"] * mtp
    stages[-1].append("L")
    text = "|".join("".join(s) for s in stages)
    return {"layout": text.replace("ttt", "t*3"), "pp": pp,
            "num_layers": text.count("t") + rng.choice([0] * 9 + [1]),
            "mtp_num_layers": mtp}


def odd_text(rng):
    text = "E" * (rng.random() < 0.9) + "".join(
        rng.choice(BODY) for _ in range(rng.randrange(12))) + "L"
    return {"layout": text, "pp": rng.choice([1, 2, 3, 4]),
            "num_layers": rng.randrange(10), "mtp_num_layers": rng.randrange(3)}


def main():
    root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 4000
    cls = load_layout_class(root)
    rng = random.Random(1)
    cases = [(valid_text if i % 2 else odd_text)(rng) for i in range(count)]
    lines = "".join(json.dumps(c) + "\n" for c in cases)
    out = subprocess.run([program, "check", "--batch", "/dev/stdin"],
                         input=lines, capture_output=True, text=True, check=True)
    bad = accepted = 0
    for case, line in zip(cases, out.stdout.splitlines(), strict=True):
        ours = json.loads(line)
        valid, stages = theirs(cls, case)
        accepted += valid
        if ours["valid"] != valid or (valid and ours["stages"] != stages):
            bad += 1
            print(f"differs: {case}: Megatron {valid} {stages}, ours {line}")
    print(f"{count} layouts, {accepted} accepted by Megatron, {bad} differ")
    return 1 if bad or not accepted else 0


sys.exit(main())
