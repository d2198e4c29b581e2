"""Thousands of repetitions of a rule in a simulated world, on common random numbers."""

from noisewise.simulation.files import load_simulations, save_simulations
from noisewise.simulation.results import Simulation, SimulationInterrupted, compare
from noisewise.simulation.simulate import simulate

__all__ = [
    "Simulation",
    "SimulationInterrupted",
    "compare",
    "load_simulations",
    "save_simulations",
    "simulate",
]
