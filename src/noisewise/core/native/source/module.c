/* The verbs as Python functions.
 *
 * Each reads the arrays where they are, straight from the model's tuple, and checks type, order and lengths in
 * every call. What is laid out in a way that the verbs do not know (strides, other types, a model of somebody
 * else's making) goes to the NumPy body of the same name; what cannot be right is refused.
 */
#define IMPORTS_ARRAYS
#include "reading.h"

const Verbs *verbs = &baseline_verbs;
PyObject *dense_class, *independent_class, *name_touched;
int numpy_only;

#define NAMES(NAME) \
    NAME(fold, "model, action, reward, sigma") \
    NAME(recentre, "model") \
    NAME(refresh_all, "model") \
    NAME(set_theta, "model, estimate") \
    NAME(theta, "model") \
    NAME(squared_norm, "model") \
    NAME(distance_to, "model, parameter") \
    NAME(learn_rows, "model, gain, first, last") \
    NAME(covariance_with, "model, action") \
    NAME(contrast_widths, "model, action") \
    NAME(squared_covariances, "model, rivals, action, weights") \
    NAME(perturbed_means, "model, normals, scale") \
    NAME(spread, "model") \
    NAME(covariance, "model") \
    NAME(first_largest, "values, allowed") \
    NAME(first_largest_candidate, "values, allowed, candidates") \
    NAME(first_best, "values, squared_widths, allowed") \
    NAME(masked_argmax, "values, allowed") \
    NAME(first_near, "values, allowed, winner, tolerance") \
    NAME(most_optimistic, "model, allowed, radius") \
    NAME(drop_ruled_out, "model, candidates, radius") \
    NAME(keep_near_best, "values, candidates, slack") \
    NAME(strongest_rival, "model, leader, radius") \
    NAME(most_telling, "model, one, other, variance, allowed") \
    NAME(regret_bound, "model, candidates, action, radius") \
    NAME(likelihood_ratio, "model, action, eps") \
    NAME(smallest_bound, "model, candidates, action, radius") \
    NAME(book, "model, ledgers, noise, action, sigma") \
    NAME(closest_races, "model, sketch, candidates, leader, reach, rivals, weights") \
    NAME(most_settling, "model, sketch, rivals, leader, weights, noise, sigma, allowed") \
    NAME(seed_stream, "seed, purpose, index, state")

TABLE(NAMES)

/* ---- The functions. ---- */

static PyObject *call_fold(ARGUMENTS)
{
    Model model;
    int64_t action = 0;
    double reward = 0.0, sigma = 0.0;
    OPEN(fold, 4)
    READ(fold, read_model(args[0], &model))
    READ(fold, read_index(args[1], model.n, "action", &action))
    READ(fold, read_number(args[2], &reward))
    READ(fold, read_number(args[3], &sigma))
    if (model.independent) {
        double *room = PyMem_Malloc(sizeof(double) * (size_t)(model.dim + model.separate.touched.size + 1));
        if (!room) return PyErr_NoMemory();
        verbs->fold_independent(&model.separate, action, reward, sigma, room, room + model.dim);
        PyMem_Free(room);
        Py_RETURN_NONE;
    }
    FEW_ONLY(fold, model)
    WORK(SIZE(model), verbs->fold(&model.dense, model.layout, action, reward, sigma))
    Py_RETURN_NONE;
}

static PyObject *call_recentre(ARGUMENTS)
{
    Model model;
    OPEN(recentre, 1)
    READ(recentre, read_model(args[0], &model))
    DENSE_ONLY(recentre, model)
    FEW_ONLY(recentre, model)
    WORK(SIZE(model), verbs->recentre(&model.dense, model.layout))
    Py_RETURN_NONE;
}

static PyObject *call_refresh_all(ARGUMENTS)
{
    Model model;
    OPEN(refresh_all, 1)
    READ(refresh_all, read_model(args[0], &model))
    DENSE_ONLY(refresh_all, model)
    FEW_ONLY(refresh_all, model)
    WORK(SIZE(model), verbs->refresh_rows(&model.dense, model.layout, 0, model.n, true))
    Py_RETURN_NONE;
}

static PyObject *call_set_theta(ARGUMENTS)
{
    Model model;
    double *estimate = NULL;
    OPEN(set_theta, 2)
    READ(set_theta, read_model(args[0], &model))
    DENSE_ONLY(set_theta, model)
    FEW_ONLY(set_theta, model)
    READ(set_theta, read_values(args[1], model.dim, "estimate", &estimate))
    WORK(SIZE(model), verbs->set_theta(&model.dense, model.layout, estimate))
    Py_RETURN_NONE;
}

static PyObject *call_theta(ARGUMENTS)
{
    Model model;
    double *out = NULL;
    OPEN(theta, 1)
    READ(theta, read_model(args[0], &model))
    DENSE_ONLY(theta, model)
    PyObject *row = new_row(model.dim, &out);
    if (row) verbs->theta(&model.dense, out);
    return row;
}

static PyObject *call_squared_norm(ARGUMENTS)
{
    Model model;
    OPEN(squared_norm, 1)
    READ(squared_norm, read_model(args[0], &model))
    DENSE_ONLY(squared_norm, model)
    return PyFloat_FromDouble(verbs->squared_norm(&model.dense));
}

static PyObject *call_distance_to(ARGUMENTS)
{
    Model model;
    double *parameter = NULL;
    OPEN(distance_to, 2)
    READ(distance_to, read_model(args[0], &model))
    DENSE_ONLY(distance_to, model)
    READ(distance_to, read_values(args[1], model.dim, "parameter", &parameter))
    return PyFloat_FromDouble(verbs->distance_to(&model.dense, parameter));
}

static PyObject *call_learn_rows(ARGUMENTS)
{
    Model model;
    double gain = 0.0;
    int64_t first = 0, last = 0, worn = 0;
    OPEN(learn_rows, 4)
    READ(learn_rows, read_model(args[0], &model))
    DENSE_ONLY(learn_rows, model)
    READ(learn_rows, read_number(args[1], &gain))
    READ(learn_rows, read_index(args[2], model.n, "first", &first))
    READ(learn_rows, read_index(args[3], model.n + 1, "last", &last))
    WORK(SIZE(model), worn = verbs->learn_rows(&model.dense, model.layout, gain, first, last))
    return PyLong_FromLongLong(worn);
}

static PyObject *call_covariance_with(ARGUMENTS)
{
    Model model;
    int64_t action = 0;
    double *out = NULL;
    OPEN(covariance_with, 2)
    READ(covariance_with, read_model(args[0], &model))
    FEW_ONLY(covariance_with, model)
    READ(covariance_with, read_index(args[1], model.n, "action", &action))
    PyObject *row = new_row(model.n, &out);
    if (!row) return NULL;
    if (model.independent) {
        double *reach = PyMem_Malloc(sizeof(double) * (size_t)(model.dim + 1));
        if (!reach) { Py_DECREF(row); return PyErr_NoMemory(); }
        verbs->covariance_with_independent(&model.separate, action, reach, out);
        PyMem_Free(reach);
    } else {
        WORK(SIZE(model), verbs->covariance_with(&model.dense, model.layout, action, out))
    }
    return row;
}

static PyObject *call_contrast_widths(ARGUMENTS)
{
    Model model;
    int64_t action = 0;
    double *out = NULL;
    OPEN(contrast_widths, 2)
    READ(contrast_widths, read_model(args[0], &model))
    FEW_ONLY(contrast_widths, model)
    READ(contrast_widths, read_index(args[1], model.n, "action", &action))
    PyObject *row = new_row(model.n, &out);
    if (!row) return NULL;
    if (model.independent) {
        double *reach = PyMem_Malloc(sizeof(double) * (size_t)(model.dim + 1));
        if (!reach) { Py_DECREF(row); return PyErr_NoMemory(); }
        verbs->contrast_widths_independent(&model.separate, action, reach, out);
        PyMem_Free(reach);
    } else {
        WORK(SIZE(model), verbs->contrast_widths(&model.dense, model.layout, action, out))
    }
    return row;
}

static PyObject *call_squared_covariances(ARGUMENTS)
{
    Model model;
    int64_t action = 0, n_rivals = 0, *rivals = NULL;
    double *weights = NULL, *out = NULL;
    OPEN(squared_covariances, 4)
    READ(squared_covariances, read_model(args[0], &model))
    FEW_ONLY(squared_covariances, model)
    READ(squared_covariances, read_length(args[1], &n_rivals))
    READ(squared_covariances, read_row(args[1], NPY_INT64, false, n_rivals, "rivals", &rivals))
    READ(squared_covariances, read_index(args[2], model.n, "action", &action))
    READ(squared_covariances, read_values(args[3], n_rivals, "weights", &weights))
    for (int64_t j = 0; j < n_rivals; j++)
        if (rivals[j] < 0 || rivals[j] >= model.n) {
            PyErr_Format(PyExc_IndexError, "`rivals` must be rows from 0 to %lld; got %lld.", (long long)(model.n - 1),
                         (long long)rivals[j]);
            return NULL;
        }
    PyObject *row = new_row(model.n, &out);
    if (!row) return NULL;
    if (model.independent) {
        double *room = PyMem_Malloc(sizeof(double) * (size_t)(model.dim + 2 * model.n + 1));
        if (!room) { Py_DECREF(row); return PyErr_NoMemory(); }
        verbs->squared_covariances_independent(&model.separate, rivals, n_rivals, action, weights, room,
                                               room + model.dim, room + model.dim + model.n, out);
        PyMem_Free(room);
    } else {
        WORK(SIZE(model) * n_rivals,
             verbs->squared_covariances(&model.dense, model.layout, rivals, n_rivals, action, weights, out))
    }
    return row;
}

static PyObject *call_perturbed_means(ARGUMENTS)
{
    Model model;
    double *normals = NULL, *out = NULL, scale = 0.0;
    OPEN(perturbed_means, 3)
    READ(perturbed_means, read_model(args[0], &model))
    DENSE_ONLY(perturbed_means, model)
    FEW_ONLY(perturbed_means, model)
    READ(perturbed_means, read_values(args[1], model.dim, "normals", &normals))
    READ(perturbed_means, read_number(args[2], &scale))
    PyObject *row = new_row(model.n, &out);
    if (!row) return NULL;
    WORK(SIZE(model), verbs->perturbed_means(&model.dense, model.layout, normals, scale, out))
    return row;
}

static PyObject *call_spread(ARGUMENTS)
{
    Model model;
    double *out = NULL;
    OPEN(spread, 1)
    READ(spread, read_model(args[0], &model))
    DENSE_ONLY(spread, model)
    PyObject *square = new_square(model.dim, &out);
    if (square) verbs->spread(&model.dense, out);
    return square;
}

static PyObject *call_covariance(ARGUMENTS)
{
    Model model;
    double *out = NULL;
    OPEN(covariance, 1)
    READ(covariance, read_model(args[0], &model))
    DENSE_ONLY(covariance, model)
    PyObject *square = new_square(model.dim, &out);
    if (square) verbs->covariance(&model.dense, out);
    return square;
}

static PyObject *call_first_largest(ARGUMENTS)
{
    int64_t n = 0, found = 0;
    double *values = NULL;
    Flag *allowed = NULL;
    OPEN(first_largest, 2)
    READ(first_largest, read_length(args[0], &n))
    READ(first_largest, read_values(args[0], n, "values", &values))
    READ(first_largest, read_mask(args[1], n, false, "allowed", &allowed))
    WORK(n, found = verbs->first_largest(values, allowed, n))
    return PyLong_FromLongLong(found);
}

static PyObject *call_first_largest_candidate(ARGUMENTS)
{
    int64_t n = 0, found = 0;
    double *values = NULL;
    Flag *allowed = NULL, *candidates = NULL;
    OPEN(first_largest_candidate, 3)
    READ(first_largest_candidate, read_length(args[0], &n))
    READ(first_largest_candidate, read_values(args[0], n, "values", &values))
    READ(first_largest_candidate, read_mask(args[1], n, false, "allowed", &allowed))
    READ(first_largest_candidate, read_mask(args[2], n, false, "candidates", &candidates))
    WORK(n, found = verbs->first_largest_candidate(values, allowed, candidates, n))
    return PyLong_FromLongLong(found);
}

static PyObject *call_first_best(ARGUMENTS)
{
    int64_t n = 0, found = 0;
    double *values = NULL, *squared_widths = NULL;
    Flag *allowed = NULL;
    OPEN(first_best, 3)
    READ(first_best, read_length(args[0], &n))
    READ(first_best, read_values(args[0], n, "values", &values))
    READ(first_best, read_values(args[1], n, "squared_widths", &squared_widths))
    READ(first_best, read_mask(args[2], n, false, "allowed", &allowed))
    WORK(n, found = verbs->first_best(values, squared_widths, allowed, n))
    return PyLong_FromLongLong(found);
}

static PyObject *call_masked_argmax(ARGUMENTS)
{
    int64_t n = 0, found = 0;
    double *values = NULL;
    Flag *allowed = NULL;
    OPEN(masked_argmax, 2)
    READ(masked_argmax, read_length(args[0], &n))
    READ(masked_argmax, read_values(args[0], n, "values", &values))
    READ(masked_argmax, read_mask(args[1], n, false, "allowed", &allowed))
    WORK(n, found = verbs->masked_argmax(values, allowed, n))
    return PyLong_FromLongLong(found);
}

static PyObject *call_first_near(ARGUMENTS)
{
    int64_t n = 0, winner = 0;
    double *values = NULL, tolerance = 0.0;
    Flag *allowed = NULL;
    OPEN(first_near, 4)
    READ(first_near, read_length(args[0], &n))
    READ(first_near, read_values(args[0], n, "values", &values))
    READ(first_near, read_mask(args[1], n, false, "allowed", &allowed))
    READ(first_near, read_index(args[2], n, "winner", &winner))
    READ(first_near, read_number(args[3], &tolerance))
    return PyLong_FromLongLong(verbs->first_near(values, allowed, n, winner, tolerance));
}

static PyObject *call_most_optimistic(ARGUMENTS)
{
    Model model;
    int64_t found = 0;
    double radius = 0.0;
    Flag *allowed = NULL;
    OPEN(most_optimistic, 3)
    READ(most_optimistic, read_model(args[0], &model))
    READ(most_optimistic, read_mask(args[1], model.n, false, "allowed", &allowed))
    READ(most_optimistic, read_number(args[2], &radius))
    WORK(model.n, found = verbs->most_optimistic(model.means, model.squared_widths, model.scratch, allowed, model.n, radius))
    return PyLong_FromLongLong(found);
}

static PyObject *call_drop_ruled_out(ARGUMENTS)
{
    Model model;
    double radius = 0.0;
    Flag *candidates = NULL;
    OPEN(drop_ruled_out, 3)
    READ(drop_ruled_out, read_model(args[0], &model))
    READ(drop_ruled_out, read_mask(args[1], model.n, true, "candidates", &candidates))
    READ(drop_ruled_out, read_number(args[2], &radius))
    WORK(model.n, verbs->drop_ruled_out(model.means, model.squared_widths, model.scratch, candidates, model.n, radius))
    Py_RETURN_NONE;
}

static PyObject *call_keep_near_best(ARGUMENTS)
{
    int64_t n = 0;
    double *values = NULL, slack = 0.0;
    Flag *candidates = NULL;
    OPEN(keep_near_best, 3)
    READ(keep_near_best, read_length(args[0], &n))
    READ(keep_near_best, read_values(args[0], n, "values", &values))
    READ(keep_near_best, read_mask(args[1], n, true, "candidates", &candidates))
    READ(keep_near_best, read_number(args[2], &slack))
    verbs->keep_near_best(values, candidates, n, slack);
    Py_RETURN_NONE;
}

static PyObject *call_strongest_rival(ARGUMENTS)
{
    Model model;
    int64_t leader = 0, found = 0;
    double radius = 0.0;
    OPEN(strongest_rival, 3)
    READ(strongest_rival, read_model(args[0], &model))
    DENSE_ONLY(strongest_rival, model)
    FEW_ONLY(strongest_rival, model)
    READ(strongest_rival, read_index(args[1], model.n, "leader", &leader))
    READ(strongest_rival, read_number(args[2], &radius))
    WORK(SIZE(model), found = verbs->strongest_rival(&model.dense, model.layout, leader, radius))
    return PyLong_FromLongLong(found);
}

static PyObject *call_most_telling(ARGUMENTS)
{
    Model model;
    int64_t one = 0, other = 0, found = 0;
    double variance = 0.0;
    Flag *allowed = NULL;
    OPEN(most_telling, 5)
    READ(most_telling, read_model(args[0], &model))
    DENSE_ONLY(most_telling, model)
    FEW_ONLY(most_telling, model)
    READ(most_telling, read_index(args[1], model.n, "one", &one))
    READ(most_telling, read_index(args[2], model.n, "other", &other))
    READ(most_telling, read_number(args[3], &variance))
    READ(most_telling, read_mask(args[4], model.n, false, "allowed", &allowed))
    WORK(SIZE(model), found = verbs->most_telling(&model.dense, model.layout, one, other, variance, allowed))
    return PyLong_FromLongLong(found);
}

static PyObject *call_regret_bound(ARGUMENTS)
{
    Model model;
    int64_t action = 0;
    double radius = 0.0, bound = 0.0;
    Flag *candidates = NULL;
    OPEN(regret_bound, 4)
    READ(regret_bound, read_model(args[0], &model))
    DENSE_ONLY(regret_bound, model)
    FEW_ONLY(regret_bound, model)
    READ(regret_bound, read_mask(args[1], model.n, false, "candidates", &candidates))
    READ(regret_bound, read_index(args[2], model.n, "action", &action))
    READ(regret_bound, read_number(args[3], &radius))
    WORK(SIZE(model), bound = verbs->regret_bound(&model.dense, model.layout, candidates, action, radius))
    return PyFloat_FromDouble(bound);
}

static PyObject *call_likelihood_ratio(ARGUMENTS)
{
    Model model;
    int64_t action = 0;
    double eps = 0.0, ratio = 0.0;
    OPEN(likelihood_ratio, 3)
    READ(likelihood_ratio, read_model(args[0], &model))
    DENSE_ONLY(likelihood_ratio, model)
    FEW_ONLY(likelihood_ratio, model)
    READ(likelihood_ratio, read_index(args[1], model.n, "action", &action))
    READ(likelihood_ratio, read_number(args[2], &eps))
    WORK(SIZE(model), ratio = verbs->likelihood_ratio(&model.dense, model.layout, action, eps))
    return PyFloat_FromDouble(ratio);
}

static PyObject *call_smallest_bound(ARGUMENTS)
{
    Model model;
    int64_t action = 0, found = 0;
    double radius = 0.0, *floors;
    Flag *candidates = NULL;
    OPEN(smallest_bound, 4)
    READ(smallest_bound, read_model(args[0], &model))
    DENSE_ONLY(smallest_bound, model)
    FEW_ONLY(smallest_bound, model)
    READ(smallest_bound, read_mask(args[1], model.n, false, "candidates", &candidates))
    READ(smallest_bound, read_index(args[2], model.n, "action", &action))
    READ(smallest_bound, read_number(args[3], &radius))
    floors = PyMem_Malloc(sizeof(double) * (size_t)model.n);
    if (!floors) return PyErr_NoMemory();
    WORK(SIZE(model), found = verbs->smallest_bound(&model.dense, model.layout, candidates, action, radius, floors))
    PyMem_Free(floors);
    return PyLong_FromLongLong(found);
}

/* ---- VAGE's own. ---- */

static Reading read_noise(PyObject *tuple, int64_t n, NoiseHistory *noise)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != 5) return ANOTHER;
    Floats *fields[] = {&noise->counts, &noise->residuals, &noise->precisions, &noise->relative, &noise->tally};
    for (int place = 0; place < 5; place++) {
        fields[place]->size = place < 4 ? n : 8;
        MUST(read_row(PyTuple_GET_ITEM(tuple, place), NPY_DOUBLE, true, fields[place]->size, "noise",
                      &fields[place]->at));
    }
    return OURS;
}

static Reading read_sketch(PyObject *tuple, const Model *model, Sketch *sketch)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != 3) return ANOTHER;
    MUST(read_array(PyTuple_GET_ITEM(tuple, 0), NPY_INT8, 3, false, &sketch->codes.at));
    const npy_intp *lengths = PyArray_DIMS((PyArrayObject *)PyTuple_GET_ITEM(tuple, 0));
    sketch->codes.blocks = lengths[0];
    if (lengths[0] == 0) return OURS;
    sketch->codes.rows = lengths[1];
    sketch->codes.columns = lengths[2];
    sketch->centre.size = model->dim;
    if (lengths[0] * TILE < model->n || lengths[1] != model->dim || lengths[2] != TILE)
        return refuse("sketch", lengths[0] * lengths[1] * lengths[2], model->n * model->dim);
    MUST(read_matrix(PyTuple_GET_ITEM(tuple, 1), model->dim, model->dim, "axes", &sketch->axes));
    return read_values(PyTuple_GET_ITEM(tuple, 2), model->dim, "centre", &sketch->centre.at);
}

/* The rivals in the races that count are rows. */
static Reading read_rivals(PyObject *object, const double *weights, int64_t n, int64_t **rivals)
{
    MUST(read_row(object, NPY_INT64, false, RACES, "rivals", rivals));
    for (int64_t j = 0; j < RACES && weights[j] > 0.0; j++)
        if ((*rivals)[j] < 0 || (*rivals)[j] >= n) {
            PyErr_Format(PyExc_IndexError, "`rivals` must be rows from 0 to %lld; got %lld.", (long long)(n - 1),
                         (long long)(*rivals)[j]);
            return WRONG;
        }
    return OURS;
}

static PyObject *call_book(ARGUMENTS)
{
    Model model;
    NoiseHistory noise;
    int64_t action = 0;
    double *ledgers = NULL, sigma = 0.0;
    OPEN(book, 5)
    READ(book, read_model(args[0], &model))
    READ(book, read_row(args[1], NPY_DOUBLE, true, 5, "ledgers", &ledgers))
    READ(book, read_noise(args[2], model.n, &noise))
    READ(book, read_index(args[3], model.n, "action", &action))
    READ(book, read_number(args[4], &sigma))
    WORK(model.n, verbs->book(model.squared_widths, model.n, ledgers, &noise, action, sigma))
    Py_RETURN_NONE;
}

static PyObject *call_closest_races(ARGUMENTS)
{
    Model model;
    Sketch sketch;
    Flag *candidates = NULL;
    int64_t leader = 0, *rivals = NULL;
    double reach = 0.0, *weights = NULL;
    OPEN(closest_races, 7)
    READ(closest_races, read_model(args[0], &model))
    READ(closest_races, read_sketch(args[1], &model, &sketch))
    READ(closest_races, read_mask(args[2], model.n, false, "candidates", &candidates))
    READ(closest_races, read_index(args[3], model.n, "leader", &leader))
    READ(closest_races, read_number(args[4], &reach))
    READ(closest_races, read_row(args[5], NPY_INT64, true, RACES, "rivals", &rivals))
    READ(closest_races, read_row(args[6], NPY_DOUBLE, true, RACES, "weights", &weights))
    if (model.independent) {
        double *room = PyMem_Malloc(sizeof(double) * (size_t)(model.dim + 1));
        if (!room) return PyErr_NoMemory();
        verbs->contrast_widths_independent(&model.separate, leader, room, model.scratch);
        PyMem_Free(room);
        verbs->races_by_widths(model.means, model.squared_widths, model.scratch, candidates, model.n, leader, reach,
                               rivals, weights);
    } else {
        WORK(SIZE(model), verbs->closest_races(&model.dense, model.layout, &sketch, candidates, leader, reach, rivals,
                                               weights))
    }
    Py_RETURN_NONE;
}

static PyObject *call_most_settling(ARGUMENTS)
{
    Model model;
    Sketch sketch;
    NoiseHistory noise;
    Flag *allowed = NULL;
    int64_t leader = 0, found = 0, *rivals = NULL, races = 0;
    double sigma = 0.0, *weights = NULL;
    OPEN(most_settling, 8)
    READ(most_settling, read_model(args[0], &model))
    READ(most_settling, read_sketch(args[1], &model, &sketch))
    READ(most_settling, read_values(args[4], RACES, "weights", &weights))
    READ(most_settling, read_rivals(args[2], weights, model.n, &rivals))
    READ(most_settling, read_index(args[3], model.n, "leader", &leader))
    READ(most_settling, read_noise(args[5], model.n, &noise))
    READ(most_settling, read_number(args[6], &sigma))
    READ(most_settling, read_mask(args[7], model.n, false, "allowed", &allowed))
    if (model.independent) {
        while (races < RACES && weights[races] > 0.0) races++;
        double *room = PyMem_Malloc(sizeof(double) * (size_t)(model.dim + 2 * model.n + 1));
        if (!room) return PyErr_NoMemory();
        verbs->squared_covariances_independent(&model.separate, rivals, races, leader, weights, room,
                                               room + model.dim, room + model.dim + model.n, model.scratch);
        PyMem_Free(room);
        found = verbs->most_settling_by_squares(model.scratch, model.squared_widths, model.n, &noise, sigma, allowed);
    } else {
        WORK(SIZE(model), found = verbs->most_settling(&model.dense, model.layout, &sketch, rivals, leader, weights,
                                                       &noise, sigma, allowed))
    }
    return PyLong_FromLongLong(found);
}

static Reading read_word(PyObject *object, uint32_t *word)
{
    const unsigned long long number = PyLong_Check(object) ? PyLong_AsUnsignedLongLong(object) : UINT64_MAX;
    if (PyErr_Occurred()) PyErr_Clear(); /* below 0, or longer still */
    *word = (uint32_t)number;
    return number <= UINT32_MAX ? OURS : ANOTHER;
}

static PyObject *call_seed_stream(ARGUMENTS)
{
    uint32_t seed = 0, purpose = 0, index = 0;
    uint64_t *state = NULL;
    OPEN(seed_stream, 4)
    READ(seed_stream, read_word(args[0], &seed))
    READ(seed_stream, read_word(args[1], &purpose))
    READ(seed_stream, read_word(args[2], &index))
    READ(seed_stream, read_row(args[3], NPY_UINT64, true, 4, "state", &state))
    verbs->seed_stream(seed, purpose, index, state);
    Py_RETURN_NONE;
}

/* ---- What `noisewise.core.native.verbs` sets up. ---- */

static PyObject *set_body(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const char *name;
    PyObject *body;
    if (!PyArg_ParseTuple(arguments, "sO", &name, &body)) return NULL;
    const Table tables[] = {{N_BODIES, names, bodies}, table_of_rules};
    for (int t = 0; t < 2; t++)
        for (int place = 0; place < tables[t].size; place++)
            if (!strcmp(tables[t].names[place], name)) {
                Py_INCREF(body);
                Py_XSETREF(tables[t].bodies[place], body);
                Py_RETURN_NONE;
            }
    return PyErr_Format(PyExc_ValueError, "There is no verb %s in C.", name);
}

static PyObject *set_models(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *dense, *independent;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyType_Type, &dense, &PyType_Type, &independent)) return NULL;
    Py_INCREF(dense);
    Py_XSETREF(dense_class, dense);
    Py_INCREF(independent);
    Py_XSETREF(independent_class, independent);
    Py_RETURN_NONE;
}

static PyObject *use_numpy(PyObject *Py_UNUSED(module), PyObject *wanted)
{
    const int before = numpy_only, now = PyObject_IsTrue(wanted);
    if (now < 0) return NULL;
    numpy_only = now;
    return PyBool_FromLong(before);
}

static PyObject *addresses(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    PyObject *found = PyDict_New();
    if (!found) return NULL;
#define ADDRESS(result, name, parameters) \
    { \
        PyObject *address = PyLong_FromVoidPtr((void *)verbs->name); \
        if (!address || PyDict_SetItemString(found, #name, address) < 0) { \
            Py_XDECREF(address); \
            Py_DECREF(found); \
            return NULL; \
        } \
        Py_DECREF(address); \
    }
    VERBS(ADDRESS)
    return found;
}

static PyObject *constants(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
#define FORMAT(name, value) "s:d,"
#define VALUE(name, value) , #name, name
    return Py_BuildValue("{" CONSTANTS(FORMAT) "s:i,s:i,s:i,s:i}" CONSTANTS(VALUE), "BATCH", BATCH, "TALLIES", TALLIES,
                         "RACES", RACES, "TILE", TILE);
}

static PyMethodDef functions[] = {
    NAMES(FUNCTION)
    {"set_body", set_body, METH_VARARGS, "Say what runs in place of a verb where C does not know the layout."},
    {"set_models", set_models, METH_VARARGS, "Say what the two classes of models are."},
    {"use_numpy", use_numpy, METH_O, "Whether all verbs are to run as NumPy from now on; returns what was before."},
    {"packed_words", packed_words, METH_O, "What the type of a NamedTuple depends on, its words, their address."},
    {"addresses", addresses, METH_NOARGS, "Where the verbs of verbs.h are, by name, for compiled loops."},
    {"constants", constants, METH_NOARGS, "The numbers that the NumPy bodies must agree on, by name."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_verbs", "The verbs of the model and of choice, compiled.", -1, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__verbs(void)
{
    import_array();
    name_touched = PyUnicode_InternFromString("touched");
    if (!name_touched) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    const char *instructions = "baseline";
#ifdef HAS_AVX2_VERBS
    const char *asked = getenv("NOISEWISE_VERBS");
    __builtin_cpu_init();
    if (!(asked && !strcmp(asked, "baseline")) && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        verbs = &avx2_verbs;
        instructions = "avx2";
    }
#endif
    if (PyModule_AddFunctions(module, functions_of_rules) < 0
        || PyModule_AddStringConstant(module, "instructions", instructions) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
