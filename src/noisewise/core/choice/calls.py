"""How compiled code calls the verbs of choice, one line for each."""

from noisewise.core.choice.selection import (
    drop_ruled_out,
    first_best,
    first_largest,
    first_largest_candidate,
    first_near,
    keep_near_best,
    likelihood_ratio,
    masked_argmax,
    most_optimistic,
    most_telling,
    regret_bound,
    smallest_bound,
    strongest_rival,
)
from noisewise.core.compiler.kernels import calls_verb

BOUNDS = "field:model.means field:model.squared_widths field:model.scratch"

calls_verb(first_largest, "floats:values mask:allowed len:values", "int")
calls_verb(first_largest_candidate, "floats:values mask:allowed mask:candidates len:values", "int")
calls_verb(first_best, "floats:values floats:squared_widths mask:allowed len:values", "int")
calls_verb(masked_argmax, "floats:values mask:allowed len:values", "int")
calls_verb(first_near, "floats:values mask:allowed len:values int:winner float:tolerance", "int")
calls_verb(most_optimistic, f"{BOUNDS} mask:allowed len:allowed float:radius", "int")
calls_verb(drop_ruled_out, f"{BOUNDS} mask:candidates len:candidates float:radius")
calls_verb(keep_near_best, "floats:values mask:candidates len:values float:slack")
calls_verb(strongest_rival, "struct:model layout int:leader float:radius", "int")
calls_verb(most_telling, "struct:model layout int:one int:other float:variance mask:allowed", "int")
calls_verb(regret_bound, "struct:model layout mask:candidates int:action float:radius", "float")
calls_verb(likelihood_ratio, "struct:model layout int:action float:eps", "float")
calls_verb(
    smallest_bound,
    "struct:model layout mask:candidates int:action float:radius room:model.means",
    "int",
)
