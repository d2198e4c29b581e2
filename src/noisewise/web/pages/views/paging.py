"""Pages of long tables: which rows are shown, and the way to the others."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

#: Rows of a page.
ROWS = 50


class Pager(NamedTuple):
    """One page of a table."""

    page: int  # from 1
    pages: int
    total: int  # rows in all
    first: int  # place of the first row shown, from 0
    last: int  # place behind the last
    query: Mapping[str, str]  # what else the address says

    @property
    def words(self) -> str:
        """Which rows are shown."""
        if not self.total:
            return "no rows"
        if self.pages == 1:
            return f"{self.total:,} row{'' if self.total == 1 else 's'}"
        return f"{self.first + 1:,} to {self.last:,} of {self.total:,}"

    def address(self, page: int) -> str:
        """The relative address of another page."""
        return with_query(self.query, page="" if page == 1 else str(page))

    @property
    def around(self) -> list[int]:
        """Numbers to offer: the ends and the neighbours; 0 stands for a gap."""
        near = sorted({1, self.pages, *range(max(1, self.page - 2), min(self.pages, self.page + 2) + 1)})
        found: list[int] = []
        for number in near:
            if found and number > found[-1] + 1:
                found.append(number - 1 if number == found[-1] + 2 else 0)
            found.append(number)
        return found


def page_of(total: int, asked: str | None, query: Mapping[str, str], rows: int = ROWS) -> Pager:
    """The page that was asked for; beyond the last one, the last."""
    pages = max(1, -(-total // rows))
    number = int(asked) if asked and asked.isdecimal() and len(asked) < 10 else 1
    number = min(max(1, number), pages)
    first = (number - 1) * rows
    return Pager(number, pages, total, first, min(total, first + rows), query)


def with_query(query: Mapping[str, str], **changed: str) -> str:
    """A relative address of the same page with other parameters; empty ones are left out."""
    said = {name: value for name, value in {**query, **changed}.items() if value}
    return f"?{urlencode(said)}" if said else "?"
