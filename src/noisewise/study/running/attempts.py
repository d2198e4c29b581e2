"""A suggestion and what becomes of it in a run."""

from noisewise.study.log.jobs import Job
from noisewise.study.running.crews import Finished


class Attempt:
    """A suggestion that is being measured."""

    def __init__(self, job: Job, group: int) -> None:
        self.job, self.group, self.tries = job, group, 0
        self.done: Finished | None = None
        self.since = 0.0  # when it was done
