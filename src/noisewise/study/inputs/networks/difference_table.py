"""Tables of differences between treatments, study by study: treatment 1, treatment 2, effect, error, study.

A study of two arms becomes a measured difference. One of three or more becomes its arms in a block
(`study_arms.py`), because its differences have errors in common.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from noisewise.core.blocks import Floats
from noisewise.core.text import printable
from noisewise.study.inputs.dialects.interval_texts import at_level, level_among
from noisewise.study.inputs.dialects.wording import PYTHON, Wording
from noisewise.study.inputs.error_bars import Measured, read_measured
from noisewise.study.inputs.networks.column_roles import (
    DIFFERENCES,
    RATIOS,
    STUDY_OR_ID,
    Names,
    find_roles,
    need,
    plain,
)
from noisewise.study.inputs.networks.network_rows import (
    NetworkRows,
    RowMaker,
    listed,
    names_in,
    numbers_in,
)
from noisewise.study.inputs.networks.study_arms import (
    Contrast,
    Rounding,
    arms_of,
    connected,
    hub_of,
    listed_rows,
)

_BETWEEN = re.compile(
    r"(?<!\s)\s+(?:vs\.?|versus|v\.?|minus|-|–|compared\s+(?:to|with))\s+|(?<!\s)\s*:\s*", re.IGNORECASE
)
_ERRORS = ("se", "var", "lo", "hi")
#: Notes on single rows that are passed on.
SAID = 5


def difference_columns(
    columns: Sequence[str],
    said: Mapping[str, str] | None = None,
    words: Wording = PYTHON,
    studies: Names = STUDY_OR_ID,
) -> tuple[dict[str, str], list[str]]:
    """Which column is what, and those that hold numbers.

    Args:
        columns: The table's.
        said: Which is what, where names such as treat1, treat2, TE, seTE, studlab do not say so: study, plus,
            minus (or pair, such as "A vs B"), value, se (or var, or lo and hi), shared_se (or shared_var).
        words: How messages call what a person can say.
        studies: What a column that names studies may be called.
    """
    found = find_roles(columns, DIFFERENCES | {"study": studies}, said, words)
    arms = f" A table of arms is read with {words.layout('arms')}."
    if "plus" in found and "minus" in found:
        found.pop("pair", None)
    elif "pair" in found:
        for role in ("plus", "minus"):
            found.pop(role, None)
    else:
        need(found, "plus", "which treatment comes first", columns, words, arms)
        need(found, "minus", "which treatment it is compared with", columns, words, arms)
    need(found, "study", "which study a row belongs to", columns, words)
    value = need(found, "value", "how large the differences are", columns, words, arms)
    if plain(value) in RATIOS:
        raise ValueError(
            f"column {printable(value)!r} holds ratios: differences are of their logarithms. Take logarithms "
            "of the ratios and of the ends of their intervals, and give these."
        )
    numbers = ("value", *_ERRORS, "shared_se", "shared_var")
    return found, [found[role] for role in numbers if role in found]


def read_differences(
    table: pl.DataFrame, found: Mapping[str, str], *, cov: Any = None, words: Wording = PYTHON
) -> NetworkRows:
    """The measurements that a table of differences holds.

    Args:
        table: One row for each difference.
        found: Which column is what.
        cov: The covariance of the rows' errors, (rows, rows); default: as follows from the standard errors.
        words: How messages call what a person can say.
    """
    covariance = None if cov is None else _square(cov, table.height)
    if covariance is None and not any(role in found for role in _ERRORS):
        need({}, "se", "how large the errors are", table.columns, words)
    study = names_in(table[found["study"]])
    rows, empty, said = _rows(table, found, study, covariance)
    if covariance is not None:
        _check_across(covariance, [str(study[at]) if at in rows else None for at in range(table.height)])
    shared = _shared(table, found)
    rounding = Rounding(_unit(row.value for row in rows.values()), _unit(row.se for row in rows.values()))
    by_study: dict[str, list[Contrast]] = {}
    for at, row in rows.items():
        by_study.setdefault(str(study[at]), []).append(row)
    made, several = RowMaker(), 0
    copies: list[int] = []
    for name, given in by_study.items():
        groups = connected(_without_copies(name, given, copies))
        for group in groups:
            if len(group) == 1:
                made.add_difference(name, group[0])
                continue
            block = name if len(groups) == 1 else f"{name} ({min(row.one for row in group)})"
            within = [row.row - 1 for row in group]
            known = _known(name, group, [shared[at] for at in within])
            together = None if covariance is None else covariance[np.ix_(within, within)]
            found_arms = arms_of(name, group, known, together, rounding, words)
            made.add_arms(block, found_arms.arms, group)
            said += found_arms.notes
            several += 1
    notes = [_understood(found, covariance is not None), _counted(len(by_study), several)]
    if empty:
        notes.append(f"No result, left out: {listed(empty)}.")
    if copies:
        notes.append(f"The same as another row of the study, counted once: {listed(copies)}.")
    notes += said[:SAID]
    unused = tuple(name for name in table.columns if name not in found.values())
    return NetworkRows(made.frame(), len(by_study), several, tuple(notes), unused, tuple(made.rows))


def _counted(studies: int, several: int) -> str:
    if studies == several == 1:
        return "1 study with more than two arms, told as arms."
    some = f"{several} of them with more than two arms, told as arms" if several else "of two arms"
    return f"{studies} {'study' if studies == 1 else 'studies'}{',' if several else ''} {some}."


def _pairs(table: pl.DataFrame, found: Mapping[str, str]) -> list[tuple[str, str] | None]:
    """Both options of every row; None where both are missing."""
    if "pair" in found:
        return [
            None if text is None else _split(text, row)
            for row, text in enumerate(names_in(table[found["pair"]]), start=1)
        ]
    sides = [names_in(table[found[role]]) for role in ("plus", "minus")]
    pairs: list[tuple[str, str] | None] = []
    for row, (one, other) in enumerate(zip(*sides, strict=True), start=1):
        if (one is None) != (other is None):
            raise ValueError(f"row {row}: a difference has two options; one of them is missing.")
        pairs.append(None if one is None else (one, other))
    return pairs


def _split(text: str, row: int) -> tuple[str, str]:
    parts = [part.strip() for part in _BETWEEN.split(text)]
    if len(parts) != 2 or not all(parts):
        raise ValueError(
            f"row {row}: {printable(text)!r} must be a comparison of two options, such as 'A vs B'; give the "
            "two in columns of their own if their names hold such words."
        )
    return parts[0], parts[1]


def _rows(
    table: pl.DataFrame,
    found: Mapping[str, str],
    study: Sequence[str | None],
    covariance: Floats | None,
) -> tuple[dict[int, Contrast], list[int], list[str]]:
    """What rows say, by their places; the numbers of those without a result; and what is noted about them."""
    cells = {role: numbers_in(table[found[role]]) for role in ("value", *_ERRORS) if role in found}
    rows: dict[int, Contrast] = {}
    level = level_among(found)
    empty: list[int] = []
    notes: list[str] = []
    for at, pair in enumerate(_pairs(table, found)):
        said = {role: column[at] for role, column in cells.items() if column[at] is not None}
        where = f"row {at + 1}: "
        if not said:
            empty.append(at + 1)
            continue
        said |= level
        if pair is None or study[at] is None:
            lacking = "no options" if pair is None else "no study"
            raise ValueError(f"{where}{lacking}, though it has a result.")
        one, other = pair
        if one == other:
            raise ValueError(
                f"{where}a difference needs two different options; got {printable(one)!r} twice."
            )
        where = f"row {at + 1} ({printable(study[at])}: {printable(one)} - {printable(other)}): "
        measured = _measured(at, said, covariance, where)
        se = float(measured.sigma or 0.0) if covariance is None else float(covariance[at, at]) ** 0.5
        rows[at] = Contrast(at + 1, one, other, measured.value, se)
        notes += [f"{where}{note}" for note in measured.notes]
    return rows, empty, notes


def _measured(at: int, said: dict[str, Any], covariance: Floats | None, where: str) -> Measured:
    """A difference with its error: said in several ways, the first of se, var and interval counts."""
    given: dict[str, Any] = {name: cell for name, cell in said.items() if name not in ("lo", "hi")}
    if "lo" in said or "hi" in said:
        given["ci"] = (said.get("lo", np.nan), said.get("hi", np.nan))
    errors = [name for name in ("se", "var", "ci") if name in given]
    kept = ("value", *errors[:1], *(["level"] if errors[:1] == ["ci"] else []))
    given = {name: cell for name, cell in given.items() if name in kept}
    if covariance is not None and not errors:
        given["var"] = float(covariance[at, at])
    elif not errors:
        raise ValueError(f"{where}no error bar; a difference in a network needs one.")
    measured = read_measured(given, noise_floor=None, where=where, lease="")
    if covariance is not None and measured.sigma is not None:
        own = float(covariance[at, at])
        if abs(measured.sigma**2 - own) > 1e-6 * own:
            raise ValueError(f"{where}its variance in `cov` is {own:g}, and its error bar says otherwise.")
    return measured


def _without_copies(study: str, rows: Sequence[Contrast], copies: list[int]) -> list[Contrast]:
    """One row for each two options; the same row again, turned or not, counts once."""
    kept: dict[frozenset[str], Contrast] = {}
    for row in rows:
        before = kept.setdefault(frozenset((row.one, row.other)), row)
        if before is row:
            continue
        value = row.value if row.one == before.one else -row.value
        if (value, row.se) != (before.value, before.se):
            raise ValueError(
                f"rows {before.row} and {row.row} both compare {printable(row.one)} and "
                f"{printable(row.other)} in study {printable(study)!r}, differently: if they are of two "
                "studies, give each a name of its own."
            )
        copies.append(row.row)
    return list(kept.values())


def _shared(table: pl.DataFrame, found: Mapping[str, str]) -> list[float | None]:
    """The variance of the arm that rows of a study share, as far as it is given."""
    role = next((role for role in ("shared_se", "shared_var") if role in found), None)
    if role is None:
        return [None] * table.height
    cells = numbers_in(table[found[role]])
    for row, cell in enumerate(cells, start=1):
        if cell is not None and not cell > 0.0:
            raise ValueError(f"row {row}: {found[role]} must be a number above 0; got {cell!r}.")
    power = 2.0 if role == "shared_se" else 1.0
    return [None if cell is None else float(cell) ** power for cell in cells]


def _known(study: str, rows: Sequence[Contrast], shared: Sequence[float | None]) -> dict[str, float]:
    given = {variance for variance in shared if variance is not None}
    if not given:
        return {}
    hub = hub_of(rows)
    if hub is None or len(given) > 1:
        why = "they do not all share one arm" if hub is None else "it differs between them"
        raise ValueError(
            f"study {printable(study)!r}: the error of a shared arm is given for its {listed_rows(rows)}, "
            f"but {why}."
        )
    return {hub: given.pop()}


def _square(cov: Any, size: int) -> Floats:
    matrix = np.asarray(cov, dtype=np.float64)
    if matrix.shape != (size, size):
        raise ValueError(f"`cov` must have a row and a column for each of {size} rows; got {matrix.shape}.")
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        raise ValueError("`cov` must be a symmetric matrix of finite numbers.")
    return matrix


def _check_across(covariance: Floats, studies: Sequence[str | None]) -> None:
    """Refuse covariances between studies."""
    different = np.array([[one != other for other in studies] for one in studies])
    beyond = np.argwhere(different & (covariance != 0.0))
    if beyond.size:
        one, other = (int(k) + 1 for k in beyond[0])
        raise ValueError(
            f"`cov` ties row {one} to row {other} of another study: rows with errors in common must be of "
            "one study."
        )


def _unit(numbers: Any) -> float:
    """The unit of the last place of numbers as they are written: 0.01 for 1.2 and 0.35."""
    places = [_decimals(float(one)) for one in numbers]
    return 10.0 ** -max(places, default=0)


def _decimals(value: float) -> int:
    digits, _, exponent = repr(value).partition("e")
    _, _, behind = digits.partition(".")
    return max(0, len(behind.rstrip("0")) - int(exponent or 0))


def _understood(found: Mapping[str, str], with_cov: bool) -> str:
    names = {role: printable(column) for role, column in found.items()}
    what = names["pair"] if "pair" in names else f"{names['plus']} - {names['minus']}"
    error = next((names[role] for role in ("se", "var") if role in names), None)
    if error is None and "lo" in names:
        error = f"({names['lo']}, {names.get('hi', '?')}){at_level(found)}"
    errors = "`cov`" if with_cov else str(error)
    return f"Understood: {what} is {names['value']}, error {errors}, in study {names['study']}."
