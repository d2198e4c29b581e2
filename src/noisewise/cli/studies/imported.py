"""What an import brought: for people, and for programs."""

from typing import Any

#: The number of notes that are shown.
SHOWN = 20


def import_in_words(content: dict[str, Any]) -> list[str]:
    """The same in sentences."""
    from noisewise.core.support.text import some_of
    from noisewise.core.support.words import counted

    unused = [f"Columns not used: {', '.join(found)}."] if (found := content["unused_columns"]) else []
    if _nothing_new(content):
        return [f"{counted(content['known'], 'row')}, all known already.", *unused]
    on_items = f" with {counted(content['items'], 'item')}" if content["items"] else ""
    parts = [f"told {counted(content['told'], 'result')}{on_items}"]
    if content["amended"]:
        parts.append(f"corrected {len(content['amended'])}")
    if content["known"]:
        parts.append(f"{content['known']} known already")
    if content["voided"]:
        parts.append(f"{content['voided']} voided before and not counted")
    if content["empty"]:
        parts.append(f"{counted(content['empty'], 'row')} still empty")
    if not any(content[name] for name in ("told", "known", "voided", "empty", "amended")):
        parts = ["told nothing, because the table has no rows"]
    if content["unasked"] and (content["pending"] or content["unasked"] < content["told"]):
        parts.append(f"{content['unasked']} never asked for (fine)")
    under_way = f"; {counted(content['pending'], 'suggestion')} under way" if content["pending"] else ""
    lines = [f"{', '.join(parts)}{under_way}."]
    if content["missing"]:
        are, they = ("is", "it counts") if len(content["missing"]) == 1 else ("are", "they count")
        lines.append(
            f"{some_of(content['missing'])}, told from this table before, {are} no longer in it; {they} "
            "until voided."
        )
    lines += unused
    notes, more = content["notes"][:SHOWN], len(content["notes"]) - SHOWN
    return [
        *lines,
        *notes,
        *([f"And {more} more notes; see export --what measurements."] if more > 0 else []),
    ]


def _nothing_new(content: dict[str, Any]) -> bool:
    """Whether all rows were known: nothing was told, corrected, voided, empty or gone."""
    others = ("told", "voided", "empty", "amended", "missing", "notes")
    return bool(content["known"]) and not any(content[name] for name in others)
