/* VAGE's books: the two ledgers and the history of the noise.
 * Twins: `rules/races.py`, which has the equations. */

enum { LEVEL, SIGMAS_TOLD, SUM, SQUARES, BETWEEN, MEASURED, PAIRS, DIFFER };
enum { PRECISION, PRECISION_TO_WIDEST, CREDIT, CREDIT_TO_WIDEST, CONCENTRATION };

static inline double larger_of(double one, double other) { return one > other ? one : other; }

static inline void compare_actions(const NoiseHistory *noise)
{
    const int64_t n = noise->relative.size;
    const double *restrict counts = noise->counts.at, *restrict residuals = noise->residuals.at;
    double *restrict relative = noise->relative.at, *tally = noise->tally.at;
    const double told = tally[SIGMAS_TOLD], groups = tally[MEASURED], freedom = told - groups;
    double between = 0.0, within = 0.0;
    if (groups >= 2.0 && freedom >= FEWEST_REPEATS) {
        within = larger_of(0.0, tally[SQUARES] - tally[BETWEEN]) / freedom;
        const double spread = larger_of(0.0, tally[BETWEEN] - tally[SUM] * tally[SUM] / told) / (groups - 1.0);
        const double doubt = 1.0 + CAUTION * sqrt(2.0 / (groups - 1.0) + 2.0 / freedom);
        between = (spread - doubt * within) * (groups - 1.0) / (told - tally[PAIRS] / told);
    }
    if (between > 1e-6) {
        const double prior = within / between;
        for (int64_t k = 0; k < n; k++)
            relative[k] = counts[k] == 0.0
                ? 1.0 : exp((residuals[k] - counts[k] * tally[SUM] / told) / (counts[k] + prior + 1e-9));
        tally[DIFFER] = 1.0;
    } else if (tally[DIFFER] > 0.0) {
        for (int64_t k = 0; k < n; k++) relative[k] = 1.0;
        tally[DIFFER] = 0.0;
    }
}

static inline void observe(const NoiseHistory *noise, int64_t action, double sigma)
{
    double *tally = noise->tally.at, *counts = noise->counts.at, *residuals = noise->residuals.at;
    const double value = 2.0 * log(sigma);
    if (tally[SIGMAS_TOLD] == 0.0) tally[LEVEL] = value;
    const double residual = value - tally[LEVEL], count = counts[action], total = residuals[action];
    const double before = count > 0.0 ? total * total / count : 0.0, after = total + residual;
    counts[action] = count + 1.0;
    residuals[action] = after;
    tally[BETWEEN] += after * after / (count + 1.0) - before;
    tally[MEASURED] += count == 0.0 ? 1.0 : 0.0;
    tally[PAIRS] += 2.0 * count + 1.0;
    tally[SIGMAS_TOLD] += 1.0;
    tally[SUM] += residual;
    tally[SQUARES] += residual * residual;
    noise->precisions.at[action] += 1.0 / (sigma * sigma);
    compare_actions(noise);
    const double rounds = tally[SIGMAS_TOLD] < MEMORY ? tally[SIGMAS_TOLD] : MEMORY;
    tally[LEVEL] += (residual - log(noise->relative.at[action])) / rounds;
}

static void book(const double *squared_widths, int64_t n, double *ledgers, const NoiseHistory *noise,
                 int64_t action, double sigma)
{
    const double precision = 1.0 / (sigma * sigma), part = precision / (ledgers[PRECISION] + precision);
    double largest = squared_widths[0];
    _Pragma("omp simd reduction(max : largest)")
    for (int64_t k = 0; k < n; k++) largest = squared_widths[k] > largest ? squared_widths[k] : largest;
    const double credit = largest * precision < 1.0 ? largest * precision : 1.0;
    ledgers[CONCENTRATION] = ledgers[CONCENTRATION] * ((1.0 - part) * (1.0 - part)) + part * part;
    ledgers[PRECISION] += precision;
    ledgers[CREDIT] += credit;
    if (squared_widths[action] >= largest * (1.0 - TIE)) {
        ledgers[PRECISION_TO_WIDEST] += precision;
        ledgers[CREDIT_TO_WIDEST] += credit;
    }
    observe(noise, action, sigma);
}

/* The variance of the coming measurement, of an average action; what each one's is relative to it, or NULL. */
static inline double foresee(const NoiseHistory *noise, double sigma, const double **relative)
{
    const double *tally = noise->tally.at, *restrict precisions = noise->precisions.at;
    const int64_t n = noise->precisions.size;
    double sum = 0.0;
    *relative = NULL;
    if (!isnan(sigma)) return sigma * sigma;
    if (tally[SIGMAS_TOLD] == 0.0) return 1.0;
    if (tally[DIFFER] > 0.0) {
        const double *restrict own = *relative = noise->relative.at;
        _Pragma("omp simd reduction(+ : sum)")
        for (int64_t k = 0; k < n; k++) sum += precisions[k] * own[k];
    } else {
        _Pragma("omp simd reduction(+ : sum)")
        for (int64_t k = 0; k < n; k++) sum += precisions[k];
    }
    return tally[SIGMAS_TOLD] / sum;
}
