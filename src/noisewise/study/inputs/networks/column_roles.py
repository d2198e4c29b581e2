"""Which column of a table of studies is what: by the names that such tables usually have, or as people say.

A name is compared without case, blanks and punctuation. Of each role the names stand in groups: a name of an
earlier group wins, two columns of the same group are refused, so that nothing ambiguous is guessed.
"""

import re
from collections.abc import Mapping, Sequence

from noisewise.core.checks import nearest
from noisewise.core.text import printable
from noisewise.study.inputs.dialects.headers import columns_called, split_unit
from noisewise.study.inputs.dialects.wording import PYTHON, Wording

Names = tuple[tuple[str, ...], ...]

#: A column "id" may number rows, and two studies may have one author: these count where every row is a study.
STUDY: Names = (("studlab", "study", "studyid", "studyname", "studylabel", "trial", "trialid"),)
STUDY_OR_ID: Names = (*STUDY, ("id",))
ROW_IS_STUDY: Names = (*STUDY_OR_ID, ("author",))
#: What may state the error of a value, in the words of `tell`.
ERRORS: dict[str, Names] = {
    "se": (
        ("sete", "se", "stderr", "stderror", "standarderror", "selogor", "selnor", "selor", "seloghr",
         "selnhr", "selogrr", "selnrr", "semd", "sesmd", "sediff", "seeffect", "seyi", "sei"),
    ),
    "var": (("var", "variance", "vi", "varte"),),
    "lo": (("lo", "lower", "lowerci", "cilower", "cilow", "lcl", "lowerte"),),
    "hi": (("hi", "upper", "upperci", "ciupper", "cihigh", "ucl", "upperte"),),
}  # fmt: skip
#: Of a table of differences: treatment 1, treatment 2, effect, error, study.
DIFFERENCES: dict[str, Names] = {
    "study": STUDY,
    "plus": (
        ("plus", "treat1", "treatment1", "trt1", "t1", "arm1", "option1", "drug1", "intervention1"),
        ("treatment", "treat", "intervention", "drug"),
    ),
    "minus": (
        ("minus", "treat2", "treatment2", "trt2", "t2", "arm2", "option2", "drug2", "intervention2"),
        ("comparator", "control", "reference", "versus", "vs"),
    ),
    "pair": (("comparison", "contrast", "comp"),),
    "value": (
        ("te", "effect", "effectsize", "yi", "md", "smd", "diff", "difference", "value", "estimate", "logor",
         "lnor", "lor", "loghr", "lnhr", "logrr", "lnrr", "meandifference", "logoddsratio"),
        ("y", "d"),
    ),
    **ERRORS,
    "shared_se": (("sharedse",),),
    "shared_var": (("sharedvar",),),
}  # fmt: skip
#: Of a table of arms, one row for each; in wide tables with the number of the arm behind.
ARMS: dict[str, Names] = {
    "study": STUDY,
    "option": (
        ("option", "treatment", "treat", "trt", "intervention", "drug"),
        ("arm", "group", "t"),
    ),
    "value": (("mean", "value", "te", "effect", "estimate"), ("y", "m", "avg")),
    **ERRORS,
    "sd": (("sd", "stddev", "standarddeviation"),),
    "events": (("events", "event", "successes", "responders", "resp"), ("r", "cases")),
    "n": (("n", "total", "samplesize", "trials", "size", "patients", "number"),),
}
#: Columns that hold ratios: differences are of their logarithms.
RATIOS = frozenset(("or", "rr", "hr", "oddsratio", "riskratio", "hazardratio", "relativerisk"))


def plain(name: str) -> str:
    """A name without case, blanks, punctuation, and a unit in brackets."""
    return re.sub(r"[\W_]+", "", split_unit(name)[0].casefold())


def find_roles(
    columns: Sequence[str],
    roles: Mapping[str, Names],
    given: Mapping[str, str] | None = None,
    words: Wording = PYTHON,
) -> dict[str, str]:
    """The column of every role that the table has.

    Args:
        columns: The table's.
        roles: Which names each role goes by.
        given: Roles that were said; they win.
        words: How messages call what a person can say.
    """
    found = _said(columns, roles, given or {}, words)
    for role, groups in roles.items():
        if role in found:
            continue
        for names in groups:
            here = [name for name in columns if plain(name) in names and name not in found.values()]
            if len(here) > 1:
                listed = " and ".join(repr(printable(name)) for name in here[:2])
                raise ValueError(
                    f"columns {listed} could both be {role!r}: say which one is, for instance "
                    f"{words.map({role: here[0]})}."
                )
            if here:
                found[role] = here[0]
                break
    return found


def _said(
    columns: Sequence[str], roles: Mapping[str, Names], given: Mapping[str, str], words: Wording
) -> dict[str, str]:
    found = {}
    for role, column in given.items():
        if role not in roles:
            raise ValueError(
                f"{words.called_map} of such a table knows {', '.join(roles)}; got {role!r}."
                f"{nearest(role, list(roles))}"
            )
        meant = columns_called(columns, column)
        if len(meant) != 1:
            listed = ", ".join(repr(printable(name)) for name in columns)
            raise ValueError(
                f"{words.called_map} must name columns of the table, which has {listed}; got {column!r} for "
                f"{role!r}.{nearest(column, columns)}"
            )
        found[role] = meant[0]
    return found


def need(
    found: Mapping[str, str], role: str, what: str, columns: Sequence[str], words: Wording, hint: str = ""
) -> str:
    """The column of a role without which a table cannot be read."""
    if role in found:
        return found[role]
    listed = ", ".join(repr(printable(name)) for name in columns)
    raise ValueError(
        f"no column says {what}: name it, {words.map({role: 'COLUMN'})}. The table has {listed}.{hint}"
    )
