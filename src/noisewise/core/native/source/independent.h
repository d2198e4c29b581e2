/* The model with one unknown per option. Twin: `core/independent.py`, with the equations.
 *
 * `reach` is room for q numbers, border·load; `covariances` for one per touched option.
 */

/* Where an option's load stands, -1 if the border does not touch it. */
static inline int64_t load_of(const IndependentModel *model, int64_t action)
{
    int64_t low = 0, high = model->touched.size;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (model->touched.at[middle] < action) low = middle + 1;
        else high = middle;
    }
    return low < model->touched.size && model->touched.at[low] == action ? low : -1;
}

static inline double inner(const double *restrict one, const double *restrict other, int64_t size)
{
    double sum = 0.0;
    _Pragma("omp simd reduction(+ : sum)")
    for (int64_t i = 0; i < size; i++) sum += one[i] * other[i];
    return sum;
}

/* border·load of the option whose load stands at a place. */
static inline void reach_of(const IndependentModel *model, int64_t place, double *reach)
{
    const int64_t q = model->border.rows;
    for (int64_t i = 0; i < q; i++) reach[i] = inner(model->border.at + i * q, model->loads.at + place * q, q);
}

static void fold_independent(const IndependentModel *model, int64_t action, double reward, double sigma,
                             double *reach, double *covariances)
{
    const int64_t q = model->border.rows, place = load_of(model, action);
    double *means = model->means.at, *squared_widths = model->squared_widths.at, *tally = model->tally.at;
    const double variance = sigma * sigma, own = model->own.at[action], squared_width = squared_widths[action];
    const double gain = (reward - means[action]) / (variance + squared_width);
    const double kept = variance / (variance + own); /* of the own part: 1/(1/own + 1/σ²) = own·kept */
    if (place < 0) {
        means[action] += gain * squared_width;
        squared_widths[action] = own * kept;
    } else {
        double *load = model->loads.at + place * q, left = 0.0;
        reach_of(model, place, reach);
        for (int64_t r = 0; r < model->touched.size; r++) covariances[r] = inner(model->loads.at + r * q, reach, q);
        covariances[place] += own;
        for (int64_t r = 0; r < model->touched.size; r++) {
            const int64_t k = model->touched.at[r];
            const double lowered = squared_widths[k] - covariances[r] * covariances[r] / (variance + squared_width);
            means[k] += gain * covariances[r];
            /* Where next to nothing is left, rounding must not take more than there was. */
            squared_widths[k] = lowered < model->own.at[k] ? model->own.at[k] : lowered;
        }
        for (int64_t i = 0; i < q; i++)
            for (int64_t j = 0; j < q; j++)
                model->border.at[i * q + j] -= reach[i] * (reach[j] / (variance + squared_width));
        /* Given u, the own part is measured at value - <load, u>: u now explains less of the option. */
        for (int64_t i = 0; i < q; i++) load[i] *= kept;
        reach_of(model, place, reach);
        left = inner(load, reach, q);
        squared_widths[action] = own * kept + (left < 0.0 ? 0.0 : left);
    }
    model->own.at[action] = own * kept;
    tally[LOG_DET] += log1p(squared_width / variance);
    tally[TOTAL_PRECISION] += 1.0 / variance;
    tally[TOLD] += 1.0;
    tally[AGE] += 1.0;
}

static void covariance_with_independent(const IndependentModel *model, int64_t action, double *reach, double *out)
{
    const int64_t q = model->border.rows, place = load_of(model, action);
    for (int64_t k = 0; k < model->n; k++) out[k] = 0.0;
    if (place >= 0) {
        reach_of(model, place, reach);
        for (int64_t r = 0; r < model->touched.size; r++)
            out[model->touched.at[r]] = inner(model->loads.at + r * q, reach, q);
    }
    out[action] += model->own.at[action];
}

static void contrast_widths_independent(const IndependentModel *model, int64_t action, double *reach, double *out)
{
    covariance_with_independent(model, action, reach, out);
    widths_from_covariances(model->squared_widths.at, model->n, action, out);
}

static void squared_covariances_independent(const IndependentModel *model, const int64_t *rivals, int64_t n_rivals,
                                            int64_t action, const double *weights, double *reach, double *one,
                                            double *other, double *out)
{
    const double *own = model->own.at;
    for (int64_t k = 0; k < model->n; k++) out[k] = 0.0;
    if (model->touched.size) covariance_with_independent(model, action, reach, other);
    for (int64_t j = 0; j < n_rivals; j++) {
        const int64_t rival = rivals[j];
        if (model->touched.size) {
            covariance_with_independent(model, rival, reach, one);
            for (int64_t k = 0; k < model->n; k++)
                out[k] += weights[j] * (one[k] - other[k]) * (one[k] - other[k]);
        } else if (rival != action) { /* nothing connects options: a difference covaries with its two alone */
            out[rival] += weights[j] * own[rival] * own[rival];
            out[action] += weights[j] * own[action] * own[action];
        }
    }
}
