"""What version 0.1.0 says of the kept logs after every event, written by its own code: see `make`."""

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import noisewise as nw

#: The file with its bounds, beside the samples.
BOUNDS = "bounds-0.1.0.json"
#: What an event of 0.1.0 says.
SAID = ("number", "at", "kind", "body")


def looks(path: Path, policy: dict[str, Any]) -> list[list[Any]]:
    """After each event with a bound: its number, the option, the bound."""
    head, *lines = map(json.loads, path.read_text("utf-8").splitlines())
    events = [{"schema": 1} | {name: line[name] for name in SAID} for line in lines if "number" in line]
    # It knows neither what is promised about blocks, for it promises nothing, nor the policies of today.
    question = {name: value for name, value in head["specification"].items() if name != "blocks"}
    head |= {"schema": 1, "specification": question | {"policy": policy}}
    found = []
    with tempfile.TemporaryDirectory() as folder:
        cut = Path(folder) / "cut.jsonl"
        for count in range(1, len(events) + 1):
            written = [head | {"events": count}, *events[:count]]
            cut.write_text("".join(json.dumps(line) + "\n" for line in written), encoding="utf-8")
            storage = nw.MemoryStorage()
            certificate = nw.load_study(storage, nw.rebuild_study(cut, storage)).certificate()
            if math.isfinite(certificate.bound):
                found.append([count, certificate.option, certificate.bound])
    return found


def write_bounds(data: Path, folders: tuple[str, ...]) -> None:
    """What runs under version 0.1.0."""
    if hasattr(nw, "verify_log"):
        raise RuntimeError(f"this must run under version 0.1.0; got the package in {nw.__file__}.")
    logs = [path for folder in folders for path in sorted((data / folder).glob("*.jsonl"))]
    own = next(path for path in logs if path.parent.name.endswith("0.1.0"))
    policy = json.loads(own.read_text("utf-8").splitlines()[0])["specification"]["policy"]
    lines = [f'"{path.parent.name}/{path.stem}": {json.dumps(looks(path, policy))}' for path in logs]
    (data / BOUNDS).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
