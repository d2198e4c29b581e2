/* The verbs as Python functions.
 *
 * Each reads the arrays where they are, straight from the model's tuple, and checks type, order and lengths in
 * every call. What is laid out in a way that the verbs do not know (strides, other types, a model of somebody
 * else's making) goes to the NumPy body of the same name; what cannot be right is refused.
 */
#include "reading.h"
#include "bindings.h" /* written by generate.py */

/* ---- What `noisewise.core.native.verbs` sets up. ---- */

static PyObject *set_body(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const char *name;
    PyObject *body;
    if (!PyArg_ParseTuple(arguments, "sO", &name, &body)) return NULL;
    for (int place = 0; place < N_BODIES; place++)
        if (!strcmp(names[place], name)) {
            Py_INCREF(body);
            Py_XSETREF(bodies[place], body);
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

static PyObject *constants(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
#define FORMAT(name, value) "s:d,"
#define VALUE(name, value) , #name, name
    return Py_BuildValue("{" CONSTANTS(FORMAT) "s:i,s:i,s:i}" CONSTANTS(VALUE), "BATCH", BATCH, "TALLIES", TALLIES,
                         "RACES", RACES);
}

static PyMethodDef functions[] = {
    NAMES(FUNCTION)
    {"set_body", set_body, METH_VARARGS, "Say what runs in place of a verb where C does not know the layout."},
    {"set_models", set_models, METH_VARARGS, "Say what the two classes of models are."},
    {"use_numpy", use_numpy, METH_O, "Whether all verbs are to run as NumPy from now on; returns what was before."},
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
    if (PyModule_AddStringConstant(module, "instructions", instructions) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
