/* The verbs of single rules and sets as Python functions; those of the model and of choice are in module.c. */
#include "reading.h"

#define NAMES(NAME) \
    NAME(remember, "history, model, action, reward, scale, tau") \
    NAME(fit_huber, "history, model, ridge, bound") \
    NAME(move, "curvature, model, action, reward, scale, tau, bound") \
    NAME(stay_in_ball, "curvature, model, bound") \
    NAME(deal, "blocks, model, action, reward, sigma") \
    NAME(centre_of, "blocks, model") \
    NAME(certified_contrast, "blocks, model, candidates, action, reach") \
    NAME(covering_radius, "blocks, model, reach") \
    NAME(inverse_of_moment, "model, shares") \
    NAME(costs_of_rivals, "model, inverse, leader") \
    NAME(shifts_towards, "model, inverse, leader, rival") \
    NAME(payoffs_of, "model, inverse, costs, leader, rivals") \
    NAME(closest_rival, "costs") \
    NAME(rivals_within, "costs, slack, rows") \
    NAME(hardness, "model, eps") \
    NAME(best_of_others, "upper") \
    NAME(first_unseen, "given, allowed") \
    NAME(write_mixture, "gap, gain, allowed, out") \
    NAME(hedged, "losses, doubt") \
    NAME(mixability_gap, "shares, losses, gains, doubt") \
    NAME(write_contrasts, "shape, theta, covariance, radius, origin, out") \
    NAME(solve_game, "payoffs, shares")

TABLE(NAMES)

/* ---- Reading tuples: each field is checked, so whatever has so many fields of such lengths will do. ---- */

static Reading read_tuple(PyObject *object, int size)
{
    return PyTuple_Check(object) && PyTuple_GET_SIZE(object) == size ? OURS : ANOTHER;
}

static Reading read_floats(PyObject *object, int64_t size, const char *what, Floats *floats)
{
    floats->size = size;
    return read_row(object, NPY_DOUBLE, true, size, what, &floats->at);
}

static Reading read_ints(PyObject *object, int64_t size, const char *what, Ints *ints)
{
    ints->size = size;
    return read_row(object, NPY_INT64, true, size, what, &ints->at);
}

/* A matrix that is only read, of any lengths. */
static Reading read_table(PyObject *object, Matrix *table)
{
    MUST(read_array(object, NPY_DOUBLE, 2, false, &table->at));
    table->rows = PyArray_DIM((PyArrayObject *)object, 0);
    table->columns = PyArray_DIM((PyArrayObject *)object, 1);
    return OURS;
}

static Reading read_square(PyObject *object, int64_t dim, const char *what, double **at)
{
    Matrix table;
    MUST(read_table(object, &table));
    if (table.rows != dim || table.columns != dim) return refuse(what, table.rows * table.columns, dim * dim);
    *at = table.at;
    return OURS;
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

/* A model of vectors: others are for NumPy. */
static Reading read_vectors(PyObject *object, Model *model)
{
    MUST(read_model(object, model));
    return model->independent ? ANOTHER : OURS;
}

static Reading read_history(PyObject *tuple, const Model *model, History *history)
{
    int64_t room = 0, slots = 0;
    MUST(read_tuple(tuple, 12));
#define FIELD(place) PyTuple_GET_ITEM(tuple, place)
    MUST(read_length(FIELD(0), &room));
    MUST(read_floats(FIELD(0), room, "rewards", &history->rewards));
    MUST(read_floats(FIELD(1), room, "scales", &history->scales));
    MUST(read_floats(FIELD(2), room, "taus", &history->taus));
    MUST(read_ints(FIELD(3), room, "slots", &history->slots));
    MUST(read_length(FIELD(8), &slots));
    MUST(read_matrix(FIELD(4), slots, model->dim, "vectors", &history->vectors));
    MUST(read_ints(FIELD(5), model->n, "slot_of", &history->slot_of));
    MUST(read_ints(FIELD(6), 2, "filled", &history->filled));
    MUST(read_floats(FIELD(7), 1, "multiplier", &history->multiplier));
    MUST(read_floats(FIELD(8), slots, "curvature", &history->curvature));
    MUST(read_floats(FIELD(9), slots, "influence", &history->influence));
    MUST(read_matrix(FIELD(10), slots, model->dim, "rows", &history->rows));
    MUST(read_floats(FIELD(11), BALL_ROOM(model->dim) + slots, "room", &history->room));
    const int64_t told = history->filled.at[0], used = history->filled.at[1];
    if (told < 0 || told > room) return refuse("filled", told, room);
    if (used < 0 || used > slots) return refuse("filled", used, slots);
    return OURS;
}

static Reading read_curvature(PyObject *tuple, const Model *model, Curvature *curvature)
{
    MUST(read_tuple(tuple, 6));
    MUST(read_matrix(FIELD(0), model->dim, model->dim + 1, "factor", &curvature->factor));
    MUST(read_floats(FIELD(1), model->dim, "pivots", &curvature->pivots));
    MUST(read_floats(FIELD(2), model->dim, "reciprocals", &curvature->reciprocals));
    MUST(read_floats(FIELD(3), FEW_TALLIES, "tally", &curvature->tally));
    MUST(read_floats(FIELD(4), model->dim, "theta", &curvature->theta));
    return read_floats(FIELD(5), BALL_ROOM(model->dim), "room", &curvature->room);
}

static Reading read_blocks(PyObject *tuple, const Model *model, Blocks *blocks)
{
    const int64_t dim = model->dim;
    MUST(read_tuple(tuple, 6));
    MUST(read_array(FIELD(0), NPY_DOUBLE, 3, true, &blocks->factor.at));
    const npy_intp *lengths = PyArray_DIMS((PyArrayObject *)FIELD(0));
    const int64_t k = lengths[0];
    if (lengths[1] != dim || lengths[2] != dim + 1) return refuse("factor", lengths[1] * lengths[2], dim * (dim + 1));
    MUST(read_matrix(FIELD(1), k, dim, "pivots", &blocks->pivots));
    MUST(read_matrix(FIELD(2), k, dim, "reciprocals", &blocks->reciprocals));
    MUST(read_matrix(FIELD(3), k, FEW_TALLIES, "tally", &blocks->tally));
    MUST(read_matrix(FIELD(4), k, dim, "thetas", &blocks->thetas));
    MUST(read_floats(FIELD(5), MEDIAN_ROOM(k, dim), "room", &blocks->room));
    return k > 0 ? OURS : ANOTHER;
}

static Reading read_vertices(PyObject *tuple, Vertices *shape)
{
    MUST(read_tuple(tuple, 3));
    MUST(read_table(FIELD(0), &shape->left));
    MUST(read_table(FIELD(1), &shape->right));
    const int gray = PyObject_IsTrue(FIELD(2));
    if (gray < 0) return WRONG;
    shape->gray = gray;
    if (!shape->left.rows || !shape->right.rows) return ANOTHER;
    /* Corners in the order of binary numbers are as many as there are numbers. */
    if (gray && (shape->right.columns > 40 || shape->right.rows != (int64_t)1 << shape->right.columns)) return ANOTHER;
    return OURS;
#undef FIELD
}

/* ---- The functions. ---- */

static PyObject *call_remember(ARGUMENTS)
{
    Model model;
    History history;
    int64_t action = 0;
    double reward = 0.0, scale = 0.0, tau = 0.0;
    OPEN(remember, 6)
    READ(remember, read_vectors(args[1], &model))
    READ(remember, read_history(args[0], &model, &history))
    READ(remember, read_index(args[2], model.n, "action", &action))
    READ(remember, read_number(args[3], &reward))
    READ(remember, read_number(args[4], &scale))
    READ(remember, read_number(args[5], &tau))
    const int64_t slot = history.slot_of.at[action];
    const bool fresh = slot < 0 || model.n == 1;
    if (history.filled.at[0] == history.rewards.size || (fresh ? history.filled.at[1] : slot) >= history.vectors.rows)
        return PyErr_Format(PyExc_IndexError, "`history` must have room for a measurement; it is full.");
    verbs->remember(&history, &model.dense, model.layout, action, reward, scale, tau);
    Py_RETURN_NONE;
}

/* Whether every measurement's slot is one that is used. */
static Reading check_slots(const History *history)
{
    const int64_t used = history->filled.at[1];
    int64_t strange = 0;
    for (int64_t t = 0; t < history->filled.at[0]; t++)
        strange += history->slots.at[t] < 0 || history->slots.at[t] >= used;
    return strange ? refuse("slots", used, history->filled.at[0]) : OURS;
}

static PyObject *call_fit_huber(ARGUMENTS)
{
    Model model;
    History history;
    double ridge = 0.0, bound = 0.0, *out = NULL;
    OPEN(fit_huber, 4)
    READ(fit_huber, read_vectors(args[1], &model))
    READ(fit_huber, read_history(args[0], &model, &history))
    READ(fit_huber, history.filled.at[0] > 0 ? check_slots(&history) : ANOTHER)
    READ(fit_huber, read_number(args[2], &ridge))
    READ(fit_huber, read_number(args[3], &bound))
    PyObject *row = new_row(model.dim, &out);
    if (!row) return NULL;
    WORK(4 * history.filled.at[0] + 4 * history.filled.at[1] * model.dim * model.dim,
         verbs->fit_huber(&history, &model.dense, ridge, bound, out))
    return row;
}

static PyObject *call_move(ARGUMENTS)
{
    Model model;
    Curvature curvature;
    int64_t action = 0;
    double reward = 0.0, scale = 0.0, tau = 0.0, bound = 0.0;
    OPEN(move, 7)
    READ(move, read_vectors(args[1], &model))
    READ(move, read_curvature(args[0], &model, &curvature))
    READ(move, read_index(args[2], model.n, "action", &action))
    READ(move, read_number(args[3], &reward))
    READ(move, read_number(args[4], &scale))
    READ(move, read_number(args[5], &tau))
    READ(move, read_number(args[6], &bound))
    verbs->move(&curvature, &model.dense, model.layout, action, reward, scale, tau, bound);
    Py_RETURN_NONE;
}

static PyObject *call_stay_in_ball(ARGUMENTS)
{
    Model model;
    Curvature curvature;
    double bound = 0.0;
    OPEN(stay_in_ball, 3)
    READ(stay_in_ball, read_vectors(args[1], &model))
    FEW_ONLY(stay_in_ball, model)
    READ(stay_in_ball, read_curvature(args[0], &model, &curvature))
    READ(stay_in_ball, read_number(args[2], &bound))
    WORK(SIZE(model), verbs->stay_in_ball(&curvature, &model.dense, model.layout, bound))
    Py_RETURN_NONE;
}

static PyObject *call_deal(ARGUMENTS)
{
    Model model;
    Blocks blocks;
    int64_t action = 0;
    double reward = 0.0, sigma = 0.0;
    OPEN(deal, 5)
    READ(deal, read_vectors(args[1], &model))
    READ(deal, read_blocks(args[0], &model, &blocks))
    READ(deal, read_index(args[2], model.n, "action", &action))
    READ(deal, read_number(args[3], &reward))
    READ(deal, read_number(args[4], &sigma))
    WORK(blocks.thetas.rows * model.dim * model.dim,
         verbs->deal(&blocks, &model.dense, model.layout, action, reward, sigma))
    Py_RETURN_NONE;
}

static PyObject *call_centre_of(ARGUMENTS)
{
    Model model;
    Blocks blocks;
    double *out = NULL;
    OPEN(centre_of, 2)
    READ(centre_of, read_vectors(args[1], &model))
    READ(centre_of, read_blocks(args[0], &model, &blocks))
    PyObject *row = new_row(model.dim, &out);
    if (!row) return NULL;
    WORK(20 * blocks.thetas.rows * model.dim, verbs->centre_of(&blocks, &model.dense, out))
    return row;
}

static PyObject *call_certified_contrast(ARGUMENTS)
{
    Model model;
    Blocks blocks;
    Flag *candidates = NULL;
    int64_t action = 0;
    double reach = 0.0, bound = 0.0;
    OPEN(certified_contrast, 5)
    READ(certified_contrast, read_vectors(args[1], &model))
    READ(certified_contrast, read_blocks(args[0], &model, &blocks))
    READ(certified_contrast, read_mask(args[2], model.n, false, "candidates", &candidates))
    READ(certified_contrast, read_index(args[3], model.n, "action", &action))
    READ(certified_contrast, read_number(args[4], &reach))
    WORK(SIZE(model) * blocks.thetas.rows,
         bound = verbs->certified_contrast(&blocks, &model.dense, model.layout, candidates, action, reach))
    return PyFloat_FromDouble(bound);
}

static PyObject *call_covering_radius(ARGUMENTS)
{
    Model model;
    Blocks blocks;
    double reach = 0.0, radius = 0.0;
    OPEN(covering_radius, 3)
    READ(covering_radius, read_vectors(args[1], &model))
    READ(covering_radius, read_blocks(args[0], &model, &blocks))
    READ(covering_radius, read_number(args[2], &reach))
    WORK(SIZE(model) * blocks.thetas.rows,
         radius = verbs->covering_radius(&blocks, &model.dense, model.layout, reach))
    return PyFloat_FromDouble(radius);
}

static PyObject *call_inverse_of_moment(ARGUMENTS)
{
    Model model;
    double *shares = NULL, *out = NULL;
    OPEN(inverse_of_moment, 2)
    READ(inverse_of_moment, read_vectors(args[0], &model))
    READ(inverse_of_moment, read_values(args[1], model.n, "shares", &shares))
    double *lower = PyMem_Malloc(sizeof(double) * (size_t)(model.dim * model.dim));
    if (!lower) return PyErr_NoMemory();
    PyObject *square = new_square(model.dim, &out);
    if (square) {
        WORK(SIZE(model) * model.dim, verbs->inverse_of_moment(&model.dense, model.layout, shares, lower, out))
    }
    PyMem_Free(lower);
    return square;
}

static PyObject *call_costs_of_rivals(ARGUMENTS)
{
    Model model;
    int64_t leader = 0;
    double *inverse = NULL, *out = NULL;
    OPEN(costs_of_rivals, 3)
    READ(costs_of_rivals, read_vectors(args[0], &model))
    READ(costs_of_rivals, read_square(args[1], model.dim, "inverse", &inverse))
    READ(costs_of_rivals, read_index(args[2], model.n, "leader", &leader))
    PyObject *row = new_row(model.n, &out);
    if (!row) return NULL;
    WORK(SIZE(model) * model.dim, verbs->costs_of_rivals(&model.dense, model.layout, inverse, leader, out))
    return row;
}

static PyObject *call_shifts_towards(ARGUMENTS)
{
    Model model;
    int64_t leader = 0, rival = 0;
    double *inverse = NULL, *out = NULL;
    OPEN(shifts_towards, 4)
    READ(shifts_towards, read_vectors(args[0], &model))
    READ(shifts_towards, read_square(args[1], model.dim, "inverse", &inverse))
    READ(shifts_towards, read_index(args[2], model.n, "leader", &leader))
    READ(shifts_towards, read_index(args[3], model.n, "rival", &rival))
    PyObject *row = new_row(model.n, &out);
    if (!row) return NULL;
    WORK(SIZE(model), verbs->shifts_towards(&model.dense, model.layout, inverse, leader, rival, out))
    return row;
}

static PyObject *call_payoffs_of(ARGUMENTS)
{
    Model model;
    int64_t leader = 0, n_rivals = 0, *rivals = NULL;
    double *inverse = NULL, *costs = NULL;
    OPEN(payoffs_of, 5)
    READ(payoffs_of, read_vectors(args[0], &model))
    READ(payoffs_of, read_square(args[1], model.dim, "inverse", &inverse))
    READ(payoffs_of, read_values(args[2], model.n, "costs", &costs))
    READ(payoffs_of, read_index(args[3], model.n, "leader", &leader))
    READ(payoffs_of, read_length(args[4], &n_rivals))
    READ(payoffs_of, read_row(args[4], NPY_INT64, false, n_rivals, "rivals", &rivals))
    READ(payoffs_of, check_rows(rivals, n_rivals, model.n, "rivals"))
    npy_intp lengths[2] = {n_rivals, model.n};
    PyObject *made = PyArray_SimpleNew(2, lengths, NPY_DOUBLE);
    if (!made) return NULL;
    WORK(SIZE(model) * n_rivals, verbs->payoffs_of(&model.dense, model.layout, inverse, costs, leader, rivals,
                                                   n_rivals, PyArray_DATA((PyArrayObject *)made)))
    return made;
}

static PyObject *call_closest_rival(ARGUMENTS)
{
    int64_t n = 0;
    double *costs = NULL;
    OPEN(closest_rival, 1)
    READ(closest_rival, read_length(args[0], &n))
    READ(closest_rival, read_values(args[0], n, "costs", &costs))
    return PyLong_FromLongLong(verbs->closest_rival(costs, n));
}

static PyObject *call_rivals_within(ARGUMENTS)
{
    int64_t n = 0, *rows = NULL;
    double *costs = NULL, slack = 0.0;
    OPEN(rivals_within, 3)
    READ(rivals_within, read_length(args[0], &n))
    READ(rivals_within, read_values(args[0], n, "costs", &costs))
    READ(rivals_within, read_number(args[1], &slack))
    READ(rivals_within, read_row(args[2], NPY_INT64, true, n, "rows", &rows))
    return PyLong_FromLongLong(verbs->rivals_within(costs, n, slack, rows));
}

static PyObject *call_hardness(ARGUMENTS)
{
    Model model;
    double eps = 0.0, found = 0.0;
    OPEN(hardness, 2)
    READ(hardness, read_model(args[0], &model))
    READ(hardness, read_number(args[1], &eps))
    WORK(model.n, found = verbs->hardness(model.means, model.squared_widths, model.scratch, model.n, eps))
    return PyFloat_FromDouble(found);
}

static PyObject *call_best_of_others(ARGUMENTS)
{
    int64_t n = 0;
    double *upper = NULL, *out = NULL;
    OPEN(best_of_others, 1)
    READ(best_of_others, read_length(args[0], &n))
    READ(best_of_others, read_values(args[0], n, "upper", &upper))
    PyObject *row = new_row(n, &out);
    if (row) verbs->best_of_others(upper, n, out);
    return row;
}

static PyObject *call_first_unseen(ARGUMENTS)
{
    int64_t n = 0;
    double *given = NULL;
    Flag *allowed = NULL;
    OPEN(first_unseen, 2)
    READ(first_unseen, read_length(args[0], &n))
    READ(first_unseen, read_values(args[0], n, "given", &given))
    READ(first_unseen, read_mask(args[1], n, false, "allowed", &allowed))
    return PyLong_FromLongLong(verbs->first_unseen(given, allowed, n));
}

static PyObject *call_write_mixture(ARGUMENTS)
{
    int64_t n = 0;
    double *gap = NULL, *gain = NULL, *out = NULL;
    Flag *allowed = NULL;
    OPEN(write_mixture, 4)
    READ(write_mixture, read_length(args[0], &n))
    READ(write_mixture, read_values(args[0], n, "gap", &gap))
    READ(write_mixture, read_values(args[1], n, "gain", &gain))
    READ(write_mixture, read_mask(args[2], n, false, "allowed", &allowed))
    READ(write_mixture, read_row(args[3], NPY_DOUBLE, true, 3, "out", &out))
    double *scratch = PyMem_Malloc(sizeof(double) * (size_t)n);
    if (!scratch) return PyErr_NoMemory();
    WORK(n, verbs->write_mixture(gap, gain, allowed, n, scratch, out))
    PyMem_Free(scratch);
    Py_RETURN_NONE;
}

static PyObject *call_hedged(ARGUMENTS)
{
    int64_t n = 0;
    double *losses = NULL, *out = NULL, doubt = 0.0;
    OPEN(hedged, 2)
    READ(hedged, read_length(args[0], &n))
    READ(hedged, read_values(args[0], n, "losses", &losses))
    READ(hedged, read_number(args[1], &doubt))
    PyObject *row = new_row(n, &out);
    if (row) verbs->hedged(losses, n, doubt, out);
    return row;
}

static PyObject *call_mixability_gap(ARGUMENTS)
{
    int64_t n = 0;
    double *shares = NULL, *losses = NULL, *gains = NULL, doubt = 0.0;
    OPEN(mixability_gap, 4)
    READ(mixability_gap, read_length(args[1], &n))
    READ(mixability_gap, read_values(args[0], n, "shares", &shares))
    READ(mixability_gap, read_values(args[1], n, "losses", &losses))
    READ(mixability_gap, read_values(args[2], n, "gains", &gains))
    READ(mixability_gap, read_number(args[3], &doubt))
    return PyFloat_FromDouble(verbs->mixability_gap(shares, losses, gains, n, doubt));
}

static PyObject *call_write_contrasts(ARGUMENTS)
{
    Vertices shape;
    double *theta = NULL, *covariance = NULL, *origin = NULL, *out = NULL, radius = 0.0;
    OPEN(write_contrasts, 6)
    READ(write_contrasts, read_vertices(args[0], &shape))
    const int64_t dim = shape.left.columns + shape.right.columns, n = shape.left.rows * shape.right.rows;
    READ(write_contrasts, read_values(args[1], dim, "theta", &theta))
    READ(write_contrasts, read_square(args[2], dim, "covariance", &covariance))
    READ(write_contrasts, read_number(args[3], &radius))
    READ(write_contrasts, read_values(args[4], dim, "origin", &origin))
    READ(write_contrasts, read_row(args[5], NPY_DOUBLE, true, n, "out", &out))
    double *room = PyMem_Malloc(sizeof(double) * (size_t)(2 * shape.right.rows + dim + 1));
    if (!room) return PyErr_NoMemory();
    WORK(n, verbs->write_contrasts(&shape, theta, covariance, radius, origin, room, room + shape.right.rows,
                                   room + 2 * shape.right.rows, out))
    PyMem_Free(room);
    Py_RETURN_NONE;
}

static PyObject *call_solve_game(ARGUMENTS)
{
    Matrix payoffs;
    double *shares = NULL;
    OPEN(solve_game, 2)
    READ(solve_game, read_table(args[0], &payoffs))
    const int64_t n_rows = payoffs.rows, n = payoffs.columns;
    READ(solve_game, n_rows > 0 && n > 0 ? OURS : ANOTHER)
    READ(solve_game, read_row(args[1], NPY_DOUBLE, true, n, "shares", &shares))
    double *room = PyMem_Malloc(sizeof(double) * (size_t)(n_rows * n + 2 * (n + n_rows)));
    if (!room) return PyErr_NoMemory();
    double *right = room + n_rows * n, *bottom = right + n, *basic = bottom + n_rows, *free = basic + n;
    WORK(n_rows * n, verbs->solve_game(payoffs.at, n_rows, shares, n, room, right, bottom, basic, free))
    PyMem_Free(room);
    Py_RETURN_NONE;
}

const Table table_of_rules = {N_BODIES, names, bodies};
PyMethodDef functions_of_rules[] = {NAMES(FUNCTION){NULL, NULL, 0, NULL}};
