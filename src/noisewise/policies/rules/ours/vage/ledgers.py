"""The two ledgers that keep the widest actions' share, of the precision and of the credit."""

from noisewise.core.choice.selection import TIE
from noisewise.core.model.dense import Floats
from noisewise.core.model.model import Model
from noisewise.core.native.verbs import verb
from noisewise.policies.rules.ours.vage.noise_history import NoiseHistory, observe

# What the ledgers hold: all, and what went to an action that was the widest at the time; and Σw²/(Σw)², which
# is one over the number of equal measurements that would be as even as those made.
PRECISION, PRECISION_TO_WIDEST, CREDIT, CREDIT_TO_WIDEST, CONCENTRATION = range(5)
#: The widest actions' share of the precision while few rounds carry it all.
ROUGH_SHARE = 0.2


def are_due(ledgers: Floats, share: float, rank: int) -> bool:
    """Whether the widest actions hold at most their share of the precision, or of the credit."""
    # Numbers of Python's own: those of NumPy take three times as long to multiply.
    precision, credit = float(ledgers[PRECISION]), float(ledgers[CREDIT])
    rough = share_of_precision(ledgers, share, rank)
    return bool(
        ledgers[PRECISION_TO_WIDEST] <= rough * precision * (1.0 + TIE)
        or ledgers[CREDIT_TO_WIDEST] <= share * credit * (1.0 + TIE)
    )


def share_of_precision(ledgers: Floats, share: float, rank: int) -> float:
    """ρ, or more while few rounds carry the precision: ``(dim/2)·Σw²/(Σw)²``, at most a fifth.

    After a handful of measurements that count, a leader means little, and the next one that counts
    would be lost on it.
    """
    return max(share, min(ROUGH_SHARE, 0.5 * rank * float(ledgers[CONCENTRATION])))


@verb
def book(model: Model, ledgers: Floats, noise: NoiseHistory, action: int, sigma: float) -> None:
    """Enter one measurement in both ledgers and in the history of the noise, before it is learnt."""
    enter(ledgers, model.squared_widths.max(), model.squared_widths[action], sigma)
    observe(noise, action, sigma)


def enter(ledgers: Floats, largest: float, own: float, sigma: float) -> None:
    """Enter one measurement in both ledgers: the largest squared width there is, and that of its action."""
    precision = 1.0 / (sigma * sigma)
    credit = min(1.0, largest * precision)
    # In shares: squares of the precisions themselves would overflow.
    part = precision / (ledgers[PRECISION] + precision)
    ledgers[CONCENTRATION] = ledgers[CONCENTRATION] * (1.0 - part) ** 2 + part * part
    ledgers[PRECISION] += precision
    ledgers[CREDIT] += credit
    if own >= largest * (1.0 - TIE):
        ledgers[PRECISION_TO_WIDEST] += precision
        ledgers[CREDIT_TO_WIDEST] += credit
