"""What can be chosen: finite sets of actions, each with a feature vector."""

from noisewise.actions.finite import ActionSet

__all__ = ["ActionSet"]
