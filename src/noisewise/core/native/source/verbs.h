/* All verbs, by name and type: one table of them for every kind of processor.
 *
 * A verb without a model works on arrays alone. `layout` says how a model's vectors lie. Results that are
 * arrays go to `out`, which the caller provides.
 */
#ifndef NOISEWISE_VERBS_H
#define NOISEWISE_VERBS_H

#include "arrays.h"

#define VERBS(VERB) \
    /* dense.h: learning and reading the linear model */ \
    VERB(void, fold, (const DenseModel *model, Layout layout, int64_t action, double reward, double sigma)) \
    VERB(void, recentre, (const DenseModel *model, Layout layout)) \
    VERB(void, set_theta, (const DenseModel *model, Layout layout, const double *estimate)) \
    VERB(void, theta, (const DenseModel *model, double *out)) \
    VERB(double, squared_norm, (const DenseModel *model)) \
    VERB(double, distance_to, (const DenseModel *model, const double *parameter)) \
    VERB(void, project_rows, (const DenseModel *model, Layout layout, const double *direction, \
                              int64_t first, int64_t last, double *out)) \
    VERB(int64_t, learn_rows, (const DenseModel *model, Layout layout, double gain, int64_t first, int64_t last)) \
    VERB(void, refresh_rows, (const DenseModel *model, Layout layout, int64_t first, int64_t last, bool all)) \
    /* covariances.h: how actions vary together */ \
    VERB(void, covariance_with, (const DenseModel *model, Layout layout, int64_t action, double *out)) \
    VERB(void, contrast_widths, (const DenseModel *model, Layout layout, int64_t action, double *out)) \
    VERB(void, squared_covariances, (const DenseModel *model, Layout layout, const int64_t *rivals, \
                                     int64_t n_rivals, int64_t action, const double *weights, double *out)) \
    VERB(void, perturbed_means, (const DenseModel *model, Layout layout, const double *normals, double scale, \
                                 double *out)) \
    VERB(void, spread, (const DenseModel *model, double *out)) \
    VERB(void, covariance, (const DenseModel *model, double *out)) \
    /* robust.h: the pseudo-Huber estimates */ \
    VERB(void, remember, (const History *history, const DenseModel *model, Layout layout, int64_t action, \
                          double reward, double scale, double tau)) \
    VERB(void, fit_huber, (const History *history, const DenseModel *model, double ridge, double bound, \
                           double *out)) \
    VERB(void, move, (const Curvature *curvature, const DenseModel *model, Layout layout, int64_t action, \
                      double reward, double scale, double tau, double bound)) \
    VERB(void, stay_in_ball, (const Curvature *curvature, const DenseModel *model, Layout layout, double bound)) \
    /* medians.h: medians of means */ \
    VERB(void, deal, (const Blocks *blocks, const DenseModel *model, Layout layout, int64_t action, double reward, \
                      double sigma)) \
    VERB(void, centre_of, (const Blocks *blocks, const DenseModel *model, double *out)) \
    VERB(double, certified_contrast, (const Blocks *blocks, const DenseModel *model, Layout layout, \
                                      const Flag *candidates, int64_t action, double reach)) \
    VERB(double, covering_radius, (const Blocks *blocks, const DenseModel *model, Layout layout, double reach)) \
    /* alternatives.h: the cheapest parameters that make another action the best */ \
    VERB(void, inverse_of_moment, (const DenseModel *model, Layout layout, const double *shares, double *lower, \
                                   double *out)) \
    VERB(void, costs_of_rivals, (const DenseModel *model, Layout layout, const double *inverse, int64_t leader, \
                                 double *out)) \
    VERB(void, shifts_towards, (const DenseModel *model, Layout layout, const double *inverse, int64_t leader, \
                                int64_t rival, double *out)) \
    VERB(void, payoffs_of, (const DenseModel *model, Layout layout, const double *inverse, const double *costs, \
                            int64_t leader, const int64_t *rivals, int64_t n_rivals, double *out)) \
    VERB(int64_t, closest_rival, (const double *costs, int64_t n)) \
    VERB(int64_t, rivals_within, (const double *costs, int64_t n, double slack, int64_t *rows)) \
    VERB(double, hardness, (const double *means, const double *squared_widths, double *scratch, int64_t n, \
                            double eps)) \
    VERB(void, best_of_others, (const double *upper, int64_t n, double *out)) \
    VERB(int64_t, first_unseen, (const double *given, const Flag *allowed, int64_t n)) \
    /* mixtures.h: information-directed sampling */ \
    VERB(void, write_mixture, (const double *gap, const double *gain, const Flag *allowed, int64_t n, \
                               double *scratch, double *out)) \
    /* hedging.h: LinGame's learners */ \
    VERB(void, hedged, (const double *losses, int64_t n, double doubt, double *out)) \
    VERB(double, mixability_gap, (const double *shares, const double *losses, const double *gains, int64_t n, \
                                  double doubt)) \
    /* vertices.h, games.h: corners of sets, and the matrix game */ \
    VERB(void, write_contrasts, (const Vertices *shape, const double *theta, const double *covariance, \
                                 double radius, const double *origin, double *means, double *squares, \
                                 double *pull, double *out)) \
    VERB(void, solve_game, (const double *payoffs, int64_t n_rows, double *shares, int64_t n, double *table, \
                              double *right, double *bottom, double *basic, double *free)) \
    /* choice.h: choosing with ties broken on purpose, and dropping what cannot be the best */ \
    VERB(int64_t, first_largest, (const double *values, const Flag *allowed, int64_t n)) \
    VERB(int64_t, first_largest_candidate, (const double *values, const Flag *allowed, const Flag *candidates, \
                                            int64_t n)) \
    VERB(int64_t, first_best, (const double *values, const double *squared_widths, const Flag *allowed, int64_t n)) \
    VERB(int64_t, masked_argmax, (const double *values, const Flag *allowed, int64_t n)) \
    VERB(int64_t, first_near, (const double *values, const Flag *allowed, int64_t n, int64_t winner, \
                               double tolerance)) \
    VERB(int64_t, most_optimistic, (const double *means, const double *squared_widths, double *scratch, \
                                    const Flag *allowed, int64_t n, double radius)) \
    VERB(void, drop_ruled_out, (const double *means, const double *squared_widths, double *scratch, \
                                Flag *candidates, int64_t n, double radius)) \
    VERB(void, keep_near_best, (const double *values, Flag *candidates, int64_t n, double slack)) \
    VERB(int64_t, strongest_rival, (const DenseModel *model, Layout layout, int64_t leader, double radius)) \
    VERB(int64_t, most_telling, (const DenseModel *model, Layout layout, int64_t one, int64_t other, \
                                 double variance, const Flag *allowed)) \
    VERB(double, regret_bound, (const DenseModel *model, Layout layout, const Flag *candidates, int64_t action, \
                                double radius)) \
    VERB(double, likelihood_ratio, (const DenseModel *model, Layout layout, int64_t action, double eps)) \
    VERB(double, bound_from_widths, (const double *means, const double *widths, const Flag *candidates, int64_t n, \
                                     int64_t action, double radius)) \
    VERB(int64_t, smallest_bound, (const DenseModel *model, Layout layout, const Flag *candidates, int64_t action, \
                                   double radius, double *floors)) \
    /* independent.h: the model with one unknown per option */ \
    VERB(void, fold_independent, (const IndependentModel *model, int64_t action, double reward, double sigma, \
                                  double *reach, double *covariances)) \
    VERB(void, covariance_with_independent, (const IndependentModel *model, int64_t action, double *reach, \
                                             double *out)) \
    VERB(void, contrast_widths_independent, (const IndependentModel *model, int64_t action, double *reach, \
                                             double *out)) \
    VERB(void, squared_covariances_independent, (const IndependentModel *model, const int64_t *rivals, \
                                                 int64_t n_rivals, int64_t action, const double *weights, \
                                                 double *reach, double *one, double *other, double *out)) \
    /* books.h, races.h, settlement.h: what VAGE books, the races it sees and what settles them */ \
    VERB(void, book, (const double *squared_widths, int64_t n, double *ledgers, const NoiseHistory *noise, \
                      int64_t action, double sigma)) \
    VERB(void, closest_races, (const DenseModel *model, Layout layout, const Sketch *sketch, const Flag *candidates, \
                               int64_t leader, double reach, int64_t *rivals, double *weights)) \
    VERB(void, races_by_widths, (const double *means, const double *squared_widths, double *widths, \
                                 const Flag *candidates, int64_t n, int64_t leader, double reach, int64_t *rivals, \
                                 double *weights)) \
    VERB(int64_t, most_settling, (const DenseModel *model, Layout layout, const Sketch *sketch, \
                                  const int64_t *rivals, int64_t leader, const double *weights, \
                                  const NoiseHistory *noise, double sigma, const Flag *allowed)) \
    VERB(int64_t, most_settling_by_squares, (double *squares, const double *squared_widths, int64_t n, \
                                             const NoiseHistory *noise, double sigma, const Flag *allowed)) \
    /* streams.h: random numbers as a function of three words */ \
    VERB(void, seed_stream, (uint32_t seed, uint32_t purpose, uint32_t index, uint64_t *state))

typedef struct {
#define FIELD(result, name, parameters) result(*name) parameters;
    VERBS(FIELD)
#undef FIELD
} Verbs;

/* The same verbs, for any processor and for those with AVX2 and FMA. */
extern const Verbs baseline_verbs;
#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_AVX2_VERBS
extern const Verbs avx2_verbs;
#endif

#endif
