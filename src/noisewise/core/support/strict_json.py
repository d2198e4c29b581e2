"""Values as strict JSON has them: a number that is infinite or not a number becomes null."""

import json
import math
from typing import Any


def strict_json(content: Any, *, indent: int | None = None) -> str:
    """JSON that every parser reads: no ``Infinity``, no ``NaN``."""
    return json.dumps(plain(content), indent=indent, allow_nan=False)


def plain(content: Any) -> Any:
    """The same content, None in the place of numbers that do not exist."""
    if isinstance(content, float):
        return float(content) if math.isfinite(content) else None
    if isinstance(content, dict):
        return {name: plain(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    return content
