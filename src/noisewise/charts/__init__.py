"""Charts: data in, chart specification out; the drawing libraries are loaded at the first chart."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noisewise.charts.intervals import intervals_per_option as intervals_per_option
    from noisewise.charts.pulls import who_was_measured as who_was_measured
    from noisewise.charts.regret import regret_over_precision as regret_over_precision
    from noisewise.charts.regret import regret_over_rounds as regret_over_rounds
    from noisewise.charts.save import save_chart as save_chart
    from noisewise.charts.widths import widths_per_option as widths_per_option

_HOMES = {
    "intervals_per_option": "intervals",
    "regret_over_precision": "regret",
    "regret_over_rounds": "regret",
    "save_chart": "save",
    "who_was_measured": "pulls",
    "widths_per_option": "widths",
}

__all__ = [
    "intervals_per_option",
    "regret_over_precision",
    "regret_over_rounds",
    "save_chart",
    "who_was_measured",
    "widths_per_option",
]


def __getattr__(name: str) -> Any:
    """Load a chart function when it is first used, so that importing noisewise stays fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'noisewise.charts' has no attribute {name!r}")
    try:
        function = getattr(importlib.import_module(f"noisewise.charts.{_HOMES[name]}"), name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("noisewise"):
            raise
        raise ModuleNotFoundError(
            f"Charts need the package {missing.name!r}: install noisewise with its extra, "
            "pip install 'noisewise[charts]'.",
            name=missing.name,
        ) from missing
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
