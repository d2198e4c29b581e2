"""Commands as a person types them: run in this process, read as JSON."""

import json

import click
from click.testing import CliRunner

from noisewise.cli import app
from noisewise.cli.commands import READ


def commands():
    """All commands by name, a table alone among them."""
    context = click.Context(app)
    return {name: app.get_command(context, name) for name in (READ, *app.list_commands(context))}


def run(*arguments, stdin=None):
    """What a command does."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def plain(*arguments, stdin=None):
    """What a command that succeeds says with --json."""
    done = run(*arguments, "--json", stdin=stdin)
    assert done.exit_code == 0, done.output or done.exception
    return json.loads(done.stdout)
