"""How compiled code calls the verbs of alternatives, one line for each."""

from noisewise.core.compiler.kernels import calls_verb
from noisewise.policies.shared.alternatives import costs_of_rivals, inverse_of_moment, shifts_towards

SQUARE = "model.centre*model.centre"

calls_verb(inverse_of_moment, f"struct:model layout floats:shares room:{SQUARE} new:{SQUARE}")
calls_verb(costs_of_rivals, "struct:model layout floats:inverse int:leader new:model.means")
calls_verb(shifts_towards, "struct:model layout floats:inverse int:leader int:rival new:model.means")
