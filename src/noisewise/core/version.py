"""The version of noisewise."""

__version__ = "0.2.0"
