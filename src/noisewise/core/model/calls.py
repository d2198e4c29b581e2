"""How compiled code calls the verbs of the model, one line for each."""

from noisewise.core.compiler.kernels import calls_verb
from noisewise.core.model.covariances import (
    contrast_widths,
    covariance_with,
    distance_to,
    perturbed_means,
    squared_covariances,
)
from noisewise.core.model.dense import fold, recentre, set_theta, squared_norm, theta
from noisewise.core.model.vectors import covariance, spread

calls_verb(fold, "struct:model layout int:action float:reward float:sigma")
calls_verb(recentre, "struct:model layout")
calls_verb(set_theta, "struct:model layout floats:estimate")
calls_verb(theta, "struct:model new:model.centre")
calls_verb(squared_norm, "struct:model", "float")
calls_verb(distance_to, "struct:model floats:parameter", "float")
calls_verb(covariance_with, "struct:model layout int:action new:model.means")
calls_verb(contrast_widths, "struct:model layout int:action new:model.means")
calls_verb(
    squared_covariances,
    "struct:model layout ints:rivals len:rivals int:action floats:weights new:model.means",
)
calls_verb(perturbed_means, "struct:model layout floats:normals float:scale new:model.means")
calls_verb(spread, "struct:model new:model.centre*model.centre")
calls_verb(covariance, "struct:model new:model.centre*model.centre")
