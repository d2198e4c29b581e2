/* The mixture of two actions with the least (E gap)²/E gain.
 * Twin: `rules/_information_directed.py`, which says why two are enough. */

/* The share of the second at which a mixture of two has the least ratio. */
static inline double share_of_second(double gap, double gain, double other_gap, double other_gain)
{
    const double more_gap = other_gap - gap, more_gain = other_gain - gain;
    if (more_gap == 0.0) return other_gain > gain ? 1.0 : 0.0;
    if (more_gain == 0.0) return other_gap < gap ? 1.0 : 0.0;
    if (more_gap * more_gain < 0.0) return more_gain > 0.0 ? 1.0 : 0.0; /* one of them is better in both */
    const double share = (more_gain * gap - 2.0 * more_gap * gain) / (more_gap * more_gain);
    return share > 1.0 ? 1.0 : share > 0.0 ? share : 0.0;
}

static inline double mean_of(double one, double other, double share) { return (1.0 - share) * one + share * other; }

/* `scratch` is room for n numbers; `out` takes the two actions and the share of the second. */
static void best_mixture(const double *gap, const double *gain, const Flag *allowed, int64_t n, double *scratch,
                          double *out)
{
    for (int64_t k = 0; k < n; k++) {
        const double least = gap[k] < 1e-300 ? 1e-300 : gap[k];
        scratch[k] = gain[k] / (least * least);
    }
    int64_t one = first_largest(scratch, allowed, n), other = one; /* the best without mixing */
    double share = 0.0;
    for (int64_t turn = 0; turn < (int64_t)MOST_EXCHANGES; turn++) {
        const double mean_gap = mean_of(gap[one], gap[other], share), mean_gain = mean_of(gain[one], gain[other], share);
        if (!(mean_gain > 0.0)) break;
        const double rate = mean_gap / mean_gain;
        for (int64_t k = 0; k < n; k++) scratch[k] = -(2.0 * gap[k] - rate * gain[k]);
        const int64_t steepest = masked_argmax(scratch, allowed, n);
        const double terms = 2.0 * gap[steepest] + rate * gain[steepest];
        const int64_t entering = first_near(scratch, allowed, n, steepest, TIE * terms);
        if (-scratch[entering] >= mean_gap * (1.0 - OPTIMAL)) break;
        double least = mean_gap * mean_gap / mean_gain, part = 0.0;
        int64_t kept = -1;
        for (int place = 0; place < 2; place++) {
            const int64_t candidate = place ? other : one;
            const double q = share_of_second(gap[candidate], gain[candidate], gap[entering], gain[entering]);
            const double mixed_gap = mean_of(gap[candidate], gap[entering], q);
            const double mixed_gain = mean_of(gain[candidate], gain[entering], q);
            if (mixed_gain > 0.0 && mixed_gap * mixed_gap / mixed_gain < least) {
                least = mixed_gap * mixed_gap / mixed_gain;
                kept = candidate;
                part = q;
            }
        }
        if (kept < 0) break;
        one = kept;
        other = entering;
        share = part;
    }
    out[0] = (double)one;
    out[1] = (double)other;
    out[2] = share;
}
