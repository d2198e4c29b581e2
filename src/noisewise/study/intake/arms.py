"""Arms of a study that tried several options side by side: what makes a measurement one of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from noisewise.core.text import printable
from noisewise.study.log.state import State


def check_arm(given: Mapping[str, Any], content: Mapping[str, Any], where: str) -> bool:
    """Refuse an arm that belongs to no study, or is a difference."""
    if "block" not in content or given.get("minus") is not None:
        raise ValueError(
            f"{where}arm=True needs block=, the study that tried its options side by side, and is of one "
            "option: a difference has two."
        )
    return True


def refuse_other_arms(state: State, rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a study that was told before with other arms: what it was told as then would count beside it.

    A study of two arms is told as a difference, with the key "study: A - B"; one of more as arms in a block.

    Args:
        state: The study before the table.
        rows: The measurements of a table of studies.
    """
    arms: dict[str, set[str]] = {}
    for row in rows:
        study = row.get("block") or row["key"].removesuffix(f": {row.get('plus')} - {row.get('minus')}")
        arms.setdefault(study, set()).update(() if row.get("block") is None else (row["option"],))
    for number, body in enumerate(state.told, start=1):
        if "key" not in body or not state.measurements.is_live(number):
            continue
        if "minus" in body:
            study = body["key"].removesuffix(f": {body['option']} - {body['minus']}")
            stale = bool(arms.get(study))
        else:
            study = body.get("block", "")
            stale = "arm" in body and study in arms and body["option"] not in arms[study]
        if stale:
            raise ValueError(
                f"study {printable(study)!r} was told before with other arms (m-{number}, key "
                f"{printable(body['key'])}), which would go on counting: void what was told of it, and tell "
                "the table again; if it is another study, give it another name."
            )
