/* Numbers that the NumPy bodies know by the same names; the module shows them, and a test compares. */
#ifndef NOISEWISE_CONSTANTS_H
#define NOISEWISE_CONSTANTS_H

#define CONSTANTS(CONSTANT) \
    /* core/model/dense.py */ \
    CONSTANT(WORN, 1e-2) \
    CONSTANT(REFRESH_AFTER, 20000.0) \
    CONSTANT(FAR, 1e6) \
    CONSTANT(RECENTRE_AFTER, 32.0) \
    /* core/model/covariances.py */ \
    CONSTANT(CANCELLED, 1e-12) \
    /* core/choice/selection.py */ \
    CONSTANT(TIE, 1e-9) \
    CONSTANT(ROUNDING, 4e-15) \
    /* policies/robust/ball.py */ \
    CONSTANT(ON_THE_BALL, 1e-12) \
    CONSTANT(MOST_SHIFTS, 100.0) \
    /* policies/robust/huber.py */ \
    CONSTANT(CLOSE, 1e-5) \
    CONSTANT(MOST_STEPS, 100.0) \
    CONSTANT(MOST_CUTS, 40.0) \
    CONSTANT(OVERSHOT, 0.1) \
    /* policies/robust/median_of_means.py */ \
    CONSTANT(MOST_MOVES, 100.0) \
    CONSTANT(SETTLED, 1e-7) \
    /* policies/shared/alternatives.py */ \
    CONSTANT(LEAST, 1e-10) \
    CONSTANT(COPY, 1e-10) \
    /* policies/rules/identification/frank_wolfe_sampling/matrix_game.py */ \
    CONSTANT(NOTHING, 1e-11) \
    /* policies/rules/identification/information_directed.py */ \
    CONSTANT(MOST_EXCHANGES, 200.0) \
    CONSTANT(OPTIMAL, 1e-9) \
    /* policies/rules/identification/bayes_gap.py */ \
    CONSTANT(GUESS, 3.0) \
    /* core/support/blocks.py */ \
    CONSTANT(MANY, 250000.0) \
    /* policies/rules/ours/vage */ \
    CONSTANT(MEMORY, 20.0) \
    CONSTANT(CAUTION, 8.0) \
    CONSTANT(FEWEST_REPEATS, 10.0) \
    CONSTANT(BEHIND, 0.25) \
    CONSTANT(NEGLIGIBLE, 0.01)

#define DEFINE(name, value) static const double name = value;
CONSTANTS(DEFINE)
#undef DEFINE

#endif
