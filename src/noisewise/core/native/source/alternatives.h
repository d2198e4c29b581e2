/* The most confusing alternatives. Twin: `rules/alternatives.py`, with the equations. */

/* `lower` is room for (dim, dim), and so is `out`. */
static void inverse_of_moment(const DenseModel *model, Layout layout, const double *shares, double *lower,
                              double *out)
{
    const int64_t dim = model->step.size, n = model->means.size;
    double *restrict vector = model->half.at, *column = model->step.at, trace = 0.0;
    for (int64_t i = 0; i < dim * dim; i++) out[i] = 0.0;
    for (int64_t k = 0; k < n; k++) {
        if (shares[k] == 0.0) continue;
        copy_vector(&model->columns, layout, k, vector);
        for (int64_t i = 0; i < dim; i++) {
            const double entry = shares[k] * vector[i];
            double *restrict own = out + i * dim;
            for (int64_t j = 0; j <= i; j++) own[j] += entry * vector[j];
        }
    }
    for (int64_t i = 0; i < dim; i++) trace += out[i * dim + i];
    const double share = LEAST * trace / (double)dim;
    for (int64_t i = 0; i < dim; i++) out[i * dim + i] += share < 1e-300 ? 1e-300 : share;
    factor_positive(out, lower, dim);
    for (int64_t k = 0; k < dim; k++) {
        for (int64_t i = 0; i < dim; i++) column[i] = i == k;
        solve_below(lower, dim, column);
        solve_above(lower, dim, column);
        for (int64_t i = k; i < dim; i++) out[i * dim + k] = out[k * dim + i] = column[i];
    }
}

static void costs_of_rivals(const DenseModel *model, Layout layout, const double *inverse, int64_t leader,
                            double *out)
{
    const int64_t dim = model->step.size, n = model->means.size;
    const double best = model->means.at[leader];
    double *restrict origin = model->row.at, *restrict away = model->half.at, longest = 0.0;
    copy_vector(&model->columns, layout, leader, origin);
    for (int64_t k = 0; k < n; k++) {
        double length = 0.0;
        copy_vector(&model->columns, layout, k, away);
        for (int64_t i = 0; i < dim; i++) length += away[i] * away[i];
        longest = length > longest ? length : longest;
    }
    for (int64_t k = 0; k < n; k++) {
        double distance = 0.0, squared = 0.0;
        copy_vector(&model->columns, layout, k, away);
        for (int64_t i = 0; i < dim; i++) {
            away[i] -= origin[i];
            distance += away[i] * away[i];
        }
        out[k] = INFINITY;
        if (!(distance > COPY * COPY * longest)) continue;
        for (int64_t i = 0; i < dim; i++) {
            double sum = 0.0;
            for (int64_t j = 0; j < dim; j++) sum += inverse[i * dim + j] * away[j];
            squared += away[i] * sum;
        }
        const double gap = best > model->means.at[k] ? best - model->means.at[k] : 0.0;
        if (squared > 0.0) out[k] = gap * gap / (2.0 * squared);
    }
}

static void shifts_towards(const DenseModel *model, Layout layout, const double *inverse, int64_t leader,
                           int64_t rival, double *out)
{
    const int64_t dim = model->step.size;
    double *away = model->half.at, *direction = model->step.at, squared = 0.0;
    copy_difference(model, layout, leader, rival);
    for (int64_t i = 0; i < dim; i++) {
        double sum = 0.0;
        for (int64_t j = 0; j < dim; j++) sum += inverse[i * dim + j] * away[j];
        direction[i] = sum;
        squared += away[i] * sum;
    }
    const double gap = model->means.at[leader] - model->means.at[rival], scale = (gap > 0.0 ? gap : 0.0) / squared;
    for (int64_t i = 0; i < dim; i++) direction[i] *= scale;
    project(model, layout, direction, out);
}

static void payoffs_of(const DenseModel *model, Layout layout, const double *inverse, const double *costs,
                       int64_t leader, const int64_t *rivals, int64_t n_rivals, double *out)
{
    const int64_t n = model->means.size;
    for (int64_t j = 0; j < n_rivals; j++) {
        double *restrict payoffs = out + j * n;
        const double cost = costs[rivals[j]];
        shifts_towards(model, layout, inverse, leader, rivals[j], payoffs);
        for (int64_t k = 0; k < n; k++) payoffs[k] = 0.5 * payoffs[k] * payoffs[k] - cost;
    }
}

static int64_t closest_rival(const double *costs, int64_t n)
{
    double least = INFINITY;
    for (int64_t k = 0; k < n; k++) least = costs[k] < least ? costs[k] : least; /* NaN is not a rival */
    if (least == INFINITY) return -1;
    const double high = -floor_below(-least, TIE * fabs(least));
    int64_t k = 0;
    while (!(costs[k] <= high)) k++;
    return k;
}

static int64_t rivals_within(const double *costs, int64_t n, double slack, int64_t *rows)
{
    double least = INFINITY;
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++) {
        if (isnan(costs[k])) return 0;
        least = costs[k] < least ? costs[k] : least;
    }
    for (int64_t k = 0; k < n && least < INFINITY; k++)
        if (costs[k] <= least + slack) rows[count++] = k;
    return count;
}

/* Where the largest of the upper bounds is, and the second largest. */
static inline int64_t two_largest(const double *upper, int64_t n, double *second)
{
    int64_t top = 0;
    *second = -INFINITY;
    for (int64_t k = 0; k < n && !isnan(upper[top]); k++)
        if (isnan(upper[k]) || upper[k] > upper[top]) top = k; /* NaN comes first, as in NumPy */
    for (int64_t k = 0; k < n; k++)
        if (k != top && !isnan(*second) && !(upper[k] <= *second)) *second = upper[k];
    return top;
}

static void best_of_others(const double *upper, int64_t n, double *out)
{
    double second;
    const int64_t top = two_largest(upper, n, &second);
    for (int64_t k = 0; k < n; k++) out[k] = upper[top];
    if (n > 1) out[top] = second;
}

static double hardness(const double *means, const double *squared_widths, double *scratch, int64_t n, double eps)
{
    double second, total = 0.0;
    for (int64_t k = 0; k < n; k++) scratch[k] = means[k] + GUESS * sqrt(squared_widths[k]);
    const int64_t top = two_largest(scratch, n, &second);
    for (int64_t k = 0; k < n; k++) {
        const double others = k == top && n > 1 ? second : scratch[top];
        const double gap = (others - (means[k] - GUESS * sqrt(squared_widths[k])) + eps) / 2.0;
        const double counted = gap < eps ? eps : gap;
        total += 1.0 / (counted * counted);
    }
    return total;
}

static int64_t first_unseen(const double *given, const Flag *allowed, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (allowed[k] && given[k] == 0.0) return k;
    return -1;
}
