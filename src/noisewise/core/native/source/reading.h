/* Reading what Python hands over: arrays where they are, straight from tuples, with every type, order and length
 * checked in every call. What is laid out in a way that the verbs do not know (strides, other types, a model of
 * somebody else's making) goes to the NumPy body of the same name; what cannot be right is refused.
 */
#ifndef NOISEWISE_READING_H
#define NOISEWISE_READING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL noisewise_arrays
#ifndef IMPORTS_ARRAYS /* one file does */
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "constants.h"
#include "verbs.h"

/* The processor's table of verbs. */
extern const Verbs *verbs;
/* The classes of the two models, and whether all verbs are to run as NumPy for now. */
extern PyObject *dense_class, *independent_class, *name_touched;
extern int numpy_only;

/* A call that touches this many numbers or more lets other threads run. */
static const int64_t LONG_CALL = 1 << 15;

/* A file's functions, by name and parameters, with the NumPy body of each. */
typedef struct {
    int size;
    const char *const *names;
    PyObject **bodies;
} Table;
#define PLACE(name, parameters) BODY_##name,
#define WORD(name, parameters) #name,
#define TABLE(NAMES) \
    enum { NAMES(PLACE) N_BODIES }; \
    static PyObject *bodies[N_BODIES]; \
    static const char *const names[] = {NAMES(WORD)};
#define FUNCTION(name, parameters) \
    {#name, (PyCFunction)(void (*)(void))call_##name, METH_FASTCALL | METH_KEYWORDS, \
     #name "($module, " parameters ")\n--\n\nThe compiled body of the verb."},

/* bindings_of_rules.c */
extern const Table table_of_rules;
extern PyMethodDef functions_of_rules[];
/* packing.c */
PyObject *packed_words(PyObject *module, PyObject *value);

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

static inline Reading refuse(const char *what, int64_t got, int64_t wanted)
{
    PyErr_Format(PyExc_ValueError, "`%s` must have %lld entries to belong to the model; got %lld.", what,
                 (long long)wanted, (long long)got);
    return WRONG;
}

/* An array of a type and of so many dimensions, in C order; and writeable where it will be written. */
static inline Reading read_array(PyObject *object, int type, int dimensions, bool written, void *at)
{
    if (!PyArray_CheckExact(object)) return ANOTHER;
    PyArrayObject *array = (PyArrayObject *)object;
    const int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | (written ? NPY_ARRAY_WRITEABLE : 0);
    if (PyArray_TYPE(array) != type || PyArray_NDIM(array) != dimensions
        || (PyArray_FLAGS(array) & wanted) != wanted || !PyArray_ISNOTSWAPPED(array))
        return ANOTHER;
    *(void **)at = PyArray_DATA(array);
    return OURS;
}

static inline Reading read_row(PyObject *object, int type, bool written, int64_t size, const char *what, void *at)
{
    const Reading read = read_array(object, type, 1, written, at);
    if (read == OURS && PyArray_DIM((PyArrayObject *)object, 0) != size)
        return refuse(what, PyArray_DIM((PyArrayObject *)object, 0), size);
    return read;
}

static inline Reading read_matrix(PyObject *object, int64_t rows, int64_t columns, const char *what, Matrix *matrix)
{
    const Reading read = read_array(object, NPY_DOUBLE, 2, true, &matrix->at);
    if (read != OURS) return read;
    const npy_intp *lengths = PyArray_DIMS((PyArrayObject *)object);
    if (lengths[0] != rows || lengths[1] != columns) return refuse(what, lengths[0] * lengths[1], rows * columns);
    matrix->rows = rows;
    matrix->columns = columns;
    return OURS;
}

static inline Reading read_columns(PyObject *object, Model *model)
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
    model->dense.columns.at = PyArray_DATA(array);
    model->dim = model->dense.columns.rows = PyArray_DIM(array, 0);
    model->n = model->dense.columns.columns = PyArray_DIM(array, 1);
    return model->n > 0 && model->dim > 0 ? OURS : ANOTHER;
}

#define MUST(reading) do { const Reading read_ = (reading); if (read_ != OURS) return read_; } while (0)
#define ROW(place, field, length) \
    do { \
        MUST(read_row(PyTuple_GET_ITEM(tuple, place), NPY_DOUBLE, true, (length), #field, &model->kind.field.at)); \
        model->kind.field.size = (length); \
    } while (0)

static inline Reading read_dense(PyObject *tuple, Model *model)
{
#define kind dense
    MUST(read_columns(PyTuple_GET_ITEM(tuple, 0), model));
    const int64_t dim = model->dim, n = model->n;
    MUST(read_matrix(PyTuple_GET_ITEM(tuple, 1), dim, dim + 1, "factor", &model->dense.factor));
    ROW(2, pivots, dim);
    ROW(3, reciprocals, dim);
    ROW(4, centre, dim);
    ROW(5, squared_widths, n);
    ROW(6, means, n);
    ROW(7, floors, n);
    ROW(8, tally, TALLIES);
    MUST(read_matrix(PyTuple_GET_ITEM(tuple, 9), dim, BATCH, "halves", &model->dense.halves));
    MUST(read_row(PyTuple_GET_ITEM(tuple, 10), NPY_INT64, true, BATCH, "batch", &model->dense.batch.at));
    model->dense.batch.size = BATCH;
    ROW(11, half, dim);
    ROW(12, step, dim);
    ROW(13, row, dim + 1);
    ROW(14, scratch, n);
    model->independent = false;
    model->means = model->dense.means.at;
    model->squared_widths = model->dense.squared_widths.at;
    model->scratch = model->dense.scratch.at;
    return OURS;
#undef kind
}

static inline Reading read_independent(PyObject *tuple, Model *model)
{
#define kind separate
    PyObject *means = PyTuple_GET_ITEM(tuple, 5);
    if (!PyArray_CheckExact(means) || PyArray_NDIM((PyArrayObject *)means) != 1) return ANOTHER;
    const int64_t n = PyArray_DIM((PyArrayObject *)means, 0);
    PyObject *touched = PyObject_GetAttr(PyTuple_GET_ITEM(tuple, 0), name_touched);
    if (!touched) return WRONG;
    const Reading read = read_array(touched, NPY_INT64, 1, false, &model->separate.touched.at);
    int64_t rows = 0;
    if (read == OURS) rows = PyArray_DIM((PyArrayObject *)touched, 0);
    const bool shared = Py_REFCNT(touched) > 1; /* the model's own, which lives as long as the model */
    Py_DECREF(touched);
    MUST(shared ? read : ANOTHER);
    model->separate.touched.size = rows;
    PyObject *border = PyTuple_GET_ITEM(tuple, 3);
    if (!PyArray_CheckExact(border) || PyArray_NDIM((PyArrayObject *)border) != 2) return ANOTHER;
    const int64_t q = PyArray_DIM((PyArrayObject *)border, 0);
    ROW(1, own, n);
    MUST(read_matrix(PyTuple_GET_ITEM(tuple, 2), rows, q, "loads", &model->separate.loads));
    MUST(read_matrix(border, q, q, "border", &model->separate.border));
    ROW(4, squared_widths, n);
    ROW(5, means, n);
    ROW(6, tally, TALLIES);
    ROW(7, scratch, n);
    for (int64_t r = 0; r < rows; r++)
        if (model->separate.touched.at[r] < 0 || model->separate.touched.at[r] >= n)
            return refuse("touched", model->separate.touched.at[r], n);
    model->independent = true;
    model->layout = BY_FEATURE;
    model->n = model->separate.n = n;
    model->dim = q;
    model->means = model->separate.means.at;
    model->squared_widths = model->separate.squared_widths.at;
    model->scratch = model->separate.scratch.at;
    return n > 0 ? OURS : ANOTHER;
#undef kind
}

static inline Reading read_model(PyObject *object, Model *model)
{
    PyObject *class = (PyObject *)Py_TYPE(object);
    if (class == dense_class && PyTuple_GET_SIZE(object) == 15) return read_dense(object, model);
    if (class == independent_class && PyTuple_GET_SIZE(object) == 8) return read_independent(object, model);
    return ANOTHER;
}

static inline Reading read_number(PyObject *object, double *number)
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

static inline Reading read_length(PyObject *object, int64_t *n)
{
    if (!PyArray_CheckExact(object) || PyArray_NDIM((PyArrayObject *)object) != 1) return ANOTHER;
    *n = PyArray_DIM((PyArrayObject *)object, 0);
    return *n > 0 ? OURS : ANOTHER;
}

static inline Reading read_values(PyObject *object, int64_t n, const char *what, double **at)
{
    return read_row(object, NPY_DOUBLE, false, n, what, at);
}

static inline Reading read_mask(PyObject *object, int64_t n, bool written, const char *what, Flag **at)
{
    return read_row(object, NPY_BOOL, written, n, what, at);
}

static inline PyObject *new_row(int64_t n, double **at)
{
    npy_intp length = n;
    PyObject *row = PyArray_SimpleNew(1, &length, NPY_DOUBLE);
    if (row) *at = PyArray_DATA((PyArrayObject *)row);
    return row;
}

static inline PyObject *new_square(int64_t dim, double **at)
{
    npy_intp lengths[2] = {dim, dim};
    PyObject *square = PyArray_SimpleNew(2, lengths, NPY_DOUBLE);
    if (square) *at = PyArray_DATA((PyArrayObject *)square);
    return square;
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
#define DENSE_ONLY(name, model) \
    if ((model).independent) return HAND_OVER(name);
/* From MANY actions on, the NumPy body spreads blocks of them over threads. */
#define FEW_ONLY(name, model) \
    if ((model).n >= (int64_t)MANY) return HAND_OVER(name);
#define SIZE(model) ((model).n * ((model).dim + 1))

#endif
