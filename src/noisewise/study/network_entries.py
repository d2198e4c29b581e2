"""Tables of studies that compare several options, as a study takes them: differences, and arms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noisewise.core.support.words import counted
from noisewise.study.entries import Entries
from noisewise.study.intake.entry import find_option

if TYPE_CHECKING:
    from noisewise.study.inputs.networks.network_rows import NetworkRows
    from noisewise.study.intake.batch import Taken


@dataclass(frozen=True)
class TakenNetwork:
    """What a table of studies became."""

    taken: "Taken"  # the measurements
    studies: int
    several: int  # studies with more than two arms
    notes: tuple[str, ...]  # how the table was understood, and what was done about it
    unused: tuple[str, ...]  # columns of the table

    def __repr__(self) -> str:
        words = f"{self.studies} studies, {self.several} with more than two arms"
        return "\n".join([f"TakenNetwork({words}: {counted(len(self.taken), 'measurement')})", *self.notes])


class NetworkEntries(Entries):
    """What a study can be told about others' studies."""

    def tell_network(
        self,
        table: Any,
        *,
        columns: Mapping[str, str] | None = None,
        cov: Any = None,
        repeat: bool = False,
    ) -> TakenNetwork:
        """Take a table of differences between treatments, study by study; if one row is bad, none is taken.

        Each row has two treatments, their difference (the first minus the second), its error, and the study.
        A study with more than two treatments becomes its arms, in a block: its differences have errors in
        common, which follow from the standard errors of all of them, or from the error of the arm that they
        share, or from ``cov``. Any of its rows may be left out as long as they do. Every row becomes a
        measurement with a key of its own, so that telling the table again is harmless.

        Args:
            table: A file, a frame or a mapping of columns.
            columns: Which column is what, where names such as treat1, treat2, TE, seTE, studlab do not say
                so: study, plus, minus (or pair, such as "A vs B"), value, se (or var, or lo and hi),
                shared_se (or shared_var).
            cov: The covariance of the rows' errors, (rows, rows): that of differences between arms.
            repeat: As in `tell_many`.

        Example:
            >>> from noisewise import create_study
            >>> study = create_study(options=["placebo", "A", "B"], eps=0.1)
            >>> told = study.tell_network({
            ...     "studlab": ["one", "one", "one", "two"], "treat1": ["A", "B", "B", "B"],
            ...     "treat2": ["placebo", "placebo", "A", "A"], "TE": [1.0, 1.5, 0.5, 0.2],
            ...     "seTE": [0.5, 0.6, 0.5, 0.3]})
            >>> told.several, len(told.taken)
            (1, 4)
        """
        from noisewise.study.inputs.networks.difference_table import read_differences
        from noisewise.study.inputs.tables import read_table

        self._catch_up()
        frame = read_table("table", table)
        return self._told_network(read_differences(frame, columns, cov=cov, named=self._named), repeat)

    def tell_arms(
        self,
        table: Any,
        *,
        columns: Mapping[str, str] | None = None,
        counts: str = "log odds",
        repeat: bool = False,
    ) -> TakenNetwork:
        """Take a table of arms, study by study; if one row is bad, none is taken.

        Each row has a study, an option, and its mean with an error, or events out of n. Or each row is a
        study, with columns such as treat1, mean1, sd1, n1, treat2, and so on. Arms of one study share an
        unknown level, so that only their differences count.

        Args:
            table: A file, a frame or a mapping of columns.
            columns: Which column is what, where names do not say so: study, option, value, se (or var, lo and
                hi, sd and n), or events and n; of numbered columns the name without its number.
            counts: What events out of n become: ``"log odds"`` with their usual error, so that differences
                are log odds ratios; or ``"shares"``, whose differences are of risks.
            repeat: As in `tell_many`.
        """
        from noisewise.study.inputs.networks.arm_table import read_arms
        from noisewise.study.inputs.tables import read_table

        self._catch_up()
        frame = read_table("table", table)
        return self._told_network(read_arms(frame, columns, counts=counts, named=self._named), repeat)

    def _named(self, name: str, where: str) -> str:
        return find_option(self._state, name, where)

    def _told_network(self, rows: "NetworkRows", repeat: bool) -> TakenNetwork:
        taken: Any = self.tell_many(rows.frame, repeat=repeat)
        return TakenNetwork(taken, rows.studies, rows.several, rows.notes, rows.unused)
