"""All sections, in the order of the report."""

from noisewise.paper.case_study import CASE_STUDY
from noisewise.paper.external import EXTERNAL
from noisewise.paper.heavy_tails import HEAVY_TAILS
from noisewise.paper.section import Section
from noisewise.paper.table1 import TABLE_1
from noisewise.paper.table2 import TABLE_2
from noisewise.paper.theorem1 import THEOREM_1
from noisewise.paper.theorem2 import THEOREM_2
from noisewise.paper.theorem3 import THEOREM_3

SECTIONS: tuple[Section, ...] = (
    TABLE_1,
    TABLE_2,
    CASE_STUDY,
    THEOREM_1,
    THEOREM_2,
    THEOREM_3,
    HEAVY_TAILS,
    EXTERNAL,
)
