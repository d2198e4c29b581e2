"""The paper's theorems, tables and case study as measurements: ``noisewise paper``."""

from typing import TYPE_CHECKING

from noisewise.core.lazy import lazy_names

if TYPE_CHECKING:
    from noisewise.paper.report import check_paper as check_paper

__all__ = ["check_paper"]

# It loads the charts and all rules.
__getattr__ = lazy_names(__name__, {"check_paper": "noisewise.paper.report"}, extra="charts")
