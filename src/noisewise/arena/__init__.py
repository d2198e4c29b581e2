"""Rules against rules: many worlds, common random numbers, every figure with its interval."""

from noisewise.arena.cells import CELLS, Cell, cells_named
from noisewise.arena.matches import Entry, Match, play
from noisewise.arena.results import Arena, load_arena, run_arena, write_page

__all__ = [
    "CELLS",
    "Arena",
    "Cell",
    "Entry",
    "Match",
    "cells_named",
    "load_arena",
    "play",
    "run_arena",
    "write_page",
]
