"""The front door of the library, through which operations open stores wherever they are."""

import importlib
from typing import Any


def library() -> Any:
    """The package itself: its functions take files, databases, and the addresses of servers.

    It is imported by name, because the client of a server is made from the operations in its turn.
    """
    return importlib.import_module("noisewise")
