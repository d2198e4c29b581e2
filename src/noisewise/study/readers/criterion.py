"""criterion: the samples of every benchmark (folders ``target/criterion/.../new``), as readings."""

from typing import Any

from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import ResultFile
from noisewise.study.readers.shared import TimeScale, told_as, told_as_scatter

SAMPLES, ESTIMATES, NAMES = "sample.json", "estimates.json", "benchmark.json"
#: Criterion measures in nanoseconds.
NANOSECONDS = "ns"


def read(file: ResultFile, *, unit: str | None = None) -> Readout:
    """The time of an iteration in every sample; without the samples, the estimated mean.

    Args:
        file: ``estimates.json`` or ``sample.json`` in a folder ``new``; the files beside it are read, too.
        unit: The unit of the recorded times; default: nanoseconds, as they are.
    """
    scale = TimeScale(NANOSECONDS, unit)
    own = "iters" in file.json().object() or (file.path is not None and file.path.name == SAMPLES)
    samples = file if own else file.sibling(SAMPLES)
    told, notes = _of_estimate(file, scale) if samples is None else (_of_samples(samples, scale), [])
    place = "mean" if samples is None else "times"
    return Readout([ReadRow(place, {"option": _name(file), **told})], unit=scale.unit, notes=notes)


def _of_samples(file: ResultFile, scale: TimeScale) -> dict[str, Any]:
    """The time of n iterations, over n: what criterion's own mean is the mean of."""
    root = file.json()
    times, iterations = root["times"].list(least=1), root["iters"].list(least=1)
    if len(times) != len(iterations):
        raise root["iters"].refuse(f"must be as many as times, {len(times)}; got {len(iterations)}.")
    readings = []
    for time, count in zip(times, iterations, strict=True):
        if count.number(least=0.0) == 0.0:
            raise count.refuse("must be above 0.")
        readings.append(scale(time.number(least=0.0) / count.number()))
    return told_as(readings)


def _of_estimate(file: ResultFile, scale: TimeScale) -> tuple[dict[str, Any], list[str]]:
    """Mean and standard deviation of samples that are gone; their number follows from the standard error.

    The bootstrap's standard error of a mean is s/√n with s² = Σ(x - x̄)²/n, so n is sd²/se² - 1, nearly. Told
    as a standard error that is known it would be a trap: it comes from the samples that the mean comes from.
    """
    root = file.json()
    mean, error = root["mean"]["point_estimate"], root["mean"]["standard_error"]
    scatter = root["std_dev"]["point_estimate"].number(least=0.0)
    if not error.number(least=0.0) > 0.0:
        raise error.refuse(f"must be above 0 where there is no {SAMPLES} beside the file.")
    n = round((scatter / error.number()) ** 2 - 1.0)
    if n < 2:
        raise error.refuse(f"must be smaller than std_dev, {scatter:g}: it is that of a mean.")
    note = (
        f"There is no {SAMPLES} beside it, so mean and standard deviation are recorded, and their number, "
        f"{n:,}, which follows from the bootstrap's standard error."
    )
    return told_as_scatter(scale(mean.number(least=0.0)), scale(scatter), n), [note]


def _name(file: ResultFile) -> str:
    """As criterion calls it; without its own file, as the folders are called."""
    named = file.sibling(NAMES)
    if named is not None:
        return named.json()["full_id"].text()
    folders = file.path.resolve().parent.parts if file.path is not None else ()
    folders = folders[:-1] if folders and folders[-1] in ("new", "base") else folders
    if "criterion" in folders:
        within = folders[len(folders) - folders[::-1].index("criterion") :]
        if within:
            return "/".join(within)
    raise file.refuse(
        f"there is no {NAMES} beside it, which says what was measured: read the folder target/criterion."
    )


def looks_like(file: ResultFile) -> bool:
    """Whether a file begins like one of criterion."""
    head = file.head()
    samples = '"sampling_mode"' in head and '"iters"' in head
    return samples or ('"point_estimate"' in head and '"median_abs_dev"' in head)


READER = Reader(
    "criterion", "criterion's estimates.json, sample.json, or target/criterion", read, looks_like,
    "**/new/estimates.json",
)  # fmt: skip
