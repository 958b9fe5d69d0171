/*
 * wide: marks a function whose loops should use the machine's widest registers,
 * chosen when the program starts. Without effect on results: the loops are
 * integer, or plain IEEE additions and products in a fixed order. Off under
 * sanitizers, which dislike functions that are resolved at load time.
 */
#ifndef PROVE_WIDE_H
#define PROVE_WIDE_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&         \
    !defined(__SANITIZE_ADDRESS__)
#define WIDE                                                                   \
    __attribute__((target_clones("default", "avx2", "avx512f"),                \
                   optimize("tree-vectorize", "no-trapping-math")))
#else
#define WIDE
#endif

#endif
