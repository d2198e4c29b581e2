"""Thousands of repetitions of a rule in a simulated world, on common random numbers."""

from noisewise.simulation import action_noise, instances, noise, schedules
from noisewise.simulation.environment import Environment, World
from noisewise.simulation.files import load_simulations, save_simulations
from noisewise.simulation.instances import Instance
from noisewise.simulation.results import Simulation, SimulationInterrupted, compare
from noisewise.simulation.simulate import simulate

__all__ = [
    "Environment",
    "Instance",
    "Simulation",
    "SimulationInterrupted",
    "World",
    "action_noise",
    "compare",
    "instances",
    "load_simulations",
    "noise",
    "save_simulations",
    "schedules",
    "simulate",
]
