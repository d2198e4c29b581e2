"""Tables that commands write: files by their ending."""

from pathlib import Path
from typing import Any


def write_csv(frame: Any, path: Path) -> None:
    """Write a frame as comma-separated values in UTF-8."""
    from noisewise.study.inputs.delimited import write_delimited

    path.write_text(write_delimited(frame), encoding="utf-8", newline="\n")


def write_table(frame: Any, path: Path) -> None:
    """Write a frame; the ending of the path says how."""
    from noisewise.core.support.files import written_whole

    writers = {
        ".csv": lambda draft: write_csv(frame, draft),
        ".parquet": frame.write_parquet,
        ".jsonl": frame.write_ndjson,
    }
    if path.suffix not in writers:
        raise ValueError(f"`out` must end in one of {', '.join(writers)}; got {str(path)!r}.")
    with written_whole(path) as draft:
        writers[path.suffix](draft)
