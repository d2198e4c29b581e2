"""Answers of a study as JSON values, for the command line, the server and other programs."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from noisewise.core.strict_json import plain

if TYPE_CHECKING:
    from noisewise.study.certificates.check import Check
    from noisewise.study.log.state import Job
    from noisewise.study.planning.worth import Worth
    from noisewise.study.study import Study
    from noisewise.study.telling.rows import Measurement

#: The state of a study.
READY, NOT_YET, WITHHELD, NOTHING, UNREADABLE = "ready", "not yet", "withheld", "no results", "unreadable"


def certificate_of(study: "Study", *, cheapest: bool = False) -> dict[str, Any]:
    """The certificate."""
    found: dict[str, Any] = json.loads(study.certificate(cheapest=cheapest).to_json())
    return found


def job_row(job: "Job") -> dict[str, Any]:
    """A suggestion."""
    return {
        "id": job.id,
        "option": job.option,
        "why": job.why,
        "expires": job.expires.isoformat(),
        "sigma": job.sigma,
        "by": job.by,
        "status": job.status,
        "block": job.block,
        "minus": job.minus,
        "together": job.together,
        "items": list(job.items),
        "fresh": job.fresh,
        "fresh_from": job.fresh_from,
    }


def measurement_row(measurement: "Measurement") -> dict[str, Any]:
    """A measurement."""
    return {
        "id": measurement.id,
        "option": measurement.option,
        "minus": measurement.minus,
        "value": measurement.value,
        "se": measurement.se,
        "sigma": measurement.sigma,
        "kind": measurement.kind,
        "block": measurement.block,
        "notes": list(measurement.notes),
    }


def status_of(study: "Study") -> dict[str, Any]:
    """Return the status of a study: certificate, measurements, suggestions under way."""
    specification = study.specification
    return {
        "options": len(study.options),
        "measurements": study.n_measurements,
        "model": study.model,
        "deviation": study.deviation,
        "extra_scatter": study.extra_scatter,
        "goal": specification.goal,
        "eps": specification.eps,
        **specification.value_scale.to_plain(eps=specification.eps),
        "confidence": specification.confidence,
        "policy": study.policy,
        "budget": specification.budget,
        "budget_left": study.budget_left,
        "pending": [job_row(job) for job in study.pending],
        "certificate": certificate_of(study),
        "notes": study.notes,
        "head": study.head,
    }


def standing_of(study: "Study") -> dict[str, Any]:
    """The state, the leader and its bound; none is named where the certificate is withheld."""
    certificate = study.certificate()
    if certificate.withheld:
        return {"state": WITHHELD}
    if not study.n_measurements:
        return {"state": NOTHING}
    finite = certificate.may_show_bounds and certificate.bound < float("inf")
    return {
        "state": READY if certificate.reached else NOT_YET,
        "leader": certificate.option,
        "bound": certificate.bound if finite else None,
        "bound_text": certificate.value_scale.short(certificate.bound) if finite else None,
    }


def check_row(found: "Check", words: Callable[[str], str] = str) -> dict[str, Any]:
    """How well the measurements fit; ``words`` translates what is said into those of the reader."""
    return {
        "ok": found.ok,
        "reduced_chi_square": found.reduced if found.freedom else None,
        "freedom": found.freedom,
        "p_value": found.p_value if found.freedom else None,
        "expected": list(found.expected) if found.freedom else None,
        "problems": list(map(words, found.problems)),
        "notes": list(map(words, found.notes)),
        "worst": [dict(row) for row in found.worst],
        "remedies": list(map(words, found.remedies)),
        "advice": found.advice,
        "causes": [cause.as_dict() | {"words": words(cause.words)} for cause in found.causes],
    }


def worth_row(found: "Worth", groups: Any = None) -> dict[str, Any]:
    """What each measurement contributed; ``groups``: summed up, as `Worth.by` returns it."""
    content = {
        "sentence": found.sentence,
        "information": found.information,
        "precision": found.precision,
        "equivalent": found.equivalent,
        "looks": found.looks,
        "measurements": found.ledger.to_dicts(),
        "groups": None if groups is None else groups.to_dicts(),
    }
    return {name: plain(value) for name, value in content.items()}


def import_content(taken: Any, pending: int, understood: Any, dry_run: bool) -> dict[str, Any]:
    """What became of a table's rows."""
    notes = [f"{one.id}: {note}" for one in taken.with_notes() for note in one.notes]
    return {
        "told": len(taken),
        "items": getattr(taken, "items", 0),
        "known": taken.known,
        "amended": [one.id for one in taken.amended],
        "missing": taken.missing,
        "voided": len(taken.voided),
        "empty": taken.empty,
        "unasked": taken.unasked,
        "pending": pending,
        "unused_columns": understood.unused,
        "dry_run": dry_run,
        "understood": understood.to_plain(),
        "notes": [*taken.voided, *notes],
    }
