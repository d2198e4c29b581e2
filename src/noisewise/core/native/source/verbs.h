/* All verbs, by name and type: one table of them for every kind of processor. */
#ifndef NOISEWISE_VERBS_H
#define NOISEWISE_VERBS_H

#include "arrays.h"
#include "table.h" /* written by generate.py */

typedef struct {
#define FIELD(result, name, parameters) result(*name) parameters;
    VERBS(FIELD)
#undef FIELD
} Verbs;

/* The same verbs, for any processor and for those with AVX2 and FMA. */
extern const Verbs baseline_verbs;
#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_AVX2_VERBS
extern const Verbs avx2_verbs;
#endif

#endif
