/* Four numbers at a time, where the compiler does not find them by itself: flags next to numbers, and several sums
 * that stay in registers. */
#include <math.h>
#include <string.h>

#include "arrays.h"

#ifdef WITH_AVX2
typedef __m256d Four;
static inline Four four_of(double value) { return _mm256_set1_pd(value); }
static inline Four four_at(const double *at) { return _mm256_loadu_pd(at); }
static inline Four four_floats_at(const float *at) { return _mm256_cvtps_pd(_mm_loadu_ps(at)); }
static inline void put_four(Four values, double *out) { _mm256_storeu_pd(out, values); }
static inline Four four_product(Four one, Four other) { return _mm256_mul_pd(one, other); }
static inline Four add_four(Four sums, Four one, Four other) { return _mm256_fmadd_pd(one, other, sums); }
static inline Four take_four(Four sums, Four one, Four other) { return _mm256_fnmadd_pd(one, other, sums); }
/* The larger of each two, and the second where the first is NaN. */
static inline Four larger_four(Four one, Four other) { return _mm256_max_pd(one, other); }
static inline Four smaller_four(Four one, Four other) { return _mm256_min_pd(one, other); }
/* NaN leaves a mark. */
static inline Four mark(Four marks, Four values)
{
    return _mm256_or_pd(marks, _mm256_cmp_pd(values, values, _CMP_UNORD_Q));
}
static inline bool any_mark(Four marks) { return _mm256_movemask_pd(marks) != 0; }
static inline double sum_of_four(Four values)
{
    const __m128d pairs = _mm_add_pd(_mm256_castpd256_pd128(values), _mm256_extractf128_pd(values, 1));
    return _mm_cvtsd_f64(_mm_add_sd(pairs, _mm_unpackhi_pd(pairs, pairs)));
}
/* The values whose flags are set, and `others` in the places of the rest. */
static inline Four four_where(const Flag *flags, Four values, Four others)
{
    int32_t bytes;
    memcpy(&bytes, flags, sizeof bytes);
    const __m256i unset = _mm256_cmpeq_epi64(_mm256_cvtepi8_epi64(_mm_cvtsi32_si128(bytes)), _mm256_setzero_si256());
    return _mm256_blendv_pd(values, others, _mm256_castsi256_pd(unset));
}
#else
typedef struct { double of[4]; } Four;
#define EACH(expression) \
    { \
        Four all; \
        for (int t = 0; t < 4; t++) all.of[t] = expression; \
        return all; \
    }
static inline Four four_of(double value) EACH(value)
static inline Four four_at(const double *at) EACH(at[t])
static inline Four four_floats_at(const float *at) EACH(at[t])
static inline void put_four(Four values, double *out) { memcpy(out, values.of, sizeof values.of); }
static inline Four four_product(Four one, Four other) EACH(one.of[t] * other.of[t])
static inline Four add_four(Four sums, Four one, Four other) EACH(sums.of[t] + one.of[t] * other.of[t])
static inline Four take_four(Four sums, Four one, Four other) EACH(sums.of[t] - one.of[t] * other.of[t])
static inline Four larger_four(Four one, Four other) EACH(one.of[t] > other.of[t] ? one.of[t] : other.of[t])
static inline Four smaller_four(Four one, Four other) EACH(one.of[t] < other.of[t] ? one.of[t] : other.of[t])
static inline Four four_where(const Flag *flags, Four values, Four others) EACH(flags[t] ? values.of[t] : others.of[t])
static inline Four mark(Four marks, Four values) EACH(isnan(values.of[t]) ? 1.0 : marks.of[t])
static inline bool any_mark(Four marks) { return marks.of[0] + marks.of[1] + marks.of[2] + marks.of[3] > 0.0; }
static inline double sum_of_four(Four values) { return values.of[0] + values.of[2] + (values.of[1] + values.of[3]); }
#undef EACH
#endif

static inline double largest_of_four(Four values)
{
    double each[4];
    put_four(values, each);
    const double one = each[0] > each[1] ? each[0] : each[1], other = each[2] > each[3] ? each[2] : each[3];
    return one > other ? one : other;
}
