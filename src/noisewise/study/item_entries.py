"""Items that options share, as a study takes them: which come next, and whole tables of them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from noisewise.core.support.checks import check_count
from noisewise.study.intake.entry import find_option
from noisewise.study.intake.events import Happened
from noisewise.study.journal import Journal
from noisewise.study.log.item_order import BATCH, next_places
from noisewise.study.stores.protocol import Event

if TYPE_CHECKING:
    import polars as pl

    from noisewise.study.intake.item_tables import TakenItems


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
    ) -> "TakenItems":
        from noisewise.study.intake.item_tables import TakenItems, happened_of, read_item_table, tell_items

        parsed, taken = read_item_table(table), TakenItems()

        def read(news: list[Event]) -> Happened:
            nonlocal taken
            taken = tell_items(self._state, parsed, now=self._clock(), match=match, amend=amend, watch=watch)
            return happened_of(taken)

        if dry_run:
            self._catch_up()
            read([])
            return taken
        return self._record(read, ("tell_items", table, match, amend), lambda: taken)
