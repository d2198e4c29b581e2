/* The matrix game, by the simplex method.
 * Twin: `rules/_frank_wolfe_sampling.py`, which says why.
 *
 * The table has its last column in `right`, (n,), and its last row in `bottom`, (n_rows,); the corner is not needed.
 * The labels of the variables are whole numbers, kept as the room is: in doubles.
 */

/* The variable with the lowest label among those whose increase would help; -1 if none would. */
static inline int64_t improving(const double *bottom, const double *free, int64_t n_rows)
{
    int64_t found = -1;
    for (int64_t j = 0; j < n_rows; j++)
        if (bottom[j] < -NOTHING && (found < 0 || free[j] < free[found])) found = j;
    return found;
}

/* The constraint that ends the increase of the entering variable; the lowest label of equals. */
static inline int64_t limiting(const double *table, const double *right, const double *basic, int64_t n_rows,
                               int64_t n, int64_t entering)
{
    int64_t found = -1;
    double least = INFINITY;
    for (int64_t k = 0; k < n; k++) {
        const double entry = table[k * n_rows + entering];
        if (!(entry > NOTHING)) continue;
        const double ratio = right[k] / entry;
        if (found < 0 || ratio < least - NOTHING || (ratio <= least + NOTHING && basic[k] < basic[found])) {
            found = k;
            least = ratio < least ? ratio : least;
        }
    }
    return found;
}

/* Take `factor` times the pivot's row from another, whose entry in the pivot's column becomes -factor/pivot. */
static inline void clear_row(double *restrict row, double *corner, const double *restrict pivot_row, double last,
                             int64_t n_rows, int64_t column, double pivot)
{
    const double factor = row[column];
    for (int64_t j = 0; j < n_rows; j++) row[j] -= factor * pivot_row[j];
    row[column] = -factor / pivot;
    if (corner) *corner -= factor * last;
}

/* Let a basic and a free variable change places. */
static inline void exchange(double *table, double *right, double *bottom, int64_t n_rows, int64_t n, int64_t row,
                            int64_t column)
{
    double *own = table + row * n_rows;
    const double pivot = own[column];
    for (int64_t j = 0; j < n_rows; j++) own[j] /= pivot;
    right[row] /= pivot;
    for (int64_t k = 0; k < n; k++)
        if (k != row) clear_row(table + k * n_rows, right + k, own, right[row], n_rows, column, pivot);
    clear_row(bottom, NULL, own, 0.0, n_rows, column, pivot);
    own[column] = 1.0 / pivot;
}

static void solve_game(const double *payoffs, int64_t n_rows, double *shares, int64_t n, double *table,
                         double *right, double *bottom, double *basic, double *free)
{
    double low = INFINITY, high = -INFINITY, total = 0.0;
    for (int64_t i = 0; i < n_rows * n; i++) {
        low = payoffs[i] < low ? payoffs[i] : low;
        high = payoffs[i] > high ? payoffs[i] : high;
    }
    for (int64_t k = 0; k < n; k++) shares[k] = 0.0;
    if (n_rows == 1 || !(high > low)) {
        int64_t best = 0;
        for (int64_t k = 1; k < n; k++)
            if (payoffs[k] > payoffs[best]) best = k;
        shares[best] = 1.0;
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        for (int64_t j = 0; j < n_rows; j++)
            table[k * n_rows + j] = 1.0 + (payoffs[j * n + k] - low) / (high - low);
        right[k] = 1.0;
        basic[k] = (double)(n_rows + k);
    }
    for (int64_t j = 0; j < n_rows; j++) {
        bottom[j] = -1.0;
        free[j] = (double)j;
    }
    for (int64_t turn = 0; turn < 100 * (n + n_rows); turn++) {
        const int64_t entering = improving(bottom, free, n_rows);
        if (entering < 0) break;
        const int64_t leaving = limiting(table, right, basic, n_rows, n, entering);
        if (leaving < 0) break;
        exchange(table, right, bottom, n_rows, n, leaving, entering);
        const double label = basic[leaving];
        basic[leaving] = free[entering];
        free[entering] = label;
    }
    for (int64_t j = 0; j < n_rows; j++)
        if (free[j] >= (double)n_rows && bottom[j] > 0.0) {
            shares[(int64_t)free[j] - n_rows] = bottom[j];
            total += bottom[j];
        }
    for (int64_t k = 0; k < n; k++) shares[k] /= total;
}
