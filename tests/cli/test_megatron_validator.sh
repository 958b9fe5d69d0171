#!/bin/sh
# Megatron-LM's own layout validator against ours, when a checkout is given:
# MEGATRON_LM=/path/to/Megatron-LM (core 0.16 or later).
set -u
L=${BUILD:-build/release}/moe-layout
name="Megatron's validator and ours agree"
if [ -z "${MEGATRON_LM:-}" ]; then
    echo "ok - $name # SKIP set MEGATRON_LM to a checkout of Megatron-LM"
    exit 0
fi
if out=$(python3 tests/megatron_validator.py "$MEGATRON_LM" "$L" 2>&1); then
    echo "ok - $name"
else
    echo "not ok - $name"
fi
echo "$out" | tail -n 5 | sed 's/^/# /'
