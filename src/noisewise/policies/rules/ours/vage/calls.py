"""How compiled code calls VAGE's verbs, one line for each."""

from noisewise.core.compiler.kernels import calls_verb
from noisewise.policies.rules.ours.vage.ledgers import book
from noisewise.policies.rules.ours.vage.races import closest_races
from noisewise.policies.rules.ours.vage.settlement import most_settling

calls_verb(
    book,
    "field:model.squared_widths len:model.squared_widths floats:ledgers struct:noise int:action float:sigma",
)
calls_verb(
    closest_races,
    "struct:model layout struct:sketch mask:candidates int:leader float:reach ints:rivals floats:weights",
)
calls_verb(
    most_settling,
    "struct:model layout struct:sketch ints:rivals int:leader floats:weights struct:noise float:sigma "
    "mask:allowed",
    "int",
)
