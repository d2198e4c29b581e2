/* Medians of means. Twin: `rules/median_of_means.py`, with the reasons. */

static void deal(const Blocks *blocks, const DenseModel *model, Layout layout, int64_t action, double reward,
                 double sigma)
{
    const int64_t k = blocks->thetas.rows, dim = blocks->thetas.columns, size = dim * (dim + 1);
    double *half = model->half.at, *row = model->row.at, *squared_widths = blocks->room.at, widest = 0.0;
    int64_t chosen = 0;
    copy_vector(&model->columns, layout, action, row);
    for (int64_t b = 0; b < k; b++) {
        for (int64_t i = 0; i < dim; i++) half[i] = row[i];
        squared_widths[b] =
            forward(blocks->factor.at + b * size, blocks->reciprocals.at + b * dim, dim, half, model->step.at);
        if (squared_widths[b] > widest) widest = squared_widths[b];
    }
    while (chosen < k - 1 && squared_widths[chosen] < widest * (1.0 - TIE)) chosen++;
    double *factor = blocks->factor.at + chosen * size, *estimate = blocks->thetas.at + chosen * dim;
    row[dim] = reward;
    rotate(factor, blocks->pivots.at + chosen * dim, blocks->reciprocals.at + chosen * dim, row, dim,
           1.0 / (sigma * sigma), blocks->tally.at + chosen * blocks->tally.columns + RESIDUAL);
    for (int64_t i = 0; i < dim; i++) estimate[i] = factor[i * (dim + 1) + dim];
    backward(factor, dim, estimate);
}

/* D^(1/2)·U·estimate: where it lies when V is the identity. */
static inline void place_of(const DenseModel *model, const double *restrict estimate, double *restrict place)
{
    const int64_t dim = model->step.size;
    for (int64_t i = 0; i < dim; i++) {
        double value = estimate[i];
        for (int64_t j = i + 1; j < dim; j++) value += model->factor.at[i * (dim + 1) + j] * estimate[j];
        place[i] = value * sqrt(model->pivots.at[i]);
    }
}

static void centre_of(const Blocks *blocks, const DenseModel *model, double *out)
{
    const int64_t k = blocks->thetas.rows, dim = blocks->thetas.columns;
    double *places = blocks->room.at, *apart = places + k * dim, *point = apart + k, *moved = point + dim;
    theta(model, out);
    place_of(model, out, point);
    for (int64_t b = 0; b < k; b++) place_of(model, blocks->thetas.at + b * dim, places + b * dim);
    for (int64_t turn = 0; turn < (int64_t)MOST_MOVES; turn++) {
        double spread_of_blocks = 0.0, total = 0.0, squared_move = 0.0;
        for (int64_t b = 0; b < k; b++) {
            double squared = 0.0;
            for (int64_t i = 0; i < dim; i++) {
                const double away = places[b * dim + i] - point[i];
                squared += away * away;
            }
            apart[b] = sqrt(squared);
            spread_of_blocks += apart[b] / (double)k;
        }
        if (spread_of_blocks == 0.0) return;
        for (int64_t i = 0; i < dim; i++) moved[i] = 0.0;
        for (int64_t b = 0; b < k; b++) {
            const double least = 1e-9 * spread_of_blocks, pull = 1.0 / (apart[b] < least ? least : apart[b]);
            total += pull;
            for (int64_t i = 0; i < dim; i++) moved[i] += pull * places[b * dim + i];
        }
        for (int64_t i = 0; i < dim; i++) {
            moved[i] /= total;
            squared_move += (moved[i] - point[i]) * (moved[i] - point[i]);
            point[i] = moved[i];
        }
        if (sqrt(squared_move) <= SETTLED * spread_of_blocks) break;
    }
    for (int64_t i = 0; i < dim; i++) out[i] = point[i] / sqrt(model->pivots.at[i]);
    backward(model->factor.at, dim, out);
}

/* The middle one of k numbers in order; they are reordered (Hoare's selection). */
static inline double middle_of(double *values, int64_t k)
{
    int64_t low = 0, high = k - 1, middle = k / 2;
    while (low < high) {
        const double pivot = values[(low + high) / 2];
        int64_t left = low, right = high;
        while (left <= right) {
            while (values[left] < pivot) left++;
            while (pivot < values[right]) right--;
            if (left <= right) {
                const double kept = values[left];
                values[left++] = values[right];
                values[right--] = kept;
            }
        }
        if (middle <= right) high = right;
        else if (middle >= left) low = left;
        else break;
    }
    return values[middle];
}

/* Where the directions of a batch are in a block's scratch, (dim, BATCH). */
static inline double *directions_of(const Blocks *blocks) { return blocks->room.at + 2 * BATCH * blocks->thetas.rows; }

/* For the directions of a batch, as many as `count`: the medians over blocks of <θ_b, y> + reach·‖y‖, and of
 * -<θ_b, y> + reach·‖y‖ if they are wanted. */
static void upper_medians(const Blocks *blocks, const DenseModel *model, int64_t count, double reach,
                          double *restrict above, double *restrict below)
{
    const int64_t k = blocks->thetas.rows, dim = blocks->thetas.columns, across = dim + 1;
    const double *directions = directions_of(blocks);
    double *uppers = blocks->room.at, *others = uppers + k * BATCH, *halves = model->halves.at;
    for (int64_t b = 0; b < k; b++) {
        const double *factor = blocks->factor.at + b * dim * across;
        double values[BATCH] = {0.0}, squares[BATCH] = {0.0};
        for (int64_t i = 0; i < dim; i++) {
            const double *restrict entry = directions + i * BATCH, weight = blocks->thetas.at[b * dim + i];
            double *restrict half = halves + i * BATCH;
            _Pragma("omp simd")
            for (int64_t c = 0; c < count; c++) {
                values[c] += weight * entry[c];
                half[c] = entry[c];
            }
        }
        for (int64_t j = 0; j < dim; j++) {
            const double *restrict half = halves + j * BATCH, reciprocal = blocks->reciprocals.at[b * dim + j];
            _Pragma("omp simd")
            for (int64_t c = 0; c < count; c++) squares[c] += half[c] * half[c] * reciprocal;
            for (int64_t i = j + 1; i < dim; i++) {
                double *restrict later = halves + i * BATCH;
                const double share = factor[j * across + i];
                _Pragma("omp simd")
                for (int64_t c = 0; c < count; c++) later[c] -= share * half[c];
            }
        }
        for (int64_t c = 0; c < count; c++) {
            const double slack = reach * sqrt(squares[c]), up = slack + values[c], down = slack - values[c];
            /* NaN never counts as a bound, and comes last in the order. */
            uppers[c * k + b] = isnan(up) ? INFINITY : up;
            others[c * k + b] = isnan(down) ? INFINITY : down;
        }
    }
    for (int64_t c = 0; c < count; c++) {
        above[c] = middle_of(uppers + c * k, k);
        if (below) below[c] = middle_of(others + c * k, k);
    }
}

/* Write a_action, less a_origin unless that is -1, as one of the batch's directions. */
static inline void put_direction(const Blocks *blocks, const DenseModel *model, Layout layout, int64_t place,
                                 int64_t action, int64_t origin)
{
    double *directions = directions_of(blocks);
    if (origin >= 0) copy_difference(model, layout, action, origin);
    else copy_vector(&model->columns, layout, action, model->half.at);
    for (int64_t i = 0; i < model->half.size; i++) directions[i * BATCH + place] = model->half.at[i];
}

static double certified_contrast(const Blocks *blocks, const DenseModel *model, Layout layout,
                                 const Flag *candidates, int64_t action, double reach)
{
    const int64_t n = model->means.size;
    double above[BATCH], top = 0.0;
    int64_t count = 0;
    for (int64_t a = 0; a < n; a++) {
        if (candidates[a]) put_direction(blocks, model, layout, count++, a, action);
        if (count == BATCH || (a == n - 1 && count > 0)) {
            upper_medians(blocks, model, count, reach, above, NULL);
            for (int64_t c = 0; c < count; c++) top = above[c] > top ? above[c] : top;
            count = 0;
        }
    }
    return top;
}

static double covering_radius(const Blocks *blocks, const DenseModel *model, Layout layout, double reach)
{
    const int64_t n = model->means.size;
    double above[BATCH], below[BATCH], top = 0.0;
    int64_t count = 0, *batch = model->batch.at;
    for (int64_t a = 0; a < n; a++) {
        if (model->squared_widths.at[a] > 0.0) {
            batch[count] = a;
            put_direction(blocks, model, layout, count++, a, -1);
        }
        if (count == BATCH || (a == n - 1 && count > 0)) {
            upper_medians(blocks, model, count, reach, above, below);
            for (int64_t c = 0; c < count; c++) {
                const double mean = model->means.at[batch[c]], up = above[c] - mean, down = below[c] + mean;
                const double away = (up < down ? down : up) / sqrt(model->squared_widths.at[batch[c]]);
                if (isnan(up) || isnan(down) || isnan(away)) return INFINITY;
                top = away > top ? away : top;
            }
            count = 0;
        }
    }
    return top;
}
