"""End evaluations early: `InspectStopping` stops models or prompts in Inspect that can no longer win.

    study = nw.create_study("models.db", options=["openai/small", "openai/large"], eps=0.02)
    for model in study.options:
        task = Task(dataset, scorer=match(), early_stopping=InspectStopping(study))
        inspect_ai.eval(task, model=model)

It implements the protocol of early stopping of Inspect (https://inspect.aisi.org.uk/early-stopping.html). The
answers of a task are recorded in the order of its dataset, whichever come first, so that when an answer is
recorded does not depend on how it came out; bounds hold at every look, so a model may be stopped at any.
"""

import math
import warnings
from typing import TYPE_CHECKING, Any

from noisewise.core.checks import COUNT, check_count_within, nearest
from noisewise.core.text import counted
from noisewise.study.log.told import MeasurementWarning
from noisewise.study.readers.inspect_log import LETTERS, WORDS

if TYPE_CHECKING:
    from noisewise.study.study import Study

#: Answers from one look at the certificate to the next.
EVERY = 10


class InspectStopping:
    """Early stopping of one task in Inspect: it ends once its option cannot win, or all is decided.

    Every task has its own, and tasks that are to be compared share a study. Epochs of a sample are averaged.

    Args:
        study: A study whose options are the models, or prompts; its measurements are items.
        option: The option that the task measures; default: the name of the model.
        metric: The scorer, or ``"scorer/name"`` where one gives several values; default: the only one.
        missing: What stands for a sample without a score; default: nothing after it is recorded.
        every: Answers from one look at the certificate to the next.
    """

    def __init__(
        self,
        study: "Study",
        option: str | None = None,
        *,
        metric: str | None = None,
        missing: float | None = None,
        every: int = EVERY,
    ) -> None:
        self.study, self.option, self._metric, self._missing = study, option, metric, missing
        self._every = check_count_within("every", every, COUNT)
        self._task, self._epochs, self._reason, self._recorded = "", 1, "", 0
        self._order: list[str] = []  # items that are not recorded yet, as the dataset has them
        self._scores: dict[str, list[float | None]] = {}

    async def start_task(self, task: Any, samples: list[Any], epochs: int) -> str:
        """Find the option, and which of its answers are recorded already."""
        option = self.option = str(task.model) if self.option is None else self.option
        if option not in self.study.options:
            hint = nearest(option, self.study.options)
            raise ValueError(f"`option` must be an option of the study; got {option!r}.{hint}")
        self._task, self._epochs = str(task.task), epochs
        answers = self.study.frame("items")
        known = set(answers.filter(answers["option"] == option)["item"].to_list())
        self._order = [item for item in (self._item(sample.id) for sample in samples) if item not in known]
        self._look()
        return "noisewise"

    async def schedule_sample(self, id: str | int, epoch: int) -> Any:
        """Stop a sample if nothing depends on it any more."""
        if not self._reason:
            return None
        from inspect_ai.util import EarlyStop

        return EarlyStop(id=id, epoch=epoch, reason=self._reason)

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, Any]) -> None:
        """Record the answers that are complete up to the first one that is not, every few of them."""
        self._scores.setdefault(self._item(id), []).append(self._score(scores))
        if len(self._complete()) >= self._every:
            self._record()
            self._look()

    async def complete_task(self) -> dict[str, Any]:
        """Record the rest, and say where the study is."""
        self._record()
        left = sum(None not in self._scores.get(item, [None]) for item in self._order)
        if left and not self._reason:
            warnings.warn(
                f"{counted(left, 'answer')} of {self.option} after a sample without a score were not "
                "recorded; say `missing=0.0` if that is what such a sample is worth.",
                MeasurementWarning,
                stacklevel=2,
            )
        certificate = self.study.certificate().sentence
        return {"option": self.option, "recorded": self._recorded, "certificate": certificate}

    def _item(self, id: str | int) -> str:
        return f"{self._task}/{id}"  # as in logs

    def _complete(self) -> dict[str, float]:
        """The answers at the beginning of the order, up to the first that is missing."""
        found: dict[str, float] = {}
        for item in self._order:
            scores = [self._missing if one is None else one for one in self._scores.get(item, ())]
            known = [one for one in scores if one is not None]
            if len(known) < self._epochs:
                break
            found[item] = math.fsum(known) / self._epochs
        return found

    def _record(self) -> None:
        if found := self._complete():
            self.study.tell(option=self.option, items=found, by="inspect")
            self._order = self._order[len(found) :]
            self._recorded += len(found)

    def _look(self) -> None:
        """Whether, and why, no further sample is needed."""
        certificate = self.study.certificate()
        if certificate.reached:
            self._reason = certificate.sentence
        elif certificate.may_show_bounds and self.option not in certificate.candidates:
            self._reason = f"{self.option} is certainly not the best, {certificate.sure}."

    def _score(self, scores: dict[str, Any]) -> float | None:
        """The score of a sample as a number; None if it has none."""
        scorer, _, name = (self._metric or "").partition("/")
        if not scores:
            return None
        if not scorer and len(scores) > 1:
            raise ValueError(f"`metric` must name one of the scorers, {', '.join(map(repr, scores))}.")
        if scorer and scorer not in scores:
            raise ValueError(f"`metric` must name a scorer; got {scorer!r}.{nearest(scorer, list(scores))}")
        value = scores[scorer or next(iter(scores))].score.value
        if name and isinstance(value, dict):
            value = value.get(name)
        found = value
        if isinstance(value, str):
            found = LETTERS.get(value, WORDS.get(value.lower(), value))
        if found is None or (isinstance(found, float) and math.isnan(found)):
            return None
        if not isinstance(found, bool | int | float):
            raise ValueError(f"a score must be a number or one of C, P, I, N; got {value!r}. See `metric`.")
        return float(found)


__all__ = ["InspectStopping"]
