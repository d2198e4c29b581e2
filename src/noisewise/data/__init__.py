"""Real measurements that come with the package; README.md beside them says where they are from."""

from importlib.resources import files
from typing import TYPE_CHECKING

from noisewise.core.checks import check_choice

if TYPE_CHECKING:
    import polars as pl

#: The tables by name.
TABLES = ("alpaca_eval", "bangertdrowns2004", "tirinzoni_degenne")


def load_table(name: str) -> "pl.DataFrame":
    """One of the tables as a polars frame, exactly as it was published.

    Example:
        >>> load_table("alpaca_eval").shape
        (223, 8)
    """
    import polars as pl

    check_choice("name", name, TABLES)
    with files("noisewise.data").joinpath(f"{name}.csv").open("rb") as file:
        return pl.read_csv(file)
