"""Names of a package that load their module at first use, so that importing noisewise stays fast."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str,
    homes: Mapping[str, str],
    extra: str | None = None,
    elsewhere: Callable[[str], str] | None = None,
) -> Callable[[str], Any]:
    """A module-level ``__getattr__`` that finds each name in its home module.

    Args:
        package: The package whose attribute is asked for.
        homes: The module in which each name lives; a sub-package ``package.name`` is its own home.
        extra: The optional dependency that a missing import belongs to.
        elsewhere: Function that says where to find a name that the package does not have; empty if unknown.
    """

    def find(name: str) -> Any:
        if name not in homes:
            hint = elsewhere(name) if elsewhere is not None and not name.startswith("_") else ""
            # With `name` and `obj`, Python itself adds "Did you mean ...?" to what it prints.
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}" + (f": {hint}." if hint else ""),
                name=name,
                obj=sys.modules[package],
            )
        try:
            home = importlib.import_module(homes[name])
            found = home if homes[name] == f"{package}.{name}" else getattr(home, name)
        except ModuleNotFoundError as missing:
            if extra is None or (missing.name or "").startswith("noisewise"):
                raise
            raise ModuleNotFoundError(
                f"`{name}` needs the package {missing.name!r}: install noisewise with its extra, "
                f"pip install 'noisewise[{extra}]'.",
                name=missing.name,
            ) from missing
        setattr(sys.modules[package], name, found)
        return found

    return find
