/* The model of options that share nothing. Twin: `core/independent.py`. */

static void fold_independent(const IndependentModel *model, int64_t action, double reward, double sigma)
{
    double *mean = model->means.at + action, *squared_width = model->squared_widths.at + action;
    const double variance = sigma * sigma, together = variance + *squared_width;
    count_measurement(model->tally.at, *squared_width, 1.0 / variance);
    *mean += (reward - *mean) / together * *squared_width;
    *squared_width *= variance / together;
}

static void covariance_with_independent(const IndependentModel *model, int64_t action, double *out)
{
    for (int64_t k = 0; k < model->n; k++) out[k] = 0.0;
    out[action] = model->squared_widths.at[action];
}

static void contrast_widths_independent(const IndependentModel *model, int64_t action, double *out)
{
    covariance_with_independent(model, action, out);
    widths_from_covariances(model->squared_widths.at, model->n, action, out);
}

/* A difference of two options covaries with these two alone. */
static void squared_covariances_independent(const IndependentModel *model, const int64_t *rivals, int64_t n_rivals,
                                            int64_t action, const double *weights, double *out)
{
    const double *own = model->squared_widths.at;
    for (int64_t k = 0; k < model->n; k++) out[k] = 0.0;
    for (int64_t j = 0; j < n_rivals; j++) {
        if (rivals[j] == action) continue;
        out[rivals[j]] += weights[j] * own[rivals[j]] * own[rivals[j]];
        out[action] += weights[j] * own[action] * own[action];
    }
}
