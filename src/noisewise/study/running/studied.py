"""What a run needs of a study."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from noisewise.study.certificates.certificate import Certificate
from noisewise.study.log.jobs import Job

if TYPE_CHECKING:  # which a run on another machine does without
    from noisewise.study.telling.scale import ValueScale


class Runnable(Protocol):
    """A study, as far as a run uses it."""

    @property
    def eps(self) -> float | None:
        """How far from the best is close enough, as it is computed with."""

    @property
    def value_scale(self) -> "ValueScale":
        """How numbers of the study are read and shown."""

    @property
    def budget_left(self) -> int | None:
        """Measurements that are left of the study's own budget."""

    @property
    def pending(self) -> list[Job]:
        """Suggestions that are under way."""

    def certificate(self) -> Certificate:
        """Which option to take now, and how far it can be from the best."""

    def plan(self, *, paths: int, on: int) -> Any:
        """How many more measurements it takes."""

    def cost_of(self, option: str) -> float:
        """What one measurement of an option costs."""

    def _ask_at_once(self, n: int, *, by: str) -> list[Job]: ...

    def _bound_now(self) -> float: ...

    def tell(self, job: Job | str | None, **told: Any) -> Any:
        """Take the result of a measurement."""

    def tell_all(self, results: Sequence[Mapping[str, Any]]) -> Any:
        """Take several results, all of them or none."""

    def fail(self, job: Job | str | Sequence[Job | str], reason: str) -> None:
        """A suggestion could not be measured."""

    def release(self, job: Job | str | Sequence[Job | str], reason: str | None = None) -> None:
        """Give suggestions back unmeasured."""

    def exclude(self, option: str, reason: str) -> None:
        """Take an option out of the comparison."""
