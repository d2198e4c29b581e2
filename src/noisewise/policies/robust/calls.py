"""How compiled code calls the verbs of the robust estimates, one line for each."""

from noisewise.core.compiler.kernels import calls_verb
from noisewise.policies.robust.huber import fit_huber, remember
from noisewise.policies.robust.median_of_means import centre_of, certified_contrast, covering_radius, deal
from noisewise.policies.robust.one_pass import move, stay_in_ball

MEASUREMENT = "int:action float:reward float:scale float:tau"

calls_verb(remember, f"struct:history struct:model layout {MEASUREMENT}")
calls_verb(fit_huber, "struct:history struct:model float:ridge float:bound new:model.centre")
calls_verb(move, f"struct:curvature struct:model layout {MEASUREMENT} float:bound")
calls_verb(stay_in_ball, "struct:curvature struct:model layout float:bound")
calls_verb(deal, "struct:blocks struct:model layout int:action float:reward float:sigma")
calls_verb(centre_of, "struct:blocks struct:model new:model.centre")
calls_verb(
    certified_contrast,
    "struct:blocks struct:model layout mask:candidates int:action float:reach",
    "float",
)
calls_verb(covering_radius, "struct:blocks struct:model layout float:reach", "float")
