/* How actions vary together: covariances, contrasts, draws from the posterior. Twin: `core/model.py`. */

static void covariance_with(const DenseModel *model, Layout layout, int64_t action, double *out)
{
    copy_vector(&model->columns, layout, action, model->half.at);
    solve(model);
    project(model, layout, model->step.at, out);
}

/* From covariances with one action in `out` to the widths of all differences to it. */
static inline void widths_from_covariances(const double *restrict squared_widths, int64_t n, int64_t action,
                                           double *restrict out)
{
    const double own = squared_widths[action];
    _Pragma("omp simd")
    for (int64_t k = 0; k < n; k++) {
        const double terms = squared_widths[k] + own, squared = terms - 2.0 * out[k], least = CANCELLED * terms;
        /* NaN stays NaN. */
        out[k] = sqrt(squared < least ? least : squared);
    }
    out[action] = 0.0;
}

static void contrast_widths(const DenseModel *model, Layout layout, int64_t action, double *out)
{
    covariance_with(model, layout, action, out);
    widths_from_covariances(model->squared_widths.at, model->columns.columns, action, out);
}

static void squared_covariances(const DenseModel *model, Layout layout, const int64_t *rivals, int64_t n_rivals,
                                int64_t action, const double *weights, double *out)
{
    const int64_t n = model->columns.columns;
    for (int64_t k = 0; k < n; k++) out[k] = 0.0;
    for (int64_t j = 0; j < n_rivals; j++) {
        const double weight = weights[j];
        copy_difference(model, layout, rivals[j], action);
        solve(model);
        for (int64_t k = 0; k < n; k += BLOCK) {
            const int64_t count = smaller(BLOCK, n - k);
            double products[BLOCK], *restrict sums = out + k;
            project_block(&model->columns, layout, model->step.at, k, count, products);
            _Pragma("omp simd")
            for (int64_t b = 0; b < count; b++) sums[b] += weight * products[b] * products[b];
        }
    }
}

static void perturbed_means(const DenseModel *model, Layout layout, const double *normals, double scale, double *out)
{
    const int64_t dim = model->step.size, n = model->columns.columns;
    double *restrict away = model->half.at;
    const double *restrict means = model->means.at;
    for (int64_t i = 0; i < dim; i++) away[i] = normals[i] * sqrt(model->reciprocals.at[i]);
    solve_upper(model, away);
    project(model, layout, away, out);
    for (int64_t k = 0; k < n; k++) out[k] = means[k] + scale * out[k];
}

/* W of V⁻¹ = W·Wᵀ: U⁻¹·D^(-1/2), (dim, dim), upper triangular. */
static void spread(const DenseModel *model, double *out)
{
    const int64_t dim = model->step.size, across = dim + 1;
    const double *factor = model->factor.at;
    for (int64_t i = 0; i < dim * dim; i++) out[i] = 0.0;
    for (int64_t i = dim - 1; i >= 0; i--) {
        /* Row i of the inverse: the unit vector less what the rows below it explain. */
        double *restrict own = out + i * dim;
        own[i] = sqrt(model->reciprocals.at[i]);
        for (int64_t j = i + 1; j < dim; j++) {
            const double entry = factor[i * across + j], *restrict below = out + j * dim;
            for (int64_t k = j; k < dim; k++) own[k] -= entry * below[k];
        }
    }
}

static void covariance(const DenseModel *model, double *out)
{
    const int64_t dim = model->step.size;
    spread(model, out);
    /* In place: entry (i, j) needs the rows i and j from column j on, and later entries need neither. */
    for (int64_t i = 0; i < dim; i++)
        for (int64_t j = i; j < dim; j++) {
            const double *one = out + i * dim, *other = out + j * dim;
            double sum = 0.0;
            for (int64_t k = j; k < dim; k++) sum += one[k] * other[k];
            out[i * dim + j] = sum;
        }
    for (int64_t i = 0; i < dim; i++)
        for (int64_t j = 0; j < i; j++) out[i * dim + j] = out[j * dim + i];
}
