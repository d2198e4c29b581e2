"""What measurements are called, and how many there are: trials, answers, readings, differences, arms."""

from noisewise.core.blocks import distinct
from noisewise.core.text import counted
from noisewise.study.log.measurements import KINDS, NO_BLOCK, Columns
from noisewise.study.log.specification import SYMMETRIC
from noisewise.study.log.state import State
from noisewise.study.telling.error_bars import BOUNDED, COUNTS, ITEMS, NONE, READINGS

#: What one of each kind is called, where all are of this kind.
NAMES = {COUNTS: "trial", ITEMS: "answer", READINGS: "reading", NONE: "reading", BOUNDED: "reading"}


def name_of(state: State, columns: Columns | None = None) -> str:
    """What a person orders or counts: "trial", "answer", "reading", or "measurement" if kinds are mixed."""
    columns = state.measurements.columns() if columns is None else columns
    names = {NAMES.get(KINDS[code], "measurement") for code in distinct(columns.kind).tolist()}
    if names == {"answer"} and state.specification.noise == SYMMETRIC:
        return "reading"
    return names.pop() if len(names) == 1 else "measurement"


def amount(state: State, columns: Columns | None = None) -> str:
    """How many there are, such as "3,000 trials", "1,600 answers" or "44 arms of 22 studies".

    Args:
        state: The study.
        columns: Its measurements; default: all that count.
    """
    columns = state.measurements.columns() if columns is None else columns
    if columns.arm is not None and columns.arm.all():
        studies = distinct(columns.block).size
        return f"{counted(columns.value.size, 'arm')} of {studies:,} {'study' if studies == 1 else 'studies'}"
    name = name_of(state, columns)
    if name != "measurement":
        return counted(float(columns.readings.sum()), name)
    if columns.value.size and (columns.minus >= 0).all():
        labelled = [columns.blocks[code] != NO_BLOCK for code in distinct(columns.block)]
        where = f" in {counted(len(labelled), 'block')}" if all(labelled) else ""
        return counted(columns.value.size, "difference") + where
    return counted(columns.value.size, name)
