/* VAGE: its books, the closest races to the leader, and what settles them best.
 * Twins: `book`, `closest_races` and `most_settling` in `policies/rules/ours/vage`, which have the equations.
 *
 * Many actions are looked at through a sketch of their vectors, an eighth as large: it bounds what a row can be,
 * and the few rows that may matter are looked at exactly. What comes out is what looking at all rows gives.
 */

#include <string.h>

/* ---- The books. ---- */

enum { LEVEL, SIGMAS_TOLD, SUM, SQUARES, BETWEEN, MEASURED, PAIRS, DIFFER };
enum { PRECISION, PRECISION_TO_WIDEST, CREDIT, CREDIT_TO_WIDEST, CONCENTRATION };

static inline double larger_of(double one, double other) { return one > other ? one : other; }

static inline void compare_actions(const NoiseHistory *noise)
{
    const int64_t n = noise->relative.size;
    const double *restrict counts = noise->counts.at, *restrict residuals = noise->residuals.at;
    double *restrict relative = noise->relative.at, *tally = noise->tally.at;
    const double told = tally[SIGMAS_TOLD], groups = tally[MEASURED], freedom = told - groups;
    double between = 0.0, within = 0.0;
    if (groups >= 2.0 && freedom >= FEWEST_REPEATS) {
        within = larger_of(0.0, tally[SQUARES] - tally[BETWEEN]) / freedom;
        const double spread = larger_of(0.0, tally[BETWEEN] - tally[SUM] * tally[SUM] / told) / (groups - 1.0);
        const double doubt = 1.0 + CAUTION * sqrt(2.0 / (groups - 1.0) + 2.0 / freedom);
        between = (spread - doubt * within) * (groups - 1.0) / (told - tally[PAIRS] / told);
    }
    if (between > 1e-6) {
        const double prior = within / between;
        for (int64_t k = 0; k < n; k++)
            relative[k] = counts[k] == 0.0
                ? 1.0 : exp((residuals[k] - counts[k] * tally[SUM] / told) / (counts[k] + prior + 1e-9));
        tally[DIFFER] = 1.0;
    } else if (tally[DIFFER] > 0.0) {
        for (int64_t k = 0; k < n; k++) relative[k] = 1.0;
        tally[DIFFER] = 0.0;
    }
}

static inline void observe(const NoiseHistory *noise, int64_t action, double sigma)
{
    double *tally = noise->tally.at, *counts = noise->counts.at, *residuals = noise->residuals.at;
    const double value = 2.0 * log(sigma);
    if (tally[SIGMAS_TOLD] == 0.0) tally[LEVEL] = value;
    const double residual = value - tally[LEVEL], count = counts[action], total = residuals[action];
    const double before = count > 0.0 ? total * total / count : 0.0, after = total + residual;
    counts[action] = count + 1.0;
    residuals[action] = after;
    tally[BETWEEN] += after * after / (count + 1.0) - before;
    tally[MEASURED] += count == 0.0 ? 1.0 : 0.0;
    tally[PAIRS] += 2.0 * count + 1.0;
    tally[SIGMAS_TOLD] += 1.0;
    tally[SUM] += residual;
    tally[SQUARES] += residual * residual;
    noise->precisions.at[action] += 1.0 / (sigma * sigma);
    compare_actions(noise);
    const double rounds = tally[SIGMAS_TOLD] < MEMORY ? tally[SIGMAS_TOLD] : MEMORY;
    tally[LEVEL] += (residual - log(noise->relative.at[action])) / rounds;
}

static void book(const double *squared_widths, int64_t n, double *ledgers, const NoiseHistory *noise,
                 int64_t action, double sigma)
{
    const double precision = 1.0 / (sigma * sigma), part = precision / (ledgers[PRECISION] + precision);
    double largest = squared_widths[0];
    _Pragma("omp simd reduction(max : largest)")
    for (int64_t k = 0; k < n; k++) largest = squared_widths[k] > largest ? squared_widths[k] : largest;
    const double credit = largest * precision < 1.0 ? largest * precision : 1.0;
    ledgers[CONCENTRATION] = ledgers[CONCENTRATION] * ((1.0 - part) * (1.0 - part)) + part * part;
    ledgers[PRECISION] += precision;
    ledgers[CREDIT] += credit;
    if (squared_widths[action] >= largest * (1.0 - TIE)) {
        ledgers[PRECISION_TO_WIDEST] += precision;
        ledgers[CREDIT_TO_WIDEST] += credit;
    }
    observe(noise, action, sigma);
}

/* The variance of the coming measurement, of an average action; what each one's is relative to it, or NULL. */
static inline double foresee(const NoiseHistory *noise, double sigma, const double **relative)
{
    const double *tally = noise->tally.at, *restrict precisions = noise->precisions.at;
    const int64_t n = noise->precisions.size;
    double sum = 0.0;
    *relative = NULL;
    if (!isnan(sigma)) return sigma * sigma;
    if (tally[SIGMAS_TOLD] == 0.0) return 1.0;
    if (tally[DIFFER] > 0.0) {
        const double *restrict own = *relative = noise->relative.at;
        _Pragma("omp simd reduction(+ : sum)")
        for (int64_t k = 0; k < n; k++) sum += precisions[k] * own[k];
    } else {
        _Pragma("omp simd reduction(+ : sum)")
        for (int64_t k = 0; k < n; k++) sum += precisions[k];
    }
    return tally[SIGMAS_TOLD] / sum;
}

/* ---- The sketch. ---- */

/* A direction as the sketch's codes see it: <direction, a_k> is within `error` of base + <codes, q_k>. */
typedef struct { const float *codes; double base, error; } Sight;

/* How many rows may be looked at exactly, of n: one in this number. And how many may tie at a time. */
enum { ONE_IN = 16, HOPEFUL = 256, CHUNKS = 4096 };

/* `codes` provides room for dim numbers. */
static Sight see(const Sketch *sketch, const double *restrict direction, float *restrict codes)
{
    const int64_t dim = sketch->axes.rows;
    const double *axes = sketch->axes.at, *centre = sketch->centre.at;
    double base = 0.0, sum = 0.0, length = 0.0, middle = 0.0, scale = 0.0;
    for (int64_t i = 0; i < dim; i++) {
        double code = 0.0;
        /* An axis for each row. */
        for (int64_t j = 0; j < dim; j++) {
            code += axes[i * dim + j] * direction[j];
            scale += axes[i * dim + j] * axes[i * dim + j];
        }
        codes[i] = (float)code;
        sum += fabs(code);
        base += centre[i] * direction[i];
        length += direction[i] * direction[i];
        middle += centre[i] * centre[i];
    }
    /* Codes are rounded to whole numbers of at most 127, and sums of `dim` products to 24 bits; the rest is
     * what double precision leaves of the vectors, wherever they are. */
    const double rounded = 0.5 + 1e-6 + 127.0 * (double)(dim + 2) * 0x1p-23;
    const double precise = 1e-12 * (double)dim * (sqrt(middle) + 127.0 * sqrt(scale)) * sqrt(length);
    return (Sight){codes, base, rounded * sum + precise};
}

/* Eight rows at a time: the sums stay in registers while all axes are gone through. */
#ifdef WITH_AVX2
typedef __m256 Eight;
static inline Eight nothing(void) { return _mm256_setzero_ps(); }
static inline Eight eight_codes(const int8_t *codes)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)codes)));
}
static inline Eight add_product(Eight sums, float factor, Eight codes)
{
    return _mm256_fmadd_ps(_mm256_set1_ps(factor), codes, sums);
}
static inline void put(Eight sums, float *out) { _mm256_storeu_ps(out, sums); }
#else
typedef struct { float of[8]; } Eight;
static inline Eight nothing(void) { return (Eight){{0.0f}}; }
static inline Eight eight_codes(const int8_t *codes)
{
    Eight all;
    for (int t = 0; t < 8; t++) all.of[t] = codes[t];
    return all;
}
static inline Eight add_product(Eight sums, float factor, Eight codes)
{
    for (int t = 0; t < 8; t++) sums.of[t] += factor * codes.of[t];
    return sums;
}
static inline void put(Eight sums, float *out) { memcpy(out, sums.of, sizeof sums.of); }
#endif

/* <codes, q_k> for a block of rows along one direction. */
static inline void look_along(const Sketch *sketch, int64_t first, const float *restrict along, float *restrict out)
{
    const int64_t dim = sketch->axes.rows, tiles = smaller(BLOCK / TILE, sketch->codes.blocks - first / TILE);
    for (int64_t tile = 0; tile < tiles; tile++)
        for (int64_t b = 0; b < TILE; b += 32) {
            const int8_t *codes = sketch->codes.at + (first / TILE + tile) * dim * TILE + b;
            Eight s0 = nothing(), s1 = nothing(), s2 = nothing(), s3 = nothing();
            for (int64_t i = 0; i < dim; i++, codes += TILE) {
                s0 = add_product(s0, along[i], eight_codes(codes));
                s1 = add_product(s1, along[i], eight_codes(codes + 8));
                s2 = add_product(s2, along[i], eight_codes(codes + 16));
                s3 = add_product(s3, along[i], eight_codes(codes + 24));
            }
            put(s0, out + tile * TILE + b);
            put(s1, out + tile * TILE + b + 8);
            put(s2, out + tile * TILE + b + 16);
            put(s3, out + tile * TILE + b + 24);
        }
}

/* The same along RACES directions by one read. */
static inline void look_along_all(const Sketch *sketch, int64_t first, const float *const *along,
                                  float out[RACES][BLOCK])
{
    const int64_t dim = sketch->axes.rows, tiles = smaller(BLOCK / TILE, sketch->codes.blocks - first / TILE);
    const float *a0 = along[0], *a1 = along[1], *a2 = along[2], *a3 = along[3];
    for (int64_t tile = 0; tile < tiles; tile++)
        for (int64_t b = 0; b < TILE; b += 16) {
            const int8_t *codes = sketch->codes.at + (first / TILE + tile) * dim * TILE + b;
            const int64_t at = tile * TILE + b;
            Eight s0 = nothing(), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
            for (int64_t i = 0; i < dim; i++, codes += TILE) {
                const Eight one = eight_codes(codes), other = eight_codes(codes + 8);
                s0 = add_product(s0, a0[i], one), t0 = add_product(t0, a0[i], other);
                s1 = add_product(s1, a1[i], one), t1 = add_product(t1, a1[i], other);
                s2 = add_product(s2, a2[i], one), t2 = add_product(t2, a2[i], other);
                s3 = add_product(s3, a3[i], one), t3 = add_product(t3, a3[i], other);
            }
            put(s0, out[0] + at), put(t0, out[0] + at + 8);
            put(s1, out[1] + at), put(t1, out[1] + at + 8);
            put(s2, out[2] + at), put(t2, out[2] + at + 8);
            put(s3, out[3] + at), put(t3, out[3] + at + 8);
        }
}

/* <direction, a_k> exactly, for one row. */
static inline double product_with(const Matrix *columns, Layout layout, int64_t k, const double *restrict direction)
{
    double product;
    project_block(columns, layout, direction, k, 1, &product);
    return product;
}

/* ---- The closest races. ---- */

/* Whether all flags of a block are set: then it need not be asked one by one. */
static inline bool all_set(const Flag *restrict flags, int64_t count)
{
    Flag unset = 0;
    _Pragma("omp simd reduction(| : unset)")
    for (int64_t b = 0; b < count; b++) unset |= flags[b] == 0;
    return !unset;
}

/* Of n rivals with these widths and means, the largest reach·width + mean in turn, of those that tie the first: at
 * most RACES of them, into `rivals` by their places (or by the rows there). Who is no rival has a width of -∞, and
 * who is taken gets one. The races count the less the further they are behind the first; what is no race counts 0. */
static void take_races(const int64_t *restrict rows, double *restrict widths, const double *restrict means, int64_t n,
                       int64_t leader, double best, double reach, int64_t *restrict rivals, double *restrict weights)
{
    double tolerance = 0.0, first = 0.0, slack = 0.0;
    for (int64_t j = 0; j < RACES; j++) rivals[j] = leader, weights[j] = 0.0;
    for (int64_t j = 0; j < RACES; j++) {
        double top = -INFINITY;
        _Pragma("omp simd reduction(max : top)")
        for (int64_t k = 0; k < n; k++) {
            const double upper = reach * widths[k] + means[k];
            top = upper > top ? upper : top;
        }
        if (!(top > -INFINITY)) return;
        if (j == 0) {
            /* Of what the strongest rival is given, and for rounding in the two means. Rounding may also differ
             * from loop to loop: a product and a sum are one operation or two. */
            _Pragma("omp simd reduction(max : slack)")
            for (int64_t k = 0; k < n; k++) {
                const double own = reach * widths[k], low = top - ROUNDING * (own + fabs(means[k]));
                const double given = own + means[k] >= low ? own : 0.0;
                slack = given > slack ? given : slack;
            }
            tolerance = TIE * slack + ROUNDING * (fabs(top - slack) + fabs(best));
        }
        int64_t k = 0;
        while (!(reach * widths[k] + means[k] >= top - tolerance)) k++;
        if (rows) /* in any order */
            for (int64_t other = k + 1; other < n; other++)
                if (rows[other] < rows[k] && reach * widths[other] + means[other] >= top - tolerance) k = other;
        const double own = reach * widths[k], upper = own + means[k];
        if (j == 0) first = upper, slack = own;
        const double weight = exp(-(first - upper) / (BEHIND * slack));
        if (weight < NEGLIGIBLE) return;
        rivals[j] = rows ? rows[k] : k;
        weights[j] = weight;
        widths[k] = -INFINITY;
    }
}

/* With the widths of all differences to the leader, which are changed. */
static void races_by_widths(const double *restrict means, const double *restrict squared_widths,
                            double *restrict widths, const Flag *restrict candidates, int64_t n, int64_t leader,
                            double reach, int64_t *rivals, double *weights)
{
    const double own = squared_widths[leader], best = means[leader];
    double least = INFINITY;
    widths[leader] = 0.0;
    _Pragma("omp simd reduction(min : least)")
    for (int64_t k = 0; k < n; k++) {
        const double terms = squared_widths[k] + own, width = widths[k];
        const bool rival = (candidates[k] != 0) & (width * width > 2.0 * CANCELLED * terms);
        const double needed = rival ? (best - means[k]) / width : INFINITY;
        widths[k] = rival ? width : -INFINITY;
        least = needed < least ? needed : least;
    }
    /* If all are beaten, as far as the closest needs. */
    if (least < INFINITY && least > reach) reach = least;
    take_races(NULL, widths, means, n, leader, best, reach, rivals, weights);
}

/* The rivals that may be among the closest, looked at exactly. */
typedef struct {
    const DenseModel *model;
    Layout layout;
    const double *step; /* V⁻¹b */
    int64_t leader, looks, most; /* looks: rows looked at so far; most: when to give up */
    int64_t size, rows[HOPEFUL];
    double widths[HOPEFUL], means[HOPEFUL];
    double tops[RACES]; /* the largest reach·width + mean so far, falling */
    int64_t chunk; /* rows whose largest bound is known: a few blocks */
    double maxima[CHUNKS]; /* of reach·bound + mean in each chunk */
    double longest, rounding; /* the largest bound on a width, and what rounding does to a mean */
} Field;

/* ‖a_k - b‖, or -∞ for a copy of the leader. */
static inline double look_at_rival(Field *field, int64_t k)
{
    const double *squared_widths = field->model->squared_widths.at;
    const double terms = squared_widths[k] + squared_widths[field->leader];
    const double squared = terms - 2.0 * product_with(&field->model->columns, field->layout, k, field->step);
    field->looks++;
    return squared > 2.0 * CANCELLED * terms ? sqrt(squared) : -INFINITY;
}

/* Take a row in; false if there are too many. */
static inline bool enter(Field *field, int64_t k, double width, double mean, double reach, double tolerance)
{
    double upper = reach * width + mean;
    if (!(upper >= field->tops[RACES - 1] - tolerance)) return true;
    if (field->size == HOPEFUL) {
        /* Leave out who has fallen behind. */
        int64_t kept = 0;
        for (int64_t b = 0; b < field->size; b++) {
            if (!(reach * field->widths[b] + field->means[b] >= field->tops[RACES - 1] - tolerance)) continue;
            field->rows[kept] = field->rows[b];
            field->widths[kept] = field->widths[b];
            field->means[kept++] = field->means[b];
        }
        field->size = kept;
        if (kept == HOPEFUL) return false;
    }
    field->rows[field->size] = k;
    field->widths[field->size] = width;
    field->means[field->size++] = mean;
    for (int64_t j = 0; j < RACES; j++)
        if (upper > field->tops[j]) {
            const double lower = field->tops[j];
            field->tops[j] = upper;
            upper = lower;
        }
    return true;
}

static inline double largest_upper(const double *restrict bounds, const double *restrict means, int64_t count,
                                   double reach)
{
    double top = -INFINITY;
    _Pragma("omp simd reduction(max : top)")
    for (int64_t b = 0; b < count; b++) {
        const double upper = reach * bounds[b] + means[b];
        top = upper > top ? upper : top;
    }
    return top;
}

/* Look at the rows of one chunk that may be within the tolerance of the closest; false if they are too many. */
static bool look_at_chunk(Field *field, const double *bounds, int64_t chunk, double reach, double tolerance)
{
    const int64_t first = chunk * field->chunk, last = smaller(first + field->chunk, field->model->means.size);
    const double *means = field->model->means.at, wide = reach * (1.0 + TIE);
    for (int64_t k = first; k < last; k++) {
        if (!(bounds[k] > 0.0) || !(wide * bounds[k] + means[k] >= field->tops[RACES - 1] - tolerance)) continue;
        const double width = look_at_rival(field, k);
        if (width > 0.0 && !enter(field, k, width, means[k], reach, tolerance)) return false;
    }
    field->maxima[chunk] = -INFINITY;
    return field->looks <= field->most;
}

/* Find all rivals within the tolerance of the closest, by bounds on the widths; false if they are too many. The
 * chunk with the largest bound goes first: then hardly any row of the others need be looked at. */
static bool find_rivals(Field *field, const double *bounds, double reach, double tolerance)
{
    const int64_t chunks = (field->model->means.size + field->chunk - 1) / field->chunk;
    field->size = 0;
    for (int64_t j = 0; j < RACES; j++) field->tops[j] = -INFINITY;
    for (int64_t turn = 0; turn < chunks; turn++) {
        int64_t strongest = 0;
        for (int64_t c = 1; c < chunks; c++)
            if (field->maxima[c] > field->maxima[strongest]) strongest = c;
        const double top = field->maxima[strongest];
        if (top == -INFINITY || !(top >= field->tops[RACES - 1] - tolerance)) return true;
        if (!look_at_chunk(field, bounds, strongest, reach, tolerance)) return false;
    }
    return true;
}

/* The fewest widths that a rival is beaten by, no more than `least`; no number if they are too many. */
static double fewest_widths(Field *field, const double *bounds, double best, double least)
{
    const int64_t n = field->model->means.size;
    const double *means = field->model->means.at;
    for (int64_t k = 0; k < n; k += BLOCK) {
        const int64_t count = smaller(BLOCK, n - k);
        if (largest_upper(bounds + k, means + k, count, least * (1.0 + TIE)) < best) continue;
        for (int64_t b = k; b < k + count; b++) {
            if (!(bounds[b] > 0.0) || least * (1.0 + TIE) * bounds[b] + means[b] < best) continue;
            const double width = look_at_rival(field, b), needed = (best - means[b]) / width;
            if (width > 0.0 && needed < least) least = needed;
        }
        if (field->looks > field->most) return NAN;
    }
    return least;
}

/* Upper bounds on the widths of all differences to the leader, -∞ for what is no rival, by the sketch; and the
 * largest reach·bound + mean of each chunk. Returns more than any two upper bounds that tie can differ by. */
static double bound_widths(Field *field, const Sketch *sketch, const Sight *sight, const Flag *candidates,
                           double reach, double *bounds)
{
    const DenseModel *model = field->model;
    const int64_t n = model->means.size, leader = field->leader;
    const double own = model->squared_widths.at[leader], base = 2.0 * (sight->error - sight->base);
    double longest = 0.0, extreme = 0.0;
    for (int64_t c = 0; c * field->chunk < n; c++) field->maxima[c] = -INFINITY;
    for (int64_t k = 0; k < n; k += BLOCK) {
        const int64_t count = smaller(BLOCK, n - k);
        const double *restrict squared_widths = model->squared_widths.at + k, *restrict means = model->means.at + k;
        const Flag *restrict among = candidates + k;
        double *restrict own_bounds = bounds + k, *maximum = field->maxima + k / field->chunk;
        float products[BLOCK];
        look_along(sketch, k, sight->codes, products);
        _Pragma("omp simd reduction(max : longest, extreme)")
        for (int64_t b = 0; b < count; b++) {
            const double terms = squared_widths[b] + own, squared = terms * (1.0 + TIE) + base - 2.0 * products[b];
            const double bound = sqrt(squared), size = fabs(means[b]);
            own_bounds[b] = squared > 2.0 * CANCELLED * terms ? bound : -INFINITY;
            longest = bound > longest ? bound : longest;
            extreme = size > extreme ? size : extreme;
        }
        if (!all_set(among, count))
            for (int64_t b = 0; b < count; b++)
                if (!among[b]) own_bounds[b] = -INFINITY;
        if (leader >= k && leader < k + count) bounds[leader] = -INFINITY;
        *maximum = larger_of(*maximum, largest_upper(own_bounds, means, count, reach * (1.0 + TIE)));
    }
    field->longest = longest;
    field->rounding = ROUNDING * (extreme + fabs(model->means.at[leader]));
    return 2.0 * (TIE * reach * longest + field->rounding);
}

static void find_maxima(Field *field, const double *bounds, double reach)
{
    const int64_t n = field->model->means.size;
    for (int64_t k = 0, c = 0; k < n; k += field->chunk, c++)
        field->maxima[c] = largest_upper(bounds + k, field->model->means.at + k, smaller(field->chunk, n - k),
                                         reach * (1.0 + TIE));
}

static bool races_by_sketch(const DenseModel *model, Layout layout, const Sketch *sketch, const Flag *candidates,
                            int64_t leader, double reach, int64_t *rivals, double *weights)
{
    const double best = model->means.at[leader];
    double *bounds = model->scratch.at;
    copy_vector(&model->columns, layout, leader, model->half.at);
    solve(model);
    const Sight sight = see(sketch, model->step.at, (float *)model->halves.at);
    Field field = {.model = model, .layout = layout, .step = model->step.at, .leader = leader,
                   .most = model->means.size / ONE_IN,
                   .chunk = BLOCK * (model->means.size / (BLOCK * CHUNKS) + 1)};
    double tolerance = bound_widths(&field, sketch, &sight, candidates, reach, bounds);
    if (!find_rivals(&field, bounds, reach, tolerance)) return false;
    if (field.size > 0 && field.tops[0] < best) {
        double least = INFINITY;
        for (int64_t b = 0; b < field.size; b++) {
            const double needed = (best - field.means[b]) / field.widths[b];
            if (needed < least) least = needed;
        }
        least = fewest_widths(&field, bounds, best, least);
        if (isnan(least)) return false;
        if (least > reach) {
            reach = least;
            tolerance = 2.0 * (TIE * reach * field.longest + field.rounding);
            find_maxima(&field, bounds, reach);
            if (!find_rivals(&field, bounds, reach, tolerance)) return false;
        }
    }
    take_races(field.rows, field.widths, field.means, field.size, leader, best, reach, rivals, weights);
    return true;
}

static void closest_races(const DenseModel *model, Layout layout, const Sketch *sketch, const Flag *candidates,
                          int64_t leader, double reach, int64_t *rivals, double *weights)
{
    const int64_t n = model->means.size;
    if (sketch->codes.blocks > 0
        && races_by_sketch(model, layout, sketch, candidates, leader, reach, rivals, weights))
        return;
    contrast_widths(model, layout, leader, model->scratch.at);
    races_by_widths(model->means.at, model->squared_widths.at, model->scratch.at, candidates, n, leader, reach, rivals,
                    weights);
}

/* ---- What settles them. ---- */

/* Turn Σ w·((a_j - b)ᵀV⁻¹a_k)² into what measuring takes off, and choose; -1 if nothing does. */
static int64_t most_settling_by_squares(double *restrict gains, const double *restrict squared_widths, int64_t n,
                                        const NoiseHistory *noise, double sigma, const Flag *allowed)
{
    const double *restrict relative, variance = foresee(noise, sigma, (const double **)&relative);
    if (relative)
        for (int64_t k = 0; k < n; k++) gains[k] /= variance * relative[k] + squared_widths[k];
    else
        for (int64_t k = 0; k < n; k++) gains[k] /= variance + squared_widths[k];
    const int64_t action = first_largest(gains, allowed, n);
    return gains[action] > 0.0 ? action : -1;
}

/* The races' steps V⁻¹(a_j - b), one after the other; returns how many there are. */
static int64_t solve_races(const DenseModel *model, Layout layout, const int64_t *rivals, int64_t leader,
                           const double *weights, double *restrict steps)
{
    const int64_t dim = model->step.size;
    int64_t count = 0;
    for (; count < RACES && weights[count] > 0.0; count++) {
        copy_difference(model, layout, rivals[count], leader);
        solve(model);
        for (int64_t i = 0; i < dim; i++) steps[count * dim + i] = model->step.at[i];
    }
    return count;
}

/* A step, near the golden section, that visits every one of so many blocks. */
static inline int64_t stride_through(int64_t blocks)
{
    for (int64_t stride = (int64_t)(0.618 * (double)blocks) + 1;; stride++) {
        int64_t one = stride, other = blocks;
        while (other) {
            const int64_t rest = one % other;
            one = other;
            other = rest;
        }
        if (one == 1) return stride;
    }
}

/* The same by one read of the sketch; -2 if too many rows would have to be looked at. */
static int64_t most_settling_by_sketch(const DenseModel *model, Layout layout, const Sketch *sketch,
                                       const double *steps, int64_t count, const int64_t *rivals, int64_t leader,
                                       const double *weights, const NoiseHistory *noise, double sigma,
                                       const Flag *allowed)
{
    const int64_t n = model->means.size, dim = model->step.size, most = n / ONE_IN;
    const double *relative, variance = foresee(noise, sigma, &relative), *squared_widths = model->squared_widths.at;
    float *codes = (float *)(steps + RACES * dim), products[RACES][BLOCK];
    const float *along[RACES];
    Sight sights[RACES] = {{0}};
    int64_t looks = 0, size = 0, rows[HOPEFUL];
    double gains[HOPEFUL], shares[RACES], expected[BLOCK], top = 0.0;
    /* Four are looked along in any case. */
    for (int64_t j = 0; j < RACES; j++) {
        sights[j] = j < count ? see(sketch, steps + j * dim, codes + j * dim) : sights[0];
        along[j] = sights[j].codes;
        shares[j] = j < count ? weights[j] * (1.0 + TIE) : 0.0;
    }
    for (int64_t b = 0; b < BLOCK; b++) expected[b] = variance;
    const double w0 = shares[0], w1 = shares[1], w2 = shares[2], w3 = shares[3];
#define LOOK_AT(k, gain) \
    double gain = 0.0; \
    for (int64_t j = 0; j < count; j++) { \
        const double product = product_with(&model->columns, layout, k, steps + j * dim); \
        gain += weights[j] * product * product; \
    } \
    gain /= variance * (relative ? relative[k] : 1.0) + squared_widths[k];
    /* Who is in a race takes something off: nobody who takes off less need be looked at. */
    for (int64_t j = -1; j < count; j++) {
        const int64_t k = j < 0 ? leader : rivals[j];
        if (!allowed[k]) continue;
        LOOK_AT(k, gain)
        if (gain > top) top = gain;
    }
    /* Blocks in an order that has nothing to do with that of the actions, who may be sorted by what they are worth. */
    const int64_t blocks = (n + BLOCK - 1) / BLOCK, stride = stride_through(blocks);
    for (int64_t turn = 0, block = 0; turn < blocks; turn++, block = (block + stride) % blocks) {
        const int64_t first = block * BLOCK, rest = smaller(BLOCK, n - first);
        /* Nobody is above by more than this: Σ w·(|p| + error)² - low·(σ² + ‖a‖²). */
        double bounds[BLOCK], above = -INFINITY;
        const double low = top * (1.0 - 2.0 * TIE);
        look_along_all(sketch, first, along, products);
        const double *restrict widths = squared_widths + first, s0 = sights[0].base, s1 = sights[1].base;
        const double s2 = sights[2].base, s3 = sights[3].base, e0 = sights[0].error, e1 = sights[1].error;
        const double e2 = sights[2].error, e3 = sights[3].error;
        if (relative)
            for (int64_t b = 0; b < rest; b++) expected[b] = variance * relative[first + b];
        _Pragma("omp simd")
        for (int64_t b = 0; b < rest; b++) {
            const double p0 = fabs(s0 + products[0][b]) + e0, p1 = fabs(s1 + products[1][b]) + e1;
            const double p2 = fabs(s2 + products[2][b]) + e2, p3 = fabs(s3 + products[3][b]) + e3;
            bounds[b] = w0 * p0 * p0 + w1 * p1 * p1 + w2 * p2 * p2 + w3 * p3 * p3 - low * (expected[b] + widths[b]);
        }
        _Pragma("omp simd reduction(max : above)")
        for (int64_t b = 0; b < rest; b++) above = bounds[b] > above ? bounds[b] : above;
        if (above < 0.0) continue;
        for (int64_t b = 0; b < rest; b++) {
            const int64_t k = first + b;
            if (bounds[b] < 0.0 || !allowed[k]) continue;
            LOOK_AT(k, gain)
            looks++;
            if (isnan(gain)) return -2;
            if (!(gain >= top * (1.0 - TIE)) || gain == 0.0) continue;
            if (gain > top) top = gain;
            if (size == HOPEFUL) {
                size = 0;
                for (int64_t c = 0; c < HOPEFUL; c++)
                    if (gains[c] >= top - TIE * top) rows[size] = rows[c], gains[size++] = gains[c];
                if (size == HOPEFUL) return -2;
            }
            rows[size] = k;
            gains[size++] = gain;
        }
        if (looks > most) return -2;
    }
#undef LOOK_AT
    int64_t found = -1;
    for (int64_t c = 0; c < size; c++)
        if (gains[c] >= top - TIE * top && (found < 0 || rows[c] < found)) found = rows[c];
    return found;
}

static int64_t most_settling(const DenseModel *model, Layout layout, const Sketch *sketch, const int64_t *rivals,
                             int64_t leader, const double *weights, const NoiseHistory *noise, double sigma,
                             const Flag *allowed)
{
    const int64_t n = model->means.size, dim = model->step.size;
    double *steps = model->halves.at, *squares = model->scratch.at;
    const int64_t count = solve_races(model, layout, rivals, leader, weights, steps);
    if (sketch->codes.blocks > 0) {
        const int64_t found = most_settling_by_sketch(model, layout, sketch, steps, count, rivals, leader, weights,
                                                      noise, sigma, allowed);
        if (found > -2) return found;
    }
    for (int64_t first = 0; first < n; first += BLOCK) {
        /* All races while a block of vectors is in the cache: one read of them. */
        const int64_t rest = smaller(BLOCK, n - first);
        double products[BLOCK], *restrict sums = squares + first;
        for (int64_t b = 0; b < rest; b++) sums[b] = 0.0;
        for (int64_t j = 0; j < count; j++) {
            const double weight = weights[j];
            project_block(&model->columns, layout, steps + j * dim, first, rest, products);
            _Pragma("omp simd")
            for (int64_t b = 0; b < rest; b++) sums[b] += weight * products[b] * products[b];
        }
    }
    return most_settling_by_squares(squares, model->squared_widths.at, n, noise, sigma, allowed);
}
