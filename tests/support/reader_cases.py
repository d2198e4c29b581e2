"""Files of every reader, and what can go wrong with a file: made from the good one by mutating it."""

import json
import random
from pathlib import Path

import noisewise as nw
from noisewise.readers import ResultFile

FIXTURES = Path(__file__).parents[1] / "study" / "readers" / "fixtures"
#: Mutations of each kind that are tried with one file.
MOST = 60


def fixture(*names):
    return FIXTURES.joinpath(*names)


class Case:
    """The good file of a reader, as its ``case.json`` names it.

    ``{"file": "results.json", "choices": {}, "study": {"bounds": [0, 1]}}``: the file, the choices to read it
    with, and what a study needs beyond options to be told it.
    """

    def __init__(self, name):
        self.name = name
        said = json.loads((FIXTURES / name / "case.json").read_text(encoding="utf-8"))
        self.path = FIXTURES / name / said["file"]
        self.choices, self.study = said.get("choices", {}), said.get("study", {})
        self.content = self.path.read_bytes()

    def read(self, content=None):
        """Read the file, or another content in its place."""
        file = ResultFile(self.path, self.content if content is None else content, self.path.name)
        return nw.readers.read(file, self.name, **self.choices)

    def told(self, readout):
        """A study that was made of it."""
        return nw.create_study(":memory:", results=readout, eps=0.1, **self.study)


def mutations(content):
    """Contents that are wrong in one place, with what was done."""
    chance = random.Random(20)
    yield from truncated(content)
    yield from flipped(content, chance)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return
    try:
        found = [("", json.loads(text))]
    except ValueError:
        found = []
    if not found:
        try:
            lines = [json.loads(line) for line in text.splitlines() if line.strip()]
            yield from (
                (what, b"\n".join(json.dumps(one).encode() for one in changed))
                for what, changed in changed_json(lines, chance)
            )
        except ValueError:
            yield from changed_words(text, chance)
        return
    for what, changed in changed_json(found[0][1], chance):
        yield what, json.dumps(changed).encode()


def truncated(content):
    step = max(1, len(content) // 40)
    for at in range(1, len(content), step):
        yield f"cut off at byte {at}", content[:at]


def flipped(content, chance):
    for _ in range(15):
        at = chance.randrange(len(content))
        yield f"byte {at} changed", content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :]


STRANGE = ("x", "", None, True, [], {}, -1.0, 1e400, float("nan"), float("-inf"), 10**400, 0, "1.5", [[1.0]])


def changed_json(root, chance):
    """One part of a JSON value missing, or something else in its place."""
    places = list(parts(root))
    alike = {}
    for place in places:  # one of every kind of place, and some more
        alike.setdefault(tuple("*" if isinstance(step, int) else step for step in place), []).append(place)
    chosen = [chance.choice(same) for same in alike.values()]
    chance.shuffle(chosen)
    for place in chosen[: 2 * MOST]:
        yield f"without {place}", with_part(root, place, None, missing=True)
    for place in chosen[:MOST]:
        for strange in chance.sample(STRANGE, 4):
            yield f"{place} = {strange!r:.20}", with_part(root, place, strange)
    lists = [place for place in chosen if isinstance(part(root, place), list) and part(root, place)]
    for place in lists[:MOST]:
        several = part(root, place)
        yield f"{place} with its first element twice", with_part(root, place, [several[0], *several])
        yield f"{place} empty", with_part(root, place, [])


def changed_words(text, chance):
    """One word of a plain text missing, or something else in its place."""
    separator = "," if "," in text.split("\n")[0] else None
    lines = text.split("\n")
    for _ in range(2 * MOST):
        at = chance.randrange(len(lines))
        words = lines[at].split(separator)
        if words:
            strange = chance.choice(("x", "", "-1", "nan", "inf", "1e999", "'", '"', "\x00", "\u202e"))
            word = chance.randrange(len(words))
            joined = (separator or " ").join([*words[:word], strange, *words[word + 1 :]])
            yield (
                f"line {at + 1}, word {word + 1} = {strange!r}",
                "\n".join([*lines[:at], joined, *lines[at + 1 :]]).encode(),
            )
    for at in range(min(len(lines), 10)):
        yield f"line {at + 1} twice", "\n".join([*lines[: at + 1], *lines[at:]]).encode()
        yield f"without line {at + 1}", "\n".join([*lines[:at], *lines[at + 1 :]]).encode()


def parts(value, place=()):
    """The places of all parts."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in inside:
        yield (*place, step)
        yield from parts(one, (*place, step))


def part(root, place):
    for step in place:
        root = root[step]
    return root


def with_part(root, place, value, missing=False):
    """A copy with another part."""
    copy = json.loads(json.dumps(root))
    holder = part(copy, place[:-1])
    if missing:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return copy
