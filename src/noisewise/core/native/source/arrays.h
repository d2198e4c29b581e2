/* The arrays that verbs work on, as they lie in memory.
 *
 * An array is its address and its lengths, always in C order. Other records, such as `DenseModel`, are NamedTuples of
 * arrays and in the table of generate.py; the binding fills them from the tuple in every call.
 */
#ifndef NOISEWISE_ARRAYS_H
#define NOISEWISE_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct { double *at; int64_t size; } Floats;
typedef struct { int64_t *at; int64_t size; } Ints;
/* A truth value of NumPy's: a byte, which need not be 0 or 1 as C's own `bool` must. */
typedef uint8_t Flag;
typedef struct { double *at; int64_t rows, columns; } Matrix;
typedef struct { double *at; int64_t blocks, rows, columns; } Cube;

/* How the actions' vectors lie: all values of one feature together, or all features of one action; and whether
 * they are stored in single precision. Everything is computed in double precision. */
typedef int64_t Layout;
enum { BY_FEATURE = 0, BY_ACTION = 1, SINGLE = 2 };

/* `IndependentModel` of `core/independent.py`. */
typedef struct {
    int64_t n;
    Floats squared_widths; /* (n,) */
    Floats means; /* (n,) */
    Floats tally; /* (7,) */
    Floats scratch; /* (n,) */
} IndependentModel;

/* Races that VAGE looks at. */
enum { RACES = 4 };

/* Entries of the tally of a curvature or a block. */
enum { FEW_TALLIES = 6 };
/* What a step within a ball needs: five matrices and eight vectors. */
#define BALL_ROOM(dim) (5 * (dim) * (dim) + 8 * (dim))
/* What medians need: two uppers of a batch of actions, a place and a distance for each block; the batch's
 * vectors, and two points. */
#define MEDIAN_ROOM(k, dim) ((k) * (2 * BATCH + (dim) + 1) + (dim) * (BATCH + 2))

/* What the tally counts, as in `core/model.py`. */
enum { LOG_DET, TOTAL_PRECISION, TOLD, AGE, RESIDUAL, SINCE_CENTRED, SAFEST, TALLIES };
/* Actions whose widths are recomputed together. */
enum { BATCH = 64 };
/* Actions handled together. */
enum { BLOCK = 512 };

#endif
