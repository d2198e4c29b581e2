"""What a measuring function returns, as the fields that `tell` takes."""

from collections.abc import Mapping
from typing import Any

from noisewise.core.checks import nearest
from noisewise.study.log.jobs import Job
from noisewise.study.log.told import Told

#: What a function may say of its measurement: the job is known already, and its key is the run's own. With a
#: key that was told before nothing would be told, and the suggestion would stay open for ever.
FIELDS = tuple(
    name for name in ("value", *Told.__annotations__) if name not in ("option", "plus", "minus", "key")
)


class NoResultError(RuntimeError):
    """A measurement gave nothing, for a reason that is said in full: raised by a measuring function."""


def fields_of(job: Job, returned: Any) -> dict[str, Any]:
    """The arguments of `tell`; raises one sentence if what was returned cannot be a measurement.

    Args:
        job: What was measured.
        returned: A number, ``(value, se)``, the fields of `tell`, or values of the job's items by name.
    """
    if isinstance(returned, Mapping):
        if job.items and not set(returned) & set(FIELDS):
            return {"items": dict(returned)}
        for name in returned:
            if name not in FIELDS:
                hint = nearest(str(name), list(FIELDS))
                raise ValueError(f"it said {name!r}, which is no field of tell ({', '.join(FIELDS)}).{hint}")
        if not returned:
            raise ValueError("it said nothing: say value=, and an error bar if there is one.")
        return dict(returned)
    if isinstance(returned, tuple):
        if len(returned) != 2:
            raise ValueError(f"it returned {len(returned)} numbers; a pair is (value, se).")
        return {"value": returned[0], "se": returned[1]}
    if returned is None:
        raise ValueError("it returned nothing: return a number, (value, se), or the fields of tell.")
    return {"value": returned}
