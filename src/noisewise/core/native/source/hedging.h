/* LinGame's learners: AdaHedge. Twin: `rules/_lingame.py`. */

static inline double least_of(const double *values, const double *less, int64_t n)
{
    double least = INFINITY;
    for (int64_t k = 0; k < n; k++) {
        const double value = less ? values[k] - less[k] : values[k];
        if (isnan(value)) return value;
        least = value < least ? value : least;
    }
    return least;
}

static void hedged(const double *losses, int64_t n, double doubt, double *out)
{
    const double rate = log((double)n) / doubt, least = least_of(losses, NULL, n);
    double total = 0.0;
    for (int64_t k = 0; k < n; k++) {
        out[k] = exp(-rate * (losses[k] - least));
        total += out[k];
    }
    for (int64_t k = 0; k < n; k++) out[k] /= total;
}

/* -log(Σ exp(-rate·loss))/rate of the losses, less the gains if there are any. */
static inline double soft_minimum(const double *losses, const double *gains, int64_t n, double rate)
{
    const double least = least_of(losses, gains, n);
    double total = 0.0;
    for (int64_t k = 0; k < n; k++) total += exp(-rate * ((gains ? losses[k] - gains[k] : losses[k]) - least));
    return least - log(total) / rate;
}

static double mixability_gap(const double *shares, const double *losses, const double *gains, int64_t n,
                             double doubt)
{
    if (n == 1) return 0.0;
    const double rate = log((double)n) / doubt;
    double missed = soft_minimum(losses, NULL, n, rate) - soft_minimum(losses, gains, n, rate), gained = 0.0;
    for (int64_t k = 0; k < n; k++) gained += shares[k] * gains[k];
    missed -= gained;
    return missed > 0.0 ? missed : 0.0;
}
