/* What settles VAGE's races best. Twin: `rules/races.py`. */

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

/* The races' steps V⁻¹(a_j - b): all of them solved at once, a lane for each, into `lanes` (dim, RACES). What is no
 * race stays 0. Returns how many there are. */
static int64_t solve_races(const DenseModel *model, Layout layout, const int64_t *rivals, int64_t leader,
                           const double *weights, double *restrict lanes)
{
    const int64_t dim = model->step.size;
    const double *restrict factor = model->factor.at, *restrict reciprocals = model->reciprocals.at;
    double *restrict halves = lanes + RACES * dim;
    int64_t count = 0;
    for (; count < RACES && weights[count] > 0.0; count++) {
        copy_difference(model, layout, rivals[count], leader);
        for (int64_t i = 0; i < dim; i++) halves[i * RACES + count] = model->half.at[i];
    }
    for (int64_t j = count; j < RACES; j++)
        for (int64_t i = 0; i < dim; i++) halves[i * RACES + j] = 0.0;
    for (int64_t i = 0; i < dim; i++) {
        const double *restrict across = factor + i * (dim + 1);
        const Four entry = four_at(halves + i * RACES);
        put_four(four_product(entry, four_of(reciprocals[i])), lanes + i * RACES);
        for (int64_t j = i + 1; j < dim; j++)
            put_four(take_four(four_at(halves + j * RACES), entry, four_of(across[j])), halves + j * RACES);
    }
    for (int64_t i = dim - 1; i >= 0; i--) {
        const double *restrict across = factor + i * (dim + 1);
        Four own = four_at(lanes + i * RACES);
        for (int64_t j = i + 1; j < dim; j++) own = take_four(own, four_of(across[j]), four_at(lanes + j * RACES));
        put_four(own, lanes + i * RACES);
    }
    return count;
}

/* Σ_j w_j·<step_j, a_k>² for actions by feature, eight at a time: the sums stay in registers while all features are
 * gone through. What is left over is the caller's; returns where it begins. */
#define SUM_SQUARES(Entry, at_four) \
    for (; k + 8 <= last; k += 8) { \
        const Entry *restrict at = AS(Entry) + k; \
        Four s0 = four_of(0.0), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0; \
        for (int64_t i = 0; i < dim; i++, at += n) { \
            const Four one = at_four(at), other = at_four(at + 4); \
            const double *restrict step = lanes + i * RACES; \
            const Four f0 = four_of(step[0]), f1 = four_of(step[1]), f2 = four_of(step[2]), f3 = four_of(step[3]); \
            s0 = add_four(s0, f0, one), t0 = add_four(t0, f0, other); \
            s1 = add_four(s1, f1, one), t1 = add_four(t1, f1, other); \
            s2 = add_four(s2, f2, one), t2 = add_four(t2, f2, other); \
            s3 = add_four(s3, f3, one), t3 = add_four(t3, f3, other); \
        } \
        Four low = four_product(four_product(w0, s0), s0), high = four_product(four_product(w0, t0), t0); \
        low = add_four(low, four_product(w1, s1), s1), high = add_four(high, four_product(w1, t1), t1); \
        low = add_four(low, four_product(w2, s2), s2), high = add_four(high, four_product(w2, t2), t2); \
        low = add_four(low, four_product(w3, s3), s3), high = add_four(high, four_product(w3, t3), t3); \
        put_four(low, out + k); \
        put_four(high, out + k + 4); \
    }

static inline int64_t sum_squares(const Matrix *columns, Layout layout, const double *restrict lanes,
                                  const double *weights, int64_t last, double *restrict out)
{
    const int64_t dim = columns->rows, n = columns->columns;
    const Four w0 = four_of(weights[0]), w1 = four_of(weights[1]), w2 = four_of(weights[2]), w3 = four_of(weights[3]);
    int64_t k = 0;
    if (layout == BY_FEATURE) SUM_SQUARES(double, four_at)
    else if (layout == (BY_FEATURE | SINGLE)) SUM_SQUARES(float, four_floats_at)
    return k;
}

/* A step, near the golden section, that visits every one of so many runs. */
static inline int64_t stride_through(int64_t runs)
{
    for (int64_t stride = (int64_t)(0.618 * (double)runs) + 1;; stride++) {
        int64_t one = stride, other = runs;
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
        if (isinf(sights[j].error)) return -2;
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
    /* Runs of blocks, some 64 of them, in an order that has nothing to do with that of the actions, who may be sorted
     * by what they are worth. */
    const int64_t blocks = (n + BLOCK - 1) / BLOCK, run = blocks / 64 + 1, runs = (blocks + run - 1) / run;
    const int64_t stride = stride_through(runs);
    for (int64_t turn = 0; turn < runs * run; turn++) {
        const int64_t block = turn / run * stride % runs * run + turn % run;
        if (block >= blocks) continue;
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
    double *steps = model->halves.at, *squares = model->scratch.at, *lanes = steps + 2 * RACES * dim;
    const int64_t count = solve_races(model, layout, rivals, leader, weights, lanes);
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i < dim; i++) steps[j * dim + i] = lanes[i * RACES + j];
    if (sketch->codes.blocks > 0 && count > 0) {
        const int64_t found = most_settling_by_sketch(model, layout, sketch, steps, count, rivals, leader, weights,
                                                      noise, sigma, allowed);
        if (found > -2) return found;
    }
    /* Several races by one read of the vectors. */
    const int64_t done = count > 1 ? sum_squares(&model->columns, layout, lanes, weights, n, squares) : 0;
    for (int64_t first = done; first < n; first += BLOCK) {
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

static int64_t most_settling_independent(const IndependentModel *model, const int64_t *rivals, int64_t leader,
                                         const double *weights, const NoiseHistory *noise, double sigma,
                                         const Flag *allowed, double *room)
{
    const int64_t q = model->border.rows, n = model->n;
    double *squares = model->scratch.at;
    int64_t races = 0;
    while (races < RACES && weights[races] > 0.0) races++;
    squared_covariances_independent(model, rivals, races, leader, weights, room, room + q, room + q + n, squares);
    return most_settling_by_squares(squares, model->squared_widths.at, n, noise, sigma, allowed);
}
