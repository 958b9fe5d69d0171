#!/usr/bin/env python3
"""Megatron-LM's own reading of hybrid patterns against `check --batch`.

usage: megatron_patterns.py CHECKOUT MOE_LAYOUT [CASES [SEED]]

Runs what a checkout (core 0.17 or later) does with --hybrid-layer-pattern: the part
of validate_args() that is about patterns, the checks of fixed ends in
TransformerConfig, and select_pipeline_segment() for every rank, with a stand-in for
torch. Random patterns and flags; error names, segments, offsets and whether they cover
the layers must be ours.
"""
import collections
import json
import pathlib
import random
import subprocess
import sys
import types

# words of Megatron's messages, in the order in which they are looked for
ERRORS = [
    ("cannot both be specified", "both_patterns"),
    ("In main pattern", "main_symbol"),
    ("In MTP pattern", "mtp_symbol"),
    ("All MTP patterns", "mtp_differ"),
    ("decoder-first-pipeline-num-layers should", "first_with_pipes"),
    ("decoder-last-pipeline-num-layers should", "last_with_pipes"),
    ("--num-layers-per-virtual-pipeline-stage should", "layers_per_virtual_flag"),
    ("--num-virtual-stages-per-pipeline-rank should", "virtual_stages_flag"),
    ("--pipeline-model-parallel-layout should", "layout_flag"),
    ("--account-for-embedding", "account_embedding_flag"),
    ("--account-for-loss", "account_loss_flag"),
    ("number of hybrid pipeline segments", "segments_not_divisible"),
    ("is not supported with", "mtp_position_embedding"),
    ("greater than 2 to avoid", "virtual_needs_pp3"),
    ("should be greater than 1", "virtual_needs_pp2"),
    ("num_layers_in_first_pipeline_stage must", "first_not_positive"),
    ("num_layers_in_last_pipeline_stage must", "last_not_positive"),
    ("Mismatch", "middle_mismatch"),
    ("number of layers at middle stage", "middle_not_divisible"),
    ("evenly divisible by pipeline-model", "layers_not_divisible"),
]
ENDS = "        # Uneven PP\n"
FLAGS = {  # our name of a flag, its argument there
    "override": "hybrid_override_pattern",
    "mtp_override": "mtp_hybrid_override_pattern",
    "mtp_num_layers": "mtp_num_layers",
    "num_layers": "num_layers",
    "first": "decoder_first_pipeline_num_layers",
    "last": "decoder_last_pipeline_num_layers",
    "layers_per_virtual": "num_layers_per_virtual_pipeline_stage",
    "virtual_stages": "num_virtual_stages_per_pipeline_rank",
    "layout": "pipeline_model_parallel_layout",
    "account_embedding": "account_for_embedding_in_pipeline_split",
    "account_loss": "account_for_loss_in_pipeline_split",
}


class Group:
    def __init__(self, rank, size):
        self.rank, self.size = rank, size


class Megatron:
    """What of a checkout is run."""

    def __init__(self, root):
        root = pathlib.Path(root) / "megatron"
        self.stand_in()
        new = root / "core/models/hybrid/hybrid_layer_allocation.py"
        old = root / "core/ssm/mamba_hybrid_layer_allocation.py"
        self.patterns = types.ModuleType("patterns")
        for name in ("models.hybrid.hybrid", "ssm.mamba_hybrid"):
            sys.modules[f"megatron.core.{name}_layer_allocation"] = self.patterns
        source = (new if new.exists() else old).read_text()
        exec(compile(source, "patterns", "exec"), self.patterns.__dict__)
        self.letters = "".join(sorted(self.patterns.Symbols.VALID_LAYERS))
        self.validate = self.cut(
            (root / "training/arguments.py").read_text(),
            "    # === Hybrid layer pattern: dep",
            "    else:\n",
            "p2p sends and recvs between same 2 ranks",
            "def run(args):\n",
        )
        config = (root / "core/transformer/transformer_config.py").read_text()
        self.configure = self.cut(
            config.replace(ENDS + "        elif (", ENDS + "        if ("),
            ENDS,
            "        elif (\n            self.account_for_embedding_in_pipeline_split",
            None,
            "def run(self):\n",
        )

    @staticmethod
    def stand_in():
        torch = types.ModuleType("torch")
        torch.distributed = types.SimpleNamespace(
            get_rank=lambda g: g.rank,
            get_world_size=lambda g: g.size,
            ProcessGroup=object,
        )
        sys.modules["torch"] = torch
        below = ["core", "core.utils", "core.models", "core.models.hybrid", "core.ssm"]
        for name in ["megatron"] + ["megatron." + x for x in below]:
            sys.modules[name] = types.ModuleType(name)
        quiet = sys.modules["megatron.core.utils"]
        quiet.log_single_rank = quiet.log_on_each_pipeline_stage = lambda *a, **k: None

    @staticmethod
    def cut(source, begin, end, after, head):
        """The lines from `begin` up to `end` (behind `after`) as a function."""
        a = source.index(begin)
        b = source.index(end, source.index(after, a) if after else a)
        space = {"warn_rank_0": print_nothing, "print_rank_0": print_nothing}
        exec(head + source[a:b] + "\n", space)
        return space["run"]

    def read(self, q):
        """The answer on a question of ours."""
        args = types.SimpleNamespace(
            rank=0,
            hybrid_layer_pattern=q["pattern"],
            transformer_pipeline_model_parallel_size=q["pp"],
            pipeline_model_parallel_size=q["pp"],
            virtual_pipeline_model_parallel_size=None,
            position_embedding_type=q["flags"].get("position_embedding", "rope"),
            overlap_p2p_comm=not q["flags"].get("no_overlap_p2p", False),
            mtp_hsm=False,
            use_legacy_models=False,
            decoder_num_layers=None,
            multi_latent_attention=False,
        )
        for ours, theirs in FLAGS.items():
            setattr(args, theirs, q["flags"].get(ours))
        try:
            return self.answer(args, q["pp"])
        except (ValueError, AssertionError) as e:
            return {"valid": False, "error": error_name(str(e), args)}

    def answer(self, args, pp):
        self.validate(args)
        first, last = (
            args.decoder_first_pipeline_num_layers,
            args.decoder_last_pipeline_num_layers,
        )
        chunks = args.virtual_pipeline_model_parallel_size
        self.configure(
            types.SimpleNamespace(
                num_layers_in_first_pipeline_stage=first,
                num_layers_in_last_pipeline_stage=last,
                pipeline_model_parallel_size=pp,
                num_layers=args.num_layers,
                virtual_pipeline_model_parallel_size=chunks,
            )
        )
        if args.num_layers == 0:  # the division of scaled_init_method_normal()
            return {"valid": False, "error": "no_layers"}
        parsed = self.patterns.parse_hybrid_pattern(args.hybrid_layer_pattern)
        main = parsed.main_pattern or ""
        found = [
            self.patterns.select_pipeline_segment(
                main, Group(r, pp), v if chunks else None, first, last
            )
            for v in range(chunks or 1)
            for r in range(pp)
        ]
        segments = ["".join(layers) for layers, _ in found]
        begins = [sum(map(len, segments[:i])) for i in range(len(segments))]
        offsets = [offset for _, offset in found]
        return {
            "valid": True,
            "error": "",
            "vpp": chunks or 1,
            "num_layers": args.num_layers,
            "mtp": parsed.mtp_pattern or "",
            "mtp_depths": parsed.mtp_num_depths,
            "segments": segments,
            "offsets": offsets,
            "covers": offsets == begins
            and "".join(segments) == main.replace("|", ""),
        }


def print_nothing(*args, **kwargs):
    pass


def error_name(text, args):
    main = (args.hybrid_layer_pattern or "").split("/")[0]
    if "both Attention and MLA" in text:
        mixed = "*" in main and ("D" in main or "+" in main)
        return "attention_mla_mix" if mixed else "mtp_attention_mla_mix"
    return next((name for words, name in ERRORS if words in text), text)


def question(rng, letters):
    among = rng.choice(["M*-E", "M*E|", "*E|", "M", "|", letters + "|/x"])
    pattern = "".join(rng.choice(among) for _ in range(rng.randrange(13)))
    pattern += rng.choice([""] * 5 + ["/", "//", "/*E", "/*E/*E", "/M/*", "/M|"])
    choices = {
        "first": (0.3, [0, 1, 2, 3, 4, 5, 7, 9, -1]),
        "last": (0.3, [0, 1, 2, 3, 4, 6, 8]),
        "mtp_num_layers": (0.06, [0, 1, 2]),
        "num_layers": (0.06, [3]),
        "layers_per_virtual": (0.06, [1]),
        "virtual_stages": (0.06, [1, 2]),
        "layout": (0.06, ["Et|tL"]),
        "account_embedding": (0.06, [True, False]),
        "account_loss": (0.06, [True]),
        "position_embedding": (0.06, ["rope", "none", "yarn"]),
        "no_overlap_p2p": (0.06, [True]),
        "mtp_override": (0.06, ["M", "*E", "M/M", "M|"]),
        "override": (0.06, ["M*"]),
    }
    flags = {k: rng.choice(v) for k, (p, v) in choices.items() if rng.random() < p}
    return {"pattern": pattern, "pp": rng.randrange(1, 6), "flags": flags}


def main():
    megatron = Megatron(sys.argv[1])
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 20000
    rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    asked = [question(rng, megatron.letters) for _ in range(cases)]
    out = subprocess.run(
        [sys.argv[2], "check", "--batch", "/dev/stdin"],
        input="\n".join(map(json.dumps, asked)),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    seen, bad = collections.Counter(), 0
    for q, line in zip(asked, out.splitlines(), strict=True):
        ours, theirs = json.loads(line), megatron.read(q)
        kind = theirs["error"] or ("covers" if theirs["covers"] else "does not cover")
        seen[kind] += 1
        if any(ours[k] != v for k, v in theirs.items()):
            bad += 1
            print(f"{q}\n  Megatron: {theirs}\n  ours: {ours}")
    print(f"{cases} patterns, {bad} differ: {dict(seen)}")
    sys.exit(bad > 0)


main()
