"""The command line: parse, call, print."""

from noisewise.cli.app import app, main

__all__ = ["app", "main"]
