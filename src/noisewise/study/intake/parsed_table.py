"""The contents of a table's rows: parsed once, whatever happens to the study meanwhile.

Contents of plain tables stay in columns until each event is written.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.checks import AMOUNT, VALUE
from noisewise.study.inputs.error_bars import KNOWN, Bounds
from noisewise.study.inputs.value_scale import LogLimits
from noisewise.study.intake.entry import (
    parse_told,
)

if TYPE_CHECKING:
    from noisewise.study.intake.sheets import Sheet

#: Columns of the tables that are read in bulk, besides value and se.
_PLAIN = frozenset(("option", "value", "se", "block", "instrument", "key", "by", "note"))
_TEXTS = ("block", "instrument", "key", "by", "note")
Watch = Callable[[str, int, int], None]


class Parsed:
    """The contents of a table's rows, as events will hold them, without what they are about."""

    def __init__(
        self,
        sheet: "Sheet",
        noise_floor: float | None,
        keep_empty: bool,
        watch: Watch,
        bounds: Bounds | None = None,
        logs: LogLimits | None = None,
    ) -> None:
        self.sheet, self._bounds, self._logs = sheet, bounds, logs
        n = sheet.n_rows
        self.rows: Sequence[int] = range(n)
        if not keep_empty:
            self.rows = [row for row in self.rows if not sheet.is_empty(row)]
        self.n_empty = n - len(self.rows)
        self._bodies: list[dict[str, Any]] | None = None
        self._value = self._sigma = np.empty(0)
        if not self._parse_in_bulk(noise_floor):
            self._bodies = []
            for done, row in enumerate(self.rows):
                self._bodies.append(self._parse(row, noise_floor))
                if done % 10_000 == 0:
                    watch("reading", done, len(self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def in_bulk(self) -> bool:
        """Whether all rows were plain, and checked together."""
        return self._bodies is None

    def column(self, name: str) -> Sequence[Any] | None:
        """The cells of a column for the rows that are told."""
        cells = self.sheet.columns.get(name)
        if cells is None or len(self.rows) == self.sheet.n_rows:
            return cells
        return [cells[row] for row in self.rows]

    def content(self, place: int, begun: dict[str, Any] | None = None) -> dict[str, Any]:
        """What a row says by itself, behind what an event begins with."""
        content = {} if begun is None else begun
        row, columns = self.rows[place], self.sheet.columns
        if self._bodies is not None:
            content |= self._bodies[place]
        else:
            sigma = float(self._sigma[place])
            content["value"], content["kind"] = float(self._value[place]), KNOWN
            content["sigma"] = content["shown"] = sigma
            for name in _TEXTS:
                if name in columns and columns[name][row] is not None:
                    content[name] = columns[name][row]
        if "key" not in content and ("job" not in columns or columns["job"][row] is None):
            content["row"] = row + 1  # what names it instead: see `known_rows`
        return content

    def values(self, places: list[int]) -> Floats:
        """The values of some rows."""
        if self._bodies is not None:
            return np.array([self._bodies[place]["value"] for place in places], dtype=float)
        return np.asarray(self._value[places])

    def _parse(self, row: int, noise_floor: float | None) -> dict[str, Any]:
        given = self.sheet.given(row)
        about = given.get("option") or given.get("plus") or given.get("job")
        where = f"row {row + 1}" + ("" if about is None else f" ({about})") + ": "
        return parse_told(given, noise_floor=noise_floor, where=where, bounds=self._bounds, logs=self._logs)

    def _parse_in_bulk(self, noise_floor: float | None) -> bool:
        """Plain values with plain standard errors; whatever is out of the ordinary is read row by row."""
        if not set(self.sheet.columns) <= _PLAIN or not {"value", "se"} <= set(self.sheet.columns):
            return False
        value, se = self.column("value") or [], self.column("se") or []
        if not (set(map(type, value)) | set(map(type, se)) <= {float, int}):
            return False
        try:
            self._value, self._sigma = np.asarray(value, dtype=float), np.asarray(se, dtype=float)
        except OverflowError:
            return False
        floor: float | Floats = AMOUNT.least if noise_floor is None else noise_floor
        usual = np.abs(self._value) <= VALUE.most
        if self._logs is not None:
            usual &= (self._value >= AMOUNT.least) & (self._sigma <= self._logs.error * self._value)
            floor = AMOUNT.least if noise_floor is None else noise_floor * self._value
        usual &= (self._sigma >= floor) & (self._sigma <= AMOUNT.most)
        if not usual.all():
            return False
        texts = {n: c for n, c in self.sheet.columns.items() if n not in ("value", "se")}
        self.sheet = self.sheet._replace(columns=texts)
        return True
