"""What forms ask about the future: arguments of plans, and slots in words."""

from collections.abc import Mapping
from typing import Any

from noisewise.study.study import Study
from noisewise.web.pages.views.tell_form import number_in

#: Slots that a page fills at a time.
MOST_SLOTS = 10


def plan_arguments(query: Mapping[str, str]) -> dict[str, Any]:
    """What an address says about a plan: ``noise``, ``eps``, ``span``; each may be empty."""
    noise = _amounts("Noise", query.get("noise", ""))
    said = {
        "noise": noise if len(noise) > 1 else noise[0] if noise else None,
        "eps": _amount("Eps", query.get("eps", "")),
        "span": _amount("Span", query.get("span", "")),
    }
    return {name: value for name, value in said.items() if value is not None}


def asked_slots(study: Study, query: Mapping[str, str]) -> list[list[str]]:
    """What to do with slots, in lines for each: ``sigma``, ``block``."""
    sigmas = _amounts("Sigma", query.get("sigma", ""))
    if len(sigmas) > MOST_SLOTS:  # the study would be kept from others meanwhile
        raise ValueError(
            f"a page fills at most {MOST_SLOTS} slots at a time; got {len(sigmas):,}. The command "
            "`noisewise slot` and programs may ask for more."
        )
    slots = study.slot(sigmas, block=query.get("block", "").strip() or None)
    return [[line.strip() for line in str(slot).splitlines()] for slot in slots]


def _amounts(title: str, text: str) -> list[float | str]:
    parts = text.replace(",", " ").replace(";", " ").split()
    return [amount for part in parts if (amount := _amount(title, part)) is not None]


def _amount(title: str, text: str) -> float | str | None:
    """A number, or a part such as 2% or 1.5x, which the scale of the study reads."""
    text = text.strip()
    if not text:
        return None
    return text if text[-1] in "%x" else number_in(title, text)
