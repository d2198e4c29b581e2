/* Reading what Python hands over: arrays where they are, straight from tuples, with every type, order and length
 * checked in every call. What is laid out in a way that the verbs do not know (strides, other types, a model of
 * another class) goes to the NumPy body of the same name; what cannot be right is refused.
 */
#ifndef NOISEWISE_READING_H
#define NOISEWISE_READING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include "constants.h"
#include "verbs.h"

/* The processor's table of verbs. */
static const Verbs *verbs = &baseline_verbs;
/* The classes of the two models, and whether all verbs are to run as NumPy for now. */
static PyObject *dense_class, *independent_class;
static int numpy_only;

/* Lengths that are known where a function is called cost nothing only inside the caller. */
#ifdef __GNUC__
#define ALWAYS_INLINE __attribute__((always_inline)) static inline
#else
#define ALWAYS_INLINE static inline
#endif

/* A call that touches this many numbers or more lets other threads run. */
static const int64_t LONG_CALL = 1 << 15;

/* All functions, by name and parameters, with the NumPy body of each. */
#define PLACE(name, parameters) BODY_##name,
#define WORD(name, parameters) #name,
#define TABLE(NAMES) \
    enum { NAMES(PLACE) N_BODIES }; \
    static PyObject *bodies[N_BODIES]; \
    static const char *const names[] = {NAMES(WORD)};
#define FUNCTION(name, parameters) \
    {#name, (PyCFunction)(void (*)(void))call_##name, METH_FASTCALL | METH_KEYWORDS, \
     #name "($module, " parameters ")\n--\n\nThe compiled body of the verb."},

/* ---- Reading arguments. Each answers OURS, ANOTHER (for NumPy) or WRONG (an exception is set). ---- */

typedef enum { WRONG = -1, ANOTHER, OURS } Reading;

typedef struct {
    bool independent;
    Layout layout;
    int64_t n, dim;
    /* What both kinds of model have. */
    double *means, *squared_widths, *scratch;
    DenseModel dense;
    IndependentModel separate;
} Model;

static Reading refuse(const char *what, int64_t got, int64_t wanted)
{
    PyErr_Format(PyExc_ValueError, "`%s` must have %lld entries to belong to the model; got %lld.", what,
                 (long long)wanted, (long long)got);
    return WRONG;
}

static int64_t entries(int dimensions, const int64_t *lengths)
{
    int64_t product = 1;
    for (int axis = 0; axis < dimensions; axis++) product *= lengths[axis];
    return product;
}

/* An array of a type in C order, writeable where it will be written, with the lengths that it must have. */
ALWAYS_INLINE Reading read_array(PyObject *object, int type, bool written, const char *what, void *at, int dimensions,
                                 const int64_t *wanted)
{
    if (!PyArray_CheckExact(object)) return ANOTHER;
    PyArrayObject *array = (PyArrayObject *)object;
    const int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | (written ? NPY_ARRAY_WRITEABLE : 0);
    if (PyArray_TYPE(array) != type || PyArray_NDIM(array) != dimensions || (PyArray_FLAGS(array) & flags) != flags
        || !PyArray_ISNOTSWAPPED(array))
        return ANOTHER;
    for (int axis = 0; axis < dimensions; axis++)
        if (PyArray_DIM(array, axis) != wanted[axis])
            return refuse(what, PyArray_SIZE(array), entries(dimensions, wanted));
    *(void **)at = PyArray_DATA(array);
    return OURS;
}

/* A length of an array of so many dimensions; -1 of anything else. */
static inline int64_t length_of(PyObject *object, int dimensions, int axis)
{
    if (!PyArray_CheckExact(object) || PyArray_NDIM((PyArrayObject *)object) != dimensions) return -1;
    return PyArray_DIM((PyArrayObject *)object, axis);
}

static inline Reading read_columns(PyObject *object, Model *model, Matrix *columns)
{
    if (!PyArray_CheckExact(object)) return ANOTHER;
    PyArrayObject *array = (PyArrayObject *)object;
    const int type = PyArray_TYPE(array), flags = PyArray_FLAGS(array);
    if (PyArray_NDIM(array) != 2 || (type != NPY_DOUBLE && type != NPY_FLOAT) || !(flags & NPY_ARRAY_ALIGNED)
        || !PyArray_ISNOTSWAPPED(array))
        return ANOTHER;
    if (flags & NPY_ARRAY_C_CONTIGUOUS) model->layout = BY_FEATURE;
    else if (flags & NPY_ARRAY_F_CONTIGUOUS) model->layout = BY_ACTION;
    else return ANOTHER;
    if (type == NPY_FLOAT) model->layout |= SINGLE;
    columns->at = PyArray_DATA(array);
    model->dim = columns->rows = PyArray_DIM(array, 0);
    model->n = columns->columns = PyArray_DIM(array, 1);
    return model->n > 0 && model->dim > 0 ? OURS : ANOTHER;
}

#define MUST(reading) do { const Reading read_ = (reading); if (read_ != OURS) return read_; } while (0)
static Reading read_independent(PyObject *tuple, Model *model)
{
    IndependentModel *to = &model->separate;
    const int64_t n = length_of(PyTuple_GET_ITEM(tuple, 2), 1, 0);
    if (n <= 0) return ANOTHER;
#define ARRAY(place, field, length) \
    MUST(read_array(PyTuple_GET_ITEM(tuple, place), NPY_DOUBLE, true, #field, &to->field.at, 1, (int64_t[]){length}));
    ARRAY(1, squared_widths, n)
    ARRAY(2, means, n)
    ARRAY(3, tally, TALLIES)
    ARRAY(4, scratch, n)
    to->squared_widths.size = to->means.size = to->scratch.size = to->n = n;
    to->tally.size = TALLIES;
    *model = (Model){true, BY_FEATURE, n, n, to->means.at, to->squared_widths.at, to->scratch.at, .separate = *to};
    return OURS;
}

static inline Reading read_DenseModel(PyObject *tuple, Model *model, DenseModel *to);

static inline Reading read_model(PyObject *object, Model *model)
{
    PyObject *class = (PyObject *)Py_TYPE(object);
    if (class == independent_class && PyTuple_GET_SIZE(object) == 5) return read_independent(object, model);
    if (class != dense_class) return ANOTHER;
    MUST(read_DenseModel(object, model, &model->dense));
    model->independent = false;
    model->means = model->dense.means.at;
    model->squared_widths = model->dense.squared_widths.at;
    model->scratch = model->dense.scratch.at;
    return OURS;
}

static inline Reading read_float(PyObject *object, double *number)
{
    *number = PyFloat_AsDouble(object);
    return *number == -1.0 && PyErr_Occurred() ? WRONG : OURS;
}

static inline Reading read_index(PyObject *object, int64_t n, const char *what, int64_t *index)
{
    const Py_ssize_t found = PyNumber_AsSsize_t(object, PyExc_IndexError);
    if (found == -1 && PyErr_Occurred()) return WRONG;
    if (found < 0 || found >= n) {
        PyErr_Format(PyExc_IndexError, "`%s` must be a row from 0 to %lld; got %zd.", what, (long long)(n - 1),
                     found);
        return WRONG;
    }
    *index = found;
    return OURS;
}

static Reading read_word(PyObject *object, uint32_t *word)
{
    const unsigned long long number = PyLong_Check(object) ? PyLong_AsUnsignedLongLong(object) : UINT64_MAX;
    if (PyErr_Occurred()) PyErr_Clear(); /* below 0, or longer still */
    *word = (uint32_t)number;
    return number <= UINT32_MAX ? OURS : ANOTHER;
}

/* Rows of the model. */
static Reading check_rows(const int64_t *rows, int64_t size, int64_t n, const char *what)
{
    for (int64_t j = 0; j < size; j++)
        if (rows[j] < 0 || rows[j] >= n) {
            PyErr_Format(PyExc_IndexError, "`%s` must be rows from 0 to %lld; got %lld.", what, (long long)(n - 1),
                         (long long)rows[j]);
            return WRONG;
        }
    return OURS;
}

/* The rivals in the races that count are rows. */
static Reading check_races(const int64_t *rivals, const double *weights, int64_t n)
{
    int64_t races = 0;
    while (races < RACES && weights[races] > 0.0) races++;
    return check_rows(rivals, races, n, "rivals");
}

static Reading check_filled(const History *history)
{
    const int64_t told = history->filled.at[0], used = history->filled.at[1];
    if (told < 0 || told > history->rewards.size) return refuse("filled", told, history->rewards.size);
    if (used < 0 || used > history->curvature.size) return refuse("filled", used, history->curvature.size);
    return OURS;
}

static Reading check_room(const History *history, int64_t action, int64_t n)
{
    const int64_t slot = history->slot_of.at[action], place = slot < 0 || n == 1 ? history->filled.at[1] : slot;
    if (history->filled.at[0] < history->rewards.size && place < history->vectors.rows) return OURS;
    PyErr_SetString(PyExc_IndexError, "`history` must have room for a measurement; it is full.");
    return WRONG;
}

/* Every measurement's slot is one that is used. */
static Reading check_slots(const History *history)
{
    const int64_t told = history->filled.at[0], used = history->filled.at[1];
    for (int64_t t = 0; t < told; t++)
        if (history->slots.at[t] < 0 || history->slots.at[t] >= used) return refuse("slots", used, told);
    return told > 0 ? OURS : ANOTHER;
}

/* Corners in the order of binary numbers are as many as there are numbers. */
static Reading check_corners(const Vertices *shape)
{
    const int64_t bits = shape->right.columns;
    return shape->gray && (bits > 40 || shape->right.rows != (int64_t)1 << bits) ? ANOTHER : OURS;
}
#define DIM(shape) ((shape).left.columns + (shape).right.columns)

static PyObject *new_array(double **at, int dimensions, const int64_t *lengths)
{
    npy_intp shape[2] = {lengths[0], dimensions > 1 ? lengths[1] : 1};
    PyObject *array = PyArray_SimpleNew(dimensions, shape, NPY_DOUBLE);
    if (array) *at = PyArray_DATA((PyArrayObject *)array);
    return array;
}

static inline PyObject *hand_over_to(PyObject *body, const char *name, PyObject *const *args, Py_ssize_t n_args,
                                     PyObject *keywords)
{
    if (!body) return PyErr_Format(PyExc_RuntimeError, "The verb %s has no NumPy body.", name);
    return PyObject_Vectorcall(body, args, n_args, keywords);
}

#define ARGUMENTS PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args, PyObject *keywords
#define HAND_OVER(name) hand_over_to(bodies[BODY_##name], #name, args, n_args, keywords)
/* Read one argument, or hand all of them to the NumPy body. */
#define READ(name, reading) \
    switch (reading) { \
    case OURS: break; \
    case ANOTHER: return HAND_OVER(name); \
    default: return NULL; \
    }
#define OPEN(name, count) \
    if (numpy_only || n_args != (count) || keywords) \
        return HAND_OVER(name);
/* Do the work, without the interpreter's lock where it is long. */
#define WORK(size, statement) \
    if ((size) >= LONG_CALL) { Py_BEGIN_ALLOW_THREADS statement; Py_END_ALLOW_THREADS } else { statement; }

#endif
