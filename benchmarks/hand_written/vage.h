/* VAGE by hand: the closest races, what settles them best, and the books. All races are solved and projected together,
 * a lane or a register for each; the best of every few values are kept, so that taking one away costs little. */

enum { RACES = 4, WIDE = 8 };
static const double CANCELLED = 1e-12, BEHIND = 0.25, NEGLIGIBLE = 0.01;
static const double MEMORY = 20.0, CAUTION = 8.0, FEWEST_REPEATS = 10.0, ROUGH_SHARE = 0.2;

typedef struct {
    int64_t count, rivals[RACES];
    double weights[RACES];
    double *maxima; /* the largest of every GLANCE values of scratch */
    double *covariances; /* (n,) with the leader, then the widths of the differences */
    Four *steps; /* (dim,): a lane for each race */
    double widest; /* the largest squared width */
    double precision, precision_to_widest, credit, credit_to_widest, concentration;
    /* What the sigmas were like, of all rounds and of each action. */
    double level, told, sum, squares, between, measured, pairs;
    bool differ;
    double *counts, *residuals, *precisions, *relative; /* (n,) */
} Races;

static Races begin_races(const Knowledge *k)
{
    Races r = {.maxima = numbers(k->n / GLANCE + 1), .covariances = numbers(k->n), .counts = numbers(k->n)};
    r.residuals = numbers(k->n), r.precisions = numbers(k->n), r.relative = numbers(k->n);
    r.steps = aligned_alloc(32, (size_t)k->dim * sizeof(Four));
    for (int64_t a = 0; a < k->n; a++) r.relative[a] = 1.0;
    r.widest = largest(k->squared_widths, k->n);
    return r;
}

static void end_races(Races *r)
{
    double *all[] = {r->maxima, r->covariances, r->counts, r->residuals, r->precisions, r->relative};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(r->steps);
}

static bool is_due(const Races *r, const Limits *limits)
{
    const double few = fmin(ROUGH_SHARE, 0.5 * limits->rank * r->concentration);
    return r->precision_to_widest <= fmax(limits->share, few) * r->precision * (1.0 + TIE)
        || r->credit_to_widest <= limits->share * r->credit * (1.0 + TIE);
}

/* The best mean of the candidates, within a tolerance. */
static int64_t leader_of(const Knowledge *k)
{
    const double *means = k->means;
    double top = -INFINITY;
    int64_t winner = 0;
    for (int64_t first = 0; first < k->n; first += GLANCE) {
        const int64_t last = k->n - first < GLANCE ? k->n : first + GLANCE;
        if (largest(means + first, last - first) <= top) continue;
        for (int64_t a = first; a < last; a++)
            if (k->candidates[a] && means[a] > top) top = means[a], winner = a;
    }
    const double low = top - TIE * sqrt(k->squared_widths[winner]) - ROUNDING * fabs(top);
    for (int64_t first = 0; first < winner; first += GLANCE) {
        const int64_t last = k->n - first < GLANCE ? k->n : first + GLANCE;
        if (largest(means + first, last - first) < low) continue;
        for (int64_t a = first; a < last; a++)
            if (k->candidates[a] && means[a] >= low) return a;
    }
    return winner;
}

/* reach·width + mean of every rival into scratch, and the largest of every few; returns the largest of all. */
static double upper_bounds(const Knowledge *k, const Races *r, double reach)
{
    double top = -INFINITY;
    for (int64_t first = 0; first < k->n; first += GLANCE) {
        const int64_t count = k->n - first < GLANCE ? k->n - first : GLANCE;
        const double *restrict widths = r->covariances + first, *restrict means = k->means + first;
        double *restrict upper = k->scratch + first, own = -INFINITY;
#pragma omp simd reduction(max : own)
        for (int64_t b = 0; b < count; b++) {
            upper[b] = reach * widths[b] + means[b];
            own = upper[b] > own ? upper[b] : own;
        }
        r->maxima[first / GLANCE] = own;
        top = own > top ? own : top;
    }
    return top;
}

/* ‖a - b‖ for all rivals, -∞ for who is none. */
static void rival_widths(Knowledge *k, Races *r, int64_t leader)
{
    const int64_t n = k->n;
    const double own = k->squared_widths[leader];
    for (int64_t i = 0; i < k->dim; i++) k->half[i] = k->columns[i * n + leader];
    solve(k, k->half, k->step);
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        const double *restrict squared_widths = k->squared_widths + first;
        double *restrict widths = r->covariances + first;
        project(k, k->step, first, count, widths);
#pragma omp simd
        for (int64_t b = 0; b < count; b++) {
            const double terms = squared_widths[b] + own, squared = terms - 2.0 * widths[b];
            widths[b] = squared > 2.0 * CANCELLED * terms ? sqrt(squared) : -INFINITY;
        }
        cross_out(widths, k->candidates + first, count);
    }
    r->covariances[leader] = -INFINITY;
}

static void find_races(Knowledge *k, Races *r, int64_t leader, double reach)
{
    const int64_t n = k->n, glances = (n + GLANCE - 1) / GLANCE;
    const double best = k->means[leader], *widths = r->covariances, *upper = k->scratch;
    rival_widths(k, r, leader);
    double top = upper_bounds(k, r, reach), slack = 0.0, first_upper = 0.0;
    r->count = 0;
    if (top == -INFINITY) return;
    if (top < best) {
        /* All are beaten: as far as the closest needs. */
        double least = INFINITY;
        for (int64_t a = 0; a < n; a++) {
            const double needed = widths[a] > 0.0 ? (best - k->means[a]) / widths[a] : INFINITY;
            least = needed < least ? needed : least;
        }
        reach = least > reach ? least : reach;
        top = upper_bounds(k, r, reach);
    }
    const int64_t strongest = first_above(upper, n, top);
    slack = reach * widths[strongest];
    const double tolerance = TIE * slack + ROUNDING * (fabs(top - slack) + fabs(best));
    for (int64_t j = 0; j < RACES; j++) {
        top = largest(r->maxima, glances);
        if (top == -INFINITY) return;
        int64_t glance = 0;
        while (r->maxima[glance] < top - tolerance) glance++;
        int64_t a = glance * GLANCE;
        while (upper[a] < top - tolerance) a++;
        if (j == 0) first_upper = upper[a], slack = reach * widths[a];
        const double weight = exp(-(first_upper - upper[a]) / (BEHIND * slack));
        if (weight < NEGLIGIBLE) return;
        r->rivals[j] = a, r->weights[j] = weight, r->count++;
        k->scratch[a] = -INFINITY;
        r->maxima[glance] = largest(upper + glance * GLANCE, glance < glances - 1 ? GLANCE : n - glance * GLANCE);
    }
}

/* V^-1(a_j - b)·√w_j of all races at once, a lane for each; what is no race stays 0. */
static void solve_races(const Knowledge *k, Races *r, int64_t leader)
{
    const int64_t dim = k->dim, n = k->n;
    Four half[dim], *restrict steps = r->steps;
    for (int64_t i = 0; i < dim; i++) {
        const double *across = k->columns + i * n;
        for (int64_t j = 0; j < RACES; j++) half[i][j] = j < r->count ? across[r->rivals[j]] - across[leader] : 0.0;
    }
    for (int64_t i = 0; i < dim; i++) {
        const double *restrict across = k->factor + i * (dim + 1);
        const Four entry = half[i];
        steps[i] = entry * k->reciprocals[i];
        for (int64_t j = i + 1; j < dim; j++) half[j] -= entry * across[j];
    }
    for (int64_t i = dim - 1; i >= 0; i--) {
        const double *restrict across = k->factor + i * (dim + 1);
        Four one = steps[i], other = {0.0};
        int64_t j = i + 1;
        for (; j + 2 <= dim; j += 2) one -= across[j] * steps[j], other -= across[j + 1] * steps[j + 1];
        if (j < dim) one -= across[j] * steps[j];
        steps[i] = one + other;
    }
    Four roots = {0.0};
    for (int64_t j = 0; j < r->count; j++) roots[j] = sqrt(r->weights[j]);
    for (int64_t i = 0; i < dim; i++) steps[i] *= roots;
}

/* Σ_j <step_j, a>² for all actions, eight at a time: their sums stay in registers. */
static void squared_sums(const Knowledge *k, const Races *r, double *restrict out)
{
    const int64_t dim = k->dim, n = k->n;
    const Four *restrict steps = r->steps;
    int64_t a = 0;
    for (; a + WIDE <= n; a += WIDE) {
        const double *restrict at = k->columns + a;
        Four s0 = {0.0}, s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
        for (int64_t i = 0; i < dim; i++, at += n) {
            const Four one = four_at(at), other = four_at(at + 4);
            s0 += steps[i][0] * one, t0 += steps[i][0] * other;
            s1 += steps[i][1] * one, t1 += steps[i][1] * other;
            s2 += steps[i][2] * one, t2 += steps[i][2] * other;
            s3 += steps[i][3] * one, t3 += steps[i][3] * other;
        }
        const Four low = s0 * s0 + s1 * s1 + s2 * s2 + s3 * s3, high = t0 * t0 + t1 * t1 + t2 * t2 + t3 * t3;
        memcpy(out + a, &low, sizeof low);
        memcpy(out + a + 4, &high, sizeof high);
    }
    for (; a < n; a++) {
        Four sums = {0.0};
        for (int64_t i = 0; i < dim; i++) sums += steps[i] * k->columns[i * n + a];
        sums *= sums;
        out[a] = sums[0] + sums[1] + sums[2] + sums[3];
    }
}

static int64_t most_settling(Knowledge *k, Races *r, const Limits *limits)
{
    const int64_t n = k->n, leader = leader_of(k);
    const double precision = fmax(1.0, limits->most * limits->most * r->precision);
    const double reach = limits->challenge * sqrt(2.0 * log((1.0 + log(precision)) / limits->delta));
    find_races(k, r, leader, reach);
    if (!r->count) return -1;
    solve_races(k, r, leader);
    double *restrict gains = k->scratch, total = r->precision, top = -INFINITY;
    const double *restrict widths = k->squared_widths, *restrict relative = r->relative;
    squared_sums(k, r, gains);
    if (r->differ) {
        total = 0.0;
#pragma omp simd reduction(+ : total)
        for (int64_t a = 0; a < n; a++) total += r->precisions[a] * relative[a];
    }
    const double variance = r->told > 0.0 ? r->told / total : 1.0;
    if (r->differ) {
#pragma omp simd reduction(max : top)
        for (int64_t a = 0; a < n; a++) {
            gains[a] /= variance * relative[a] + widths[a];
            top = gains[a] > top ? gains[a] : top;
        }
    } else {
#pragma omp simd reduction(max : top)
        for (int64_t a = 0; a < n; a++) {
            gains[a] /= variance + widths[a];
            top = gains[a] > top ? gains[a] : top;
        }
    }
    return top > 0.0 ? first_above(gains, n, top - TIE * top) : -1;
}

/* Whether actions differ in their noise, by an analysis of variance, and how far each is believed to. */
static void compare_actions(Races *r, int64_t n)
{
    const double freedom = r->told - r->measured;
    double between = 0.0, within = 0.0;
    if (r->measured >= 2.0 && freedom >= FEWEST_REPEATS) {
        const double others = r->measured - 1.0;
        within = fmax(0.0, r->squares - r->between) / freedom;
        const double spread = fmax(0.0, r->between - r->sum * r->sum / r->told) / others;
        const double doubt = 1.0 + CAUTION * sqrt(2.0 / others + 2.0 / freedom);
        between = (spread - doubt * within) * others / (r->told - r->pairs / r->told);
    }
    if (between > 1e-6) {
        const double prior = within / between + 1e-9, mean = r->sum / r->told;
        for (int64_t a = 0; a < n; a++)
            if (r->counts[a] > 0.0)
                r->relative[a] = exp((r->residuals[a] - r->counts[a] * mean) / (r->counts[a] + prior));
        r->differ = true;
    } else if (r->differ) {
        for (int64_t a = 0; a < n; a++) r->relative[a] = 1.0;
        r->differ = false;
    }
}

static void book(const Knowledge *k, Races *r, int64_t action, double sigma)
{
    const double precision = 1.0 / (sigma * sigma), credit = fmin(1.0, r->widest * precision);
    const double part = precision / (r->precision + precision), value = 2.0 * log(sigma);
    r->concentration = r->concentration * (1.0 - part) * (1.0 - part) + part * part;
    r->precision += precision, r->credit += credit;
    if (k->squared_widths[action] >= r->widest * (1.0 - TIE))
        r->precision_to_widest += precision, r->credit_to_widest += credit;
    if (r->told == 0.0) r->level = value;
    const double residual = value - r->level, count = r->counts[action], old = r->residuals[action];
    const double total = old + residual;
    r->counts[action] = count + 1.0, r->residuals[action] = total, r->precisions[action] += precision;
    r->between += total * total / (count + 1.0) - (count > 0.0 ? old * old / count : 0.0);
    r->measured += count == 0.0, r->pairs += 2.0 * count + 1.0, r->told += 1.0;
    r->sum += residual, r->squares += residual * residual;
    compare_actions(r, k->n);
    r->level += (residual - (r->differ ? log(r->relative[action]) : 0.0)) / fmin(r->told, MEMORY);
}
