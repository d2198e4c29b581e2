/* The arrays that verbs work on, as they lie in memory.
 *
 * An array is its address and its lengths, one word each, always in C order. `DenseModel` here is the NamedTuple
 * of `core/model/dense.py`, field by field: the binding fills it from the tuple in every call, and compiled
 * loops hand over an address where the same words stand in the same order.
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

/* How the actions' vectors lie: all values of one feature together, or all features of one action; and whether
 * they are stored in single precision. Everything is computed in double precision. */
typedef int64_t Layout;
enum { BY_FEATURE = 0, BY_ACTION = 1, SINGLE = 2 };

typedef struct {
    Matrix columns; /* (dim, n): the actions' vectors, lying as the layout says, never written */
    Matrix factor; /* (dim, dim+1): U, its diagonal of ones not stored; last column U(θ̂ - centre) */
    Floats pivots; /* (dim,): D */
    Floats reciprocals; /* (dim,): 1/D */
    Floats centre; /* (dim,) */
    Floats squared_widths; /* (n,) */
    Floats means; /* (n,) */
    Floats floors; /* (n,): WORN times the last exact squared width */
    Floats tally; /* (7,) */
    Matrix halves; /* (dim, BATCH): scratch, like all that follow */
    Ints batch; /* (BATCH,) */
    Floats half; /* (dim,) */
    Floats step; /* (dim,) */
    Floats row; /* (dim+1,) */
    Floats scratch; /* (n,) */
} DenseModel;

/* `IndependentModel` of `core/model/independent.py`. */
typedef struct {
    int64_t n;
    Ints touched; /* (rows,): the options with a load, ascending */
    Floats own; /* (n,) */
    Matrix loads; /* (rows, q) */
    Matrix border; /* (q, q) */
    Floats squared_widths; /* (n,) */
    Floats means; /* (n,) */
    Floats tally; /* (7,) */
    Floats scratch; /* (n,) */
} IndependentModel;

/* `NoiseHistory` of VAGE. */
typedef struct {
    Floats counts, residuals, precisions, relative; /* (n,) */
    Floats tally; /* (8,) */
} NoiseHistory;

/* `Sketch` of VAGE: a_k is about centre + axesᵀ·q_k, q_k a column of whole numbers. None if there are no blocks. */
typedef struct { int8_t *at; int64_t blocks, rows, columns; } Codes;
typedef struct {
    Codes codes; /* (blocks, dim, TILE) */
    Matrix axes; /* (dim, dim): an axis in each row, as long as one unit of its code */
    Floats centre; /* (dim,) */
} Sketch;

/* Races that VAGE looks at. */
enum { RACES = 4 };

/* `History` of `policies/robust/huber.py`: T measurements, m slots. */
typedef struct {
    Floats rewards, scales, taus; /* (T,) */
    Ints slots; /* (T,) */
    Matrix vectors; /* (m, dim) */
    Ints slot_of; /* (n,) */
    Ints filled; /* (2,): how many measurements and slots there are */
    Floats multiplier; /* (1,) */
    Floats curvature, influence; /* (m,) */
    Matrix rows; /* (m, dim) */
    Floats room; /* (BALL_ROOM(dim) + m,) */
} History;

/* `Curvature` of `policies/robust/one_pass.py`. */
typedef struct {
    Matrix factor; /* (dim, dim+1) */
    Floats pivots, reciprocals; /* (dim,) */
    Floats tally; /* (6,) */
    Floats theta; /* (dim,) */
    Floats room; /* (BALL_ROOM(dim),) */
} Curvature;

/* `Blocks` of `policies/robust/median_of_means.py`: k of them. */
typedef struct { double *at; int64_t blocks, rows, columns; } Factors;
typedef struct {
    Factors factor; /* (k, dim, dim+1) */
    Matrix pivots, reciprocals; /* (k, dim) */
    Matrix tally; /* (k, 6) */
    Matrix thetas; /* (k, dim) */
    Floats room; /* (MEDIAN_ROOM(k, dim),) */
} Blocks;

/* `Vertices` of `actions/vertices.py`. */
typedef struct {
    Matrix left, right; /* (n_left, dim_left), (n_right, dim_right) */
    int64_t gray; /* whether the right rows are the corners of a box, in the order of binary numbers */
} Vertices;

/* Entries of the tally of a curvature or a block. */
enum { FEW_TALLIES = 6 };
/* What a step within a ball needs: five matrices and eight vectors. */
#define BALL_ROOM(dim) (5 * (dim) * (dim) + 8 * (dim))
/* What medians need: two uppers of a batch of actions, a place and a distance for each block; the batch's
 * vectors, and two points. */
#define MEDIAN_ROOM(k, dim) ((k) * (2 * BATCH + (dim) + 1) + (dim) * (BATCH + 2))

/* What the tally counts, as in `core/model/dense.py`. */
enum { LOG_DET, TOTAL_PRECISION, TOLD, AGE, RESIDUAL, SINCE_CENTRED, SAFEST, TALLIES };
/* Actions whose widths are recomputed together. */
enum { BATCH = 64 };
/* Actions handled together. */
enum { BLOCK = 512 };
/* Rows of a block of a sketch. */
enum { TILE = 64 };

#endif
