/* NamedTuples of numbers and arrays as blocks of 8-byte words, for compiled loops (`core/compiler/structs.py` says how
 * a block is laid out): a replication hands over some eighty arrays, and Python takes longer to ask them where they are
 * than C takes for hundreds of rounds. */
#include "reading.h"

typedef struct {
    PyObject *marks; /* what the type of the value depends on, one after the other */
    int64_t *words;
    Py_ssize_t size, room;
} Block;

static bool put_word(Block *block, int64_t word)
{
    if (block->size == block->room) {
        const Py_ssize_t room = 2 * block->room + 64;
        int64_t *words = PyMem_Realloc(block->words, (size_t)room * sizeof *words);
        if (!words) return PyErr_NoMemory(), false;
        block->words = words;
        block->room = room;
    }
    block->words[block->size++] = word;
    return true;
}

static bool put_array(Block *block, PyArrayObject *array)
{
    const int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED, dimensions = PyArray_NDIM(array);
    if ((PyArray_FLAGS(array) & wanted) != wanted || !PyArray_ISNOTSWAPPED(array)) {
        PyErr_SetString(PyExc_ValueError, "compiled loops must be given arrays in C order, aligned and native.");
        return false;
    }
    PyObject *count = PyLong_FromLong(dimensions);
    const bool marked = count && !PyList_Append(block->marks, (PyObject *)PyArray_DESCR(array))
        && !PyList_Append(block->marks, count);
    Py_XDECREF(count);
    if (!marked || !put_word(block, (int64_t)(intptr_t)PyArray_DATA(array))) return false;
    for (int i = 0; i < dimensions; i++)
        if (!put_word(block, PyArray_DIM(array, i))) return false;
    return true;
}

static bool put_value(Block *block, PyObject *value)
{
    int64_t word = 0;
    if (PyArray_Check(value)) return put_array(block, (PyArrayObject *)value);
    if (PyList_Append(block->marks, (PyObject *)Py_TYPE(value)) < 0) return false;
    if (PyTuple_Check(value)) {
        if (Py_EnterRecursiveCall(" to pack a tuple")) return false;
        bool good = true;
        for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(value); i++)
            good = put_value(block, PyTuple_GET_ITEM(value, i));
        Py_LeaveRecursiveCall();
        return good;
    }
    if (value == Py_None) return true;
    if (PyFloat_Check(value) || PyArray_IsScalar(value, Floating)) {
        const double number = PyFloat_AsDouble(value);
        memcpy(&word, &number, sizeof word);
    } else if (PyArray_IsScalar(value, Bool)) {
        word = PyObject_IsTrue(value);
    } else if (PyLong_Check(value) || PyArray_IsScalar(value, Integer)) {
        PyObject *whole = PyNumber_Index(value);
        if (whole) word = PyLong_AsLongLong(whole);
        Py_XDECREF(whole);
    } else {
        PyErr_SetString(PyExc_TypeError, "compiled loops must be given NamedTuples of numbers and arrays alone.");
    }
    return !PyErr_Occurred() && put_word(block, word);
}

/* What the type of a value depends on, its words, and where those are. */
PyObject *packed_words(PyObject *Py_UNUSED(module), PyObject *value)
{
    Block block = {.marks = PyList_New(0)};
    PyObject *answer = NULL;
    if (block.marks && put_value(&block, value)) {
        /* At least one word: the address of nothing is no address. */
        npy_intp length = block.size > 0 ? block.size : 1;
        PyObject *words = PyArray_ZEROS(1, &length, NPY_INT64, 0), *marks = PyList_AsTuple(block.marks);
        if (words && marks) {
            void *at = PyArray_DATA((PyArrayObject *)words);
            if (block.size) memcpy(at, block.words, (size_t)block.size * sizeof *block.words);
            answer = Py_BuildValue("OOn", marks, words, (Py_ssize_t)(intptr_t)at);
        }
        Py_XDECREF(words);
        Py_XDECREF(marks);
    }
    Py_XDECREF(block.marks);
    PyMem_Free(block.words);
    return answer;
}
