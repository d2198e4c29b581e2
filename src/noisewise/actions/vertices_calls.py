"""How compiled code calls the verb that tries all vertices."""

from noisewise.actions.vertices import write_contrasts
from noisewise.core.compiler.kernels import calls_verb

calls_verb(
    write_contrasts,
    "struct:shape floats:theta floats:covariance float:radius floats:origin "
    "room:shape.right room:shape.right room:theta floats:out",
)
