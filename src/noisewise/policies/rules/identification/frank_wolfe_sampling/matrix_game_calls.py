"""How compiled code calls the verb that solves the matrix game."""

from noisewise.core.compiler.kernels import calls_verb
from noisewise.policies.rules.identification.frank_wolfe_sampling.matrix_game import solve_game

calls_verb(
    solve_game,
    "floats:payoffs len:payoffs floats:shares len:shares room:payoffs*shares "
    "room:shares room:payoffs room:shares room:payoffs",
)
