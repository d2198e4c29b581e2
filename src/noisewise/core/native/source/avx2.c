/* The verbs for processors with AVX2 and FMA. */
#include "verbs.h"

#ifdef HAS_AVX2_VERBS
#include <immintrin.h> /* before the switch: only our own functions may use these instructions */
#include <math.h>
#include <string.h>
#define WITH_AVX2
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

#include "body.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#define ENTRY(result, name, parameters) .name = name,
const Verbs avx2_verbs = {VERBS(ENTRY)};
#endif
