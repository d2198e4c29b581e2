"""Write the C that joins Python to the verbs, from the two tables below: ``python generate.py FOLDER``.

``table.h`` declares the records and the verbs; ``bindings.h`` reads the arguments of each verb, calls it and
returns its result. A verb has the arguments of its NumPy body, and more that Python does not see: lengths,
scratch arrays and new arrays for results.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: NamedTuples of arrays, with the lengths of each: n options and dim features of the model; a name that no
#: earlier array has is any length above 0. Arrays are of floats and writeable where nothing else is said.
RECORDS = """
DenseModel: columns columns, factor[dim, dim + 1], pivots[dim], reciprocals[dim], centre[dim],
    squared_widths[n], means[n], floors[n], tally[TALLIES], halves[dim, BATCH], ints batch[BATCH], half[dim],
    step[dim], row[dim + 1], scratch[n]
NoiseHistory: counts[n], residuals[n], precisions[n], relative[n], tally[8]
History: rewards[t], scales[t], taus[t], ints slots[t], vectors[m, dim], ints slot_of[n], ints filled[2],
    multiplier[1], curvature[m], influence[m], rows[m, dim], room[BALL_ROOM(dim) + m]
Curvature: factor[dim, dim + 1], pivots[dim], reciprocals[dim], tally[FEW_TALLIES], theta[dim],
    room[BALL_ROOM(dim)]
Blocks: factor[k, dim, dim + 1], pivots[k, dim], reciprocals[k, dim], tally[k, FEW_TALLIES], thetas[k, dim],
    room[MEDIAN_ROOM(k, dim)]
Vertices: const left[left_rows, left_columns], const right[right_rows, right_columns], truth gray
"""

#: The verbs as C has them. `model` alone is a model of vectors; `model.means` is an array that every model
#: has. `row` is a row of the model, `rows` an array of them, `length` the length that an array was found to
#: have, `new` the result, and `room` scratch. Arrays with an asterisk are written. `work` says how often all
#: entries are read, to release the interpreter's lock in long calls. `NAME_independent` takes over from NAME
#: for models without vectors.
VERBS = """
fold(model, layout, row action, float reward, float sigma)
fold_independent(independent, row action, float reward, float sigma)
recentre(model, layout)
refresh_all(model, layout)
set_theta(model, layout, floats estimate[dim])
theta(model, new out[dim])
float squared_norm(model)
float distance_to(model, floats parameter[dim])
covariance_with(model, layout, row action, new out[n])
covariance_with_independent(independent, row action, new out[n])
contrast_widths(model, layout, row action, new out[n])
contrast_widths_independent(independent, row action, new out[n])
squared_covariances(model, layout, rows rivals[k], length k, row action, floats weights[k], new out[n])
    work(k)
squared_covariances_independent(independent, rows rivals[k], length k, row action, floats weights[k],
    new out[n])
perturbed_means(model, layout, floats normals[dim], float scale, new out[n])
int best_of_draw(model, layout, floats normals[dim], float scale, mask allowed[n])
int first_other(model, layout, floats draws[k, dim], length k, mask allowed[n], row leader) work(k)
spread(model, new out[dim, dim])
covariance(model, new out[dim, dim])
remember(History history, model, layout, row action, float reward, float scale, float tau)
fit_huber(History history, model, float ridge, float bound, new out[dim]) work(4 * history.slots.size)
move(Curvature curvature, model, layout, row action, float reward, float scale, float tau, float bound)
stay_in_ball(Curvature curvature, model, layout, float bound)
deal(Blocks blocks, model, layout, row action, float reward, float sigma)
centre_of(Blocks blocks, model, new out[dim])
float certified_contrast(Blocks blocks, model, layout, mask candidates[n], row action, float reach)
    work(blocks.thetas.rows)
float covering_radius(Blocks blocks, model, layout, float reach) work(blocks.thetas.rows)
inverse_of_moment(model, layout, floats shares[n], room lower[dim * dim], new out[dim, dim]) work(dim)
costs_of_rivals(model, layout, floats inverse[dim, dim], row leader, new out[n]) work(dim)
shifts_towards(model, layout, floats inverse[dim, dim], row leader, row rival, new out[n])
payoffs_of(model, layout, floats inverse[dim, dim], floats costs[n], row leader, rows rivals[k], length k,
    new out[k, n]) work(k)
int closest_rival(floats costs[n], length n)
int rivals_within(floats costs[n], length n, float slack, ints* rows[n])
float hardness(model.means, model.squared_widths, model.scratch*, length n, float eps)
best_of_others(floats upper[n], length n, new out[n])
int first_unseen(floats given[n], mask allowed[n], length n)
best_mixture(floats gap[n], floats gain[n], mask allowed[n], length n, room scratch[n], new out[3])
hedged(floats losses[n], length n, float doubt, new out[n])
float mixability_gap(floats shares[n], floats losses[n], floats gains[n], length n, float doubt)
contrast_values(Vertices shape, floats theta[DIM(shape)], floats covariance[DIM(shape), DIM(shape)],
    float radius, floats origin[DIM(shape)], room means[shape.right.rows], room squares[shape.right.rows],
    room pull[DIM(shape)], new out[shape.left.rows * shape.right.rows])
solve_game(floats payoffs[k, n], length k, new out[n], length n, room table[k * n], room right[n],
    room bottom[k], room basic[n], room free[k])
int first_largest(floats values[n], mask allowed[n], length n)
int first_largest_candidate(floats values[n], mask allowed[n], mask candidates[n], length n)
int first_best(floats values[n], floats squared_widths[n], mask allowed[n], length n)
int masked_argmax(floats values[n], mask allowed[n], length n)
int first_near(floats values[n], mask allowed[n], length n, row winner, float tolerance)
int most_optimistic(model.means, model.squared_widths, model.scratch*, mask allowed[n], length n,
    float radius)
drop_ruled_out(model.means, model.squared_widths, model.scratch*, mask* candidates[n], length n,
    float radius)
keep_near_best(floats values[n], mask* candidates[n], length n, float slack)
int strongest_rival(model, layout, row leader, float radius)
int most_telling(model, layout, row one, row other, float variance, mask allowed[n])
float regret_bound(model, layout, mask candidates[n], row action, float radius)
float likelihood_ratio(model, layout, row action, float eps)
int smallest_bound(model, layout, mask candidates[n], row action, float radius, room floors[n])
book(model.squared_widths, length n, floats* ledgers[5], NoiseHistory noise, row action, float sigma)
closest_races(model, layout, mask candidates[n], row leader, float reach,
    ints* rivals[RACES], floats* weights[RACES])
closest_races_independent(independent, mask candidates[n], row leader, float reach,
    ints* rivals[RACES], floats* weights[RACES])
int most_settling(model, layout, ints rivals[RACES], row leader, floats weights[RACES],
    NoiseHistory noise, float sigma, mask allowed[n])
int most_settling_independent(independent, ints rivals[RACES], row leader, floats weights[RACES],
    NoiseHistory noise, float sigma, mask allowed[n])
seed_stream(word seed, word purpose, word index, words* state[4])
"""

#: What else must hold before a verb is called, or a record is used: functions of reading.h.
CHECKS = {
    "History": "check_filled(to)",
    "Vertices": "check_corners(to)",
    "remember": "check_room(&history, action, model.n)",
    "fit_huber": "check_slots(&history)",
    "most_settling": "check_races(rivals, weights, model.n)",
}

STRUCTS = {1: "Floats", 2: "Matrix", 3: "Cube"}
LENGTHS = {1: ["size"], 2: ["rows", "columns"], 3: ["blocks", "rows", "columns"]}
#: Kind of an array: NumPy's type, C's type.
ARRAYS = {
    "floats": ("NPY_DOUBLE", "double"),
    "mask": ("NPY_BOOL", "Flag"),
    "ints": ("NPY_INT64", "int64_t"),
    "rows": ("NPY_INT64", "int64_t"),
    "words": ("NPY_UINT64", "uint64_t"),
}
SCALARS = {"float": "double", "row": "int64_t", "word": "uint32_t"}
RESULTS = {"": "void", "float": "double", "int": "int64_t"}


class Part(NamedTuple):
    """One argument of a verb, or one field of a record."""

    kind: str
    name: str
    shape: list[str]
    written: bool

    @property
    def dimensions(self) -> str:
        """The lengths as C's array."""
        return f"{len(self.shape)}, (int64_t[]){{{', '.join(self.shape)}}}"

    @property
    def product(self) -> str:
        """How many entries there are."""
        return " * ".join(f"({length})" for length in self.shape)


class Verb(NamedTuple):
    """One line of the table."""

    returns: str
    name: str
    parts: list[Part]
    work: str

    @property
    def kinds(self) -> set[str]:
        """The kinds of its arguments."""
        return {part.kind for part in self.parts}


def parts_of(text: str) -> Iterator[Part]:
    """The arguments or fields in a list with commas."""
    for one in re.split(r",\s*(?![^[]*\])", text.strip()):
        found = re.fullmatch(r"(?:([\w.]+)(\*?) )?([\w.]+)(\*?)(?:\[(.*)\])?", one)
        assert found, one
        kind, star, name, late_star, shape = found.groups()
        lengths = re.split(r",\s*(?![^(]*\))", shape) if shape else []
        yield Part(kind or ("" if lengths else name), name, lengths, bool(star or late_star))


def read_verbs() -> dict[str, Verb]:
    """The table of verbs."""
    verbs = {}
    for line in re.sub(r"\n +", " ", VERBS.strip()).splitlines():
        found = re.fullmatch(r"(?:(\w+) )?(\w+)\((.*?)\)(?: work\((.*)\))?", line)
        assert found, line
        returns, name, parts, work = found.groups()
        verbs[name] = Verb(returns or "", name, list(parts_of(parts)), work or "1")
    return verbs


def read_records() -> dict[str, list[Part]]:
    """The table of records."""
    lines = re.sub(r"\n +", " ", RECORDS.strip()).splitlines()
    return {name: list(parts_of(fields)) for name, fields in (line.split(": ", 1) for line in lines)}


def declared(part: Part) -> str:
    """An argument of a verb in C."""
    const = "" if part.written or part.kind in ("room", "new") else "const "
    if part.kind == "model":
        return "const DenseModel *model"
    if part.kind == "independent":
        return "const IndependentModel *model"
    if part.kind == "layout":
        return "Layout layout"
    if part.kind.startswith("model."):
        return f"{const}double *{part.name.partition('.')[2]}"
    if part.kind == "length":
        return f"int64_t {part.name}"
    if part.kind in SCALARS:
        return f"{SCALARS[part.kind]} {part.name}"
    if part.kind in (*ARRAYS, "room", "new"):
        return f"{const}{ARRAYS.get(part.kind, ('', 'double'))[1]} *{part.name}"
    return f"const {part.kind} *{part.name}"


def passed(part: Part) -> str:
    """What a wrapper gives for it."""
    if part.kind in ("model", "independent"):
        return {"model": "&model.dense", "independent": "&model.separate"}[part.kind]
    if part.kind == "layout":
        return "model.layout"
    plain = part.kind in (*SCALARS, *ARRAYS, "room", "new", "length") or part.kind.startswith("model.")
    return part.name if plain else f"&{part.name}"


def record(name: str, fields: list[Part]) -> str:
    """A record's type."""
    lines = ["typedef struct {"]
    for field in fields:
        kind = {"ints": "Ints", "columns": "Matrix", "truth": "int64_t"}.get(field.kind)
        lines.append(f"    {kind or STRUCTS[len(field.shape)]} {field.name};")
    return "\n".join([*lines, f"}} {name};"])


def free_lengths(known: set[str], part: Part, place: str, miss: str) -> Iterator[str]:
    """Find lengths that no earlier array has."""
    for axis, length in enumerate(part.shape):
        if length.isidentifier() and length.islower() and length not in known:
            known.add(length)
            yield f"const int64_t {length} = length_of({place}, {len(part.shape)}, {axis});"
            # A table of vertices may have no columns: then its row is empty.
            yield f"if ({length} {'<' if length.endswith('columns') else '<='} 0) {miss}"


def reader(name: str, fields: list[Part]) -> str:
    """The function that reads a record from its tuple."""
    lines = [f"static inline Reading read_{name}(PyObject *tuple, Model *model, {name} *to)", "{"]
    lines += [f"    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != {len(fields)}) return ANOTHER;"]
    if name == "DenseModel":
        lines += ["    MUST(read_columns(PyTuple_GET_ITEM(tuple, 0), model, &to->columns));"]
    lines += [
        f"    const int64_t {name} = model->{name};"
        for name in ("n", "dim")
        if any(re.search(rf"\b{name}\b", length) for field in fields for length in field.shape)
    ]
    known = {"n", "dim"}
    for place, field in enumerate(fields):
        item = f"PyTuple_GET_ITEM(tuple, {place})"
        lines += [f"    {line}" for line in free_lengths(known, field, item, "return ANOTHER;")]
        if field.kind == "truth":
            lines += [f"    to->{field.name} = PyObject_IsTrue({item});"]
            lines += [f"    if (to->{field.name} < 0) return WRONG;"]
        elif field.kind != "columns":
            kind, written = ARRAYS.get(field.kind, ARRAYS["floats"])[0], str(field.kind != "const").lower()
            lines += [
                f'    MUST(read_array({item}, {kind}, {written}, "{field.name}", &to->{field.name}.at, '
                f"{field.dimensions}));"
            ]
            names = LENGTHS[len(field.shape)]
            lines += [f"    to->{field.name}.{a} = {b};" for a, b in zip(names, field.shape, strict=True)]
    return "\n".join([*lines, f"    return {CHECKS.get(name, 'OURS')};", "}"])


def call(verb: Verb, size: str) -> list[str]:
    """Make room, call the verb and return."""
    rooms = [part for part in verb.parts if part.kind == "room"]
    new = [part for part in verb.parts if part.kind == "new"]
    given, lines = ", ".join(map(passed, verb.parts)), []
    if rooms:
        total = " + ".join(part.product for part in rooms)
        lines += [f"double *room_ = PyMem_Malloc(sizeof(double) * (size_t)({total} + 1));"]
        lines += ["if (!room_) return PyErr_NoMemory();"]
        start = "room_"
        for part in rooms:
            lines += [f"double *{part.name} = {start};"]
            start = f"{part.name} + {part.product}"
    free = ["PyMem_Free(room_);"] * bool(rooms)
    if new:
        lines += [f"double *out = NULL; PyObject *made = new_array(&out, {new[0].dimensions});"]
        lines += [f"if (made) {{ WORK({size}, verbs->{verb.name}({given})) }}", *free, "return made;"]
    elif verb.returns:
        make = {"int": "PyLong_FromLongLong", "float": "PyFloat_FromDouble"}[verb.returns]
        lines += [f"{RESULTS[verb.returns]} found; WORK({size}, found = verbs->{verb.name}({given}))", *free]
        lines += [f"return {make}(found);"]
    else:
        lines += [f"WORK({size}, verbs->{verb.name}({given}))", *free, "Py_RETURN_NONE;"]
    return lines


def seen(verb: Verb) -> list[Part]:
    """What Python hands over, in its order: the model once."""
    parts: dict[str, Part] = {}
    for part in verb.parts:
        if part.kind == "model" or part.kind.startswith("model."):
            parts.setdefault("model", part._replace(name="model"))
        elif part.kind not in ("layout", "length", "room", "new"):
            parts.setdefault(part.name, part)
    return list(parts.values())


def wrapper(verb: Verb, variant: Verb | None) -> str:
    """The Python function of a verb."""
    name, parts, known = verb.name, seen(verb), {"n", "dim"}
    lines = [f"OPEN({name}, {len(parts)})"]

    def read(reading: str) -> None:
        lines.append(f"READ({name}, {reading})")

    with_model = any(part.name == "model" for part in parts)
    if not with_model:
        known = set()
    for part in sorted(parts, key=lambda part: part.name != "model"):
        item = f"args[{parts.index(part)}]"
        if part.name == "model":
            lines += ["Model model;"]
            read(f"read_model({item}, &model)")
            if "model" in verb.kinds and variant is None:
                read("model.independent ? ANOTHER : OURS")
            lines += ["const int64_t n = model.n, dim = model.dim; (void)n, (void)dim;"]
        elif part.kind in SCALARS:
            lines += [f"{SCALARS[part.kind]} {part.name} = 0;"]
            if part.kind == "row":
                limit = part.shape[0] if part.shape else "n"
                read(f'read_index({item}, {limit}, "{part.name}", &{part.name})')
            else:
                read(f"read_{part.kind}({item}, &{part.name})")
        elif part.kind in ARRAYS:
            lines += free_lengths(known, part, item, f"return HAND_OVER({name});")
            numpys, cs = ARRAYS[part.kind]
            lines += [f"{cs} *{part.name} = NULL;"]
            written = str(part.written).lower()
            read(f'read_array({item}, {numpys}, {written}, "{part.name}", &{part.name}, {part.dimensions})')
            if part.kind == "rows":
                read(f'check_rows({part.name}, {part.product}, model.n, "{part.name}")')
        else:
            lines += [f"{part.kind} {part.name};"]
            read(f"read_{part.kind}({item}, {'&model' if with_model else 'NULL'}, &{part.name})")
    if name in CHECKS:
        lines += [f"READ({name}, {CHECKS[name]})"]
    if variant is not None:
        lines += ["if (model.independent) {", *(f"    {line}" for line in call(variant, "n")), "}"]
    lines += call(
        verb, f"n * (dim + 1) * ({verb.work})" if "model" in verb.kinds else "n" if "n" in known else "0"
    )
    body = "\n".join(f"    {line}" for line in lines)
    return f"static PyObject *call_{name}(ARGUMENTS)\n{{\n{body}\n}}"


def write(folder: Path) -> None:
    """Write both files, unless they are there already."""
    records, verbs = read_records(), read_verbs()
    public = {name: verb for name, verb in verbs.items() if not name.endswith("_independent")}
    signatures = (
        f"    VERB({RESULTS[verb.returns]}, {verb.name}, ({', '.join(map(declared, verb.parts))}))"
        for verb in verbs.values()
    )
    names = (
        f'    NAME({name}, "{", ".join(part.name for part in seen(verb))}")' for name, verb in public.items()
    )
    files = {
        "table.h": [
            *(record(name, fields) for name, fields in records.items()),
            "#define VERBS(VERB) \\\n" + " \\\n".join(signatures),
        ],
        "bindings.h": [
            *(reader(name, fields) for name, fields in records.items()),
            "#define NAMES(NAME) \\\n" + " \\\n".join(names),
            "TABLE(NAMES)",
            *(wrapper(verb, verbs.get(f"{name}_independent")) for name, verb in public.items()),
        ],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, chapters in files.items():
        text = "/* Written by generate.py. */\n" + "\n\n".join(chapters) + "\n"
        if not (folder / name).is_file() or (folder / name).read_text("utf-8") != text:
            (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
