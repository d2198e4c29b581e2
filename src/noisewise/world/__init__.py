"""Everything a simulation needs and a study never sees: schedules, noise laws, instances."""

from noisewise.world import action_noise, instances, noise, schedules
from noisewise.world.environment import Environment, World
from noisewise.world.instance import Instance

__all__ = ["Environment", "Instance", "World", "action_noise", "instances", "noise", "schedules"]
