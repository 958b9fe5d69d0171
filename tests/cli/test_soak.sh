#!/bin/sh
# A short soak; 'make soak' is the long one. A failure is repeated by the seed
# and the turn that it prints: make soak SOAK="SEED TURN".
set -u
build=${BUILD:-build/release}
if [ -x "$build/tests/soak/soak" ]; then
    BUILD=$build "$build/tests/soak/soak" "${SOAK_S:-20}" ${SOAK:-}
else
    echo "ok - soak # SKIP $build/tests/soak/soak is not built"
fi
# a plant that no longer applies shows nothing
if command -v git >/dev/null; then
    sh tests/soak/plants.sh --check
else
    echo "ok - plants of the soak # SKIP no git"
fi
