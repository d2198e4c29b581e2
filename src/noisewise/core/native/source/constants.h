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
