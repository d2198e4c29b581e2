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

/* Of n rivals with these widths and means, the largest reach·width + mean in turn, of those that tie the first: at
 * most RACES of them, into `rivals` by their places (or by the rows there). Who is no rival has a width of -∞, and
 * who is taken gets one. The races count the less the further they are behind the first; what is no race counts 0. */
static void take_races(const int64_t *restrict rows, double *restrict widths, const double *restrict means, int64_t n,
                       int64_t leader, double best, double reach, int64_t *restrict rivals, double *restrict weights)
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
        int64_t k = first_upper(widths, means, n, reach, top - tolerance);
        if (k == n) return; /* the tolerance is no number */
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
        clear_unset(own_bounds, among, count);
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
    if (isinf(sight.error)) return false;
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

static void closest_races_independent(const IndependentModel *model, const Flag *candidates, int64_t leader, double reach,
                                      double *reached, int64_t *rivals, double *weights)
{
    contrast_widths_independent(model, leader, reached, model->scratch.at);
    races_by_widths(model->means.at, model->squared_widths.at, model->scratch.at, candidates, model->n, leader, reach,
                    rivals, weights);
}
