/* What is known after some measurements, and how one more changes it, for vectors in one layout and one precision.
 *
 * One pass over the vectors a round, a block of actions at a time, with widths and means updated while the block is
 * in the cache.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* GLANCE: values looked at together. */
enum { BLOCK = 512, BATCH = 64, GLANCE = 32, NEAR = 1 << 15 };
static const double TIE = 1e-9, ROUNDING = 4e-15;

typedef struct {
    int64_t dim, n;
    const double *columns; /* (dim, n) */
    double *factor; /* (dim, dim+1): U with D on the diagonal's place elsewhere; last column U(theta - centre) */
    double *pivots, *reciprocals, *centre, *half, *step, *row; /* (dim,), the last dim+1 */
    double *squared_widths, *means, *floors, *scratch; /* (n,) */
    uint8_t *candidates; /* (n,) */
    double log_det, doubt; /* the radius is the root of their sum */
    int64_t age, since_centred;
} Knowledge;

/* Four numbers at a time, where the compiler does not find them by itself. */
typedef double Four __attribute__((vector_size(32)));
typedef int64_t FourWhole __attribute__((vector_size(32)));
typedef uint8_t FourFlags __attribute__((vector_size(4)));

static inline Four four_at(const double *at)
{
    Four all;
    memcpy(&all, at, sizeof all);
    return all;
}

static inline double sum_of(Four all) { return all[0] + all[2] + (all[1] + all[3]); }

/* Who may still be the best, of four: all bits, or none. */
static inline FourWhole four_flags(const uint8_t *at)
{
    FourFlags all;
    memcpy(&all, at, sizeof all);
    return __builtin_convertvector(all, FourWhole) != 0;
}

static double *numbers(int64_t size) { return calloc((size_t)size, sizeof(double)); }

static Knowledge begin(int64_t dim, int64_t n, const double *columns, double ridge, double doubt)
{
    Knowledge k = {.dim = dim, .n = n, .columns = columns, .doubt = doubt};
    k.factor = numbers(dim * (dim + 1));
    k.pivots = numbers(dim), k.reciprocals = numbers(dim), k.centre = numbers(dim);
    k.half = numbers(dim), k.step = numbers(dim), k.row = numbers(dim + 1);
    k.squared_widths = numbers(n), k.means = numbers(n), k.floors = numbers(n);
    k.scratch = numbers(n);
    k.candidates = malloc((size_t)n);
    for (int64_t i = 0; i < dim; i++) {
        k.pivots[i] = ridge, k.reciprocals[i] = 1.0 / ridge;
        for (int64_t j = 0; j < n; j++) k.squared_widths[j] += columns[i * n + j] * columns[i * n + j] / ridge;
    }
    for (int64_t j = 0; j < n; j++) k.floors[j] = 1e-2 * k.squared_widths[j], k.candidates[j] = 1;
    return k;
}

static void end(Knowledge *k)
{
    double *all[] = {k->factor, k->pivots, k->reciprocals, k->centre, k->half, k->step, k->row,
                     k->squared_widths, k->means, k->floors, k->scratch};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(k->candidates);
}

#define TILE_OF(width) \
    for (; b + 4 * width <= count; b += 4 * width) { \
        const double *restrict a = k->columns + first + b; \
        Four sums[width]; \
        for (int t = 0; t < width; t++) sums[t] = (Four){0.0}; \
        for (int64_t i = 0; i < k->dim; i++, a += k->n) \
            for (int t = 0; t < width; t++) sums[t] += direction[i] * four_at(a + 4 * t); \
        for (int t = 0; t < width; t++) memcpy(out + b + 4 * t, &sums[t], sizeof sums[t]); \
    }

/* <direction, a> for a block of actions: vectors that are near, in the second cache, many at a time, with their sums in
 * registers. */
static inline void project_near(const Knowledge *k, const double *restrict direction, int64_t first, int64_t count,
                                double *restrict out)
{
    int64_t b = 0;
    TILE_OF(8)
    TILE_OF(4)
    TILE_OF(1)
    for (; b < count; b++) {
        double sum = 0.0;
        for (int64_t i = 0; i < k->dim; i++) sum += direction[i] * k->columns[i * k->n + first + b];
        out[b] = sum;
    }
}

/* The same; vectors that are far are read in long rows. */
static inline void project(const Knowledge *k, const double *restrict direction, int64_t first, int64_t count,
                           double *restrict out)
{
    const int64_t n = k->n;
    int64_t i = 0;
    if (n * k->dim <= NEAR) {
        project_near(k, direction, first, count, out);
        return;
    }
    for (int64_t b = 0; b < count; b++) out[b] = 0.0;
    for (; i + 4 <= k->dim; i += 4) {
        const double *restrict a = k->columns + i * n + first;
        const double s0 = direction[i], s1 = direction[i + 1], s2 = direction[i + 2], s3 = direction[i + 3];
        for (int64_t b = 0; b < count; b++)
            out[b] += s0 * a[b] + s1 * a[n + b] + s2 * a[2 * n + b] + s3 * a[3 * n + b];
    }
    for (; i < k->dim; i++) {
        const double *restrict a = k->columns + i * n + first, s = direction[i];
        for (int64_t b = 0; b < count; b++) out[b] += s * a[b];
    }
}

static inline void project_all(const Knowledge *k, const double *direction, double *out)
{
    for (int64_t first = 0; first < k->n; first += BLOCK)
        project(k, direction, first, k->n - first < BLOCK ? k->n - first : BLOCK, out + first);
}

/* V^-1 times what is in `half`, into `step`; its squared length in the norm of V^-1. */
static inline double solve(const Knowledge *k, double *restrict half, double *restrict step)
{
    const int64_t dim = k->dim;
    double squared = 0.0;
    for (int64_t j = 0; j < dim; j++) {
        const double entry = half[j], *restrict across = k->factor + j * (dim + 1);
        step[j] = entry * k->reciprocals[j];
        squared += entry * step[j];
        for (int64_t i = j + 1; i < dim; i++) half[i] -= entry * across[i];
    }
    for (int64_t i = dim - 1; i >= 0; i--) {
        const double *restrict across = k->factor + i * (dim + 1);
        Four sums = {0.0};
        double sum = 0.0;
        int64_t j = i + 1;
        for (; j + 4 <= dim; j += 4) sums += four_at(across + j) * four_at(step + j);
        for (; j < dim; j++) sum += across[j] * step[j];
        step[i] -= sum_of(sums) + sum;
    }
    return squared;
}

static void refresh(Knowledge *k)
{
    const int64_t dim = k->dim, n = k->n;
    const bool all = k->age >= 20000;
    double halves[dim][BATCH], exact[BATCH];
    int64_t batch[BATCH], size = 0;
    for (int64_t a = 0; a < n; a++) {
        if (all || k->squared_widths[a] < k->floors[a]) batch[size++] = a;
        if (size < BATCH && (a < n - 1 || !size)) continue;
        for (int64_t b = 0; b < size; b++) exact[b] = 0.0;
        for (int64_t i = 0; i < dim; i++) {
            for (int64_t b = 0; b < size; b++) halves[i][b] = k->columns[i * n + batch[b]];
            for (int64_t j = 0; j < i; j++) {
                const double f = k->factor[j * (dim + 1) + i];
                for (int64_t b = 0; b < size; b++) halves[i][b] -= f * halves[j][b];
            }
            for (int64_t b = 0; b < size; b++) exact[b] += halves[i][b] * halves[i][b] * k->reciprocals[i];
        }
        for (int64_t b = 0; b < size; b++) {
            k->squared_widths[batch[b]] = exact[b];
            k->floors[batch[b]] = 1e-2 * exact[b];
        }
        size = 0;
    }
    if (all) k->age = 0;
}

static void recentre(Knowledge *k)
{
    const int64_t dim = k->dim;
    for (int64_t i = dim - 1; i >= 0; i--) {
        double *restrict across = k->factor + i * (dim + 1), rest = across[dim];
        for (int64_t j = i + 1; j < dim; j++) rest -= across[j] * k->half[j];
        k->half[i] = rest;
    }
    for (int64_t i = 0; i < dim; i++) k->centre[i] += k->half[i], k->factor[i * (dim + 1) + dim] = 0.0;
    project_all(k, k->centre, k->means);
    k->since_centred = 0;
}

static void learn(Knowledge *k, int64_t action, double reward, double sigma)
{
    const int64_t dim = k->dim, n = k->n;
    double *restrict row = k->row, predicted = 0.0, far = 0.0, weight = 1.0 / (sigma * sigma);
    for (int64_t i = 0; i < dim; i++) {
        k->half[i] = row[i] = k->columns[i * n + action];
        predicted += row[i] * k->centre[i];
    }
    row[dim] = reward - predicted;
    const double squared = solve(k, k->half, k->step), variance = sigma * sigma + squared;
    const double scale = 1.0 / sqrt(variance), gain = (reward - k->means[action]) * scale;
    k->log_det += log1p(squared * weight);
    k->age++, k->since_centred++;
    for (int64_t j = 0; j < dim; j++) {
        double *restrict across = k->factor + j * (dim + 1);
        const double entry = row[j], pivot = k->pivots[j], grown = pivot + weight * entry * entry;
        const double share = weight * entry / grown;
        weight *= pivot / grown;
        k->pivots[j] = grown, k->reciprocals[j] = 1.0 / grown;
        for (int64_t i = j + 1; i <= dim; i++) {
            row[i] -= entry * across[i];
            across[i] += share * row[i];
        }
        far += grown * across[dim] * across[dim];
    }
    int64_t worn = 0;
    for (int64_t i = 0; i < dim; i++) k->step[i] *= scale;
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        double products[BLOCK], *restrict widths = k->squared_widths + first, *restrict means = k->means + first;
        const double *restrict floors = k->floors + first;
        project(k, k->step, first, count, products);
        for (int64_t b = 0; b < count; b++) {
            const double lowered = widths[b] - products[b] * products[b];
            widths[b] = lowered;
            means[b] += products[b] * gain;
            worn += lowered < floors[b];
        }
    }
    if (worn || k->age >= 20000) refresh(k);
    if (far > 1e6 || k->since_centred >= 32) recentre(k);
}

static inline double radius(const Knowledge *k) { return sqrt(k->log_det + k->doubt); }

/* What the largest of the values is. */
static inline double largest(const double *restrict values, int64_t n)
{
    double top = -INFINITY;
#pragma omp simd reduction(max : top)
    for (int64_t a = 0; a < n; a++) top = values[a] > top ? values[a] : top;
    return top;
}

/* The first value that is at least this large. */
static inline int64_t first_above(const double *values, int64_t n, double low)
{
    int64_t a = 0;
    for (; a + GLANCE < n && largest(values + a, GLANCE) < low;) a += GLANCE;
    while (values[a] < low) a++;
    return a;
}

static inline int64_t widest(const Knowledge *k)
{
    const double top = largest(k->squared_widths, k->n);
    return first_above(k->squared_widths, k->n, top - TIE * top);
}

/* Make the values -inf of who can no longer be the best. */
static inline void cross_out(double *restrict values, const uint8_t *restrict candidates, int64_t n)
{
    int64_t a = 0;
    for (; a + 4 <= n; a += 4) {
        const Four none = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
        const FourWhole kept = four_flags(candidates + a);
        const FourWhole all = (kept & (FourWhole)four_at(values + a)) | (~kept & (FourWhole)none);
        memcpy(values + a, &all, sizeof all);
    }
    for (; a < n; a++) values[a] = candidates[a] ? values[a] : -INFINITY;
}

/* Flags are bytes and values are not: flags are read only in blocks whose values make a difference. */
static void drop(Knowledge *k, double reach)
{
    double floor = -INFINITY, *restrict upper = k->scratch, lower[GLANCE];
    for (int64_t first = 0; first < k->n; first += GLANCE) {
        const int64_t count = k->n - first < GLANCE ? k->n - first : GLANCE;
        const double *restrict widths = k->squared_widths + first, *restrict means = k->means + first;
        double top = -INFINITY;
#pragma omp simd reduction(max : top)
        for (int64_t b = 0; b < count; b++) {
            const double slack = reach * sqrt(widths[b]);
            lower[b] = means[b] - slack;
            upper[first + b] = means[b] + slack;
            top = lower[b] > top ? lower[b] : top;
        }
        if (top <= floor) continue;
        cross_out(lower, k->candidates + first, count);
        top = largest(lower, count);
        floor = top > floor ? top : floor;
    }
    for (int64_t first = 0; first < k->n; first += GLANCE) {
        const int64_t last = k->n - first < GLANCE ? k->n : first + GLANCE;
        FourWhole any = {0};
        int64_t a = first;
        for (; a + 4 <= last; a += 4) any |= four_flags(k->candidates + a) & (four_at(upper + a) < floor);
        if (!(any[0] | any[1] | any[2] | any[3]) && a == last) continue;
        for (a = first; a < last; a++) k->candidates[a] &= upper[a] >= floor;
    }
}

/* What the world tells: the values of the actions, and the noise of each round. */
typedef struct {
    const double *means, *sigma, *noise;
    int64_t rounds;
} World;

/* The numbers in a rule's options: the radius, and what VAGE asks for. */
typedef struct {
    double ridge, doubt, delta, rank, most, share, challenge;
} Limits;
