"""What can be chosen: a list of actions, or all vectors of a ball, a box, a polytope and other sets."""

from noisewise.actions import *  # noqa: F403 - everything public in there
from noisewise.actions import __all__ as __all__
