/* Reading the vectors, in each of their layouts: one of them, a difference, and products of all with a direction. */
#include <math.h>

#include "arrays.h"
#include "constants.h"

static inline int64_t smaller(int64_t one, int64_t other) { return one < other ? one : other; }

/* What an entry of the vectors is, for each storage: AS(double) or AS(float). */
#define AS(Entry) ((const Entry *)columns->at)

/* The vector of one action. */
static inline void copy_vector(const Matrix *columns, Layout layout, int64_t action, double *restrict out)
{
    const int64_t dim = columns->rows, n = columns->columns;
    switch (layout) {
    case BY_FEATURE: for (int64_t i = 0; i < dim; i++) out[i] = AS(double)[i * n + action]; break;
    case BY_ACTION: for (int64_t i = 0; i < dim; i++) out[i] = AS(double)[action * dim + i]; break;
    case BY_FEATURE | SINGLE: for (int64_t i = 0; i < dim; i++) out[i] = AS(float)[i * n + action]; break;
    default: for (int64_t i = 0; i < dim; i++) out[i] = AS(float)[action * dim + i];
    }
}

static inline void copy_difference(const DenseModel *model, Layout layout, int64_t one, int64_t other)
{
    double *half = model->half.at, *row = model->row.at;
    copy_vector(&model->columns, layout, one, half);
    copy_vector(&model->columns, layout, other, row);
    for (int64_t i = 0; i < model->half.size; i++) half[i] -= row[i];
}

/* <direction, a_k> for up to BLOCK actions from `first` on. Vectors of so few numbers are near, in the second cache: as
 * many actions at a time as there are registers for their sums. */
enum { NEAR = 1 << 15 };
#define PROJECT_TILE(Entry, at_four, width) \
    for (; b + 4 * width <= count; b += 4 * width) { \
        const Entry *restrict a = AS(Entry) + first + b; \
        Four sums[width]; \
        for (int t = 0; t < width; t++) sums[t] = four_of(0.0); \
        for (int64_t i = 0; i < dim; i++, a += n) { \
            const Four entry = four_of(direction[i]); \
            for (int t = 0; t < width; t++) sums[t] = add_four(sums[t], entry, at_four(a + 4 * t)); \
        } \
        for (int t = 0; t < width; t++) put_four(sums[t], out + b + 4 * t); \
    }
#define PROJECT_NEAR(Entry, at_four) \
    { \
        int64_t b = 0; \
        PROJECT_TILE(Entry, at_four, 8) \
        PROJECT_TILE(Entry, at_four, 4) \
        PROJECT_TILE(Entry, at_four, 1) \
        for (; b < count; b++) { \
            const Entry *restrict a = AS(Entry) + first + b; \
            double sum = 0.0; \
            for (int64_t i = 0; i < dim; i++, a += n) sum += direction[i] * *a; \
            out[b] = sum; \
        } \
    }

/* Others are read in long rows, as memory likes it, four features at a time: fewer passes over `out`. */
#define PROJECT_FAR(Entry) \
    { \
        int64_t i = 0; \
        for (int64_t b = 0; b < count; b++) out[b] = 0.0; \
        for (; i + 4 <= dim; i += 4) { \
            const Entry *restrict a0 = AS(Entry) + i * n + first, *restrict a1 = a0 + n; \
            const Entry *restrict a2 = a1 + n, *restrict a3 = a2 + n; \
            const double s0 = direction[i], s1 = direction[i + 1], s2 = direction[i + 2], s3 = direction[i + 3]; \
            _Pragma("omp simd") \
            for (int64_t b = 0; b < count; b++) out[b] += s0 * a0[b] + s1 * a1[b] + s2 * a2[b] + s3 * a3[b]; \
        } \
        for (; i < dim; i++) { \
            const Entry *restrict a0 = AS(Entry) + i * n + first; \
            const double s0 = direction[i]; \
            _Pragma("omp simd") \
            for (int64_t b = 0; b < count; b++) out[b] += s0 * a0[b]; \
        } \
    }
#define PROJECT_BY_FEATURE(Entry, at_four) \
    if (dim * n <= NEAR) PROJECT_NEAR(Entry, at_four) else PROJECT_FAR(Entry)

/* Four actions at a time: an entry of the direction is read once for all of them. */
#define PROJECT_BY_ACTION(Entry) \
    { \
        int64_t b = 0; \
        for (; b + 4 <= count; b += 4) { \
            const Entry *restrict a0 = AS(Entry) + (first + b) * dim, *restrict a1 = a0 + dim; \
            const Entry *restrict a2 = a1 + dim, *restrict a3 = a2 + dim; \
            double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0; \
            _Pragma("omp simd reduction(+ : s0, s1, s2, s3)") \
            for (int64_t i = 0; i < dim; i++) { \
                const double entry = direction[i]; \
                s0 += entry * a0[i]; \
                s1 += entry * a1[i]; \
                s2 += entry * a2[i]; \
                s3 += entry * a3[i]; \
            } \
            out[b] = s0; \
            out[b + 1] = s1; \
            out[b + 2] = s2; \
            out[b + 3] = s3; \
        } \
        for (; b < count; b++) { \
            const Entry *restrict a = AS(Entry) + (first + b) * dim; \
            double sum = 0.0; \
            _Pragma("omp simd reduction(+ : sum)") \
            for (int64_t i = 0; i < dim; i++) sum += direction[i] * a[i]; \
            out[b] = sum; \
        } \
    }

static inline void project_block(const Matrix *columns, Layout layout, const double *restrict direction,
                                 int64_t first, int64_t count, double *restrict out)
{
    const int64_t dim = columns->rows, n = columns->columns;
    switch (layout) {
    case BY_FEATURE: PROJECT_BY_FEATURE(double, four_at) break;
    case BY_ACTION: PROJECT_BY_ACTION(double) break;
    case BY_FEATURE | SINGLE: PROJECT_BY_FEATURE(float, four_floats_at) break;
    default: PROJECT_BY_ACTION(float)
    }
}

static void project_rows(const DenseModel *model, Layout layout, const double *direction, int64_t first,
                         int64_t last, double *out)
{
    for (int64_t k = first; k < last; k += BLOCK)
        project_block(&model->columns, layout, direction, k, smaller(BLOCK, last - k), out + (k - first));
}

static inline void project(const DenseModel *model, Layout layout, const double *direction, double *out)
{
    project_rows(model, layout, direction, 0, model->columns.columns, out);
}
