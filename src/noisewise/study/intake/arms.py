"""Arms of a study that tried several options side by side: what makes a measurement one of them."""

from collections.abc import Mapping
from typing import Any


def check_arm(given: Mapping[str, Any], content: Mapping[str, Any], where: str) -> bool:
    """Refuse an arm that belongs to no study, or is a difference."""
    if "block" not in content or given.get("minus") is not None:
        raise ValueError(
            f"{where}arm=True needs block=, the study that tried its options side by side, and is of one "
            "option: a difference has two."
        )
    return True
