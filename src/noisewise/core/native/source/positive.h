/* Symmetric positive matrices of a few rows, as L·D·Lᵀ: without square roots, so that rounding leaves numbers. */

/* Write L, its diagonal of ones replaced by D; only the lower triangle of the matrix is read. */
static inline void factor_positive(const double *restrict matrix, double *restrict lower, int64_t dim)
{
    for (int64_t j = 0; j < dim; j++) {
        double *own = lower + j * dim, pivot = matrix[j * dim + j];
        /* Row j from the rows above it; until it is divided, entry k is L_jk·D_k. */
        for (int64_t k = 0; k < j; k++) {
            const double *above = lower + k * dim;
            double sum = 0.0;
            for (int64_t m = 0; m < k; m++) sum += own[m] * above[m];
            own[k] = matrix[j * dim + k] - sum;
        }
        for (int64_t k = 0; k < j; k++) {
            const double entry = own[k] / lower[k * dim + k];
            pivot -= own[k] * entry;
            own[k] = entry;
        }
        own[j] = pivot;
    }
}

/* Replace the vector by L⁻¹·vector. */
static inline void solve_below(const double *restrict lower, int64_t dim, double *restrict vector)
{
    for (int64_t i = 1; i < dim; i++) {
        double rest = vector[i];
        for (int64_t k = 0; k < i; k++) rest -= lower[i * dim + k] * vector[k];
        vector[i] = rest;
    }
}

/* Replace L⁻¹·vector by (L·D·Lᵀ)⁻¹·vector. */
static inline void solve_above(const double *restrict lower, int64_t dim, double *restrict vector)
{
    for (int64_t i = 0; i < dim; i++) vector[i] /= lower[i * dim + i];
    for (int64_t k = dim - 1; k > 0; k--)
        for (int64_t i = 0; i < k; i++) vector[i] -= lower[k * dim + i] * vector[k];
}
