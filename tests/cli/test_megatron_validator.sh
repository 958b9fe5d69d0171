#!/bin/sh
# Megatron-LM's own layout validator and its reading of hybrid patterns against
# ours, when a checkout is given: MEGATRON_LM=/path/to/Megatron-LM (core 0.16 or
# later, for patterns 0.17).
set -u
L=${BUILD:-build/release}/moe-layout
agrees() { # CLAIM PROGRAM
    if [ -z "${MEGATRON_LM:-}" ]; then
        echo "ok - $1 # SKIP set MEGATRON_LM to a checkout of Megatron-LM"
        return
    fi
    if out=$(python3 "$2" "$MEGATRON_LM" "$L" 2>&1); then
        echo "ok - $1"
    else
        echo "not ok - $1"
    fi
    echo "$out" | tail -n 5 | sed 's/^/# /'
}

agrees "Megatron's validator and ours agree" tests/megatron_validator.py
agrees "Megatron reads hybrid patterns as we do" tests/megatron_patterns.py
