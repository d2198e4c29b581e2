/* Choosing the largest with ties broken on purpose, and dropping what cannot be the best.
 * Twin: `core/selection.py`, which says why ties are what they are. */

/* Values looked at together: flags are read only in blocks whose values make a difference. */
enum { GLANCE = 32 };

/* The largest of the values whose flags are set, or of all where there are no flags; -∞ if there is none, no number if
 * one of them is none. */
static inline double peak(const double *restrict values, const Flag *restrict flags, int64_t n)
{
    const Four none = four_of(-INFINITY);
    Four one = none, other = none, marks = four_of(0.0);
    int64_t k = 0;
    for (; k + 8 <= n; k += 8) {
        const Four low = flags ? four_where(flags + k, four_at(values + k), none) : four_at(values + k);
        const Four high = flags ? four_where(flags + k + 4, four_at(values + k + 4), none) : four_at(values + k + 4);
        one = larger_four(low, one), other = larger_four(high, other);
        marks = mark(mark(marks, low), high);
    }
    double top = largest_of_four(larger_four(one, other));
    bool strange = any_mark(marks);
    for (; k < n; k++) {
        if (flags && !flags[k]) continue;
        strange |= isnan(values[k]);
        top = values[k] > top ? values[k] : top;
    }
    return strange ? NAN : top;
}

/* The least of the values whose flags are set, ignoring NaN. */
static inline double least_where(const double *restrict values, const Flag *restrict flags, int64_t n)
{
    const Four none = four_of(INFINITY);
    Four one = none;
    int64_t k = 0;
    for (; k + 4 <= n; k += 4) one = smaller_four(four_where(flags + k, four_at(values + k), none), one);
    double each[4], least = INFINITY;
    put_four(one, each);
    for (int t = 0; t < 4; t++) least = each[t] < least ? each[t] : least;
    for (; k < n; k++) least = flags[k] && values[k] < least ? values[k] : least;
    return least;
}

/* Make the values -∞ whose flags are not set. */
static inline void clear_unset(double *restrict values, const Flag *restrict flags, int64_t n)
{
    int64_t k = 0;
    for (; k + 4 <= n; k += 4) put_four(four_where(flags + k, four_at(values + k), four_of(-INFINITY)), values + k);
    for (; k < n; k++) values[k] = flags[k] ? values[k] : -INFINITY;
}

/* The same of many, and where the first block that has it begins. */
static inline double largest_from(const double *values, const Flag *allowed, int64_t n, int64_t *block)
{
    double top = -INFINITY;
    *block = 0;
    for (int64_t first = 0; first < n; first += GLANCE) {
        const int64_t count = smaller(GLANCE, n - first);
        if (peak(values + first, NULL, count) <= top) continue;
        const double own = peak(values + first, allowed + first, count);
        if (isnan(own)) return own;
        if (own > top) top = own, *block = first;
    }
    return top;
}

static inline double largest(const double *values, const Flag *allowed, int64_t n)
{
    int64_t block;
    return largest_from(values, allowed, n, &block);
}

/* What still ties with the largest; infinities tie with their equals alone. */
static inline double floor_below(double top, double tolerance) { return isfinite(top) ? top - tolerance : top; }

/* The first allowed index whose value is at least `low`, or no number; 0 if there is none. */
static inline int64_t first_at_least(const double *values, const Flag *allowed, int64_t n, double low)
{
    for (int64_t first = 0; first < n; first += GLANCE) {
        const int64_t last = smaller(first + GLANCE, n);
        if (peak(values + first, NULL, last - first) < low) continue;
        for (int64_t k = first; k < last; k++)
            if (allowed[k] && !(values[k] < low)) return k;
    }
    return 0;
}

static int64_t first_largest(const double *values, const Flag *allowed, int64_t n)
{
    const double top = largest(values, allowed, n);
    return first_at_least(values, allowed, n, floor_below(top, TIE * fabs(top)));
}

static int64_t first_largest_candidate(const double *restrict values, const Flag *restrict allowed,
                                       const Flag *restrict candidates, int64_t n)
{
    double top = -INFINITY;
    int64_t strange = 0, both = 0;
    _Pragma("omp simd reduction(max : top) reduction(+ : strange, both)")
    for (int64_t k = 0; k < n; k++) {
        const bool counts = allowed[k] & candidates[k];
        const double value = counts ? values[k] : -INFINITY;
        both += counts;
        strange += value != value;
        top = value > top ? value : top;
    }
    if (!both) return first_largest(values, allowed, n);
    if (strange) top = NAN;
    const double low = floor_below(top, TIE * fabs(top));
    for (int64_t k = 0; k < n; k++)
        if (allowed[k] && candidates[k] && !(values[k] < low)) return k;
    return 0;
}

static int64_t masked_argmax(const double *values, const Flag *allowed, int64_t n)
{
    int64_t block;
    const double top = largest_from(values, allowed, n, &block);
    if (isnan(top)) return first_at_least(values, allowed, n, top);
    return block + first_at_least(values + block, allowed + block, n - block, top);
}

static int64_t first_near(const double *values, const Flag *allowed, int64_t n, int64_t winner, double tolerance)
{
    const double top = values[winner];
    return first_at_least(values, allowed, n, floor_below(top, tolerance + ROUNDING * fabs(top)));
}

static int64_t first_best(const double *values, const double *squared_widths, const Flag *allowed, int64_t n)
{
    const int64_t winner = masked_argmax(values, allowed, n);
    return first_near(values, allowed, n, winner, TIE * sqrt(squared_widths[winner]));
}

/* The best under a draw from the posterior. */
static int64_t best_of_draw(const DenseModel *model, Layout layout, const double *normals, double scale,
                            const Flag *allowed)
{
    perturbed_means(model, layout, normals, scale, model->scratch.at);
    return first_best(model->scratch.at, model->squared_widths.at, allowed, model->means.size);
}

/* The best under the first draw from the posterior that disagrees with the leader; -1 if all agree. */
static int64_t first_other(const DenseModel *model, Layout layout, const double *draws, int64_t k, const Flag *allowed,
                           int64_t leader)
{
    for (int64_t j = 0; j < k; j++) {
        const int64_t best = best_of_draw(model, layout, draws + j * model->pivots.size, 1.0, allowed);
        if (best != leader) return best;
    }
    return -1;
}

static int64_t most_optimistic(const double *restrict means, const double *restrict squared_widths,
                               double *restrict scratch, const Flag *restrict allowed, int64_t n, double radius)
{
    _Pragma("omp simd")
    for (int64_t k = 0; k < n; k++) scratch[k] = means[k] + radius * sqrt(squared_widths[k]);
    return first_best(scratch, squared_widths, allowed, n);
}

static void drop_ruled_out(const double *restrict means, const double *restrict squared_widths,
                           double *restrict scratch, Flag *restrict candidates, int64_t n, double radius)
{
    double floor = -INFINITY, lower[GLANCE];
    for (int64_t first = 0; first < n; first += GLANCE) {
        const int64_t count = smaller(GLANCE, n - first);
        _Pragma("omp simd")
        for (int64_t b = 0; b < count; b++) {
            const double slack = radius * sqrt(squared_widths[first + b]);
            lower[b] = means[first + b] - slack;
            scratch[first + b] = means[first + b] + slack;
        }
        if (peak(lower, NULL, count) <= floor) continue;
        const double top = peak(lower, candidates + first, count);
        if (top > floor) floor = top;
        /* NaN rules nothing out, and is not ruled out. */
        if (isnan(top))
            for (int64_t b = 0; b < count; b++)
                if (candidates[first + b] && lower[b] > floor) floor = lower[b];
    }
    for (int64_t first = 0; first < n; first += GLANCE) {
        const int64_t last = smaller(first + GLANCE, n);
        if (!(least_where(scratch + first, candidates + first, last - first) < floor)) continue;
        for (int64_t k = first; k < last; k++) candidates[k] &= !(scratch[k] < floor);
    }
}

static void keep_near_best(const double *restrict values, Flag *restrict candidates, int64_t n, double slack)
{
    const double low = largest(values, candidates, n) - slack;
    for (int64_t k = 0; k < n; k++) candidates[k] &= !(values[k] < low);
}

static double bound_from_widths(const double *means, const double *widths, const Flag *candidates, int64_t n,
                                int64_t action, double radius)
{
    double bound = 0.0;
    for (int64_t k = 0; k < n; k++) {
        if (!candidates[k]) continue;
        const double upper = means[k] - means[action] + radius * widths[k];
        if (isnan(upper)) return INFINITY; /* NaN never counts as a bound */
        if (upper > bound) bound = upper;
    }
    return bound;
}

static double regret_bound(const DenseModel *model, Layout layout, const Flag *candidates, int64_t action,
                           double radius)
{
    contrast_widths(model, layout, action, model->scratch.at);
    return bound_from_widths(model->means.at, model->scratch.at, candidates, model->means.size, action, radius);
}

static double likelihood_ratio(const DenseModel *model, Layout layout, int64_t action, double eps)
{
    const int64_t n = model->means.size;
    const double *restrict means = model->means.at, *restrict squared_widths = model->squared_widths.at;
    double *restrict widths = model->scratch.at, ratio = INFINITY;
    const double own = squared_widths[action], mean = eps + means[action];
    int64_t unknown = 0;
    contrast_widths(model, layout, action, widths);
    _Pragma("omp simd reduction(min : ratio) reduction(+ : unknown)")
    for (int64_t k = 0; k < n; k++) {
        const double squared = widths[k] * widths[k], lead = mean - means[k];
        const double term = lead <= 0.0 ? 0.0 : lead * lead / (2.0 * squared);
        /* A copy of the action is not a rival: their difference is rounding. */
        const double value = squared <= 2.0 * CANCELLED * (squared_widths[k] + own) ? INFINITY : term;
        unknown += value != value;
        ratio = value < ratio ? value : ratio;
    }
    return unknown ? 0.0 : ratio;
}

static int64_t strongest_rival(const DenseModel *model, Layout layout, int64_t leader, double radius)
{
    const int64_t n = model->means.size;
    const double *means = model->means.at, base = means[leader];
    double *upper = model->scratch.at, top = -INFINITY;
    int64_t rival = -1;
    contrast_widths(model, layout, leader, upper);
    for (int64_t k = 0; k < n; k++) upper[k] = means[k] - base + radius * upper[k];
    for (int64_t k = 0; k < n; k++) {
        if (k == leader) continue;
        if (isnan(upper[k])) return leader == 0 && n > 1 ? 1 : 0; /* the first other: nothing can be compared */
        if (rival < 0 || upper[k] > top) top = upper[k], rival = k;
    }
    if (rival < 0) return 0;
    const double slack = top - (means[rival] - base);
    const double rounding = ROUNDING * (fabs(means[rival]) + fabs(base));
    const double low = floor_below(top, TIE * slack + rounding + ROUNDING * fabs(top));
    for (int64_t k = 0; k < n; k++)
        if (k != leader && !(upper[k] < low)) return k;
    return 0;
}

static int64_t most_telling(const DenseModel *model, Layout layout, int64_t one, int64_t other, double variance,
                            const Flag *allowed)
{
    const int64_t n = model->means.size;
    double *restrict gains = model->scratch.at;
    const double *restrict squared_widths = model->squared_widths.at;
    copy_difference(model, layout, one, other);
    solve(model);
    project(model, layout, model->step.at, gains);
    for (int64_t k = 0; k < n; k++) gains[k] = gains[k] * gains[k] / (variance + squared_widths[k]);
    return first_largest(gains, allowed, n);
}

static int64_t smallest_bound(const DenseModel *model, Layout layout, const Flag *candidates, int64_t action,
                              double radius, double *floors)
{
    const int64_t n = model->means.size;
    const double *means = model->means.at;
    double *widths = model->scratch.at, lowest = INFINITY;
    int64_t best = action, current = action;
    for (int64_t k = 0; k < n; k++) floors[k] = candidates[k] ? 0.0 : INFINITY;
    for (;;) {
        double bound = -INFINITY, least = INFINITY;
        int64_t rival = 0;
        contrast_widths(model, layout, current, widths);
        for (int64_t k = 0; k < n; k++) {
            const double slack = radius * widths[k], lead = means[k] - means[current];
            const bool known = !isnan(lead + slack); /* NaN never counts as a bound */
            const double upper = known ? lead + slack : INFINITY;
            if (candidates[k] && upper > bound) bound = upper, rival = k;
            if (!known) floors[k] = INFINITY;
            else if (slack - lead > floors[k]) floors[k] = slack - lead;
        }
        floors[current] = INFINITY;
        for (int64_t k = 0; k < n; k++) least = floors[k] < least ? floors[k] : least;
        if (bound < 0.0) bound = 0.0;
        if (bound < lowest * (1.0 - TIE)) best = current, lowest = bound;
        if (least >= lowest * (1.0 - TIE)) return best;
        if (floors[rival] < INFINITY) current = rival;
        else for (current = 0; floors[current] > least + TIE * lowest;) current++;
    }
}
