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

static int64_t most_settling(const DenseModel *model, Layout layout, const int64_t *rivals, int64_t leader,
                             const double *weights, const NoiseHistory *noise, double sigma, const Flag *allowed)
{
    const int64_t n = model->means.size, dim = model->step.size;
    double *steps = model->halves.at, *squares = model->scratch.at, *lanes = steps + 2 * RACES * dim;
    const int64_t count = solve_races(model, layout, rivals, leader, weights, lanes);
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i < dim; i++) steps[j * dim + i] = lanes[i * RACES + j];
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
                                         const Flag *allowed)
{
    double *squares = model->scratch.at;
    int64_t races = 0;
    while (races < RACES && weights[races] > 0.0) races++;
    squared_covariances_independent(model, rivals, races, leader, weights, squares);
    return most_settling_by_squares(squares, model->squared_widths.at, model->n, noise, sigma, allowed);
}
