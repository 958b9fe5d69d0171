#!/usr/bin/env python3
"""The trainer's model once more, in double precision with torch's gradients.

usage: train_reference.py NAME FLAGS... >>reference.csv

FLAGS are those of moe-train. It makes the same first weights and tokens from
the seed, trains, and prints rows "format,model,iteration,unit,tensor,value": the
losses of each step (unit "loss"), and of the first and the last step the norm of
each tensor's gradient. Nothing of it is taken from the trainer's code but the
names of tensors, their numbers and the generator of first values and tokens.
Needs python3-torch.
"""
import argparse
import json
import math
import sys

import numpy
import torch

FORMAT = "train-reference/1"
MASK = (1 << 64) - 1
IDS_A_UNIT = 16  # tensors are numbered unit * 16 + place
LAYER = ["input_norm", "qkv", "attention_out", "mlp_norm", "router",
         "experts_gate_up", "experts_down", "gate_up", "down"]
MTP = ["mtp_enorm", "mtp_hnorm", "mtp_projection", "mtp_norm"]
MAX_SYMBOLS = 64
EPS = 1e-5
STD = 0.02


def read_flags(words):
    """Those flags of Megatron that the models of the tests have."""
    p = argparse.ArgumentParser()
    whole = {"num-layers": None, "hidden-size": None, "ffn-hidden-size": None,
             "num-attention-heads": None, "num-query-groups": None,
             "kv-channels": None, "seq-length": None, "vocab-size": None,
             "padded-vocab-size": None, "num-experts": None,
             "moe-ffn-hidden-size": None, "moe-router-topk": 2,
             "moe-shared-expert-intermediate-size": 0, "mtp-num-layers": 0,
             "micro-batch-size": 1, "global-batch-size": None,
             "train-iters": 10, "seed": 1234}
    real = {"lr": 1e-3, "weight-decay": 0.01, "adam-beta1": 0.9,
            "adam-beta2": 0.999, "adam-eps": 1e-8, "clip-grad": 1.0,
            "mtp-loss-scaling-factor": 0.1, "moe-aux-loss-coeff": 1e-2}
    for name, value in whole.items():
        p.add_argument("--" + name, type=int, default=value)
    for name, value in real.items():
        p.add_argument("--" + name, type=float, default=value)
    for name in ("group-query-attention", "swiglu", "disable-bias-linear",
                 "untie-embeddings-and-output-weights"):
        p.add_argument("--" + name, action="store_true")
    for name in ("normalization", "position-embedding-type", "moe-layer-freq"):
        p.add_argument("--" + name)
    return p.parse_args(words)


def mix(key):
    """splitmix64 of numbers or arrays of them."""
    if isinstance(key, int):
        return int(mix(numpy.array([key & MASK], dtype=numpy.uint64))[0])
    key = key + numpy.uint64(0x9E3779B97F4A7C15)
    key = (key ^ key >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ key >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
    return key ^ key >> numpy.uint64(31)


def first_values(seed, number, shape, std):
    """Sums of four 16-bit numbers, rounded to single precision."""
    key = numpy.uint64(mix(seed ^ mix(number)))
    r = mix(key + numpy.arange(math.prod(shape), dtype=numpy.uint64))
    total = sum((r >> numpy.uint64(s) & numpy.uint64(0xFFFF)).astype(float)
                for s in (0, 16, 32, 48))
    x = std * math.sqrt(3) / 65536 * (total - 131070)
    return torch.tensor(x.astype(numpy.float32).astype(float)).reshape(shape)


def tokens_of(a, sample):
    """A sequence and the token after it."""
    n = min(a.vocab_size, MAX_SYMBOLS)
    chain = mix(a.seed ^ 0x636861696E)
    state = mix(chain + 2 * sample + 1)
    symbol, out = state % n, []
    for _ in range(a.seq_length + 1):
        out.append(symbol * a.vocab_size // n)
        state = mix(state)
        noise = state % 16 < 2
        symbol = (state >> 8 if noise else mix(chain ^ symbol)) % n
    return out


def norm(x, w):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + EPS) * w


class Model:
    def __init__(self, a):
        self.a = a
        self.d = a.kv_channels or a.hidden_size // a.num_attention_heads
        self.groups = (a.num_query_groups if a.group_query_attention
                       else a.num_attention_heads)
        self.moe = (json.loads(a.moe_layer_freq) if a.moe_layer_freq
                    else [1] * a.num_layers)
        self.vocab = a.padded_vocab_size or -(-a.vocab_size // 128) * 128
        self.w = {}  # (unit, tensor) -> parameter
        self.make()

    def add(self, unit, number, place, name, shape, std=STD):
        if 0 in shape:
            return
        x = (torch.ones(shape, dtype=torch.float64) if std is None else
             first_values(self.a.seed, number * IDS_A_UNIT + place, shape, std))
        self.w[unit, name] = x.requires_grad_()

    def add_layer(self, unit, number, moe):
        a, c = self.a, self.a.hidden_size
        n = a.num_experts if moe else 0
        f, p = a.moe_ffn_hidden_size, (
            a.moe_shared_expert_intermediate_size if moe else a.ffn_hidden_size)
        wide = (a.num_attention_heads + 2 * self.groups) * self.d
        out = STD / math.sqrt(2 * a.num_layers)
        rows = [((c,), None), ((wide, c), STD),
                ((c, a.num_attention_heads * self.d), out), ((c,), None),
                ((n, c), STD), ((n, 2 * f, c), STD), ((n, c, f), out),
                ((2 * p, c), STD), ((c, p), out)]
        for i, (shape, std) in enumerate(rows):
            self.add(unit, number, i, LAYER[i], shape, std)

    def make(self):
        a, c = self.a, self.a.hidden_size
        last = a.num_layers + 1
        self.add("E", 0, 0, "embedding", (self.vocab, c))
        for i in range(a.num_layers):
            self.add_layer(f"t{i + 1}", 1 + i, self.moe[i])
        self.add("norm", last, 0, "final_norm", (c,), None)
        for k in range(a.mtp_num_layers):
            unit, number = f"m{k + 1}", last + 1 + k
            self.add_layer(unit, number, self.moe[-1])
            for i, shape in enumerate([(c,), (c,), (c, 2 * c), (c,)]):
                self.add(unit, number, len(LAYER) + i, MTP[i], shape,
                         STD if len(shape) == 2 else None)
        if a.untie_embeddings_and_output_weights:
            self.add("L", last + 1 + a.mtp_num_layers, 0, "output",
                     (self.vocab, c))

    def attention(self, w, x):
        a, d = self.a, self.d
        b, s, _ = x.shape
        heads, g = a.num_attention_heads, self.groups
        qkv = (x @ w("qkv").T).reshape(b, s, heads + 2 * g, d)
        angle = torch.outer(
            torch.arange(s, dtype=torch.float64),
            10000.0 ** (-2.0 * torch.arange(d // 2, dtype=torch.float64) / d))
        cos, sin = (f(angle)[None, :, None] for f in (torch.cos, torch.sin))
        u, v = qkv[:, :, :heads + g].chunk(2, -1)
        turned = torch.cat([u * cos - v * sin, v * cos + u * sin], -1)
        q, k = turned[:, :, :heads], turned[:, :, heads:]
        k = k.repeat_interleave(heads // g, 2)
        v = qkv[:, :, heads + g:].repeat_interleave(heads // g, 2)
        score = torch.einsum("bshd,bthd->bhst", q, k) / math.sqrt(d)
        later = torch.ones(s, s, dtype=torch.bool).triu(1)
        p = score.masked_fill(later, -math.inf).softmax(-1)
        return torch.einsum("bhst,bthd->bshd", p, v).reshape(b, s, -1) @ w(
            "attention_out").T

    @staticmethod
    def swiglu(x, gate_up, down):
        g, u = (x @ gate_up.T).chunk(2, -1)
        return (g * torch.sigmoid(g) * u) @ down.T

    def experts(self, w, x):
        """Output, and the auxiliary loss of this micro-batch."""
        a, n = self.a, self.a.num_experts
        flat = x.reshape(-1, x.shape[-1])
        score = flat @ w("router").T
        top, chosen = score.topk(a.moe_router_topk)
        share = torch.zeros_like(score).scatter(1, chosen, top.softmax(-1))
        out = 0
        for i in range(n):
            out = out + share[:, i:i + 1] * self.swiglu(
                flat, w("experts_gate_up")[i], w("experts_down")[i])
        load = torch.zeros_like(score).scatter(1, chosen, 1.0).mean(0)
        load = load / a.moe_router_topk
        balance = n * (load * score.softmax(-1).mean(0)).sum()
        return out.reshape(x.shape), balance

    def layer(self, unit, x, balance):
        w = lambda name: self.w[unit, name]
        x = x + self.attention(w, norm(x, w("input_norm")))
        y, out = norm(x, w("mlp_norm")), x
        if (unit, "router") in self.w:
            more, loss = self.experts(w, y)
            out = out + more
            balance.append(loss)
        if (unit, "gate_up") in self.w:
            out = out + self.swiglu(y, w("gate_up"), w("down"))
        return out

    def losses(self, batch):
        """Of one micro-batch: by head, and of each router."""
        a, balance = self.a, []
        ids, labels = batch[:, :-1], batch[:, 1:]
        table = self.w["E", "embedding"]
        output = self.w.get(("L", "output"), table)
        x = table[ids]
        for i in range(a.num_layers):
            x = self.layer(f"t{i + 1}", x, balance)
        states = [norm(x, self.w["norm", "final_norm"])]
        for k in range(1, a.mtp_num_layers + 1):
            w = lambda name: self.w[f"m{k}", name]
            ids = torch.cat([ids[:, 1:], torch.zeros_like(ids[:, :1])], 1)
            both = torch.cat([norm(table[ids], w("mtp_enorm")),
                              norm(states[-1], w("mtp_hnorm"))], -1)
            x = self.layer(f"m{k}", both @ w("mtp_projection").T, balance)
            states.append(norm(x, w("mtp_norm")))
        heads = []
        for k, state in enumerate(states):
            kept = a.seq_length - k
            logits = state[:, :kept] @ output.T
            heads.append(torch.nn.functional.cross_entropy(
                logits.reshape(-1, self.vocab), labels[:, k:].reshape(-1)))
        return heads, balance

    def backward(self, first_sample):
        """Gradients of a step; its mean losses by head, and of the routers."""
        a = self.a
        n = a.global_batch_size // a.micro_batch_size
        means, routers = [0.0] * (1 + a.mtp_num_layers), 0.0
        for x in self.w.values():
            x.grad = None
        for i in range(n):
            start = first_sample + i * a.micro_batch_size
            heads, balance = self.losses(torch.tensor(
                [tokens_of(a, start + b) for b in range(a.micro_batch_size)]))
            loss = heads[0] + a.moe_aux_loss_coeff * sum(balance)
            for head in heads[1:]:
                loss = loss + (a.mtp_loss_scaling_factor / a.mtp_num_layers
                               * head)
            (loss / n).backward()
            means = [m + h.item() / n for m, h in zip(means, heads)]
            routers += sum(b.item() for b in balance) / len(balance) / n
        return means, routers


def main():
    name, a = sys.argv[1], read_flags(sys.argv[2:])
    model = Model(a)
    moment = {k: [torch.zeros_like(w), torch.zeros_like(w)]
              for k, w in model.w.items()}

    def row(step, unit, tensor, value):
        print(f"{FORMAT},{name},{step},{unit},{tensor},{value:.12g}")

    for step in range(1, a.train_iters + 1):
        means, routers = model.backward((step - 1) * a.global_batch_size)
        for k, mean in enumerate(means):
            row(step, "loss", f"mtp_{k}" if k else "lm", mean)
        row(step, "loss", "load_balancing", routers)
        total = math.sqrt(sum((w.grad ** 2).sum().item()
                              for w in model.w.values()))
        if step in (1, a.train_iters):
            for (unit, tensor), w in model.w.items():
                row(step, unit, tensor, w.grad.norm().item())
        scale = min(1, a.clip_grad / total) if a.clip_grad > 0 else 1
        with torch.no_grad():
            for key, w in model.w.items():
                m, v = moment[key]
                g = w.grad * scale
                m += (1 - a.adam_beta1) * (g - m)
                v += (1 - a.adam_beta2) * (g * g - v)
                if w.dim() > 1:  # norms are not decayed
                    w *= 1 - a.lr * a.weight_decay
                w -= a.lr * (m / (1 - a.adam_beta1 ** step)) / (
                    torch.sqrt(v / (1 - a.adam_beta2 ** step)) + a.adam_eps)


if __name__ == "__main__":
    main()
