/* The linear model: solving with its factors, learning a measurement, keeping widths and means exact.
 *
 * The readable twin, with the equations, is `core/model.py`. Actions are gone through by blocks, so
 * that the vectors are read once and a block stays in the first-level cache.
 */
/* Take a in `half`; leave U⁻ᵀa there and D⁻¹U⁻ᵀa in `step`; return ‖a‖² in the norm of V⁻¹. */
static inline double forward(const double *restrict factor, const double *restrict reciprocals, int64_t dim,
                             double *restrict half, double *restrict step)
{
    double squared_width = 0.0;
    for (int64_t j = 0; j < dim; j++) {
        const double entry = half[j], weighted = entry * reciprocals[j];
        squared_width += entry * weighted;
        step[j] = weighted;
        for (int64_t i = j + 1; i < dim; i++) half[i] -= entry * factor[j * (dim + 1) + i];
    }
    return squared_width;
}

/* Replace the vector in `out` by U⁻¹·out. */
static inline void backward(const double *restrict factor, int64_t dim, double *restrict out)
{
    for (int64_t i = dim - 1; i >= 0; i--) {
        /* By hand: compilers spend longer on adding up four sums than on so short a row. */
        const double *restrict across = factor + i * (dim + 1);
        Four sums = four_of(0.0);
        double sum = 0.0;
        int64_t j = i + 1;
        for (; j + 4 <= dim; j += 4) sums = add_four(sums, four_at(across + j), four_at(out + j));
        for (; j < dim; j++) sum += across[j] * out[j];
        out[i] -= sum_of_four(sums) + sum;
    }
}

/* Take a in `half`; leave U⁻ᵀa there and V⁻¹a in `step`; return ‖a‖² in the norm of V⁻¹. */
static inline double solve(const DenseModel *model)
{
    const int64_t dim = model->step.size;
    const double squared_width =
        forward(model->factor.at, model->reciprocals.at, dim, model->half.at, model->step.at);
    backward(model->factor.at, dim, model->step.at);
    return squared_width;
}

static inline void solve_upper(const DenseModel *model, double *out)
{
    backward(model->factor.at, model->step.size, out);
}

/* Rotate `row`, a vector and what it measured, into the factors of a matrix, without square roots (Gentleman
 * 1973). Returns ‖θ̂ - centre‖² in the norm of the matrix. */
static inline double rotate(double *restrict factor, double *restrict pivots, double *restrict reciprocals,
                            double *restrict row, int64_t dim, double weight, double *residual)
{
    double far = 0.0;
    for (int64_t j = 0; j < dim; j++) {
        const double entry = row[j], pivot = pivots[j], grown = pivot + weight * entry * entry;
        const double reciprocal = 1.0 / grown, share = weight * entry * reciprocal;
        double *restrict across = factor + j * (dim + 1);
        weight *= pivot * reciprocal;
        pivots[j] = grown;
        reciprocals[j] = reciprocal;
        for (int64_t i = j + 1; i <= dim; i++) {
            row[i] -= entry * across[i];
            across[i] += share * row[i];
        }
        far += grown * across[dim] * across[dim];
    }
    *residual += weight * row[dim] * row[dim];
    return far;
}

/* ‖D^(-1/2)·U⁻ᵀa‖² for the actions of the batch, by forward substitution on all of them at once. */
static inline void recompute_batch(const DenseModel *model, Layout layout, int64_t size)
{
    const int64_t dim = model->step.size, across = dim + 1, n = model->columns.columns;
    const Matrix *columns = &model->columns;
    const int64_t *batch = model->batch.at;
    const double *factor = model->factor.at;
    double *halves = model->halves.at, squared[BATCH];
    for (int64_t i = 0; i < dim; i++) {
        double *restrict own = halves + i * BATCH;
        switch (layout) {
        case BY_FEATURE: for (int64_t b = 0; b < size; b++) own[b] = AS(double)[i * n + batch[b]]; break;
        case BY_ACTION: for (int64_t b = 0; b < size; b++) own[b] = AS(double)[batch[b] * dim + i]; break;
        case BY_FEATURE | SINGLE: for (int64_t b = 0; b < size; b++) own[b] = AS(float)[i * n + batch[b]]; break;
        default: for (int64_t b = 0; b < size; b++) own[b] = AS(float)[batch[b] * dim + i];
        }
        int64_t j = 0;
        for (; j + 4 <= i; j += 4) {
            const double *restrict h0 = halves + j * BATCH, *restrict h1 = h0 + BATCH;
            const double *restrict h2 = h1 + BATCH, *restrict h3 = h2 + BATCH;
            const double f0 = factor[j * across + i], f1 = factor[(j + 1) * across + i];
            const double f2 = factor[(j + 2) * across + i], f3 = factor[(j + 3) * across + i];
            _Pragma("omp simd")
            for (int64_t b = 0; b < size; b++) own[b] -= f0 * h0[b] + f1 * h1[b] + f2 * h2[b] + f3 * h3[b];
        }
        for (; j < i; j++) {
            const double *restrict h0 = halves + j * BATCH, f0 = factor[j * across + i];
            _Pragma("omp simd")
            for (int64_t b = 0; b < size; b++) own[b] -= f0 * h0[b];
        }
    }
    for (int64_t b = 0; b < size; b++) squared[b] = 0.0;
    for (int64_t i = 0; i < dim; i++) {
        const double *restrict own = halves + i * BATCH, reciprocal = model->reciprocals.at[i];
        _Pragma("omp simd")
        for (int64_t b = 0; b < size; b++) squared[b] += own[b] * own[b] * reciprocal;
    }
    for (int64_t b = 0; b < size; b++) {
        model->squared_widths.at[batch[b]] = squared[b];
        model->floors.at[batch[b]] = WORN * squared[b];
    }
}

/* Recompute the squared widths that have lost digits, or all, of the actions from `first` to `last`. */
static void refresh_rows(const DenseModel *model, Layout layout, int64_t first, int64_t last, bool all)
{
    int64_t size = 0;
    for (int64_t k = first; k < last; k++) {
        if (all || model->squared_widths.at[k] < model->floors.at[k]) model->batch.at[size++] = k;
        if (size == BATCH || (k == last - 1 && size > 0)) {
            recompute_batch(model, layout, size);
            size = 0;
        }
    }
}

static void refresh_all(const DenseModel *model, Layout layout)
{
    refresh_rows(model, layout, 0, model->columns.columns, true);
}

static inline void move_centre_to_estimate(const DenseModel *model)
{
    const int64_t dim = model->step.size;
    double *away = model->half.at;
    for (int64_t i = 0; i < dim; i++) away[i] = model->factor.at[i * (dim + 1) + dim];
    solve_upper(model, away);
    for (int64_t i = 0; i < dim; i++) {
        model->centre.at[i] += away[i];
        model->factor.at[i * (dim + 1) + dim] = 0.0;
    }
    model->tally.at[SINCE_CENTRED] = 0.0;
}

static void recentre(const DenseModel *model, Layout layout)
{
    move_centre_to_estimate(model);
    project(model, layout, model->centre.at, model->means.at);
}

static void set_theta(const DenseModel *model, Layout layout, const double *estimate)
{
    const int64_t dim = model->step.size;
    for (int64_t i = 0; i < dim; i++) {
        model->centre.at[i] = estimate[i];
        model->factor.at[i * (dim + 1) + dim] = 0.0;
    }
    model->tally.at[SINCE_CENTRED] = 0.0;
    project(model, layout, model->centre.at, model->means.at);
}

static inline void count_measurement(double *tally, double squared_width, double weight)
{
    tally[LOG_DET] += log1p(squared_width * weight);
    tally[TOTAL_PRECISION] += weight;
    tally[TOLD] += 1.0;
    tally[AGE] += 1.0;
    tally[SINCE_CENTRED] += 1.0;
}

/* With s in `step`: widths lose <s, a_k>², means gain gain·<s, a_k>; returns how many widths are worn. */
static int64_t learn_rows(const DenseModel *model, Layout layout, double gain, int64_t first, int64_t last)
{
    int64_t worn = 0;
    for (int64_t k = first; k < last; k += BLOCK) {
        const int64_t count = smaller(BLOCK, last - k);
        double products[BLOCK];
        double *restrict widths = model->squared_widths.at + k, *restrict means = model->means.at + k;
        const double *restrict floors = model->floors.at + k;
        project_block(&model->columns, layout, model->step.at, k, count, products);
        _Pragma("omp simd reduction(+ : worn)")
        for (int64_t b = 0; b < count; b++) {
            const double lowered = widths[b] - products[b] * products[b];
            widths[b] = lowered;
            means[b] += products[b] * gain;
            worn += lowered < floors[b];
        }
    }
    return worn;
}

/* What comes before the actions' own numbers: solve, rotate, count. Leaves s = V⁻¹a/√(σ² + ‖a‖²) in `step`, and
 * returns what means gain per <s, a_k>. */
static inline double learn_factors(const DenseModel *model, Layout layout, int64_t action, double reward,
                                   double sigma, double *far)
{
    const int64_t dim = model->step.size;
    double *half = model->half.at, *row = model->row.at, predicted = 0.0;
    copy_vector(&model->columns, layout, action, half);
    for (int64_t i = 0; i < dim; i++) {
        row[i] = half[i];
        predicted += half[i] * model->centre.at[i];
    }
    row[dim] = reward - predicted;
    const double squared_width = solve(model), variance = sigma * sigma + squared_width;
    const double gain = (reward - model->means.at[action]) / variance, weight = 1.0 / (sigma * sigma);
    *far = rotate(model->factor.at, model->pivots.at, model->reciprocals.at, row, dim, weight,
                  model->tally.at + RESIDUAL);
    count_measurement(model->tally.at, squared_width, weight);
    const double scale = sqrt(variance);
    for (int64_t i = 0; i < dim; i++) model->step.at[i] /= scale;
    return gain * scale;
}

static void fold(const DenseModel *model, Layout layout, int64_t action, double reward, double sigma)
{
    const int64_t n = model->columns.columns;
    double far, *tally = model->tally.at;
    const double gain = learn_factors(model, layout, action, reward, sigma, &far);
    const int64_t worn = learn_rows(model, layout, gain, 0, n);
    const bool all = tally[AGE] >= REFRESH_AFTER;
    if (worn > 0 || all) refresh_rows(model, layout, 0, n, all);
    if (all) tally[AGE] = 0.0;
    if (far > FAR || tally[SINCE_CENTRED] >= RECENTRE_AFTER) recentre(model, layout);
}

static void theta(const DenseModel *model, double *out)
{
    const int64_t dim = model->step.size;
    for (int64_t i = 0; i < dim; i++) out[i] = model->factor.at[i * (dim + 1) + dim];
    solve_upper(model, out);
    for (int64_t i = 0; i < dim; i++) out[i] += model->centre.at[i];
}

static double squared_norm(const DenseModel *model)
{
    double total = 0.0;
    theta(model, model->half.at);
    for (int64_t i = 0; i < model->half.size; i++) total += model->half.at[i] * model->half.at[i];
    return total;
}

static double distance_to(const DenseModel *model, const double *parameter)
{
    const int64_t dim = model->step.size;
    double *apart = model->half.at, squared = 0.0;
    for (int64_t i = 0; i < dim; i++) apart[i] = model->centre.at[i] - parameter[i];
    for (int64_t i = 0; i < dim; i++) {
        const double *across = model->factor.at + i * (dim + 1);
        double error = across[dim] + apart[i];
        for (int64_t j = i + 1; j < dim; j++) error += across[j] * apart[j];
        squared += model->pivots.at[i] * error * error;
    }
    return sqrt(squared);
}
