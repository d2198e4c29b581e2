"""The version of noisewise."""

__version__ = "0.1.0"
