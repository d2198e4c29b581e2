/* The closest races between VAGE's leader and its rivals. Twin: `rules/races.py`. */

static inline double largest_upper(const double *restrict widths, const double *restrict means, int64_t count,
                                   double reach)
{
    double top = -INFINITY;
    _Pragma("omp simd reduction(max : top)")
    for (int64_t b = 0; b < count; b++) {
        const double upper = reach * widths[b] + means[b];
        top = upper > top ? upper : top;
    }
    return top;
}

/* The first whose reach·width + mean is at least `low`; n if there is none. */
static inline int64_t first_upper(const double *widths, const double *means, int64_t n, double reach, double low)
{
    for (int64_t first = 0; first < n; first += GLANCE) {
        const int64_t count = smaller(GLANCE, n - first);
        if (largest_upper(widths + first, means + first, count, reach) < low) continue;
        for (int64_t k = first; k < first + count; k++)
            if (reach * widths[k] + means[k] >= low) return k;
    }
    return n;
}

/* Of n rivals with these widths and means, the largest reach·width + mean in turn, the first of those that tie: at most
 * RACES of them. What is not a rival has a width of -∞, and what is taken gets one. The races count the less the further
 * they are behind the first; places without a race count 0. */
static void take_races(double *restrict widths, const double *restrict means, int64_t n, int64_t leader, double best,
                       double reach, int64_t *restrict rivals, double *restrict weights)
{
    double tolerance = 0.0, first = 0.0, slack = 0.0;
    for (int64_t j = 0; j < RACES; j++) rivals[j] = leader, weights[j] = 0.0;
    for (int64_t j = 0; j < RACES; j++) {
        const double top = largest_upper(widths, means, n, reach);
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
        const int64_t k = first_upper(widths, means, n, reach, top - tolerance);
        if (k == n) return; /* the tolerance is NaN */
        const double own = reach * widths[k], upper = own + means[k];
        if (j == 0) first = upper, slack = own;
        const double weight = exp(-(first - upper) / (BEHIND * slack));
        if (weight < NEGLIGIBLE) return;
        rivals[j] = k;
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
    widths[leader] = 0.0;
    _Pragma("omp simd")
    for (int64_t k = 0; k < n; k++) {
        const double terms = squared_widths[k] + own, width = widths[k];
        widths[k] = width * width > 2.0 * CANCELLED * terms ? width : -INFINITY;
    }
    clear_unset(widths, candidates, n);
    if (largest_upper(widths, means, n, reach) < best) {
        /* All are beaten: as far as the closest needs. */
        double least = INFINITY;
        _Pragma("omp simd reduction(min : least)")
        for (int64_t k = 0; k < n; k++) {
            const double needed = widths[k] > 0.0 ? (best - means[k]) / widths[k] : INFINITY;
            least = needed < least ? needed : least;
        }
        if (least < INFINITY && least > reach) reach = least;
    }
    take_races(widths, means, n, leader, best, reach, rivals, weights);
}

static void closest_races(const DenseModel *model, Layout layout, const Flag *candidates, int64_t leader, double reach,
                          int64_t *rivals, double *weights)
{
    contrast_widths(model, layout, leader, model->scratch.at);
    races_by_widths(model->means.at, model->squared_widths.at, model->scratch.at, candidates, model->means.size, leader,
                    reach, rivals, weights);
}

static void closest_races_independent(const IndependentModel *model, const Flag *candidates, int64_t leader, double reach,
                                      int64_t *rivals, double *weights)
{
    contrast_widths_independent(model, leader, model->scratch.at);
    races_by_widths(model->means.at, model->squared_widths.at, model->scratch.at, candidates, model->n, leader, reach,
                    rivals, weights);
}
