"""Thousands of repetitions of a rule in a simulated world, compiled, on common random numbers."""

from noisewise.simulation.results import Simulation, SimulationInterrupted
from noisewise.simulation.simulate import simulate

__all__ = ["Simulation", "SimulationInterrupted", "simulate"]
