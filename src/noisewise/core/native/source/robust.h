/* The pseudo-Huber estimates, over a history and in one pass, and the ball they stay in.
 * Twins: `rules/huber.py` and `one_pass.py`, with the equations. */

/* Where a step within a ball keeps what it needs, and where it leaves its answer. */
typedef struct {
    int64_t dim;
    double *root, *hessian, *metric, *matrix, *lower; /* (dim, dim) */
    double *gradient, *point; /* (dim,): given */
    double *step, *moved; /* (dim,): found */
    double *outward, *target, *pull; /* (dim,): scratch */
    double *trial; /* (dim,): for the caller */
    double decrement, multiplier;
} Ball;

static inline Ball ball_in(double *room, int64_t dim)
{
    Ball ball = {.dim = dim};
    double **const squares[] = {&ball.root, &ball.hessian, &ball.metric, &ball.matrix, &ball.lower};
    double **const rows[] = {&ball.gradient, &ball.point, &ball.step, &ball.moved, &ball.outward, &ball.target,
                             &ball.pull, &ball.trial};
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++, room += dim * dim) *squares[i] = room;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++, room += dim) *rows[i] = room;
    return ball;
}

/* D^(-1/2)·U⁻ᵀ, a lower triangle. */
static inline void whitening(const double *factor, const double *reciprocals, int64_t dim, double *restrict root)
{
    for (int64_t i = 0; i < dim; i++) {
        /* Row i of the inverse: the unit vector less what the rows above it explain. */
        double *restrict own = root + i * dim;
        for (int64_t k = 0; k < dim; k++) own[k] = k == i;
        for (int64_t j = 0; j < i; j++) {
            const double entry = factor[j * (dim + 1) + i], *restrict above = root + j * dim;
            for (int64_t k = 0; k <= j; k++) own[k] -= entry * above[k];
        }
    }
    for (int64_t i = 0; i < dim; i++) {
        const double scale = sqrt(reciprocals[i]);
        for (int64_t k = 0; k <= i; k++) root[i * dim + k] *= scale;
    }
}

/* Lower triangle times vector. */
static inline void times_lower(const double *restrict root, const double *restrict vector, int64_t dim,
                               double *restrict out)
{
    for (int64_t i = 0; i < dim; i++) {
        double sum = 0.0;
        for (int64_t k = 0; k <= i; k++) sum += root[i * dim + k] * vector[k];
        out[i] = sum;
    }
}

/* root·rootᵀ, both halves of it. */
static inline void metric_of(const double *restrict root, int64_t dim, double *restrict out)
{
    for (int64_t i = 0; i < dim; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int64_t k = 0; k <= j; k++) sum += root[i * dim + k] * root[j * dim + k];
            out[i * dim + j] = out[j * dim + i] = sum;
        }
}

/* From hessian, gradient, root, metric and point: the step, where it leads, its decrement and the multiplier. */
static void step_within_ball(Ball *ball, double bound)
{
    const int64_t dim = ball->dim;
    const double *hessian = ball->hessian, *gradient = ball->gradient, *root = ball->root;
    double *step = ball->step, *moved = ball->moved, shift = 0.0, norm = 0.0, decrement = 0.0;
    for (int64_t attempt = 0; attempt < (int64_t)MOST_SHIFTS; attempt++) {
        factor_positive(shift > 0.0 ? ball->matrix : hessian, ball->lower, dim);
        for (int64_t i = 0; i < dim; i++) step[i] = shift > 0.0 ? ball->target[i] : -gradient[i];
        solve_below(ball->lower, dim, step);
        solve_above(ball->lower, dim, step);
        norm = 0.0;
        for (int64_t i = 0; i < dim; i++) moved[i] = ball->point[i];
        for (int64_t k = 0; k < dim; k++)
            for (int64_t i = 0; i <= k; i++) moved[i] += root[k * dim + i] * step[k];
        for (int64_t i = 0; i < dim; i++) norm += moved[i] * moved[i];
        norm = sqrt(norm);
        /* NaN stays NaN. */
        if (!(norm > bound * (1.0 + ON_THE_BALL)) || isinf(norm)) break;
        if (attempt == 0) times_lower(root, ball->point, dim, ball->outward);
        times_lower(root, moved, dim, ball->pull);
        solve_below(ball->lower, dim, ball->pull);
        double stiffness = 0.0;
        for (int64_t i = 0; i < dim; i++) stiffness += ball->pull[i] * ball->pull[i] / ball->lower[i * dim + i];
        shift += norm * norm / stiffness * (norm - bound) / bound;
        for (int64_t i = 0; i < dim; i++) ball->target[i] = -(gradient[i] + shift * ball->outward[i]);
        for (int64_t i = 0; i < dim * dim; i++) ball->matrix[i] = hessian[i] + shift * ball->metric[i];
    }
    if (!isfinite(norm)) /* rounding left no inverse: stay */
        for (int64_t i = 0; i < dim; i++) moved[i] = ball->point[i], step[i] = 0.0;
    else if (norm > bound)
        for (int64_t i = 0; i < dim; i++) moved[i] *= bound / norm;
    for (int64_t i = 0; i < dim; i++)
        for (int64_t j = 0; j < dim; j++) decrement += step[i] * hessian[i * dim + j] * step[j];
    ball->decrement = sqrt(decrement > 0.0 ? decrement : 0.0);
    ball->multiplier = shift;
}

/* ---- Over a history. ---- */

static void remember(const History *history, const DenseModel *model, Layout layout, int64_t action, double reward,
                     double scale, double tau)
{
    int64_t *filled = history->filled.at, slot = history->slot_of.at[action];
    if (slot < 0 || history->slot_of.size == 1) {
        slot = filled[1]++;
        history->slot_of.at[action] = slot;
        copy_vector(&model->columns, layout, action, history->vectors.at + slot * history->vectors.columns);
    }
    const int64_t told = filled[0]++;
    history->rewards.at[told] = reward;
    history->scales.at[told] = scale;
    history->taus.at[told] = tau;
    history->slots.at[told] = slot;
}

/* The slots' vectors in the coordinates of the root. */
static inline void whiten(const History *history, const double *root, int64_t dim)
{
    for (int64_t slot = 0; slot < history->filled.at[1]; slot++)
        times_lower(root, history->vectors.at + slot * dim, dim, history->rows.at + slot * dim);
}

/* One pass: the sums of ψ/s and ψ'/s² over each slot's measurements. */
static inline void weigh(const History *history, const double *restrict point, int64_t dim, double *restrict values)
{
    const int64_t told = history->filled.at[0], slots = history->filled.at[1];
    double *restrict influence = history->influence.at, *restrict curvature = history->curvature.at;
    for (int64_t slot = 0; slot < slots; slot++) {
        double value = 0.0;
        for (int64_t i = 0; i < dim; i++) value += history->vectors.at[slot * dim + i] * point[i];
        values[slot] = value;
        influence[slot] = curvature[slot] = 0.0;
    }
    for (int64_t first = 0; first < told; first += BATCH) {
        const int64_t count = smaller(BATCH, told - first), *restrict where = history->slots.at + first;
        const double *restrict rewards = history->rewards.at + first, *restrict taus = history->taus.at + first;
        const double *restrict scales = history->scales.at + first;
        double pulls[BATCH], bends[BATCH];
        _Pragma("omp simd")
        for (int64_t b = 0; b < count; b++) {
            const double inverse = 1.0 / scales[b], tau = taus[b];
            const double residual = (rewards[b] - values[where[b]]) * inverse;
            const double bend = tau / sqrt(tau * tau + residual * residual), steep = bend * inverse;
            pulls[b] = steep * residual;
            bends[b] = steep * steep * bend;
        }
        for (int64_t b = 0; b < count; b++) {
            influence[where[b]] += pulls[b];
            curvature[where[b]] += bends[b];
        }
    }
}

/* Add the newest measurement to its slot's curvature, and make its influence the only one. */
static inline void weigh_newest(const History *history, const double *point, int64_t dim)
{
    const int64_t newest = history->filled.at[0] - 1, slot = history->slots.at[newest];
    const double scale = history->scales.at[newest], tau = history->taus.at[newest];
    double value = 0.0;
    for (int64_t k = 0; k < history->filled.at[1]; k++) history->influence.at[k] = 0.0;
    for (int64_t i = 0; i < dim; i++) value += history->vectors.at[slot * dim + i] * point[i];
    const double residual = (history->rewards.at[newest] - value) / scale;
    const double bend = tau / sqrt(tau * tau + residual * residual);
    history->influence.at[slot] = bend * residual / scale;
    history->curvature.at[slot] += bend * bend * bend / (scale * scale);
}

static inline void gradient_at(const History *history, Ball *ball, const double *point, double ridge)
{
    const int64_t dim = ball->dim;
    double *restrict gradient = ball->gradient;
    times_lower(ball->root, point, dim, gradient);
    for (int64_t i = 0; i < dim; i++) gradient[i] *= ridge;
    for (int64_t slot = 0; slot < history->filled.at[1]; slot++) {
        const double influence = history->influence.at[slot], *restrict row = history->rows.at + slot * dim;
        for (int64_t i = 0; i < dim; i++) gradient[i] -= influence * row[i];
    }
}

static inline void hessian_at(const History *history, Ball *ball, double ridge)
{
    const int64_t dim = ball->dim;
    double *restrict hessian = ball->hessian;
    for (int64_t i = 0; i < dim * dim; i++) hessian[i] = ridge * ball->metric[i];
    for (int64_t slot = 0; slot < history->filled.at[1]; slot++) {
        const double curvature = history->curvature.at[slot], *restrict row = history->rows.at + slot * dim;
        for (int64_t i = 0; i < dim; i++) {
            const double entry = curvature * row[i];
            double *restrict own = hessian + i * dim;
            _Pragma("omp simd") /* the whole row: half of it would not vectorise */
            for (int64_t j = 0; j < dim; j++) own[j] += entry * row[j];
        }
    }
}

static void fit_huber(const History *history, const DenseModel *model, double ridge, double bound, double *out)
{
    const int64_t dim = model->step.size;
    Ball ball = ball_in(history->room.at, dim);
    double *values = history->room.at + BALL_ROOM(dim), *restrict trial = ball.trial;
    whitening(model->factor.at, model->reciprocals.at, dim, ball.root);
    metric_of(ball.root, dim, ball.metric);
    whiten(history, ball.root, dim);
    theta(model, ball.point);
    /* The first step needs no pass: see the twin. */
    weigh_newest(history, ball.point, dim);
    gradient_at(history, &ball, ball.point, -history->multiplier.at[0]);
    hessian_at(history, &ball, ridge);
    step_within_ball(&ball, bound);
    for (int64_t i = 0; i < dim; i++) ball.point[i] = ball.moved[i];
    weigh(history, ball.point, dim, values);
    gradient_at(history, &ball, ball.point, ridge);
    hessian_at(history, &ball, ridge);
    for (int64_t turn = 0; turn < (int64_t)MOST_STEPS; turn++) {
        step_within_ball(&ball, bound);
        history->multiplier.at[0] = ball.multiplier;
        if (ball.decrement <= CLOSE) {
            for (int64_t i = 0; i < dim; i++) out[i] = ball.moved[i];
            return;
        }
        double slope = 0.0, share = 1.0;
        for (int64_t i = 0; i < dim; i++) slope += ball.gradient[i] * ball.step[i];
        for (int64_t cut = 0; cut < (int64_t)MOST_CUTS; cut++) {
            double beyond = 0.0;
            for (int64_t i = 0; i < dim; i++) trial[i] = ball.point[i] + share * (ball.moved[i] - ball.point[i]);
            weigh(history, trial, dim, values);
            gradient_at(history, &ball, trial, ridge);
            for (int64_t i = 0; i < dim; i++) beyond += ball.gradient[i] * ball.step[i];
            if (beyond <= -OVERSHOT * slope) break;
            const double shorter = slope / (slope - beyond);
            share *= shorter < 0.9 ? shorter : 0.9;
        }
        for (int64_t i = 0; i < dim; i++) ball.point[i] = trial[i];
        hessian_at(history, &ball, ridge);
    }
    for (int64_t i = 0; i < dim; i++) out[i] = ball.point[i];
}

/* ---- In one pass. ---- */

/* Replace the point by the nearest one of the ball, in the norm of UᵀDU. */
static void nearest_in_ball(const double *factor, const double *reciprocals, int64_t dim, double *room,
                            double *restrict point, double bound)
{
    Ball ball = ball_in(room, dim);
    whitening(factor, reciprocals, dim, ball.root);
    metric_of(ball.root, dim, ball.metric);
    for (int64_t i = 0; i < dim; i++) {
        for (int64_t j = 0; j < dim; j++) ball.hessian[i * dim + j] = i == j;
        ball.gradient[i] = 0.0;
        ball.point[i] = point[i];
    }
    step_within_ball(&ball, bound);
    for (int64_t i = 0; i < dim; i++) point[i] = ball.moved[i];
}

/* The z that solves z + leverage·ψ_τ(z) = surprise. */
static inline double remaining(double surprise, double leverage, double tau)
{
    const double far = fabs(surprise);
    double z = far / (1.0 + leverage);
    for (int64_t turn = 0; turn < (int64_t)MOST_STEPS; turn++) {
        const double bend = tau / sqrt(tau * tau + z * z), excess = z + leverage * bend * z - far;
        const double shorter = z - excess / (1.0 + leverage * bend * bend * bend);
        if (shorter - z <= 1e-15 * z) break;
        z = shorter < far ? shorter : far;
    }
    return copysign(z, surprise);
}

static void move(const Curvature *curvature, const DenseModel *model, Layout layout, int64_t action, double reward,
                 double scale, double tau, double bound)
{
    const int64_t dim = curvature->theta.size;
    double *restrict half = model->half.at, *restrict step = model->step.at, *restrict row = model->row.at;
    double *restrict point = curvature->theta.at, expected = 0.0, norm = 0.0;
    copy_vector(&model->columns, layout, action, half);
    for (int64_t i = 0; i < dim; i++) {
        row[i] = half[i];
        expected += half[i] * point[i];
    }
    row[dim] = 0.0;
    const double squared_width = forward(curvature->factor.at, curvature->reciprocals.at, dim, half, step);
    backward(curvature->factor.at, dim, step);
    const double weight = 1.0 / (scale * scale);
    const double remains = remaining((reward - expected) / scale, squared_width * weight, tau);
    const double bend = tau / sqrt(tau * tau + remains * remains), gain = bend * remains / scale;
    for (int64_t i = 0; i < dim; i++) {
        point[i] += step[i] * gain;
        norm += point[i] * point[i];
    }
    rotate(curvature->factor.at, curvature->pivots.at, curvature->reciprocals.at, row, dim, weight * bend * bend * bend,
           curvature->tally.at + RESIDUAL);
    if (norm > bound * bound)
        nearest_in_ball(curvature->factor.at, curvature->reciprocals.at, dim, curvature->room.at, point, bound);
}

static void stay_in_ball(const Curvature *curvature, const DenseModel *model, Layout layout, double bound)
{
    const int64_t dim = model->step.size;
    double *point = model->half.at, norm = 0.0;
    theta(model, point);
    for (int64_t i = 0; i < dim; i++) norm += point[i] * point[i];
    if (norm > bound * bound) {
        nearest_in_ball(model->factor.at, model->reciprocals.at, dim, curvature->room.at, point, bound);
        set_theta(model, layout, point);
    }
}
