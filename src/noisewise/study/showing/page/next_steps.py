"""What to do next, from what the certificate may claim: stop, measure, link, or look at the check."""

from collections.abc import Sequence

from noisewise.core.support.words import counted
from noisewise.study.certificates.certificate import NOTHING, REACHED, UNBOUNDED, WITHHELD, Certificate
from noisewise.study.certificates.check import Check
from noisewise.study.log.jobs import Job

#: Suggestions that are named.
SHOWN = 3


def next_steps(certificate: Certificate, check: Check, suggested: Sequence[Job], under_way: int) -> list[str]:
    """Sentences, the first of which is what matters most.

    Args:
        certificate: What may be claimed.
        check: What speaks against it, and what to do about that.
        suggested: What `ask` would suggest now.
        under_way: How many suggestions were made and are not answered yet.
    """
    if certificate.verdict == NOTHING and not certificate.n_options:
        return ["Take an option back into the comparison (include), or add others."]
    if certificate.verdict == WITHHELD:
        mend = list(check.remedies) or [f"{why[0].upper()}{why[1:]}." for why in certificate.withheld]
        return [*mend, "Decide nothing before the certificate is given again."]
    if certificate.n_options == 1 and certificate.option is not None:
        return ["Add the options it is to be compared with."]
    if certificate.verdict == REACHED:
        return [f"Take {certificate.option}: it is as close to the best as was asked for."]
    measure = _measure(suggested, under_way)
    if certificate.verdict == UNBOUNDED:
        return [*certificate.notes, *measure]
    if certificate.verdict != NOTHING and certificate.eps is None:
        far = certificate.bound_text
        return [f"Take {certificate.option} if a difference of {far} does not matter; else go on.", *measure]
    if certificate.once:
        return ["This table alone does not decide it: a second look at more data needs a new study."]
    return measure


def _measure(suggested: Sequence[Job], under_way: int) -> list[str]:
    said = []
    if under_way:
        verb = "is" if under_way == 1 else "are"
        said.append(f"{counted(under_way, 'suggestion')} {verb} under way: tell how they came out.")
    for job in suggested[:SHOWN]:
        where = ", ".join(part for part in (job.on_items, job.where) if part)
        said.append(f"Measure {job.what}{f', {where}' if where else ''}: {job.why}.")
    return said
