"""Whether a table that was told as one of measurements looks like one of studies."""

from collections.abc import Sequence

from noisewise.study.inputs.networks.arm_table import arm_columns
from noisewise.study.inputs.networks.column_roles import STUDY
from noisewise.study.inputs.networks.difference_table import difference_columns


def looks_like_studies(columns: Sequence[str]) -> str | None:
    """The layout of a table of studies that has such columns, if there is one."""
    for layout, find in (("network", difference_columns), ("arms", arm_columns)):
        try:
            find(columns, studies=STUDY)
        except ValueError:
            continue
        return layout
    return None
