"""Commands as a person types them: run in this process, read as JSON."""

import json

from click.testing import CliRunner

from noisewise.cli import app


def run(*arguments, stdin=None):
    """What a command does."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def plain(*arguments, stdin=None):
    """What a command that succeeds says with --json."""
    done = run(*arguments, "--json", stdin=stdin)
    assert done.exit_code == 0, done.output or done.exception
    return json.loads(done.stdout)
