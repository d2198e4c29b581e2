/* Values at all vertices of a set, one flip of a corner at a time by Gray's code. Twin: `actions/vertices.py`. */

/* The mean and the squared width of one row of a table whose entries begin at `offset`. */
static inline void value_of_row(const Matrix *table, int64_t row, const double *theta, const double *covariance,
                                int64_t dim, const double *origin, int64_t offset, double *mean, double *square)
{
    const double *entries = table->at + row * table->columns;
    *mean = *square = 0.0;
    for (int64_t i = 0; i < table->columns; i++) {
        const double entry = entries[i] - origin[offset + i], *across = covariance + (offset + i) * dim + offset;
        double sum = 0.0;
        for (int64_t j = 0; j < table->columns; j++) sum += across[j] * (entries[j] - origin[offset + j]);
        *mean += theta[offset + i] * entry;
        *square += entry * sum;
    }
}

static inline double pulled(const double *row, const double *pull, const double *origin, int64_t size)
{
    double sum = 0.0;
    for (int64_t i = 0; i < size; i++) sum += pull[i] * (row[i] - origin[i]);
    return sum;
}

/* `means` and `squares` are room for one number per right row, `pull` for one per right entry. */
static void contrast_values(const Vertices *shape, const double *theta, const double *covariance, double radius,
                            const double *origin, double *means, double *squares, double *pull, double *out)
{
    const int64_t cut = shape->left.columns, width = shape->right.columns, dim = cut + width;
    const int64_t n_left = shape->left.rows, n_right = shape->right.rows;
    const double *right = shape->right.at, *last = right + (n_right - 1) * width;
    for (int64_t j = 0; j < n_right; j++)
        value_of_row(&shape->right, j, theta, covariance, dim, origin, cut, means + j, squares + j);
    for (int64_t i = 0; i < n_left; i++) {
        const double *left = shape->left.at + i * cut;
        double mean, square, cross, *values = out + i * n_right;
        value_of_row(&shape->left, i, theta, covariance, dim, origin, 0, &mean, &square);
        if (!(radius > 0.0)) {
            for (int64_t j = 0; j < n_right; j++) values[j] = mean + means[j];
            continue;
        }
        /* 2·(l - origin)ᵀ·C·(r - origin) = <pull, r - origin> */
        for (int64_t k = 0; k < width; k++) {
            double sum = 0.0;
            for (int64_t m = 0; m < cut; m++) sum += covariance[(cut + k) * dim + m] * (left[m] - origin[m]);
            pull[k] = 2.0 * sum;
        }
        cross = pulled(right, pull, origin + cut, width);
        for (int64_t step = 0, code = 0; step < n_right; step++) {
            if (step > 0 && shape->gray) {
                /* The step from one code to the next flips one bit: the lowest that is set in `step`. */
                int64_t bit = 0;
                while (!(step >> bit & 1)) bit++;
                code ^= (int64_t)1 << bit;
                const int64_t k = width - 1 - bit;
                const double flipped = pull[k] * (last[k] - right[k]);
                cross += code >> bit & 1 ? flipped : -flipped;
            } else if (step > 0) {
                code = step;
                cross = pulled(right + code * width, pull, origin + cut, width);
            }
            const double squared = square + squares[code] + cross;
            values[code] = mean + means[code] + radius * sqrt(squared < 0.0 ? 0.0 : squared);
        }
    }
}
