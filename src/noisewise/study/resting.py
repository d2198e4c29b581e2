"""What a certificate rests on because of its model, and why it may hold only approximately."""

import numpy as np

from noisewise.study.analysis import Analysis
from noisewise.study.error_bars import COUNTS, KNOWN, NONE, READINGS
from noisewise.study.measurements import KINDS
from noisewise.study.modelling import DEVIATION, ESTIMATE
from noisewise.study.show import counted, number, rounded_up


def about_model(analysis: Analysis) -> list[str]:
    """Assumptions that come with the model."""
    model, sizes, said = analysis.state.model, analysis.sizes, []
    if model.uses_features:
        what = "is a weighted sum of its features"
        if model.model == DEVIATION:
            size = _limited(sizes.deviation, sizes.largest_deviation)
            what += f" plus a deviation, drawn from a normal law of size {size}"
        said.append(f"an option's value {what}; no two differ by more than {model.span:g}")
    if model.model == DEVIATION:
        said += [
            "the weighted sums differ by no more than that, either, and errors are normal",
            "the confidence is that of the moment you stop, averaged over deviations of this size",
        ]
    if sizes.extra_scatter or model.extra_scatter is not None:
        scatter = _limited(sizes.extra_scatter, sizes.largest_scatter)
        said.append(f"every error bar lacks the same extra scatter, {scatter}, which is added in squares")
    if analysis.state.switched:
        told = counted(analysis.state.switched, "measurement")
        said.append(f"the model was chosen after {told} had been seen")
    return said


def _limited(size: float, largest: float | None) -> str:
    """A size, and the upper limit that the certificate uses if it was estimated."""
    if largest is None:
        return number(size)
    return f"{number(size)} (estimated; used is its upper limit, {rounded_up(largest, 3)})"


def approximations(analysis: Analysis) -> tuple[str, ...]:
    """Why the confidence is not exact."""
    model, reasons = analysis.state.model, []
    if model.deviation == ESTIMATE:
        reasons.append("the size of the deviations was estimated from the same measurements")
    if model.extra_scatter == ESTIMATE:
        reasons.append("the extra scatter was estimated from the same measurements")
    present = {KINDS[code] for code in np.unique(analysis.columns.kind)} - {KNOWN}
    if model.model == DEVIATION and present:
        names = {READINGS: "readings", COUNTS: "shares", NONE: "measurements without error bars"}
        listed = ", ".join(names[kind] for kind in sorted(present))
        reasons.append(
            f"of {listed} only an upper limit of the error is known, where deviations need the error itself"
        )
    return tuple(reasons)
