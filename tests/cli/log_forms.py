"""A log of a run of 24 layers with experts as Megatron-LM prints it, for tests
of what users bring: log_forms.py FILE [KEY=VALUE...]. Keys: an argument of the
dump (decoder_first_pipeline_num_layers=7); ms, iters, core (0.15, 0.16), prefix
("%r: " is the rank's), noise (a bar and other ranks' output between), dump=no,
vocab=no (no line of the padded vocabulary), slow=N (iteration N takes twice as
long), timers=yes (of every rank). Steps repeat a pattern of 0.4%, so that nothing is by chance."""
import sys

given = dict(a.split("=", 1) for a in sys.argv[2:])
take = lambda key, default: type(default)(given.pop(key, default))
ms, iters, core = take("ms", 5000.0), take("iters", 50), take("core", "0.16")
prefix, noise = take("prefix", ""), take("noise", "")
dump, vocab, slow = take("dump", "yes"), take("vocab", "yes"), take("slow", 0)
timers = take("timers", "no")
args = dict(
    account_for_embedding_in_pipeline_split=False,
    account_for_loss_in_pipeline_split=False, add_bias_linear=False, bf16=True,
    context_parallel_size=1, data_parallel_size=4,
    decoder_first_pipeline_num_layers=None, decoder_last_pipeline_num_layers=None,
    expert_model_parallel_size=4, expert_tensor_parallel_size=1,
    ffn_hidden_size=5472, global_batch_size=256, group_query_attention=True,
    hidden_size=2048, kv_channels=128, log_interval=1, micro_batch_size=1,
    moe_ffn_hidden_size=1024, moe_layer_freq=1, moe_router_topk=8,
    mtp_num_layers=None, normalization="RMSNorm", num_attention_heads=16,
    num_experts=64, num_layers=24, num_layers_per_virtual_pipeline_stage=None,
    num_query_groups=4, num_virtual_stages_per_pipeline_rank=None,
    pipeline_model_parallel_layout=None, pipeline_model_parallel_size=4,
    position_embedding_type="rope", qk_layernorm=True, seq_length=4096,
    swiglu=True, tensor_model_parallel_size=1, tokenizer_type="HuggingFaceTokenizer",
    train_iters=iters, untie_embeddings_and_output_weights=True,
    use_distributed_optimizer=True, virtual_pipeline_model_parallel_size=None,
    vocab_size=None, world_size=16)
args.update(given)
interval, gbs, world = int(args["log_interval"]), int(args["global_batch_size"]), 16
out = []


def say(text, rank=0):
    out.append(prefix.replace("%r", str(rank)) + text)


say("using world size: 16, data-parallel size: 4, pipeline-model-parallel size: 4")
if dump == "yes":
    say("------------------------ arguments ------------------------")
    for key in sorted(args):
        say("  %s %s %s" % (key, "." * (48 - len(key)), args[key]))
    say("-------------------- end of arguments ---------------------")
if vocab == "yes":
    say(" > padded vocab (size: 128256) with 0 dummy tokens (new size: 128256)")
total, n = 0.0, 0
for i in range(1, iters + 1):
    step = ms * (6 if i == 1 else 1 + (i % 5 - 2) * 0.002) * (2 if i == slow else 1)
    total, n = total + step, n + 1
    if noise:
        out.append("\rTraining: %3d%%|###   | %d/%d [00:10<00:50, 5.0s/it]" % (i, i, iters))
    first = i == 1 and core == "0.16"  # is logged, and stays in the next one
    if i % interval and not first:
        continue
    date = "2026-02-03 04:%02d:%02d" % (i // 60, i % 60)
    line = (" [%s] iteration %8d/%8d | consumed samples: %12d | elapsed time per "
            "iteration (ms): %.1f | throughput per GPU (TFLOP/s/GPU): %.1f | "
            "learning rate: 3.0E-04 | global batch size: %5d | lm loss: %.6E | "
            "load_balancing_loss: 1.05E+00 | loss scale: 1.0 | grad norm: 1.000 | "
            "number of skipped iterations:   0 | number of nan iterations:   0 |"
            % (date + (".678901" if core == "0.16" else ""), i, iters, i * gbs,
               total / n, 160 * ms * n / total, gbs, 12 - 0.01 * i))
    if noise and i % 3 == 1:
        line += "INFO:megatron.core.utils: another rank's line"
    say(line, world - 1)
    if not (first and interval > 1):
        total, n = 0.0, 0
    for name, of in ("forward", 0.25), ("backward", 0.5):
        if timers == "yes":
            if name == "forward":
                say("times across ranks (ms):")
            say("  %s-compute:" % name)
            for r in range(world):
                say("     rank %2d: %.2f" % (r, ms * (of + r // 4 * 0.01)))
    for r in range(0, world if i <= 2 * interval else 0, 4):
        say("[Rank %d] (after %d iterations) memory (MB) | allocated: 20000.00 | max "
            "allocated: %d.00 | reserved: 50000.00 | max reserved: 52000.00"
            % (r, i, 41000 + r), r)
say("[after training is done] datetime: 2026-02-03 04:15:00 ")
open(sys.argv[1], "w").write("\n".join(out) + "\n")
