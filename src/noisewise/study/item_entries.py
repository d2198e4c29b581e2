"""Items that options share, as a study takes them: which come next, and whole tables of them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from noisewise.core.checks import check_count
from noisewise.core.text import printable
from noisewise.study.journal import Journal
from noisewise.study.log.events import Event, Happened, events_of
from noisewise.study.log.items import BATCH, next_places
from noisewise.study.log.state import State, replay
from noisewise.study.telling.changes import added_options
from noisewise.study.telling.finding import find_option

if TYPE_CHECKING:
    import polars as pl

    from noisewise.study.telling.item_rows import TakenItems


class ItemEntries(Journal):
    """What only studies with items can be asked for."""

    def next_items(self, option: str, n: int = BATCH) -> list[str]:
        """The items that come next for an option, at most n, in the order that all options share.

        They are those that it was not told and that are not being measured for it. Without a pool the list
        ends where the items known so far do: what follows is drawn anew, at random.
        """
        self._catch_up()
        row = self._state.index[find_option(self._state, option)]
        places = next_places(self._state, row, check_count("n", n), self._state.open_jobs(self._clock()))
        names = self._state.items.names
        return [names[place] for place in places.tolist() if place < len(names)]

    def _tell_items(
        self,
        table: "pl.DataFrame",
        match: bool,
        amend: str | None,
        dry_run: bool,
        watch: Callable[[str, int, int], None],
        add: bool = False,
    ) -> "TakenItems":
        from noisewise.study.telling.item_rows import TakenItems, happened_of, read_item_table, tell_items

        parsed, taken = read_item_table(table), TakenItems()

        def read(news: list[Event]) -> Happened:
            nonlocal taken
            state, added = self._with_options(table if add else None)
            taken = tell_items(state, parsed, now=self._clock(), match=match, amend=amend, watch=watch)
            told = happened_of(taken)
            return [*added, *told] if added and told else told

        if dry_run:
            self._catch_up()
            read([])
            return taken
        return self._record(read, ("tell_items", table, match, amend, add), lambda: taken)

    def _with_options(self, table: "pl.DataFrame | None") -> tuple[State, Happened]:
        """The state with all options that a table names, and the event that adds those new to the study."""
        new = [] if table is None else [name for name in options_in(table) if name not in self._state.index]
        if not new:
            return self._state, []
        catalogue = self.specification.catalogue
        columns = [one.name for one in catalogue.features] + ([] if catalogue.costs is None else ["cost"])
        if columns:
            raise ValueError(
                f"{printable(new[0])!r} cannot be added by its name alone: options of this study have the "
                f"columns {', '.join(columns)}. Add it with them first."
            )
        body = added_options(self._state, new, None)
        imagined = replay(self.specification, events_of(self._storage, self.name))
        imagined.apply(Event(imagined.n_events + 1, self._clock(), "add", body))
        return imagined, [("add", body)]


def options_in(table: "pl.DataFrame") -> list[str]:
    """The options that a table names, each once."""
    from noisewise.study.tables.sheet import as_texts

    sides = [as_texts("measurements", table[n]) for n in ("option", "plus", "minus") if n in table.columns]
    names = (name.strip() for side in sides for name in side.to_list() if name is not None)
    return [name for name in dict.fromkeys(names) if name]
