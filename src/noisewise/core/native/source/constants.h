/* Numbers that the NumPy bodies know by the same names; the module shows them, and a test compares. */
#ifndef NOISEWISE_CONSTANTS_H
#define NOISEWISE_CONSTANTS_H

#define CONSTANTS(CONSTANT) \
    /* core/model.py */ \
    CONSTANT(WORN, 1e-2) \
    CONSTANT(REFRESH_AFTER, 20000.0) \
    CONSTANT(FAR, 1e6) \
    CONSTANT(RECENTRE_AFTER, 32.0) \
    /* core/model.py */ \
    CONSTANT(CANCELLED, 1e-12) \
    /* core/selection.py */ \
    CONSTANT(TIE, 1e-9) \
    CONSTANT(ROUNDING, 4e-15) \
    /* rules/huber.py, a step in a ball */ \
    CONSTANT(ON_THE_BALL, 1e-12) \
    CONSTANT(MOST_SHIFTS, 100.0) \
    /* rules/huber.py */ \
    CONSTANT(CLOSE, 1e-5) \
    CONSTANT(MOST_STEPS, 100.0) \
    CONSTANT(MOST_CUTS, 40.0) \
    CONSTANT(OVERSHOT, 0.1) \
    /* rules/median_of_means.py */ \
    CONSTANT(MOST_MOVES, 100.0) \
    CONSTANT(SETTLED, 1e-7) \
    /* rules/alternatives.py */ \
    CONSTANT(LEAST, 1e-10) \
    CONSTANT(COPY, 1e-10) \
    /* rules/_frank_wolfe_sampling.py */ \
    CONSTANT(NOTHING, 1e-11) \
    /* rules/_information_directed.py */ \
    CONSTANT(MOST_EXCHANGES, 200.0) \
    CONSTANT(OPTIMAL, 1e-9) \
    /* rules/_bayes_gap.py */ \
    CONSTANT(GUESS, 3.0) \
    /* core/blocks.py */ \
    /* rules/races.py */ \
    CONSTANT(MEMORY, 20.0) \
    CONSTANT(CAUTION, 8.0) \
    CONSTANT(FEWEST_REPEATS, 10.0) \
    CONSTANT(BEHIND, 0.25) \
    CONSTANT(NEGLIGIBLE, 0.01)

#define DEFINE(name, value) static const double name = value;
CONSTANTS(DEFINE)
#undef DEFINE

#endif
